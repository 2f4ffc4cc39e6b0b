"""Time-biased gain by the simulation of many users, for one list or for runs, with intervals of the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import score
from cranfield.measures import Measure
from cranfield.measures.readers.time import TBG
from cranfield.notes import method_note
from cranfield.record import OneRow, Record
from cranfield.scores.scores import Scores
from cranfield.scores.t_and_normal import normal_quantile
from cranfield.text import counted
from cranfield.types import Array, Progress

BLOCK = 2_000_000
"""How many documents of users are simulated at a time, to bound memory."""


@dataclass(frozen=True, repr=False)
class SimulatedGain(OneRow):
    """The mean gain of simulated users, its interval, and how much users differ."""

    facts = ("level", "seed")

    gain: float
    low: float
    high: float
    deviation: float
    """The standard deviation over users."""
    seconds: float
    """The mean time to the end of the list."""
    users: int
    level: float
    seed: int


def simulated_tbg(
    grades: Sequence[float | None],
    lengths: Sequence[float],
    measure: TBG | None = None,
    *,
    users: int = 10_000,
    spread: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
) -> SimulatedGain:
    r"""Time-biased gain of a list by simulation: each user opens and saves documents by chance, and has an own time.

    .. math:: \frac{1}{n} \sum_u \sum_r \text{saved}_u(r)\, 2^{-T_u(r)/h}

    At each document, a user reads the summary, opens the document with the probability of a click, and saves it, if it
    is relevant, with the probability of saving. T_u(r) is the time that this user needed to reach rank r. The user goes
    on as the decay says, so that a document saved at time t counts 2^(−t/h). With `spread` s, users differ in their
    pace: all times of a user are multiplied by a lognormal factor with mean 1 and standard deviation s of its
    logarithm.

    TBG puts the expected time in place of T_u. The decay is convex, so the expectation of the simulated gain is never
    below TBG; both are equal where times do not vary: on the first document, or if every document is opened. Without a
    spread, the simulation converges to

    .. math:: \sum_r g(r) \prod_{k<r} 2^{-T_S/h} \left(1 - c_k + c_k\,2^{-T_D(k)/h}\right)

    where c_k is the probability of a click. The interval is for the mean over users, by the normal approximation.
    Reference: Smucker & Clarke: Stochastic Simulation of Time-Biased Gain, CIKM 2012, 2040-2044

    >>> result = simulated_tbg([1, 0, 1], [500, 1000, 300], users=2000)
    >>> bool(result.low < TBG().of([1, 0, 1], lengths=[500, 1000, 300]) < result.high)
    True
    """
    model = TBG() if measure is None else measure
    caller = "simulated_tbg"
    check_simulation(model, users, spread, level, caller)
    if len(grades) != len(lengths):
        raise UsageError(f"{caller}: {len(grades)} grades, but {len(lengths)} lengths; give one for each document")
    for length in lengths:
        check.finite(caller, length=length)
        check.not_negative(caller, length=length)
    relevant = np.array([grade is not None and grade >= model.rel for grade in list(grades)[: model.k]], dtype=bool)
    reading = model.per_word * np.array(list(lengths)[: model.k], dtype=np.float64) + model.overhead
    gains, seconds = simulated_users(model, relevant, reading, users, spread, np.random.default_rng(seed))
    mean, deviation = float(gains.mean()), float(gains.std(ddof=1))
    half = float(normal_quantile(0.5 - level / 2)) * deviation / np.sqrt(users)
    return SimulatedGain(mean, max(0.0, mean - half), mean + half, deviation, float(seconds.mean()), users, level, seed)


def check_simulation(model: Measure, users: int, spread: float, level: float, caller: str) -> None:
    """Raise an error if a parameter of a simulation is out of range."""
    check.whole(caller, users=users)
    check.finite(caller, spread=spread, level=level)
    check.not_negative(caller, spread=spread)
    if not 0 < level < 1:
        raise check.wrong(caller, "level", level, "between 0 and 1")
    if users < 2:
        raise check.wrong(caller, "users", users, "2 or more, to have an interval")
    if not isinstance(model, TBG) or model.views:
        raise UsageError(f"{caller}: {model}, must be TBG without views")


def simulated_users(
    model: TBG, relevant: NDArray[np.bool_], reading: Array, users: int, spread: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """The gain and the time of each user."""
    click = np.where(relevant, model.click_rel, model.click_non)
    gains, seconds = np.zeros(users), np.zeros(users)
    step = max(1, BLOCK // max(1, len(relevant)))
    for begin in range(0, users, step):
        block = slice(begin, min(users, begin + step))
        count = block.stop - block.start
        pace = np.exp(spread * rng.standard_normal(count) - spread**2 / 2)[:, None]
        opened = rng.random((count, len(relevant))) < click
        saved = opened & relevant & (rng.random((count, len(relevant))) < model.save_rel)
        spent = pace * (model.summary + opened * reading)
        reached = np.cumsum(spent, axis=1) - spent
        gains[block] = (saved * np.exp2(-reached / model.h)).sum(axis=1)
        seconds[block] = spent.sum(axis=1)
    return gains, seconds


PREFIX = "simulated "
"""What is put before the name of TBG."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedScores(Record):
    """Simulated time-biased gain of runs: means over topics, with the interval that comes from simulated users."""

    facts: ClassVar[tuple[str, ...]] = ("measure", "users", "spread", "level", "seed")

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
    level: float
    seed: int

    @property
    def notes(self) -> tuple[str, ...]:
        how = f"{100 * self.level:g}% interval for the mean of all simulated users, not for other topics"
        settings = f"{counted(self.users, 'user')} for each list, seed {self.seed}"
        pace = f"; pace of users: lognormal, {self.spread:g}" if self.spread else ""
        return (
            *self.scores.notes,
            method_note(f"low, high: {how}; {settings}{pace}"),
            "seconds: to the last relevant document",
        )

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


def simulate_time(
    lists: Assessed,
    measure: TBG | None = None,
    *,
    users: int = 1000,
    spread: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
    missing: str = "zero",
    progress: Progress | None = None,
) -> SimulatedScores:
    """Simulate `users` readers of every list, as `simulated_tbg` does for one list.

    A topic is read by the same users in all runs, as far as chance allows: they have the same random numbers.

    >>> from cranfield.assessed.join import JoinOptions, join
    >>> runs = {"a": {"q": {"d1": 3.0, "x": 2.0}}, "b": {"q": {"x": 3.0, "d1": 2.0}}}
    >>> result = simulate_time(join({"q": {"d1": 1}}, runs, JoinOptions(lengths={"d1": 500, "x": 1000})))
    >>> result.columns()["gain"].round(1).tolist()  # 0.64 · 0.77, and less after the time for x
    [0.5, 0.5]
    """
    model = TBG() if measure is None else measure
    check_simulation(model, users, spread, level, "simulate_time")
    expected = score(lists, [model], missing=missing)
    z = float(normal_quantile(0.5 - level / 2))
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
        (seconds * used).sum(axis=1) / count, z, users, spread, level, seed,
    )  # fmt: skip
