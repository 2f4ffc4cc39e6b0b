"""Estimated probabilities with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.types import Array

EDGE = 1e-9
"""Probabilities are kept this far from 0 and 1 where their logit is taken."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Probabilities, and the ends of their intervals; NaN where there is no interval."""

    value: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.value)


def without_intervals(value: Array) -> Estimates:
    """Estimates without intervals."""
    undefined = np.full(len(value), np.nan)
    return Estimates(value, undefined, undefined)


def fixed(value: Array) -> Estimates:
    """Values that are given by the model, not estimated."""
    return Estimates(value, value, value)


def beta_estimates(success: Array, failure: Array, prior: tuple[float, float], level: float | None) -> Estimates:
    r"""Estimates from counts of successes and failures, with intervals of their Beta posterior.

    .. math:: \hat\theta = \frac{s + a}{s + f + a + b}

    The interval has equal tails of Beta(s + a, f + b); an end without counts is 0 or 1. Without any counts the estimate
    is 1/2, between 0 and 1.

    >>> estimates = beta_estimates(np.array([3.0]), np.array([1.0]), (1.0, 1.0), 0.95)
    >>> [round(float(end[0]), 4) for end in (estimates.value, estimates.low, estimates.high)]
    [0.6667, 0.2836, 0.9473]
    """
    good, bad = success + prior[0], failure + prior[1]
    total = good + bad
    value = np.divide(good, total, out=np.full(len(good), 0.5), where=total > 0)
    if level is None:
        return without_intervals(value)
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low, high = np.zeros(len(good)), np.ones(len(good))
    both = (good > 0) & (bad > 0)
    low[both] = betaincinv(good[both], bad[both], tail)
    high[both] = betaincinv(good[both], bad[both], 1 - tail)
    low[(bad == 0) & (good > 0)] = tail ** (1 / good[(bad == 0) & (good > 0)])  # Beta(n, 0) read as Beta(n, 1)
    high[(good == 0) & (bad > 0)] = 1 - tail ** (1 / bad[(good == 0) & (bad > 0)])
    return Estimates(value, low, high)


def logit_estimates(value: Array, variance: Array, level: float) -> Estimates:
    """Estimates with intervals that are symmetric on the scale of log-odds; `variance` is on that scale."""
    from scipy.special import expit, logit, ndtri

    middle = logit(np.clip(value, EDGE, 1 - EDGE))
    reach = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return Estimates(value, expit(middle - reach), expit(middle + reach))
