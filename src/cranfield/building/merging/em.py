"""Expectation maximisation: probabilities of true labels and parameters of assessors, in turns; and uphill steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from cranfield.building.merging.label_problem import Fit, Problem
from cranfield.types import Array

HALVINGS = 10

SETTLED, NEARLY_SETTLED = 1e-8, 1e-3
"""Probabilities have settled if none of them is expected to move further than the first number; after the last step
that is allowed, further than the second, if no item gets another label by that."""
ROUNDING = 1e-12
"""A change of probabilities that is no more than this comes from rounding."""
TIED = 1e-9
"""Labels whose probabilities differ by no more than this are equally probable."""


class Model(Protocol):
    """A model of assessors with parameters that are estimated."""

    classes: ClassShares

    def update(self, posterior: Array) -> None:
        """The M-step: estimate the parameters from probabilities of true labels."""

    def scores(self) -> Array:
        """items × classes: the log-probability of the labels of the item together with a true label."""

    def penalty(self) -> float:
        """The log-density of the parameters under their prior, up to a constant; 0 without a prior."""


def expectation_maximisation(problem: Problem, model: Model, posterior: Array | None = None) -> Fit:
    """Take steps until the log-likelihood no longer rises, and the probabilities of labels no longer move.

    The log-likelihood (plus the log-density of priors) must rise by less than the tolerance per label. It can be flat
    while labels still change, so that the probabilities must have settled too: with the largest change d of a step and
    r, its ratio to that of the step before, all steps to come move them by about d · r / (1 − r). That must be
    1e-8 or less; after the last step that is allowed, 0.001 or less, and too little to give an item another label.

    Reference: Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, J. Royal
    Statistical Society B 39(1), 1977
    """
    settings = problem.settings
    posterior = problem.start() if posterior is None else posterior
    least = settings["tolerance"] * max(len(problem.item), 1)
    trace: list[float] = []
    likelihood, converged = float("nan"), False
    moved = np.inf
    for step in range(settings["steps"]):
        model.update(posterior)
        before, moved_before = posterior, moved
        posterior, likelihood = problem.normalised(model.scores())
        moved = float(np.abs(posterior - before).max(initial=0.0))
        trace.append(likelihood + model.penalty())
        if problem.progress is not None:
            problem.progress(step + 1, settings["steps"])
        flat = len(trace) > 1 and trace[-1] - trace[-2] < least
        left = remaining(moved, moved_before)
        if flat and (left <= SETTLED or (step + 1 == settings["steps"] and keep_labels(posterior, left))):
            converged = True
            break
    return Fit(posterior, tuple(trace), likelihood, converged, model.classes.shares)


def remaining(moved: float, before: float) -> float:
    """How far steps will still move in all, if each is shorter than the one before by the same factor.

    >>> remaining(0.5, 1.0), remaining(1.0, 0.5), remaining(0.0, 0.0)
    (0.5, inf, 0.0)
    """
    if moved <= ROUNDING:
        return moved
    return moved * moved / (before - moved) if moved < before < np.inf else np.inf


def keep_labels(posterior: Array, left: float) -> bool:
    """Have probabilities nearly settled, and will every item keep its label if they move by no more than `left`?

    >>> keep_labels(np.array([[0.6, 0.4]]), 0.0005), keep_labels(np.array([[0.5004, 0.4996]]), 0.0005)
    (True, False)
    """
    if left > NEARLY_SETTLED:
        return False
    highest = np.partition(posterior, -2, axis=1)
    apart = highest[:, -1] - highest[:, -2]
    return not ((apart > TIED) & (apart <= 2 * left)).any()


class ClassShares:
    """The probabilities of classes: estimated from probabilities of true labels, or fixed."""

    def __init__(self, problem: Problem, default: str) -> None:
        settings = problem.settings
        prior = default if settings["class_prior"] is None else settings["class_prior"]
        self.estimated = prior == "estimated"
        self.counts = settings["class_counts"]
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


def uphill(value: Callable[[Array], Array], point: Array, step: Array, now: Array) -> tuple[Array, Array]:
    """The points after a step, and their values, none of which is below `now`.

    point, step: units, or units × dimensions. value: from points to a value per unit; `now` is that of `point`.

    >>> point, step = np.array([0.0, 0.0]), np.array([1.0, 3.0])
    >>> [part.tolist() for part in uphill(lambda x: 1 - (x - 1) ** 2, point, step, np.zeros(2))]
    [[1.0, 1.5], [1.0, 0.75]]
    """
    size = np.ones((len(point), *([1] * (point.ndim - 1))))
    tried, then = point + step, value(point + step)
    for _ in range(HALVINGS):
        worse = ~(then >= now)
        if not worse.any():
            return tried, then
        size[worse] /= 2
        tried = point + size * step
        then = value(tried)
    better = then >= now
    kept = better.reshape(size.shape)
    return np.where(kept, tried, point), np.where(better, then, now)
