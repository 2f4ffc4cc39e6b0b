"""Is a run faster than another? Times are compared on a logarithmic scale, so differences are ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.compare import compare
from cranfield.errors import UsageError
from cranfield.notes import Notes, method_note
from cranfield.record import Record, column
from cranfield.scores.efficiency import Times, read_times
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class TimeComparison(Record):
    """Pairs of runs by their seconds per query; an entry per pair."""

    facts = ("test", "correction", "alpha", "topics")

    faster: Annotated[NDArray[Any], column()]
    slower: Annotated[NDArray[Any], column()]
    ratio: Annotated[Array, column()]
    """How many times as long the slower run takes: the geometric mean over topics of the ratio of seconds."""
    low: Annotated[Array, column()]
    high: Annotated[Array, column()]
    """The interval of the ratio at level 1 − α; with a correction, for all pairs together."""
    p: Annotated[Array, column()]
    adjusted: Annotated[Array, column("p adjusted")]
    significant: Annotated[NDArray[np.bool_], column()]
    against: Annotated[NDArray[np.bool_], column("against mean", optional=True)]
    """Significant pairs in which the test, of ranks or wins, finds the slower run to be the faster one."""
    test: str
    correction: str
    alpha: float
    topics: int
    notes: tuple[str, ...]


def compare_times(
    times: Times,
    runs: Sequence[str] | None = None,
    *,
    topics: Sequence[str] | None = None,
    baseline: str | None = None,
    test: str = "t",
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> TimeComparison:
    r"""Compare the seconds per query of runs, pair by pair, by a test of the logarithms of their times.

    .. math:: \text{ratio} = \exp\left(\frac{1}{n} \sum_{t} (\ln s_{slower, t} - \ln s_{faster, t})\right)

    Times are skewed, and a system is faster by a factor rather than by seconds, so the logarithms are compared, with
    any test of `compare`. Topics without a time of every run are left out.

    >>> times = {"a": {"1": 0.1, "2": 0.2, "3": 0.4}, "b": {"1": 0.21, "2": 0.39, "3": 0.83}}
    >>> result = compare_times(times)
    >>> result.faster.tolist(), result.ratio.round(2).tolist(), bool(result.p[0] < 0.01)
    (['a'], [2.04], True)
    """
    by_run = times if isinstance(times, Mapping) else read_times(times)
    names = [run for run in (by_run if runs is None else runs) if run in by_run]
    if len(names) < 2:
        raise UsageError(f"compare_times: {counted(len(names), 'run')} with times, must be 2 or more")
    known = dict.fromkeys(topic for run in names for topic in by_run[run])
    wanted = [topic for topic in (known if topics is None else topics) if topic in known]
    shared = [topic for topic in wanted if all(topic in by_run[run] for run in names)]
    if len(shared) < 2:
        raise UsageError(f"compare_times: all runs have a time on {counted(len(shared), 'topic')}, must be 2 or more")
    seconds = np.array([[float(by_run[run][topic]) for topic in shared] for run in names])
    if not (seconds > 0).all():
        run, topic = (int(place[0]) for place in np.nonzero(~(seconds > 0)))
        raise UsageError(
            f"compare_times: {names[run]!r} has a time of {seconds[run, topic]:g} s on topic {shared[topic]!r}, must "
            "be above 0: times are compared by their logarithms"
        )
    logs = Scores(["ln seconds"], names, shared, [np.log(seconds)])
    result = compare(
        logs, test=test, baseline=baseline, correction=correction, alpha=alpha, resamples=resamples, seed=seed
    )
    family = result.families[0]
    turn = family.difference > 0  # the first run of the pair is slower
    first, second = (np.array(family.matrix.systems, dtype=object)[k] for k in (family.first, family.second))
    low, high = family.tests.low, family.tests.high
    corrected = result.comparisons > 1 and result.interval_level != 1 - alpha
    notes = Notes(
        [
            method_note(
                f"ratio: geometric mean over {counted(len(shared), 'topic')} of slower / faster, with its interval "
                "at level "
                f"{1 - alpha:g}" + (f", for all {result.comparisons:,} pairs together" if corrected else "")
            ),
            method_note(
                f"test of the logarithms of seconds: {result.test}"
                + ("" if result.correction == "none" else f", {result.correction}")
            ),
        ]
    )
    notes += result.contradictions()
    if len(shared) < len(wanted):
        left_out = listed(topic for topic in wanted if topic not in shared)
        notes.caution(f"{counted(len(wanted) - len(shared), 'topic')} without a time of every run left out: {left_out}")
    return TimeComparison(
        np.where(turn, second, first), np.where(turn, first, second), np.exp(np.abs(family.difference)),
        np.exp(np.where(turn, low, -high)), np.exp(np.where(turn, high, -low)), family.tests.p, family.adjusted,
        family.adjusted <= alpha, family.against(alpha), result.test, result.correction, alpha, len(shared),
        tuple(notes),
    )  # fmt: skip
