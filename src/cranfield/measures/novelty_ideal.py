"""The ideal list of a topic with intents, for measures by which an intent counts less every time it comes back.

To find it is NP-complete. The greedy list takes the document that gains most at every rank; the exact one is looked for
among all sets of documents, where these are few.
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
"""What a gain at a rank counts."""

Worth = Callable[[Intents], Array]
"""What every entry of some intents is worth before its intent was served; of equal ones any may stand for the other."""

GREEDY = math.e / (math.e - 1)
"""How far a list can be above the greedy ideal list: gains are submodular, and discounts fall with the rank.

That is where every entry of an intent is worth the same; otherwise a list can be above it by any factor."""


def relevance_matrix(intents: Intents, topic: int, rel: float) -> Array:
    """1 where a judged document (column, names in descending order) is relevant to an intent (row) of the topic."""

    def make() -> Array:
        some = intents.above(rel)
        begin, end = np.searchsorted(intents.topic_of_document, [topic, topic + 1])
        here = slice(some.document_start[begin], some.document_start[end])
        matrix = np.zeros((int(intents.count[topic]), end - begin))
        matrix[some.nth[some.intent[here]], end - 1 - some.document[here]] = 1.0
        return matrix[:, matrix.any(axis=0)]

    return intents.once(("relevance matrix", topic, rel), make)


AT_ONCE = 100
"""Greedy lists are looked for at least so far down: who asks for one cutoff often asks for others."""


@dataclass(frozen=True, eq=False)
class GreedyIdeal:
    """For each topic the list that takes the document that gains most at every rank, of equal ones the last by name.

    `gain` holds what these lists gain, topic after topic; `depth` is down to where they were looked for.
    """

    start: NDArray[np.int64]
    gain: Array
    depth: int

    @staticmethod
    def of(intents: Intents, lasting: float, depth: int, worth: Worth | None = None) -> GreedyIdeal:
        """Of the entries of `intents`, an intent being worth `lasting` times as much every time it comes back."""
        worths = np.zeros(0) if worth is None else np.ascontiguousarray(worth(intents), np.float64)
        documents = segment_starts(intents.topic_of_document, intents.topics)
        many, start = (np.ascontiguousarray(column, np.int64) for column in (intents.count, intents.document_start))
        found = _core.greedy_ideal(documents, many, start, intents.entry_nth, worths, lasting, depth)
        return GreedyIdeal(*found, depth)

    @property
    def topic(self) -> NDArray[np.int64]:
        """The topic of each gain."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def sums(self, weight: Weight, depth: int) -> Array:
        """Of each topic: the sum of gain times weight down to `depth`, added in rank order."""
        rank = position_in_segment(self.start)
        inside = np.flatnonzero(rank <= depth)
        worth = self.gain[inside] * weight(rank[inside])
        return np.asarray(np.bincount(self.topic[inside], worth, len(self.start) - 1), dtype=np.float64)

    @property
    def useful(self) -> NDArray[np.int64]:
        """Of each topic: how many documents of the list gain anything."""
        return np.bincount(self.topic[self.gain > 0], minlength=len(self.start) - 1)


def greedy_ideal(
    intents: Intents, rel: float, alpha: float, depth: int | None, worth: Worth | None = None
) -> GreedyIdeal:
    """The greedy ideal lists down to `depth` or further: the same for all measures and runs.

    Without `worth` every entry of grade `rel` or better is worth 1.

    >>> from cranfield.assessed.hits_by_intent import intents_of, with_intents
    >>> greedy_ideal(intents_of(with_intents([{"a": 1}, {"b": 1}, {"a": 1, "b": 1}])), 1, 0.5, None).gain.tolist()
    [2.0, 0.5, 0.5]
    """
    longest = len(intents.topic_of_document)
    deep = longest if depth is None else min(max(depth, AT_ONCE), longest)
    kept: dict[tuple[float, float, Worth | None], GreedyIdeal] = intents.once("greedy ideals", dict)
    key = rel, alpha, worth
    if key not in kept or kept[key].depth < deep:
        kept[key] = GreedyIdeal.of(intents.above(rel), 1.0 - alpha, deep, worth)
    return kept[key]


STATES = 1 << 16
"""An exact ideal list is looked for among this many sets of documents, at most."""


def exact_ideal(matrix: Array, alpha: float, weight: Weight, depth: int | None, topic: str) -> float:
    """The best that any order of the documents can score.

    What a document gains depends only on which ones stand above it, so the best score of every set of documents comes
    from that of the sets with one document less. Documents relevant to the same intents are not told apart.
    """
    kinds, many = np.unique(matrix.T, axis=0, return_counts=True)
    states = math.prod(int(n) + 1 for n in many)
    if states > STATES:
        raise UsageError(
            f"topic {topic!r}: ideal == 'exact' has {matrix.shape[1]} relevant documents to put in order, too many: "
            f"more sets of them than can be tried, at most {STATES:,}; use ideal='greedy'"
        )
    stride = np.concatenate(([1], np.cumprod(many + 1)[:-1])).astype(np.int64)
    taken = np.arange(states)[:, None] // stride % (many + 1)
    gain = (1.0 - alpha) ** (taken @ kinds) @ kinds.T  # of each kind of document, after each set
    size = taken.sum(axis=1)
    length = min(depth or matrix.shape[1], matrix.shape[1])
    weights = weight(np.arange(1, length + 1))
    best = np.zeros(states)
    for count in range(1, length + 1):
        here = np.flatnonzero(size == count)
        for kind in range(len(kinds)):
            last = here[taken[here, kind] > 0]
            before = last - stride[kind]
            best[last] = np.maximum(best[last], best[before] + gain[before, kind] * weights[count - 1])
    return float(best[size == length].max(initial=0.0))
