"""Power: the planned one, and the one of the worst tenth of pairs of systems."""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome

from cranfield import comparison

SYSTEMS, DIFFERENCE = 20, 0.05


def cases() -> list[Case]:
    return [
        Case(
            "power of at least nine pairs in ten", name, f"variance from {topics} topics",
            partial(worst_tenth, spread, topics, SYSTEMS), wrong=0.1, trials=400,
            small=60 if topics == 50 and spread else 0,
        )
        for name, spread in (("pairs with the same variance", 0.0), ("pairs whose variances differ", 0.7))
        for topics in (10, 25, 50, 150)
    ] + [
        Case(
            "power of at least nine experiments in ten", "two systems", f"variance from {topics} topics",
            partial(worst_tenth, 0.0, topics, 2), wrong=0.1, trials=1000,
        )
        for topics in (10, 25, 50)
    ]  # fmt: skip


def worst_tenth(spread: float, topics: int, systems: int, rng: np.random.Generator) -> Outcome:
    """Plan an experiment, then give one pair of systems as many new topics: its power against the lower end."""
    deviations = 0.12 * np.exp(rng.normal(0, spread, systems))
    old = rng.beta(1.2, 2.8, (topics, 1)) + rng.normal(0, 1, (topics, systems)) * deviations
    plan = comparison.topic_set_size(old, difference=DIFFERENCE)
    first, second = rng.choice(systems, 2, replace=False)
    variance = float(deviations[first] ** 2 + deviations[second] ** 2)
    had = comparison.achieved_power(difference=DIFFERENCE, size=plan.topics, variance=variance).power
    return Outcome(had >= plan.range[0])
