"""Bootstrap of anything that is a function of sums over units, such as items or topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.comparison.resampling import Resampling, resample
from cranfield.types import Array, Progress

BLOCK = 4_000_000
"""Number of weights or of sums held at a time, to bound memory."""
ALIKE = 10
"""Equal rows are drawn together if there are at least this many rows for each distinct one."""


def bootstrap(
    matrix: Any,
    compute: Callable[[Array], Array],
    resamples: int,
    seed: Any,
    progress: Progress | None = None,
) -> Resampling:
    """Resample the rows of a matrix (units × numbers, dense or sparse) with replacement.

    compute: from sums over resampled rows (resamples × numbers) to the results (resamples × results). The result of
    the resampling is an array of these.
    """
    units, width = matrix.shape
    rng = np.random.default_rng(seed)
    transposed = matrix.T.tocsr() if hasattr(matrix, "tocsr") else np.ascontiguousarray(matrix.T)
    chance: Array | None = None
    if isinstance(matrix, np.ndarray):
        distinct, counts = np.unique(matrix, axis=0, return_counts=True)
        if len(distinct) * ALIKE <= units:  # draw how often each kind of row appears: the same distribution, faster
            transposed, chance = np.ascontiguousarray(distinct.T), counts / units
    size = max(1, BLOCK // max(units if chance is None else len(chance), width, 1))

    def more(results: list[Array], begin: int, end: int) -> list[Array]:
        if chance is None:
            times = draws(rng, end - begin, units)
        else:
            times = rng.multinomial(units, chance, size=end - begin).astype(np.float64)
        return [*results, compute(np.ascontiguousarray((transposed @ times.T).T))]

    state = resample(resamples, size, [], more, progress)
    return Resampling(state.total, np.concatenate(state.result), state.done)


def draws(rng: np.random.Generator, resamples: int, units: int) -> Array:
    """resamples × units: how often each unit is in each resample.

    >>> draws(np.random.default_rng(0), 2, 3).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    chosen = rng.integers(0, units, size=(resamples, units))
    chosen += np.arange(resamples)[:, None] * units
    return np.bincount(chosen.ravel(), minlength=resamples * units).reshape(resamples, units).astype(np.float64)


def percentile_interval(values: Array, level: float) -> tuple[Array, Array]:
    """The ends of the percentile interval of each column, over the resamples in which it is defined.

    Where fewer than half of the resamples are, there is no interval.
    """
    low, high = np.full((2, values.shape[1]), np.nan)
    enough = (~np.isnan(values)).sum(axis=0) * 2 >= max(len(values), 1)
    if enough.any():
        ends = [(1 - level) / 2, (1 + level) / 2]
        low[enough], high[enough] = np.nanquantile(values[:, enough], ends, axis=0)
    return low, high
