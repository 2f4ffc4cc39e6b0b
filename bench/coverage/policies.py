"""Off-policy estimates (`offpolicy`), and readers of RBP (`calibrate`) who click on a part of what they see.

The lists of `calibrate` are counted beforehand, as it counts them on an engine: last click, clicks and length.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from bench.coverage.case import Case, Outcome, covers
from scipy.special import expit
from scipy.stats import norm

from cranfield.online.calibration.reader_moves import most_likely
from cranfield.online.policies import off_policy

CALIBRATED = [(0.8, 0.4, 10), (0.8, 0.9, 10), (0.6, 0.3, 5), (0.9, 0.5, 10)]


@dataclass(frozen=True)
class World:
    """Contexts with actions, a logging policy that may be skewed, and a new one that prefers what people click on."""

    contexts: int
    rows: int
    evenness: float = 0.0
    """The parameter of the Dirichlet distribution of the policies; 0: the logging policy is uniform."""
    users: int = 0
    """Users, of whom half click 0.3 times and half 1.7 times as often; 0: each row is independent."""
    revenue: bool = False
    actions: int = 5

    def draw(self, rng: np.random.Generator) -> tuple[pa.Table, pa.Table, float]:
        """A log, the new policy, and its true value."""
        x_count, a_count = self.contexts, self.actions
        world = np.random.default_rng(5)
        new = world.dirichlet(np.full(a_count, self.evenness or 1.0), x_count)
        logged = np.full((x_count, a_count), 1 / a_count)
        if self.evenness:
            logged = 0.9 * world.dirichlet(np.full(a_count, self.evenness), x_count) + 0.1 / a_count
        clicks = world.beta(1, 3, (x_count, a_count)) / 1.7
        new = np.take_along_axis(np.sort(new, axis=1), clicks.argsort(axis=1).argsort(axis=1), axis=1)
        x = rng.integers(0, x_count, self.rows)
        a = (rng.random((self.rows, 1)) > np.cumsum(logged, axis=1)[x, : a_count - 1]).sum(axis=1)
        user = rng.integers(0, self.users or self.rows, self.rows)
        habit = np.where(rng.random(self.users) < 0.5, 0.3, 1.7)[user] if self.users else 1.0
        reward = (rng.random(self.rows) < habit * clicks[x, a]).astype(float)
        truth = float((new * clicks).sum(axis=1).mean())
        if self.revenue:
            reward, truth = reward * rng.gamma(4, 5, self.rows), truth * 20
        log = {"context": x, "action": a, "reward": reward, "propensity": logged[x, a]}
        if self.users:
            log["user"] = user
        choices = np.indices(new.shape).reshape(2, -1)
        policy = {"context": choices[0], "action": choices[1], "probability": new.ravel()}
        return pa.table(log), pa.table(policy), truth


WORLDS = {
    "uniform logging, many rows per cell": World(4, 400),
    "uniform logging, few rows per cell": World(100, 600),
    "skewed logging, many rows per cell": World(8, 1000, 0.7),
    "skewed logging, few rows per cell": World(100, 1000, 0.7),
    "users who differ, few rows per cell": World(60, 600, 3.0, users=40),
    "revenue, some rows per cell": World(20, 1000, 3.0, revenue=True),
}


def cases() -> list[Case]:
    persistences = [
        Case(
            "persistence of RBP", f"p = {p:g}, {clicks:.0%} of seen documents clicked", f"{lists:,} lists of {length}",
            partial(persistence, p, clicks, lists, length), trials=400,
            small=100 if (p, clicks, lists) == (0.8, 0.4, 3000) else 0,
        )
        for p, clicks, length in CALIBRATED
        for lists in (200, 3000)
    ]  # fmt: skip
    return [
        *persistences,
        *(
            Case(
                f"off-policy, {', '.join(names)}", data, f"{world.rows:,} rows, {world.contexts * world.actions} cells",
                partial(value, world, names), trials=100,
                small=12 if data.startswith("uniform logging, few") and names == ("direct",) else 0,
            )
            for data, world in WORLDS.items()
            for names in (("IPS", "SNIPS"), ("clipped",), ("direct",), ("DR",))
        ),
    ]  # fmt: skip


def value(world: World, names: tuple[str, ...], rng: np.random.Generator) -> Iterator[Outcome]:
    log, policy, truth = world.draw(rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.csv"
        pa.csv.write_csv(policy, path)
        result = off_policy(log, str(path), cluster="user" if world.users else "row")
    caution = any("caution" in note for note in result.notes)
    for estimate in result.estimates:
        if estimate.estimator in names:
            yield covers(truth, estimate.low, estimate.high, caution)


def persistence(p: float, clicks: float, lists: int, length: int, rng: np.random.Generator) -> Outcome:
    seen = np.arange(1, length + 1) <= rng.geometric(1 - p, lists)[:, None]
    clicked = seen & (rng.random((lists, length)) < clicks)
    number = clicked.sum(axis=1)
    last = length - np.argmax(clicked[:, ::-1], axis=1)
    counted = np.stack([last, number, np.full(lists, length)])[:, number > 0]
    kinds, times = np.unique(counted, axis=1, return_counts=True)
    place, information = most_likely(np.vstack([kinds, times]).astype(np.float64))
    reach = norm.ppf(0.975) * np.sqrt(np.linalg.inv(information)[0, 0])  # each list is a user
    return covers(p, float(expit(place[0] - reach)), float(expit(place[0] + reach)))
