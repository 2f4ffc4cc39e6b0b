"""Votes: every assessor has one vote, a vote with a weight, or several successes of a binomial variable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.building.merging.label_problem import Fit, Problem, merging_method, summed
from cranfield.notes import method_note
from cranfield.text import counted
from cranfield.types import Array

USUAL = 0.05
"""The level at which notes count significant majorities."""

LEAST = 0.01
"""Accuracies are kept this far from 0 and 1, so that no vote has an infinite weight."""


@merging_method("majority", source="Sheng, Provost & Ipeirotis, KDD 2008", aliases=("mv", "majority-vote", "vote"))
def majority(problem: Problem) -> Fit:
    r"""The label with most votes wins.

    .. math:: p_i(k) = n_{ik} / n_i

    The probability of a label is its share of the votes of the item.
    Reference: Sheng, Provost & Ipeirotis, Get Another Label? Improving Data Quality and Data Mining Using Multiple,
    Noisy Labelers, KDD 2008, doi:10.1145/1401890.1401965

    >>> from cranfield.building.merging import merge
    >>> merge([("t", "ann", 0), ("t", "ben", 1), ("t", "cy", 1)], "majority").posterior.round(2).tolist()
    [[0.33, 0.67]]
    """
    return Fit(problem.shares)


@merging_method(
    "weighted", source="Nitzan & Paroush, International Economic Review 1982", aliases=("weighted-majority", "wmv"),
    settings=("weight", "assessor_prior"),
)  # fmt: skip
def weighted(problem: Problem) -> Fit:
    r"""The label with the largest sum of weights wins; an assessor's weight follows from the accuracy.

    The accuracy of an assessor is measured on gold items, or by agreement with the majority vote for assessors without
    gold items. With `weight="log-odds"`, the default, the sum of weights is the best decision for independent
    assessors with these accuracies, and the probabilities are those of Bayes' rule:

    .. math:: p_i(k) \propto \prod_{w: y_{iw} = k} \frac{(K - 1)\, a_w}{1 - a_w}

    With `weight="accuracy"`, the weight is the accuracy, and the probability of a label is its share of weights.
    `assessor_prior` = (right, wrong) adds imaginary labels: a = (right labels + right) / (labels + right + wrong), by
    default (2, 1). Log-odds use accuracies between 0.01 and 0.99.
    Reference: Nitzan & Paroush, Optimal Decision Rules in Uncertain Dichotomous Choice Situations, International
    Economic Review 23(2), 1982

    >>> from cranfield.building.merging import merge
    >>> rows = [("g", "ann", 1), ("g", "ben", 0), ("t", "ann", 1), ("t", "ben", 0)]
    >>> merged = merge(rows, "weighted", gold={"g": 1}, weight="accuracy")
    >>> merged.worker_values["weight"].tolist(), merged.posterior.round(2)[1].tolist()  # 3/4 and 2/4
    ([0.75, 0.5], [0.4, 0.6])
    """
    settings = problem.settings
    accuracy, gold_assessors = measured_accuracy(problem, settings["assessor_prior"] or (2.0, 1.0))
    if settings["weight"] == "accuracy":
        weight = accuracy
    else:
        kept = np.clip(accuracy, LEAST, 1 - LEAST)
        weight = np.log((problem.classes - 1) * kept / (1 - kept))
    flat = summed(problem.cell, weight[problem.worker], problem.votes.size)
    sums = flat.reshape(problem.votes.shape)
    if settings["weight"] == "accuracy":
        total = sums.sum(axis=1, keepdims=True)
        posterior = np.divide(sums, total, out=problem.shares.copy(), where=total > 0)
    else:
        posterior, _ = problem.normalised(sums)
    source = "agreement with the majority vote"
    if gold_assessors:
        rest = int((problem.of_worker > 0).sum()) - gold_assessors
        source = "gold labels" + (f", for {counted(rest, 'assessor')} without gold from {source}" if rest else "")
    return Fit(
        problem.with_gold(posterior),
        worker_values={"weight": weight, "measured accuracy": accuracy},
        notes=(method_note(f"weights: {settings['weight']}, accuracy from {source}"),),
    )


def measured_accuracy(problem: Problem, prior: Sequence[float]) -> tuple[Array, int]:
    """The accuracy of each assessor on gold items, else against the votes; and how many assessors have gold items.

    On an item with several most frequent labels, a label that is one of m of them counts 1/m.
    """
    right, wrong = prior
    on_gold = problem.gold[problem.item] >= 0
    gold_count = np.bincount(problem.worker[on_gold], minlength=problem.workers)
    is_right = (problem.gold[problem.item] == problem.label)[on_gold]
    gold_right = summed(problem.worker[on_gold], is_right.astype(np.float64), problem.workers)
    top = problem.votes >= problem.votes.max(axis=1, keepdims=True)
    credit = (top / top.sum(axis=1, keepdims=True)).ravel()[problem.cell]
    vote_right = summed(problem.worker, credit, problem.workers)
    has_gold = gold_count > 0
    agreed = np.where(has_gold, gold_right, vote_right)
    total = np.where(has_gold, gold_count, problem.of_worker) + right + wrong
    neutral = np.full(problem.workers, 1 / problem.classes)
    return np.divide(agreed + right, total, out=neutral, where=total > 0), int(has_gold.sum())


@merging_method(
    "bmv", source="Ferrante, Ferro & Losiouk, ECIR 2019", aliases=("binomial", "binomial-majority-vote"), ordered=True,
    settings=("alpha",),
)  # fmt: skip
def binomial_majority_vote(problem: Problem) -> Fit:
    r"""The relevance of an item is the success probability of a binomial variable, estimated from its labels.

    A label at position j of a scale of K labels (from 0) is j successes in K - 1 trials:

    .. math:: \hat p_i = \frac{\sum_w y_{iw}}{n_i (K - 1)}, \qquad
              p_i(k) = \binom{K - 1}{k} \hat p_i^k (1 - \hat p_i)^{K - 1 - k}

    With two labels this is the majority vote. With more, the expected grade is the mean label (if the scale has equal
    steps), and labels that lie close together support each other: of 0, 2, 2, 3, 3 the merged label is 2. The two-sided
    exact binomial test of p = ½ says whether the majority for one half of the scale is more than chance; with `alpha`,
    items on which it is not significant stay undecided. The papers define the view of a label as a binomial variable;
    the reading of grades as counts of successes and the test are decisions of this package.
    Reference: Ferrante, Ferro & Losiouk, Stochastic Relevance for Crowdsourcing, ECIR 2019

    >>> from cranfield.building.assessor_labels import Labels
    >>> from cranfield.building.merging import merge
    >>> rows = [("t", worker, grade) for worker, grade in zip("abcde", [0, 2, 2, 3, 3])]
    >>> merged = merge(Labels.of(rows, scale=[0, 1, 2, 3]), "bmv")
    >>> merged.label.tolist(), merged.expected.round(2).tolist()
    ([2], [2.0])
    """
    from scipy.special import bdtr, comb

    trials = problem.classes - 1
    n = problem.votes.sum(axis=1)
    successes = problem.votes @ np.arange(problem.classes)
    share = np.divide(successes, n * trials, out=np.full(problem.items, 0.5), where=n > 0)
    grades, p_share = np.arange(problem.classes), share[:, None]
    posterior = problem.with_gold(comb(trials, grades) * p_share**grades * (1 - p_share) ** (trials - grades))
    fewer = np.minimum(successes, n * trials - successes)
    tail: Array = bdtr(fewer, (n * trials).astype(np.int64), 0.5)
    p = np.minimum(2 * tail, 1.0)
    level = problem.settings["alpha"]
    significant = int((p < (level or USUAL)).sum())
    note = f"{counted(significant, 'item has', 'items have')} a significant majority at {level or USUAL:g}"
    return Fit(
        posterior,
        item_values={"share": share, "p": p},
        undecided=None if level is None else p >= level,
        notes=(f"{note} (exact binomial test for one half of the scale)",),
    )
