"""The picture of a measure: how its score changes as relevant documents move down the list."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cranfield.measures.base import Measure
from cranfield.measures.property_tables import by_family
from cranfield.report.figures import Axis, Figure
from cranfield.report.figures.saving import converter, specification

LENGTH = 24
RANKS = range(1, 21)
GRADES = (3, 2, 1, 1, 1)
"""The relevant documents of the topic of most pictures."""

Score = Callable[[Measure, int], float]
"""The score of a measure, for a number on the horizontal axis."""


class Scene(NamedTuple):
    """What a picture shows."""

    lines: dict[str, Score]
    """{words of the legend: score}."""
    subtitle: str
    axis: str = "rank r"


def needs_arguments(kind: type[Measure]) -> Measure:
    """The measure of a picture: with its defaults, or with arguments that it cannot do without."""
    if kind.name in ("Accuracy", "Fallout", "Specificity"):
        return kind(N=1000)
    if kind.name == "ADM":
        return kind(estimate="rank")
    if kind.cutoff_kind == "recall":
        return kind() @ {"WSS": 0.95}.get(kind.name, 0.5)
    return kind()


def at_rank(grade: float, measure: Measure, rank: int) -> float:
    """One relevant document at a rank; all others are judged not relevant, or were missed."""
    relevant = list(GRADES if measure.properties.graded else (1,) * len(GRADES))
    relevant.remove(grade)
    return measure.of([0] * (rank - 1) + [grade] + [0] * (LENGTH - rank), missed=relevant)


def from_rank(measure: Measure, rank: int) -> float:
    """All relevant documents of the topic, the best one at this rank."""
    relevant = list(GRADES if measure.properties.graded else (1,) * len(GRADES))
    return measure.of([0] * (rank - 1) + relevant + [0] * (LENGTH - rank - len(relevant) + 1))


def ranked_scene(measure: Measure) -> Scene:
    grades = sorted({*GRADES}) if measure.properties.graded else [1]
    named = "one document of grade {0} at rank r" if len(grades) > 1 else "one relevant document at rank r"
    lines: dict[str, Score] = {named.format(grade): partial(at_rank, grade) for grade in grades}
    lines["all five, at ranks r to r + 4"] = from_rank
    topic = "grades 3, 2, 1, 1 and 1" if len(grades) > 1 else "all of grade 1"
    return Scene(lines, f"A topic with five relevant documents, {topic}; a list of {LENGTH} judged documents.")


def first_documents(where: int, measure: Measure, size: int) -> float:
    """The first documents of a list whose five relevant documents start at a rank."""
    listed = ([0] * (where - 1) + [1] * 5 + [0] * LENGTH)[:size]
    return measure.of(listed, missed=[1] * (10 - sum(listed)))


def set_scene(_: Measure) -> Scene:
    lines: dict[str, Score] = {
        "relevant at ranks 1 to 5": partial(first_documents, 1),
        "relevant at ranks 11 to 15": partial(first_documents, 11),
    }
    return Scene(lines, "A topic with ten relevant documents, of which the list has five.", "documents in the list")


def judged_down_to(relevant: bool, measure: Measure, rank: int) -> float:
    return measure.of([int(relevant)] * rank + [None] * (20 - rank), missed=[1])


def judged_scene(_: Measure) -> Scene:
    lines: dict[str, Score] = {
        "documents down to rank r are relevant": partial(judged_down_to, True),
        "documents down to rank r are not relevant": partial(judged_down_to, False),
    }
    return Scene(lines, "A list of 20 documents; those below rank r are not judged.")


def with_length(length: int, measure: Measure, rank: int) -> float:
    grades = [0] * (rank - 1) + [1] + [0] * (LENGTH - rank)
    return measure.of(grades, missed=[1] * 4, lengths=[length] * LENGTH)


def length_scene(_: Measure) -> Scene:
    lines: dict[str, Score] = {
        f"one relevant document at rank r, all documents of length {length:,}": partial(with_length, length)
        for length in (200, 1000, 5000)
    }
    return Scene(lines, "A topic with five relevant documents. Long documents take time to read.")


def sampled(share: float, measure: Measure, rank: int) -> float:
    grades = ([0] * (rank - 1) + [1, 1] + [0] * LENGTH)[:LENGTH]
    return measure.of(grades, missed=[1], inclusion=[share] * (LENGTH + 1))


def sampled_scene(_: Measure) -> Scene:
    lines: dict[str, Score] = {
        f"each document was judged with probability {share:g}": partial(sampled, share) for share in (1, 0.5, 0.2)
    }
    return Scene(lines, "Relevant documents at ranks r and r + 1, and one that was missed, all from a sample.")


def with_intents(grades: dict[str, int], measure: Measure, rank: int) -> float:
    zero = {"a": 0, "b": 0}
    if rank == 1:
        return np.nan  # that document is the same in all lists
    listed = [{"a": 1, "b": 0}] + [zero] * (rank - 2) + [grades] + [zero] * (LENGTH - rank)
    return measure.of(listed, missed=[{"a": 1, "b": 1}])


def intent_scene(_: Measure) -> Scene:
    lines: dict[str, Score] = {
        "rank r is relevant for the other intent": partial(with_intents, {"a": 0, "b": 1}),
        "rank r is relevant for the same intent": partial(with_intents, {"a": 1, "b": 0}),
        "rank r is relevant for both": partial(with_intents, {"a": 1, "b": 1}),
    }
    return Scene(lines, "A topic with two intents. The document at rank 1 is relevant for one of them.")


def with_dimension(value: int, name: str, measure: Measure, rank: int) -> float:
    grades = [0] * (rank - 1) + [1] + [0] * (LENGTH - rank)
    others = [0] * (rank - 1) + [value] + [0] * (LENGTH - rank)
    return measure.of([*grades], [1], dimensions={name: [*others, 1]})


def dimension_scene(measure: Measure) -> Scene:
    name = "understandability" if measure.name == "uRBP" else "credibility"
    word = {"understandability": "understandable", "credibility": "credible"}[name]
    lines: dict[str, Score] = {
        f"relevant and {word} at rank r": partial(with_dimension, 1, name),
        f"relevant, not {word}, at rank r": partial(with_dimension, 0, name),
    }
    return Scene(lines, f"A topic whose documents are judged for relevance and {name}.")


SETS = (
    *("P", "R", "F", "E", "Success", "gP", "gR", "SetAP", "Accuracy", "Fallout", "Specificity", "NumRet", "NumRelRet"),
    *("SetF", "Utility", "RelativeP", "NumNonrelRet", "CG", "nCG", "SBTO"),
)
JUDGED = ("Judged", "Unjudged", "unj", "RBPres", "rbp_resid")
WITHOUT = {
    "NumRel": "There is no picture: the number of relevant documents is the same for every list.",
    "ideal_dcg": "There is no picture: the DCG of the ideal list is the same for every list.",
}
"""Why measures have no picture."""
FAMILIES = {
    "time": length_scene, "diversity": intent_scene, "novelty": intent_scene, "difficulty": intent_scene,
    "attainable": intent_scene, "multidimensional": dimension_scene, "multi_aspect": dimension_scene,
}  # fmt: skip


def scene_of(measure: Measure) -> Scene:
    """What the picture of a measure shows."""
    family = type(measure).__module__.rpartition(".")[2]
    if measure.name in SETS:
        return set_scene(measure)
    if measure.name in JUDGED:
        return judged_scene(measure)
    if measure.name == "statAP":
        return sampled_scene(measure)
    return FAMILIES.get(family, ranked_scene)(measure)


def picture_of(kind: type[Measure]) -> Figure | None:
    """The picture of a measure; None for those in `WITHOUT`."""
    if kind.name in WITHOUT:
        return None
    measure = needs_arguments(kind)
    scene = scene_of(measure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parameters that the one list of a picture cannot estimate
        scores = {name: [score(measure, x) for x in RANKS] for name, score in scene.lines.items()}
    return line_figure(scene, scores, str(measure))


def line_figure(scene: Scene, scores: dict[str, Sequence[float]], name: str) -> Figure:
    """Lines over ranks."""
    data: dict[str, Any] = {
        "list": np.array([line for line in scores for _ in RANKS], dtype=object),
        "rank": np.array([*RANKS] * len(scores), dtype=float),
        "score": np.array([value for line in scores.values() for value in line], dtype=float),
    }
    return Figure(
        "lines",
        data,
        x=Axis("rank", scene.axis, "count", low=1, high=20),
        y=Axis("score", name),
        by=Axis("list", "the list"),
        title=f"{name}: what relevant documents are worth",
        subtitle=scene.subtitle,
    )


def pictures() -> dict[str, Figure]:
    """{name of a measure: its picture}."""
    figures = {kind.name: picture_of(kind) for kinds in by_family().values() for kind in kinds}
    return {name: figure for name, figure in figures.items() if figure is not None}


def draw(figure: Figure, path: Path) -> None:
    """Write a picture as SVG, with the legend below it: pages are narrow."""
    spec = specification(figure, validate=False)
    spec["config"]["legend"] |= {"orient": "bottom", "direction": "vertical", "columns": 1}
    if "params" in spec:  # a picture cannot be zoomed
        spec["params"] = [param for param in spec["params"] if param.get("bind") != "scales"]
    path.write_text(converter().vegalite_to_svg(spec, allowed_base_urls=[]), "utf-8")
