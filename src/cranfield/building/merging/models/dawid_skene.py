"""Dawid and Skene's model, where every assessor has a table of confusion, and that with one accuracy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.building.merging.em import ClassShares, expectation_maximisation, log, weighted_log
from cranfield.building.merging.label_problem import Fit, Problem, merging_method, summed
from cranfield.types import Array

STEPS = ("steps", "tolerance")
CLASSES = ("class_prior", "class_counts")


class Confusion:
    """A table of confusion for each assessor: the probability of each given label for each true one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "estimated")
        right, wrong = problem.settings["assessor_prior"] or (0.0, 0.0)
        self.prior = np.where(np.eye(problem.classes, dtype=bool), right, wrong)
        self.table = np.empty((problem.workers, problem.classes, problem.classes))

    def update(self, posterior: Array) -> None:
        self.classes.update(posterior)
        counts = self.problem.confusion_counts(posterior) + self.prior
        total = counts.sum(axis=2, keepdims=True)
        # A class that none of the assessor's items has: any row is as likely as another.
        self.table = np.divide(counts, total, out=np.full_like(counts, 1 / counts.shape[2]), where=total > 0)

    def scores(self) -> Array:
        return self.classes.log() + self.problem.confusion_scores(log(self.table))

    def penalty(self) -> float:
        return self.classes.penalty() + weighted_log(self.prior, self.table)


@merging_method(
    "dawid-skene", source="Dawid & Skene, Applied Statistics 1979", aliases=("ds",),
    settings=(*STEPS, *CLASSES, "assessor_prior"),
)  # fmt: skip
def dawid_skene(problem: Problem) -> Fit:
    r"""Every assessor has a table of confusion, which is estimated together with the true labels.

    .. math:: p_i(k) \propto p_k \prod_w \pi^{(w)}_{k\, y_{iw}}, \qquad
              \pi^{(w)}_{kl} = \frac{\sum_i p_i(k) [y_{iw} = l]}{\sum_i p_i(k) [w \text{ labels } i]}, \qquad
              p_k = \frac{1}{n} \sum_i p_i(k)

    The equations are applied in turn, from the shares of votes, until the likelihood no longer rises. Another start
    may end in another optimum. `assessor_prior` = (right, wrong) adds imaginary labels to the diagonal and to every
    other cell of a table (a Dirichlet prior); by default (0, 0), maximum likelihood. An assessor with few labels needs
    it.
    Reference: Dawid & Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Applied
    Statistics 28(1), 1979, doi:10.2307/2346806

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "110", "t2": "001", "t3": "111", "t4": "000"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> merged = merge(rows, "dawid-skene")
    >>> merged.label.tolist(), merged.accuracy.round(3).tolist()
    ([1, 0, 1, 0], [1.0, 1.0, 0.5])
    """
    return expectation_maximisation(problem, Confusion(problem))


class Coin:
    """One accuracy for each assessor; wrong labels are equally probable."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.classes = ClassShares(problem, "estimated")
        self.prior = problem.settings["assessor_prior"] or (0.0, 0.0)
        self.accuracy = np.full(problem.workers, 0.5)

    def update(self, posterior: Array) -> None:
        self.classes.update(posterior)
        right, wrong = self.prior
        agreed = summed(self.problem.worker, self.problem.right(posterior), self.problem.workers) + right
        total = self.problem.of_worker + right + wrong
        # Rounding may lift a sum of probabilities above the number of labels.
        self.accuracy = np.minimum(np.divide(agreed, total, out=np.full(total.shape, 0.5), where=total > 0), 1.0)

    def scores(self) -> Array:
        right = log(self.accuracy)
        wrong = log((1 - self.accuracy) / (self.problem.classes - 1))
        # An accuracy of 0 or 1 leaves one label; the difference of two infinities would be undefined.
        right, wrong = np.maximum(right, -1e6), np.maximum(wrong, -1e6)
        worker = self.problem.worker
        return self.classes.log() + self.problem.coin_scores(right[worker], wrong[worker])

    def penalty(self) -> float:
        right, wrong = self.prior
        terms = 0.0
        if right:
            terms += right * float(np.log(self.accuracy).sum())
        if wrong:
            terms += wrong * float(np.log1p(-self.accuracy).sum())
        return self.classes.penalty() + terms


@merging_method(
    "one-coin", source="Zhang, Chen, Zhou & Jordan, JMLR 2016", aliases=("one-coin-dawid-skene", "onecoin"),
    settings=(*STEPS, *CLASSES, "assessor_prior"),
)  # fmt: skip
def one_coin(problem: Problem) -> Fit:
    r"""Every assessor has one accuracy, which is estimated together with the true labels.

    .. math:: p_i(k) \propto p_k \prod_w a_w^{[y_{iw} = k]} \left(\frac{1 - a_w}{K - 1}\right)^{[y_{iw} \ne k]},
              \qquad a_w = \frac{1}{n_w} \sum_i p_i(y_{iw})

    It needs fewer labels per assessor than a table of confusion, but it fails where assessors confuse some labels more
    than others: it can be worse than voting.
    `assessor_prior` = (right, wrong) adds imaginary labels of each assessor; by default (0, 0).
    Reference: Zhang, Chen, Zhou & Jordan, Spectral Methods Meet EM: A Provably Optimal Algorithm for Crowdsourcing,
    JMLR 17(102), 2016

    >>> from cranfield.building.merging import merge
    >>> rows = [(t, w, y) for t, ys in {"t1": "110", "t2": "001", "t3": "111", "t4": "000"}.items()
    ...         for w, y in zip("abc", ys)]
    >>> merge(rows, "one-coin").worker_values["accuracy"].round(3).tolist()
    [1.0, 1.0, 0.5]
    """
    model = Coin(problem)
    fit = expectation_maximisation(problem, model)
    return replace(fit, worker_values={"accuracy": model.accuracy})
