"""Confidence intervals of a mean, another summary, or a difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import check_topics, paired, single, unpaired
from cranfield.comparison.methods.t import welch_interval
from cranfield.comparison.test_result import Interval, check_alpha
from cranfield.errors import UsageError
from cranfield.notes import shown_notes
from cranfield.record import OneRow, one_row
from cranfield.scores.mean_intervals import cautions_of, score_range, skew_interval
from cranfield.scores.summary import STATISTICS, default_interval, statistic, t_interval
from cranfield.text import counted
from cranfield.types import Array

METHODS = ("range", "skew", "t", "percentile", "bca")
OF_MEANS = ("range", "skew", "t")
"""The methods for means only (all but skew also for geometric ones)."""

_BLOCK = 4_000_000
"""The number of resampled scores in memory at once; it does not change results."""

Summary = Callable[[Array], Any]
"""A function from an array to a number per row, such as `lambda rows: np.median(rows, axis=-1)`."""
Picks = Sequence[NDArray[np.int64]]
"""The entries that resamples draw: an array of indices (resamples × size) for each sample."""


@dataclass(frozen=True, repr=False)
class Estimated(OneRow):
    """A summary of scores with its interval."""

    name: str
    value: float
    interval: Interval
    n: tuple[int, ...]
    resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    measure: str = ""
    systems: tuple[str, ...] = ()

    def __str__(self) -> str:
        drawn = f", B = {self.resamples:,}, seed {self.seed}" if self.resamples else ""
        n = " and ".join(map(str, self.n))
        subject = f"{self.measure}, {' − '.join(self.systems)}: {self.name}"
        return "\n".join([f"{subject} = {self.value:.4f} {self.interval}, n = {n}{drawn}", *shown_notes(self.notes)])

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: measure, systems, summary, value, low, high, n."""
        texts = {"measure": self.measure, "systems": ", ".join(self.systems), "summary": self.name}
        numbers = {"value": self.value, "low": self.interval.low, "high": self.interval.high}
        return one_row({**texts, **numbers, "n": self.n[0]})


def mean_interval(
    x: Any,
    *,
    summary: str | Summary = "mean",
    method: str | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    system: str | None = None,
    measure: Any = None,
) -> Estimated:
    r"""The mean score of a system, or another summary of its scores, with an interval.

    `summary` is mean, gmean, median, std, or a function from an array to a number per row. `method`:

    - "range" (default for mean and gmean): within the range of the measure, for few topics and for scores near the ends
      too (`scores.mean_intervals`); "skew" if the measure has no range. The range of a measure without a known name is
      0 to 1 if all scores are in it.
    - "skew": Student's t with its ends moved outwards for skew scores (mean only).
    - "t": :math:`\bar x \pm t_{n-1} s/\sqrt n` (mean and gmean). With 10 topics that mostly score 0, an interval of
      95 % holds for 75 to 90 %.
    - "percentile": the percentiles of the summaries of resampled topics. "bca" (default for other summaries) corrects
      them for bias and for a spread that changes with the value. Both are too short for fewer than about 25 topics.

    Reference: Efron, Better Bootstrap Confidence Intervals, JASA 82(397), 1987

    >>> print(mean_interval([0.2, 0.4, 0.6, 0.9], measure="AP"))
    AP, x: mean = 0.5250 [0.2261, 0.8164] (95% range), n = 4
    >>> print(mean_interval([0.2, 0.4, 0.6, 0.9], method="t", measure="AP"))
    AP, x: mean = 0.5250 [0.0498, 1.0002] (95% t), n = 4
    """
    method = method or ("range" if summary in ("mean", "gmean") else "bca")
    _check("mean_interval", summary, method, level, resamples)
    values, name, measure_name, notes = single(x, system=system, measure=measure)
    check_topics(len(values), 2, "an interval")
    of = _summary(summary)
    facts: dict[str, Any] = {"measure": measure_name, "systems": (name,), "notes": notes}
    if method in OF_MEANS:
        value = float(of(values[None, :])[0])
        interval, more = _of_mean(values, str(summary), method, level, measure_name, name)
        return Estimated(_named(summary), value, interval, (len(values),), **{**facts, "notes": (*notes, *more)})

    def picked(picks: Picks) -> Array:
        return np.asarray(of(values[picks[0]]))

    return _bootstrap(_named(summary), picked, (len(values),), method, level, resamples, seed, facts)


def difference_interval(
    x: Any,
    y: Any = None,
    *,
    matched: bool = True,
    summary: str | Summary = "mean",
    method: str | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    systems: Sequence[str] | None = None,
    measure: Any = None,
) -> Estimated:
    """The difference between the mean scores, or other summaries, of two systems, with an interval.

    If `matched`, topics are drawn, each with the scores of both systems. Otherwise both samples are drawn
    independently, and "t" is Welch's. The value is the difference of summaries, not the summary of differences.
    `summary` and `method` are those of `mean_interval`, without "range". The default for means is "skew" if `matched`,
    else "t". Both need topics that differ: with fewer than 5 of these, a note warns that the interval is too short.

    >>> print(difference_interval([0.2, 0.4, 0.6, 0.9], [0.1, 0.4, 0.4, 0.5], method="t", measure="AP"))
    AP, x − y: difference of means = 0.1750 [-0.0968, 0.4468] (95% t), n = 4
    """
    if method is None:
        method = "bca" if summary != "mean" else "skew" if matched else "t"
    _check("difference_interval", summary, method, level, resamples)
    if method == "range" or (method == "skew" and not matched):
        raise UsageError(f"difference_interval: method == {method!r} is not for these differences; use 't' or 'bca'")
    if method in OF_MEANS and summary != "mean":
        message = f"difference_interval: method == {method!r} works only for the mean"
        raise UsageError(f"{message}; for {_named(summary)} use 'bca'")
    pair = (paired if matched else unpaired)(x, y, systems=systems, measure=measure)
    n, m = len(pair.x), len(pair.y)
    check_topics(min(n, m), 2, "an interval")
    of, name, sizes = _summary(summary), f"difference of {_named(summary)}s", (n,) if matched else (n, m)
    if method in OF_MEANS:
        value = float(pair.x.mean() - pair.y.mean())
        if not matched:
            return Estimated(name, value, welch_interval(pair.x, pair.y, level), sizes, **pair.facts())
        interval, more = _of_mean(
            pair.difference, "mean", method, level, pair.measure, " − ".join(pair.names), "differ"
        )
        return Estimated(name, value, interval, sizes, **{**pair.facts(), "notes": (*pair.notes, *more)})

    def picked(picks: Picks) -> Array:
        return np.asarray(of(pair.x[picks[0]]) - of(pair.y[picks[-1]]))

    return _bootstrap(name, picked, sizes, method, level, resamples, seed, pair.facts())


def _check(caller: str, summary: str | Summary, method: str, level: float, resamples: int) -> None:
    check.one_of(caller, METHODS, method=method)
    check_alpha(caller, level, "level")
    check.whole(caller, resamples=resamples)
    if not callable(summary):
        check.one_of(caller, STATISTICS, summary=summary)
        if summary in ("min", "max"):
            raise UsageError(f"{caller}: summary == {summary!r}, which has no bootstrap interval; use another summary")
    if method in OF_MEANS and (summary not in ("mean", "gmean") or (method, summary) == ("skew", "gmean")):
        what = "a function" if callable(summary) else summary
        raise UsageError(f"{caller}: method == {method!r} works only for the mean; for {what} use 'bca'")


def _summary(summary: str | Summary) -> Summary:
    if not callable(summary):
        return lambda rows: statistic(rows, summary)

    def checked(rows: Array) -> Array:
        values = np.asarray(summary(rows), dtype=np.float64)
        if values.shape != rows.shape[:-1]:
            raise UsageError(
                f"summary returned shape {values.shape} for {rows.shape}; it must return a number per row (axis=-1)"
            )
        return values

    return checked


def _named(summary: str | Summary) -> str:
    return getattr(summary, "__name__", "summary") if callable(summary) else summary


def _of_mean(
    values: Array, summary: str, method: str, level: float, measure: str, system: str, verb: str = "score"
) -> tuple[Interval, tuple[str, ...]]:
    """The interval of a mean by one of OF_MEANS, and what to say about it."""
    rows = values[None, :]
    limits = score_range(measure, values) if method == "range" else None
    if method == "t":
        low, high = t_interval(rows, summary, level)
    elif method == "range":
        low, high = (end[0] for end in default_interval(rows[None], [measure], summary, level))
    else:
        low, high = skew_interval(rows, level)
    label = "skew" if method == "range" and limits is None else method
    if limits is not None:
        return Interval(float(low[0]), float(high[0]), level, label), ()
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        note = f"no interval: all {counted(len(values), 'topic')} {verb} the same"
        return Interval(np.nan, np.nan, level, label), (note,)
    return Interval(float(low[0]), float(high[0]), level, label), tuple(cautions_of(values, system, verb))


def _bootstrap(
    name: str,
    of: Callable[[Picks], Array],
    sizes: tuple[int, ...],
    method: str,
    level: float,
    resamples: int,
    seed: int,
    facts: dict[str, Any],
) -> Estimated:
    """`of` returns the summaries of resamples, from their indices."""
    value = float(of([np.arange(size)[None, :] for size in sizes])[0])
    rng = np.random.default_rng(seed)
    drawn = np.empty(resamples)
    step = max(1, _BLOCK // max(sizes))
    for begin in range(0, resamples, step):
        block = slice(begin, min(begin + step, resamples))
        drawn[block] = of([rng.integers(0, size, (block.stop - begin, size)) for size in sizes])
    if np.isnan(drawn).any():
        raise UsageError(f"summary is undefined for {int(np.isnan(drawn).sum())} of {resamples} resamples")
    close = 1e-12 * max(abs(value), float(np.abs(drawn).max()))
    if np.ptp(drawn) <= close:
        low = high = np.nan
        note = "no interval: every resample has the same value"
        facts = {**facts, "notes": (*facts["notes"], note)}
    else:
        at = np.array([(1 - level) / 2, (1 + level) / 2])
        if method == "bca":
            at = _bca(at, drawn, value, close, _left_one_out(of, sizes))
        low, high = map(float, np.quantile(drawn, at))
    label = "bootstrap percentile" if method == "percentile" else "bootstrap BCa"
    return Estimated(name, value, Interval(low, high, level, label), sizes, resamples, seed, **facts)


def _bca(at: Array, drawn: Array, value: float, close: float, without: list[Array]) -> Array:
    """The quantiles adjusted for bias and acceleration."""
    from scipy.special import ndtr, ndtri

    # values equal to the observed one count half
    below = (float((drawn < value - close).sum()) + float((drawn <= value + close).sum())) / (2 * len(drawn))
    bias = float(ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn))))
    influence = [(len(values) - 1) * (values.mean() - values) / len(values) for values in without]
    cubes = sum(float((part**3).sum()) for part in influence)
    squares = sum(float((part**2).sum()) for part in influence)
    acceleration = cubes / (6 * squares**1.5) if squares > 0 else 0.0
    z = bias + ndtri(at)
    return np.asarray(ndtr(bias + z / (1 - acceleration * z)))


def _left_one_out(of: Callable[[Picks], Array], sizes: tuple[int, ...]) -> list[Array]:
    """The summary without each entry of each sample in turn."""
    out = []
    for which, size in enumerate(sizes):
        values = np.empty(size)
        step = max(1, _BLOCK // max(sizes))
        for begin in range(0, size, step):
            gone = np.arange(begin, min(begin + step, size))
            kept = np.arange(size - 1) + (np.arange(size - 1) >= gone[:, None])
            picks = [
                kept if sample == which else np.broadcast_to(np.arange(other), (len(gone), other))
                for sample, other in enumerate(sizes)
            ]
            values[gone] = of(picks)
        out.append(values)
    return out
