"""The distance of one measure's scores from another measure's ranking, relative to the variation over topics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.meta.complete_scores import CompleteScores, Levels
from cranfield.meta.meta_record import Columns, MetaRecord, headings, labels, report
from cranfield.scores.scores import Scores
from cranfield.table import Column, Table
from cranfield.types import Array, Progress


@dataclass(frozen=True, eq=False, repr=False)
class Distances(MetaRecord):
    """d_rank between all measures: from the scores by the row's measure to the ranking by the column's."""

    figure = "distances_figure"

    measures: tuple[str, ...]
    values: Array
    shrinkage: Array
    """For each measure, how much the covariances between systems were shrunk: 0 not at all, 1 to zero."""
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """measure (of the scores), other (of the ranking), d_rank."""
        a, b = np.nonzero(~np.eye(len(self.measures), dtype=bool))
        names = labels(self.measures)
        return {"measure": names[a], "other": names[b], "d_rank": self.values[a, b]}

    def table(self) -> Table:
        """A row per measure of the scores, a column per measure of the ranking."""
        rows = tuple(
            (name, *(None if i == j else distance for j, distance in enumerate(self.values[i].tolist())))
            for i, name in enumerate(self.measures)
        )
        columns = (Column("scores by"), *headings("number", *self.measures))
        return Table(columns, rows, "d_rank, scores by the row to the ranking by the column", self.notes)


def rank_distances(
    scores: Scores, measures: Any = None, *, shrink: float | None = None, progress: Progress | None = None
) -> Distances:
    r"""Carterette's distance between rankings, which takes the covariance of systems over topics into account.

    .. math:: d_{rank}^2 = \min_{\mu \in C} \; (\bar x - \mu)^T \left(\Sigma / n\right)^{-1} (\bar x - \mu)

    :math:`\bar x` are the systems' mean scores by one measure over n topics, Σ the covariances of systems over topics,
    and C all means that rank the systems as the other measure does. It is 0 if the rankings agree, and small if they
    differ only in pairs that the topics do not separate, or in many correlated pairs; Kendall's τ counts each such
    pair. For two systems it is the absolute paired t statistic. It depends on which measure's scores are moved.

    Σ is estimated from few topics, and is singular if there are more systems than topics. Its covariances therefore
    shrink towards 0 by `shrink` (0 to 1), by default by the amount that Schäfer & Strimmer (2005) estimate from the
    data. The distance is infinite if no such means exist, for example for systems without variance in the wrong order.
    It is derived from the paper's idea (the nearest scores with that ranking, under the covariances) and solved as a
    least distance programme (Lawson & Hanson); there is no p-value.
    References: Carterette, SIGIR 2009, doi:10.1145/1571941.1572017; Schäfer & Strimmer, SAGMB 4(1), 2005

    >>> values = [[[0.2, 0.4, 0.3], [0.5, 0.5, 0.8], [0.9, 0.7, 0.8]], [[1, 1, 1], [3, 3, 2], [2, 1, 3]]]
    >>> rank_distances(Scores(["A", "B"], ["a", "b", "c"], ["1", "2", "3"], values), shrink=0).values.round(3).tolist()
    [[0.0, 1.732], [0.756, 0.0]]
    """
    complete = CompleteScores.of(scores, "d_rank", measures, least_systems=2)
    n = len(complete.topics)
    if n < 2:
        raise UsageError("d_rank: 1 topic, covariances over topics need 2 or more")
    if shrink is not None:
        check.between("d_rank", low=0, high=1, shrink=shrink)
    levels = complete.levels()
    count = len(complete.measures)
    values = np.zeros((count, count))
    shrinkage = np.zeros(count)
    for a in range(count):
        covariance, shrinkage[a] = _covariance(complete.values[a], shrink)
        root = _root(covariance / n)
        means = complete.values[a].mean(axis=1)
        for b in range(count):
            if a != b:
                values[a, b] = _nearest(means, root, levels[b])
            report(progress, a * count + b + 1, count * count)
    source = "as requested" if shrink is not None else "as estimated (Schäfer & Strimmer)"
    span = f"{shrinkage.min():.2f}" if np.ptp(shrinkage) < 0.005 else f"{shrinkage.min():.2f} to {shrinkage.max():.2f}"
    note = f"{len(complete.runs)} systems, {n} topics; covariances shrunk by {span}, {source}"
    return Distances(complete.measures, values, shrinkage, (*complete.notes, note))


def _covariance(x: Array, shrink: float | None) -> tuple[Array, float]:
    """The covariances of systems over topics, and the share by which the off-diagonal entries were shrunk."""
    n = x.shape[1]
    away = x - x.mean(axis=1, keepdims=True)
    covariance = away @ away.T / (n - 1)
    if shrink is None:
        off = ~np.eye(len(x), dtype=bool)
        squares = ((away**2) @ (away**2).T - (away @ away.T) ** 2 / n) * n / (n - 1) ** 3
        total = float((covariance[off] ** 2).sum())
        shrink = min(1.0, max(0.0, float(squares[off].sum()) / total)) if total > 0 else 0.0
    diagonal = np.diag(np.diag(covariance))
    return (1 - shrink) * covariance + shrink * diagonal, float(shrink)


def _root(covariance: Array) -> Array:
    """L with L Lᵀ = covariance; directions without variance are left out."""
    size, direction = np.linalg.eigh(covariance)
    kept = size > size.max(initial=0.0) * 1e-12
    return np.asarray(direction[:, kept] * np.sqrt(size[kept]))


def _nearest(means: Array, root: Array, levels: Levels) -> float:
    """min |z| such that means + L z have the ranking `levels`."""
    # Pairs of systems on neighbouring levels; the order of all other pairs follows from theirs.
    better, worse = np.nonzero(levels[:, None] == levels[None, :] + 1)
    gap = means[better] - means[worse]
    if (gap >= 0).all():
        return 0.0
    slope = root[better] - root[worse]
    # Least distance programme: min |z| with G z ≥ h, by non-negative least squares on [Gᵀ; hᵀ] u = (0, ..., 0, 1), with
    # h in units of its largest entry.
    from scipy.optimize import nnls

    unit = float(np.abs(gap).max())
    system = np.vstack((slope.T, -gap[None, :] / unit))
    target = np.zeros(len(system))
    target[-1] = 1.0
    solution, _ = nnls(system, target)
    rest = system @ solution - target
    if -rest[-1] < 1e-12:
        return math.inf
    return float(np.linalg.norm(rest[:-1] / rest[-1]) * unit)
