"""MACE: an assessor either knows the true label, or guesses by a habit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.building.merging.em import ClassShares, expectation_maximisation, log, weighted_log
from cranfield.building.merging.label_problem import Fit, Problem, merging_method, summed
from cranfield.building.merging.models.dawid_skene import CLASSES, STEPS
from cranfield.notes import method_note
from cranfield.text import counted
from cranfield.types import Array

HABIT = 10.0
"""Under variational Bayes: imaginary guesses of each label, which keep habits close to uniform (Hovy et al. 2013)."""
SMOOTHING = 0.01
"""Under maximum likelihood: imaginary labels that are shared among the cells of a distribution (Hovy et al. 2013)."""


class Habit:
    """With probability `knowing` the label is the true one, else it is drawn from `habit`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "uniform")
        self.variational = problem.settings["inference"] == "vb"
        small = SMOOTHING / problem.classes
        right, wrong = problem.settings["assessor_prior"] or ((0.5, 0.5) if self.variational else (small, small))
        self.knowing_prior = np.array([right, wrong])
        self.habit_prior = HABIT if self.variational else small
        self.knowing = np.full(problem.workers, 0.5)
        self.guessing = np.full(problem.workers, 0.5)
        self.habit = np.full((problem.workers, problem.classes), 1 / problem.classes)
        self.cell = problem.worker * problem.classes + problem.label
        """The cell of each label in a flat table of assessors × classes."""
        self._bound: tuple[Array, Array, Array] | None = None

    def scores(self) -> Array:
        guess = self.guessing[:, None] * self.habit
        right, wrong = log(guess + self.knowing[:, None]), log(guess)
        return self.classes.log() + self.problem.coin_scores(right.ravel()[self.cell], wrong.ravel()[self.cell])

    def update(self, posterior: Array) -> None:
        problem, cell = self.problem, self.cell
        self.classes.update(posterior)
        total = self.guessing[:, None] * self.habit + self.knowing[:, None]
        # The probability that a label is known, given that it is the true one.
        known = np.divide(self.knowing[:, None], total, out=np.zeros_like(total), where=total > 0)
        knew = problem.right(posterior) * known.ravel()[cell]
        guessed = 1 - knew
        habit = summed(cell, guessed, self.habit.size).reshape(self.habit.shape) + self.habit_prior
        knowing = summed(problem.worker, knew, problem.workers) + self.knowing_prior[0]
        guessing = summed(problem.worker, guessed, problem.workers) + self.knowing_prior[1]
        if self.variational:
            from scipy.special import digamma

            each = digamma(knowing + guessing)
            self.knowing, self.guessing = np.exp(digamma(knowing) - each), np.exp(digamma(guessing) - each)
            self.habit = np.exp(digamma(habit) - digamma(habit.sum(axis=1, keepdims=True)))
            self._bound = (knowing, guessing, habit)
        else:
            both = knowing + guessing
            self.knowing = np.divide(knowing, both, out=np.full_like(both, 0.5), where=both > 0)
            self.guessing = 1 - self.knowing
            self.habit = habit / habit.sum(axis=1, keepdims=True)

    def penalty(self) -> float:
        """The log-density of the priors; under variational Bayes what makes the bound of the evidence complete."""
        if not self.variational:
            right, wrong = self.knowing_prior
            terms = weighted_log(right, self.knowing) + weighted_log(wrong, self.guessing)
            return self.classes.penalty() + terms + weighted_log(self.habit_prior, self.habit)
        assert self._bound is not None
        knowing, guessing, habit = self._bound
        coin = _divergence(np.stack([knowing, guessing], axis=1).astype(np.float64), self.knowing_prior)
        return self.classes.penalty() - coin - _divergence(habit, np.full(self.problem.classes, self.habit_prior))

    def shake(self, rng: np.random.Generator) -> None:
        """A random start: probabilities are uniform numbers between 1 and 2.5, scaled to sum 1 (Hovy et al. 2013)."""
        coin = rng.uniform(1, 2.5, (2, self.problem.workers))
        self.knowing, self.guessing = coin / coin.sum(axis=0)
        habit = rng.uniform(1, 2.5, self.habit.shape)
        self.habit = habit / habit.sum(axis=1, keepdims=True)


def _divergence(counts: Array, prior: Array) -> float:
    """The Kullback-Leibler divergence of Dirichlet distributions with parameters `counts` (rows) from the prior."""
    from scipy.special import digamma, gammaln

    total = counts.sum(axis=1)
    terms = gammaln(total) - gammaln(counts).sum(axis=1) - gammaln(prior.sum()) + gammaln(prior).sum()
    terms += ((counts - prior) * (digamma(counts) - digamma(total)[:, None])).sum(axis=1)
    return float(terms.sum())


@merging_method(
    "mace", source="Hovy, Berg-Kirkpatrick, Vaswani & Hovy, NAACL 2013",
    settings=(*STEPS, *CLASSES, "assessor_prior", "inference", "restarts"),
)  # fmt: skip
def mace(problem: Problem) -> Fit:
    r"""An assessor knows the true label with some probability, and otherwise guesses by a habit.

    .. math:: P(y_{iw} = l \mid k) = \theta_w [l = k] + (1 - \theta_w)\, \xi_{wl}

    `inference="vb"`, the default, is variational Bayes with the priors Beta(½, ½) on θ (or `assessor_prior`) and
    Dirichlet(10) on ξ; `inference="em"` is maximum likelihood with 0.01 imaginary labels. The first step starts from
    θ = ½ and uniform habits, which order labels as the votes do. `restarts` adds random starts, by `seed`; the result
    with the highest likelihood is kept. Classes are equally probable by default.
    Reference: Hovy, Berg-Kirkpatrick, Vaswani & Hovy, Learning Whom to Trust with MACE, NAACL-HLT 2013

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "111", "t2": "001", "t3": "111", "t4": "001"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> knowing = merge(rows, "mace").worker_values["knowing"]  # c always says 1
    >>> bool(knowing[0] > 2 * knowing[2])
    True
    """
    best_model = Habit(problem)
    best = _fitted(problem, best_model, problem.first is None)
    rng = np.random.default_rng(problem.settings["seed"])
    for _ in range(problem.settings["restarts"]):
        model = Habit(problem)
        model.shake(rng)
        fit = _fitted(problem, model, True)
        if fit.trace[-1] > best.trace[-1]:
            best, best_model = fit, model
    restarts = problem.settings["restarts"]
    how = f"MACE by {'variational Bayes' if best_model.variational else 'maximum likelihood'}"
    if restarts:
        starts = f"{counted(restarts, 'random start')} in addition to the one from the votes"
        how += f"; {starts}, seed {problem.settings['seed']}"
    both = best_model.knowing + best_model.guessing
    return replace(best, worker_values={"knowing": best_model.knowing / both}, notes=(method_note(how),))


def _fitted(problem: Problem, model: Habit, from_model: bool) -> Fit:
    first = problem.normalised(model.scores())[0] if from_model else None
    return expectation_maximisation(problem, model, first)
