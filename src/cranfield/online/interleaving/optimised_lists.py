"""Optimised interleaving: all lists that are allowed, and the probabilities at which random clicks favour nobody."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.types import Array

Lists = tuple[tuple[Any, ...], ...]
_SMALL = 1e-9
"""Biases below this are rounding errors of the linear programme."""


@dataclass(frozen=True, eq=False)
class ListPolicy:
    """The lists that may be shown, and with which probability each is."""

    lists: Lists
    worth: Array
    """lists × places × systems: what a click adds."""
    probability: Array
    bias: float
    """The largest expected advantage of a system over another at any place, if clicks are at random; 0 if unbiased."""
    complete: bool
    """Whether all lists that are allowed were considered, or a sample."""

    def chosen(self, uniform: float) -> int:
        """The list at a random number between 0 and 1."""
        return min(int(np.searchsorted(np.cumsum(self.probability), uniform, side="right")), len(self.lists) - 1)


def allowed_lists(rankings: Sequence[Sequence[Any]], length: int, most: int) -> tuple[Lists, bool]:
    """All lists in which every document is the best of some system that is not above it; and whether these are all.

    Then the first k documents are always the union of the first documents of the systems (Radlinski & Craswell's
    condition). If there are more than `most`, a sample: lists in which a system is drawn at each place.

    >>> allowed_lists([["a", "b"], ["b", "c"]], 2, 100)
    ((('a', 'b'), ('b', 'a'), ('b', 'c')), True)
    """
    made: list[tuple[Any, ...]] = []
    for documents in _extended((), rankings, length):
        if len(made) == most:
            return _sampled(rankings, length, most), False
        made.append(documents)
    return tuple(made), True


def _best(begun: tuple[Any, ...], ranking: Sequence[Any]) -> list[Any]:
    """The best document of a system that is not taken, or nothing."""
    return next(([doc] for doc in ranking if doc not in begun), [])


def _extended(begun: tuple[Any, ...], rankings: Sequence[Sequence[Any]], length: int) -> Iterator[tuple[Any, ...]]:
    nexts = [] if len(begun) == length else dict.fromkeys(doc for ranking in rankings for doc in _best(begun, ranking))
    if not nexts:
        yield begun
    for doc in nexts:
        yield from _extended((*begun, doc), rankings, length)


def _sampled(rankings: Sequence[Sequence[Any]], length: int, most: int) -> Lists:
    """Different lists by drawing systems; the same for the same rankings."""
    generator = random.Random(0)
    made: dict[tuple[Any, ...], None] = {}
    for _ in range(4 * most):
        begun: tuple[Any, ...] = ()
        while len(begun) < length:
            nexts = [doc for ranking in rankings for doc in _best(begun, ranking)]
            if not nexts:
                break
            begun = (*begun, generator.choice(nexts))
        made[begun] = None
        if len(made) == most:
            break
    return tuple(made)


def place_worth(rankings: Sequence[Sequence[Any]], lists: Lists, credit: str) -> Array:
    r"""lists × places × systems: what a click adds to each system.

    | credit | worth of document d to system s |
    |---|---|
    | `linear` | n + 1 − rank, where n is the length of the longest list |
    | `inverse` | 1 / rank |
    | `binary` | 1 for the system with the smallest rank, shared if there are several |

    The rank of a document that a system does not return is the length of its list plus 1.

    >>> place_worth([["a", "b"], ["b", "c"]], (("a", "b"),), "linear").tolist()
    [[[2.0, 0.0], [1.0, 2.0]]]
    """
    number = {doc: n for n, doc in enumerate(dict.fromkeys(doc for ranking in rankings for doc in ranking))}
    rank = np.array([[len(ranking) + 1.0] * len(number) for ranking in rankings])
    for system, ranking in enumerate(rankings):
        rank[system, [number[doc] for doc in ranking]] = np.arange(1.0, len(ranking) + 1)
    if credit == "linear":
        worth = max(map(len, rankings)) + 1 - rank
    elif credit == "inverse":
        worth = 1 / rank
    else:
        best = rank == rank.min(axis=0)
        worth = best / best.sum(axis=0)
    return np.asarray(worth.T[np.array([[number[doc] for doc in documents] for documents in lists], dtype=np.int64)])


def solve(lists: Lists, worth: Array, complete: bool, bias_weight: float | None = None) -> ListPolicy:
    r"""The probabilities of the lists, by a linear programme.

    .. math:: \min_p \sum_L p_L \sigma_L^2 \quad \text{such that} \quad
        \sum_L p_L \sum_{i \le k} (\delta_i(L, s) - \delta_i(L, t)) = 0 \text{ for all } k, s, t

    σ²_L is the variance between systems of the credit Σ_i δ_i / i that clicks with probability 1/i would bring on list
    L: lists on which no system has an advantage tell more. If no probabilities satisfy the conditions, the sum over k
    of the largest bias λ_k is made as small as possible first. With `bias_weight` α, the objective is
    α Σ_k λ_k + Σ_L p_L σ²_L instead.

    References: Radlinski & Craswell, WSDM 2013; Schuth et al., CIKM 2014 (variance); Manabe et al., SIGIR 2017 (λ)
    """
    from scipy.optimize import linprog

    n, places, systems = worth.shape
    if n == 1 or places == 0:
        return _policy(lists, worth, np.full(n, 1 / n), complete)
    expected = np.einsum("lps,p->ls", worth, 1 / np.arange(1.0, places + 1))
    variance = expected.var(axis=1) * systems
    sums = np.cumsum(worth, axis=1)
    against_first = (sums[:, :, 1:] - sums[:, :, :1]).reshape(n, -1).T
    if bias_weight is None:
        exact = linprog(
            variance, A_eq=np.vstack([np.ones(n), against_first]), b_eq=np.eye(1, 1 + len(against_first))[0],
            method="highs",
        )  # fmt: skip
        if exact.status == 0:
            return _policy(lists, worth, exact.x, complete)
    first, second = np.triu_indices(systems, 1)
    gaps = (sums[:, :, first] - sums[:, :, second]).transpose(1, 2, 0)  # places × pairs × lists
    bound = np.repeat(np.eye(places), len(first), axis=0)
    flat = gaps.reshape(-1, n)
    limits = np.vstack([np.hstack([flat, -bound]), np.hstack([-flat, -bound])])
    total = np.concatenate([np.ones(n), np.zeros(places)])[None, :]

    def programme(of_lists: Array, of_bias: float, most_bias: float | None = None) -> Any:
        more = [] if most_bias is None else [np.concatenate([np.zeros(n), np.ones(places)])]
        result = linprog(
            np.concatenate([of_lists, np.full(places, of_bias)]), A_ub=np.vstack([limits, *more]),
            b_ub=np.concatenate([np.zeros(len(limits)), [most_bias] if more else []]), A_eq=total, b_eq=[1.0],
            method="highs",
        )  # fmt: skip
        if result.status != 0:
            raise UsageError(f"the linear programme of optimised interleaving has no solution: {result.message}")
        return result

    if bias_weight is not None:
        return _policy(lists, worth, programme(variance, bias_weight).x[:n], complete)
    least = programme(np.zeros(n), 1.0).fun
    return _policy(lists, worth, programme(variance, 0.0, least * (1 + 1e-9) + 1e-12).x[:n], complete)


def _policy(lists: Lists, worth: Array, probability: Array, complete: bool) -> ListPolicy:
    probability = np.maximum(probability, 0)
    probability = probability / probability.sum()
    mean = np.einsum("l,lps->ps", probability, worth)
    bias = float((mean.max(axis=1) - mean.min(axis=1)).max(initial=0.0))
    return ListPolicy(lists, worth, probability, bias if bias > _SMALL else 0.0, complete)


def filled(documents: Sequence[Any], rankings: Sequence[Sequence[Any]], length: int) -> list[Any]:
    """The list with more documents, up to the length of the page: the systems take turns.

    >>> filled(["a", "b"], [["a"], ["b", "c", "d"]], 3)
    ['a', 'b', 'c']
    """
    page = list(documents)
    while len(page) < length:
        before = len(page)
        for ranking in rankings:
            page += _best(tuple(page), ranking)[: length - len(page)]
        if len(page) == before:
            break
    return page


@lru_cache(maxsize=4096)
def list_policy(rankings: Lists, length: int, credit: str, samples: int, bias_weight: float | None) -> ListPolicy:
    """The policy for these rankings; it is computed once, and the last few thousand are kept.

    Only the first documents of each ranking are used: as many as the page or the shortest ranking has.

    >>> policy = list_policy((("a", "b"), ("b", "c")), 2, "inverse", 2000, None)
    >>> dict(zip(["".join(one) for one in policy.lists], policy.probability.round(4).tolist()))
    {'ab': 0.4286, 'ba': 0.3714, 'bc': 0.2}
    """
    length = min(length, *map(len, rankings))
    cut = [ranking[:length] for ranking in rankings]
    lists, complete = allowed_lists(cut, length, samples)
    return solve(lists, place_worth(cut, lists, credit), complete, bias_weight)
