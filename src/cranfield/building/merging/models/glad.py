"""GLAD: assessors have abilities, and items have difficulties."""

from __future__ import annotations

import numpy as np

from cranfield.building.merging.em import ClassShares, expectation_maximisation
from cranfield.building.merging.label_problem import Fit, Problem
from cranfield.building.merging.merging_registry import merging_method
from cranfield.building.merging.models.dawid_skene import CLASSES, STEPS
from cranfield.types import Array

INNER = 25
"""The largest number of iterations of the optimiser within a step."""
PRECISE = 1e-5
"""The optimiser stops if no derivative is larger than this."""


class Ability:
    """The probability of a right label is σ(α β), for an ability α and an easiness β = exp(b)."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "uniform")
        self.ability = np.ones(problem.workers)
        self.log_ease = np.ones(problem.items)
        self.spread = np.log(problem.classes - 1)
        """The logarithm of the number of wrong labels."""

    def scores(self) -> Array:
        strength = self.ability[self.problem.worker] * np.exp(self.log_ease)[self.problem.item]
        right, wrong = -softplus(-strength), -softplus(strength) - self.spread
        return self.classes.log() + self.problem.coin_scores(right, wrong)

    def penalty(self) -> float:
        return self.classes.penalty() - 0.5 * float(((self.ability - 1) ** 2).sum() + ((self.log_ease - 1) ** 2).sum())

    def update(self, posterior: Array) -> None:
        from scipy.optimize import minimize

        self.classes.update(posterior)
        problem, workers = self.problem, self.problem.workers
        right = problem.right(posterior)

        def loss(point: Array) -> tuple[float, Array]:
            """Minus the expected log-likelihood, with the normal priors of abilities and log-easiness; its gradient."""
            ability, log_ease = point[:workers], point[workers:]
            ease = np.exp(log_ease)
            each_ability, each_ease = ability[problem.worker], ease[problem.item]
            strength = each_ability * each_ease
            rest = softplus(-strength)
            value = float((rest + (1 - right) * strength).sum())  # -log σ(s) + (1 - r) s
            value += 0.5 * float(((ability - 1) ** 2).sum() + ((log_ease - 1) ** 2).sum())
            slope = np.exp(-rest) - right  # σ(s) - r
            by_worker = np.bincount(problem.worker, slope * each_ease, workers) + ability - 1
            by_item = np.bincount(problem.item, slope * each_ability, problem.items) * ease + log_ease - 1
            return value, np.concatenate([by_worker, by_item])

        begin = np.concatenate([self.ability, self.log_ease])
        found = minimize(
            loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": INNER, "gtol": PRECISE, "ftol": 1e-14}
        )
        if found.fun <= loss(begin)[0]:
            self.ability, self.log_ease = found.x[:workers], found.x[workers:]


@merging_method(
    "glad", source="Whitehill, Ruvolo, Wu, Bergsma & Movellan, NIPS 2009", settings=(*STEPS, *CLASSES), compared=True
)
def glad(problem: Problem) -> Fit:
    r"""Assessors have abilities and items have difficulties, which are estimated together with the true labels.

    .. math:: P(y_{iw} = \text{true label of } i) = \sigma(\alpha_w \beta_i), \qquad
              \alpha_w \sim N(1, 1), \quad \log \beta_i \sim N(1, 1)

    A negative ability is that of an assessor who gives wrong labels on purpose; 1/β is the difficulty of the item.
    Wrong labels are equally probable, and classes are equally probable by default. The first probabilities are those
    of equal abilities and difficulties, which order labels as the votes do. The parameters of a step are found by
    L-BFGS.
    Reference: Whitehill, Ruvolo, Wu, Bergsma & Movellan, Whose Vote Should Count More: Optimal Integration of Labels
    from Labelers of Unknown Expertise, NIPS 2009

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "110", "t2": "001", "t3": "111", "t4": "000"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> ability = merge(rows, "glad").worker_values["ability"]
    >>> bool(ability[0] > ability[2])
    True
    """
    model = Ability(problem)
    first = None if problem.first is not None else problem.normalised(model.scores())[0]
    steps = expectation_maximisation(problem, model, first)
    return Fit(
        steps.posterior, steps.trace, steps.log_likelihood, steps.converged, model.classes.shares,
        {"ability": model.ability}, {"difficulty": np.exp(-model.log_ease)},
    )  # fmt: skip


def softplus(values: Array) -> Array:
    """log(1 + exp(x)), without overflow.

    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    return np.asarray(np.logaddexp(0.0, values))
