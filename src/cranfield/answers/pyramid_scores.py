"""Pyramid scores: the weight of the content units of a summary, relative to the best possible weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cranfield import check
from cranfield.answers.answer_rows import read_rows
from cranfield.answers.nugget_files import Assignments, check_nuggets
from cranfield.collection.source import PathLike
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, shown

MEASURES = ("pyramid", "pyramid-modified")


def pyramid_maximum(weights: Iterable[float], size: int) -> float:
    """The highest sum of weights that `size` different content units can have.

    >>> pyramid_maximum([4, 3, 3, 1, 1, 1], 4)
    11.0
    """
    return float(sum(sorted(weights, reverse=True)[:size]))


def pyramid_scores(
    assignments: Assignments,
    *,
    measures: Iterable[str] = MEASURES,
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
    weight of each topic, which a note says.

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
        check.one_of("pyramid_scores", MEASURES, measure=name)
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
            found = [id for id, value in (support or {}).items() if value >= 1 or (partial_matches and value > 0)]
            size = len(found) if units is None else units.get((run, topic), len(found))
            if size < len(found):
                raise UsageError(
                    f"run {run!r} has {size} units on topic {topic!r}, but {len(found)} of them were found"
                )
            total = sum(weights[id] for id in found)
            for m, name in enumerate(names):
                best = pyramid_maximum(weights.values(), size if name == "pyramid" else mean_size)
                values[m, r, t] = np.nan if not most else total / best if best else 0.0
    notes = list(assignments.notes)
    if "pyramid-modified" in names:
        of = f"of {counted(models, 'model')}" if models else "with as many models as the highest weight of each topic"
        notes.append(
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
    units: dict[tuple[str, str], int] = {}
    for row in read_rows(path, ("run", "topic", "number")):
        key = (row.text("run"), row.text("topic"))
        if key in units:
            raise row.fault(f"run {shown(key[0])} appears twice on topic {shown(key[1])}")
        units[key] = row.whole("number")
    return units
