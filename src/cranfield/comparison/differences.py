"""Differences between two systems, topic by topic, for one pair or for very many.

Scores such as 0.3 − 0.2 and 0.4 − 0.3 differ in their last bits only because a computer writes them in binary, and
ranks, signs and a variance of 0 would take that for a difference. What is smaller than 2⁻⁴⁴ of the largest score of the
two systems (6e-14 of it) is noise: a difference that small is 0, and differences that far apart are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.types import Array, Index64

_GRAIN = 2.0**-44
_BLOCK = 2_000_000
"""How many differences are held at a time; bounds memory, and changes no answer."""


def noise(*samples: Array) -> float:
    """How far apart numbers may be that differ by rounding only, if they come from scores like these."""
    return _GRAIN * max(float(np.abs(sample).max(initial=0.0)) for sample in samples)


def noise_of_pairs(matrix: Matrix, first: Index64, second: Index64) -> Array:
    """As `noise`, for many pairs."""
    largest = np.nan_to_num(np.abs(matrix.values)).max(axis=0, initial=0)
    return np.asarray(_GRAIN * np.maximum(largest[first], largest[second]))


def without_noise(difference: Array, close: Array | float) -> Array:
    """Rows of differences: 0 where they are noise, and all the same where they differ by noise only.

    >>> without_noise(np.array([[0.3 - 0.2, 0.4 - 0.3], [0.1 + 0.2 - 0.3, 0.5]]), 1e-14).tolist()
    [[0.09999999999999998, 0.09999999999999998], [0.0, 0.5]]
    """
    close = np.asarray(close)[..., None]
    clean = np.where(np.abs(difference) <= close, 0.0, difference)
    low = np.fmin.reduce(clean, axis=-1, keepdims=True, initial=np.inf)  # NaN does not count
    high = np.fmax.reduce(clean, axis=-1, keepdims=True, initial=-np.inf)
    steady = high - low <= close
    return np.where(steady & ~np.isnan(clean), low, clean) if steady.any() else clean


def gap(x: Array, y: Array) -> Array:
    """x − y entry by entry, 0 where it is noise.

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
    """Some pairs at a time, and their differences: pairs × topics; NaN where either system has no value."""
    by_system = np.ascontiguousarray(matrix.values.T)
    close = noise_of_pairs(matrix, first, second)
    step = max(1, _BLOCK // max(1, matrix.n))
    for begin in range(0, len(first), step):
        block = slice(begin, min(begin + step, len(first)))
        yield block, without_noise(by_system[first[block]] - by_system[second[block]], close[block])


def row_moments(values: Array) -> tuple[Array, Array, Array]:
    """Of each row, entries without a value left out: how many, their mean, and standard deviation (n − 1).

    The mean of none is NaN, as is the deviation of fewer than two; that of entries all alike is 0 without rounding.

    >>> [part.tolist() for part in row_moments(np.array([[0.1, 0.1, 0.1], [1.0, 3.0, np.nan]]))]
    [[3.0, 2.0], [0.1, 2.0], [0.0, 1.4142135623730951]]
    """
    entries, n = counted(values)
    low = np.fmin.reduce(values, axis=1, initial=np.inf)
    alike = (n > 0) & (np.fmax.reduce(values, axis=1, initial=-np.inf) <= low)
    mean = np.where(alike, low, entries.sum(axis=1) / np.where(n > 0, n, np.nan))
    away = np.where(np.isnan(values), 0.0, values - mean[:, None])
    spread = np.sqrt((away**2).sum(axis=1) / np.where(n > 1, n - 1, np.nan))
    return n, mean, np.where(alike & (n > 1), 0.0, spread)


def counted(difference: Array) -> tuple[Array, Array]:
    """Differences with 0 for what has no value, and how many there are: pairs × topics, pairs."""
    there = ~np.isnan(difference)
    return np.where(there, difference, 0.0), there.sum(axis=-1).astype(np.float64)
