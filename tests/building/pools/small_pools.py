"""Small random runs, as dicts, for comparison with slow versions."""

from __future__ import annotations

import numpy as np

from tests.oracles.pool_policies import Lists


def random_lists(seed: int, topics: int = 3, runs: int = 5, documents: int = 30, deepest: int = 12) -> dict[str, Lists]:
    """{topic: {run: documents}}; some lists are short, some are missing, runs share many documents."""
    rng = np.random.default_rng(seed)
    lists: dict[str, Lists] = {}
    for topic in range(topics):
        lists[f"t{topic}"] = own = {}
        for run in range(runs):
            size = 0 if rng.random() < 0.1 and run else int(rng.integers(1, deepest + 1))
            chance = 1.0 / np.arange(1, documents + 1) ** rng.uniform(0.2, 1.2)
            chosen = rng.choice(documents, size, replace=False, p=chance / chance.sum())
            own[f"r{run}"] = [f"d{number:02d}" for number in chosen]
    return lists


def as_runs(lists: dict[str, Lists]) -> dict[str, dict[str, dict[str, float]]]:
    """{run: {topic: {doc: score}}}, as `PooledLists.of` takes them."""
    names = list(dict.fromkeys(run for own in lists.values() for run in own))
    return {
        run: {
            topic: {doc: float(-rank) for rank, doc in enumerate(own.get(run, []))}
            for topic, own in lists.items()
            if own.get(run)
        }
        for run in names
    }


def random_relevance(lists: dict[str, Lists], seed: int) -> dict[tuple[str, str], bool]:
    """Which documents are relevant: about a third, the ones with low numbers more often."""
    rng = np.random.default_rng(seed)
    pairs = sorted({(topic, doc) for topic, own in lists.items() for documents in own.values() for doc in documents})
    return {(topic, doc): bool(rng.random() < 0.8 / (1 + int(doc[1:]) / 8)) for topic, doc in pairs}
