r"""Intervals of coefficients of agreement, which allow for the items that were not seen.

Where assessors rarely disagree, or one label is rare, the items at hand may all agree, and resamples of them do too. So
the lower end of an interval is that of the items and one more, on which the assessors disagree, and the upper end that
of the items and one more, on which they agree about the rarest label. All items have random weights, uniform on the
simplex (the Bayesian bootstrap). For percent agreement, this is the interval of Clopper and Pearson.

References: Rubin, The Bayesian Bootstrap, Annals of Statistics 9(1), 1981; Gaffke, Three test statistics for a
nonparametric one-sided hypothesis on the mean of a nonnegative variable, Mathematical Methods of Statistics 14(4), 2005
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.building.agreement.agreement_settings import AgreementSettings
from cranfield.building.agreement.item_statistics import ItemStatistics
from cranfield.building.assessor_labels import Labels
from cranfield.comparison.resampling import Resampling, resample
from cranfield.notes import Notes, method_note
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

BLOCK = 4_000_000
"""Number of weights or of sums held at a time, to bound memory."""

MOST_RESAMPLED = 300_000_000
"""Cohen's κ over pairs of assessors has no bootstrap interval if more numbers than this would be summed."""


def intervals(
    settings: AgreementSettings,
    statistics: ItemStatistics,
    values: Array,
    errors: Array,
    progress: Progress | None = None,
) -> tuple[Array, Array, tuple[str, ...]]:
    """The ends of the intervals of the coefficients, and notes on how they were computed."""
    none = np.full(len(values), np.nan)
    units = counted(int(np.count_nonzero(np.diff(statistics.matrix.indptr))), settings.unit)
    if settings.interval == "normal":
        from scipy.special import ndtri

        margin = ndtri((1 + settings.level) / 2) * errors
        note = method_note(f"intervals: value ± z × error, at most 1, level {100 * settings.level:g}%")
        return values - margin, np.minimum(values + margin, 1.0), (note,)
    if not settings.resamples:
        return none, none, ()
    filled = np.flatnonzero(np.diff(statistics.matrix.indptr))
    if len(filled) < 2:
        return none, none, (f"no intervals: {units} cannot be resampled",)
    without: tuple[str, ...] = ()
    resampled = settings
    if statistics.by_pair:
        width = len(statistics.pair_labels.first) * len(statistics.labels.scale) ** 2
        scattered = statistics.pair_labels.scattered
        if scattered or width * settings.resamples > MOST_RESAMPLED:
            kept = tuple(coefficient for coefficient in settings.coefficients if coefficient.error != "cohen")
            resampled, statistics = replace(settings, coefficients=kept), replace(statistics, by_pair=False)
            pairs = counted(len(statistics.pair_labels.first), "pair")
            if not scattered:
                without = (f"Cohen's κ has no interval: {pairs} of assessors are too many to resample",)
    if not resampled.coefficients:
        return none, none, without
    matrix, unseen = statistics.matrix[filled], unseen_units(statistics)
    if unseen is None:
        return none, none, ("no intervals: all labels are equal, and no other label is known", *without)
    low, high = none.copy(), none.copy()
    at = [settings.coefficients.index(coefficient) for coefficient in resampled.coefficients]
    low[at], high[at], state = interval_with_unseen(
        matrix, unseen, lambda sums: resampled.computed(statistics, sums), settings.resamples, settings.level,
        settings.seed, progress,
    )  # fmt: skip
    undefined_value = np.isnan(values)
    low[undefined_value], high[undefined_value] = np.nan, np.nan
    undefined = np.isnan(state.result).sum(axis=0)
    partly = [
        f"{coefficient.name} ({number:,})"
        for coefficient, number, value in zip(
            resampled.coefficients, undefined.tolist(), values[at].tolist(), strict=True
        )
        if number and value == value
    ]
    notes = Notes()
    notes.method(
        f"intervals: level {100 * settings.level:g}%, {state.done:,} random weightings of {units} and one not seen "
        f"(one more disagreement, one more agreement), seed {settings.seed}"
    )
    if partly:
        notes.caution(f"weightings in which a coefficient is undefined, left out of its interval: {listed(partly)}")
    return low, high, (*notes, *without)


def interval_with_unseen(
    matrix: Any,
    unseen: tuple[Array, Array],
    compute: Callable[[Array], Array],
    resamples: int,
    level: float,
    seed: Any,
    progress: Progress | None = None,
) -> tuple[Array, Array, Resampling]:
    """Low and high end of each result of `compute`, from sums over the rows of `matrix` (units × numbers).

    unseen: the rows of the unit on which assessors disagree, and of that on which they agree. The resampling has the
    results with the first. There is no interval where fewer than half of the weightings have a result.
    """
    units = matrix.shape[0]
    rng = np.random.default_rng(seed)
    kinds = matrix.tocsr() if hasattr(matrix, "tocsr") else matrix
    times = np.ones(units)
    if isinstance(matrix, np.ndarray):  # equal rows share a weight: the same distribution, faster
        kinds, times = np.unique(matrix, axis=0, return_counts=True)
    transposed = kinds.T.tocsr() if hasattr(kinds, "tocsr") else np.ascontiguousarray(kinds.T)
    size = max(1, BLOCK // max(len(times), kinds.shape[1], 1))

    def more(results: list[Array], begin: int, end: int) -> list[Array]:
        weights = rng.standard_gamma(times, size=(end - begin, len(times)))
        extra = rng.standard_exponential(size=(end - begin, 1))
        scale = units / (weights.sum(axis=1, keepdims=True) + extra)
        sums = np.ascontiguousarray((transposed @ weights.T).T)
        both = [compute(np.ascontiguousarray(scale * (sums + extra * row))) for row in unseen]
        return [*results, np.stack(both, axis=1)]

    state = resample(resamples, size, [], more, progress, keep=False)
    drawn = np.concatenate(state.result)
    tail = (1 - level) / 2
    ends = []
    for at, which in enumerate((tail, 1 - tail)):
        values = drawn[:, at]
        enough = 2 * (~np.isnan(values)).sum(axis=0) >= max(len(values), 1)
        end = np.full(values.shape[1], np.nan)
        if enough.any():
            end[enough] = np.nanquantile(values[:, enough], which, axis=0)
        ends.append(end)
    return ends[0], ends[1], Resampling(state.total, drawn[:, 0], state.done)


def unseen_units(statistics: ItemStatistics) -> tuple[Array, Array] | None:
    """The rows of a unit of typical size on which assessors disagree, and on which they agree; None for one label."""
    labels = statistics.labels
    counts = np.bincount(labels.label, minlength=len(labels.scale))
    chosen = telling_labels(counts)
    if chosen is None:
        return None
    frequent, far, rare = chosen
    full = int(np.argmax(np.bincount(labels.item, minlength=len(labels.items))))
    workers = np.unique(labels.worker[labels.item == full])
    half = np.arange(len(workers)) % 2 == 0
    kinds = [np.where(half, frequent, far), np.where(half, far, frequent), np.full(len(workers), rare)]
    more = Labels(
        ("a", "b", "c"), labels.workers, labels.scale, np.repeat(np.arange(3), len(workers)), np.tile(workers, 3),
        np.concatenate(kinds), labels.ordered,
    )  # fmt: skip
    rows = replace(statistics, labels=more, unit=np.arange(3), by_pair=False).matrix.toarray()
    worst, best = (rows[0] + rows[1]) / 2, rows[2]
    items = max(int((statistics.sizes > 0).sum()), 1)
    if statistics.by_pair:  # the unit belongs to every pair of assessors, as far as they have items in common
        q, pairs = len(labels.scale), statistics.pair_labels
        tables = np.zeros((2, len(pairs.first), q, q))
        share = pairs.num_items / items
        tables[0, :, frequent, far] = tables[0, :, far, frequent] = share / 2
        tables[1, :, rare, rare] = share
        worst, best = np.append(worst, tables[0]), np.append(best, tables[1])
    typical = items / max(int(np.count_nonzero(np.diff(statistics.matrix.indptr))), 1)
    return typical * worst, typical * best


def interval_of_cells(
    cells: Array, compute: Callable[[Array], Array], resamples: int, level: float, seed: Any
) -> tuple[Array, Array]:
    """Low and high end of each result, for rows that are tables of two labels, flattened; NaN if there is none."""
    values = compute(cells.sum(axis=0, keepdims=True))[0]
    unseen = unseen_cells(cells) if resamples and len(cells) > 1 else None
    if unseen is None:
        return np.full(len(values), np.nan), np.full(len(values), np.nan)
    low, high, _ = interval_with_unseen(cells, unseen, compute, resamples, level, seed)
    undefined = np.isnan(values)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def unseen_cells(cells: Array) -> tuple[Array, Array] | None:
    """The same for rows that are tables of two labels, flattened."""
    q = int(np.sqrt(cells.shape[1]))
    table = cells.sum(axis=0).reshape(q, q)
    chosen = telling_labels(table.sum(axis=0) + table.sum(axis=1))
    if chosen is None:
        return None
    frequent, far, rare = chosen
    worst, best = np.zeros((2, q, q))
    worst[frequent, far] = worst[far, frequent] = 0.5
    best[rare, rare] = 1
    size = float(cells.sum()) / len(cells)
    return size * worst.ravel(), size * best.ravel()


def telling_labels(counts: Array | Index64) -> tuple[int, int, int] | None:
    """The most frequent label, the label that is farthest from it, and the rarest; None if the scale has one label.

    >>> telling_labels(np.array([5, 30, 0, 2]))
    (1, 3, 3)
    """
    if len(counts) < 2:
        return None
    seen = np.flatnonzero(counts) if np.count_nonzero(counts) > 1 else np.arange(len(counts))
    frequent = int(np.argmax(counts))
    others = seen[seen != frequent]
    far = int(others[np.argmax(np.abs(others - frequent))])
    return frequent, far, int(others[np.argmin(counts[others])])
