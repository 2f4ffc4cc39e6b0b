r"""The distribution of the studentized range: the distance between the largest and the smallest of k means.

.. math:: \Pr[Q > q] = \int f_\nu(s)\, S_k(q s)\, ds, \qquad
   S_k(w) = k \int \varphi(z) \left[\Phi(z)^{k-1} - (\Phi(z) - \Phi(z - w))^{k-1}\right] dz

S is the probability that the range of k standard normal values exceeds w, f the density of
:math:`\chi_\nu / \sqrt\nu`. Both integrals are trapezoidal sums, which converge geometrically here. Nothing is
subtracted from 1, so small probabilities keep their digits. All values of q are computed at once
(`scipy.stats.studentized_range` takes milliseconds for each; the tests compare with it).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.types import Array

_WIDEST = 36.0
"""The probability of a larger range is below 1e-130 and counts as 0."""
_STEP = 0.05
"""The step of the table of S; interpolation between six points is accurate to nine digits."""
_BLOCK = 2_000_000
"""The number of values of S that are looked up at once."""
_TABLED = 4096
"""For more values of q than this, log Pr is interpolated from a table, too."""


def range_sf(q: Array, k: int, df: float) -> Array:
    """The probability that the studentized range of k means exceeds q; `df` may be infinite.

    >>> round(float(range_sf(np.array([3.506]), 3, 20)[0]), 2)
    0.06
    """
    _check(k, df)
    q = np.abs(np.asarray(q, dtype=np.float64))
    flat = q.ravel()
    if len(flat) <= _TABLED:
        return np.asarray(_sf(flat, k, df).reshape(q.shape))
    finite = flat[np.isfinite(flat)]
    top = min(float(finite.max(initial=1.0)), 400.0)
    grid = np.linspace(0.0, top + 6 * top / 1024, 1031)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(_sf(grid, k, df)), -700.0)
    out = np.exp(_between(np.minimum(flat, top), logs, float(grid[1])))
    beyond = flat > top
    out[beyond] = _sf(flat[beyond], k, df)
    return np.asarray(np.clip(out, 0.0, 1.0).reshape(q.shape))


@lru_cache(maxsize=4096)
def range_quantile(alpha: float, k: int, df: float) -> float:
    """The value that the studentized range exceeds with probability alpha.

    >>> round(range_quantile(0.05, 3, 20), 3)
    3.578
    """
    _check(k, df)

    def beyond(q: float) -> float:
        return float(_sf(np.array([q]), k, df)[0])

    low, high = 0.0, 4.0
    while (above := beyond(high)) > alpha:
        low, high = high, 2 * high
        if high > 1e12:
            return math.inf
    below = beyond(low)
    for turn in range(200):
        if high - low <= 1e-12 * high:
            break
        # Interpolate log Pr linearly between the two ends; bisect every third time.
        share = (math.log(below) - math.log(alpha)) / (math.log(below) - math.log(above)) if turn % 3 and above else 0.5
        middle = low + min(max(share, 1e-6), 1 - 1e-6) * (high - low)
        there = beyond(middle)
        if abs(there - alpha) <= 1e-14 * alpha:
            return middle
        low, below, high, above = (middle, there, high, above) if there > alpha else (low, below, middle, there)
    return (low + high) / 2


def _check(k: int, df: float) -> None:
    if k < 2:
        raise UsageError(f"studentized range: k == {k}, must be 2 or more means")
    if not df > 0:
        raise UsageError(f"studentized range: df == {df:g}, must be above 0")


def _sf(q: Array, k: int, df: float) -> Array:
    if math.isinf(df):
        return _normal_sf(q, k)
    x, weight = _spread(df)
    out = np.empty(len(q))
    step = max(1, _BLOCK // len(x))
    for begin in range(0, len(q), step):
        part = slice(begin, begin + step)
        out[part] = _normal_sf((q[part, None] * x).ravel(), k).reshape(-1, len(x)) @ weight
    return np.minimum(out, 1.0)


@lru_cache(maxsize=64)
def _spread(df: float) -> tuple[Array, Array]:
    """Ratios s of the estimated to the true standard deviation, and the weight of each.

    On u = log s the density is proportional to exp(ν (u − e^{2u} / 2)).
    """
    deep = 46.0  # e^-46 = 1e-20 of the density's peak
    left = -math.sqrt(deep / df) - deep / df
    right = math.log1p(math.sqrt(2 * deep / df)) + 0.02
    step = min(0.05, 0.3 / math.sqrt(df))
    u = np.arange(left, right + step, step)
    weight = np.exp(df * (u - np.expm1(2 * u) / 2))
    return np.exp(u), weight / weight.sum()


def _normal_sf(w: Array, k: int) -> Array:
    """S_k(w), from the table of its logarithms."""
    inside = w < _WIDEST
    out = np.exp(_between(np.where(inside, w, 0.0), _table(k), _STEP))
    return np.where(inside, np.minimum(out, 1.0), 0.0)


@lru_cache(maxsize=64)
def _table(k: int) -> Array:
    """log S_k at 0, _STEP, 2 _STEP, ...

    All terms of the sum are positive, so it is accurate both where S is tiny and where it is close to 1.
    """
    special = need("scipy.special", "the studentized range")
    h = 0.2
    z = np.arange(-9.0, 9.0 + _WIDEST / 2 + 9.0, h)
    below = special.ndtr(z)
    log_density = -(z**2) / 2 - math.log(math.sqrt(2 * math.pi)) + (k - 1) * special.log_ndtr(z)
    density = k * h * np.exp(log_density)
    w = np.arange(0.0, _WIDEST + 6 * _STEP, _STEP)
    out = np.empty(len(w))
    for part in np.array_split(np.arange(len(w)), 8):
        ratio = np.minimum(special.ndtr(z - w[part, None]) / below, 1.0)
        with np.errstate(divide="ignore"):  # log 0 at w = 0, where S = 1
            out[part] = -np.expm1((k - 1) * np.log1p(-ratio)) @ density
    logs: Array = np.log(np.minimum(out, 1.0))
    logs.setflags(write=False)
    return logs


def _between(x: Array, table: Array, step: float) -> Array:
    """Six-point Lagrange interpolation in a table at 0, step, 2 step, ..."""
    position = x / step
    base = np.clip(np.floor(position).astype(np.int64) - 2, 0, len(table) - 6)
    t = position - base
    out = np.zeros(len(x))
    for i in range(6):
        factor = np.ones(len(x))
        for j in range(6):
            if j != i:
                factor *= (t - j) / (i - j)
        out += factor * table[base + i]
    return out
