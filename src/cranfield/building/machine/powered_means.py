"""Prediction-powered means: few topics with human judgments, many with machine judgments only. The arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.comparison.differences import row_moments, zeros_for_nan
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.types import Array

INTERVALS = ("t", "normal")
"""`t`: Student's t, for few topics; `normal`: the normal distribution and variances divided by n, as in the papers."""


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

    @property
    def effective(self) -> Array:
        """The number of human topics with which the classical variance would be that of the estimate; NaN for 0 / 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.topics * self.classical_error**2 / self.error**2)

    def p(self) -> Array:
        """The two-sided p-value of a mean of 0; NaN where the standard error is 0."""
        special = need("scipy.special", "a p-value")
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = -np.abs(self.estimate) / np.where(self.error > 0, self.error, np.nan)
        normal = np.isinf(self.freedom)
        tail = np.where(normal, special.ndtr(statistic), special.stdtr(np.where(normal, 1, self.freedom), statistic))
        return np.asarray(np.minimum(2 * tail, 1.0))


def powered_means(
    human: Array,
    machine: Array,
    others: Array,
    *,
    tuning: float | None = None,
    level: float = 0.95,
    interval: str = "t",
) -> PoweredMeans:
    r"""The mean of each row by prediction-powered inference.

    .. math:: \hat\theta_\lambda = \frac{\lambda}{N} \sum_{j=1}^{N} \tilde f_j
        + \frac{1}{n} \sum_{i=1}^{n} (y_i - \lambda f_i), \qquad
        \operatorname{Var} = \frac{\lambda^2 s^2_{\tilde f}}{N} + \frac{s^2_{y - \lambda f}}{n}

    human: rows × topics, the scores y with human judgments.
    machine: rows × topics, the scores f on the same topics with machine judgments.
    others: rows × topics, the scores with machine judgments on the topics without human ones. NaN is left out.
    tuning: λ. 0 is the classical mean, 1 the estimate of the first paper. By default it is tuned for each row:

    .. math:: \hat\lambda = \frac{\operatorname{cov}(y, f)}{(1 + n/N) \operatorname{var}(f)}, \quad
        \text{cut off at 0 and 1}

    interval: `t` uses variances with n − 1 (n − 2 for the rectifier if λ is tuned, as for the residuals of a line) and
    Student's t with Welch and Satterthwaite's degrees of freedom, which matters for few topics; `normal` uses the
    normal distribution and variances with n, as the papers do.

    References: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Science 382, 2023, doi:10.1126/science.adi6000;
    Angelopoulos, Duchi & Zrnic, PPI++, 2023, arXiv:2311.01453

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
    n, mean, spread = row_moments(human)
    if (n < 2).any():
        raise UsageError(f"{int(n.min())} topics with both judgments, an interval needs 2 or more")
    count, others_mean, others_spread = row_moments(others)
    weight = _tuned(human, machine, others) if tuning is None else np.full(len(human), float(tuning))
    weight = np.where(count > 1, weight, 0.0)  # without further topics, machine judgments say nothing
    _, rectifier, rectifier_spread = row_moments(human - weight[:, None] * machine)
    used = weight > 0
    imputed = np.where(used, weight * others_mean, 0.0)
    imputed_variance = np.where(used, (weight * others_spread) ** 2 / np.maximum(count, 1), 0.0)
    variance, classical_variance = rectifier_spread**2 / n, spread**2 / n
    left = np.where(used & (n > 2), n - 1 - (tuning is None), n - 1)  # a tuned λ takes a degree of freedom
    if interval == "normal":
        variance, classical_variance = variance * (n - 1) / n, classical_variance * (n - 1) / n
        imputed_variance = imputed_variance * (count - 1) / np.maximum(count, 1)
        freedom = classical_freedom = np.full(len(n), np.inf)
    else:
        variance = variance * (n - 1) / left
        freedom, classical_freedom = _welch(variance, left, imputed_variance, np.maximum(count - 1, 1)), n - 1
    estimate, error = imputed + rectifier, np.sqrt(variance + imputed_variance)
    classical_error = np.sqrt(classical_variance)
    half = quantile(level, freedom) * error
    classical_half = quantile(level, classical_freedom) * classical_error
    return PoweredMeans(
        estimate, error, freedom, estimate - half, estimate + half, weight, mean, classical_error,
        mean - classical_half, mean + classical_half, n, count,
    )  # fmt: skip


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


def _welch(a: Array, a_freedom: Array, b: Array, b_freedom: Array) -> Array:
    """Degrees of freedom of the sum of two estimated variances; those of the first if both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (a + b) ** 2 / (a**2 / a_freedom + b**2 / b_freedom)
    return np.where(a + b > 0, freedom, a_freedom)
