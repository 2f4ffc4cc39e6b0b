"""How many documents of each topic are judged, if there is a budget: the rule that shares it over topics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.building.pools.pool_samples import shared
from cranfield.building.serve.project.judging_modes import Settings

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
        if settings.budget is None and settings.per_topic is None:
            return None
        most = math.inf if settings.per_topic is None else settings.per_topic // settings.overlap
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
