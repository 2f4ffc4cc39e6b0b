"""GLAD: assessors have abilities, and items have difficulties."""

from __future__ import annotations

import numpy as np

from cranfield.building.merging.ascent import uphill
from cranfield.building.merging.em import ClassShares, expectation_maximisation
from cranfield.building.merging.label_problem import Fit, Problem, summed
from cranfield.building.merging.merging_registry import merging_method
from cranfield.building.merging.models.dawid_skene import CLASSES, STEPS
from cranfield.types import Array

PASSES = 5
"""The largest number of Newton steps for abilities, and for difficulties, within a step."""
SETTLED = 1e-4
"""Newton steps end if no parameter moves further than this."""


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
        """Newton steps for all abilities, then for all difficulties, in turns; the expected likelihood never falls."""
        problem = self.problem
        self.classes.update(posterior)
        right = problem.right(posterior)

        def parts(ability: Array, log_ease: Array) -> tuple[Array, Array, Array]:
            """For each label: the strength α β, the expected log-likelihood, and its derivative by the strength."""
            strength = ability[problem.worker] * np.exp(log_ease)[problem.item]
            rest = softplus(-strength)  # -log σ(strength)
            return strength, (right - 1) * strength - rest, right - np.exp(-rest)

        def of_workers(ability: Array) -> Array:
            """The expected log-likelihood of each assessor, with the prior."""
            terms = parts(ability, self.log_ease)[1]
            return summed(problem.worker, terms, problem.workers) - 0.5 * (ability - 1) ** 2

        def of_items(log_ease: Array) -> Array:
            terms = parts(self.ability, log_ease)[1]
            return summed(problem.item, terms, problem.items) - 0.5 * (log_ease - 1) ** 2

        for _ in range(PASSES):
            before = self.ability, self.log_ease
            _, terms, slope = parts(*before)
            chance = right - slope
            ease = np.exp(self.log_ease)[problem.item]
            rise = summed(problem.worker, slope * ease, problem.workers) - (self.ability - 1)
            bend = summed(problem.worker, chance * (1 - chance) * ease**2, problem.workers) + 1
            now = summed(problem.worker, terms, problem.workers) - 0.5 * (self.ability - 1) ** 2
            self.ability, _ = uphill(of_workers, self.ability, rise / bend, now)
            strength, terms, slope = parts(self.ability, self.log_ease)
            chance = right - slope
            rise = summed(problem.item, slope * strength, problem.items) - (self.log_ease - 1)
            bend = summed(problem.item, chance * (1 - chance) * strength**2, problem.items) + 1
            now = summed(problem.item, terms, problem.items) - 0.5 * (self.log_ease - 1) ** 2
            self.log_ease, _ = uphill(of_items, self.log_ease, rise / bend, now)
            moved = max(np.abs(self.ability - before[0]).max(), np.abs(self.log_ease - before[1]).max())
            if moved < SETTLED:
                break


@merging_method("glad", source="Whitehill, Ruvolo, Wu, Bergsma & Movellan, NIPS 2009", settings=(*STEPS, *CLASSES))
def glad(problem: Problem) -> Fit:
    r"""Assessors have abilities and items have difficulties, which are estimated together with the true labels.

    .. math:: P(y_{iw} = \text{true label of } i) = \sigma(\alpha_w \beta_i), \qquad
              \alpha_w \sim N(1, 1), \quad \log \beta_i \sim N(1, 1)

    A negative ability is that of an assessor who gives wrong labels on purpose; 1/β is the difficulty of the item.
    Wrong labels are equally probable, and classes are equally probable by default. The first probabilities are those
    of equal abilities and difficulties, which order labels as the votes do. The parameters of a step are found
    by Newton's method, abilities and difficulties in turns.
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
    return np.asarray(np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values))))
