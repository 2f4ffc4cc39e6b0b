"""Would other topics give the same Pareto front? Intervals of effectiveness and time, and how often a run is on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.record import Record
from cranfield.scores.efficiency import TIMES, Times, efficiency, pareto_front, read_times
from cranfield.scores.scores import Scores
from cranfield.types import Array

_BLOCK = 200


@dataclass(frozen=True, eq=False, repr=False)
class FrontStability(Record):
    """Intervals over topics, and the share of resamples with each run on the front; arrays are measures × runs."""

    facts = ("time", "level", "resamples", "seed", "topics")

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    effectiveness: Array
    effectiveness_low: Array
    effectiveness_high: Array
    seconds: Array
    seconds_low: Array
    seconds_high: Array
    """For each run, the statistic `time` of its seconds, and its interval."""
    front: NDArray[np.bool_]
    share: Array
    """The share of resamples of topics in which the run is on the front."""
    time: str
    level: float
    resamples: int
    seed: int
    topics: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run, effectiveness and seconds with their intervals, front, share on front."""
        m, r = (axis.ravel() for axis in np.indices(self.effectiveness.shape))
        return {
            "measure": np.array(self.measures, dtype=object)[m],
            "run": np.array(self.runs, dtype=object)[r],
            "effectiveness": self.effectiveness.ravel(),
            "low": self.effectiveness_low.ravel(),
            "high": self.effectiveness_high.ravel(),
            "seconds": self.seconds[r],
            "seconds low": self.seconds_low[r],
            "seconds high": self.seconds_high[r],
            "front": self.front.ravel(),
            "share on front": self.share.ravel(),
        }


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
        f"seconds: the {TIMES[time]}; intervals at level {level:g} and shares by {resamples:,} resamples of {n} "
        f"topics, seed {seed}",
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
