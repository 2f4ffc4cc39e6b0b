"""Policies: what one is, those whose order is fixed before the first judgment, and those that learn from judgments.

A policy proposes the next document of a topic, and learns from each judgment. It holds the state of all topics, so that
many topics can be simulated at once; topics do not affect each other. What it proposes depends only on the judgments it
has learned (and on its seed), never on how often it was asked: learning the same judgments in the same order rebuilds
the same state.

Bandits and move-to-front choose a run, which proposes its highest document that is not judged yet. A judgment counts
for every run that retrieved the document, so documents that were judged elsewhere count too. Runs that tie are taken in
an order that is drawn once for each topic.
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
    """The base of all policies; `pooling` lists them."""

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


LOSADA = "Losada, Parapar & Barreiro, IP&M 53(5), 2017, doi:10.1016/j.ipm.2017.04.005"


class Arms(Policy):
    """Runs as arms. Arrays are topics × arms, or flat; `arm_run` says which run an arm of a topic is."""

    estimates = "the share of relevant documents expected from the run: (relevant + 1) / (judged + 2)"
    is_probability = True
    source = LOSADA

    def prepare(self, sizes: Index64 | None) -> None:
        lists = self.lists
        topics, runs = len(lists.topics), len(lists.runs)
        self.rng = self.generators()
        self.arm_run = np.array([rng.permutation(runs) for rng in self.rng], dtype=np.int64).reshape(topics, runs)
        arm_of = np.empty((topics, runs), dtype=np.int64)
        np.put_along_axis(arm_of, self.arm_run, np.arange(topics * runs).reshape(topics, runs), axis=1)
        row = np.repeat(np.arange(topics * runs), np.diff(lists.list_start))
        self._arm_of_entry = arm_of.ravel()[row]
        list_of = (self.arm_run + runs * np.arange(topics)[:, None]).ravel()
        self._at, self._end = lists.list_start[:-1][list_of].copy(), lists.list_start[1:][list_of]
        self.unjudged = (self._end - self._at).reshape(topics, runs)
        """Documents of each arm that are not judged yet."""
        self.arms = (self.unjudged > 0).sum(axis=1)
        self.seen = np.zeros((topics, runs))
        """Judged documents of each arm."""
        self.found = np.zeros((topics, runs))
        """Judged relevant documents of each arm."""
        self.score = np.zeros((topics, runs))
        self._rescore(np.arange(topics))

    @abstractmethod
    def scores(self, topics: Index64) -> Array:
        """The score of every arm of these topics; the highest is played."""

    def estimate(self, topics: Index64, arms: Index64) -> Array:
        """What is expected of these arms."""
        return np.asarray(self.means(topics)[np.arange(len(topics)), arms])

    def means(self, topics: Index64) -> Array:
        """The mean of the beta posterior of every arm."""
        return np.asarray((self.found[topics] + 1) / (self.seen[topics] + 2))

    def _rescore(self, topics: Index64) -> None:
        self.score[topics] = self.scores(topics)

    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        if skip is not None:
            return self._propose_without(topics, skip)
        arms = np.where(self.unjudged[topics] > 0, self.score[topics], -np.inf).argmax(axis=1)
        flat = topics * self.score.shape[1] + arms
        at = self._at[flat]
        while (stale := self.judged[self.lists.document[at]]).any():
            at = at + stale
        self._at[flat] = at
        return Proposals(self.lists.document[at], at, self.estimate(topics, arms))

    def _propose_without(self, topics: Index64, skip: Mask) -> Proposals:
        """As `propose` for one topic, without some documents; of tied arms, the one with the fewest of them."""
        topic = int(topics[0])
        own = np.arange(self.lists.start[topic], self.lists.start[topic + 1])
        out = own[skip[own] & ~self.judged[own]]
        entries, _ = entries_of(self.lists, out)
        runs = self.score.shape[1]
        pending = np.bincount(self._arm_of_entry[entries] - topic * runs, minlength=runs)
        live = self.unjudged[topic] - pending > 0
        arms = np.flatnonzero(live)
        arm = arms[np.lexsort((arms, pending[arms], -self.score[topic][arms]))[0]]
        begin, end = int(self._at[topic * runs + arm]), int(self._end[topic * runs + arm])
        documents = self.lists.document[begin:end]
        at = begin + int(np.argmax(~self.judged[documents] & ~skip[documents]))
        place = np.array([at])
        return Proposals(self.lists.document[place], place, self.estimate(topics, np.array([arm])))

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        entries, owner = entries_of(self.lists, documents)
        arms = self._arm_of_entry[entries]
        self.unjudged.ravel()[arms] -= 1
        self.credit(arms, relevant[owner].astype(np.float64))
        super().learn(topics, documents, relevant)
        self._rescore(topics)

    def credit(self, arms: Index64, relevant: Array) -> None:
        """Count a judgment for these (flat) arms."""
        self.seen.ravel()[arms] += 1
        self.found.ravel()[arms] += relevant


class RandomRun(Arms):
    """A run that is drawn at random, each with the same probability."""

    name = "random"

    def scores(self, topics: Index64) -> Array:
        return np.array([self.rng[topic].random(self.score.shape[1]) for topic in topics])


class EpsilonGreedy(Arms):
    r"""The run with the best share of relevant documents so far; with probability ε a random run.

    :math:`\varepsilon_n = \min(1, c K / (d^2 n))` falls with the number n of judgments; K is the number of runs.
    """

    name = "epsilon-greedy"
    source = f"{LOSADA}; Auer, Cesa-Bianchi & Fischer, Machine Learning 47, 2002"
    parameters: ClassVar = {
        "c": Setting(0.01, "a factor of ε", least=0, most=1e6),
        "d": Setting(0.1, "ε is divided by the square of this", least=1e-6, most=1),
    }

    def scores(self, topics: Index64) -> Array:
        share = self.found[topics] / np.maximum(self.seen[topics], 1)
        drawn = np.array([self.rng[topic].random(self.score.shape[1] + 1) for topic in topics])
        rounds = self.learned[topics] + 1
        epsilon = np.minimum(1, self.values["c"] * self.arms[topics] / (self.values["d"] ** 2 * rounds))
        return np.where((drawn[:, 0] < epsilon)[:, None], drawn[:, 1:], share)


class UpperBound(Arms):
    r"""The run with the highest upper confidence bound of its share of relevant documents (UCB1-tuned).

    :math:`\bar x + \sqrt{\frac{\ln n}{m} \min(\frac14, \bar x - \bar x^2 + \sqrt{2 \ln n / m})}`, for m judged
    documents of the run and n judgments of the topic. A run without judged documents comes first.
    """

    name = "ucb"
    source = f"{LOSADA}; Auer, Cesa-Bianchi & Fischer, Machine Learning 47, 2002"

    def scores(self, topics: Index64) -> Array:
        seen = self.seen[topics]
        share = self.found[topics] / np.maximum(seen, 1)
        log = np.log(np.maximum(self.learned[topics], 1))[:, None] / np.maximum(seen, 1)
        variance = share - share**2 + np.sqrt(2 * log)
        return np.where(seen == 0, np.inf, share + np.sqrt(log * np.minimum(0.25, variance)))


class Thompson(Arms):
    """A share of relevant documents is drawn for each run from its beta posterior; the highest wins."""

    name = "thompson"

    def scores(self, topics: Index64) -> Array:
        found, missed = self.found[topics] + 1, self.seen[topics] - self.found[topics] + 1
        return np.array([self.rng[t].beta(a, b) for t, a, b in zip(topics, found, missed, strict=True)])


class MaxMean(Arms):
    """The run with the highest mean of its beta posterior (MM)."""

    name = "max-mean"

    def scores(self, topics: Index64) -> Array:
        return self.means(topics)


class MaxMeanNonStationary(MaxMean):
    """As max-mean, but older judgments count less (MM-NS): the counts are multiplied by `rate` before each judgment.

    With rate 1, this is max-mean; with rate 0, only the last judged document of a run counts.
    """

    name = "mm-ns"
    parameters: ClassVar = {
        "rate": Setting(0.5, "what is left of the counts of a run at its next judgment", least=0, most=1)
    }

    def credit(self, arms: Index64, relevant: Array) -> None:
        rate = self.values["rate"]
        self.seen.ravel()[arms] = rate * self.seen.ravel()[arms] + 1
        self.found.ravel()[arms] = rate * self.found.ravel()[arms] + relevant


class MoveToFront(Arms):
    """Stay with a run while its documents are relevant; then lower its priority, and go to a run of highest priority.

    Only a document that this policy would propose changes a priority; one that was judged elsewhere changes none.
    """

    name = "move-to-front"
    estimates = "the priority of the run: 0, and 1 less for each non-relevant document"
    is_probability = False
    source = "Cormack, Palmer & Clarke, SIGIR 1998, doi:10.1145/290941.291009"

    def prepare(self, sizes: Index64 | None) -> None:
        self.priority = np.zeros((len(self.lists.topics), len(self.lists.runs)))
        self.current = np.full(len(self.lists.topics), -1)
        """For each topic, the arm whose last document was relevant; −1: none."""
        super().prepare(sizes)

    def scores(self, topics: Index64) -> Array:
        staying = np.arange(self.score.shape[1]) == self.current[topics][:, None]
        return np.asarray(self.priority[topics] + 0.5 * staying)

    def estimate(self, topics: Index64, arms: Index64) -> Array:
        return np.asarray(self.priority[topics, arms])

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        proposed = self.propose(topics)
        arms = self._arm_of_entry[proposed.entry] - topics * self.score.shape[1]
        own = proposed.document == documents
        self.priority[topics[own], arms[own]] -= ~relevant[own]
        self.current[topics[own]] = np.where(relevant[own], arms[own], -1)
        super().learn(topics, documents, relevant)


class Hedge(Policy):
    r"""The document with the highest weighted loss, if it were not relevant.

    A run that has a document at rank r loses :math:`\frac12 \ln(Z/r)` if it is not relevant and wins as much if it is,
    where Z is the longest list of the topic; a run without the document loses nothing. The weight of a run is
    :math:`\beta^{loss}`, divided by the sum over runs; the document with the highest
    :math:`\sum_{runs} weight \cdot \frac12 \ln(Z/r)` comes next.
    """

    name = "hedge"
    estimates = "the weighted loss of the document"
    source = "Aslam, Pavlu & Savell, SIGIR 2003, doi:10.1145/860435.860517"
    parameters: ClassVar = {
        "beta": Setting(0.1, "the base of the weights; 1: runs keep equal weights", least=1e-12, most=1)
    }

    def prepare(self, sizes: Index64 | None) -> None:
        lists = self.lists
        entry_topic = lists.topic[lists.document]
        longest = np.ones(len(lists.topics))
        np.maximum.at(longest, entry_topic, lists.rank)
        self._cost = 0.5 * np.log(longest[entry_topic] / lists.rank)
        self.loss = np.zeros((len(lists.topics), len(lists.runs)))
        order = lists.by_document
        self._run, self._sorted_cost = lists.run[order], self._cost[order]
        self.weight = np.zeros(lists.size)
        """The weighted loss of each document; −1 once it is judged."""
        for topic in range(len(lists.topics)):
            self._weigh(topic)

    def _weigh(self, topic: int) -> None:
        begin, end = int(self.lists.start[topic]), int(self.lists.start[topic + 1])
        if begin == end:
            return
        starts = self.lists.document_start[begin : end + 1]
        share = self.shares(topic)
        part = slice(int(starts[0]), int(starts[-1]))
        weight = steady(np.add.reduceat(share[self._run[part]] * self._sorted_cost[part], starts[:-1] - starts[0]))
        self.weight[begin:end] = np.where(self.judged[begin:end], -1.0, weight)

    def shares(self, topic: int) -> Array:
        """The weights of the runs of a topic, which add up to 1."""
        loss = self.loss[topic]
        weight = self.values["beta"] ** (loss - loss.min())
        return np.asarray(weight / weight.sum())

    def propose(self, topics: Index64, skip: Mask | None = None) -> Proposals:
        documents = []
        for topic in topics.tolist():
            begin, end = int(self.lists.start[topic]), int(self.lists.start[topic + 1])
            weight = self.weight[begin:end]
            documents.append(
                begin + int((weight if skip is None else np.where(skip[begin:end], -1.0, weight)).argmax())
            )
        chosen = np.array(documents, dtype=np.int64)
        return proposals(self.lists, chosen, self.weight[chosen])

    def learn(self, topics: Index64, documents: Index64, relevant: Mask) -> None:
        entries, owner = entries_of(self.lists, documents)
        sign = np.where(relevant[owner], -1.0, 1.0)
        self.loss[topics[owner], self.lists.run[entries]] += sign * self._cost[entries]
        super().learn(topics, documents, relevant)
        for topic in topics.tolist():
            self._weigh(topic)
