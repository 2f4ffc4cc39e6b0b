"""Judge one document at a time: `next` says which, `tell` takes the judgment. A web page and the simulator do the same.

A `Method` is the name of a policy, such as `rbp(p=0.95)`. The state is rebuilt by telling the judgments again, in their
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cranfield import check
from cranfield.building.pools.pool_policies import (
    Depth,
    EpsilonGreedy,
    Hedge,
    MaxMean,
    MaxMeanNonStationary,
    MoveToFront,
    Policy,
    RandomRun,
    RankBiased,
    ReciprocalRank,
    Thompson,
    UpperBound,
)
from cranfield.building.pools.pool_samples import Stratified, Stratum, WeightedSample, sizes_within
from cranfield.building.pools.pooled_lists import Mask, PooledLists
from cranfield.check import nearest
from cranfield.declared.registry import Named, Registry
from cranfield.errors import UsageError
from cranfield.types import Index64

POLICIES: Registry[type[Policy]] = Registry(
    "method",
    (
        Depth, ReciprocalRank, RankBiased, MoveToFront, Hedge, RandomRun, EpsilonGreedy, UpperBound, Thompson, MaxMean,
        MaxMeanNonStationary, Stratified, WeightedSample,
    ),
    aliases={
        "mtf": "move-to-front", "mm": "max-mean", "epsilon": "epsilon-greedy", "depth-k": "depth", "ts": "thompson",
    },
)  # fmt: skip


class Method(Named):
    """A method with its parameters.

    >>> Method.of("rbp(p=0.95)").given
    (('p', 0.95),)
    >>> str(Method.of("mtf"))
    'move-to-front'
    """

    registry = POLICIES

    @property
    def policy(self) -> type[Policy]:
        """The class of the policy."""
        return POLICIES[self.name]

    def make(
        self, lists: PooledLists, *, seed: int = 0, sizes: Index64 | None = None, strata: Sequence[Stratum] = ()
    ) -> Policy:
        """The policy at its start; only samples use `sizes`, the numbers of documents to draw, and `strata`."""
        more = {"strata": tuple(strata)} if self.name == "stratified" else {}
        return self.policy(lists, seed=seed, sizes=sizes, **dict(self.given), **more)


class Offer(NamedTuple):
    """A document to judge next, and why: which run proposed it at which rank, and at what estimate."""

    topic: str
    doc: str
    estimate: float
    run: str
    rank: int


class Pooling:
    """The judging of a pool, one document after the other.

    lists: the documents that runs retrieved.
    method: the name of a policy, such as `max-mean` or `rbp(p=0.95)`.
    budget, most_per_topic: the largest number of judgments, of all topics and of each topic.
    patience: a topic ends after this many non-relevant documents in a row.
    least: a topic ends if the estimate of the next document is below this; only for methods whose estimate is a
        probability of relevance. There is no rule that stops at an estimated recall: the documents of an adaptive pool
        are no random sample, so the number of relevant documents that are left cannot be estimated from them.
    rel: the lowest grade that counts as relevant.

    >>> lists = PooledLists.of({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}})
    >>> pooling = Pooling(lists, "rrf")
    >>> offer = pooling.next()
    >>> offer.doc, offer.run, offer.rank  # a is at ranks 1 and 2
    ('a', 'x', 1)
    >>> pooling.tell("q", "a", 1)
    >>> pooling.next().doc
    'c'
    """

    def __init__(
        self,
        lists: PooledLists,
        method: str | Method = "max-mean",
        *,
        seed: int = 0,
        budget: int | None = None,
        most_per_topic: int | None = None,
        patience: int | None = None,
        least: float | None = None,
        rel: float = 1,
        strata: Sequence[Stratum] = (),
    ) -> None:
        check.whole("", budget=budget, most_per_topic=most_per_topic, patience=patience)
        self.lists = lists
        self.method = Method.of(method)
        if least is not None and not self.method.policy.is_probability:
            raise UsageError(
                f"least == {least:g}, but the estimate of {self.method.name} is not a probability of relevance; "
                "use a method of bandits, or another rule to stop"
            )
        if least is not None:
            check.between("", low=0, high=1, least=least)
        self.budget, self.most_per_topic, self.patience, self.least, self.rel = (
            budget,
            most_per_topic,
            patience,
            least,
            rel,
        )
        sizes = sizes_within(lists, budget, most_per_topic)
        self.policy: Policy = self.method.make(lists, seed=seed, sizes=sizes, strata=strata)
        self.misses = np.zeros(len(lists.topics), dtype=np.int64)
        """For each topic, the non-relevant documents since the last relevant one."""
        self.found = np.zeros(len(lists.topics), dtype=np.int64)
        """For each topic, the relevant documents."""
        self.outside: list[tuple[str, str]] = []
        """Judged (topic, document) that no run retrieved; they change nothing."""

    @property
    def judged(self) -> int:
        """The number of judged documents of the pool."""
        return int(self.policy.learned.sum())

    def next(self, topic: str | None = None, without: Iterable[tuple[str, str]] = ()) -> Offer | None:
        """The next document to judge; None if there is none.

        topic: of this topic; None: of the topic with the fewest judgments that is not at its end.
        without: (topic, document) pairs that are with an assessor already, and not judged yet; they use the budget.
        """
        out = [place for place in (self.lists.place(*pair) for pair in without) if place is not None]
        pending = np.bincount(self.lists.topic[out], minlength=len(self.lists.topics)) if out else None
        for number in [self._topic(topic)] if topic is not None else self._topics_in_turn(pending):
            skip = None
            if pending is not None and pending[number]:
                skip = np.zeros(self.lists.size, dtype=bool)
                skip[out] = True
            if self._stopped(number, 0 if pending is None else int(pending.sum()), pending, skip):
                continue
            offer = self._offer(number, skip)
            if self.least is None or offer.estimate >= self.least:
                return offer
        return None

    def tell(self, topic: str, doc: str, grade: float) -> None:
        """Take a judgment: of the document that was offered, or of any other.

        A document that no run retrieved is kept in `outside`. A document that is judged already is an error; to change
        a judgment, build the state again from the changed log.
        """
        place = self.lists.place(topic, doc)
        if place is None:
            self.outside.append((topic, doc))
            return
        if self.policy.judged[place]:
            raise UsageError(f"topic {topic!r}: document {doc!r} is judged already; start again from the changed log")
        self._learn(np.array([self._topic(topic)]), np.array([place]), np.array([grade >= self.rel]))

    def replay(self, judgments: Iterable[Any]) -> Pooling:
        """Take all judgments of a log, in order: rows of (topic, doc, grade, ...), or `Qrels`; return this object.

        The result is that of `tell` for each row. Topics do not affect each other, so that the first judgments of all
        topics are learned at a time, then the second ones, and so on.
        """
        rows: dict[int, list[tuple[int, bool]]] = {}
        seen: set[int] = set()
        for topic, doc, grade, *_ in judgments:
            place = self.lists.place(topic, doc)
            if place is None:
                self.outside.append((topic, doc))
                continue
            if place in seen or self.policy.judged[place]:
                raise UsageError(f"topic {topic!r}: document {doc!r} is judged twice; give its last judgment only")
            seen.add(place)
            rows.setdefault(self._topic(topic), []).append((place, bool(grade >= self.rel)))
        for step in range(max(map(len, rows.values()), default=0)):
            topics = [topic for topic, own in rows.items() if len(own) > step]
            places, relevant = zip(*(rows[topic][step] for topic in topics), strict=True)
            self._learn(np.array(topics), np.array(places), np.array(relevant))
        return self

    def why_stopped(self, topic: str) -> str | None:
        """Why a topic has no next document; None if it has one.

        `budget`: it is spent; `patience`: too many non-relevant documents in a row; `least`: the estimate is too low;
        `empty`: every document is judged.
        """
        number = self._topic(topic)
        stopped = self._stopped(number, 0, None, None)
        if stopped is None and self.least is not None and self._offer(number, None).estimate < self.least:
            return "least"
        return stopped

    def _learn(self, topics: Index64, places: Index64, relevant: Mask) -> None:
        self.policy.learn(topics, places, relevant)
        self.misses[topics] = np.where(relevant, 0, self.misses[topics] + 1)
        self.found[topics] += relevant

    def _topic(self, topic: str) -> int:
        if topic not in self.lists.topic_number:
            raise nearest(topic, self.lists.topics, "topic")
        return self.lists.topic_number[topic]

    def _topics_in_turn(self, pending: Index64 | None) -> list[int]:
        load = self.policy.learned if pending is None else self.policy.learned + pending
        return [int(number) for number in np.argsort(load, kind="stable")]

    def _stopped(self, topic: int, out: int, pending: Index64 | None, skip: Mask | None) -> str | None:
        own = 0 if pending is None else int(pending[topic])
        if self.budget is not None and self.judged + out >= self.budget:
            return "budget"
        if self.most_per_topic is not None and self.policy.learned[topic] + own >= self.most_per_topic:
            return "budget"
        if self.patience is not None and self.misses[topic] >= self.patience:
            return "patience"
        return None if self.policy.can_propose(topic, skip) else "empty"

    def _offer(self, topic: int, skip: Mask | None) -> Offer:
        lists = self.lists
        proposed = self.policy.propose(np.array([topic]), skip)
        place, entry = int(proposed.document[0]), int(proposed.entry[0])
        doc = lists.names.of(place, place + 1)[0]
        estimate = float(proposed.estimate[0])
        return Offer(lists.topics[topic], doc, estimate, lists.runs[int(lists.run[entry])], int(lists.rank[entry]))
