"""Expectation maximisation for models whose parameters are all probabilities of hidden yes-or-no events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.online.clicks.click_estimates import PRIOR_WEIGHT, common_means
from cranfield.online.clicks.click_settings import ClickSettings, Prior
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected number of successes and failures of each parameter, and the log-likelihood of the data."""

    success: Array
    failure: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Layout:
    """The parameters of a problem, one entry each."""

    success_prior: Array
    failure_prior: Array
    fixed: NDArray[np.bool_]
    """Parameters that are not estimated."""
    block: Index64
    """Parameters in different blocks do not interact, given those that are in no block (-1)."""
    group: Index64
    """Parameters whose prior has the same mean, which comes from the log; -1: the prior is given."""

    @staticmethod
    def of(parts: Sequence[tuple[int, Prior]], fixed: NDArray[np.bool_], block: Index64) -> Layout:
        """From the number of parameters in each part, and its prior; those of a part share their mean.

        A parameter that is alone in its part has a prior with the mean 1/2, which hardly matters among all sessions.
        """
        sizes = np.array([size for size, _ in parts])
        counts = [prior or (PRIOR_WEIGHT / 2, PRIOR_WEIGHT / 2) for _, prior in parts]
        group = np.where([prior is None and size > 1 for size, prior in parts], np.arange(len(parts)), -1)
        good, bad = (np.repeat([count[end] for count in counts], sizes) for end in (0, 1))
        good[fixed] = bad[fixed] = 0.0
        return Layout(good, bad, fixed, block, np.where(fixed, -1, np.repeat(group, sizes)))


class Problem(Protocol):
    """A likelihood whose parameters are probabilities."""

    layout: Layout
    impressions: int

    def start(self) -> Array:
        """The parameters to begin with."""

    def expected(self, theta: Array) -> Expected:
        """The E-step: what the parameters make of the data."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the steps ended."""

    theta: Array
    trace: tuple[float, ...]
    """The log-likelihood plus the log-density of the prior before every step with this prior; it never decreases."""
    log_likelihood: float
    converged: bool
    expected: Expected
    steps: int
    """All steps, with those that found the means of priors."""


def maximise(problem: Problem, settings: ClickSettings) -> Maximum:
    """Take EM steps until the log-likelihood (plus that of the prior) rises by less than the tolerance per impression.

    Reference: Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, J. Royal
    Statistical Society B 39(1), 1977
    """
    layout = problem.layout
    least = settings.tolerance * max(problem.impressions, 1)
    theta, taken = _with_prior_of_log(problem, settings, least)
    trace: list[float] = []
    converged = False
    for step in range(settings.steps - taken):
        expected = problem.expected(theta)
        trace.append(expected.log_likelihood + log_prior(layout, theta))
        if step and trace[-1] - trace[-2] < least:
            converged = True
            break
        theta = _updated(layout, expected, theta)
        if settings.progress is not None:
            settings.progress(taken + step + 1, settings.steps)
    expected = problem.expected(theta)
    return Maximum(theta, tuple(trace), expected.log_likelihood, converged, expected, taken + len(trace))


def _with_prior_of_log(problem: Problem, settings: ClickSettings, least: float) -> tuple[Array, int]:
    """Take steps in which the means of priors follow the estimates, until both rest; then the priors stay as they are.

    Returns the parameters and the number of steps.
    """
    layout, theta = problem.layout, problem.start()
    grouped = np.flatnonzero(layout.group >= 0)
    before = -np.inf
    for step in range(settings.steps - 1 if len(grouped) else 0):
        expected = problem.expected(theta)
        if step and abs(expected.log_likelihood - before) < least:
            return theta, step
        before = expected.log_likelihood
        group = layout.group[grouped]
        mean = common_means(expected.success[grouped], expected.failure[grouped], group)[group]
        layout.success_prior[grouped], layout.failure_prior[grouped] = PRIOR_WEIGHT * mean, PRIOR_WEIGHT * (1 - mean)
        theta = _updated(layout, expected, theta)
        if settings.progress is not None:
            settings.progress(step + 1, settings.steps)
    return theta, settings.steps - 1 if len(grouped) else 0


def _updated(layout: Layout, expected: Expected, theta: Array) -> Array:
    """The M-step: the share of successes, with the imaginary ones; a parameter without any trial stays as it is."""
    success = expected.success + layout.success_prior
    total = success + expected.failure + layout.failure_prior
    estimated = (total > 0) & ~layout.fixed
    return np.divide(success, total, out=theta.copy(), where=estimated)


def log_prior(layout: Layout, theta: Array) -> float:
    """The log-density of the parameters under their prior, up to a constant."""
    return weighted_log(layout.success_prior, theta) + weighted_log(layout.failure_prior, 1 - theta)


def logit_score(problem: Problem, theta: Array) -> Array:
    """The gradient of the log-likelihood (with the prior) on the scale of log-odds; 0 for fixed parameters."""
    layout, expected = problem.layout, problem.expected(theta)
    success = expected.success + layout.success_prior
    total = success + expected.failure + layout.failure_prior
    return np.where(layout.fixed, 0.0, success - total * theta)


def weighted_log(weight: Array, values: Array) -> float:
    """The sum of weight · log(value), where a weight of 0 counts as 0 even if the value is 0."""
    return _core.weighted_log(weight, values)
