"""Simulated time-biased gain of many lists: the gain of each run and topic, with intervals of the simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.lists import Assessed
from cranfield.evaluation.evaluator import score
from cranfield.evaluation.simulated_time import check_simulation, simulated_users
from cranfield.measures.time import TBG
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.scores.t_and_normal import normal_quantile
from cranfield.types import Array, Progress

PREFIX = "simulated "
"""What is put before the name of TBG."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedScores(Record):
    """Simulated time-biased gain of runs: means over topics, with the interval that comes from simulated users."""

    facts: ClassVar[tuple[str, ...]] = ("measure", "users", "spread", "confidence", "seed")

    measure: str
    scores: Scores
    """The simulated gain of each run and topic."""
    low: Array
    """runs × topics: the ends of the interval of each gain."""
    high: Array
    expected: Array
    """TBG of each run, which puts the expected time to each document in the place of the time of each user."""
    error: Array
    """The standard error of each run's mean, from the simulation alone."""
    deviation: Array
    """The standard deviation over users, as the root of its mean square over topics."""
    seconds: Array
    """The mean time of a user to the last relevant document."""
    z: float
    users: int
    spread: float
    confidence: float
    seed: int

    @property
    def notes(self) -> tuple[str, ...]:
        how = f"{100 * self.confidence:g}% interval for the mean of all simulated users, not for other topics"
        settings = f"{self.users:,} users for each list, seed {self.seed}"
        pace = f"; pace of users: lognormal, {self.spread:g}" if self.spread else ""
        return (*self.scores.notes, f"low, high: {how}; {settings}{pace}", "seconds: to the last relevant document")

    def columns(self) -> dict[str, NDArray[Any]]:
        """run, topics, gain, low, high, TBG, deviation, seconds."""
        gain = self.scores.means()[0]
        return {
            "run": np.array(self.scores.runs, dtype=object),
            "topics": np.full(len(gain), len(self.scores.topics)),
            "gain": gain,
            "low": np.maximum(0.0, gain - self.z * self.error),
            "high": gain + self.z * self.error,
            self.measure: self.expected,
            "deviation": self.deviation,
            "seconds": self.seconds,
        }


def simulated_scores(
    lists: Assessed,
    measure: TBG | None = None,
    *,
    users: int = 1000,
    spread: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    missing: str = "zero",
    progress: Progress | None = None,
) -> SimulatedScores:
    """Simulate `users` readers of every list, as `simulated_tbg` does for one list.

    A topic is read by the same users in all runs, as far as chance allows: they have the same random numbers.

    >>> from cranfield.assessed.join import JoinOptions, join
    >>> runs = {"a": {"q": {"d1": 3.0, "x": 2.0}}, "b": {"q": {"x": 3.0, "d1": 2.0}}}
    >>> result = simulated_scores(join({"q": {"d1": 1}}, runs, JoinOptions(lengths={"d1": 500, "x": 1000})))
    >>> result.columns()["gain"].round(1).tolist()  # 0.64 · 0.77, and less after the time for x
    [0.5, 0.5]
    """
    model = TBG() if measure is None else measure
    check_simulation(model, users, spread, confidence, "simulated_scores")
    expected = score(lists, [model], missing=missing)
    z = float(normal_quantile(0.5 - confidence / 2))
    every = lists.every(model.k)
    relevant = lists.counts(every.grade, model.rel)
    reading = model.per_word * model.text(lists, every) + model.overhead
    values = expected.values.copy()
    shape = values.shape[1:]
    errors, spreads, seconds = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for row in range(lists.rows):
        if progress is not None:
            progress(row, lists.rows)
        begin, end = every.start[row : row + 2].tolist()
        place = (lists.run[row], lists.topic[row])
        last = np.flatnonzero(relevant[begin:end])
        if not len(last) or np.isnan(values[0][place]):
            continue
        own = slice(begin, begin + int(last[-1]) + 1)  # nothing is gained below the last relevant document
        rng = np.random.default_rng([seed, int(lists.topic[row])])
        gains, spent = simulated_users(model, relevant[own], reading[own], users, spread, rng)
        values[0][place] = gains.mean()
        spreads[place] = gains.std(ddof=1)
        errors[place] = spreads[place] / np.sqrt(users)
        seconds[place] = spent.mean()
    used = ~np.isnan(values[0])
    count = np.maximum(used.sum(axis=1), 1)
    scores = replace(expected, measures=(f"{PREFIX}{model}",), values=values)
    return SimulatedScores(
        str(model), scores, np.maximum(0.0, values[0] - z * errors), values[0] + z * errors, expected.means()[0],
        np.sqrt((errors**2 * used).sum(axis=1)) / count, np.sqrt((spreads**2 * used).sum(axis=1) / count),
        (seconds * used).sum(axis=1) / count, z, users, spread, confidence, seed,
    )  # fmt: skip
