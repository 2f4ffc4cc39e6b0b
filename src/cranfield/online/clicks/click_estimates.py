"""Estimated probabilities with intervals, and the settings of the fit that gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.types import Array, Index64, Progress

Prior = tuple[float, float] | None
"""Imaginary successes and failures; None: half an observation, whose mean comes from the log."""
CLICKS = ("all", "first")


@dataclass(frozen=True)
class ClickSettings:
    """How a click model is fitted.

    prior: imaginary successes and failures of each parameter of a document (attractiveness, satisfaction): an estimate
        is (successes + a) / (trials + a + b), the mode under a Beta(a + 1, b + 1) prior. (0, 0) is maximum likelihood.
        None: a + b = 0.5, and a / (a + b) is the mean of the estimates of all documents (empirical Bayes).
    rank_prior: the same for parameters of ranks and of the whole model, such as examination.
    steps, tolerance: EM stops after this number of steps, or if a step raises the log-likelihood per impression by
        less than the tolerance.
    level: the level of intervals; None computes no intervals, which saves time with EM models.
    exact: for DCM and SDBN: False estimates them by counting, under the assumption that users stop after their last
        click. Where they do not, estimates are off by more than any interval would say, so there are no intervals.
    clicks: `all` clicks of a session, or only the `first` (the highest in the list).
    """

    prior: Prior = None
    rank_prior: Prior = None
    steps: int = 2000
    tolerance: float = 1e-8
    level: float | None = 0.95
    exact: bool = True
    clicks: str = "all"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        for name in ("prior", "rank_prior"):
            object.__setattr__(self, name, two_counts(name, getattr(self, name)))
        check.whole("click model", steps=self.steps)
        check.not_negative("click model", tolerance=self.tolerance)
        if self.level is not None and not 0 < self.level < 1:
            raise check.wrong("click model", "level", self.level, "between 0 and 1, without the ends")
        check.one_of("click model", CLICKS, clicks=self.clicks)


def two_counts(name: str, value: Sequence[float] | None) -> Prior:
    """Check a prior: imaginary successes and failures, or None."""
    if value is None:
        return None
    try:
        successes, failures = (float(count) for count in value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} == {value!r}, must be two numbers: imaginary successes and failures") from None
    check.finite("click model", **{name: successes})
    check.finite("click model", **{name: failures})
    check.not_negative("click model", **{name: min(successes, failures)})
    return successes, failures


PRIOR_WEIGHT = 0.5
"""The imaginary observations of a prior whose mean comes from the log. More would predict the clicks of rare documents
better, but pull examination and intervals away from the truth where documents differ much."""
UNSEEN = 1e-4
"""With fewer expected successes or failures, an estimate is at 0 or 1."""
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


def common_means(success: Array, failure: Array, group: Index64) -> Array:
    r"""The mean of the priors of each group, so that it is the mean of the estimates (empirical Bayes).

    .. math:: m = \frac{\sum_i s_i / (n_i + w)}{\sum_i n_i / (n_i + w)} = \frac1k \sum_i \frac{s_i + w m}{n_i + w},
        \quad w = 0.5

    A mean of 0 or 1 is moved by half a success or failure. Without any counts it is 1/2.

    >>> common_means(np.array([0.0, 3.0]), np.array([2.0, 1.0]), np.array([0, 0])).round(4).tolist()
    [0.3947]
    """
    trials, size = success + failure, int(group.max(initial=-1)) + 1
    share = 1 / (trials + PRIOR_WEIGHT)
    above, below, whole = (np.bincount(group, each, size) for each in (share * success, share * trials, trials))
    mean = np.divide(above, below, out=np.full(size, 0.5), where=below > 0)
    least = 0.5 / (whole + 1)
    return np.asarray(np.clip(mean, least, 1 - least))


def beta_estimates(success: Array, failure: Array, prior: Prior, level: float | None) -> Estimates:
    r"""Estimates from counts of successes and failures, with intervals of their Beta posterior.

    .. math:: \hat\theta = \frac{s + a}{s + f + a + b}

    The interval has equal tails of Beta(s + a, f + b); an end without counts is 0 or 1. Without any counts the estimate
    is 1/2, between 0 and 1. A prior of None is that of `common_means`.

    >>> estimates = beta_estimates(np.array([3.0]), np.array([1.0]), (1.0, 1.0), 0.95)
    >>> [round(float(end[0]), 4) for end in (estimates.value, estimates.low, estimates.high)]
    [0.6667, 0.2836, 0.9473]
    """
    if prior is None and len(success):
        (mean,) = common_means(success, failure, np.zeros(len(success), dtype=np.int64)).tolist()
        prior = PRIOR_WEIGHT * mean, PRIOR_WEIGHT * (1 - mean)
    good, bad = (success, failure) if prior is None else (success + prior[0], failure + prior[1])
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


def at_the_ends(estimates: Estimates, trials: Array, level: float) -> Estimates:
    """Intervals of estimates at 0 or 1, where the log-odds are infinite: from there to the exact binomial bound."""
    tail = (1 - level) / 2
    rare = 1 - tail ** (1 / np.maximum(trials, EDGE))
    none, every = trials * estimates.value < UNSEEN, trials * (1 - estimates.value) < UNSEEN
    low = np.where(none, 0.0, np.where(every, 1 - rare, estimates.low))
    high = np.where(every, 1.0, np.where(none, rare, estimates.high))
    return Estimates(estimates.value, low, high)
