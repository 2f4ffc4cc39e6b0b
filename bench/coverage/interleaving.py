"""Interleaving (`interleave analyse`): users who click alike, heavy users, many ties, several systems, repeated looks.

Systems are equally good. Every user has a taste: a share of impressions in which they prefer one of two systems, or a
worth of each system. Users are drawn with their tastes, and tastes are as often for one system as for another.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from numpy.typing import NDArray

from cranfield.online.interleaving import analyse_interleaving
from cranfield.online.interleaving.interleaving_analysis import InterleavingAnalysis
from cranfield.online.interleaving.preference_counts import count_preferences

Array = NDArray[np.float64]

SIZES = {
    "one impression a user": lambda rng, users: np.ones(users, dtype=int),
    "ten impressions a user": lambda rng, users: np.full(users, 10),
    "heavy users": lambda rng, users: np.minimum(1 + (rng.pareto(1.2, users) * 3).astype(int), 2000),
}
TASTES = {"users who click alike": 0.35, "users without a taste": 0.0}


def cases() -> list[Case]:
    several = [
        Case(
            "any system called better", "users who click alike", f"{systems} systems, 100 users",
            partial(any_better, systems, 100), trials=300, small=80 if systems == 8 else 0,
        )
        for systems in (4, 6, 8)
    ]  # fmt: skip
    pairs = [
        Case(
            f"{figure} of two systems", f"{taste}, {size}", f"{users} users",
            partial(two_systems, figure, users, size, TASTES[taste]), trials=400,
            small=100 if (figure, users, size) == ("p", 30, "ten impressions a user") and TASTES[taste] else 0,
        )
        for figure in ("p", "interval by user")
        for size in SIZES
        for taste in TASTES
        for users in (6, 30, 200)
        if not (size == "one impression a user" and TASTES[taste])
    ]  # fmt: skip
    looks = [
        Case(
            "p any time, twenty looks", taste, f"{users} users", partial(looked, users, TASTES[taste]), trials=100,
            small=50 if users == 30 and TASTES[taste] else 0,
        )
        for taste in TASTES
        for users in (10, 30, 200)
    ]  # fmt: skip
    sparse = [
        Case("interval by user", "95 % ties, all others won", f"{users} users", partial(mostly_ties, users), trials=500)
        for users in (5, 10, 30, 200)
    ]
    return [*several, *pairs, *looks, *sparse]


def any_better(systems: int, users: int, rng: np.random.Generator) -> Outcome:
    """Clicks give credit to a system; each user has worths of systems, ten impressions, and often no click."""
    worth = rng.dirichlet(np.full(systems, 0.5), users)
    clicks = np.stack([rng.multinomial(1, row, size=10) for row in worth]).reshape(-1, systems)
    credit = clicks * (rng.random((len(clicks), 1)) < 0.6)
    names = [str(user) for user in np.repeat(np.arange(users), 10)]
    found = analyse_interleaving(count_preferences([f"s{n}" for n in range(systems)], credit, names))
    return Outcome(not any(pair.better for pair in found.pairs))


def two_systems(figure: str, users: int, size: str, taste: float, rng: np.random.Generator) -> Outcome:
    found, _ = experiment(users, SIZES[size](rng, users), taste, rng)
    pair = found.pairs[0]
    if figure == "p":
        return Outcome(bool(pair.p >= 0.05))
    return covers(0.0, pair.user_low, pair.user_high)


def looked(users: int, taste: float, rng: np.random.Generator) -> Outcome:
    """Users come back again and again, and somebody looks at the results twenty times."""
    _, (credit, names) = experiment(users, np.full(users, 40), taste, rng)
    order = rng.permutation(len(credit))
    credit, shuffled = credit[order], [names[place] for place in order]
    sizes = np.geomspace(20, len(credit), 20).astype(int)
    small = (
        analyse_interleaving(count_preferences(["a", "b"], credit[:n], shuffled[:n])).pairs[0].p_any_time < 0.05
        for n in sizes.tolist()
    )
    return Outcome(not any(small))


def mostly_ties(users: int, rng: np.random.Generator) -> Outcome:
    """One system wins every decided impression: Δ = 0.025."""
    credit = np.stack([rng.random(2 * users) < 0.05, np.zeros(2 * users)], axis=1)
    names = [str(user) for user in np.repeat(np.arange(users), 2)]
    pair = analyse_interleaving(count_preferences(["a", "b"], credit, names)).pairs[0]
    return covers(0.025, pair.user_low, pair.user_high)


def experiment(
    users: int, sizes: NDArray[np.int64], taste: float, rng: np.random.Generator
) -> tuple[InterleavingAnalysis, tuple[Array, list[str]]]:
    """Two equal systems; 40 % of impressions are ties."""
    owner = np.repeat(np.arange(users), sizes)
    share = 0.5 + taste * rng.choice([-1, 1], users)
    outcome = np.where(rng.random(len(owner)) < share[owner], 1.0, -1.0) * (rng.random(len(owner)) < 0.6)
    credit = np.stack([np.maximum(outcome, 0), np.maximum(-outcome, 0)], axis=1)
    names = owner.astype(str).tolist()
    return analyse_interleaving(count_preferences(["a", "b"], credit, names)), (credit, names)
