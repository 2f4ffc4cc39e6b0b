"""Efficiency beside effectiveness: seconds per query, and the runs that no other run beats in both, with intervals."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.column_names import COLUMNS
from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import TOPIC, Numbers, Schema, Words
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, column
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Table
from cranfield.text import counted, listed
from cranfield.types import Array, Index64

TIMES = {"mean": "mean", "median": "median", "p95": "95th percentile"}
"""{name: description} of the statistics of seconds, in the order of `Efficiency.seconds`."""

Times = Mapping[str, Mapping[str, float]] | PathLike
"""{run: {topic: seconds}}, or a file with lines of run, topic and seconds."""


@dataclass(frozen=True, eq=False, repr=False)
class Efficiency(Record):
    """The mean score and the seconds per query of every run, and which runs are on the Pareto front."""

    figure = "describe_efficiency"
    facts = ("time",)

    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    runs: Annotated[tuple[str, ...], column("run", axis=True)]
    effectiveness: Annotated[Array, column(over="measures runs")]
    """measures × runs: mean scores."""
    seconds: Annotated[Array, column(*TIMES, over="runs")]
    """statistics (`TIMES`) × runs; NaN for a run without times."""
    timed: Annotated[Index64, column("topics", over="runs")]
    """The number of topics with a time, for each run."""
    front: Annotated[NDArray[np.bool_], column(over="measures runs")]
    """measures × runs: no other run is at least as good and as fast, and better in one of the two."""
    time: str
    """The statistic of seconds by which the front was found."""
    lower_is_better: tuple[bool, ...]
    notes: tuple[str, ...]

    def table(self) -> Table:
        """A row per run, fastest first: means of the measures, seconds per query, and the Pareto front."""
        several = len(self.measures) > 1
        fronts = [f"front ({name})" if several else "front" for name in self.measures]
        better = ["lower" if lower else "higher" for lower in self.lower_is_better]
        columns = (
            Column("run"),
            *(Column(name, "number", side) for name, side in zip(self.measures, better, strict=True)),
            *(Column(f"{name} s", "number", "lower") for name in TIMES),
            *(Column(name) for name in fronts),
        )
        order = np.argsort(self.seconds[list(TIMES).index(self.time)], kind="stable")  # NaN last
        rows: list[tuple[Cell, ...]] = []
        for r in order.tolist():
            marks = ("yes" if on else "" for on in self.front[:, r].tolist())
            rows.append((self.runs[r], *self.effectiveness[:, r].tolist(), *self.seconds[:, r].tolist(), *marks))
        return Table(columns, tuple(rows), "Effectiveness and seconds per query", self.notes)


def efficiency(scores: Scores, times: Times, *, time: str = "mean") -> Efficiency:
    """The mean score of each run beside its seconds per query, and the Pareto front of both.

    times: {run: {topic: seconds}}, or a file with lines of run, topic and seconds. Only topics of the scores count.
    time: the statistic of seconds that the front is found by: `mean`, `median` or `p95`, the 95th percentile (linear
    between neighbouring values, as numpy computes it). A run is on the front if no other run is at least as effective
    and at least as fast, and better in one of the two. A run without times is not on the front.

    >>> scores = Scores.from_matrix([[0.2, 0.5, 0.4], [0.4, 0.5, 0.4]], ["bm25", "dense", "slow"], measure="AP")
    >>> times = {run: {"1": each, "2": each} for run, each in {"bm25": 0.1, "dense": 0.3, "slow": 0.9}.items()}
    >>> efficiency(scores, times).front.tolist()
    [[True, True, False]]
    """
    check.one_of("efficiency", tuple(TIMES), time=time)
    if not isinstance(times, Mapping):
        times = read_times(times)
    known = [run for run in scores.runs if run in times]
    if not known:
        named, timed = (listed(map(repr, names)) for names in (scores.runs, times))
        raise UsageError(f"efficiency: no run has times; the runs are {named}, those with times {timed}")
    seconds, counts = np.full((len(TIMES), len(scores.runs)), np.nan), np.zeros(len(scores.runs), dtype=np.int64)
    without = []
    for r, run in enumerate(scores.runs):
        of_run = times.get(run, {})
        values = np.array([float(of_run[topic]) for topic in scores.topics if topic in of_run])
        if not np.all((values >= 0) & np.isfinite(values)):
            raise UsageError(f"efficiency: {run!r} has a time below 0, or one that is not a number")
        counts[r] = len(values)
        if len(values):
            seconds[:, r] = values.mean(), np.median(values), np.quantile(values, 0.95)
        else:
            without.append(run)
    if len(without) == len(scores.runs):
        example = next(iter(times[known[0]]), "none")
        raise UsageError(f"efficiency: no topic of the scores has a time; the first topic with one is {example!r}")
    from cranfield.measures.property_tables import lower_is_better

    lower = tuple(lower_is_better(name) for name in scores.measures)
    means, cost = scores.means(), seconds[list(TIMES).index(time)]
    gain = means * np.where(lower, -1.0, 1.0)[:, None]
    notes = [*scores.notes, f"front: no other run is as effective and as fast by the {TIMES[time]} of seconds"]
    if without:
        notes.append(f"{counted(len(without), 'run')} without times: {listed(without)}")
    few = [run for run, count in zip(scores.runs, counts.tolist(), strict=True) if 0 < count < len(scores.topics)]
    if few:
        notes.append(caution_note(f"some topics have no time, and do not count in seconds: {listed(few, noun='runs')}"))
    front = np.stack([pareto_front(row, cost) for row in gain])
    return Efficiency(
        scores.measures, scores.runs, means, seconds, counts, front, time, lower, tuple(dict.fromkeys(notes))
    )


def pareto_front(gain: Array, cost: Array) -> NDArray[np.bool_]:
    """Which points no other point dominates: at least as high a gain and as low a cost, and better in one of them.

    A point without a value is not on the front, and dominates nothing.

    >>> pareto_front(np.array([0.2, 0.5, 0.4, 0.5]), np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [True, True, True, False]
    """
    defined = ~(np.isnan(gain) | np.isnan(cost))
    order = np.lexsort((-gain, cost))  # fastest first, of equally fast ones the best first
    order = order[defined[order]]
    front = np.zeros(len(gain), dtype=bool)
    if not len(order):
        return front
    best = np.maximum.accumulate(gain[order])
    before = np.concatenate([[-np.inf], best[:-1]])
    front[order] = gain[order] > before
    # Points with the same gain and cost dominate each other in neither.
    same = np.concatenate([[False], (np.diff(gain[order]) == 0) & (np.diff(cost[order]) == 0)])
    for i in np.flatnonzero(same):
        front[order[i]] = front[order[i - 1]]
    return front


TIMES_TABLE = Schema(
    "run topic seconds",
    mixed=True,
    comments=True,
    run=Words(COLUMNS["name"]),
    topic=TOPIC,
    seconds=Numbers(("seconds", "time", "latency", "duration"), "time in seconds", least=0),
)


def read_times(path: PathLike) -> dict[str, dict[str, float]]:
    """Read lines of run, topic and seconds between tabs, commas, semicolons or blanks; a header and `#` are skipped.

    If a topic appears several times for a run, such as in repeated measurements, the median counts, with a warning.
    """
    measured: dict[str, dict[str, list[float]]] = {}
    for run, topic, seconds in TIMES_TABLE.read(path):
        measured.setdefault(run, {}).setdefault(topic, []).append(float(seconds))
    repeated = sum(len(values) > 1 for topics in measured.values() for values in topics.values())
    if repeated:
        cases = counted(repeated, "topic of a run", "topics of runs")
        message = f"{os.fspath(path)}: {cases} measured several times; the median counts"
        warn_caller(message, CranfieldWarning)
    return {
        run: {topic: float(np.median(values)) for topic, values in topics.items()} for run, topics in measured.items()
    }


_BLOCK = 200


@dataclass(frozen=True, eq=False, repr=False)
class FrontStability(Record):
    """Intervals over topics, and the share of resamples with each run on the front; arrays are measures × runs."""

    facts = ("time", "level", "resamples", "seed", "topics")

    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    runs: Annotated[tuple[str, ...], column("run", axis=True)]
    effectiveness: Annotated[Array, column(over="measures runs")]
    effectiveness_low: Annotated[Array, column("low", over="measures runs")]
    effectiveness_high: Annotated[Array, column("high", over="measures runs")]
    seconds: Annotated[Array, column(over="runs")]
    seconds_low: Annotated[Array, column(over="runs")]
    seconds_high: Annotated[Array, column(over="runs")]
    """For each run, the statistic `time` of its seconds, and its interval."""
    front: Annotated[NDArray[np.bool_], column(over="measures runs")]
    share: Annotated[Array, column("share on front", over="measures runs")]
    """The share of resamples of topics in which the run is on the front."""
    time: str
    level: float
    resamples: int
    seed: int
    topics: int
    notes: tuple[str, ...]


def front_stability(
    scores: Scores, times: Times, *, time: str = "mean", level: float = 0.95, resamples: int = 1_000, seed: int = 0
) -> FrontStability:
    """Resample topics: how sure are the effectiveness and the seconds of each run, and its place on the Pareto front?

    A resample draws topics with replacement and keeps the scores and the times of a topic together. Intervals are
    percentiles. Only topics on which every run has a score and a time are used. Other parameters are those of
    `efficiency`.

    >>> scores = Scores.from_matrix([[0.2, 0.5, 0.4], [0.4, 0.5, 0.4]], ["bm25", "dense", "slow"], measure="AP")
    >>> times = {run: {"1": each, "2": each} for run, each in {"bm25": 0.1, "dense": 0.3, "slow": 0.9}.items()}
    >>> front_stability(scores, times, resamples=200).share.tolist()
    [[1.0, 1.0, 0.0]]
    """
    check.whole("front_stability", resamples=resamples)
    check.between("front_stability", low=0, high=1, level=level)
    by_run = times if isinstance(times, Mapping) else read_times(times)
    whole = efficiency(scores, by_run, time=time)
    seconds = np.array([[by_run.get(run, {}).get(topic, np.nan) for topic in scores.topics] for run in scores.runs])
    kept = ~(np.isnan(scores.values).any(axis=(0, 1)) | np.isnan(seconds).any(axis=0))
    n = int(kept.sum())
    if n < 2:
        raise UsageError(
            f"front_stability: every run has a score and a time on {n} of {len(kept)} topics, must be 2 or more; "
            f"select runs with times"
        )
    values, seconds = scores.values[:, :, kept], seconds[:, kept]
    sign = np.where(whole.lower_is_better, -1.0, 1.0)[:, None]
    rng = np.random.default_rng(seed)
    means, costs = [], []
    for begin in range(0, resamples, _BLOCK):
        drawn = rng.integers(n, size=(min(_BLOCK, resamples - begin), n))
        means.append(np.moveaxis(values[:, :, drawn].mean(axis=3), 2, 0))
        costs.append(_statistic(seconds[:, drawn], time).T)
    of_measure, of_time = np.concatenate(means), np.concatenate(costs)
    share = np.mean(
        [[pareto_front(row, cost) for row in gain * sign] for gain, cost in zip(of_measure, of_time, strict=True)],
        axis=0,
    )
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(of_measure, ends, axis=0)
    fast, slow = np.quantile(of_time, ends, axis=0)
    exact, cost = values.mean(axis=2), _statistic(seconds, time)
    notes = [
        method_note(
            f"seconds: the {TIMES[time]}; intervals at level {level:g} and shares by {resamples:,} resamples of {n} "
            f"topics, seed {seed}"
        ),
        *whole.notes,
    ]
    if n < len(kept):
        notes.insert(1, f"{len(kept) - n} of {len(kept)} topics left out: a run has no score or no time on them")
    front = np.stack([pareto_front(row, cost) for row in exact * sign])
    return FrontStability(
        scores.measures, scores.runs, exact, low, high, cost, fast, slow, front, share, time, level, int(resamples),
        int(seed), n, tuple(notes),
    )  # fmt: skip


def _statistic(seconds: Array, time: str) -> Array:
    """The statistic over the last axis."""
    if time == "mean":
        return np.asarray(seconds.mean(axis=-1))
    return np.asarray(np.quantile(seconds, {"median": 0.5, "p95": 0.95}[time], axis=-1))
