"""The effect of an arm against the control: difference, interval, relative difference and p; and how it is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from cranfield import check
from cranfield.errors import UsageError
from cranfield.online.experiments.repeated_looks import (
    DESIGNS,
    SPENDING,
    TUNED_FOR,
    always_valid_half_width,
    always_valid_p,
    boundaries,
    look_fractions,
    mixing_variance,
    repeated_p,
)

CUPED = ("within", "tea-tasting", "growthbook")
"""Ways to the θ of covariates: within the arms, or as the programs of these names find it."""
METHODS = ("analytic", "bootstrap")
SEQUENTIAL = ("once", "always-valid", *DESIGNS)
"""How often the result is looked at: once, at any time, or at planned times."""


@dataclass(frozen=True)
class Settings:
    """How effects are computed."""

    alpha: float
    looks: Looks
    relative: str
    lower: frozenset[str]
    """Metrics of which lower values are better."""
    cuped: str = "within"

    @property
    def of_another_program(self) -> bool:
        """Are the figures to be those of another program?"""
        return self.relative in ("tea-tasting", "growthbook") or self.cuped != "within"


def checked_settings(
    alpha: float,
    relative: str,
    sequential: str,
    looks: int | Sequence[float],
    look: int | None,
    tuned_for: float,
    lower: Iterable[str],
    cuped: str = "within",
) -> Settings:
    """The settings, or an error that names what is wrong."""
    chosen = Looks(sequential, tuned_for=tuned_for)
    if sequential in DESIGNS:
        fractions = look_fractions(looks)
        if look is None:
            raise UsageError(f"analyse: sequential == {sequential!r} needs look=, the number of this look")
        check.between("analyse", low=1, high=len(fractions), look=look)
        used = fractions[:look] if sequential in SPENDING else fractions
        chosen = Looks(sequential, tuple(used.tolist()), look)
    elif look is not None:
        raise UsageError(f"analyse: look == {look}, but sequential == {sequential!r}; name a group-sequential design")
    return Settings(alpha, chosen, relative, frozenset([lower] if isinstance(lower, str) else lower), cuped)


RELATIVE = ("fieller", "delta", "tea-tasting", "growthbook")
"""Ways to the relative difference and its interval; the last two are those of the programs of these names."""
BY_COUNTS = ("z of shares", "Fisher")
"""The tests of `share_effect`."""
BY_ORDER = "order statistics"
"""The test of quantiles."""


class Unadjusted(NamedTuple):
    """What a metric was before covariates adjusted it: the values of both arms, and variances of the control's."""

    control: float
    treatment: float
    variance: float
    """The squared standard error of the control's value."""
    covariance: float
    """The covariance of the control's value with what is subtracted from it."""
    of_ratio: bool


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
    """z or t, as `method` says; NaN for exact tests and the bootstrap."""
    df: float = math.nan
    error: float = math.nan
    """The standard error of the difference."""
    tau: float = math.nan
    """The standard deviation of the mixture of an always-valid interval."""
    relative_p: float = math.nan
    """p of the relative difference, which belongs to its interval."""


@dataclass(frozen=True)
class EffectRow:
    """A metric in an arm against the control."""

    metric: str
    arm: str
    effect: ArmEffect
    reduction: float = 0.0
    """The share of the variance that covariates removed."""
    p_adjusted: float = math.nan


def untested(control: float, treatment: float, n_control: int, n: int, method: str) -> ArmEffect:
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
    unadjusted: Unadjusted | None = None,
    freedom: tuple[float, float] | None = None,
) -> ArmEffect:
    r"""Compare two independent estimates, each (value, variance, users), by Welch's test.

    .. math:: t = \frac{g_t - g_c}{\sqrt{V_t + V_c}}, \qquad
        \nu = \frac{(V_t + V_c)^2}{V_t^2 / (n_t - 1) + V_c^2 / (n_c - 1)}

    With `looks`, z replaces t, and the critical value is that of the boundary or of the mixture. `unadjusted`: the
    values without covariates, of which `relative == "growthbook"` makes a share. `freedom`: the degrees of freedom of
    the two variances in place of n − 1.

    >>> effect = welch_effect((10.0, 0.04, 100), (10.8, 0.05, 100), alpha=0.05)
    >>> round(effect.statistic, 4), round(effect.df, 1), round(effect.p, 4)
    (2.6667, 195.6, 0.0083)
    """
    looks = looks or Looks()
    (first, first_variance, n_first), (second, second_variance, n_second) = control, treatment
    if min(n_first, n_second) < 2 or not (math.isfinite(first_variance) and math.isfinite(second_variance)):
        return untested(first, second, n_first, n_second, method)
    variance = first_variance + second_variance
    difference, error = second - first, math.sqrt(variance)
    if variance <= 0:
        # Both arms are constant: they are equal, or they differ without any doubt that the data could show.
        return replace(untested(first, second, n_first, n_second, method), p=1.0 if difference == 0 else math.nan)
    statistic, df = difference / error, math.nan
    if looks.design == "once":
        first_df, second_df = freedom or (n_first - 1, n_second - 1)
        df = welch_df(first_variance, first_df + 1, second_variance, second_df + 1)
    critical_at, p_of, tau = decision(looks, alpha, variance, n_first + n_second)
    critical = critical_at(df)
    share = relative_effect(control, treatment, relative, critical_at, p_of, df, unadjusted)
    return ArmEffect(
        first, second, n_first, n_second, difference, difference - critical * error, difference + critical * error,
        share.value, share.low, share.high, p_of(statistic, df), method, statistic, df, error, tau, share.p,
    )  # fmt: skip


def decision(
    looks: Looks, alpha: float, variance: float, users: int
) -> tuple[Callable[[float], float], Callable[[float, float], float], float]:
    """How a statistic decides: its critical value at some degrees of freedom, its p, and τ of a mixture.

    Without several looks, Student's distribution decides, or the normal one if the degrees of freedom are infinite. The
    other rules are for a normal statistic; `variance` is the squared standard error of what is compared.
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    error = math.sqrt(variance)
    if looks.design == "once":

        def critical_at(df: float) -> float:
            return float(ndtri(1 - alpha / 2) if math.isinf(df) else stdtrit(df, 1 - alpha / 2))

        def p_of(statistic: float, df: float) -> float:
            return float(2 * (ndtr(-abs(statistic)) if math.isinf(df) else stdtr(df, -abs(statistic))))

        return critical_at, p_of, math.nan
    if looks.design == "always-valid":
        mixing = mixing_variance(variance, users, tuned_for=looks.tuned_for, alpha=alpha)
        return (
            lambda _: always_valid_half_width(variance, mixing, alpha) / error,
            lambda statistic, _: always_valid_p(statistic * error, variance, mixing),
            math.sqrt(mixing),
        )

    def repeated(statistic: float, _: float) -> float:
        at_looks = repeated_p(statistic, looks.fractions, looks.design, looks.look)
        return max(at_looks, float(2 * ndtr(-abs(statistic))))

    return lambda _: float(boundaries(looks.fractions, looks.design, alpha=alpha).z[looks.look - 1]), repeated, math.nan


def welch_df(first_variance: float, n_first: float, second_variance: float, n_second: float) -> float:
    """Welch's degrees of freedom, from squared standard errors."""
    total = first_variance + second_variance
    return total**2 / (first_variance**2 / (n_first - 1) + second_variance**2 / (n_second - 1))


class RelativeEffect(NamedTuple):
    """A relative difference with its interval and p."""

    value: float
    low: float
    high: float
    p: float


def relative_effect(
    control: tuple[float, float, int],
    treatment: tuple[float, float, int],
    method: str,
    critical_at: Callable[[float], float],
    p_of: Callable[[float, float], float],
    df: float,
    unadjusted: Unadjusted | None = None,
) -> RelativeEffect:
    r"""The relative difference of two estimates, each (value, variance, users), by one of the ways of `RELATIVE`.

    | method | relative difference | interval | p |
    |---|---|---|---|
    | `fieller` | :math:`(g_t - g_c) / |g_c|` | Fieller's | that of the difference |
    | `delta` | the same | delta method | of the relative difference over its error |
    | `tea-tasting` | :math:`g_t / g_c - 1` | :math:`g_t / g_c \cdot e^{\pm q s} - 1`, with
      :math:`s^2 = V_c / g_c^2 + V_t / g_t^2` and Welch's degrees of freedom of these two | of the logarithm |
    | `growthbook` | :math:`(g_t - g_c) / r_c`, where r is not adjusted by covariates | delta method | as `delta` |

    In the variance of `growthbook` the control counts with :math:`V(k r_c - \theta h_c)`, where k is :math:`r_t / r_c`
    for means and :math:`1 + (g_t - g_c) / r_c` for ratios.
    """
    (first, first_variance, n_first), (second, second_variance, n_second) = control, treatment
    difference = second - first
    if method == "tea-tasting":
        if not first * second > 0:
            return RelativeEffect(_signed(difference, first), math.nan, math.nan, math.nan)
        parts = first_variance / first**2, second_variance / second**2
        error, ratio = math.sqrt(sum(parts)), second / first
        df = welch_df(parts[0], n_first, parts[1], n_second) if math.isfinite(df) else df
        factor = math.exp(critical_at(df) * error)
        low, high = ratio / factor - 1, ratio * factor - 1
        return RelativeEffect(ratio - 1, low, high, p_of(math.log(ratio) / error, df))
    if method == "growthbook":
        raw = unadjusted or Unadjusted(first, second, first_variance, 0.0, of_ratio=False)
        if raw.control == 0:
            return RelativeEffect(math.nan, math.nan, math.nan, math.nan)
        value = difference / raw.control
        times = 1 + value if raw.of_ratio else raw.treatment / raw.control
        subtracted = first_variance - raw.variance + 2 * raw.covariance  # the variance of what covariates subtract
        of_control = times**2 * raw.variance - 2 * times * raw.covariance + subtracted
        error = math.sqrt(second_variance + of_control) / abs(raw.control)
        half = critical_at(df) * error
        return RelativeEffect(value, value - half, value + half, p_of(value / error, df))
    low, high = relative_interval(first, first_variance, second, second_variance, critical_at(df), method)
    value, error = _over(difference, first), math.sqrt(first_variance + second_variance)
    if method == "delta" and first:
        error = math.sqrt(second_variance + (second / first) ** 2 * first_variance)
    return RelativeEffect(value, low, high, p_of(difference / error, df) if first else math.nan)


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
        return untested(x / n if n else math.nan, y / m if m else math.nan, n, m, "z of shares")
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
    share = RelativeEffect(_over(second - first, first), math.nan, math.nan, math.nan)
    if min(variances) > 0:  # else the formula takes a share of 0 or 1 as known
        share = relative_effect(
            (first, variances[0], n), (second, variances[1], m), relative, lambda _: q,
            lambda statistic, _: float(2 * ndtr(-abs(statistic))), math.nan,
        )  # fmt: skip
    return ArmEffect(
        first, second, n, m, second - first, low, high, share.value, share.low, share.high, p, method, statistic,
        error=math.sqrt(sum(variances)), relative_p=share.p,
    )  # fmt: skip


def wilson(successes: int, n: int, q: float) -> tuple[float, float]:
    """Wilson's interval of a share; q is the normal quantile."""
    share = successes / n
    centre = (share + q * q / (2 * n)) / (1 + q * q / n)
    half = q / (1 + q * q / n) * math.sqrt(share * (1 - share) / n + q * q / (4 * n * n))
    return centre - half, centre + half


def _signed(difference: float, control: float) -> float:
    return difference / control if control else math.nan


def _over(difference: float, control: float) -> float:
    """The difference as a share of the size of the control, so that both have the same sign."""
    return difference / abs(control) if control else math.nan
