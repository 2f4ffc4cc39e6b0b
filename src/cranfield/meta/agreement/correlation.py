"""Do measures rank systems alike? Rank correlation of two rankings, and of all measures with each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.comparison.data import sample
from cranfield.comparison.differences import noise
from cranfield.comparison.resampling import check_resampling
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.meta.agreement.coefficients import COEFFICIENTS, DIRECTED, KENDALL
from cranfield.meta.agreement.overlap import TIES
from cranfield.meta.rankings import LEAST_SYSTEMS, Panel, levels_of
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted
from cranfield.types import Array

_BLOCK = 1_000_000
"""How many signs of pairs are held at a time; bounds memory, and changes no answer."""


@dataclass(frozen=True)
class Correlation(Tidy):
    """The rank correlation of two rankings."""

    coefficient: str
    value: float
    n: int
    """How many systems were ranked."""
    z: float
    """|τ| over its standard deviation when there is no correlation, Sakai 2007 (9); NaN where there is no such test."""
    p: float

    def columns(self) -> dict[str, NDArray[Any]]:
        facts = {"coefficient": np.array([self.coefficient], dtype=object), "n": np.array([self.n])}
        return {**facts, **{name: np.array([getattr(self, name)]) for name in ("value", "z", "p")}}

    def table(self) -> Table:
        columns = (Column("coefficient"), Column("value", "number"), Column("n", "count"), Column("p", "probability"))
        return Table(columns, ((self.coefficient, self.value, self.n, self.p),))

    def __str__(self) -> str:
        test = "" if math.isnan(self.z) else f", Z = {self.z:.3f}, p = {self.p:.4g}"
        return f"{self.coefficient} = {self.value:.4f}, n = {self.n}{test}"


def rank_correlation(x: Any, y: Any, coefficient: str = "tau-b", *, p: float = 0.9, ties: str = "w") -> Correlation:
    r"""The rank correlation of two rankings of the same systems, given as scores (higher is better).

    `coefficient` is one of `COEFFICIENTS`; of `tau-ap`, `x` is the gold standard. `p` and `ties` are those of `rbo`
    (but `w` unless said: means that are equal are so, and not in an order that nobody knows).
    x and y are arrays, or {system: score} with the same systems. With τ comes the normal test of no correlation:

    .. math:: Z_0 = |\tau| \Big/ \sqrt{\frac{4n + 10}{9n(n - 1)}}

    References: Kendall, Biometrika 30, 1938; Yilmaz, Aslam & Robertson, SIGIR 2008, doi:10.1145/1390334.1390435;
    Urbano & Marrero, ICTIR 2017; Sakai 2007 (8)-(9), Sakai 2014 (51)-(52)

    >>> print(rank_correlation([0.9, 0.7, 0.6, 0.2], [0.8, 0.4, 0.5, 0.1]))
    tau-b = 0.6667, n = 4, Z = 1.359, p = 0.1742
    >>> print(rank_correlation([0.9, 0.7, 0.6, 0.2], [0.8, 0.4, 0.5, 0.1], "tau-ap"))
    tau-ap = 0.6667, n = 4
    """
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        if set(x) != set(y):
            alone = next(iter(set(x) ^ set(y)))
            raise UsageError(f"rank_correlation: {alone!r} is in one ranking only; both must rank the same systems")
        x, y = list(x.values()), [y[name] for name in x]
    a, b = sample(x, "x"), sample(y, "y")
    if len(a) != len(b):
        raise UsageError(f"rank_correlation: x ranks {len(a)} systems and y {len(b)}; both must rank the same")
    if len(a) < LEAST_SYSTEMS:
        raise UsageError(f"rank_correlation: {counted(len(a), 'system')}, must be {LEAST_SYSTEMS} or more")
    if np.isnan(a).any() or np.isnan(b).any():
        raise UsageError("rank_correlation: a system has no score; leave it out of both")
    levels = np.stack([levels_of(one, noise(one)) for one in (a, b)])
    value = float(_function(coefficient, p, ties)(levels)[0, 1])
    z = p_value = math.nan
    if coefficient in KENDALL:
        z, p_value = (float(one) for one in normal_test(np.array(value), len(a)))
    return Correlation(coefficient, value, len(a), z, p_value)


def normal_test(tau: Array, n: int) -> tuple[Array, Array]:
    """Z_0 of Sakai 2007 (9) and its two-sided p-value; of n systems.

    >>> [round(float(x), 4) for x in normal_test(np.array(0.34), 30)]
    [2.6387, 0.0083]
    """
    from scipy.special import ndtr

    z = np.abs(tau) / math.sqrt((4 * n + 10) / (9 * n * (n - 1)))
    return np.asarray(z), np.asarray(2 * ndtr(-z))


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Tidy):
    """The rank correlations of measures with each other, with intervals over topics.

    Arrays are coefficients × measures × measures. Of a coefficient that has a gold standard, it is the row.
    """

    coefficients: tuple[str, ...]
    measures: tuple[str, ...]
    values: Array
    low: Array
    """The interval over resampled topics; NaN where there is none."""
    high: Array
    p: Array
    """The normal test Sakai 2007 (9) of τ; NaN for other coefficients."""
    systems: int
    topics: int
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def estimate(self, measure: str, other: str, coefficient: str | None = None) -> Estimate:
        """One correlation with its interval."""
        k = self._which(coefficient)
        for name in (measure, other):
            if name not in self.measures:
                raise nearest(name, self.measures, "measure")
        return self._estimate(k, self.measures.index(measure), self.measures.index(other))

    def _which(self, coefficient: str | None) -> int:
        if coefficient is None:
            return 0
        if coefficient not in self.coefficients:
            raise nearest(coefficient, self.coefficients, "coefficient")
        return self.coefficients.index(coefficient)

    def _estimate(self, k: int, i: int, j: int) -> Estimate:
        value, low, high = (float(one[k, i, j]) for one in (self.values, self.low, self.high))
        return Estimate(self.coefficients[k], f"{self.measures[i]}, {self.measures[j]}", value, low, high,
                        self.topics, 0, 0)  # fmt: skip

    def columns(self) -> dict[str, NDArray[Any]]:
        """coefficient, measure, other, value, low, high, p; both ways only of coefficients with a gold standard."""
        other = ~np.eye(len(self.measures), dtype=bool)
        wanted = np.stack([other if name in DIRECTED else np.triu(other) for name in self.coefficients])
        k, i, j = np.nonzero(wanted)
        names = np.array(self.measures, dtype=object)
        of = {"value": self.values, "low": self.low, "high": self.high, "p": self.p}
        return {
            "coefficient": np.array(self.coefficients, dtype=object)[k],
            "measure": names[i],
            "other": names[j],
            **{name: array[k, i, j] for name, array in of.items()},
        }

    def _metadata(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("systems", "topics", "level", "resamples", "seed")}
        return {**facts, "notes": list(self.notes)}

    def table(self, coefficients: str | Iterable[str] | None = None) -> Table:
        """A row and a column per measure; of several coefficients as in Sakai 2013 Table 5, `0.7421/0.8012`."""
        chosen = [coefficients] if isinstance(coefficients, str) else list(coefficients or self.coefficients)
        at = [self._which(one) for one in chosen]
        both = any(one in DIRECTED for one in chosen)
        rows: list[tuple[Cell, ...]] = []
        for i, name in enumerate(self.measures if both else self.measures[:-1]):
            row: list[Cell] = [name]
            for j in range(0 if both else 1, len(self.measures)):
                if i == j or (j < i and not both):
                    row.append(None if len(at) == 1 else "-")
                elif len(at) == 1:
                    row.append(float(self.values[at[0], i, j]))
                else:
                    row.append("/".join(_shown(self.values[k, i, j]) for k in at))
            rows.append(tuple(row))
        kind = "number" if len(at) == 1 else "text"
        heads = self.measures if both else self.measures[1:]
        return Table(
            (Column(""), *(Column(name, kind) for name in heads)),
            tuple(rows),
            " / ".join(chosen),
            self._told(intervals=False),
        )

    def pairs(self) -> Table:
        """A row per pair of measures, every coefficient with its interval, and p of τ."""
        names = [name for name in self.coefficients if name in KENDALL]
        columns = [Column("measure"), Column("other"), *(Column(one, "number") for one in self.coefficients)]
        columns += [Column(f"p ({one})", "probability") for one in names]
        wanted = ~np.eye(len(self.measures), dtype=bool)
        directed = any(name in DIRECTED for name in self.coefficients)
        rows: list[tuple[Cell, ...]] = []
        for i, j in np.argwhere(wanted if directed else np.triu(wanted)).tolist():
            cells: list[Cell] = [self.measures[i], self.measures[j]]
            cells += [self._estimate(k, i, j) for k in range(len(self.coefficients))]
            cells += [float(self.p[self._which(name), i, j]) for name in names]
            rows.append(tuple(cells))
        return Table(tuple(columns), tuple(rows), "Rank correlation of measures", self._told())

    def _told(self, *, intervals: bool = True) -> tuple[str, ...]:
        said = [f"{self.systems} systems, {self.topics} topics"]
        said += [f"{name}: {COEFFICIENTS[name][0]}" for name in self.coefficients]
        if intervals and self.resamples:
            said.append(
                f"{self.level:.0%} intervals over {self.resamples:,} resamples of topics, centred, seed {self.seed}"
            )
        return (*said, *self.notes)

    def __str__(self) -> str:
        return self.table().text()

    __repr__ = __str__


def correlate(
    scores: Scores,
    measures: Any = None,
    *,
    coefficients: str | Iterable[str] = "tau-b",
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
    p: float = 0.9,
    ties: str = "w",
    progress: Callable[[int, int], None] | None = None,
) -> Correlations:
    """How alike measures rank the systems by mean score (Sakai 2007 Table 2, Sakai 2013 Table 5).

    coefficients: one or several of `COEFFICIENTS`: tau-a, tau-b, tau-ap, tau-ap-symmetric, tau-ap-b, rbo.
    The interval is as wide as the middle `level` of what resampled topics give (all measures on the same resample), but
    moved so that their mean is the correlation, and cut off at −1 and 1: a resample has fewer different topics than the
    data, so correlations in it are lower, and plain percentiles would often miss the correlation itself.
    `resamples=0`: no intervals.
    p, ties: those of `rbo`. Means that differ by rounding only are ties. Topics on which some measure is undefined for
    some run are left out; measures of which lower is better are turned round.

    >>> values = [[[0.1, 0.3], [0.2, 0.4], [0.5, 0.9]], [[0.2, 0.1], [0.1, 0.1], [0.3, 0.9]]]
    >>> print(correlate(Scores(["AP", "RR"], ["a", "b", "c"], ["1", "2"], values), resamples=0))
    tau-b
            RR
    AP  0.3333
    3 systems, 2 topics
    tau-b: Kendall's τ_b, corrected for ties
    """
    chosen = (coefficients,) if isinstance(coefficients, str) else tuple(dict.fromkeys(coefficients))
    if not chosen:
        raise UsageError("correlate: no coefficient; give one such as 'tau-b'")
    functions = [_function(name, p, ties) for name in chosen]
    check.between("correlate", low=0, high=1, level=level)
    check_resampling("correlate", resamples or 1, seed, None)
    panel = Panel.of(scores, "correlate", measures)
    levels = panel.levels()
    values = np.stack([function(levels) for function in functions])
    low = high = np.full(values.shape, np.nan)
    if resamples and len(panel.topics) > 1:
        below, above = _intervals(panel, functions, level, resamples, seed, progress)
        low, high = np.maximum(values + np.minimum(below, 0), -1), np.minimum(values + np.maximum(above, 0), 1)
    tests = np.full(values.shape, np.nan)
    for k, name in enumerate(chosen):
        if name in KENDALL:
            tests[k] = normal_test(values[k], len(panel.runs))[1]
    flat = [name for name, row in zip(panel.measures, levels, strict=True) if row.max() == 0]
    notes = panel.notes
    if flat:
        notes = (*notes, f"all systems tie by {', '.join(flat)}: no ranking to correlate with")
    if resamples and len(panel.topics) == 1:
        notes = (*notes, "1 topic: no intervals over topics")
    drawn = resamples if len(panel.topics) > 1 else 0
    return Correlations(
        chosen, panel.measures, values, low, high, tests, len(panel.runs), len(panel.topics), level, drawn, seed, notes
    )


def _intervals(
    panel: Panel,
    functions: list[Callable[..., Array]],
    level: float,
    resamples: int,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[Array, Array]:
    """How far below and above their mean the middle of the resampled coefficients reaches."""
    count, systems = len(panel.measures), len(panel.runs)
    size = max(1, _BLOCK // (count * systems * systems))
    drawn = np.empty((resamples, len(functions), count, count), dtype=np.float32)
    # Single precision counts pairs exactly only up to 2**24 of them.
    kind = np.float32 if systems < 4_000 else np.float64
    done = 0
    for levels in panel.resampled(resamples, seed, size):
        for k, function in enumerate(functions):
            drawn[done : done + len(levels), k] = function(levels, kind)
        done += len(levels)
        if progress is not None:
            progress(done, resamples)
    ends = [(1 - level) / 2, (1 + level) / 2]
    undefined = np.isnan(drawn).all(axis=0)
    kept = np.where(undefined, 0, drawn)
    low, high = np.nanquantile(kept, ends, axis=0).astype(np.float64) - np.nanmean(kept, axis=0, dtype=np.float64)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def _function(coefficient: str, p: float, ties: str) -> Callable[..., Array]:
    if coefficient not in COEFFICIENTS:
        raise nearest(coefficient, list(COEFFICIENTS), "coefficient")
    function = COEFFICIENTS[coefficient][1]
    if coefficient != "rbo":
        return function
    if not 0 < p < 1:
        raise UsageError(f"rbo: p == {p!r}, must be above 0 and below 1")
    check.one_of("rbo", TIES, ties=ties)
    return partial(function, p=p, ties=ties)


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"
