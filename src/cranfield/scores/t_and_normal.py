r"""Student's t and the normal distribution, without scipy, whose import takes longer than most evaluations.

With ν degrees of freedom, :math:`a = \nu / 2`, :math:`y = t^2 / (\nu + t^2)` and :math:`x = 1 - y`, both sides of t are
multiples of t times its density,

.. math:: E = t\,f(t) = \frac{\Gamma(a + 1/2)}{\Gamma(a)\sqrt\pi}\; y^{1/2} x^a.

Near the centre, :math:`\Pr(0 < T < t) = E \sum_k \frac{(a + 1/2)_k}{(3/2)_k} y^k`, a series with positive terms. In the
tail, :math:`\Pr(T > t)` is E / 2 times the continued fraction of the incomplete beta function. Both converge fast on
their side of :math:`y (a + 5/2) = 3/2`, however many degrees of freedom there are.

Reference: Didonato & Morris, Algorithm 708: Significant Digit Computation of the Incomplete Beta Function Ratios, ACM
TOMS 18(3), 1992, doi:10.1145/131766.131776 (their BFRAC and BPSER)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.types import Array

Number = Any
"""An array or a number: the series and the continued fraction are the same for both."""
_TERMS = 80
"""Terms of the series: at their border, the ratio of two terms is below 0.6."""
_FRACTIONS = 64
"""Steps of the continued fraction: with more, no digit changes."""
_STEPS = 60
"""The most Newton steps of a quantile; about six are usual."""
_FEW = 20
"""Up to this many numbers are computed one after the other."""
_NORMAL = 1e30
"""With more degrees of freedom than this, t is normal to the last digit."""


def t_tail(t: ArrayLike, df: ArrayLike) -> Array:
    """Pr(T > t) for Student's t with `df` degrees of freedom, accurate in both tails; NaN where df is not above 0.

    >>> t_tail(1.0, 1).round(15).item()  # 1/2 - arctan(1) / π
    0.25
    >>> t_tail([-2.0, 2.0], 10).round(4).tolist()
    [0.9633, 0.0367]
    """
    t, df = _broadcast(t, df)
    size = np.abs(t)
    tail = np.full(size.shape, np.nan)
    valid = np.isfinite(size) & (df > 0)
    tail[valid] = _tail(size[valid], df[valid])
    tail[np.isinf(size) & (df > 0)] = 0.0
    return np.asarray(np.where(t < 0, 1 - tail, tail))


def t_quantile(tail: ArrayLike, df: ArrayLike) -> Array:
    """The t with Pr(T > t) = `tail`: the half-width of a 95 % interval, in standard errors, is `t_quantile(0.025, df)`.

    >>> t_quantile(0.025, [1, 10, 1e9]).round(3).tolist()
    [12.706, 2.228, 1.96]
    """
    tail, df = _broadcast(tail, df)
    upper = np.minimum(tail, 1 - tail)
    out = np.full(tail.shape, np.nan)
    valid = (df > 0) & (upper > 0)
    if valid.any():  # most callers have the same degrees of freedom everywhere
        pairs, place = np.unique(np.stack([upper[valid], df[valid]]), axis=1, return_inverse=True)
        few = pairs.shape[1] <= _FEW
        quantiles = (
            np.array([_one_quantile(*pair) for pair in pairs.T.tolist()]) if few else _quantile(pairs[0], pairs[1])
        )
        out[valid] = quantiles[place.reshape(-1)]
    out[(df > 0) & (upper == 0)] = np.inf
    return np.asarray(np.where(tail > 0.5, -out, out))


def normal_tail(z: ArrayLike) -> Array:
    """Pr(Z > z) for the standard normal distribution.

    >>> normal_tail([0.0, 1.959963984540054]).round(6).tolist()
    [0.5, 0.025]
    """
    z = np.asarray(z, dtype=np.float64)
    return np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.ravel().tolist()]).reshape(z.shape)


def normal_quantile(tail: ArrayLike) -> Array:
    """The z with Pr(Z > z) = `tail`.

    >>> normal_quantile(0.025).round(6).item()
    1.959964
    """
    return t_quantile(tail, _NORMAL)


def _broadcast(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    return a, b


def _tail(t: Array, df: Array) -> Array:
    """Pr(T > t) for t of 0 or more."""
    peak, centre, tail = _sides(t, df)
    return np.asarray(np.where(np.isnan(tail), 0.5 - peak * centre, peak * tail / 2))


def _sides(t: Array, df: Array) -> tuple[Array, Array, Array]:
    """E, the series of the centre, and the fraction of the tail; one of the last two is NaN for each t."""
    df = np.minimum(df, _NORMAL)
    a, ratio = df / 2, t / np.sqrt(df)
    with np.errstate(over="ignore", divide="ignore"):
        square = np.where(t < 1e150, t * t / df, ratio * ratio)
        y = 1 / (1 + 1 / square)
        log_x = np.where(ratio > 1e100, -2 * np.log(ratio), -np.log1p(square))
        x = 1 / (1 + square)
    peak = _gamma_ratio(a) / math.sqrt(math.pi) * np.sqrt(y) * np.exp(a * log_x)
    central = y * (a + 2.5) < 1.5
    centre, tail = np.full(t.shape, np.nan), np.full(t.shape, np.nan)
    centre[central] = _each(_series, a[central], y[central])
    tail[~central] = _each(_continued_fraction, a[~central], x[~central], y[~central])
    return peak, centre, tail


def _each(function: Callable[..., Any], *arrays: Array) -> Array:
    """The function of whole arrays, or of one number after the other, which is faster for a few."""
    if arrays[0].size > _FEW:
        return np.asarray(function(*arrays))
    return np.array([function(*numbers) for numbers in zip(*(array.tolist() for array in arrays), strict=True)])


def _series(a: Number, y: Number) -> Number:
    total: Number = 1.0
    for k in range(_TERMS - 1, -1, -1):
        total = 1 + (a + (0.5 + k)) / (1.5 + k) * y * total
    return total


def _continued_fraction(a: Number, x: Number, y: Number) -> Number:
    r"""1 / (β_0 + α_1 / (β_1 + α_2 / (β_2 + …))), from the last to the first."""
    b = 0.5
    first = (a + b) * y - b + 1  # a − (a + b)x + 1 without cancellation
    inner: Number = 0.0
    for n in range(_FRACTIONS, 0, -1):
        w = n * (b - n) * x
        odd = a + (2 * n - 1)
        alpha = (a + (n - 1)) / odd * ((a + (b + n - 1)) / odd) * w * x
        beta = n + w / odd + (a + n) / (odd + 2) * (first + n * (1 + y))
        inner = alpha / (beta + inner)
    return 1 / (a / (a + 1) * first + inner)


def _gamma_ratio(a: Array) -> Array:
    """Γ(a + 1/2) / Γ(a). Above 20 by its expansion in 1/z² with z = a − 1/4, whose terms cannot cancel."""
    values, place = np.unique(a, return_inverse=True)
    return np.array([_gamma_ratio_of(value) for value in values.tolist()])[place.reshape(a.shape)]


def _gamma_ratio_of(a: float) -> float:
    if a < 20:
        return math.gamma(a + 0.5) / math.gamma(a)
    u = 1 / (64 * (a - 0.25) ** 2)
    return math.sqrt(a - 0.25) * (1 + u * (1 + u * (-9.5 + u * (315.5 + u * (-21789.625 + u * 2561472.875)))))


@lru_cache(maxsize=256)  # a gate asks for the same quantile for every candidate
def _one_quantile(tail: float, df: float) -> float:
    return float(_quantile(np.array([tail]), np.array([df]))[0])


def _quantile(tail: Array, df: Array) -> Array:
    """The t with Pr(T > t) = `tail`, which is above 0 and at most 1/2, by Newton's method.

    In the centre, Pr(0 < T < t) is concave in t; in the tail, log Pr(T > t) is concave in log t. So only the first step
    can overshoot, and the others approach the root from one side.
    """
    df = np.minimum(df, _NORMAL)
    at_zero = _gamma_ratio(df / 2) / np.sqrt(math.pi * df)  # the density
    central = tail >= _tail(np.sqrt(1.5 * df / (df / 2 + 1)), df)  # at the border
    t = np.where(central, (0.5 - tail) / at_zero, _rough_quantile(tail, df))
    going = np.flatnonzero((t > 0) & np.isfinite(t))
    for _ in range(_STEPS):
        now, wanted = t[going], tail[going]
        peak, centre, fraction = _sides(now, df[going])
        inside = np.where(np.isnan(fraction), peak * centre, 0.5 - peak * fraction / 2)
        outside = np.where(np.isnan(fraction), 0.5 - inside, peak * fraction / 2)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            in_centre = now * (1 + (0.5 - wanted - inside) / peak)
            in_tail = now * np.exp(np.log(outside / wanted) * outside / peak)
        t[going] = np.where(central[going], in_centre, in_tail)
        # The error of the new t is about the square of the step.
        going = going[(np.abs(t[going] - now) > 1e-9 * now) & np.isfinite(t[going])]
        if not going.size:
            break
    return t


def _rough_quantile(tail: Array, df: Array) -> Array:
    """A first guess in the tail: a normal quantile, stretched so that it follows t, within its limit for large t."""
    r = np.sqrt(-2 * np.log(tail))
    z = r - (2.30753 + 0.27061 * r) / (1 + r * (0.99229 + 0.04481 * r))  # Abramowitz & Stegun 26.2.22
    z *= (8 * df + 3) / (8 * df + 1)  # Wallace, Annals of Mathematical Statistics 30(4), 1959
    with np.errstate(over="ignore"):
        stretched = np.sqrt(df * np.expm1(z * z / df))
        limit = np.sqrt(df) * np.exp(np.log(_gamma_ratio(df / 2) / (math.sqrt(math.pi) * df * tail)) / df)
    return np.asarray(np.minimum(stretched, limit))
