"""The binomial majority vote: a label is the number of successes of a binomial variable."""

from __future__ import annotations

import numpy as np

from cranfield.building.merging.label_problem import Fit, Problem
from cranfield.building.merging.merging_registry import merging_method
from cranfield.text import counted
from cranfield.types import Array

USUAL = 0.05
"""The level at which notes count significant majorities."""


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
