"""Cliff's δ: the probability that a score of one sample exceeds a score of the other, minus that of the reverse.

The interval is Feng & Cliff's (Journal of Modern Applied Statistical Methods 3(2), 2004), which stays within [−1, 1].
For matched samples the variance is computed from the sum of both systems' parts on each topic, so it accounts for their
correlation.
"""

from __future__ import annotations

import numpy as np

from cranfield.comparison.differences import noise
from cranfield.comparison.distributions.rank_distributions import mean_ranks
from cranfield.scores.t_and_normal import normal_quantile
from cranfield.types import Array


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
