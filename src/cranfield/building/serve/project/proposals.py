"""Where documents come from: the order of a pool file, or a policy that learns from judgments, within a budget."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cranfield.building.pools.pool_samples import shared
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.building.pools.pooling import Pooling
from cranfield.building.serve.project.judging_modes import Settings

Item = tuple[str, str]
"""Topic and document."""


TOGETHER = 5
"""Documents that a policy chooses at a time, so that their order need not tell which it thinks best."""


class Proposals(Protocol):
    """A source of documents to judge."""

    batch: int | None
    """How many documents are proposed at a time if their order must not tell their ranks; None: all of a topic."""
    remembers: bool
    """Are judged documents proposed again after a start?"""

    def begin(self, topic: str, judgments: Iterable[tuple[str, float]]) -> None:
        """Somebody works on a topic for the first time since the start; (document, grade) of what is judged in it."""

    def next(self, topic: str) -> tuple[Item, float | None] | None:
        """The next document of a topic with its estimate, or None if the topic has no more."""

    def tell(self, topic: str, doc: str, grade: float) -> None:
        """A document was judged, whether it was proposed or not. Only its first grade counts."""

    def forget(self, topic: str, doc: str) -> None:
        """A document has no judgment any more."""


__all__ = ["Adaptive", "InOrder", "Item", "PooledLists", "Proposals"]


class InOrder:
    """The documents of a pool in the order of its file.

    >>> order = InOrder()
    >>> order.put("2", ["b"])
    >>> order.next("2"), order.next("2")
    ((('2', 'b'), None), None)
    """

    batch: int | None = None
    remembers = True

    def __init__(self) -> None:
        self._left: dict[str, deque[str]] = {}

    def put(self, topic: str, docs: Iterable[str]) -> None:
        """Propose these documents of a topic."""
        self._left[topic] = deque(docs)

    def begin(self, topic: str, judgments: Iterable[tuple[str, float]]) -> None:
        """The order of a file does not depend on judgments."""

    def next(self, topic: str) -> tuple[Item, float | None] | None:
        docs = self._left.get(topic)
        return ((topic, docs.popleft()), None) if docs else None

    def tell(self, topic: str, doc: str, grade: float) -> None:
        """The order of a file does not depend on judgments."""

    def forget(self, topic: str, doc: str) -> None:
        """The order of a file does not depend on judgments."""


class Adaptive:
    """Documents chosen by a policy while people judge. Its state is rebuilt by telling the judgments again.

    >>> lists = PooledLists.of({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}})
    >>> adaptive = Adaptive(lambda: Pooling(lists, "move-to-front"))
    >>> adaptive.next("q")[0]
    ('q', 'a')
    """

    batch: int | None = TOGETHER
    remembers = False

    def __init__(self, make: Callable[[], Pooling]) -> None:
        self._make = make
        self._pooling: Pooling | None = None
        self._told: dict[str, dict[str, float]] = defaultdict(dict)
        self._proposed: dict[str, set[str]] = defaultdict(set)

    def begin(self, topic: str, judgments: Iterable[tuple[str, float]]) -> None:
        """Topics do not affect each other, so that each can be told when it is needed."""
        told = self._told[topic]
        for doc, grade in judgments:
            told.setdefault(doc, grade)
        if self._pooling is not None:
            self._pooling.replay((topic, doc, grade) for doc, grade in told.items())

    def next(self, topic: str) -> tuple[Item, float | None] | None:
        if self._pooling is None:
            told = ((topic, doc, grade) for topic, docs in self._told.items() for doc, grade in docs.items())
            self._pooling = self._make().replay(told)
        if topic not in self._pooling.lists.topic_number:
            return None
        out = [(topic, doc) for doc in self._proposed[topic] if doc not in self._told[topic]]
        offer = self._pooling.next(topic, out)
        if offer is None:
            return None
        self._proposed[topic].add(offer.doc)
        return (topic, offer.doc), offer.estimate

    def tell(self, topic: str, doc: str, grade: float) -> None:
        if doc not in self._told[topic]:
            self._told[topic][doc] = grade
            if self._pooling is not None:
                self._pooling.tell(topic, doc, grade)

    def forget(self, topic: str, doc: str) -> None:
        if self._told[topic].pop(doc, None) is not None:
            self._pooling = None


STEP = 10
"""Documents that a topic gets at a time, if the budget follows relevance."""
RECENT = 10
"""The last judged documents of a topic, by which topics are compared then."""


@dataclass(frozen=True)
class TopicBudgets:
    """The documents that may be judged: of each topic, and in all.

    >>> budgets = TopicBudgets.of(Settings(budget=10), {"1": 2, "2": 90, "3": 90})
    >>> [budgets.left(topic, {"2": 1}) for topic in "123"]
    [2, 3, 4]
    """

    sure: Mapping[str, int]
    """The documents that each topic gets in any case."""
    total: int
    most: float
    """The most documents of a topic."""

    @classmethod
    def of(cls, settings: Settings, sizes: Mapping[str, int]) -> TopicBudgets | None:
        """The budget of each topic, from the number of its documents; None if everything is judged."""
        if settings.budget is None and settings.most_per_topic is None:
            return None
        most = math.inf if settings.most_per_topic is None else settings.most_per_topic // settings.overlap
        bounded = {topic: int(min(size, most)) for topic, size in sizes.items()}
        total = sum(bounded.values())
        if settings.budget is None:
            return cls(bounded, total, most)
        total = min(total, settings.budget // settings.overlap)
        surely = total if settings.share == "equal" else total // 2
        parts = shared(surely, np.array(list(bounded.values()), dtype=np.int64)).tolist()
        return cls(dict(zip(bounded, parts, strict=True)), total, most)

    def left(self, topic: str, started: Mapping[str, int]) -> int:
        """How many more documents may be started in a topic, without a further step."""
        have, sure = started.get(topic, 0), self.sure.get(topic, 0)
        if have < sure:
            return sure - have
        steps = math.ceil((have - sure) / STEP)
        return int(max(0, min(sure + steps * STEP - have, self.unshared(started), self.most - have)))

    def unshared(self, started: Mapping[str, int]) -> int:
        """The documents of the budget that no topic has yet."""
        topics = self.sure.keys() | started.keys()
        return self.total - sum(max(started.get(topic, 0), self.sure.get(topic, 0)) for topic in topics)

    def further(self, started: Mapping[str, int], recent: Callable[[str], Sequence[bool]]) -> Iterator[tuple[str, int]]:
        """The topics that may get a further step, and its size; first those with most relevant documents of late."""
        unshared = self.unshared(started)
        if unshared > 0:
            share = {topic: relevant_share(recent(topic)) for topic in self.sure}
            for topic in sorted(self.sure, key=lambda topic: (-share[topic], started.get(topic, 0))):
                size = min(STEP, unshared, self.most - started.get(topic, 0))
                if size > 0:
                    yield topic, int(size)


def relevant_share(relevant: Sequence[bool]) -> float:
    """The share of the last judged documents that are relevant; (r + 1) / (n + 2), so that few say little.

    >>> relevant_share([True, False, True, True])
    0.6666666666666666
    """
    return (sum(relevant) + 1) / (len(relevant) + 2)
