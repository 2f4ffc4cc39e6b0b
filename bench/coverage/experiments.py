"""A/B tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow
from bench.coverage.case import Case, Outcome, covers
from bench.coverage.generators import USERS, Array, Users

from cranfield.online.engines import open_engine
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.arm_estimates import QuantileArm, quantile_effect

Values = Callable[[np.random.Generator, int], Array]
"""A number for each of some users."""

HALF_ZEROS = "half of the users 0"
VALUES: dict[str, Values] = {
    "continuous": lambda rng, n: rng.lognormal(3, 0.6, n),
    HALF_ZEROS: lambda rng, n: rng.poisson(3, n) * (rng.random(n) < 0.526),  # 0.5 of them are 0
    "Poisson counts": lambda rng, n: rng.poisson(2.674, n),  # half of them are 2 or less
    "steps of 10 ms": lambda rng, n: 10 * np.round(rng.lognormal(3, 0.6, n) / 10),
    "three values": lambda rng, n: rng.choice([1, 2, 3], n, p=[0.3, 0.21, 0.49]),
}


def cases() -> list[Case]:
    found = []
    for data, draw in VALUES.items():
        for users in (10, 100, 1_000):
            run = partial(same_quantile, draw, users, 0.5)
            found.append(Case("median(), p", data, f"{users:,} an arm", run, trials=2_000))
    for users in (50, 200, 1_000):
        run = partial(same_quantile, VALUES["steps of 10 ms"], users, 0.95)
        found.append(Case("p95(), p", "steps of 10 ms", f"{users:,} an arm", run, trials=2_000))
    for data in ("continuous", "Poisson counts"):
        run = partial(larger, VALUES[data], 400, 1.5)
        found.append(Case("relative difference of median()", f"{data}, B 1.5 times A", "400 an arm", run, trials=2_000))
    run = partial(same, VALUES[HALF_ZEROS], (1_000, 1_000), "median(x)")
    found.append(Case("median() of a table, p", HALF_ZEROS, "1,000 an arm", run, trials=300, small=25))
    for data, kind in USERS.items():
        ratio = kind.below
        metric = "x/below" if ratio else "x"
        name = "ratio of sums" if ratio else "mean"
        for sizes in kind.arms:
            small = 20 if (data, sizes) == ("95 % zeros", (900, 100)) else 0
            size = " and ".join(f"{size:,}" for size in sizes)
            run = partial(same_users, kind, sizes, metric)
            found.append(Case(f"{name}, p", data, f"{size} users", run, trials=200, small=small))
    for successes, name in ((0.0, "all 0"), (1.0, "all 1")):
        run = partial(one_sided_share, successes)
        found.append(Case("share(), bootstrap", f"control {name}", "30 an arm", run, trials=100,
                          small=10 if successes else 0))  # fmt: skip
    return found


@cache
def engine() -> Any:
    """One engine for all experiments: to start one takes longer than to analyse them."""
    return open_engine("duckdb")


def table(arms: tuple[int, ...], **columns: Array) -> Any:
    names = np.repeat(["A", "B", "C"][: len(arms)], arms)
    return pyarrow.table({"person": np.arange(len(names)), "arm": names, **columns})


def outcome(result: Any) -> Outcome:
    """Whether an experiment without an effect ends without one."""
    row = result.rows[0]
    said = any(note.startswith("caution") and row.metric in note for note in result.notes)
    return Outcome(None if np.isnan(row.effect.p) else bool(row.effect.p >= 0.05), said)


def same(draw: Values, arms: tuple[int, int], metric: str, rng: np.random.Generator) -> Outcome:
    return outcome(analyse(table(arms, x=draw(rng, sum(arms))), metric, engine=engine()))


def same_quantile(draw: Values, users: int, q: float, rng: np.random.Generator) -> Outcome:
    """What `analyse` does with the values of two arms, without the time that a database needs."""
    first, second = (QuantileArm.of(draw(rng, users), q) for _ in "AB")
    p = quantile_effect(first, second, alpha=0.05).p
    return Outcome(None if np.isnan(p) else bool(p >= 0.05))


def larger(draw: Values, users: int, factor: float, rng: np.random.Generator) -> Outcome:
    """The treatment's values are those of the control's distribution times a factor."""
    arms = QuantileArm.of(draw(rng, users), 0.5), QuantileArm.of(factor * draw(rng, users), 0.5)
    effect = quantile_effect(*arms, alpha=0.05)
    return covers(factor - 1, effect.relative_low, effect.relative_high)


def same_users(kind: Users, arms: tuple[int, int], metric: str, rng: np.random.Generator) -> Outcome:
    x, below = kind.draw(rng, sum(arms))
    return outcome(analyse(table(arms, x=x, below=below), metric, engine=engine(), shares={"A": arms[0], "B": arms[1]}))


def one_sided_share(control: float, rng: np.random.Generator) -> Outcome:
    """All users of the control are alike; the treatment's share is 0.9 or 0.1."""
    x = np.concatenate([np.full(30, control), rng.random(30) < abs(control - 0.1)]).astype(float)
    effect = analyse(
        table((30, 30), x=x), "share(x)", method="bootstrap", unit="person", resamples=200, engine=engine()
    )
    row = effect.rows[0].effect
    return Outcome(row.high > row.low)
