"""The settings of methods that merge labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield import check
from cranfield.errors import UsageError
from cranfield.types import Progress

TIES = ("lowest", "highest", "random", "undecided")
"""What to do if several labels of an item are equally probable."""
WEIGHTS = ("log-odds", "accuracy")
"""The weights of votes, from the accuracy of the assessor."""
INFERENCE = ("vb", "em")
"""How MACE is estimated: variational Bayes, or maximum likelihood."""


@dataclass(frozen=True)
class MergeSettings:
    """The settings of a method. `MergingMethod.settings` names those of a method, in addition to `ties` and `seed`."""

    ties: str = "lowest"
    seed: int = 0
    steps: int = 1000
    """The largest number of steps."""
    tolerance: float = 1e-7
    """A method has converged if a step adds less than this to the log-likelihood per label, and labels have settled."""
    class_prior: str | tuple[float, ...] | None = None
    """`estimated`, `uniform`, or the probability of each label of the scale; None is the default of the method."""
    class_counts: float = 0.0
    """Imaginary items of each class, added when the probabilities of classes are estimated (a Dirichlet prior)."""
    worker_prior: tuple[float, float] | None = None
    """Imaginary right and wrong labels of each assessor; None is the default of the method."""
    weight: str = "log-odds"
    """For weighted votes: one of `WEIGHTS`."""
    inference: str = "vb"
    """For MACE: one of `INFERENCE`."""
    restarts: int = 0
    """For MACE: random starts in addition to the one from the votes; the most likely result is kept."""
    alpha: float | None = None
    """For the binomial majority vote: items whose majority is not significant at this level stay undecided."""
    window: int = 10
    """For gp: the number of labels in a row over which the accuracy of an assessor is constant."""
    length: float = 5.0
    """For gp: the distance, in windows, over which the accuracy of an assessor changes."""
    progress: Progress | None = field(default=None, compare=False)

    def check(self, method: str, classes: int) -> None:
        """Raise an error for a value that is not allowed."""
        check.one_of(method, TIES, ties=self.ties)
        check.one_of(method, WEIGHTS, weight=self.weight)
        check.one_of(method, INFERENCE, inference=self.inference)
        check.whole(method, steps=self.steps, window=self.window)
        check.finite(method, tolerance=self.tolerance, class_counts=self.class_counts, length=self.length)
        check.not_negative(method, tolerance=self.tolerance, class_counts=self.class_counts)
        check.positive(method, length=self.length)
        check_count(method, seed=self.seed, restarts=self.restarts)
        if self.alpha is not None:
            check.finite(method, alpha=self.alpha)
            if not 0 < self.alpha < 1:
                raise check.wrong(method, "alpha", self.alpha, "above 0 and below 1")
        if self.worker_prior is not None:
            _check_worker_prior(method, self.worker_prior)
        if self.class_prior is not None:
            _check_class_prior(method, self.class_prior, classes)


def check_count(caller: str, **values: Any) -> None:
    """Check that every value is a whole number, 0 or more."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise check.wrong(caller, name, value, "a whole number, 0 or more")


def _check_worker_prior(method: str, prior: Any) -> None:
    allowed = "two numbers, 0 or more: imaginary right and wrong labels of each assessor"
    try:
        right, wrong = (float(number) for number in prior)
    except (TypeError, ValueError):
        raise check.wrong(method, "worker_prior", prior, allowed) from None
    if not (0 <= right < np.inf and 0 <= wrong < np.inf):
        raise check.wrong(method, "worker_prior", prior, allowed)


def _check_class_prior(method: str, prior: Any, classes: int) -> None:
    if isinstance(prior, str):
        if prior not in ("estimated", "uniform"):
            raise check.wrong(method, "class_prior", prior, "'estimated', 'uniform' or a probability per label")
        return
    try:
        probabilities = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise check.wrong(method, "class_prior", prior, "a probability per label") from None
    if probabilities.shape != (classes,):
        raise check.wrong(method, "class_prior", prior, f"a probability for each of the {classes} labels of the scale")
    if not (probabilities > 0).all():
        raise UsageError(
            f"{method}: class_prior == {prior!r}, must be above 0 for every label; a label with probability 0 could "
            "never be chosen, so leave it out of the scale or give it a small probability"
        )
    if abs(probabilities.sum() - 1) > 1e-6:
        raise check.wrong(method, "class_prior", prior, f"probabilities with sum 1, not {probabilities.sum():g}")
