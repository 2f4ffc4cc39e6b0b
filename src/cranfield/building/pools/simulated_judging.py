"""Let policies choose documents whose grades are known: one loop drives every policy, all topics at a time."""

from __future__ import annotations

import numpy as np

from cranfield.building.pools.pool_policy import Policy
from cranfield.building.pools.pooled_lists import Mask
from cranfield.types import Index64, Progress


def judging_order(policy: Policy, relevant: Mask, most: int | None = None, progress: Progress | None = None) -> Index64:
    """For each document, when a policy has it judged: 1 for the first of its topic, 0 if never.

    `relevant` says which documents are; `most` is the largest number of judgments of a topic.

    >>> from cranfield.building.pools.pool_methods import Method
    >>> from cranfield.building.pools.pooled_lists import PooledLists
    >>> lists = PooledLists.of({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}})
    >>> judging_order(Method.of("rrf").make(lists), np.array([True, False, False])).tolist()  # a, c, b
    [1, 2, 3]
    """
    place = np.zeros(policy.lists.size, dtype=np.int64)
    topics = np.flatnonzero(policy.left > 0)
    steps = int(policy.left.max(initial=0)) if most is None else min(most, int(policy.left.max(initial=0)))
    for step in range(1, steps + 1):
        documents = policy.propose(topics).document
        policy.learn(topics, documents, relevant[documents])
        place[documents] = step
        topics = topics[policy.left[topics] > 0]
        if progress is not None:
            progress(step, steps)
    return place
