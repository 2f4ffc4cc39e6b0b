"""Curves of a run as data: precision against recall, and ROC with the area under the curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import divide
from cranfield.measures.gain import num_retrieved
from cranfield.measures.ranked_lists.ranked import ELEVEN, interpolated
from cranfield.measures.ranked_lists.sets import collection_too_small
from cranfield.text import listed
from cranfield.types import Array, Index


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of one list, as points from left to right."""

    x: Array
    y: Array
    x_name: str
    y_name: str

    def __repr__(self) -> str:
        points = ", ".join(f"({x:.3g}, {y:.3g})" for x, y in zip(self.x, self.y, strict=True))
        return f"Curve({self.y_name} against {self.x_name}: {points})"


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of many lists, or of runs averaged over topics, at the same points `x`: `y[row, point]`.

    `area` is the area under each ROC curve. Undefined values are NaN.
    """

    x: Array
    y: Array
    x_name: str
    y_name: str
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    run: Index
    topic: Index | None
    area: Array | None = None

    def __repr__(self) -> str:
        kind = "mean curves" if self.topic is None else "curves"
        return f"Curves({len(self.y)} {kind} of {self.y_name} against {self.x_name} at {len(self.x)} points)"

    def of_topic(self, topic: str) -> dict[str, Curve]:
        """{run: its curve on a topic}."""
        if self.topic is None or topic not in self.topics:
            raise UsageError(f"there is no topic {topic!r}; the topics are {listed(self.topics, 10)}")
        rows = np.flatnonzero(self.topic == self.topics.index(topic)).tolist()
        return {self.runs[self.run[row]]: Curve(self.x, self.y[row], self.x_name, self.y_name) for row in rows}

    def mean(self) -> Curves:
        """One curve per run: the mean over the topics for which it is defined."""
        if self.topic is None:
            return self
        rows = [self.run == number for number in range(len(self.runs))]
        y = np.vstack([_mean(self.y[of_run]) for of_run in rows])
        area = None if self.area is None else np.array([_mean(self.area[of_run, None])[0] for of_run in rows])
        return replace(self, y=y, run=np.arange(len(self.runs)), topic=None, area=area)


def _mean(rows: Array) -> Array:
    defined = rows[~np.isnan(rows).any(axis=1)]
    return defined.mean(axis=0) if len(defined) else np.full(rows.shape[1], np.nan)


def _row(lists: Assessed, run: str, topic: str) -> int:
    if run not in lists.runs:
        raise UsageError(f"there is no run {run!r}; the runs are {listed(lists.runs, 10)}")
    if topic not in lists.topics:
        raise UsageError(f"there is no topic {topic!r}; the topics are {listed(lists.topics, 10)}")
    rows = np.flatnonzero((lists.run == lists.runs.index(run)) & (lists.topic == lists.topics.index(topic)))
    return int(rows[0])


def precision_recall(lists: Assessed, run: str, topic: str, *, rel: float = 1, cutoff: int | None = None) -> Curve:
    """Precision against recall of one list: a point at each relevant document (Sakai 2014 Fig. 2, left).

    >>> precision_recall(Assessed.one([1, 0, 1], missed=[1, 1]), "run", "topic")
    Curve(precision against recall: (0.25, 1), (0.5, 0.667))
    """
    row = _row(lists, run, topic)
    hits = lists.relevant(rel, cutoff)
    of_list = slice(*hits.start[row : row + 2])
    recall = divide(hits.nth[of_list].astype(np.float64), lists.num_rel(rel)[row])
    return Curve(recall, hits.nth[of_list] / hits.rank[of_list], "recall", "precision")


def saw_tooth(lists: Assessed, run: str, topic: str, *, rel: float = 1) -> Curve:
    """Precision against recall of one list at every rank: between relevant documents precision falls, recall stays.

    Reference: Ferro & Maistro 2024 Fig. 8

    >>> saw_tooth(Assessed.one([0, 1, 1, 0, 1], missed=[1, 1]), "run", "topic")
    Curve(precision against recall: (0, 0), (0.2, 0.5), (0.4, 0.667), (0.4, 0.5), (0.6, 0.6))
    """
    row = _row(lists, run, topic)
    hits = lists.relevant(rel)
    ranks = np.arange(1, int(lists.retrieved[row]) + 1)
    found = np.searchsorted(hits.rank[slice(*hits.start[row : row + 2])], ranks, side="right").astype(np.float64)
    return Curve(divide(found, lists.num_rel(rel)[row]), found / ranks, "recall", "precision")


def interpolated_precision(
    lists: Assessed, points: Sequence[float] = ELEVEN, *, rel: float = 1, dialect: str = "exact"
) -> Curves:
    """Interpolated precision of every list at the recall points; `.mean()` gives one curve per run.

    >>> interpolated_precision(Assessed.one([1, 0, 1]), [0, 0.5, 1]).y.round(3).tolist()
    [[1.0, 1.0, 0.667]]
    """
    for point in points:
        check.between("interpolated_precision", low=0, high=1, points=point)
    y = np.column_stack([interpolated(lists, rel, None, point, dialect) for point in points])
    return Curves(
        np.asarray(points, dtype=np.float64), y, "recall", "precision", lists.runs, lists.topics, lists.run, lists.topic
    )


@dataclass(frozen=True, eq=False)
class _Steps:
    """The steps of ROC curves: each relevant hit with the non-relevant documents above it, and the totals per list."""

    row: Index
    above: Array
    relevant: Array
    nonrelevant: Array
    relevant_retrieved: Array
    nonrelevant_retrieved: Array


def _steps(lists: Assessed, rel: float, N: int | None) -> _Steps:
    hits, relevant = lists.relevant(rel), lists.num_rel(rel)
    if N is not None:
        check.positive("roc", N=N)
        others = num_retrieved(lists, None) - hits.count
        if len(others) and (others + relevant).max() > N:
            raise collection_too_small(N, int((others + relevant).max()))
        return _Steps(hits.row, (hits.rank - hits.nth).astype(np.float64), relevant, N - relevant, hits.count, others)
    every = lists.hits()
    above = np.flatnonzero(lists.grade >= rel) - every.start[:-1][hits.row] - (hits.nth - 1.0)
    nonrelevant, others = lists.num_judged() - relevant, every.count - hits.count
    return _Steps(hits.row, above, relevant, nonrelevant, hits.count, others)


def roc(lists: Assessed, points: Sequence[float] | None = None, *, rel: float = 1, N: int | None = None) -> Curves:
    r"""True positive rate against false positive rate, with the area under the curve, for every list.

    The curve is over the judged documents, or over a whole collection of `N` documents, in which unjudged documents are
    not relevant. Documents that were not retrieved follow in random order: the curve ends in a straight line to (1, 1).
    The area is the probability that a relevant document comes before a non-relevant one. It is undefined (NaN) without
    relevant or without non-relevant documents. `points` are false positive rates, by default 0, 0.01, ..., 1.
    Reference: Fawcett, Pattern Recognition Letters 27(8), 2006, doi:10.1016/j.patrec.2005.10.010

    >>> roc(Assessed.one([1, 0, 1, 0])).area.tolist()
    [0.75]
    """
    x = np.linspace(0, 1, 101) if points is None else np.asarray(points, dtype=np.float64)
    for point in x.tolist():
        check.between("roc", low=0, high=1, points=point)
    steps = _steps(lists, rel, N)
    pairs = steps.relevant * steps.nonrelevant
    missed, left = steps.relevant - steps.relevant_retrieved, steps.nonrelevant - steps.nonrelevant_retrieved
    in_order = np.bincount(steps.row, steps.nonrelevant[steps.row] - steps.above, lists.rows)
    area = divide(in_order + missed * left / 2, pairs)
    y = np.empty((lists.rows, len(x)))
    for number, rate in enumerate(x.tolist()):
        false = rate * steps.nonrelevant
        climbed = np.bincount(steps.row, steps.above <= false[steps.row] + 1e-9, lists.rows).astype(np.float64)
        below_list = false - steps.nonrelevant_retrieved
        beyond = np.where(below_list > 0, divide(missed * below_list, left), 0.0)
        beyond = np.where((left == 0) & (rate == 1), missed, beyond)  # no others left: straight up at the end
        y[:, number] = divide(climbed + beyond, np.where(pairs > 0, steps.relevant, 0.0))
    return Curves(
        x, y, "false positive rate", "true positive rate", lists.runs, lists.topics, lists.run, lists.topic, area
    )
