"""Policies: what one is, and those whose order is fixed before the first judgment.

A policy proposes the next document of a topic, and learns from each judgment.

A policy holds the state of all topics, so that many topics can be simulated at once; topics do not affect each other.
What it proposes depends only on the judgments it has learned (and on its seed), never on how often it was asked:
learning the same judgments in the same order rebuilds the same state.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cranfield import check
from cranfield.assessed.segments import ranges
from cranfield.building.pools.pooled_lists import Mask, PooledLists
from cranfield.declared.settings import Setting
from cranfield.types import Array, Index64


class Proposals(NamedTuple):
    """A document for each of some topics, and why it was chosen."""

    document: Index64
    entry: Index64
    """The entry of the lists that proposes it: its run and rank."""
    estimate: Array


class Policy(ABC):
    """The base of all policies; `pool_methods` lists them."""

    name: ClassVar[str] = ""
    adaptive: ClassVar[bool] = True
    """Whether proposals depend on judgments."""
    samples: ClassVar[bool] = False
    """Whether documents are drawn at random, with known probabilities."""
    is_probability: ClassVar[bool] = False
    """Whether the estimate is a probability of relevance."""
    estimates: ClassVar[str] = ""
    """What the estimate of a proposal is."""
    source: ClassVar[str] = ""
    parameters: ClassVar[dict[str, Setting]] = {}

    def __init__(self, lists: PooledLists, *, seed: int = 0, sizes: Index64 | None = None, **values: Any) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise check.wrong("", "seed", seed, "a whole number, 0 or more")
        self.lists = lists
        self.seed = int(seed)
        self.values: dict[str, Any] = {name: setting.default for name, setting in self.parameters.items()} | values
        self.judged = np.zeros(lists.size, dtype=bool)
        self.left = np.diff(lists.start).astype(np.int64)
        """For each topic, the number of documents that can still be proposed."""
        self.learned = np.zeros(len(lists.topics), dtype=np.int64)
        """For each topic, the number of judgments."""
        self.prepare(sizes)

    def generators(self) -> list[np.random.Generator]:
        """A source of random numbers for each topic, which depends on the seed and the name of the topic only."""
        names = (topic.encode("utf-8", "surrogateescape") for topic in self.lists.topics)
        return [np.random.default_rng([self.seed, zlib.crc32(name)]) for name in names]

    @abstractmethod
    def prepare(self, sizes: Index64 | None) -> None:
        """Set up the state; `sizes` are the numbers of documents to draw for each topic."""

    @abstractmethod
    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        """The next document of each of these topics, all of which have a document left.

        `skip` marks documents that are out with another assessor; it may be given for one topic at a time.
        """

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        """Take one judgment for each of these (different) topics, of a document that is not judged yet."""
        self.judged[documents] = True
        self.learned[topics] += 1
        self.left[topics] -= 1

    def can_propose(self, topic: int, skip: Mask | None = None) -> bool:
        """Whether a topic has a document to propose, apart from those to skip."""
        if skip is None:
            return bool(self.left[topic] > 0)
        own = slice(int(self.lists.start[topic]), int(self.lists.start[topic + 1]))
        return bool((~self.judged[own] & ~skip[own]).any())


def steady(weights: Array) -> Array:
    """Weights without their last bits, so that sums of the same terms in another order are equal.

    >>> steady(np.array([0.1 + 0.2 + 0.3])) == steady(np.array([0.3 + 0.2 + 0.1]))
    array([ True])
    """
    mantissa, exponent = np.frexp(weights)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**40) / 2.0**40, exponent))


def summed(lists: PooledLists, weights: Array) -> Array:
    """For each document, the sum of the weights of its entries."""
    return np.asarray(np.bincount(lists.document, weights, minlength=lists.size), dtype=np.float64)


def entries_of(lists: PooledLists, documents: Index64) -> tuple[Index64, Index64]:
    """All entries of some documents, and for each the place of its document in `documents`."""
    begin = lists.document_start[documents]
    sizes = lists.document_start[documents + 1] - begin
    return lists.by_document[ranges(begin, sizes)], np.repeat(np.arange(len(documents)), sizes)


def proposals(lists: PooledLists, documents: Iterable[int], estimate: Array) -> Proposals:
    """Proposals of documents that no single run was chosen for: the run with the best rank proposes them."""
    chosen = np.asarray(documents, dtype=np.int64)
    return Proposals(chosen, lists.first[chosen], estimate)


class FixedOrder(Policy):
    """Documents in the order of a weight, the highest first."""

    adaptive = False

    @abstractmethod
    def weights(self) -> Array:
        """The weight of each document."""

    def estimate(self) -> Array:
        """The estimate of each document."""
        return self.weight

    def prepare(self, sizes: Index64 | None) -> None:
        self.weight = self.weights()
        self.order = np.lexsort((np.arange(self.lists.size), -self.weight, self.lists.topic))
        self._shown = self.estimate()
        self._at = self.lists.start[:-1].copy()
        self._end = self.lists.start[1:].copy()

    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        at = self._at[topics]
        while (stale := self.judged[self.order[at]]).any():
            at = at + stale
        self._at[topics] = at
        if skip is not None:
            later = self.order[int(at[0]) : int(self._end[topics[0]])]
            at = at + int(np.argmax(~self.judged[later] & ~skip[later]))
        documents = self.order[at]
        return proposals(self.lists, documents, self._shown[documents])


class Depth(FixedOrder):
    """All documents of rank 1, then all of rank 2, and so on: the pool of the first k documents of every run."""

    name = "depth"
    estimates = "none"
    source = "Sparck Jones & van Rijsbergen 1975; Ferro & Maistro 2024, Fig. 5"

    def weights(self) -> Array:
        return -np.asarray(self.lists.rank[self.lists.first], dtype=np.float64)

    def estimate(self) -> Array:
        return np.full(self.lists.size, np.nan)


class ReciprocalRank(FixedOrder):
    r"""By reciprocal rank fusion: :math:`\sum_{runs} 1 / (k + rank)`."""

    name = "rrf"
    estimates = "the weight of the document"
    source = "Cormack, Clarke & Büttcher, SIGIR 2009, doi:10.1145/1571941.1572114"
    parameters: ClassVar = {"k": Setting(60.0, "the constant added to each rank", least=0, most=1e6)}

    def weights(self) -> Array:
        weight = 1.0 / (self.values["k"] + self.lists.rank)
        return steady(summed(self.lists, weight))


class RankBiased(FixedOrder):
    r"""By what a document can add to the RBP of all runs: :math:`\sum_{runs} (1 - p) p^{rank - 1}`."""

    name = "rbp"
    estimates = "the weight of the document"
    source = "Moffat, Webber & Zobel, SIGIR 2007 (method A), doi:10.1145/1277741.1277806"
    parameters: ClassVar = {"p": Setting(0.8, "the persistence of the reader", least=0, most=1)}

    def weights(self) -> Array:
        p = self.values["p"]
        weight = (1 - p) * p ** (self.lists.rank - 1.0)
        return steady(summed(self.lists, weight))
