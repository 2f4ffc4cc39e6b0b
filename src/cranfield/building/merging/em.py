"""Expectation maximisation: probabilities of true labels and parameters of assessors, in turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cranfield.building.merging.label_problem import Problem
from cranfield.types import Array


class Model(Protocol):
    """A model of assessors with parameters that are estimated."""

    def update(self, posterior: Array) -> None:
        """The M-step: estimate the parameters from probabilities of true labels."""

    def scores(self) -> Array:
        """items × classes: the log-probability of the labels of the item together with a true label."""

    def penalty(self) -> float:
        """The log-density of the parameters under their prior, up to a constant; 0 without a prior."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The result of the steps."""

    posterior: Array
    trace: tuple[float, ...]
    log_likelihood: float
    converged: bool


def expectation_maximisation(problem: Problem, model: Model, posterior: Array | None = None) -> Steps:
    """Take steps until the log-likelihood (plus the log-density of priors) rises by less than the tolerance per label.

    Reference: Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, J. Royal
    Statistical Society B 39(1), 1977
    """
    settings = problem.settings
    posterior = problem.start() if posterior is None else posterior
    least = settings.tolerance * max(len(problem.item), 1)
    trace: list[float] = []
    likelihood, converged = float("nan"), False
    for step in range(settings.steps):
        model.update(posterior)
        posterior, likelihood = problem.normalised(model.scores())
        trace.append(likelihood + model.penalty())
        if settings.progress is not None:
            settings.progress(step + 1, settings.steps)
        if len(trace) > 1 and trace[-1] - trace[-2] < least:
            converged = True
            break
    return Steps(posterior, tuple(trace), likelihood, converged)


class ClassShares:
    """The probabilities of classes: estimated from probabilities of true labels, or fixed."""

    def __init__(self, problem: Problem, default: str) -> None:
        settings = problem.settings
        prior = default if settings.class_prior is None else settings.class_prior
        self.estimated = prior == "estimated"
        self.counts = settings.class_counts
        uniform = np.full(problem.classes, 1 / problem.classes)
        self.shares = uniform if isinstance(prior, str) else np.array(prior, dtype=np.float64)

    def update(self, posterior: Array) -> None:
        if self.estimated:
            counts = posterior.sum(axis=0) + self.counts
            self.shares = counts / counts.sum()

    def log(self) -> Array:
        return log(self.shares)

    def penalty(self) -> float:
        return weighted_log(self.counts, self.shares) if self.estimated else 0.0


def log(values: Array) -> Array:
    """The logarithm; that of 0 is -inf."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def weighted_log(weight: Array | float, values: Array) -> float:
    """The sum of weight · log(value), where a weight of 0 counts as 0 even if the value is 0."""
    weights = np.broadcast_to(weight, values.shape)
    used = weights > 0
    return float((weights[used] * np.log(values[used])).sum())
