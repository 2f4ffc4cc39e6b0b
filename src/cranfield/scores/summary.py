"""One number per run: means and other statistics over topics with their intervals, and the risk of a run.

The last axis of an array is the topics, and NaN is a topic that does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.notes import shown_notes
from cranfield.record import Columns, Shown, column, columns_of
from cranfield.scores.mean_intervals import (
    cautions,
    how_of,
    mean_interval_of,
    range_interval,
    score_range,
    skew_interval,
)
from cranfield.scores.t_and_normal import normal_tail, t_quantile
from cranfield.table import Estimate
from cranfield.types import Array

STATISTICS = ("mean", "gmean", "median", "std", "min", "max", "area")
GMEAN_FLOOR = 1e-5
"""Smaller scores count as this in the geometric mean, as in trec_eval's gm_map; one zero would make it zero."""

_BLOCK = 4_000_000
"""Resampled topics in memory at a time; does not change the result."""


@dataclass(frozen=True)
class Summary(Shown):
    """One estimate per measure and run, measure after measure.

    >>> from cranfield.scores.scores import Scores
    >>> summary = Scores.from_matrix([[0.2, 0.4], [0.4, 0.4]], runs=["a", "b"], measure="AP").summary()
    >>> round(summary["AP", "a"].value, 4), summary["AP", "a"].topics
    (0.3, 2)
    """

    statistic: str
    level: float | None
    """The level of the intervals, such as 0.95; None without intervals."""
    method: str | None
    """The method of the intervals: `range`, `t` or `bootstrap`."""
    estimates: tuple[Estimate, ...]
    how: str = ""
    """The method in words."""
    notes: tuple[str, ...] = ()
    """Cautions about the intervals."""

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], Estimate]:
        return {(e.measure, e.run): e for e in self.estimates}

    def __getitem__(self, measure_and_run: tuple[object, str]) -> Estimate:
        measure, run = measure_and_run
        label = str(measure() if isinstance(measure, type) else measure)
        if (label, run) not in self._by_name:
            raise UsageError(f"no estimate of {label!r} for {run!r}")
        return self._by_name[label, run]

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """{run: {measure: {"value": ..., "low": ..., "high": ..., "topics": ..., ...}}}."""
        out: dict[str, dict[str, dict[str, float]]] = {}
        for e in self.estimates:
            numbers = {name: getattr(e, name) for name in ("value", "low", "high", "topics", "undefined", "missing")}
            out.setdefault(e.run, {})[e.measure] = numbers
        return out

    def columns(self) -> Columns:
        """measure, run, value, low, high, and the numbers of topics, undefined and missing ones."""
        return columns_of(self.estimates, Estimate)

    def _metadata(self) -> dict[str, Any]:
        facts = {"statistic": self.statistic, "level": self.level, "method": self.method}
        return {**facts, "notes": list(self.notes)} if self.notes else facts

    def __str__(self) -> str:
        level = "" if self.level is None else f", {self.level:.0%} interval {self.how}"
        lines = [f"{self.statistic} over topics{level}"]
        for e in self.estimates:
            span = "" if math.isnan(e.low) else f" [{e.low:.4f}, {e.high:.4f}]"
            lines.append(f"{e.measure}  {e.run}  {e.value:.4f}{span}  n={e.topics}")
        return "\n".join([*lines, *shown_notes(self.notes)])


def mean(values: Array) -> Array:
    """The mean over the topics that count; NaN if there is none.

    >>> mean(np.array([0.2, np.nan, 0.4])).item()
    0.30000000000000004
    """
    counts = ~np.isnan(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(counts, values, 0.0).sum(axis=-1) / counts.sum(axis=-1))


def statistic(values: Array, name: str, *, worst: int | None = None) -> Array:
    """A statistic over the topics that count; NaN if there is none. `std` is that of a sample (n - 1).

    `gmean` is exp(mean(log(max(x, 1e-5)))), trec_eval's (Robertson, CIKM 2006, 78-83). `area` is `area_of_worst`.
    """
    if name == "mean":
        return mean(values)
    check.one_of("summary", STATISTICS, statistic=name)
    if name == "area":
        return area_of_worst(values, worst)
    if name == "gmean":
        return np.asarray(np.exp(mean(np.log(np.maximum(values, GMEAN_FLOOR)))))
    n = (~np.isnan(values)).sum(axis=-1)
    if name == "std":
        with np.errstate(divide="ignore", invalid="ignore"):
            away = values - mean(values)[..., None]
            return np.asarray(np.sqrt(np.where(n > 1, np.nansum(away**2, axis=-1) / (n - 1), np.nan)))
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    ordered = np.sort(values, axis=-1)  # NaN last

    def nth(position: NDArray[Any]) -> Array:
        return np.asarray(np.take_along_axis(ordered, np.maximum(position, 0)[..., None], axis=-1)[..., 0])

    if name == "median":
        return (nth((n - 1) // 2) + nth(n // 2)) / 2
    return nth(np.zeros_like(n)) if name == "min" else nth(n - 1)


def area_of_worst(values: Array, worst: int | None = None) -> Array:
    r"""The area under the curve of the mean of the x worst topics, for x from 1 to `worst`.

    .. math:: \sum_{x=1}^{X-1} \frac{M(x) + M(x + 1)}{2}, \quad M(x) = \frac{1}{x} \sum_{i=1}^{x} s_{(i)}

    The scores :math:`s_{(1)} \le s_{(2)} \le \dots` are those of the run itself, so each run has its own worst topics.
    The curve is followed from topic to topic by the trapezoidal rule, so the area of a run that scores 1 everywhere is
    X − 1. X is by default a quarter of the topics that count, rounded down; NaN if that is less than 2.
    Reference: Voorhees, Overview of the TREC 2003 Robust Retrieval Track; Voorhees, SIGIR Forum 39(1), 2005

    >>> round(float(area_of_worst(np.array([0.3, 0.1, 0.9, 0.2]), worst=3)), 4)  # means 0.1, 0.15, 0.2
    0.3
    """
    check.whole("summary", worst=worst)
    if worst is not None and worst < 2:
        raise UsageError(f"summary: worst == {worst}, must be 2 or more: the area is under a curve from 1 topic on")
    n = (~np.isnan(values)).sum(axis=-1)
    last = n // 4 if worst is None else np.where(n >= worst, worst, 0)
    longest = int(np.max(last, initial=0))
    if longest < 2:
        return np.full(n.shape, np.nan)
    x = np.arange(1, longest + 1)
    curve = np.cumsum(np.sort(values, axis=-1)[..., :longest], axis=-1) / x  # NaN last
    steps = (curve[..., 1:] + curve[..., :-1]) / 2
    area = np.where(x[1:] <= last[..., None], steps, 0.0).sum(axis=-1)
    return np.asarray(np.where(last >= 2, area, np.nan))


def default_interval(values: Array, measures: Sequence[str], name: str, level: float) -> tuple[Array, Array]:
    """The interval of the mean, or of the mean of logs for `gmean`, for each of the measures (first axis)."""
    if name not in ("mean", "gmean"):
        raise UsageError(f"summary: method == 'range' is for mean and gmean; for {name!r} use method='bootstrap'")
    ends = [_of_measure(measure, rows, name, level) for measure, rows in zip(measures, values, strict=True)]
    low, high = np.array(ends).reshape(len(ends), 2, *values.shape[1:-1]).swapaxes(0, 1)
    return low, high


def _of_measure(measure: str, rows: Array, name: str, level: float) -> tuple[Array, Array]:
    if name == "mean":
        return mean_interval_of(measure, rows, level)
    logs, limits = np.log(np.maximum(rows, GMEAN_FLOOR)), score_range(measure, rows)
    if limits is None:
        low, high = skew_interval(logs, level)
    else:
        low, high = range_interval(logs, math.log(GMEAN_FLOOR), math.log(limits[1]), level)
    return np.exp(low), np.exp(high)


def explained(
    values: Array, measures: Sequence[str], runs: Sequence[str], method: str | None
) -> tuple[str, tuple[str, ...]]:
    """The method of intervals in words, and cautions."""
    if method == "range":
        by_measure = list(zip(measures, values, strict=True))
        notes = tuple(note for measure, rows in by_measure for note in cautions(measure, runs, rows))
        return how_of(by_measure), notes
    return {None: "", "t": "by Student's t", "bootstrap": "by the percentile bootstrap over topics"}[method], ()


def t_interval(values: Array, name: str, level: float) -> tuple[Array, Array]:
    r"""Student's interval of the mean, or of the mean of logs for `gmean`; NaN for fewer than two topics.

    .. math:: \bar x \pm t_{n-1}\, s / \sqrt n

    It may exceed the range of the measure, and is a point if all topics score the same; `mean_intervals` has better
    ones for few topics and for scores near the ends of the range.
    """
    if name not in ("mean", "gmean"):
        raise UsageError(f"summary: method == 't' is for mean and gmean; for {name!r} use method='bootstrap'")
    if name == "gmean":
        low, high = t_interval(np.log(np.maximum(values, GMEAN_FLOOR)), "mean", level)
        return np.exp(low), np.exp(high)
    n = (~np.isnan(values)).sum(axis=-1)
    quantile = t_quantile((1 - level) / 2, np.maximum(n - 1, 1))
    half = quantile * statistic(values, "std") / np.sqrt(np.maximum(n, 1))
    centre = mean(values)
    return centre - half, centre + half


def bootstrap_interval(
    values: Array, name: str, level: float, *, resamples: int, seed: int, worst: int | None = None
) -> tuple[Array, Array]:
    """The percentile bootstrap: topics are drawn with replacement from those that count; NaN for fewer than two.

    Every row starts from the same seed: its interval does not depend on other rows, and rows with the same topics have
    the same resamples.
    """
    if name in ("min", "max"):
        raise UsageError(f"summary: there is no bootstrap interval for {name!r}; use level=None")
    check.positive("summary", resamples=resamples)
    rows = values.reshape(-1, values.shape[-1])
    if name == "gmean":
        rows = np.log(np.maximum(rows, GMEAN_FLOOR))
    ends = np.full((2, len(rows)), np.nan)
    patterns, pattern_of_row = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        n = int(pattern.sum())
        if n < 2:
            continue
        mine = np.flatnonzero(pattern_of_row.reshape(-1) == number)
        for batch in np.array_split(mine, max(1, len(mine) * resamples // _BLOCK)):
            drawn = _resampled(rows[batch][:, pattern], name, resamples, np.random.default_rng(seed), worst)
            ends[:, batch] = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    if name == "gmean":
        ends = np.exp(ends)
    low, high = ends.reshape(2, *values.shape[:-1])
    return low, high


def _resampled(rows: Array, name: str, resamples: int, rng: np.random.Generator, worst: int | None = None) -> Array:
    """The statistic of every row in every resample: resamples × rows."""
    n = rows.shape[1]
    centre = rows.mean(axis=1)
    away = (rows - centre[:, None]).T
    out = np.empty((resamples, len(rows)))
    step = max(1, _BLOCK // n)
    for begin in range(0, resamples, step):
        block = slice(begin, min(begin + step, resamples))
        size = block.stop - begin
        picks = rng.integers(0, n, (size, n))
        if name in ("median", "area"):
            for i, row in enumerate(rows):
                out[block, i] = np.median(row[picks], axis=1) if name == "median" else area_of_worst(row[picks], worst)
            continue
        # Count how often each topic was drawn: the sums of all rows are then one matrix product.
        drawn = np.bincount((picks + n * np.arange(size)[:, None]).ravel(), minlength=size * n)
        times = drawn.reshape(size, n).astype(np.float64)
        shift = times @ away / n
        if name == "std":
            spread = times @ away**2 / n - shift**2
            out[block] = np.sqrt(np.maximum(spread, 0) * n / (n - 1))
        else:
            out[block] = centre + shift
    return out


@dataclass(frozen=True, eq=False)
class Risk(Shown):
    """A risk measure of every run under every measure."""

    kind: str
    alpha: float
    baseline: str | None
    measures: Annotated[tuple[str, ...], column("measure", axis=True)]
    runs: Annotated[tuple[str, ...], column("run", axis=True)]
    values: Annotated[Array, column("value", over="measures runs")]
    """Measures × runs; NaN if the risk is undefined, as TRisk of the baseline itself."""

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{run: {measure: value}}."""
        return {
            run: dict(zip(self.measures, column, strict=True))
            for run, column in zip(self.runs, self.values.T.tolist(), strict=True)
        }


def weighed(scores: Array, baseline: Array, alpha: float) -> Array:
    """Differences from the baseline, with losses counted 1 + α times; NaN if either has no value."""
    difference = scores - baseline
    return np.where(difference < 0, (1 + alpha) * difference, difference)


def urisk(scores: Array, baseline: Array, alpha: float = 1.0) -> Array:
    r"""The mean gain over the baseline, with losses counted 1 + α times.

    .. math:: \frac{1}{n}\Big(\sum_{d_t > 0} d_t + (1 + \alpha) \sum_{d_t < 0} d_t\Big)

    Reference: Wang, Bennett & Collins-Thompson, Robust Ranking Models via Risk-Sensitive Optimization, SIGIR 2012

    >>> urisk(np.array([[0.5, 0.2]]), np.array([0.4, 0.4])).round(4).tolist()
    [-0.15]
    """
    check.not_negative("URisk", alpha=alpha)
    return mean(weighed(scores, baseline, alpha))


def trisk(scores: Array, baseline: Array, alpha: float = 1.0) -> Array:
    r"""URisk in units of its standard error: below −2 significantly riskier than the baseline, above 2 safer.

    .. math:: \frac{\text{URisk}}{s / \sqrt{n}}

    Undefined with fewer than two topics, or if all weighted differences are the same.
    Reference: Dinçer, Macdonald & Ounis, Hypothesis Testing for Risk-Sensitive Evaluation, SIGIR 2014

    >>> trisk(np.array([[0.5, 0.2, 0.9]]), np.array([0.4, 0.4, 0.1])).round(4).tolist()
    [0.4789]
    """
    check.not_negative("TRisk", alpha=alpha)
    values = weighed(scores, baseline, alpha)
    count, spread = (~np.isnan(values)).sum(axis=-1), statistic(values, "std")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, mean(values) / (spread / np.sqrt(count)), np.nan)


def georisk(scores: Array, alpha: float = 1.0) -> Array:
    r"""Effectiveness and risk in one number, compared with the scores that run and topic means lead to expect.

    .. math:: \sqrt{\bar{x}_i\, \Phi(Z_i / n)}, \quad
        Z_i = \sum_{z_{it} > 0} z_{it} + (1 + \alpha) \sum_{z_{it} < 0} z_{it}, \quad
        z_{it} = \frac{x_{it} - e_{it}}{\sqrt{e_{it}}}, \quad e_{it} = \frac{\sum_t x_{it} \sum_i x_{it}}{\sum x}

    Topics on which every run scores 0 add nothing to Z.
    Reference: Dinçer, Macdonald & Ounis, Risk-Sensitive Evaluation Using Multiple Baselines, SIGIR 2016

    >>> georisk(np.array([[0.5, 0.5], [0.5, 0.5]])).tolist()
    [0.5, 0.5]
    """
    check.not_negative("GeoRisk", alpha=alpha)
    values = scores[:, ~np.isnan(scores).any(axis=0)]
    if (values < 0).any():
        raise UsageError("GeoRisk: a score is below 0, all must be 0 or more")
    topics = values.shape[1]
    if topics == 0 or not values.any():
        return np.full(len(scores), np.nan)
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / values.sum()
    z = np.divide(values - expected, np.sqrt(expected), out=np.zeros_like(values), where=expected > 0)
    total = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1)
    return np.asarray(np.sqrt(values.mean(axis=1) * normal_tail(-total / topics)))
