"""Curves of a run as data: precision against recall, and ROC with the area under it. Drawing is another matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import divide
from cranfield.measures.ranked import ELEVEN, interpolated
from cranfield.measures.retrieved import num_retrieved
from cranfield.types import Array, Index


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of one list: a point for every step, from left to right."""

    x: Array
    y: Array
    x_name: str
    y_name: str

    def __repr__(self) -> str:
        points = ", ".join(f"({x:.3g}, {y:.3g})" for x, y in zip(self.x, self.y, strict=True))
        return f"Curve({self.y_name} against {self.x_name}: {points})"


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of many lists (or of runs, averaged over topics) at the same points `x`: `y[row, point]`.

    `area` is the area under each, where that is a number people use (ROC). Undefined lists are NaN.
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
        what = "mean curves" if self.topic is None else "curves"
        return f"Curves({len(self.y)} {what} of {self.y_name} against {self.x_name} at {len(self.x)} points)"

    def mean(self) -> Curves:
        """One curve per run: the mean over the topics where it is defined."""
        if self.topic is None:
            return self
        y = np.vstack([_mean(self.y[self.run == number]) for number in range(len(self.runs))])
        area = self.area
        if area is not None:
            area = np.array([_mean(area[self.run == number, None])[0] for number in range(len(self.runs))])
        return Curves(
            self.x, y, self.x_name, self.y_name, self.runs, self.topics, np.arange(len(self.runs)), None, area
        )


def _mean(rows: Array) -> Array:
    defined = rows[~np.isnan(rows).any(axis=1)]
    return defined.mean(axis=0) if len(defined) else np.full(rows.shape[1], np.nan)


def _row(lists: Assessed, run: str, topic: str) -> int:
    if run not in lists.runs:
        raise UsageError(f"run {run!r} is not there; there are {', '.join(lists.runs)}")
    if topic not in lists.topics:
        raise UsageError(f"topic {topic!r} is not there; there are {', '.join(lists.topics[:10])} ...")
    found = np.flatnonzero((lists.run == lists.runs.index(run)) & (lists.topic == lists.topics.index(topic)))
    return int(found[0])


def precision_recall(lists: Assessed, run: str, topic: str, *, rel: float = 1, cutoff: int | None = None) -> Curve:
    """Precision against recall of one list: a point at each relevant document (Sakai 2014 Fig. 2, left).

    >>> precision_recall(Assessed.one([1, 0, 1], missed=[1, 1]), "run", "topic")
    Curve(precision against recall: (0.25, 1), (0.5, 0.667))
    """
    row = _row(lists, run, topic)
    hits = lists.relevant(rel, cutoff)
    here = slice(*hits.start[row : row + 2])
    recall = divide(hits.nth[here].astype(np.float64), lists.num_rel(rel)[row])
    return Curve(recall, hits.nth[here] / hits.rank[here], "recall", "precision")


def interpolated_precision(
    lists: Assessed, points: Sequence[float] = ELEVEN, *, rel: float = 1, dialect: str = "exact"
) -> Curves:
    """Interpolated precision of every list at the recall points; `.mean()` gives the curve of each run.

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
    """What an ROC curve climbs on: each relevant hit, the non-relevant documents above it, and the totals per row."""

    row: Index
    above: Array
    relevant: Array
    nonrelevant: Array
    found: Array
    wrong: Array


def _steps(lists: Assessed, rel: float, N: int | None) -> _Steps:
    hits, relevant = lists.relevant(rel), lists.num_rel(rel)
    if N is not None:
        check.positive("roc", N=N)
        wrong = num_retrieved(lists, None) - hits.count
        if len(wrong) and (wrong + relevant).max() > N:
            most = int((wrong + relevant).max())
            raise UsageError(f"N == {N}, but a topic has {most} documents retrieved or relevant; give the whole size")
        return _Steps(hits.row, (hits.rank - hits.nth).astype(np.float64), relevant, N - relevant, hits.count, wrong)
    every = lists.hits()
    place = np.flatnonzero(lists.grade >= rel) - every.start[:-1][hits.row]
    above = place - (hits.nth - 1)
    return _Steps(
        hits.row,
        above.astype(np.float64),
        relevant,
        lists.num_judged() - relevant,
        hits.count,
        every.count - hits.count,
    )


def roc(lists: Assessed, points: Sequence[float] | None = None, *, rel: float = 1, N: int | None = None) -> Curves:
    r"""True positive rate against false positive rate, with the area under the curve, for every list.

    Over the judged documents, or over a whole collection of `N` documents where what is not judged is not relevant.
    Documents that were not retrieved come after the others in no order: the curve ends in a straight line to (1, 1).
    The area is the chance that a relevant document stands before a non-relevant one. Undefined (NaN) when there are no
    relevant or no non-relevant documents. `points` are false positive rates, by default 0, 0.01, ..., 1.
    Reference: Fawcett, Pattern Recognition Letters 27(8), 2006, doi:10.1016/j.patrec.2005.10.010

    >>> roc(Assessed.one([1, 0, 1, 0])).area.tolist()
    [0.75]
    """
    x = np.linspace(0, 1, 101) if points is None else np.asarray(points, dtype=np.float64)
    for point in x.tolist():
        check.between("roc", low=0, high=1, points=point)
    steps = _steps(lists, rel, N)
    pairs = steps.relevant * steps.nonrelevant
    missed, left = steps.relevant - steps.found, steps.nonrelevant - steps.wrong
    won = np.bincount(steps.row, steps.nonrelevant[steps.row] - steps.above, lists.rows)
    area = divide(won + missed * left / 2, pairs)
    y = np.empty((lists.rows, len(x)))
    for number, rate in enumerate(x.tolist()):
        wrong = rate * steps.nonrelevant
        climbed = np.bincount(steps.row, steps.above <= wrong[steps.row] + 1e-9, lists.rows).astype(np.float64)
        beyond = np.where(wrong > steps.wrong, divide(missed * (wrong - steps.wrong), left), 0.0)
        beyond = np.where((left == 0) & (rate == 1), missed, beyond)  # nothing left to tie with: straight up at the end
        y[:, number] = divide(climbed + beyond, np.where(pairs > 0, steps.relevant, 0.0))
    return Curves(
        x, y, "false positive rate", "true positive rate", lists.runs, lists.topics, lists.run, lists.topic, area
    )
