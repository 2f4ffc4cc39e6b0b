"""Intervals of ranks: the true ranks of all systems at once, and of the best one."""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome

from cranfield.comparison.leaderboard import rank_intervals


def cases() -> list[Case]:
    """A tenth of the usual trials: each one compares all pairs of up to 30 systems."""
    kinds = {"normal": normal, "scores between 0 and 1": beta, "mostly 0": zeros}
    sizes = {
        "10 systems within .01": (10, 0.01),
        "10 systems within .1": (10, 0.1),
        "30 systems within .05": (30, 0.05),
    }
    return [
        Case("rank of the true best", f"{name}, {kind}", f"{topics} topics",
             partial(best, draw, systems, spread, topics), trials=300 if systems == 10 else 60,
             small=40 if (kind, topics, systems, spread) == ("normal", 25, 10, 0.01) else 0)
        for name, (systems, spread) in sizes.items()
        for kind, draw in kinds.items()
        for topics in (25, 50)
    ]  # fmt: skip


def normal(rng: np.random.Generator, means: np.ndarray, topics: int) -> np.ndarray:
    return means[:, None] + rng.normal(0, 0.2, topics) + rng.normal(0, 0.1, (len(means), topics))


def beta(rng: np.random.Generator, means: np.ndarray, topics: int) -> np.ndarray:
    """Scores with their own noise."""
    return rng.beta(4 * means[:, None], 4 * (1 - means[:, None]), (len(means), topics))


def zeros(rng: np.random.Generator, means: np.ndarray, topics: int) -> np.ndarray:
    """0 on two topics of three, the same ones for all systems."""
    return np.where(rng.random(topics) < 2 / 3, 0.0, beta(rng, means, topics))


def best(draw, systems: int, spread: float, topics: int, rng: np.random.Generator) -> Outcome:  # type: ignore[no-untyped-def]
    means = 0.3 + np.linspace(0, spread, systems)
    low, high = rank_intervals(draw(rng, means, topics))
    return Outcome(bool(low[-1] <= 1 <= high[-1]))
