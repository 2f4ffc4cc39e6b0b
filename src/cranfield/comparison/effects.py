r"""Effect sizes of two samples, each with an interval and its size in words.

| name | value | interval |
|---|---|---|
| `d_z` | mean difference / standard deviation of the differences | noncentral t, exact for normal differences |
| `d_av` | mean difference / mean of the two standard deviations | noncentral t, approximate (Algina & Keselman 2003) |
| `smd` | mean difference / √ of the mean of the two variances | paired as d_av; unpaired Bonett's (2008) |
| Cohen's d | difference of means / pooled standard deviation | noncentral t, exact for equal variances |
| Hedges' g | Cohen's d, or d_av of matched samples, corrected for bias in small samples | that of d, corrected |
| Glass's Δ | difference of means / standard deviation of the second sample | noncentral t |
| Cliff's δ | Pr(x > y) − Pr(x < y) | Feng & Cliff's (2004) |
| ω² | share of variance that a factor explains (Ferro & Maistro 2024 (8)) | noncentral F |

The words follow rules of thumb: Cohen (1988) for d (0.2 small, 0.5 medium, 0.8 large), Romano et al. (2006) for δ
(0.147, 0.33, 0.474), Ferro & Maistro 2024 §4.2.3 for ω² (0.01, 0.06, 0.14); a smaller effect is negligible.

Without variance, an effect is 0 if there is no difference, and infinite otherwise; Cliff's δ is always finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import (
    Matrix,
    check_topics,
    difference_blocks,
    gap,
    noise,
    noise_of_pairs,
    paired,
    row_moments,
    unpaired,
    without_noise,
)
from cranfield.comparison.distributions import mean_ranks, noncentrality
from cranfield.comparison.resampling import one_pair
from cranfield.comparison.test_result import Effect, check_alpha
from cranfield.scores.t_and_normal import normal_quantile
from cranfield.types import Array, Index64

PAIRED_EFFECTS = ("d_z", "d_av", "hedges", "smd", "glass", "cliff")
"""The effect sizes of matched samples, by the names that `compare` accepts."""

UNPAIRED_EFFECTS = ("d", "hedges", "smd", "glass", "cliff")
"""The effect sizes of independent samples."""

NAMES = {"d_z": "d_z", "d_av": "d_av", "smd": "SMD", "d": "Cohen's d", "hedges": "Hedges' g", "glass": "Glass's Δ"}

_STEPS: dict[str, tuple[float, float, float]] = {
    "d": (0.2, 0.5, 0.8),
    "cliff": (0.147, 0.33, 0.474),
    "omega": (0.01, 0.06, 0.14),
}


def in_words(value: float, rule: str = "d") -> str:
    """The size in words: negligible, small, medium or large; `rule` is d, cliff or omega.

    >>> in_words(-0.6), in_words(0.3991, "omega")
    ('medium', 'large')
    """
    check.one_of("in_words", tuple(_STEPS), rule=rule)
    if math.isnan(value):
        return ""
    size = max(value, 0.0) if rule == "omega" else abs(value)
    return ("negligible", "small", "medium", "large")[sum(size >= step for step in _STEPS[rule])]


def paired_effect(
    x: Any,
    y: Any = None,
    *,
    kind: str = "d_z",
    systems: Sequence[str] | None = None,
    measure: Any = None,
    level: float = 0.95,
) -> Effect:
    r"""The effect size of matched samples; `kind` is d_z, d_av, hedges, smd, glass or cliff.

    .. math:: d_z = \frac{\bar d}{s_d} \qquad d_{av} = \frac{\bar d}{(s_x + s_y)/2}

    d_z matches the paired t test (t = d_z √n). d_av and smd do not grow with the correlation of the systems, so they
    can be compared with effects of independent samples. hedges is d_av times J with n − 1 degrees of freedom. Glass's Δ
    uses the second system as the control.

    References: Cohen, Statistical Power Analysis, 1988; Lakens, Frontiers in Psychology 4:863, 2013; Algina & Keselman,
    Educational and Psychological Measurement 63(4), 2003

    >>> print(paired_effect([0.5, 0.7, 0.3, 0.6], [0.4, 0.5, 0.3, 0.3]))
    d_z = 1.162 [-0.201, 2.438], large
    """
    pair = paired(x, y, systems=systems, measure=measure)
    check_topics(len(pair.x), 2, "an effect size")
    value, low, high = (float(part[0]) for part in paired_effects(*one_pair(pair.x, pair.y), kind, level))
    return _effect(kind, value, low, high, level)


def unpaired_effect(
    x: Any,
    y: Any = None,
    *,
    kind: str = "d",
    systems: Sequence[str] | None = None,
    measure: Any = None,
    level: float = 0.95,
) -> Effect:
    r"""The effect size of independent samples; `kind` is d, hedges, smd, glass or cliff.

    .. math:: d = \frac{\bar x - \bar y}{s_p} \qquad s_p^2 = \frac{(n_x - 1) s_x^2 + (n_y - 1) s_y^2}{n_x + n_y - 2}

    Hedges' g is d times :math:`J = \Gamma(\nu/2) / (\sqrt{\nu/2}\,\Gamma((\nu - 1)/2))` with ν = n_x + n_y − 2.

    References: Hedges, J. Educational Statistics 6(2), 1981; Glass, Educational Researcher 5(10), 1976; Bonett,
    Psychological Methods 13(2), 2008

    >>> print(unpaired_effect([0.5, 0.7, 0.3, 0.6], [0.4, 0.5, 0.3, 0.3]))
    Cohen's d = 1.083 [-0.463, 2.557], large
    """
    check.one_of("unpaired_effect", UNPAIRED_EFFECTS, kind=kind)
    check_alpha("unpaired_effect", level, "level")
    pair = unpaired(x, y, systems=systems, measure=measure)
    return effect_of_samples(pair.x, pair.y, kind, level)


def effect_of_samples(x: Array, y: Array, kind: str, level: float) -> Effect:
    """`unpaired_effect` for arrays without NaN."""
    check_topics(min(len(x), len(y)), 2, "an effect size of two samples, in each of them,")
    if kind == "cliff":
        return _effect(kind, *cliff_of_samples(x, y, level), level)
    n, m = len(x), len(y)
    s_x, s_y = spread_of(x), spread_of(y)
    difference = float(gap(x.mean(), y.mean()))
    df = n + m - 2
    if kind in ("d", "hedges"):
        unit = math.sqrt(((n - 1) * s_x**2 + (m - 1) * s_y**2) / df)
    elif kind == "glass":
        unit, df = s_y, m - 1
    else:
        unit = math.sqrt((s_x**2 + s_y**2) / 2)
    if unit == 0:
        value = math.copysign(math.inf, difference) if difference else 0.0
        return _effect(kind, value, value, value, level)
    value = difference / unit
    if kind == "smd":
        low, high = _bonett(value, (s_x, n - 1), (s_y, m - 1), level)
    else:
        root = math.sqrt(1 / n + 1 / m)
        low, high = (float(noncentrality(value / root, df, (1 + side * level) / 2)) * root for side in (1, -1))
    unbiased = float(bias_correction(df)) if kind == "hedges" else 1.0
    return _effect(kind, unbiased * value, unbiased * low, unbiased * high, level)


NOTICEABLE, MATERIAL = 0.05, 0.1
SIZES = ("small", "noticeable", "material")


def size_in_words(difference: Array) -> NDArray[Any]:
    """Absolute differences between 0 and 1 as Spärck Jones named them: `noticeable` from 0.05, `material` above 0.1.

    Smaller ones are to be discarded. Reference: Spärck Jones 1974, after Ferro & Maistro 2024 §4

    >>> size_in_words(np.array([0.049, -0.05, 0.1, 0.101])).tolist()
    ['small', 'noticeable', 'noticeable', 'material']
    """
    size = np.abs(difference).round(12)  # so that 0.3 - 0.25 is 0.05
    return np.asarray(np.array(SIZES, dtype=object)[(size >= NOTICEABLE).astype(int) + (size > MATERIAL)])


def paired_effects(
    matrix: Matrix, first: Index64, second: Index64, kind: str = "d_z", level: float = 0.95
) -> tuple[Array, Array, Array]:
    """`paired_effect` for many pairs of systems (first − second): the values, and both ends of their intervals.

    A pair with fewer than two topics in common has NaN.

    >>> value, low, high = paired_effects(Matrix.of([[0.5, 0.4], [0.7, 0.5], [0.3, 0.3]]), np.array([0]), np.array([1]))
    >>> value.round(3).tolist()
    [1.0]
    """
    check.one_of("effect", PAIRED_EFFECTS, kind=kind)
    check_alpha("effect", level, "level")
    out = np.full((3, len(first)), np.nan)
    by_system = np.ascontiguousarray(matrix.values.T)
    close = noise_of_pairs(matrix, first, second)
    for block, difference in difference_blocks(matrix, first, second):
        x, y = by_system[first[block]], by_system[second[block]]
        if kind == "cliff":
            out[:, block] = cliff_of_pairs(x, y, level, close[block])
            continue
        n, mean, s_d = row_moments(difference)
        mean = np.where(n < 2, np.nan, mean)
        if kind == "d_z":
            unit = s_d
        else:
            shared = (np.where(np.isnan(difference), np.nan, scores) for scores in (x, y))
            s_x, s_y = (row_moments(without_noise(scores, close[block]))[2] for scores in shared)
            average = (s_x + s_y) / 2
            unit = {"smd": np.sqrt((s_x**2 + s_y**2) / 2), "glass": s_y}.get(kind, average)
        out[:, block] = _standardised(mean, s_d, unit, n, level)
        if kind == "hedges":
            out[:, block] = np.where(out[:, block] == 0, 0.0, out[:, block] * bias_correction(n - 1))
    value, low, high = out
    return value, low, high


def omega_squared(f: float, df: float, n: int, *, df_error: float | None = None, level: float = 0.95) -> Effect:
    r"""The share of variance that a factor explains, from its F (Ferro & Maistro 2024 (8)).

    .. math:: \hat\omega^2 = \frac{df\,(F - 1)}{df\,(F - 1) + N}

    N is the total number of scores (topics × systems). A negative estimate counts as 0. With `df_error` there is an
    interval: λ/(λ + N) for the noncentralities λ at which F is at the limits of its likely values (Steiger,
    Psychological Methods 9(2), 2004).

    >>> print(omega_squared(34.4635, 128, 129 * 50))  # Table 1 of Ferro & Maistro 2024, systems
    ω² = 0.399, large
    """
    check.finite("omega_squared", f=f, df=df, n=n)
    check.not_negative("omega_squared", f=f)
    check.positive("omega_squared", df=df, n=n)
    check_alpha("omega_squared", level, "level")
    above = max(df * (f - 1), 0.0)
    low = high = math.nan
    if df_error is not None:
        check.positive("omega_squared", df_error=df_error)
        low, high = (_f_noncentrality(f, df, df_error, (1 + side * level) / 2) for side in (1, -1))
        low, high = low / (low + n), high / (high + n)
    value = above / (above + n)
    return Effect("ω²", value, low, high, level, in_words(value, "omega"))


def bias_correction(df: Array | float) -> Array:
    """Hedges' J, the factor that makes an estimate of d unbiased; undefined for one degree of freedom.

    >>> bias_correction(18).round(4).item()
    0.9576
    """
    from scipy.special import gammaln

    df = np.where(np.greater(df, 1), df, np.nan)
    return np.asarray(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))


def spread_of(x: Array) -> float:
    """The standard deviation (n − 1); 0 if values differ only by rounding."""
    return 0.0 if float(np.ptp(x)) <= noise(x) else float(x.std(ddof=1))


def _standardised(mean: Array, s_d: Array, unit: Array, n: Array, level: float) -> tuple[Array, Array, Array]:
    """mean / unit, and its interval: the noncentralities of the paired t, in this unit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(mean == 0, 0.0 * mean, mean / unit)
        t = mean * np.sqrt(n) / s_d
        rescale = s_d / (np.sqrt(n) * unit)
    varies = (s_d > 0) & (unit > 0)
    ends = []
    for side in (1, -1):
        end = noncentrality(np.where(varies, t, np.nan), n - 1, (1 + side * level) / 2)
        with np.errstate(invalid="ignore"):
            ends.append(np.where(varies, end * rescale, value))
    return value, ends[0], ends[1]


def _bonett(value: float, x: tuple[float, int], y: tuple[float, int], level: float) -> tuple[float, float]:
    unit2 = (x[0] ** 2 + y[0] ** 2) / 2
    of_unit = value**2 * sum(s**4 / df for s, df in (x, y)) / (8 * unit2**2)
    of_means = sum(s**2 / df for s, df in (x, y)) / unit2
    half = float(normal_quantile((1 - level) / 2)) * math.sqrt(of_unit + of_means)
    return value - half, value + half


def _f_noncentrality(f: float, df: float, df_error: float, probability: float) -> float:
    """The λ at which F has this value or less with the given probability; 0 if there is no such λ."""
    from scipy.optimize import brentq
    from scipy.special import fdtr, ncfdtr

    if fdtr(df, df_error, f) <= probability:
        return 0.0
    top = 10.0 + 2 * df * f
    while ncfdtr(df, df_error, top, f) > probability:
        top *= 2
    return float(brentq(lambda centre: ncfdtr(df, df_error, centre, f) - probability, 1e-12, top))


def _effect(kind: str, value: float, low: float, high: float, level: float) -> Effect:
    rule = "cliff" if kind == "cliff" else "d"
    return Effect(NAMES.get(kind, "Cliff's δ"), value, low, high, level, in_words(value, rule))


def cliff_of_samples(x: Array, y: Array, level: float) -> tuple[float, float, float]:
    """δ of two independent samples, and both ends of its interval.

    >>> [round(value, 4) for value in cliff_of_samples(np.array([1.0, 2, 3]), np.array([1.0, 2, 2]), 0.95)]
    [0.2222, -0.6089, 0.8207]
    """
    n, m = len(x), len(y)
    close = noise(x, y)
    x_above, x_ties = _dominance(x, y, close)
    y_above, _ = _dominance(y, x, close)
    value = float(x_above.mean())
    spread = 1 - x_ties / (n * m) - value**2
    parts = m**2 * ((x_above - value) ** 2).sum() + n**2 * ((y_above + value) ** 2).sum() - n * m * spread
    least = (1 - value**2) / max(n * m - 1, 1)
    variance = max(float(parts) / max(n * m * (n - 1) * (m - 1), 1), least)
    low, high = _interval(np.array([value]), np.array([variance]), np.array([min(n, m)]), level)
    return value, float(low[0]), float(high[0])


def cliff_of_pairs(x: Array, y: Array, level: float, close: Array | float = 0.0) -> tuple[Array, Array, Array]:
    """δ of many pairs of matched samples (pairs × topics), and both ends of their intervals; NaN is left out."""
    defined = ~(np.isnan(x) | np.isnan(y))
    n = np.where(defined.sum(axis=1) >= 2, defined.sum(axis=1), np.nan)[:, None]
    x, y = np.where(defined, x, np.inf), np.where(defined, y, np.inf)  # values left out come last on both sides
    together = mean_ranks(np.concatenate([x, y], axis=1), close)
    apart = np.concatenate([mean_ranks(x, close), mean_ranks(y, close)], axis=1)
    below = together - apart  # scores of the other sample below this one; ties count half
    topics = x.shape[1]
    x_above, y_above = 2 * below[:, :topics] / n - 1, 2 * below[:, topics:] / n - 1
    # All terms are multiples of 1/2, so there is no rounding and 0 stays 0.
    wins = np.where(defined, below[:, :topics], 0.0).sum(axis=1, keepdims=True)
    value = (2 * wins - n**2) / n**2
    parts = np.where(defined, x_above - y_above - 2 * value, 0.0)
    variance = (parts**2).sum(axis=1) / (n * (n - 1))[:, 0]
    low, high = _interval(value[:, 0], variance, n[:, 0], level)
    return value[:, 0], low, high


def _dominance(x: Array, y: Array, close: float) -> tuple[Array, int]:
    """For each x, the share of y below it minus the share above it; and the number of ties."""
    ordered = np.sort(y)
    left, right = np.searchsorted(ordered, x - close, "left"), np.searchsorted(ordered, x + close, "right")
    return (left + right) / len(y) - 1, int((right - left).sum())


def _interval(value: Array, variance: Array, n: Array, level: float) -> tuple[Array, Array]:
    z2 = float(normal_quantile((1 - level) / 2)) ** 2
    apart = 1 - value**2
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = value * apart
        half = np.sqrt(z2 * variance * (apart**2 + z2 * variance))
        below = apart + z2 * variance
        low, high = (centre - half) / below, (centre + half) / below
        edge = (n - z2) / (n + z2)  # without overlap the variance is 0, but the uncertainty is not
    low = np.where(value >= 1, edge, np.where(value <= -1, -1.0, low))
    high = np.where(value >= 1, 1.0, np.where(value <= -1, -edge, high))
    return np.clip(low, -1, 1), np.clip(high, -1, 1)
