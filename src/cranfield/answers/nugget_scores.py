"""Scores of answers from the nuggets they have: recall, precision with an allowance, F, their kin, and pyramids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.answers.answer_texts import RUN, TOPIC, AnswerTable, TextsOfRuns
from cranfield.answers.nugget_files import OKAY, VITAL, Assignments, Nuggets, check_nuggets, weights_of
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import Notes
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.building.assessor_labels import Labels

SHARES = ("all", "all-strict", "vital", "vital-strict", "weighted", "weighted-strict")
"""The nugget scores of TREC's RAG track."""
ANSWERED = ("W-Rec", "Prec", "F")
"""Weighted recall, precision with an allowance, and F, as for questions at TREC and NTCIR."""
MEASURES = (*SHARES, *ANSWERED)
PYRAMIDS = ("pyramid", "pyramid-modified")
UNITS = AnswerTable(
    "run topic number", key=("run", "topic"), run=RUN, topic=TOPIC,
    number=Numbers(("number", "count", "n", "units"), least=0, whole=True),
)  # fmt: skip
WEIGHTINGS = ("auto", "votes", "weight", "vital", "equal")


Beta = Annotated[float, about("In F, recall counts B times as much as precision.", above=0, spelled="--beta B")]
Allowance = Annotated[
    float, about("Characters that each nugget found may take up in Prec.", least=0, spelled="--allowance N")
]
WhiteSpace = Annotated[bool, about("Count white space in the length of answers.")]
Weighting = Annotated[
    str,
    about(
        "Weights of nuggets: {names}; auto: the first of the others that the nuggets have.", choices=WEIGHTINGS,
        spelled="--weighting KIND",
    ),
]  # fmt: skip


def measure_names(measures: Iterable[str], known: Sequence[str]) -> list[str]:
    """Names of measures, each once; one that is not known is an error."""
    names = list(dict.fromkeys(measures))
    for name in names:
        if name not in known:
            raise check.nearest(name, known, "measure")
    return names


def characters(text: str, white_space: bool = False) -> int:
    """The length of a text in characters, without white space unless asked for.

    >>> characters("a b\\nc"), characters("a b\\nc", white_space=True)
    (3, 5)
    """
    return len(text) if white_space else len(re.sub(r"\s", "", text))


def f_measure(precision: float, recall: float, beta: float) -> float:
    """:math:`(1 + \\beta^2) P R / (\\beta^2 P + R)`; 0 if both are 0.

    >>> round(f_measure(0.5, 1.0, 3), 4)
    0.9091
    """
    below = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / below if below > 0 else 0.0


def allowance_precision(length: float, matched: float, allowance: float = 100) -> float:
    """:math:`1 - \\max(0, l - a |V|) / l`: every matched nugget may take up `allowance` characters; 1 if l is 0.

    >>> allowance_precision(500, 3), allowance_precision(200, 3)
    (0.6, 1.0)
    """
    return 1.0 if length == 0 else 1 - max(0.0, length - allowance * matched) / length


@operation
def nugget_scores(
    assignments: Assignments,
    measures: Iterable[str] | None = None,
    *,
    texts: TextsOfRuns | None = None,
    beta: Beta = 3.0,
    allowance: Allowance = 100.0,
    white_space: WhiteSpace = False,
    weighting: Weighting = "auto",
    partial_matches: Annotated[
        bool, about("Nuggets with partial support count as found in W-Rec, Prec, F and pyramids.", rare=True)
    ] = False,
) -> Scores:
    r"""Scores of answers from the nuggets that were found in them.

    `all`: the mean support of all nuggets, where full support is 1 and partial support 1/2; `vital`: of vital nuggets;
    `weighted`: okay nuggets count half; with `-strict`, partial support is 0 (Pradeep et al. 2024). Nuggets that are
    neither vital nor okay count only in `all` and `all-strict`.

    .. math:: \text{W-Rec} = \frac{\sum_{v \in V} w(v)}{\sum_{v \in V^*} w(v)}, \quad
              \text{Prec} = 1 - \frac{\max(0, l - a |V|)}{l}, \quad
              F = \frac{(1 + \beta^2) \text{Prec} \cdot \text{W-Rec}}{\beta^2 \text{Prec} + \text{W-Rec}}

    V are the nuggets found in the answer, :math:`V^*` all nuggets of the topic, w(v) their weights, l the length of the
    answer in characters, and a the `allowance` for each nugget found.

    measures: names of `MEASURES`; by default those that the data allows. `Prec` and `F` need `texts`.
    white_space: does it count in lengths? Not in the original definition.
    weighting: where weights are from, see `weights_of`.
    partial_matches: does a nugget with partial support count as found in `W-Rec`, `Prec` and `F`?

    A topic without nuggets (of positive weight, for `W-Rec`; vital ones, for `vital`) is undefined. A topic that a run
    does not answer scores 0. An empty answer has Prec 1, since its length is within the allowance, and F 0.
    References: Dang & Lin, Different Structures for Evaluating Answers to Complex Questions: Pyramids Won't Topple, and
    Neither Will Human Assessors, ACL 2007, 768-775

    >>> from cranfield.answers.nugget_files import Nugget
    >>> nuggets = {"1": {"a": Nugget("a", importance="vital"), "b": Nugget("b", importance="okay")}}
    >>> found = Assignments({"mine": {"1": {"a": 1.0, "b": 0.5}}}, nuggets)
    >>> nugget_scores(found)
    Scores: 6 measures × 1 run × 1 topic
             all  all-strict   vital  vital-strict  weighted  weighted-strict
    mine  0.7500      0.5000  1.0000        1.0000    0.8333           0.6667
    >>> nugget_scores(found, ["W-Rec", "Prec", "F"], texts={"mine": {"1": "Police shot the gunman."}})
    Scores: 3 measures × 1 run × 1 topic
           W-Rec    Prec       F
    mine  1.0000  1.0000  1.0000
    weights of nuggets: 1 for vital nuggets, 0 for others
    Prec: 100 characters for each nugget found; white space does not count
    1 more note: .notes
    """
    check_nuggets(assignments.nuggets)
    nuggets, support = assignments.nuggets, assignments.support
    has_importance = any(nugget.importance for of_topic in nuggets.values() for nugget in of_topic.values())
    names = _chosen(measures, has_importance, texts is not None)
    weights, weight_note = weights_of(nuggets, weighting)
    runs = list(dict.fromkeys([*support, *(texts or {})]))
    topics = list(nuggets)
    values = np.zeros((len(names), len(runs), len(topics)))
    missing = np.zeros(values.shape[1:], dtype=bool)
    unassigned = []
    for r, run in enumerate(runs):
        for t, topic in enumerate(topics):
            given = support.get(run, {}).get(topic)
            text = None if texts is None else texts.get(run, {}).get(topic)
            missing[r, t] = given is None and text is None
            if given is None and text is not None:
                unassigned.append(f"{run}: {topic}")
            if given is not None and text is None and texts is not None and {"Prec", "F"} & set(names):
                raise UsageError(f"run {run!r} has assignments for topic {topic!r}, but no text, which Prec and F need")
            row = _of_answer(
                nuggets[topic], weights[topic], given or {}, text or "", beta, allowance, white_space, partial_matches
            )
            if missing[r, t]:
                row = {name: value if np.isnan(value) else 0.0 for name, value in row.items()}
            values[:, r, t] = [row[name] for name in names]
    notes = Notes([*assignments.notes, *text_notes(texts, nuggets)])
    if has_importance and set(names) & set(SHARES[2:]):
        plain = [f"{t}: {id}" for t, of in nuggets.items() for id, nugget in of.items() if not nugget.importance]
        if plain and not any("importance without meaning" in note for note in notes):
            have = counted(len(plain), "nugget is", "nuggets are")
            notes.append(f"{have} neither vital nor okay, counted only in all and all-strict: {listed(plain)}")
    if unassigned:
        notes.caution(
            f"{counted(len(unassigned), 'answer')} without assignments, as if no nugget was found: {listed(unassigned)}"
        )
    if set(names) & set(ANSWERED):
        notes.append(weight_note)
    if {"Prec", "F"} & set(names):
        blanks = f"white space {'counts' if white_space else 'does not count'}"
        notes.method(f"Prec: {allowance:g} characters for each nugget found; {blanks}")
    if "F" in names:
        notes.method(f"F: β = {beta:g}")
    return Scores(names, runs, topics, values, missing, "zero", notes)


def text_notes(texts: TextsOfRuns | None, nuggets: Nuggets) -> list[str]:
    """Notes about texts of topics without nuggets, and about empty texts."""
    notes = []
    pairs = [(run, topic, text) for run, of_run in (texts or {}).items() for topic, text in of_run.items()]
    if unknown := [f"{run}: {topic}" for run, topic, _ in pairs if topic not in nuggets]:
        notes.append(f"{counted(len(unknown), 'answer')} to a topic without nuggets, left out: {listed(unknown)}")
    if empty := [f"{run}: {topic}" for run, topic, text in pairs if topic in nuggets and not text.strip()]:
        notes.append(f"{counted(len(empty), 'empty answer')}: {listed(empty)}")
    return notes


def _chosen(measures: Iterable[str] | None, has_importance: bool, has_texts: bool) -> list[str]:
    names = measure_names(measures or (), MEASURES)
    for name in names:
        if name in SHARES[2:] and not has_importance:
            raise UsageError(f"{name} needs nuggets that are vital or okay, but none has an importance")
        if name in ("Prec", "F") and not has_texts:
            raise UsageError(f"{name} needs the length of answers: give texts=")
    if names:
        return names
    shares = SHARES if has_importance else SHARES[:2]
    return [*shares, *(ANSWERED if has_texts else ())]


def _of_answer(
    nuggets: Mapping[str, Any],
    weights: Mapping[str, float],
    support: Mapping[str, float],
    text: str,
    beta: float,
    allowance: float,
    white_space: bool,
    partial_matches: bool,
) -> dict[str, float]:
    """Every measure of one answer."""
    values = np.array([support.get(id, 0.0) for id in nuggets])
    strict = (values >= 1).astype(float)
    vital = np.array([float(nugget.importance == VITAL) for nugget in nuggets.values()])
    half = np.array([{VITAL: 1.0, OKAY: 0.5}.get(nugget.importance, 0.0) for nugget in nuggets.values()])
    weight = np.array([weights[id] for id in nuggets])
    matched = (values > 0 if partial_matches else values >= 1).astype(float)
    recall = _mean(matched, weight)
    precision = allowance_precision(characters(text, white_space), float(matched.sum()), allowance)
    return {
        "all": _mean(values, np.ones_like(values)),
        "all-strict": _mean(strict, np.ones_like(values)),
        "vital": _mean(values, vital),
        "vital-strict": _mean(strict, vital),
        "weighted": _mean(values, half),
        "weighted-strict": _mean(strict, half),
        "W-Rec": recall,
        "Prec": precision,
        "F": np.nan if np.isnan(recall) else f_measure(precision, recall, beta),
    }


def _mean(values: Array, weights: Array) -> float:
    total = weights.sum()
    return float((values * weights).sum() / total) if total > 0 else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class NuggetMatches(Record):
    """The nuggets of a topic, and how far the answers of runs support them."""

    facts = ("topic",)

    topic: str
    runs: tuple[str, ...]
    ids: tuple[str, ...]
    importance: tuple[str, ...]
    weight: Array
    support: Array
    """nuggets × runs; NaN: not assigned."""
    texts: tuple[str, ...]
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """nugget, importance, weight, the support in each run, text."""
        return {
            "nugget": np.array(self.ids, dtype=object),
            "importance": np.array(self.importance, dtype=object),
            "weight": self.weight,
            **{run: self.support[:, r] for r, run in enumerate(self.runs)},
            "text": np.array(self.texts, dtype=object),
        }


def explain_nuggets(assignments: Assignments, topic: str, *, weighting: str = "auto") -> NuggetMatches:
    """Which nuggets of a topic each run has."""
    if topic not in assignments.nuggets:
        raise check.nearest(topic, list(assignments.nuggets), "topic")
    nuggets = assignments.nuggets[topic]
    weights, note = weights_of(assignments.nuggets, weighting)
    runs = [run for run, topics in assignments.support.items() if topic in topics]
    support = [[assignments.support[run][topic].get(id, np.nan) for run in runs] for id in nuggets]
    return NuggetMatches(
        topic, tuple(runs), tuple(nuggets), tuple(nugget.importance for nugget in nuggets.values()),
        np.array([weights[topic][id] for id in nuggets]),
        np.array(support, dtype=np.float64).reshape(len(nuggets), len(runs)),
        tuple(nugget.text for nugget in nuggets.values()),
        (*assignments.notes, note, "1: full support, 0.5: partial support"),
    )  # fmt: skip


def assignment_labels(parts: Mapping[str, Assignments]) -> Labels:
    """Labels of several assessors, such as people and a machine, for the functions of `building.agreement`.

    An item is a topic with a run and a nugget; the scale is 0, 0.5 and 1.
    """
    from cranfield.building.assessor_labels import Labels

    rows: list[tuple[str, str, str, str]] = []
    for assessor, assignments in parts.items():
        for run, topics in assignments.support.items():
            for topic, of_topic in topics.items():
                rows += [(topic, f"{run}: {id}", assessor, f"{value:g}") for id, value in of_topic.items()]
    seen: Sequence[str] = sorted({row[3] for row in rows}, key=float)
    return Labels.of(rows, scale=seen if len(seen) > 1 else ["0", "1"])


# ---- pyramids: the weight of the content units of a summary, relative to the best possible weight


def pyramid_maximum(weights: Iterable[float], size: int) -> float:
    """The highest sum of weights that `size` different content units can have.

    >>> pyramid_maximum([4, 3, 3, 1, 1, 1], 4)
    11.0
    """
    return float(sum(sorted(weights, reverse=True)[:size]))


def pyramid_scores(
    assignments: Assignments,
    *,
    measures: Iterable[str] = PYRAMIDS,
    units: Mapping[tuple[str, str], int] | None = None,
    models: int | None = None,
    partial_matches: bool = False,
) -> Scores:
    r"""Pyramid scores of summaries, from the content units (SCUs) that were found in them.

    .. math:: \frac{\sum_{v \in V} w(v)}{\max_{|U| = X} \sum_{v \in U} w(v)}

    w(v) is the number of model summaries that express the unit v. `pyramid`: X is the number of units of the summary
    itself, found in the pyramid or not, so that it is like precision. `pyramid-modified`: X is the mean number of units
    of the model summaries, the sum of weights divided by the number of models, so that it is like recall. It is rounded
    to a whole number, halves up: 11 / 4 = 2.75 units are 3. A note says so.

    Weights are the weights of nuggets, or their votes. units: {(run, topic): number of units}, if summaries have units
    that no model has; otherwise X counts those found. models: the number of model summaries; by default the highest
    weight of each topic, as a note states.

    A summary without units scores 0; a topic whose units have no weight is undefined.
    Reference: Nenkova & Passonneau, Evaluating Content Selection in Summarization: The Pyramid Method, HLT-NAACL 2004,
    145-152

    >>> from cranfield.answers.nugget_files import Nugget
    >>> units = {"1": {name: Nugget(name, weight=w) for name, w in {"a": 4, "b": 2, "c": 1}.items()}}
    >>> found = Assignments({"mine": {"1": {"a": 1.0, "c": 1.0}}}, units)
    >>> pyramid_scores(found, measures=["pyramid"])
    Scores: 1 measure × 1 run × 1 topic
          pyramid
    mine   0.8333
    pyramid: summaries are taken to have only units that were found in them
    """
    check_nuggets(assignments.nuggets)
    names = list(dict.fromkeys(measures))
    for name in names:
        check.one_of("pyramid_scores", PYRAMIDS, measure=name)
    check.whole("pyramid_scores", models=models)
    runs, topics = list(assignments.support), list(assignments.nuggets)
    values, missing = np.zeros((len(names), len(runs), len(topics))), np.zeros((len(runs), len(topics)), dtype=bool)
    sizes: dict[str, float] = {}
    for t, topic in enumerate(topics):
        weights = _weights(assignments, topic)
        most = float(max(weights.values(), default=0.0))
        sizes[topic] = sum(weights.values()) / (models or most) if most else 0.0
        mean_size = int(sizes[topic] + 0.5)
        if models is not None and most > models:
            raise UsageError(f"models == {models}, but a unit of topic {topic!r} has weight {most:g}")
        for r, run in enumerate(runs):
            support = assignments.support[run].get(topic)
            missing[r, t] = support is None
            matched = [id for id, value in (support or {}).items() if value >= 1 or (partial_matches and value > 0)]
            size = len(matched) if units is None else units.get((run, topic), len(matched))
            if size < len(matched):
                raise UsageError(
                    f"run {run!r} has {size} units on topic {topic!r}, but {len(matched)} of them were found"
                )
            total = sum(weights[id] for id in matched)
            for m, name in enumerate(names):
                best = pyramid_maximum(weights.values(), size if name == "pyramid" else mean_size)
                values[m, r, t] = np.nan if not most else total / best if best else 0.0
    notes = Notes(assignments.notes)
    if "pyramid-modified" in names:
        of = f"of {counted(models, 'model')}" if models else "with as many models as the highest weight of each topic"
        notes.method(
            f"pyramid-modified: relative to the mean number of units {of}, "
            f"rounded to a whole number, halves up{_rounded(sizes)}; above 1 is possible"
        )
    if "pyramid" in names and units is None:
        notes.append("pyramid: summaries are taken to have only units that were found in them")
    return Scores(names, runs, topics, values, missing, "zero", notes)


def _rounded(sizes: Mapping[str, float]) -> str:
    """The mean numbers of units that are not whole, and what they become."""
    changed = [f"{topic}: {size:.4g} → {int(size + 0.5)}" for topic, size in sizes.items() if size != int(size)]
    return f" ({listed(changed, 3, 'topics')})" if changed else ""


def _weights(assignments: Assignments, topic: str) -> dict[str, float]:
    nuggets = assignments.nuggets[topic]
    if any(nugget.weight is not None for nugget in nuggets.values()):
        lacking = [id for id, nugget in nuggets.items() if nugget.weight is None]
        if lacking:
            raise UsageError(f"units of topic {topic!r} without a weight: {listed(lacking)}")
        return {id: float(nugget.weight or 0) for id, nugget in nuggets.items()}
    if any(nugget.voters for nugget in nuggets.values()):
        return {id: float(nugget.votes) for id, nugget in nuggets.items()}
    raise UsageError("pyramids need the weight of each unit: the number of models that express it, or votes")


def read_units(path: PathLike) -> dict[tuple[str, str], int]:
    """The number of units of each summary: rows of run, topic and number."""
    rows = UNITS.read(path)
    return {(run, topic): int(number) for run, topic, number in rows}
