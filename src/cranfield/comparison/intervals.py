"""Confidence intervals of a mean, another summary, or a difference: Student's t, bootstrap percentile, BCa."""

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
from cranfield.record import OneRow, one_row
from cranfield.scores.summary import STATISTICS, statistic, t_interval
from cranfield.types import Array

METHODS = ("t", "percentile", "bca")

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
        return "\n".join([f"{subject} = {self.value:.4f} {self.interval}, n = {n}{drawn}", *self.notes])

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row: measure, systems, summary, value, low, high, n."""
        texts = {"measure": self.measure, "systems": ", ".join(self.systems), "summary": self.name}
        numbers = {"value": self.value, "low": self.interval.low, "high": self.interval.high}
        return one_row({**texts, **numbers, "n": self.n[0]})


def mean_interval(
    x: Any,
    *,
    summary: str | Summary = "mean",
    method: str = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    system: str | None = None,
    measure: Any = None,
) -> Estimated:
    r"""The mean score of a system, or another summary of its scores, with an interval.

    `summary` is mean, gmean, median, std, or a function from an array to a number per row. `method`: "t" is
    :math:`\bar x \pm t_{n-1} s/\sqrt n` (mean and gmean only); "percentile" uses the percentiles of the summaries of
    resampled topics; "bca" corrects them for bias and for a spread that changes with the value.
    Reference: Efron, Better Bootstrap Confidence Intervals, JASA 82(397), 1987

    >>> print(mean_interval([0.2, 0.4, 0.6, 0.9], method="t", measure="AP"))
    AP, x: mean = 0.5250 [0.0498, 1.0002] (95% t), n = 4
    """
    _check("mean_interval", summary, method, level, resamples)
    values, name, measure_name, notes = single(x, system=system, measure=measure)
    check_topics(len(values), 2, "an interval")
    of = _summary(summary)
    facts: dict[str, Any] = {"measure": measure_name, "systems": (name,), "notes": notes}
    if method == "t":
        value = float(of(values[None, :])[0])
        return Estimated(_named(summary), value, _student(values, str(summary), level), (len(values),), **facts)

    def picked(picks: Picks) -> Array:
        return np.asarray(of(values[picks[0]]))

    return _bootstrap(_named(summary), picked, (len(values),), method, level, resamples, seed, facts)


def difference_interval(
    x: Any,
    y: Any = None,
    *,
    matched: bool = True,
    summary: str | Summary = "mean",
    method: str = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    systems: Sequence[str] | None = None,
    measure: Any = None,
) -> Estimated:
    """The difference between the mean scores, or other summaries, of two systems, with an interval.

    If `matched`, topics are drawn, each with the scores of both systems. Otherwise both samples are drawn
    independently, and "t" is Welch's. The value is the difference of summaries, not the summary of differences.
    `summary` and `method` are those of `mean_interval`; "t" works for the mean only.

    >>> print(difference_interval([0.2, 0.4, 0.6, 0.9], [0.1, 0.4, 0.4, 0.5], method="t", measure="AP"))
    AP, x − y: difference of means = 0.1750 [-0.0968, 0.4468] (95% t), n = 4
    """
    _check("difference_interval", summary, method, level, resamples)
    if method == "t" and summary != "mean":
        raise UsageError(f"difference_interval: method == 't' works only for the mean; for {_named(summary)} use 'bca'")
    pair = (paired if matched else unpaired)(x, y, systems=systems, measure=measure)
    n, m = len(pair.x), len(pair.y)
    check_topics(min(n, m), 2, "an interval")
    of, name, sizes = _summary(summary), f"difference of {_named(summary)}s", (n,) if matched else (n, m)
    if method == "t":
        value = float(pair.x.mean() - pair.y.mean())
        interval = _student(pair.difference, "mean", level) if matched else welch_interval(pair.x, pair.y, level)
        return Estimated(name, value, interval, sizes, **pair.facts())

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
    elif method == "t":
        raise UsageError(f"{caller}: method == 't' works only for the mean; for a function use 'bca'")


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


def _student(values: Array, summary: str, level: float) -> Interval:
    low, high = t_interval(values, summary, level)
    return Interval(float(low), float(high), level, "t")


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
        low = high = value
        note = "every resample has the same value, so the interval is a point"
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
