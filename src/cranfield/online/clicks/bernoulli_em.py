"""Expectation maximisation for models whose parameters are all probabilities of hidden yes-or-no events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.online.clicks.click_settings import ClickSettings
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
    """The log-likelihood plus the log-density of the prior before every step; it never decreases."""
    log_likelihood: float
    converged: bool
    expected: Expected


def maximise(problem: Problem, settings: ClickSettings) -> Maximum:
    """Take EM steps until the log-likelihood (plus that of the prior) rises by less than the tolerance per impression.

    Reference: Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, J. Royal
    Statistical Society B 39(1), 1977
    """
    layout, theta = problem.layout, problem.start()
    least = settings.tolerance * max(problem.impressions, 1)
    trace: list[float] = []
    converged = False
    for step in range(settings.steps):
        expected = problem.expected(theta)
        trace.append(expected.log_likelihood + log_prior(layout, theta))
        if step and trace[-1] - trace[-2] < least:
            converged = True
            break
        theta = _updated(layout, expected, theta)
        if settings.progress is not None:
            settings.progress(step + 1, settings.steps)
    expected = problem.expected(theta)
    return Maximum(theta, tuple(trace), expected.log_likelihood, converged, expected)


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
