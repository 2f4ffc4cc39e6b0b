"""Analyses of variance on ranks, Friedman's and Kruskal and Wallis's, with tests of all pairs after them.

They only need scores that can be ordered, so they suit measures that are not on an interval scale (Ferro & Maistro 2024
§7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import Matrix, all_pairs, check_systems, check_topics, sample
from cranfield.comparison.distributions import mean_ranks, range_quantile, range_sf
from cranfield.comparison.pair_tests import PairRecord, PairTests, TestSettings, pair_columns, pair_test
from cranfield.comparison.test_result import check_alpha, pairs_differ, shown_p
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.notes import method_note, shown_notes
from cranfield.record import plain, rows_of, table_of
from cranfield.table import Table
from cranfield.types import Array, Index64

POSTHOC = ("tukey", "dunn")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RankTest(PairRecord):
    """A test of many systems on ranks, and which pairs differ; `p` of a pair is for all pairs together."""

    test: str
    systems: tuple[str, ...]
    statistic: float
    """χ², corrected for ties."""
    df: int
    p_value: float
    f: float = math.nan
    """Friedman's test only: Iman and Davenport's F, which is less conservative than χ²."""
    f_df: tuple[int, int] = (0, 0)
    f_p: float = math.nan
    effect_name: str
    effect: float
    """Kendall's W (Friedman) or ε² (Kruskal–Wallis), between 0 (no difference) and 1."""
    mean_rank: Array
    n: tuple[int, ...]
    z: Array
    """The statistic of each pair; `difference` is of mean ranks."""
    posthoc: str
    critical: float
    """The smallest difference of mean ranks that is significant; NaN if it is not the same for all pairs."""

    def __str__(self) -> str:
        lines = [f"{self.measure}, {len(self.systems)} systems: {self.headline()}"]
        if not math.isnan(self.f):
            lines.append(f"Iman–Davenport: F({self.f_df[0]}, {self.f_df[1]}) = {self.f:.4f}, {shown_p(self.f_p)}")
        return "\n".join([*lines, self.sentence(), *shown_notes(self.notes)])

    def headline(self) -> str:
        """The test of all systems together."""
        chi = f"χ²({self.df}) = {self.statistic:.4f}, {shown_p(self.p_value)}"
        return f"{self.test} test: {chi}, {self.effect_name} = {self.effect:.4f}"

    def sentence(self) -> str:
        """How many pairs differ, and the half-width."""
        wide = f", half-width {self.critical / 2:.4f} ranks" if math.isfinite(self.critical) else ""
        count = pairs_differ(int(self.differ.sum()), len(self.p))
        return f"{count} at α = {self.alpha:g}{wide} ({self.posthoc})"

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference (of mean ranks), statistic, p, differ; a row per pair."""
        numbers = {"difference": self.difference, "statistic": self.z, "p": self.p, "differ": self.differ}
        return pair_columns(self.systems, self.first, self.second, **numbers)

    def to_dict(self) -> dict[str, Any]:
        """The test, the mean ranks and the pairs, ready for JSON."""
        names = ("test", "measure", "statistic", "df", "p_value", "f", "f_df", "f_p", "effect_name", "effect", "n")
        return {
            **self._facts(*names, "posthoc", "alpha", "critical", "notes"),
            "mean_ranks": dict(zip(self.systems, self.mean_rank.tolist(), strict=True)),
            "pairs": plain(rows_of(self.columns())),
        }

    def table(self) -> Table:
        """A row per pair."""
        return table_of(self.columns(), caption=str(self).partition("\n")[0], notes=(self.sentence(), *self.notes))


def friedman(data: Any, measure: Any = None, *, alpha: float = 0.05) -> RankTest:
    r"""Do systems differ in their ranks within topics? The two-way analysis without its assumptions.

    .. math:: \chi^2 = \frac{n \sum_j (\bar R_j - \frac{k + 1}{2})^2}{s^2}, \qquad
       s^2 = \frac{\sum_{ij} (R_{ij} - \frac{k + 1}{2})^2}{n (k - 1)}

    n is the number of topics, k the number of systems. Without ties :math:`s^2 = k (k + 1) / 12`; the formula corrects
    for ties. The result also has Iman and Davenport's :math:`F = (n - 1) \chi^2 / (n (k - 1) - \chi^2)`. Pairs are
    compared by Nemenyi's test: :math:`|\bar R_u - \bar R_v| / (s / \sqrt n)` as a studentized range with infinite
    degrees of freedom. Topics on which some system has no score are left out.

    Reference: Friedman, JASA 32(200), 1937; Iman & Davenport, Communications in Statistics 9(6), 1980; Nemenyi,
    Distribution-free Multiple Comparisons, 1963

    >>> print(friedman([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6], [0.5, 0.4, 0.6]]))
    score, 3 systems: Friedman test: χ²(2) = 6.5000, p = 0.0388, W = 0.8125
    Iman–Davenport: F(2, 6) = 13.0000, p = 0.0066
    1 of 3 pairs differ at α = 0.05, half-width 0.8286 ranks (Nemenyi)
    """
    matrix = Matrix.of(data, measure).complete()
    return _friedman(matrix, alpha, *all_pairs(len(matrix.systems)))


def _friedman(matrix: Matrix, alpha: float, first: Index64, second: Index64) -> RankTest:
    check_alpha("friedman", alpha)
    k, n = len(matrix.systems), matrix.n
    check_systems(k, "Friedman's test")
    check_topics(n, 2, "Friedman's test")
    special = need("scipy.special", "Friedman's test")
    ranks = mean_ranks(matrix.values)
    variance = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    means = np.asarray(ranks.mean(axis=0))
    chi = n * float(((means - (k + 1) / 2) ** 2).sum()) / variance if variance else 0.0
    left = n * (k - 1) - chi
    perfect = left <= 1e-9 * n * (k - 1)  # all topics rank all systems alike
    f = math.inf if perfect else (n - 1) * chi / left
    f_df = (k - 1, (k - 1) * (n - 1))
    spread = math.sqrt(variance / n)
    z = (means[first] - means[second]) / spread if variance else np.zeros(len(first))
    return RankTest(
        test="Friedman",
        measure=matrix.measure,
        systems=matrix.systems,
        statistic=chi,
        df=k - 1,
        p_value=float(special.chdtrc(k - 1, chi)),
        f=f,
        f_df=f_df,
        f_p=0.0 if perfect else float(special.fdtrc(*f_df, f)),
        effect_name="W",
        effect=chi / (n * (k - 1)),
        mean_rank=means,
        n=(n,),
        first=first,
        second=second,
        difference=means[first] - means[second],
        z=z,
        p=range_sf(z, k, math.inf) if variance else np.ones(len(first)),
        posthoc="Nemenyi",
        alpha=alpha,
        critical=range_quantile(alpha, k, math.inf) * spread,
        notes=(*matrix.notes, *_same_scores_note(variance, "systems have the same score on every topic")),
    )


def kruskal_wallis(data: Any, measure: Any = None, *, posthoc: str = "tukey", alpha: float = 0.05) -> RankTest:
    r"""Do independent samples differ in their ranks? The one-way analysis on ranks.

    .. math:: H = \frac{12}{N (N + 1)} \sum_j n_j \left(\bar R_j - \frac{N + 1}{2}\right)^2 \Big/
       \left(1 - \frac{\sum_t (t^3 - t)}{N^3 - N}\right)

    The divisor corrects for ties of t scores. Pairs are compared by :math:`z = (\bar R_u - \bar R_v) / \sqrt{\sigma^2
    (1/n_u + 1/n_v)}`, where :math:`\sigma^2` is N(N + 1)/12 corrected for ties. `posthoc="tukey"` treats
    :math:`\sqrt 2 |z|` as a studentized range (Ferro & Maistro 2024 Table 3; Tukey–Kramer if sizes differ).
    `posthoc="dunn"` treats z as normal, with Bonferroni's correction. `data` holds systems in any form, or
    {group: [score, ...]} of different lengths.

    Reference: Kruskal & Wallis, JASA 47(260), 1952; Dunn, Technometrics 6(3), 1964

    >>> print(kruskal_wallis({"a": [0.1, 0.2, 0.3, 0.25], "b": [0.4, 0.6, 0.5, 0.55], "c": [0.7, 0.15, 0.8]}))
    score, 3 systems: Kruskal–Wallis test: χ²(2) = 4.3258, p = 0.1150, ε² = 0.4326
    0 of 3 pairs differ at α = 0.05 (Tukey–Kramer on mean ranks)
    """
    check_alpha("kruskal_wallis", alpha)
    check.one_of("kruskal_wallis", POSTHOC, posthoc=posthoc)
    groups = _groups(data, measure)
    return _kruskal_wallis(groups, posthoc, alpha, *all_pairs(len(groups.names)))


def _kruskal_wallis(groups: _Groups, posthoc: str, alpha: float, first: Index64, second: Index64) -> RankTest:
    names, samples, measure, notes = groups
    check_systems(len(names), "Kruskal and Wallis's test")
    n = np.array([len(scores) for scores in samples])
    if n.min() < 1:
        raise UsageError(f"{names[int(n.argmin())]} has no score")
    k, total = len(n), int(n.sum())
    check_topics(total, 3, "Kruskal and Wallis's test", "score")
    special = need("scipy.special", "Kruskal and Wallis's test")
    ranks = mean_ranks(np.concatenate(samples)[None, :])[0]
    variance = float(((ranks - (total + 1) / 2) ** 2).sum()) / (total - 1)  # of a rank, corrected for ties
    means = np.add.reduceat(ranks, np.cumsum([0, *n[:-1]])) / n
    statistic = float((n * (means - (total + 1) / 2) ** 2).sum()) / variance if variance else 0.0
    z, p, critical = np.zeros(len(first)), np.ones(len(first)), math.nan
    if variance:
        z = (means[first] - means[second]) / np.sqrt(variance * (1 / n[first] + 1 / n[second]))
        p = range_sf(math.sqrt(2) * z, k, math.inf)
        if posthoc == "dunn":
            p = np.minimum(1.0, k * (k - 1) // 2 * 2 * special.ndtr(-np.abs(z)))
    if n.max() == n.min() and posthoc == "tukey":
        critical = range_quantile(alpha, k, math.inf) * math.sqrt(variance / int(n[0]))
    return RankTest(
        test="Kruskal–Wallis",
        measure=measure,
        systems=names,
        statistic=statistic,
        df=k - 1,
        p_value=float(special.chdtrc(k - 1, statistic)),
        effect_name="ε²",
        effect=statistic / (total - 1),
        mean_rank=means,
        n=tuple(n.tolist()),
        first=first,
        second=second,
        difference=means[first] - means[second],
        z=z,
        p=p,
        posthoc="Tukey–Kramer on mean ranks" if posthoc == "tukey" else "Dunn, Bonferroni",
        alpha=alpha,
        critical=critical,
        notes=(*notes, *_same_scores_note(variance, "scores are the same")),
    )


def _same_scores_note(variance: float, what: str) -> tuple[str, ...]:
    return () if variance else (f"all {what}: χ² = 0 and p = 1",)


class _Groups(NamedTuple):
    names: tuple[str, ...]
    samples: list[Array]
    measure: str
    notes: tuple[str, ...]


def _groups(data: Any, measure: Any) -> _Groups:
    if isinstance(data, Mapping) and data and not any(isinstance(scores, Mapping) for scores in data.values()):
        samples = [sample(values, repr(name)) for name, values in data.items()]
        measure_name = "score" if measure is None else str(measure)
        names = tuple(map(str, data))
        notes: tuple[str, ...] = ()
    else:
        matrix = Matrix.of(data, measure)
        names, samples, measure_name, notes = matrix.systems, list(matrix.values.T), matrix.measure, matrix.notes
    kept = [scores[~np.isnan(scores)] for scores in samples]
    lost = sum(map(len, samples)) - sum(map(len, kept))
    more = (f"{lost} scores are undefined and left out",) if lost else ()
    return _Groups(names, kept, measure_name, (*notes, *more))


@pair_test(
    "friedman",
    aliases=("nemenyi",),
    function=friedman,
    statistic="q",
    simultaneous=True,
    complete=True,
    needs=None,
    source="Ferro & Maistro 2024 §4; Nemenyi 1963",
)
def friedman_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """Nemenyi's comparison of mean ranks within topics; it has no interval of the difference of scores."""
    result = _friedman(matrix, settings.alpha, first, second)
    none = np.full(len(first), np.nan)
    notes = (method_note(f"{result.headline()}; pairs by Nemenyi's test of mean ranks"),)
    n = np.full(len(first), matrix.n, dtype=np.int64)
    return PairTests(result.z, result.p, none, none, n, notes=notes, direction=result.z)


@pair_test(
    "kruskal-wallis",
    aliases=("kruskal", "kw"),
    function=kruskal_wallis,
    statistic="z",
    simultaneous=True,
    needs=None,
    source="Ferro & Maistro 2024 §4, Table 3",
)
def kruskal_wallis_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    """Tukey–Kramer on mean ranks over all scores, as if topics were not shared; it has no interval."""
    result = _kruskal_wallis(_groups(matrix, None), "tukey", settings.alpha, first, second)
    none = np.full(len(first), np.nan)
    n = np.array(result.n, dtype=np.int64)
    chi = result.headline().partition(", ε²")[0]
    notes = (method_note(f"{chi}; pairs by Tukey–Kramer on mean ranks, topics not matched"),)
    n = np.minimum(n[first], n[second])
    return PairTests(result.z, result.p, none, none, n, notes=notes, direction=result.z)
