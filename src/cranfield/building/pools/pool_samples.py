"""Policies that draw documents at random with known probabilities, from which scores can be estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.assessed.segments import position_in_segment, starts_of
from cranfield.building.pools.fixed_order import FixedOrder
from cranfield.building.pools.pool_policy import steady, summed
from cranfield.building.pools.pooled_lists import Mask, PooledLists
from cranfield.errors import UsageError
from cranfield.types import Array, Index64

BOUNDS = (10, 25, 50, 100, 250, 500, 1000)
"""The deepest rank of each stratum, if none are given."""


class Stratum(NamedTuple):
    """Documents whose best rank is at most `rank`, below the stratum before; None: `share` follows from the budget."""

    rank: int
    share: float | None = None


def shared(total: int, sizes: Index64, load: Index64 | None = None) -> Index64:
    """Divide a number as evenly as the sizes allow; what is left over goes to the first. `load` is there already.

    >>> shared(10, np.array([2, 9, 9])).tolist()
    [2, 4, 4]
    >>> shared(5, np.array([9, 9, 9]), load=np.array([4, 0, 0])).tolist()
    [0, 3, 2]
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    level = position_in_segment(starts_of(np.asarray(sizes, dtype=np.int64)))
    if load is not None:
        level = level + load[owner]
    first = np.lexsort((owner, level))[: max(total, 0)]
    return np.asarray(np.bincount(owner[first], minlength=len(sizes)), dtype=np.int64)


class Sampled(FixedOrder):
    """The drawn documents, in random order; the others are never proposed."""

    adaptive = False
    samples = True
    estimates = "the probability of having been drawn"

    def prepare(self, sizes: Index64 | None) -> None:
        if sizes is None and not self.has_shares():
            raise UsageError(f"{self.name} needs the number of documents to draw: give a budget")
        lists = self.lists
        wanted = np.diff(lists.start) if sizes is None else np.minimum(sizes, np.diff(lists.start))
        self.stratum = np.zeros(lists.size, dtype=np.int64)
        """For each document, the number of its stratum within its topic."""
        self.probability = np.zeros(lists.size)
        self.drawn = np.zeros(lists.size, dtype=bool)
        key = np.full(lists.size, np.inf)
        prior = self.prior()
        for topic, rng in enumerate(self.generators()):
            own = slice(int(lists.start[topic]), int(lists.start[topic + 1]))
            if own.start == own.stop:
                continue
            if wanted[topic] < 1:
                raise UsageError(f"{self.name}: topic {lists.topics[topic]!r} has a budget of 0, must be 1 or more")
            stratum, probability, drawn = self.draw(prior[own], int(wanted[topic]), rng)
            self.stratum[own], self.probability[own], self.drawn[own] = stratum, probability, drawn
            key[own] = np.where(drawn, rng.random(len(drawn)), np.inf)
        self.order = np.lexsort((key, lists.topic))
        self.left = np.bincount(lists.topic[self.drawn], minlength=len(lists.topics))
        self._shown = self.probability
        self._at = lists.start[:-1].copy()
        self._end = self._at + self.left

    def has_shares(self) -> bool:
        """Whether the size of the sample follows from the strata."""
        return False

    def prior(self) -> Array:
        """A number per document that the strata depend on."""
        raise NotImplementedError

    def draw(self, prior: Array, size: int, rng: np.random.Generator) -> tuple[Index64, Array, Mask]:
        """The stratum and the probability of each document of a topic, and whether it was drawn."""
        raise NotImplementedError

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        super().learn(topics, documents, relevant)
        self.left[topics] += ~self.drawn[documents]  # other documents were never to be proposed

    def can_propose(self, topic: int, skip: Mask | None = None) -> bool:
        own = slice(int(self.lists.start[topic]), int(self.lists.start[topic + 1]))
        free = self.drawn[own] & ~self.judged[own]
        return bool((free if skip is None else free & ~skip[own]).any())


class Stratified(Sampled):
    """Strata by best rank; in each stratum, a simple random sample without replacement.

    A document of a stratum of N documents, of which n are drawn, has the probability n/N. The strata share the budget
    evenly, so that deep strata, which are larger, are sampled more thinly; or each has a share of its own.
    """

    name = "stratified"
    source = "Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437"

    def has_shares(self) -> bool:
        return bool(self._strata()) and all(one.share is not None for one in self._strata())

    def _strata(self) -> Sequence[Stratum]:
        strata: Sequence[Stratum] = self.values.get("strata") or ()
        return strata

    def prior(self) -> Array:
        return np.asarray(self.lists.rank[self.lists.first], dtype=np.float64)

    def draw(self, prior: Array, size: int, rng: np.random.Generator) -> tuple[Index64, Array, Mask]:
        strata = self._strata() or [Stratum(rank) for rank in BOUNDS]
        bounds = np.array([one.rank for one in strata[:-1]])
        _, stratum = np.unique(np.searchsorted(bounds, prior, side="left"), return_inverse=True)
        if self.has_shares():
            share = np.array([one.share for one in strata], dtype=np.float64)
            share = share[np.unique(np.searchsorted(bounds, prior, side="left"))]
            sizes = np.bincount(stratum)
            wanted = np.minimum(sizes, np.maximum(np.round(share * sizes).astype(np.int64), 1))
        else:
            stratum = np.minimum(stratum, size - 1)  # too few for all strata: the deepest are one
            sizes = np.bincount(stratum)
            wanted = shared(size, sizes)
        drawn = np.zeros(len(prior), dtype=bool)
        for number, count in enumerate(wanted.tolist()):
            drawn[rng.choice(np.flatnonzero(stratum == number), count, replace=False)] = True
        return stratum, (wanted / sizes)[stratum], drawn


class WeightedSample(Sampled):
    r"""Documents that matter most to average precision are drawn with the highest probability.

    The prior of a document is the mean over runs of :math:`\frac{1}{2s}(1 + \sum_{i=r}^{s} 1/i)` for rank r in a list
    of s documents. Documents are sorted by prior and put in buckets as large as the sample (m documents). A bucket is
    drawn m times, with the sum of its priors as probability; a bucket that was drawn k times gives k of its documents,
    each equally likely. So a document is drawn with the probability of its bucket, which is its stratum.
    """

    name = "sample"
    source = "Aslam & Pavlu, A practical sampling strategy for efficient retrieval evaluation, 2007 (statAP)"

    def prior(self) -> Array:
        return average_precision_prior(self.lists)

    def draw(self, prior: Array, size: int, rng: np.random.Generator) -> tuple[Index64, Array, Mask]:
        order = np.lexsort((np.arange(len(prior)), -prior))
        stratum = np.empty(len(prior), dtype=np.int64)
        stratum[order] = np.arange(len(prior)) // size
        bucket = np.asarray(np.bincount(stratum, prior) / prior.sum())
        drawn = np.zeros(len(prior), dtype=bool)
        for number, count in enumerate(rng.multinomial(size, bucket).tolist()):
            # The last bucket may be smaller: its other places are empty, and drawing one gives no document.
            places = rng.choice(size, count, replace=False) + number * size
            drawn[order[places[places < len(prior)]]] = True
        return stratum, np.minimum(bucket[stratum], 1.0), drawn


def average_precision_prior(lists: PooledLists) -> Array:
    """The weight of each document in the average precision of all runs, before anything is judged."""
    sizes = np.diff(lists.list_start)
    length = np.repeat(sizes, sizes)
    deepest = int(max(lists.rank.max(initial=0), length.max(initial=0)))
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, deepest + 1))))
    tail = np.maximum(harmonic[length] - harmonic[np.minimum(lists.rank, length) - 1], 0)
    weight = (1 + tail) / (2 * length)
    return steady(summed(lists, weight) / len(lists.runs))


def sizes_within(lists: PooledLists, budget: int | None, per_topic: int | None) -> Index64 | None:
    """How many documents to draw for each topic; None if there is no budget."""
    sizes = np.diff(lists.start)
    if per_topic is not None:
        sizes = np.minimum(sizes, per_topic)
    if budget is not None:
        return shared(budget, sizes)
    return None if per_topic is None else sizes
