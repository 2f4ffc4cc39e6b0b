"""The effect of an arm against the control: difference, interval, relative difference and p."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cranfield.online.experiments.always_valid import (
    TUNED_FOR,
    always_valid_half_width,
    always_valid_p,
    mixing_variance,
)
from cranfield.online.experiments.sequential_boundaries import boundaries, repeated_p

RELATIVE = ("fieller", "delta")
"""Ways to the interval of a relative difference."""


@dataclass(frozen=True)
class Looks:
    """How p and intervals allow for several looks: none, planned looks, or any looks at all."""

    design: str = "once"
    """`once`, `always-valid`, or a design of group-sequential boundaries."""
    fractions: tuple[float, ...] = ()
    """The planned looks, as shares of the planned users; up to the current look for error spending."""
    look: int = 0
    """The current look, 1-based."""
    tuned_for: float = TUNED_FOR


@dataclass(frozen=True)
class ArmEffect:
    """A metric in an arm against the control."""

    control: float
    treatment: float
    users_control: int
    users: int
    difference: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    p: float
    method: str
    statistic: float = math.nan
    df: float = math.nan
    error: float = math.nan
    """The standard error of the difference."""
    tau: float = math.nan
    """The standard deviation of the mixture of an always-valid interval."""


def nothing(control: float, treatment: float, n_control: int, n: int, method: str) -> ArmEffect:
    """An effect that cannot be tested: an arm is empty, or has one user."""
    nan = math.nan
    difference = treatment - control
    return ArmEffect(control, treatment, n_control, n, difference, nan, nan, _over(difference, control), nan, nan, nan,
                     method)  # fmt: skip


def welch_effect(
    control: tuple[float, float, int],
    treatment: tuple[float, float, int],
    *,
    alpha: float,
    looks: Looks | None = None,
    relative: str = "fieller",
    method: str = "Welch",
) -> ArmEffect:
    r"""Compare two independent estimates, each (value, variance, users), by Welch's test.

    .. math:: t = \frac{g_t - g_c}{\sqrt{V_t + V_c}}, \qquad
        \nu = \frac{(V_t + V_c)^2}{V_t^2 / (n_t - 1) + V_c^2 / (n_c - 1)}

    With `looks`, z replaces t, and the critical value is that of the boundary or of the mixture.

    >>> effect = welch_effect((10.0, 0.04, 100), (10.8, 0.05, 100), alpha=0.05)
    >>> round(effect.statistic, 4), round(effect.df, 1), round(effect.p, 4)
    (2.6667, 195.6, 0.0083)
    """
    from scipy.special import ndtr, stdtr, stdtrit

    looks = looks or Looks()
    (first, first_variance, n_first), (second, second_variance, n_second) = control, treatment
    if min(n_first, n_second) < 2 or not (math.isfinite(first_variance) and math.isfinite(second_variance)):
        return nothing(first, second, n_first, n_second, method)
    variance = first_variance + second_variance
    difference, error = second - first, math.sqrt(variance)
    if variance <= 0:
        # Both arms are constant: they are equal, or they differ without any doubt that the data could show.
        return replace(nothing(first, second, n_first, n_second, method), p=1.0 if difference == 0 else math.nan)
    statistic, df, tau = difference / error, math.nan, math.nan
    if looks.design == "once":
        df = variance**2 / (first_variance**2 / (n_first - 1) + second_variance**2 / (n_second - 1))
        critical = float(stdtrit(df, 1 - alpha / 2))
        p = float(2 * stdtr(df, -abs(statistic)))
    elif looks.design == "always-valid":
        mixing = mixing_variance(variance, n_first + n_second, tuned_for=looks.tuned_for, alpha=alpha)
        critical = always_valid_half_width(variance, mixing, alpha) / error
        p, tau = always_valid_p(difference, variance, mixing), math.sqrt(mixing)
    else:
        critical = float(boundaries(looks.fractions, looks.design, alpha=alpha).z[looks.look - 1])
        p = repeated_p(statistic, looks.fractions, looks.design, looks.look)
        p = max(p, float(2 * ndtr(-abs(statistic))))
    low, high = relative_interval(first, first_variance, second, second_variance, critical, relative)
    return ArmEffect(
        first, second, n_first, n_second, difference, difference - critical * error, difference + critical * error,
        _over(difference, first), low, high, p, method, statistic, df, error, tau,
    )  # fmt: skip


def relative_interval(
    control: float,
    control_variance: float,
    treatment: float,
    treatment_variance: float,
    critical: float,
    method: str = "fieller",
) -> tuple[float, float]:
    r"""The interval of the relative difference :math:`(g_t - g_c) / |g_c|` of independent estimates.

    Fieller's interval holds all ratios r for which :math:`(g_t - r g_c)^2 \le q^2 (V_t + r^2 V_c)`. It is NaN if the
    control is not clearly different from 0: the ratio may then be anything. The interval by the delta method is
    :math:`g_t / g_c - 1 \pm q \sqrt{V_t + (g_t / g_c)^2 V_c} / |g_c|`.

    Reference: Fieller, Some Problems in Interval Estimation, J. Royal Statistical Society B 16(2), 1954

    >>> [round(end, 4) for end in relative_interval(10.0, 0.04, 11.0, 0.05, 1.96)]
    [0.0401, 0.1632]
    >>> [round(end, 4) for end in relative_interval(10.0, 0.04, 11.0, 0.05, 1.96, "delta")]
    [0.0385, 0.1615]
    """
    if control == 0:
        return math.nan, math.nan
    if control < 0:  # the interval of g_t / g_c − 1, with the sign of the difference
        low, high = relative_interval(-control, control_variance, -treatment, treatment_variance, critical, method)
        return -high, -low
    if method == "delta":
        ratio = treatment / control
        half = critical * math.sqrt(treatment_variance + ratio**2 * control_variance) / abs(control)
        return ratio - 1 - half, ratio - 1 + half
    a = control**2 - critical**2 * control_variance
    if a <= 0:
        return math.nan, math.nan
    b, c = control * treatment, treatment**2 - critical**2 * treatment_variance
    root = math.sqrt(max(0.0, b * b - a * c))
    return (b - root) / a - 1, (b + root) / a - 1


def share_effect(
    control: tuple[int, int], treatment: tuple[int, int], *, alpha: float, relative: str = "fieller"
) -> ArmEffect:
    r"""Compare two shares, each (successes, users): a z test with the pooled share, exact if counts are small.

    .. math:: z = \frac{p_t - p_c}{\sqrt{p (1 - p) (1 / n_t + 1 / n_c)}}

    If fewer than 10 successes or failures are expected in an arm, Fisher's exact test is used instead. The interval is
    Newcombe's, from Wilson's intervals of the two shares, which is good for small counts too.

    References: Newcombe, Statistics in Medicine 17(8), 1998, method 10; Fisher, Statistical Methods for Research
    Workers, 1934

    >>> effect = share_effect((48, 400), (70, 400), alpha=0.05)
    >>> round(effect.p, 4), round(effect.low, 4), round(effect.high, 4)
    (0.0283, 0.0058, 0.1042)
    """
    from scipy.special import ndtr, ndtri

    (x, n), (y, m) = control, treatment
    if not n or not m:
        return nothing(x / n if n else math.nan, y / m if m else math.nan, n, m, "z of shares")
    first, second, pooled = x / n, y / m, (x + y) / (n + m)
    q = float(ndtri(1 - alpha / 2))
    smallest = min(n, m) * min(pooled, 1 - pooled)
    if smallest < 10:
        from scipy.stats import fisher_exact

        method, statistic = "Fisher", math.nan
        p = float(fisher_exact([[x, n - x], [y, m - y]]).pvalue)
    else:
        method = "z of shares"
        statistic = (second - first) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        p = float(2 * ndtr(-abs(statistic)))
    (low_x, high_x), (low_y, high_y) = wilson(x, n, q), wilson(y, m, q)
    low = second - first - math.hypot(second - low_y, high_x - first)
    high = second - first + math.hypot(high_y - second, first - low_x)
    variances = first * (1 - first) / n, second * (1 - second) / m
    spread = math.nan, math.nan
    if min(variances) > 0:  # else the formula takes a share of 0 or 1 as known
        spread = relative_interval(first, variances[0], second, variances[1], q, relative)
    return ArmEffect(
        first, second, n, m, second - first, low, high, _over(second - first, first), *spread, p, method, statistic,
        error=math.sqrt(sum(variances)),
    )  # fmt: skip


def wilson(successes: int, n: int, q: float) -> tuple[float, float]:
    """Wilson's interval of a share; q is the normal quantile."""
    share = successes / n
    centre = (share + q * q / (2 * n)) / (1 + q * q / n)
    half = q / (1 + q * q / n) * math.sqrt(share * (1 - share) / n + q * q / (4 * n * n))
    return centre - half, centre + half


def _over(difference: float, control: float) -> float:
    """The difference as a share of the size of the control, so that both have the same sign."""
    return difference / abs(control) if control else math.nan
