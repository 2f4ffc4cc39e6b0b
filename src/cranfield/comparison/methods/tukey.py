"""Which levels of a factor differ: Tukey's HSD and Scheffé's test of all pairs, after an analysis of variance."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.anova.anova import Anova, LevelMeans, Source, two_way
from cranfield.comparison.data import Matrix
from cranfield.comparison.distributions.studentized_range import range_quantile, range_sf
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import check_alpha, pair_table, pairs_differ
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.record import Record
from cranfield.table import Table
from cranfield.types import Array, Index64

METHODS = {"tukey": "Tukey HSD", "scheffe": "Scheffé"}


@dataclass(frozen=True, eq=False)
class LevelPairs(Record):
    """All pairs of levels of a factor, each with a p-value that holds for all of them together."""

    method: str
    factor: str
    measure: str
    levels: tuple[str, ...]
    mean: Array
    n: NDArray[np.int64]
    """How many scores each mean rests on."""
    first: Index64
    second: Index64
    difference: Array
    statistic: Array
    p: Array
    low: Array
    high: Array
    alpha: float
    df: int
    critical: float
    """From which difference on two levels differ; NaN where it is another for each pair."""
    half_width: float
    """Half of that: intervals of this half-width around the means overlap exactly when two levels do not differ."""
    notes: tuple[str, ...] = ()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which pairs differ at α."""
        return np.asarray(self.p <= self.alpha)

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.first)

    def sentence(self) -> str:
        """How many pairs differ, of how many, at which half-width.

        >>> tukey([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]]).sentence()
        '3 of 3 pairs of system differ at α = 0.05, half-width 0.0767 (Tukey HSD, 4 df)'
        """
        wide = f", half-width {self.half_width:.4f}" if math.isfinite(self.half_width) else ""
        count = pairs_differ(int(self.differ.sum()), len(self), self.factor)
        return f"{count} at α = {self.alpha:g}{wide} ({self.method}, {self.df:,} df)"

    def intervals(self) -> LevelMeans:
        """Means within intervals that overlap exactly when two levels do not differ (Ferro & Maistro 2024 (11))."""
        half = self.half_width
        levels = tuple((level,) for level in self.levels)
        mean = self.mean
        return LevelMeans((self.factor,), levels, mean, mean - half, mean + half, self.n, 1 - self.alpha, self.notes)

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference, low, high, statistic, p, differ; a row per pair."""
        names = np.array(self.levels, dtype=object)
        return {
            "first": names[self.first],
            "second": names[self.second],
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "statistic": self.statistic,
            "p": self.p,
            "differ": self.differ,
        }

    def _metadata(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "factor": self.factor,
            "measure": self.measure,
            "alpha": self.alpha,
            "df": self.df,
            "critical": None if math.isnan(self.critical) else self.critical,
            "notes": list(self.notes),
        }

    def table(self, *, only_different: bool = False, digits: int | None = None) -> Table:
        """A row per pair, those that differ most first."""
        order = np.lexsort((-np.abs(self.statistic), self.p))
        if only_different:
            order = order[self.differ[order]]
        return pair_table(self.columns(), order, caption=self.sentence(), notes=self.notes, digits=digits)

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *self.notes])

    __repr__ = __str__


def tukey(data: Any, measure: Any = None, *, factor: str = "system", alpha: float = 0.05) -> LevelPairs:
    r"""Tukey's honestly significant difference, on the two-way model or any factor of an analysis.

    .. math:: |tk| = \frac{|\bar x_u - \bar x_v|}{\sqrt{MS_{Error} / m}}, \qquad p = \Pr[Q_{k, df} \ge |tk|]

    `data` is an `Anova`, or scores of systems in any form, for which it is `two_way`. `factor` may be a combination of
    factors such as `stemmer:model`. Where levels rest on different numbers of scores it is the Tukey–Kramer test, with
    the standard error of each difference. Assumes what the analysis of variance does.

    Reference: Tukey, The Problem of Multiple Comparisons, 1953; Ferro & Maistro 2024 (9)–(11)

    >>> found = tukey([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]])
    >>> found.p.round(4).tolist()
    [0.0385, 0.0017, 0.0123]
    """
    return _compared("tukey", data, measure, factor, alpha)


def scheffe(data: Any, measure: Any = None, *, factor: str = "system", alpha: float = 0.05) -> LevelPairs:
    r"""Scheffé's test, which holds for every contrast and is therefore stricter for pairs than Tukey's.

    .. math:: F = \frac{(\bar x_u - \bar x_v)^2}{2\, (k - 1)\, MS_{Error} / m}, \qquad p = \Pr[F_{k - 1, df} \ge F]

    Reference: Scheffé, A Method for Judging all Contrasts in the Analysis of Variance, Biometrika 40(1/2), 1953

    >>> scheffe([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]]).p.round(4).tolist()
    [0.0443, 0.002, 0.0143]
    """
    return _compared("scheffe", data, measure, factor, alpha)


def _compared(method: str, data: Any, measure: Any, factor: str, alpha: float) -> LevelPairs:
    check.one_of("pairs of levels", tuple(METHODS), method=method)
    check_alpha(method, alpha)
    analysis = data if isinstance(data, Anova) else two_way(data, measure)
    names = [analysis.model.layout.factor(name.strip()).name for name in re.split(r"[:×*]", factor)]
    means = analysis.model.means(names)
    k = len(means.levels)
    first, second = (index.astype(np.int64) for index in np.triu_indices(k, 1))
    error = analysis.error_of(names)
    spread = np.sqrt(error.ms * means.difference_variance(first, second) / 2)
    found = _tested(method, means.mean, first, second, spread, k, error.df, alpha)
    notes = list(analysis.notes)
    if means.raw:
        notes.append("means of the scores there are, not adjusted for what is missing")
    if math.isnan(found.critical):
        notes.append("standard errors differ from pair to pair: no single half-width")
    levels = tuple(":".join(level) for level in means.levels)
    return LevelPairs(
        METHODS[method],
        ":".join(names),
        analysis.measure,
        levels,
        means.mean,
        means.n,
        first,
        second,
        means.mean[first] - means.mean[second],
        found.statistic,
        found.p,
        found.low,
        found.high,
        alpha,
        error.df,
        found.critical,
        found.critical / 2,
        (*notes, *found.notes),
    )


def _tested(
    method: str, mean: Array, first: Index64, second: Index64, spread: Array, k: int, df: int, alpha: float
) -> PairTests:
    """Differences over the standard error of one mean (`spread`, an entry per pair), as a studentized range or F."""
    difference = mean[first] - mean[second]
    # Means of the same numbers in another order differ by a rounding error.
    difference = np.where(np.abs(difference) <= 1e-13 * np.abs(mean).max(initial=0.0), 0.0, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(difference == 0.0, 0.0, difference / spread)
    if method == "tukey":
        p = range_sf(statistic, k, df)
        limit = range_quantile(alpha, k, df)
    else:
        special = need("scipy.special", "Scheffé's test")
        p = np.where(
            np.isinf(statistic), 0.0, special.fdtrc(k - 1, df, np.minimum(statistic**2, 1e300) / (2 * (k - 1)))
        )
        limit = math.sqrt(2 * (k - 1) * float(special.fdtri(k - 1, df, 1 - alpha)))
    half = limit * spread
    same = bool(len(spread)) and float(spread.max() - spread.min()) <= 1e-9 * float(spread.max())
    notes = ("no error is left: every difference that is not 0 is significant",) if not spread.any() else ()
    return PairTests(
        statistic,
        np.where(difference == 0.0, 1.0, p),
        difference - half,
        difference + half,
        np.zeros(len(first), dtype=np.int64),
        critical=float(half[0]) if same else math.nan,
        notes=notes,
    )


def _engine(method: str, matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    if asked.alternative != "two-sided":
        raise UsageError(f"{METHODS[method]} is two-sided; alternative == {asked.alternative!r} needs another test")
    error, mean = _error_of(matrix)
    spread = np.full(len(first), math.sqrt(error.ms / matrix.n))
    found = _tested(method, mean, first, second, spread, len(matrix.systems), error.df, 1 - asked.level)
    n = np.full(len(first), matrix.n, dtype=np.int64)
    return PairTests(
        found.statistic, found.p, found.low, found.high, n, critical=found.critical, exact=False, notes=found.notes
    )


def _error_of(matrix: Matrix) -> tuple[Source, Array]:
    return two_way(matrix)["error"], np.asarray(matrix.values.mean(axis=0))


@pair_test(
    "tukey",
    aliases=("tukey-hsd", "hsd"),
    function=tukey,
    statistic="tk",
    simultaneous=True,
    complete=True,
    source="Tukey 1953; Ferro & Maistro 2024 (9)–(11)",
)
def _tukey_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """The two-way model's error, the studentized range of all systems."""
    return _engine("tukey", matrix, first, second, asked)


@pair_test(
    "scheffe",
    aliases=("scheffé",),
    function=scheffe,
    statistic="tk",
    simultaneous=True,
    complete=True,
    source="Ferro & Maistro 2024 §4.2.4; Scheffé 1953",
)
def _scheffe_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """The two-way model's error, for all contrasts of all systems."""
    return _engine("scheffe", matrix, first, second, asked)
