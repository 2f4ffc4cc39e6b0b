"""Prediction-powered means: few topics with human judgments, many with machine judgments only. The arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import row_moments, zeros_for_nan
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.scores.bounded_mean import bounded_intervals, bounded_p, few_carry
from cranfield.types import Array

INTERVALS = ("t", "normal")
"""`t`: Student's t corrected for skewness, and limits of the scores where few topics differ; `normal`: the normal
distribution and variances divided by n, as in the papers."""

MOST_SKEW = 0.9
"""The most that Hall's transformation corrects, times the quantile: it moves an end by at most about 4/5 of its
distance, where a skewness that is estimated from few topics could move it out of sight."""
RARE = 0.25
"""Below this share of all topics that carry the spread of the machine scores, the human topics may have missed them."""


@dataclass(frozen=True, eq=False)
class PoweredMeans:
    """Means of many rows (a run, or the difference of two runs), with intervals, beside the classical ones."""

    estimate: Array
    error: Array
    """The standard error of the estimate."""
    freedom: Array
    """Degrees of freedom of the interval; infinite for the normal distribution."""
    low: Array
    high: Array
    tuning: Array
    """λ, the weight of the machine judgments."""
    classical: Array
    """The mean over the topics with human judgments."""
    classical_error: Array
    classical_low: Array
    classical_high: Array
    topics: Array
    """The number of topics with both judgments."""
    others: Array
    """The number of topics with machine judgments only."""
    bounded: NDArray[np.bool_]
    """Few topics carry the spread: both intervals come from the limits of the scores, without the machine."""
    unlimited: NDArray[np.bool_]
    """`bounded` where the limits are unknown: the smallest and the largest score at hand took their place."""
    p: Array
    """The two-sided p-value of a mean of 0; NaN where nothing varies and no limits are known."""

    @property
    def effective(self) -> Array:
        """The number of human topics with which the classical variance would be that of the estimate; NaN for 0 / 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.topics * self.classical_error**2 / self.error**2)


def powered_means(
    human: Array,
    machine: Array,
    others: Array,
    *,
    tuning: float | None = None,
    level: float = 0.95,
    interval: str = "t",
    limits: tuple[Array, Array] | None = None,
) -> PoweredMeans:
    r"""The mean of each row by prediction-powered inference.

    .. math:: \hat\theta_\lambda = \frac{\lambda}{N} \sum_{j=1}^{N} \tilde f_j
        + \frac{1}{n} \sum_{i=1}^{n} (y_i - \lambda f_i)

    human: rows × topics, the scores y with human judgments.
    machine: rows × topics, the scores f on the same topics with machine judgments.
    others: rows × topics, the scores with machine judgments on the topics without human ones. NaN is left out.
    tuning: λ. 0 is the classical mean, 1 the estimate of the first paper. By default it is tuned for each row:

    .. math:: \hat\lambda = \frac{\operatorname{cov}(y, f)}{(1 + n/N) \operatorname{var}(f)}, \quad
        \text{cut off at 0 and 1}

    limits: the smallest and the largest possible score of each row; NaN if unknown.

    interval: with `t`, the variance of the n topics is that of the jackknife, which tunes λ again without each topic in
    turn: a λ that one topic decides makes the interval wide. To it comes λ² var(f̃) / N. The interval is Student's with
    Welch and Satterthwaite's degrees of freedom after Hall's transformation, which removes the skewness of the
    estimate. Where few topics carry the spread of the scores (`scores.bounded_mean`), no such interval holds: λ
    is 0, and the interval is that of scores between `limits`; the smallest and the largest score of the row take the
    place of unknown limits. `normal` is λ² var(f̃) / N + var(y − λ f) / n with variances divided by n and the normal
    distribution, as in the papers; it is too narrow for few topics, and for scores that are mostly 0.

    References: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Science 382, 2023, doi:10.1126/science.adi6000;
    Angelopoulos, Duchi & Zrnic, PPI++, 2023, arXiv:2311.01453;
    Hall, On the Removal of Skewness by Transformation, JRSS B 54(1), 1992

    >>> y, f, more = np.array([[0.2, 0.4, 0.9]]), np.array([[0.3, 0.4, 0.8]]), np.array([[0.5, 0.3, 0.6, 0.8]])
    >>> means = powered_means(y, f, more, tuning=1.0)
    >>> means.estimate.round(4).tolist()  # (0.5 + 0.3 + 0.6 + 0.8) / 4 + (-0.1 + 0 + 0.1) / 3
    [0.55]
    """
    check.one_of("powered_means", INTERVALS, interval=interval)
    if not 0 < level < 1:
        raise UsageError(f"level == {level!r}, must be above 0 and below 1, such as 0.95")
    if tuning is not None:
        check.between("", low=0, high=1, tuning=tuning)
    undefined = np.isnan(human) | np.isnan(machine)
    human, machine = np.where(undefined, np.nan, human), np.where(undefined, np.nan, machine)
    n, mean, _ = row_moments(human)
    if (n < 2).any():
        raise UsageError(f"{int(n.min())} topics with both judgments, an interval needs 2 or more")
    count, others_mean, others_spread = row_moments(others)
    few = (few_carry(human) | _rare_by_machine(machine, others, n)) & (interval == "t")
    weight = _tuned(human, machine, others) if tuning is None else np.full(len(human), float(tuning))
    # without further topics, or with few that carry the spread, machine judgments say nothing
    useless = (count < 2) | few
    if interval == "t" and (count > 1).any():
        useless |= few_carry(np.where((count > 1)[:, None], others, 0.0))
    weight = np.where(useless, 0.0, weight)
    used = weight > 0
    estimate = np.where(used, weight * others_mean, 0.0) + row_moments(human - weight[:, None] * machine)[1]
    imputed = np.where(used, weight * others_spread, 0.0) ** 2 / np.maximum(count, 1)
    if interval == "normal":
        imputed = imputed * (count - 1) / np.maximum(count, 1)
        parts = [_Part(_variance(human - weight[:, None] * machine), np.inf), _Part(imputed, np.inf)]
        classical = [_Part(_variance(human), np.inf)]
    else:
        own = _pseudo_values(
            human, machine, others_mean, weight, _without_each(human, machine, others, useless, tuning)
        )
        extra = np.where(used, weight, 0.0)[:, None] * np.where(used[:, None], others, 0.0)
        parts = [_Part.of(own), _Part(imputed, np.maximum(count - 1, 1), _third(extra) / np.maximum(count, 1) ** 2)]
        classical = [_Part.of(human)]
    low, high, error, freedom, p = _intervals(estimate, parts, level)
    classical_low, classical_high, classical_error, _, _ = _intervals(mean, classical, level)
    unlimited = np.zeros(len(human), dtype=bool)
    if few.any():
        least, most, unlimited[few] = _limits([human[few], machine[few], others[few]], limits, few)
        low[few], high[few] = bounded_intervals(human[few], least, most, level)
        classical_low[few], classical_high[few] = low[few], high[few]
        p[few] = np.where(most > least, bounded_p(human[few], least, most), np.nan)
    return PoweredMeans(
        estimate, error, freedom, low, high, weight, mean, classical_error, classical_low, classical_high, n, count,
        few, unlimited, p,
    )  # fmt: skip


class _Part(NamedTuple):
    """What one sample adds to an estimate: a variance, its degrees of freedom, and a third cumulant."""

    variance: Array
    freedom: Array | float
    third: Array | float = 0.0

    @staticmethod
    def of(values: Array) -> _Part:
        """The mean of each row, NaN left out."""
        n, _, spread = row_moments(values)
        return _Part(spread**2 / n, n - 1, _third(values) / n**2)


def _rare_by_machine(machine: Array, others: Array, n: Array) -> NDArray[np.bool_]:
    """Do few of all topics carry the spread of the machine scores, so that the human topics may have missed them?"""
    scores = np.concatenate([machine, others], axis=1)
    varies = np.nanmax(scores, axis=1) > np.nanmin(scores, axis=1)  # a machine that always says the same tells nothing
    return np.asarray(varies & few_carry(scores, RARE, n))


def _variance(values: Array) -> Array:
    """Of the mean of each row, divided by n instead of n − 1."""
    n, _, spread = row_moments(values)
    return np.asarray(spread**2 * (n - 1) / n**2)


def _third(values: Array) -> Array:
    """The third central moment of each row."""
    n, mean, _ = row_moments(values)
    return np.asarray(np.nansum((values - mean[:, None]) ** 3, axis=1) / np.maximum(n, 1))


def _without_each(
    human: Array, machine: Array, others: Array, useless: NDArray[np.bool_], tuning: float | None
) -> Array:
    """λ without each topic in turn, rows × topics."""
    if tuning is not None:
        return np.where(useless[:, None], 0.0, np.broadcast_to(float(tuning), human.shape))
    y, n = zeros_for_nan(human)
    f, _ = zeros_for_nan(machine)
    g, count = zeros_for_nan(others)
    centre = np.where(n + count > 0, (f.sum(axis=1) + g.sum(axis=1)) / (n + count), 0.0)[:, None]
    f, g = np.where(np.isnan(machine), 0.0, f - centre), np.where(np.isnan(others), 0.0, g - centre)
    left, whole = np.maximum(n - 1, 1)[:, None], (n + count - 1)[:, None]
    of_y, of_f = y.sum(axis=1, keepdims=True) - y, f.sum(axis=1, keepdims=True) - f
    covariance = ((y * f).sum(axis=1, keepdims=True) - y * f) / left - of_y * of_f / left**2
    total = f.sum(axis=1, keepdims=True) + g.sum(axis=1, keepdims=True) - f
    squares = (f**2).sum(axis=1, keepdims=True) + (g**2).sum(axis=1, keepdims=True) - f**2
    variance = np.maximum(squares - total**2 / whole, 0.0) / np.maximum(whole - 1, 1)
    share = (whole - left) / whole
    tuned = np.divide(share * covariance, variance, out=np.zeros_like(variance), where=variance > 1e-14 * squares)
    return np.where(useless[:, None], 0.0, np.clip(tuned, 0.0, 1.0))


def _pseudo_values(human: Array, machine: Array, others_mean: Array, weight: Array, without: Array) -> Array:
    """n θ − (n − 1) θ₋ᵢ, where θ₋ᵢ is the estimate without topic i: their mean has the jackknife's variance of θ."""
    n, mean, _ = row_moments(human)
    machine_mean = row_moments(machine)[1]
    left = np.maximum(n - 1, 1)[:, None]
    human_rest = mean[:, None] - (human - mean[:, None]) / left
    machine_rest = machine_mean[:, None] - (machine - machine_mean[:, None]) / left
    added = np.where(weight > 0, others_mean, machine_mean)
    theta = mean + weight * (added - machine_mean)
    rest = human_rest + without * (np.nan_to_num(others_mean)[:, None] - machine_rest)
    return np.asarray(n[:, None] * theta[:, None] - left * rest)


def _intervals(estimate: Array, parts: list[_Part], level: float) -> tuple[Array, Array, Array, Array, Array]:
    r"""Low, high, standard error, degrees of freedom, and the p-value of 0.

    With the skewness γ of the estimate, Hall's :math:`g(T) = T + \frac{\gamma}{3} T^2 + \frac{\gamma^2}{27} T^3 +
    \frac{\gamma}{6}` of the studentised estimate T has Student's distribution up to terms of order 1/n.
    """
    special = need("scipy.special", "a p-value")
    variance = np.sum([part.variance for part in parts], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / np.sum([part.variance**2 / part.freedom for part in parts], axis=0)
        freedom = np.where(variance > 0, freedom, parts[0].freedom)
        error = np.sqrt(variance)
        skew = np.where(variance > 0, np.sum([part.third + 0 * variance for part in parts], axis=0) / error**3, 0.0)
        t = estimate / np.where(error > 0, error, np.nan)
    edge = quantile(level, freedom)
    skew = np.clip(skew, -MOST_SKEW / edge, MOST_SKEW / edge)
    third = skew / 3

    def back(value: Array) -> Array:
        """The T with g(T) = value."""
        cubed = third * (value - skew / 6)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.abs(third) > 1e-8, (np.cbrt(1 + 3 * cubed) - 1) / third, value)

    g = -np.abs(t + third * t**2 + third**2 * t**3 / 3 + skew / 6)
    normal = np.isinf(freedom)
    tail = np.where(normal, special.ndtr(g), special.stdtr(np.where(normal, 1, freedom), g))
    low, high = estimate - error * back(edge), estimate - error * back(-edge)
    return low, high, error, freedom, np.asarray(np.minimum(2 * tail, 1.0))


def _limits(
    scores: list[Array], limits: tuple[Array, Array] | None, rows: NDArray[np.bool_]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """The limits of these rows, and where the smallest and largest score take their place; NaN if these are equal."""
    together = np.concatenate(scores, axis=1)
    low, high = np.nanmin(together, axis=1), np.nanmax(together, axis=1)
    low, high = np.where(high > low, low, np.nan), np.where(high > low, high, np.nan)
    unknown = np.ones(len(low), dtype=bool)
    if limits is not None:
        known = limits[0][rows], limits[1][rows]
        unknown = ~(np.isfinite(known[0]) & np.isfinite(known[1]))
        low, high = (np.where(unknown, found, given) for found, given in zip((low, high), known, strict=True))
    return low, high, unknown


def quantile(level: float, freedom: Array) -> Array:
    """The quantile of Student's t for a two-sided interval; infinite degrees of freedom are the normal distribution.

    >>> quantile(0.95, np.array([4.0, np.inf])).round(3).tolist()
    [2.776, 1.96]
    """
    special = need("scipy.special", "an interval")
    normal = np.isinf(freedom)
    t = special.stdtrit(np.where(normal, 1.0, freedom), (1 + level) / 2)
    return np.asarray(np.where(normal, special.ndtri((1 + level) / 2), t))


def _tuned(human: Array, machine: Array, others: Array) -> Array:
    """λ that minimises the variance of each row, from 0 to 1; 0 where the machine scores do not vary."""
    centred, n = zeros_for_nan(human - np.nanmean(human, axis=1, keepdims=True))
    predicted, _ = zeros_for_nan(machine - np.nanmean(machine, axis=1, keepdims=True))
    covariance = (centred * predicted).sum(axis=1) / n
    whole, _, spread = row_moments(np.concatenate([machine, others], axis=1))
    share = (whole - n) / whole  # N / (n + N)
    with np.errstate(divide="ignore", invalid="ignore"):
        tuned = np.where(spread > 0, share * covariance / spread**2, 0.0)
    return np.asarray(np.clip(tuned, 0.0, 1.0))
