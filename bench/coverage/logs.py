"""Measures of a log."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow
from bench.coverage.case import Case, Outcome, covers
from bench.coverage.generators import USERS, Users

from cranfield.online.engines import open_engine
from cranfield.online.engines.engine import Engine
from cranfield.online.few_users import Part, user_intervals
from cranfield.online.moments import moments_of_sets

SMALL = {("CTR 0.05", 10), ("heavy users, clicks", 30), ("95 % zeros", 100)}


def cases() -> list[Case]:
    return [
        Case(
            "log measures, " + ("share" if kind.most == 1 else "sum"), data, f"{users} users", Logs(kind, users),
            trials=600, small=200 if (data, users) in SMALL else 0,
        )
        for data, kind in USERS.items()
        for users in kind.users
    ]  # fmt: skip


@cache
def engine() -> Engine:
    return open_engine("duckdb")


class Logs:
    """The intervals of many logs, computed in one scan and handed out one by one: a scan takes longer than a trial."""

    def __init__(self, kind: Users, users: int) -> None:
        self.kind, self.users = kind, users
        self.drawn: list[Outcome] = []

    def __call__(self, rng: np.random.Generator) -> Outcome:
        if not self.drawn:
            self.drawn = self.draw(rng, min(500, 100_000 // self.users))
        return self.drawn.pop()

    def draw(self, rng: np.random.Generator, logs: int) -> list[Outcome]:
        above, below = self.kind.draw(rng, logs * self.users)
        table = pyarrow.table({"log": np.repeat(np.arange(logs), self.users), "above": above, "below": below})
        frame, name = engine().read(table), "measure"
        moments = moments_of_sets(frame, {name: ("above", "below")}, ["log"])
        found = user_intervals(
            engine(), frame, moments, {name: moments[name].ratio("above", "below")},
            {name: [Part(1.0, "above", "below")]}, {name: "share" if self.kind.most == 1 else "positive"}, ["log"],
            0.95,
        )[name]  # fmt: skip
        ends = zip(found.low, found.high, found.doubtful, strict=True)
        return [covers(self.kind.truth, low, high, bool(said)) for low, high, said in ends]
