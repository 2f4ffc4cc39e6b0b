"""Analyses of variance on ranks: Friedman's test and Kruskal and Wallis's, with comparisons of all pairs after them.

They ask only that scores can be ordered, so they are for measures on no interval scale (Ferro & Maistro 2024 §7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import Matrix, sample
from cranfield.comparison.distributions.studentized_range import range_quantile, range_sf
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import check_alpha, pair_table, pairs_differ, shown_p
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.record import Record, plain
from cranfield.table import Table
from cranfield.types import Array, Index64

POSTHOC = ("tukey", "dunn")


@dataclass(frozen=True, eq=False)
class RankTest(Record):
    """A test of many systems on ranks, and which pairs of them differ.

    `p` of a pair holds for all pairs together.
    """

    test: str
    measure: str
    systems: tuple[str, ...]
    statistic: float
    """χ², corrected for ties."""
    df: int
    p_value: float
    f: float
    """Friedman: Iman and Davenport's F, which is less cautious; NaN for others."""
    f_df: tuple[int, int]
    f_p: float
    effect_name: str
    effect: float
    """Kendall's W (Friedman) or ε² (Kruskal–Wallis): 0 no difference, 1 all there can be."""
    mean_rank: Array
    n: tuple[int, ...]
    first: Index64
    second: Index64
    difference: Array
    """Of mean ranks."""
    z: Array
    p: Array
    posthoc: str
    alpha: float
    critical: float
    """From which difference of mean ranks on two systems differ; NaN where it is another for each pair."""
    notes: tuple[str, ...] = ()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Which pairs differ at α."""
        return np.asarray(self.p <= self.alpha)

    def __str__(self) -> str:
        lines = [
            f"{self.measure}, {len(self.systems)} systems: {self.test} test: χ²({self.df}) = {self.statistic:.4f}, "
            f"{shown_p(self.p_value)}, {self.effect_name} = {self.effect:.4f}"
        ]
        if not math.isnan(self.f):
            lines.append(f"Iman–Davenport: F({self.f_df[0]}, {self.f_df[1]}) = {self.f:.4f}, {shown_p(self.f_p)}")
        return "\n".join([*lines, self.sentence(), *self.notes])

    __repr__ = __str__

    def sentence(self) -> str:
        """How many pairs differ, of how many, at which half-width."""
        wide = f", half-width {self.critical / 2:.4f} ranks" if math.isfinite(self.critical) else ""
        count = pairs_differ(int(self.differ.sum()), len(self.p))
        return f"{count} at α = {self.alpha:g}{wide} ({self.posthoc})"

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference (of mean ranks), statistic, p, differ; a row per pair."""
        names = np.array(self.systems, dtype=object)
        return {
            "first": names[self.first],
            "second": names[self.second],
            "difference": self.difference,
            "statistic": self.z,
            "p": self.p,
            "differ": self.differ,
        }

    def to_dict(self) -> dict[str, Any]:
        """The test and the pairs, for JSON."""
        facts = ("test", "measure", "statistic", "df", "p_value", "f", "f_df", "f_p", "effect_name", "effect", "n")
        told = {name: getattr(self, name) for name in (*facts, "posthoc", "alpha", "critical", "notes")}
        told["mean_ranks"] = dict(zip(self.systems, self.mean_rank.tolist(), strict=True))
        columns = self.columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        told["pairs"] = [dict(zip(columns, row, strict=True)) for row in rows]
        return {name: plain(value) for name, value in told.items()}

    def table(self) -> Table:
        """A row per pair."""
        return pair_table(self.columns(), caption=str(self).partition("\n")[0], notes=(self.sentence(), *self.notes))


def friedman(data: Any, measure: Any = None, *, alpha: float = 0.05) -> RankTest:
    r"""Do systems rank alike over topics? Ranks within each topic; the two-way analysis without its assumptions.

    .. math:: \chi^2 = \frac{n \sum_j (\bar R_j - \frac{k + 1}{2})^2}{s^2}, \qquad
       s^2 = \frac{\sum_{ij} (R_{ij} - \frac{k + 1}{2})^2}{n (k - 1)}

    n topics, k systems; with no ties :math:`s^2 = k (k + 1) / 12`, and ties are corrected for. Also Iman and
    Davenport's :math:`F = (n - 1) \chi^2 / (n (k - 1) - \chi^2)`. After it Nemenyi's test of all pairs:
    :math:`|\bar R_u - \bar R_v| / (s / \sqrt n)` as a studentized range with infinitely many degrees of freedom.
    Topics without a value for every system are left out.

    Reference: Friedman, JASA 32(200), 1937; Iman & Davenport, Communications in Statistics 9(6), 1980; Nemenyi,
    Distribution-free Multiple Comparisons, 1963

    >>> print(friedman([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6], [0.5, 0.4, 0.6]]))
    score, 3 systems: Friedman test: χ²(2) = 6.5000, p = 0.0388, W = 0.8125
    Iman–Davenport: F(2, 6) = 13.0000, p = 0.0066
    1 of 3 pairs differ at α = 0.05, half-width 0.8286 ranks (Nemenyi)
    """
    check_alpha("friedman", alpha)
    matrix = Matrix.of(data, measure).complete()
    k, n = len(matrix.systems), matrix.n
    if k < 2:
        raise UsageError(f"{k} system, Friedman's test needs 2 or more")
    if n < 2:
        raise UsageError(f"{n} topic, Friedman's test needs 2 or more")
    special = need("scipy.special", "Friedman's test")
    ranks = _ranks(matrix.values)
    away = ranks - (k + 1) / 2
    variance = float((away**2).sum()) / (n * (k - 1))
    means = np.asarray(ranks.mean(axis=0))
    notes = matrix.notes
    if variance == 0.0:
        notes = (*notes, "all systems score alike on every topic: χ² = 0 and p = 1")
    chi = n * float(((means - (k + 1) / 2) ** 2).sum()) / variance if variance else 0.0
    left = n * (k - 1) - chi
    perfect = left <= 1e-9 * n * (k - 1)  # all topics rank all systems alike
    f = math.inf if perfect else (n - 1) * chi / left
    f_df = (k - 1, (k - 1) * (n - 1))
    first, second = _all_pairs(k)
    difference, z, p = _nemenyi(means, math.sqrt(variance / n), first, second, k)
    limit = range_quantile(alpha, k, math.inf) * math.sqrt(variance / n)
    return RankTest(
        "Friedman",
        matrix.measure,
        matrix.systems,
        chi,
        k - 1,
        float(special.chdtrc(k - 1, chi)),
        f,
        f_df,
        0.0 if perfect else float(special.fdtrc(*f_df, f)),
        "W",
        chi / (n * (k - 1)),
        means,
        (n,),
        first,
        second,
        difference,
        z,
        p,
        "Nemenyi",
        alpha,
        limit,
        notes,
    )


def kruskal_wallis(data: Any, measure: Any = None, *, posthoc: str = "tukey", alpha: float = 0.05) -> RankTest:
    r"""Do systems rank alike, topics being a sample of their own for each? The one-way analysis on ranks.

    .. math:: H = \frac{12}{N (N + 1)} \sum_j n_j \left(\bar R_j - \frac{N + 1}{2}\right)^2 \Big/
       \left(1 - \frac{\sum_t (t^3 - t)}{N^3 - N}\right)

    The divisor corrects for ties of t scores. After it, pairs by :math:`z = (\bar R_u - \bar R_v) / \sqrt{\sigma^2
    (1/n_u + 1/n_v)}`, :math:`\sigma^2` being N(N + 1)/12 corrected for ties: `tukey` takes :math:`\sqrt 2 |z|` as a
    studentized range (Ferro & Maistro 2024 Table 3; Tukey–Kramer where sizes differ), `dunn` takes z as normal, with
    Bonferroni's correction. `data` holds systems in any form, or {group: [score, ...]} of different lengths.

    Reference: Kruskal & Wallis, JASA 47(260), 1952; Dunn, Technometrics 6(3), 1964

    >>> print(kruskal_wallis({"a": [0.1, 0.2, 0.3, 0.25], "b": [0.4, 0.6, 0.5, 0.55], "c": [0.7, 0.15, 0.8]}))
    score, 3 systems: Kruskal–Wallis test: χ²(2) = 4.3258, p = 0.1150, ε² = 0.4326
    0 of 3 pairs differ at α = 0.05 (Tukey–Kramer on mean ranks)
    """
    check_alpha("kruskal_wallis", alpha)
    check.one_of("kruskal_wallis", POSTHOC, posthoc=posthoc)
    names, samples, told, notes = _samples(data, measure)
    pooled = _pooled(names, samples)
    first, second = _all_pairs(len(names))
    difference, z, p = _dunn(pooled, first, second, posthoc)
    k, total = len(names), sum(pooled.n)
    chi = pooled.statistic
    critical = math.nan
    if len(set(pooled.n)) == 1 and posthoc == "tukey":
        critical = range_quantile(alpha, k, math.inf) * math.sqrt(pooled.variance / pooled.n[0])
    if pooled.variance == 0.0:
        notes = (*notes, "all scores are the same: χ² = 0 and p = 1")
    special = need("scipy.special", "Kruskal and Wallis's test")
    return RankTest(
        "Kruskal–Wallis",
        told,
        names,
        chi,
        k - 1,
        float(special.chdtrc(k - 1, chi)),
        math.nan,
        (0, 0),
        math.nan,
        "ε²",
        chi / (total - 1),
        pooled.mean_rank,
        pooled.n,
        first,
        second,
        difference,
        z,
        p,
        "Tukey–Kramer on mean ranks" if posthoc == "tukey" else "Dunn, Bonferroni",
        alpha,
        critical,
        notes,
    )


@dataclass(frozen=True, eq=False)
class _Pooled:
    """All samples ranked together."""

    mean_rank: Array
    n: tuple[int, ...]
    variance: float
    """Of one rank, corrected for ties."""
    statistic: float


def _pooled(names: Sequence[str], samples: Sequence[Array]) -> _Pooled:
    if len(samples) < 2:
        raise UsageError(f"{len(samples)} system, Kruskal and Wallis's test needs 2 or more")
    n = tuple(map(len, samples))
    if min(n) < 1:
        raise UsageError(f"{names[n.index(0)]} has no score")
    total = sum(n)
    if total < 3:
        raise UsageError(f"{total} scores, Kruskal and Wallis's test needs 3 or more")
    ranks = _ranks(np.concatenate(samples)[None, :])[0]
    variance = float(((ranks - (total + 1) / 2) ** 2).sum()) / (total - 1)
    sums = np.add.reduceat(ranks, np.cumsum([0, *n[:-1]]))
    means = sums / np.array(n)
    spread = float((np.array(n) * (means - (total + 1) / 2) ** 2).sum())
    return _Pooled(means, n, variance, spread / variance if variance else 0.0)


def _samples(data: Any, measure: Any) -> tuple[tuple[str, ...], list[Array], str, tuple[str, ...]]:
    if isinstance(data, Mapping) and data and not any(isinstance(of, Mapping) for of in data.values()):
        samples = [sample(values, repr(name)) for name, values in data.items()]
        told = "score" if measure is None else str(measure)
        names = tuple(map(str, data))
        notes: tuple[str, ...] = ()
    else:
        matrix = Matrix.of(data, measure)
        names, samples, told, notes = matrix.systems, list(matrix.values.T), matrix.measure, matrix.notes
    kept = [one[~np.isnan(one)] for one in samples]
    lost = sum(map(len, samples)) - sum(map(len, kept))
    return names, kept, told, (*notes, f"{lost} scores are undefined and left out") if lost else notes


def _ranks(values: Array) -> Array:
    """Ranks from 1 within each row, tied values sharing the mean of theirs."""
    rows, columns = values.shape
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    begins = np.ones((rows, columns), dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    run = np.cumsum(begins.ravel()) - 1
    starts = np.flatnonzero(begins.ravel())
    lengths = np.diff(np.append(starts, rows * columns))
    middle = starts % columns + (lengths + 1) / 2
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, middle[run].reshape(rows, columns), axis=1)
    return ranks


def _all_pairs(k: int) -> tuple[Index64, Index64]:
    first, second = np.triu_indices(k, 1)
    return first.astype(np.int64), second.astype(np.int64)


def _nemenyi(means: Array, spread: float, first: Index64, second: Index64, k: int) -> tuple[Array, Array, Array]:
    difference = means[first] - means[second]
    if spread == 0.0:
        return difference, np.zeros(len(difference)), np.ones(len(difference))
    return difference, difference / spread, range_sf(difference / spread, k, math.inf)


def _dunn(pooled: _Pooled, first: Index64, second: Index64, posthoc: str) -> tuple[Array, Array, Array]:
    difference = pooled.mean_rank[first] - pooled.mean_rank[second]
    n = np.array(pooled.n, dtype=np.float64)
    spread = np.sqrt(pooled.variance * (1 / n[first] + 1 / n[second]))
    if pooled.variance == 0.0:
        return difference, np.zeros(len(difference)), np.ones(len(difference))
    z = difference / spread
    k = len(n)
    if posthoc == "tukey":
        return difference, z, range_sf(math.sqrt(2) * z, k, math.inf)
    pairs = k * (k - 1) // 2
    return difference, z, np.minimum(1.0, pairs * 2 * need("scipy.special", "Dunn's test").ndtr(-np.abs(z)))


def _two_sided(name: str, asked: TestSettings) -> None:
    if asked.alternative != "two-sided":
        raise UsageError(f"{name} is two-sided; alternative == {asked.alternative!r} needs another test")


@pair_test(
    "friedman",
    aliases=("nemenyi",),
    function=friedman,
    statistic="q",
    simultaneous=True,
    complete=True,
    interval_scale=False,
    source="Ferro & Maistro 2024 §4; Nemenyi 1963",
)
def _friedman_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """Nemenyi's comparison of mean ranks within topics; no interval of the difference of scores."""
    _two_sided("friedman", asked)
    found = friedman(matrix, alpha=1 - asked.level)
    k = len(matrix.systems)
    spread = found.critical / range_quantile(1 - asked.level, k, math.inf)
    _, z, p = _nemenyi(found.mean_rank, spread, first, second, k)
    none = np.full(len(first), np.nan)
    told = f"{str(found).partition(': ')[2].partition(chr(10))[0]}; pairs by Nemenyi's test of mean ranks"
    return PairTests(z, p, none, none, np.full(len(first), matrix.n, dtype=np.int64), notes=(told,))


@pair_test(
    "kruskal-wallis",
    aliases=("kruskal", "kw"),
    function=kruskal_wallis,
    statistic="z",
    simultaneous=True,
    interval_scale=False,
    source="Ferro & Maistro 2024 §4, Table 3",
)
def _kruskal_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    """Tukey–Kramer on mean ranks over all scores, topics not matched; no interval of the difference of scores."""
    _two_sided("kruskal-wallis", asked)
    samples = [one[~np.isnan(one)] for one in matrix.values.T]
    pooled = _pooled(matrix.systems, samples)
    _, z, p = _dunn(pooled, first, second, "tukey")
    none = np.full(len(first), np.nan)
    n = np.array(pooled.n, dtype=np.int64)
    p_value = float(need("scipy.special", "Kruskal and Wallis's test").chdtrc(len(samples) - 1, pooled.statistic))
    told = (
        f"Kruskal–Wallis test: χ²({len(samples) - 1}) = {pooled.statistic:.4f}, {shown_p(p_value)}; "
        "pairs by Tukey–Kramer on mean ranks, topics not matched"
    )
    return PairTests(z, p, none, none, np.minimum(n[first], n[second]), notes=(told,))
