"""The ideal list of a topic with intents, for measures in which an intent counts less every time it is repeated.

Finding it is NP-complete. The greedy list takes the document that gains most at every rank; the exact one is found by
trying all sets of documents, if there are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.intents import Intents
from cranfield.assessed.segments import position_in_segment, segment_starts
from cranfield.errors import UsageError
from cranfield.types import Array, Index

Weight = Callable[[Index], Array]
"""The weight of the gain at a rank."""

Worth = Callable[[Intents], Array]
"""What every entry of intents is worth before its intent was served; comparable, so that results can be cached."""

GREEDY = math.e / (math.e - 1)
"""The largest score relative to the greedy ideal list: gains are submodular, and discounts fall with the rank.

This holds if every entry of an intent is worth the same; otherwise there is no bound."""


def relevance_matrix(intents: Intents, topic: int, rel: float) -> Array:
    """1 where a judged document (column, names in descending order) is relevant to an intent (row) of the topic."""

    def build() -> Array:
        relevant = intents.above(rel)
        begin, end = np.searchsorted(intents.topic_of_document, [topic, topic + 1])
        entries = slice(relevant.document_start[begin], relevant.document_start[end])
        matrix = np.zeros((int(intents.count[topic]), end - begin))
        matrix[relevant.nth[relevant.intent[entries]], end - 1 - relevant.document[entries]] = 1.0
        return matrix[:, matrix.any(axis=0)]

    return intents.once(("relevance matrix", topic, rel), build)


LEAST_DEPTH = 100
"""Greedy lists are computed at least this far down, because other cutoffs often follow."""


@dataclass(frozen=True, eq=False)
class GreedyIdeal:
    """For each topic the list that takes the document that gains most at every rank; among equals, the last by name.

    `gain` holds the gains of these lists, topic by topic; `depth` is how far down they were computed.
    """

    start: NDArray[np.int64]
    gain: Array
    depth: int

    @staticmethod
    def of(
        intents: Intents, depth: int, lasting: float | None, worth: Array | None = None, share: Array | None = None
    ) -> GreedyIdeal:
        """From the entries of `intents`; an intent is worth `lasting` times as much every time it is repeated.

        `worth` has a number for each entry, `share` for each intent; all are 1 by default. If `lasting` is None, an
        entry leaves 1 - worth of its intent to the documents below.
        """
        worths, shares = (
            np.zeros(0) if values is None else np.ascontiguousarray(values, np.float64) for values in (worth, share)
        )
        documents = segment_starts(intents.topic_of_document, intents.topics)
        count, start = (np.ascontiguousarray(column, np.int64) for column in (intents.count, intents.document_start))
        gains = _core.greedy_ideal(documents, count, start, intents.entry_nth, worths, shares, lasting, depth)
        return GreedyIdeal(*gains, depth)

    @property
    def topic(self) -> NDArray[np.int64]:
        """The topic of each gain."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def sums(self, weight: Weight, depth: int) -> Array:
        """For each topic, the sum of gain times weight down to `depth`, added in rank order."""
        rank = position_in_segment(self.start)
        inside = np.flatnonzero(rank <= depth)
        worth = self.gain[inside] * weight(rank[inside])
        return np.asarray(np.bincount(self.topic[inside], worth, len(self.start) - 1), dtype=np.float64)

    @property
    def useful(self) -> NDArray[np.int64]:
        """For each topic, the number of documents of the list with a gain."""
        return np.bincount(self.topic[self.gain > 0], minlength=len(self.start) - 1)


def greedy_ideal(
    intents: Intents, rel: float, alpha: float, depth: int | None, worth: Worth | None = None
) -> GreedyIdeal:
    """The greedy ideal lists down to `depth` or further, computed once for all measures and runs.

    Without `worth`, every entry of grade `rel` or better is worth 1.

    >>> from cranfield.assessed.hits_by_intent import intents_of, with_intents
    >>> greedy_ideal(intents_of(with_intents([{"a": 1}, {"b": 1}, {"a": 1, "b": 1}])), 1, 0.5, None).gain.tolist()
    [2.0, 0.5, 0.5]
    """
    longest = len(intents.topic_of_document)
    depth = longest if depth is None else min(max(depth, LEAST_DEPTH), longest)
    cache: dict[tuple[float, float, Worth | None], GreedyIdeal] = intents.once("greedy ideals", dict)
    key = rel, alpha, worth
    if key not in cache or cache[key].depth < depth:
        counted = intents.above(rel)
        cache[key] = GreedyIdeal.of(counted, depth, 1.0 - alpha, None if worth is None else worth(counted))
    return cache[key]


def greedy_cascade(intents: Intents, satisfied: Array, share: Array, depth: int | None) -> GreedyIdeal:
    """The greedy ideal lists for readers who stop at the first document that satisfies them, each with one intent.

    `satisfied` is the probability that a document satisfies a reader with this intent, for each entry; `share` is the
    weight of each intent.
    """
    longest = len(intents.topic_of_document)
    return GreedyIdeal.of(intents, longest if depth is None else min(depth, longest), None, satisfied, share)


STATES = 1 << 16
"""The largest number of sets of documents that are tried for an exact ideal list."""


def exact_ideal(
    matrix: Array, alpha: float, weight: Weight, depth: int | None, topic: str, worth: Array | None = None
) -> float:
    """The best score of any order of the documents; `worth` is the weight of each intent (row), 1 by default.

    The gain of a document depends only on the set of documents above it, so the best score of every set follows from
    those of the sets with one document less. Documents relevant to the same intents count as one kind.
    """
    kinds, counts = np.unique(matrix.T, axis=0, return_counts=True)
    states = math.prod(int(count) + 1 for count in counts)
    if states > STATES:
        raise UsageError(
            f"topic {topic!r}: {matrix.shape[1]} relevant documents are too many for ideal == 'exact', which tries "
            f"{STATES:,} sets of documents at most; use ideal='greedy'"
        )
    stride = np.concatenate(([1], np.cumprod(counts + 1)[:-1])).astype(np.int64)
    taken = np.arange(states)[:, None] // stride % (counts + 1)
    worths = np.ones(matrix.shape[0]) if worth is None else worth
    gain = (1.0 - alpha) ** (taken @ kinds) @ (kinds * worths).T  # of each kind of document, placed after each set
    size = taken.sum(axis=1)
    length = min(depth or matrix.shape[1], matrix.shape[1])
    weights = weight(np.arange(1, length + 1))
    best = np.zeros(states)
    for count in range(1, length + 1):
        of_size = np.flatnonzero(size == count)
        for kind in range(len(kinds)):
            last = of_size[taken[of_size, kind] > 0]
            before = last - stride[kind]
            best[last] = np.maximum(best[last], best[before] + gain[before, kind] * weights[count - 1])
    return float(best[size == length].max(initial=0.0))
