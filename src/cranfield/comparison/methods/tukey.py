"""Which levels of a factor differ: tests of all pairs after an analysis of variance, by Tukey, by Scheffé and by t."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.anova.anova import UNADJUSTED, Anova, LevelMeans, two_way
from cranfield.comparison.anova.factors import Layout
from cranfield.comparison.anova.mixed import MixedAnova
from cranfield.comparison.assumptions import pooled_cautions
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.distributions import range_quantile, range_sf
from cranfield.comparison.methods.t import t_of
from cranfield.comparison.pair_tests import PairRecord, PairTests, TestSettings, pair_columns, pair_test
from cranfield.comparison.test_result import check_alpha, pairs_differ
from cranfield.frames import need
from cranfield.notes import caution_note, shown_notes
from cranfield.record import table_of
from cranfield.scores.t_and_normal import t_quantile
from cranfield.table import Table
from cranfield.types import Array, Index64

Levels = Callable[[Array, Index64, Index64, Array, int, float], PairTests]
"""From means, pairs, the standard error of a mean for each pair, degrees of freedom and α, to the tests of pairs."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LevelPairs(PairRecord):
    """All pairs of levels of a factor; the p-values are for all pairs together."""

    figure = "describe_levels"
    facts = ("method", "factor", "measure", "alpha", "df", "critical", "notes")

    method: str
    factor: str
    levels: tuple[str, ...]
    mean: Array
    n: NDArray[np.int64]
    """The number of scores behind each mean."""
    statistic: Array
    low: Array
    high: Array
    df: int
    critical: float
    """The smallest difference that is significant; NaN if it is not the same for all pairs."""

    @property
    def half_width(self) -> float:
        """Half of `critical`: intervals of this half-width around means overlap exactly if the levels do not differ."""
        return self.critical / 2

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.first)

    def sentence(self) -> str:
        """How many pairs differ, and the half-width.

        >>> tukey([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]]).sentence()
        '3 of 3 pairs of systems differ at α = 0.05, half-width 0.0767 (Tukey HSD, 4 df)'
        """
        wide = f", half-width {self.half_width:.4f}" if math.isfinite(self.half_width) else ""
        count = pairs_differ(int(self.differ.sum()), len(self), self.factor)
        return f"{count} at α = {self.alpha:g}{wide} ({self.method}, {self.df:,} df)"

    def intervals(self) -> LevelMeans:
        """Means with intervals that overlap exactly if two levels do not differ (Ferro & Maistro 2024 (11))."""
        levels = tuple((level,) for level in self.levels)
        means = LevelMeans((self.factor,), levels, self.mean, self.mean, self.mean, self.n, 1 - self.alpha, self.notes)
        return means.with_half_width(self.half_width, self.method)

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference, low, high, statistic, p, differ; a row per pair."""
        numbers = {name: getattr(self, name) for name in ("difference", "low", "high", "statistic", "p", "differ")}
        return pair_columns(self.levels, self.first, self.second, **numbers)

    def table(self, *, only_different: bool = False, digits: int | None = None) -> Table:
        """A row per pair, sorted by p."""
        order = np.lexsort((-np.abs(self.statistic), self.p))
        if only_different:
            order = order[self.differ[order]]
        return table_of(self.columns(), order, caption=self.sentence(), notes=self.notes, digits=digits)

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *shown_notes(self.notes)])


def tukey(data: Any, measure: Any = None, *, factor: str = "system", alpha: float = 0.05) -> LevelPairs:
    r"""Tukey's honestly significant difference, for the systems of the two-way model or any factor of an analysis.

    .. math:: |tk| = \frac{|\bar x_u - \bar x_v|}{\sqrt{MS_{Error} / m}}, \qquad p = \Pr[Q_{k, df} \ge |tk|]

    `data` is the result of `anova` or `mixed`, or scores of systems in any form, which are analysed with `two_way`.
    `factor` can be a combination of factors such as `stemmer:model`. If the levels have different numbers of scores,
    this is the Tukey–Kramer test, with a standard error for each difference. The assumptions are those of the analysis
    of variance: if the differences of some pairs vary more than those of others, these pairs are found too often. The
    test max-t of `compare` gives each pair its own standard error.

    Reference: Tukey, The Problem of Multiple Comparisons, 1953; Ferro & Maistro 2024 (9)–(11)

    >>> result = tukey([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]])
    >>> result.p.round(4).tolist()
    [0.0385, 0.0017, 0.0123]
    """
    return compare_levels("Tukey HSD", partial(_test_pairs, "tukey"), "tukey", data, measure, factor, alpha)


def scheffe(data: Any, measure: Any = None, *, factor: str = "system", alpha: float = 0.05) -> LevelPairs:
    r"""Scheffé's test. It holds for every contrast, so for pairs it is stricter than Tukey's.

    .. math:: F = \frac{(\bar x_u - \bar x_v)^2}{2\, (k - 1)\, MS_{Error} / m}, \qquad p = \Pr[F_{k - 1, df} \ge F]

    Parameters are those of `tukey`.

    Reference: Scheffé, A Method for Judging all Contrasts in the Analysis of Variance, Biometrika 40(1/2), 1953

    >>> scheffe([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]]).p.round(4).tolist()
    [0.0443, 0.002, 0.0143]
    """
    return compare_levels("Scheffé", partial(_test_pairs, "scheffe"), "scheffe", data, measure, factor, alpha)


def compare_levels(
    method: str, test: Levels, caller: str, data: Any, measure: Any, factor: str, alpha: float
) -> LevelPairs:
    """All pairs of levels of a factor of an analysis, or of the systems of scores."""
    check_alpha(caller, alpha)
    analysis = data if isinstance(data, Anova | MixedAnova) else two_way(data, measure)
    names = [analysis.model.layout.factor(name.strip()).name for name in re.split(r"[:×*]", factor)]
    means, variance, df = analysis.estimated(names)
    first, second = all_pairs(len(means.levels))
    spread = np.sqrt(variance * means.difference_variance(first, second) / 2)
    tests = test(means.mean, first, second, spread, df, alpha)
    notes = list(analysis.notes)
    if means.raw:
        notes.append(UNADJUSTED)
    if math.isnan(tests.critical):
        notes.append("standard errors differ between pairs, so there is no single half-width")
    if names == ["system"]:
        notes += _unequal_systems(analysis.model.layout)
    return LevelPairs(
        method=method,
        factor=":".join(names),
        measure=analysis.measure,
        levels=tuple(":".join(level) for level in means.levels),
        mean=means.mean,
        n=means.n,
        first=first,
        second=second,
        difference=means.mean[first] - means.mean[second],
        **{name: getattr(tests, name) for name in ("statistic", "p", "low", "high", "critical")},
        alpha=alpha,
        df=df,
        notes=(*notes, *tests.notes),
    )


def _test_pairs(
    method: str, mean: Array, first: Index64, second: Index64, spread: Array, df: int, alpha: float
) -> PairTests:
    """Compare differences over the standard error of one mean (`spread`, per pair) with a studentized range or F."""
    k = len(mean)
    difference = differences_of(mean, first, second)
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
    notes = (
        (caution_note("there is no error variance: every difference other than 0 is significant"),)
        if not spread.any()
        else ()
    )
    return PairTests(
        statistic,
        np.where(difference == 0.0, 1.0, p),
        difference - half,
        difference + half,
        np.zeros(len(first), dtype=np.int64),
        critical=float(half[0]) if same else math.nan,
        notes=notes,
    )


def _unequal_systems(layout: Layout) -> list[str]:
    """A caution if the differences of some pairs of systems vary more than their common error allows."""
    if "topic" not in layout.factors:
        return []
    topic, system = layout.factor("topic"), layout.factor("system")
    shape = (len(topic.levels), len(system.levels))
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (topic.codes, system.codes), layout.values)
    np.add.at(counts, (topic.codes, system.codes), 1)
    whole = (counts > 0).all(axis=1)
    means = sums[whole] / counts[whole]
    return pooled_cautions(Matrix(means, tuple(map(str, np.flatnonzero(whole))), tuple(system.levels), layout.measure))


def differences_of(mean: Array, first: Index64, second: Index64) -> Array:
    """The differences of means; means of the same numbers in another order differ by rounding, which becomes 0."""
    difference = mean[first] - mean[second]
    return np.where(np.abs(difference) <= 1e-13 * np.abs(mean).max(initial=0.0), 0.0, difference)


def _two_way_pairs(method: str, matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """Tukey's or Scheffé's test with the error of the two-way model."""
    error = two_way(matrix)["error"]
    spread = np.full(len(first), math.sqrt(error.ms / matrix.n))
    mean = np.asarray(matrix.values.mean(axis=0))
    tests = _test_pairs(method, mean, first, second, spread, error.df, settings.alpha)
    return replace(tests, n=np.full(len(first), matrix.n, dtype=np.int64))


_ALL_PAIRS: dict[str, Any] = {
    "statistic": "tk", "simultaneous": True, "complete": True, "normal": True, "pooled": True
}  # fmt: skip
_TUKEY, _SCHEFFE = "Tukey 1953; Ferro & Maistro 2024 (9)–(11)", "Ferro & Maistro 2024 §4.2.4; Scheffé 1953"
pair_test("tukey", aliases=("tukey-hsd", "hsd"), function=tukey, source=_TUKEY, **_ALL_PAIRS)(
    partial(_two_way_pairs, "tukey")
)
pair_test("scheffe", aliases=("scheffé",), function=scheffe, source=_SCHEFFE, **_ALL_PAIRS)(
    partial(_two_way_pairs, "scheffe")
)


CORRECTION = "benjamini-hochberg"


def pooled_t(
    data: Any, measure: Any = None, *, factor: str = "system", alpha: float = 0.05, correction: str = CORRECTION
) -> LevelPairs:
    r"""Pairs of levels by t with the error of the analysis of variance, and few false discoveries among those found.

    .. math:: t = \frac{\bar x_u - \bar x_v}{\sqrt{2\, MS_{Error} / m}}, \qquad df = df_{Error}

    Parameters are those of `tukey`, and the `correction` of the p-values. By default at most a share α of the pairs
    that are found to differ do not, where Tukey's test allows no false one at all: it finds more pairs, and some are
    false. Without a correction ("none") it is Fisher's least significant difference. Intervals of differences are for
    each pair alone.

    References: Faggioli & Ferro, System Effect Estimation by Sharding, ECIR 2021; Ferro & Maistro 2024 §4.2.4

    >>> result = pooled_t([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]])
    >>> result.p.round(4).tolist()
    [0.0179, 0.0022, 0.0084]
    """
    name = CORRECTIONS.find(correction).name
    method = f"t with the pooled error, {'not corrected' if name == 'none' else name}"
    return compare_levels(method, partial(_test_levels, name), "pooled_t", data, measure, factor, alpha)


def _test_levels(
    correction: str, mean: Array, first: Index64, second: Index64, spread: Array, df: int, alpha: float
) -> PairTests:
    se = spread * math.sqrt(2)
    t, p, low, high = t_of(differences_of(mean, first, second), se, np.full(len(first), df), "two-sided", alpha)
    adjusted = adjust(p, correction)
    # The largest p that is significant; the steps of other corrections have no such formula.
    count, differ = max(len(p), 1), max(int((adjusted <= alpha).sum()), 1)
    limits = {"none": alpha, "bonferroni": alpha / count, CORRECTION: alpha * differ / count}
    same = bool(len(se)) and float(se.max() - se.min()) <= 1e-9 * float(se.max())
    critical = math.nan
    if same and correction in limits:
        critical = float(se[0]) * float(t_quantile(limits[correction] / 2, np.array([df]))[0])
    return PairTests(t, adjusted, low, high, np.zeros(len(first), dtype=np.int64), critical=critical)


@pair_test(
    "pooled-t",
    aliases=("anova", "anova-t", "lsd", "fisher-lsd"),
    function=pooled_t,
    statistic="t",
    any_level=True,
    complete=True,
    normal=True,
    pooled=True,
    correction=CORRECTION,
    source="Faggioli & Ferro, ECIR 2021; Ferro & Maistro 2024 §4.2.4",
)
def pooled_t_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """The t test of every pair, with the error of the two-way model of all systems."""
    error = two_way(matrix)["error"]
    difference = differences_of(np.asarray(matrix.values.mean(axis=0)), first, second)
    se = np.full(len(first), math.sqrt(2 * error.ms / matrix.n))
    df = np.full(len(first), error.df)
    t, p, low, high = t_of(difference, se, df, settings.alternative, settings.outside)
    return PairTests(t, p, low, high, np.full(len(first), matrix.n, dtype=np.int64))
