"""FA*IR's ranked group fairness test: are there enough members of a protected group in every prefix of a ranking?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.fairness.attention import Groups, rankings_of, scores_of_lists
from cranfield.scores.scores import Scores
from cranfield.types import Array

LONGEST = 2000
"""The largest number of documents of a ranking: time and memory grow with its square."""
ROUNDING = 1e-12
"""Probabilities that differ relatively by less than this are equal."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankedGroupFairness:
    """The test of one ranking."""

    fair: bool
    """Whether every prefix has enough members at level `alpha`."""
    p_value: float
    """The smallest level at which the ranking fails, exactly, for all prefixes together."""
    first_failure: int | None
    """The first rank down to which there are too few members; None if the ranking is fair."""
    proportion: float
    alpha: float
    corrected_alpha: float
    """The level of each single prefix, so that a fair ranking fails with probability `alpha` at most."""
    members_above: tuple[int, ...]
    """The number of members down to each rank."""
    least: tuple[int, ...]
    """The number of members that are needed down to each rank."""


def fair_ranking(
    protected: Any, proportion: float, *, alpha: float = 0.1, corrected: bool = True
) -> RankedGroupFairness:
    r"""Test whether a ranking has enough members of a protected group in every prefix.

    protected: for each document, from the top, whether it is a member.
    proportion: the least share of the group in a fair ranking.
    corrected: correct for the tests of all prefixes together; otherwise each prefix is tested at level `alpha`.

    In a fair ranking, each document is a member with probability p, independently. With :math:`\tau_i` members among
    the first i, a prefix fails if the binomial probability of so few is small:

    .. math:: F(\tau_i; i, p) \le \alpha_c

    A ranking fails if a prefix does. :math:`\alpha_c` is the largest level with which a fair ranking fails with
    probability `alpha` at most; this probability is computed exactly, not simulated. The p-value is the probability
    that the smallest :math:`F(\tau_i; i, p)` of a fair ranking is as small as here.

    Reference: Zehlike, Bonchi, Castillo, Hajian, Megahed & Baeza-Yates, FA*IR: A Fair Top-k Ranking Algorithm, CIKM
    2017, doi:10.1145/3132847.3132938

    >>> result = fair_ranking([0, 0, 0, 0, 1, 0], 0.5, corrected=False)
    >>> result.fair, result.first_failure, result.least
    (False, 4, (0, 0, 0, 1, 1, 1))
    >>> fair_ranking([0, 0, 0, 0, 1, 0], 0.5).p_value  # no member among the first four
    0.0625
    """
    members = np.asarray(protected)
    if members.ndim != 1 or not len(members) or not np.isin(members, (0, 1)).all():
        raise UsageError("FA*IR: a ranking must be a list of 0 and 1, or False and True, one for each document")
    _check(len(members), proportion, alpha)
    members_above = np.cumsum(members.astype(np.int64))
    chance = _chances(len(members), float(proportion))[np.arange(len(members)), members_above]
    level = corrected_alpha(len(members), proportion, alpha) if corrected else float(alpha)
    least = least_members(len(members), proportion, level)
    too_few = np.flatnonzero(members_above < least)
    return RankedGroupFairness(
        fair=not len(too_few),
        p_value=failure_probability(least_members(len(members), proportion, float(chance.min())), proportion),
        first_failure=int(too_few[0]) + 1 if len(too_few) else None,
        proportion=float(proportion),
        alpha=float(alpha),
        corrected_alpha=level,
        members_above=tuple(members_above.tolist()),
        least=tuple(least.tolist()),
    )


def ranked_group_fairness(
    rankings: Any, groups: Any, protected: str, *, proportion: float, alpha: float = 0.1, name: str = "run"
) -> Scores:
    """FA*IR's test of every topic: `fair` is 1 if the ranking passes at level `alpha`, else 0; `fair_p` is the p-value.

    Several rankings of a topic are averaged. Undefined if nothing is retrieved. `fair_ranking` has the formula.

    >>> groups = {"a": "p", "b": "other", "c": "other", "d": "other", "e": "other"}
    >>> ranked_group_fairness({"q": [["b", "c", "d", "e", "a"]]}, groups, "p", proportion=0.5).mean()["run"]
    {'fair': 0.0, 'fair_p': 0.0625}
    """
    shown, table = rankings_of(rankings), Groups.of(groups)
    column = table.column(protected)

    def tested(docs: list[str]) -> tuple[float, float]:
        share = table.of_documents(docs)[:, column]
        if not np.isin(share, (0.0, 1.0)).all():
            doc = docs[int(np.flatnonzero(~np.isin(share, (0.0, 1.0)))[0])]
            raise UsageError(f"FA*IR: document {doc!r} belongs to several groups; give each document one group")
        test = fair_ranking(share, proportion, alpha=alpha)
        return test.fair, test.p_value

    retrieved = {topic: [docs for docs in lists if docs] for topic, lists in shown.items()}
    return scores_of_lists(("fair", "fair_p"), name, retrieved, tested)


def least_members(k: int, proportion: float, alpha: float) -> Counts:
    """For each prefix of a ranking of `k` documents, the smallest number of members with F(number; i, p) above `alpha`.

    >>> least_members(12, 0.5, 0.1).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4]
    """
    _check(k, proportion, alpha)
    return np.asarray((_chances(k, float(proportion)) <= alpha * (1 + ROUNDING)).sum(axis=1), dtype=np.int64)


def failure_probability(least: Any, proportion: float) -> float:
    """The probability that a fair ranking has fewer members than `least` in some prefix, exactly.

    >>> failure_probability([0, 0, 0, 1], 0.5)  # none of four
    0.0625
    """
    passing = np.zeros(len(least) + 1)  # by the number of members so far, the probability of no failure yet
    passing[0] = 1.0
    failed = 0.0
    for i, needed in enumerate(np.asarray(least).tolist(), 1):
        passing[1 : i + 1] = passing[1 : i + 1] * (1.0 - proportion) + passing[:i] * proportion
        passing[0] *= 1.0 - proportion
        failed += float(passing[:needed].sum())
        passing[:needed] = 0.0
    return min(failed, 1.0)


@lru_cache(maxsize=64)
def corrected_alpha(k: int, proportion: float, alpha: float = 0.1) -> float:
    """The largest level of each prefix with which a fair ranking fails with probability `alpha` at most.

    `k` is the number of documents. Levels that matter are the values of F; 0 if even the smallest of them is too large.

    >>> corrected_alpha(1, 0.5, 0.1)  # one document without a member has probability 1/2
    0.0
    >>> corrected_alpha(4, 0.5, 0.1)  # none of four
    0.0625
    """
    _check(k, proportion, alpha)
    chances = _chances(k, float(proportion))
    levels = np.unique(chances[(chances <= alpha) & (chances > 0)])
    low, high = 0, len(levels)  # levels[:low] are small enough, levels[high:] too large
    while low < high:
        middle = (low + high) // 2
        if failure_probability(least_members(k, proportion, float(levels[middle])), proportion) <= alpha:
            low = middle + 1
        else:
            high = middle
    return float(levels[low - 1]) if low else 0.0


@lru_cache(maxsize=8)
def _chances(k: int, proportion: float) -> Array:
    """F(m; i, p) for each prefix i (row) and number of members m (column); 1 where m is i or more."""
    from scipy.special import bdtr

    size, members = np.arange(1, k + 1)[:, None], np.arange(k + 1)[None, :]
    return np.asarray(np.where(members >= size, 1.0, bdtr(np.minimum(members, size), size, proportion)))


def _check(k: int, proportion: float, alpha: float) -> None:
    check.whole("FA*IR", k=k)
    if k > LONGEST:
        raise UsageError(f"FA*IR: {k} documents, must be {LONGEST} at most; cut the ranking")
    for name, value in (("proportion", proportion), ("alpha", alpha)):
        check.finite("FA*IR", **{name: value})
        check.between("FA*IR", low=0, high=1, **{name: value})
