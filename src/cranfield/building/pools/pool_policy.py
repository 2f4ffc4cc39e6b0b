"""What a pooling policy is: it proposes the next document of a topic, and learns from each judgment.

A policy holds the state of all topics, so that many topics can be simulated at once; topics do not affect each other.
What it proposes depends only on the judgments it has learned (and on its seed), never on how often it was asked:
learning the same judgments in the same order rebuilds the same state.
"""

from __future__ import annotations

import zlib
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


class Policy:
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
        self.values: dict[str, Any] = {name: one.default for name, one in self.parameters.items()} | values
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

    def prepare(self, sizes: Index64 | None) -> None:
        """Set up the state; `sizes` are the numbers of documents to draw for each topic."""

    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        """The next document of each of these topics, all of which have a document left.

        `skip` marks documents that are out with another assessor; it may be given for one topic at a time.
        """
        raise NotImplementedError

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        """Take one judgment for each of these (different) topics, of a document that is not judged yet."""
        self.update(topics, documents, relevant)
        self.judged[documents] = True
        self.learned[topics] += 1
        self.left[topics] -= 1

    def update(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        """Change the state before the documents count as judged."""

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
