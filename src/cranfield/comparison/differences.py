"""Differences between two systems, topic by topic, for one pair or for many.

In floating point 0.3 − 0.2 and 0.4 − 0.3 differ in their last bits. Ranks, signs and variances must not treat this as a
difference. So anything below 2⁻⁴⁴ (6e-14) of the largest score of the two systems is noise: a difference that small
is set to 0, and differences that close to each other are made equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.types import Array, Index64

_GRAIN = 2.0**-44
_BLOCK = 2_000_000
"""The number of differences in memory at once; it does not change results."""


def noise(*samples: Array) -> float:
    """The largest distance that rounding alone can cause between numbers computed from these scores."""
    return _GRAIN * max(float(np.abs(sample).max(initial=0.0)) for sample in samples)


def noise_of_pairs(matrix: Matrix, first: Index64, second: Index64) -> Array:
    """`noise` for many pairs."""
    largest = np.nan_to_num(np.abs(matrix.values)).max(axis=0, initial=0)
    return np.asarray(_GRAIN * np.maximum(largest[first], largest[second]))


def without_noise(difference: Array, close: Array | float) -> Array:
    """Rows of differences: noise becomes 0, and rows that vary only by noise become constant.

    >>> without_noise(np.array([[0.3 - 0.2, 0.4 - 0.3], [0.1 + 0.2 - 0.3, 0.5]]), 1e-14).tolist()
    [[0.09999999999999998, 0.09999999999999998], [0.0, 0.5]]
    """
    close = np.asarray(close)[..., None]
    clean = np.where(np.abs(difference) <= close, 0.0, difference)
    low = np.fmin.reduce(clean, axis=-1, keepdims=True, initial=np.inf)  # ignores NaN
    high = np.fmax.reduce(clean, axis=-1, keepdims=True, initial=-np.inf)
    constant = high - low <= close
    return np.where(constant & ~np.isnan(clean), low, clean) if constant.any() else clean


def gap(x: Array, y: Array) -> Array:
    """x − y entry by entry; noise becomes 0.

    >>> gap(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.4])).round(2).tolist()
    [0.0, 0.1]
    """
    close = _GRAIN * np.maximum(np.abs(x), np.abs(y))
    return np.where(np.abs(x - y) <= close, 0.0, x - y)


def differences(x: Array, y: Array | float) -> Array:
    """x − y without noise.

    >>> differences(np.array([0.3, 0.1]), np.array([0.2, 0.0])).std().item()
    0.0
    """
    return without_noise(x - y, noise(x, np.asarray(y)))


def difference_blocks(matrix: Matrix, first: Index64, second: Index64) -> Iterator[tuple[slice, Array]]:
    """Blocks of pairs and their differences (pairs × topics); NaN if either system has no score."""
    by_system = np.ascontiguousarray(matrix.values.T)
    close = noise_of_pairs(matrix, first, second)
    step = max(1, _BLOCK // max(1, len(matrix.topics)))
    for begin in range(0, len(first), step):
        block = slice(begin, min(begin + step, len(first)))
        yield block, without_noise(by_system[first[block]] - by_system[second[block]], close[block])


def row_moments(values: Array) -> tuple[Array, Array, Array]:
    """The number of entries, the mean and the standard deviation (n − 1) of each row; NaN entries are ignored.

    The mean of no entries and the deviation of fewer than two are NaN. The deviation of equal entries is exactly 0.

    >>> [part.tolist() for part in row_moments(np.array([[0.1, 0.1, 0.1], [1.0, 3.0, np.nan]]))]
    [[3.0, 2.0], [0.1, 2.0], [0.0, 1.4142135623730951]]
    """
    entries, n = zeros_for_nan(values)
    low = np.fmin.reduce(values, axis=1, initial=np.inf)
    equal = (n > 0) & (np.fmax.reduce(values, axis=1, initial=-np.inf) <= low)
    mean = np.where(equal, low, entries.sum(axis=1) / np.where(n > 0, n, np.nan))
    deviation = np.where(np.isnan(values), 0.0, values - mean[:, None])
    spread = np.sqrt((deviation**2).sum(axis=1) / np.where(n > 1, n - 1, np.nan))
    return n, mean, np.where(equal & (n > 1), 0.0, spread)


def zeros_for_nan(difference: Array) -> tuple[Array, Array]:
    """The differences with 0 for NaN (pairs × topics), and the number that are not NaN (per pair)."""
    defined = ~np.isnan(difference)
    return np.where(defined, difference, 0.0), defined.sum(axis=-1).astype(np.float64)
