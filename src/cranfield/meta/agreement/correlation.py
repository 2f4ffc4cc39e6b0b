"""Do measures rank systems alike? Rank correlation of two rankings and of all pairs of measures, and a distance.

The distance `d_rank` is that of one measure's scores from another measure's ranking, relative to the variation over
topics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import index_of
from cranfield.comparison.data import noise, sample
from cranfield.declared.operation import Level, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import MeasuresLike
from cranfield.evaluation.runs_or_scores import takes_runs
from cranfield.meta.agreement.coefficients import COEFFICIENTS, DIRECTED, KENDALL, TwoRankings, tau_a
from cranfield.meta.agreement.overlap import TIES, check_settings
from cranfield.meta.complete_scores import (
    CompleteScores,
    Levels,
    TopicResamples,
    check_count,
    divided,
    levels_of,
    studentised_interval,
)
from cranfield.notes import caution_note, method_note
from cranfield.record import Columns, Record, labels, one_row
from cranfield.scores.scores import Scores
from cranfield.table import Cell, Column, Estimate, Table, headings
from cranfield.text import counted
from cranfield.types import Array, Progress, report

_BLOCK = 1_000_000
"""Number of signs of pairs held at a time, to bound memory; it does not change the result."""


@dataclass(frozen=True)
class Correlation(Record):
    """The rank correlation of two rankings."""

    coefficient: str
    n: int
    """The number of systems."""
    value: float
    z: float
    """|τ| divided by its standard deviation without correlation (`normal_test`); NaN for other coefficients."""
    p: float

    def columns(self) -> Columns:
        return one_row(vars(self))

    def table(self) -> Table:
        columns = (Column("coefficient"), Column("value", "number"), Column("n", "count"), Column("p", "probability"))
        return Table(columns, ((self.coefficient, self.value, self.n, self.p),))

    def __str__(self) -> str:
        test = "" if math.isnan(self.z) else f", Z = {self.z:.3f}, p = {self.p:.4g}"
        return f"{self.coefficient} = {self.value:.4f}, n = {self.n}{test}"


def rank_correlation(x: Any, y: Any, coefficient: str = "tau-b", *, p: float = 0.9, ties: str = "w") -> Correlation:
    r"""The rank correlation of two rankings of the same systems, given as scores (higher is better).

    x and y are arrays, or {system: score} with the same systems. `coefficient` is one of `COEFFICIENTS`; for `tau-ap`,
    `x` is the gold standard. `p` and `ties` are those of `rbo`, but `ties` is `w` by default: equal means are equal,
    rather than in an unknown order. For τ, the result has the normal test of no correlation (`normal_test`), which is
    without ties

    .. math:: Z_0 = |\tau| \Big/ \sqrt{\frac{4n + 10}{9n(n - 1)}}

    It takes n log n time and memory in proportion to n.

    References: Kendall, Biometrika 30, 1938; Yilmaz, Aslam & Robertson, SIGIR 2008, doi:10.1145/1390334.1390435;
    Urbano & Marrero, ICTIR 2017; Vigna, WWW 2015; Sakai 2007 (8)-(9), Sakai 2014 (51)-(52)

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
    check_count("rank_correlation", len(a), "system")
    if np.isnan(a).any() or np.isnan(b).any():
        raise UsageError("rank_correlation: a system has no score; leave it out of both")
    if coefficient not in COEFFICIENTS:
        raise check.nearest(coefficient, list(COEFFICIENTS), "coefficient")
    two = TwoRankings(*(levels_of(scores, noise(scores)) for scores in (a, b)))
    if coefficient == "rbo":
        check_settings(p, ties)
        value = two.overlap(p, ties)
    else:
        value = getattr(two, coefficient.replace("-", "_"))()
    z = p_value = math.nan
    if coefficient in KENDALL:
        spread = _variance(two.n, _tie_sums(two.sizes_x), _tie_sums(two.sizes_y))
        z = abs(two.agreement) / math.sqrt(spread) if spread > 0 else math.nan
        p_value = math.erfc(z / math.sqrt(2))
    return Correlation(coefficient, len(a), value, z, p_value)


def normal_test(levels: Levels) -> tuple[Array, Array]:
    r"""The normal test of no correlation for all pairs of rankings: Z_0 and its two-sided p-value.

    Without ties, :math:`Z_0 = |\tau| / \sqrt{(4n + 10) / (9n(n - 1))}`, Sakai 2007 (9). With ties, the variance of the
    number S of pairs that agree minus those that disagree depends on the sizes t and u of the ties in both rankings:

    .. math:: \frac{n(n - 1)(2n + 5) - \sum t(t - 1)(2t + 5) - \sum u(u - 1)(2u + 5)}{18}
        + \frac{\sum t(t - 1)(t - 2) \sum u(u - 1)(u - 2)}{9n(n - 1)(n - 2)}
        + \frac{\sum t(t - 1) \sum u(u - 1)}{2n(n - 1)}

    The test is the same for τ_a and τ_b, because both divide S by a constant. NaN where all systems tie.
    Reference: Kendall, The Treatment of Ties in Ranking Problems, Biometrika 33(3), 1945

    >>> z, p = normal_test(np.array([[0, 1, 2, 3], [0, 2, 1, 3]]))
    >>> round(float(z[0, 1]), 4), round(float(p[0, 1]), 4)
    (1.3587, 0.1742)
    """
    from scipy.special import ndtr

    n = levels.shape[-1]
    sums = [_tie_sums(np.bincount(row)) for row in levels]
    variance = np.array([[_variance(n, a, b) for b in sums] for a in sums])
    z = divided(np.abs(tau_a(levels)) * (n * (n - 1) / 2), np.sqrt(variance))
    return z, np.asarray(2 * ndtr(-z))


def _tie_sums(sizes: NDArray[np.int64]) -> tuple[int, int, int]:
    """The sums of t(t − 1), t(t − 1)(t − 2) and t(t − 1)(2t + 5) over the sizes of ties."""
    t = sizes[sizes > 1].tolist()  # whole numbers of any size: without the error of rounding
    if not t:
        return 0, 0, 0
    return sum(k * (k - 1) for k in t), sum(k * (k - 1) * (k - 2) for k in t), sum(k * (k - 1) * (2 * k + 5) for k in t)


def _variance(n: int, x: tuple[int, int, int], y: tuple[int, int, int]) -> float:
    """The variance of S without correlation, from the sums of ties; 0 where all systems tie."""
    pairs = n * (n - 1)
    if pairs in (x[0], y[0]):
        return 0.0
    return (pairs * (2 * n + 5) - x[2] - y[2]) / 18 + x[1] * y[1] / (9 * pairs * (n - 2)) + x[0] * y[0] / (2 * pairs)


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Record):
    """The rank correlations of all pairs of measures, with intervals over topics.

    Arrays are coefficients × measures × measures. For a coefficient with a gold standard, the row is the gold standard.
    """

    figure = "describe_correlations"
    facts = ("systems", "topics", "level", "resamples", "seed")

    coefficients: tuple[str, ...]
    measures: tuple[str, ...]
    values: Array
    low: Array
    """Lower end of the interval of the expected correlation at this number of topics; NaN without intervals."""
    high: Array
    p: Array
    """The normal test of τ, with the variance for ties (`normal_test`); NaN for other coefficients."""
    systems: int
    topics: int
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def estimate(self, measure: str, other: str, coefficient: str | None = None) -> Estimate:
        """The correlation of two measures with its interval."""
        i, j = (index_of(name, self.measures, "measure") for name in (measure, other))
        return self._estimate(0 if coefficient is None else self._which(coefficient), i, j)

    def _which(self, coefficient: str) -> int:
        return index_of(coefficient, self.coefficients, "coefficient")

    def _estimate(self, k: int, i: int, j: int) -> Estimate:
        value, low, high = (array[k, i, j] for array in (self.values, self.low, self.high))
        pair = f"{self.measures[i]}, {self.measures[j]}"
        return Estimate(self.coefficients[k], pair, float(value), float(low), float(high), self.topics)

    def _pairs(self, coefficients: Iterable[str]) -> list[tuple[int, int]]:
        """Pairs of measures, in both directions if a coefficient has a gold standard."""
        different = ~np.eye(len(self.measures), dtype=bool)
        pairs = np.argwhere(different if set(DIRECTED) & set(coefficients) else np.triu(different))
        return [(i, j) for i, j in pairs.tolist()]

    def columns(self) -> Columns:
        """coefficient, measure, other, value, low, high, p; both directions for coefficients with a gold standard."""
        index = [(k, i, j) for k, name in enumerate(self.coefficients) for i, j in self._pairs([name])]
        k, i, j = np.array(index).T
        names = labels(self.measures)
        arrays = {"value": self.values, "low": self.low, "high": self.high, "p": self.p}
        return {
            "coefficient": labels(self.coefficients)[k],
            "measure": names[i],
            "other": names[j],
            **{name: array[k, i, j] for name, array in arrays.items()},
        }

    def table(self, coefficients: str | Iterable[str] | None = None) -> Table:
        """A row and a column per measure; several coefficients as in Sakai 2013 Table 5, `0.7421/0.8012`."""
        names = [coefficients] if isinstance(coefficients, str) else list(coefficients or self.coefficients)
        values = self.values[[self._which(name) for name in names]]
        shown = set(self._pairs(names))
        square = bool(set(DIRECTED) & set(names))

        def cell(i: int, j: int) -> Cell:
            if len(names) == 1:
                return float(values[0, i, j]) if (i, j) in shown else None
            if (i, j) not in shown:
                return "-"
            return "/".join("-" if math.isnan(value) else f"{value:.4f}" for value in values[:, i, j])

        across = range(0 if square else 1, len(self.measures))
        down = range(len(across))
        rows = tuple((self.measures[i], *(cell(i, j) for j in across)) for i in down)
        heads = headings("number" if len(names) == 1 else "text", *(self.measures[j] for j in across))
        hidden = _interval_note(self.level, self.resamples, self.seed)
        notes = tuple(note for note in self.notes if note != hidden)
        return Table((Column(""), *heads), rows, " / ".join(names), notes)

    def pairs(self) -> Table:
        """A row per pair of measures: every coefficient with its interval, and p of τ."""
        tested = {name: k for k, name in enumerate(self.coefficients) if name in KENDALL}
        columns = (
            *headings("text", "measure", "other"),
            *headings("number", *self.coefficients),
            *headings("probability", *(f"p ({name})" for name in tested)),
        )
        rows: list[tuple[Cell, ...]] = []
        for i, j in self._pairs(self.coefficients):
            estimates = (self._estimate(k, i, j) for k in range(len(self.coefficients)))
            p = (float(self.p[k, i, j]) for k in tested.values())
            rows.append((self.measures[i], self.measures[j], *estimates, *p))
        return Table(columns, tuple(rows), "Rank correlation of measures", self.notes)


def _interval_note(level: float, resamples: int, seed: int) -> str:
    how = method_note(f"t times the standard deviation over {resamples:,} resamples of topics, seed {seed}")
    return method_note(f"{level:.0%} intervals of the expected correlation at this number of topics: {how}")


def _at_topics(topics: int) -> str:
    """What the correlation is of: chance moves the means of few topics, and so the rankings."""
    rankings = f"correlation of rankings by {counted(topics, 'topic')}"
    return f"{rankings}: with more, less is left to chance, and measures usually agree more"


@takes_runs
@operation
def correlate(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    coefficients: Annotated[
        str | Iterable[str],
        about(
            "{names}; several separated by commas.",
            names="meta.agreement.coefficients:COEFFICIENTS",
            spelled="--coefficient, -c NAME,...",
        ),
    ] = "tau-b",
    level: Level = 0.95,
    resamples: TopicResamples = 1_000,
    seed: Seed = 0,
    p: Annotated[
        float,
        about("Probability of looking one rank deeper.", above=0, below=1, only="rbo", spelled="--persistence, -p P"),
    ] = 0.9,
    rbo_ties: Annotated[
        str,
        about(
            "How ties are treated, {names}: they share a rank, mean over all orders, or corrected.",
            choices=TIES,
            only="rbo",
            spelled="--rbo-ties RULE",
        ),
    ] = "w",
    progress: Progress | None = None,
) -> Correlations:
    """How alike measures rank the systems by mean score (Sakai 2007 Table 2, Sakai 2013 Table 5).

    coefficients: one or several of `COEFFICIENTS`: tau-a, tau-b, tau-ap, tau-ap-symmetric, tau-ap-b, weighted-tau, rbo.
    p, rbo_ties: `p` and `ties` of `rbo`. Means that differ by rounding only are ties. Topics with an undefined score
    are left out.
    Measures for which lower is better are negated.

    The result is the correlation of rankings by these topics, and its interval is of its average over other samples of
    the same number of topics. It is not the correlation of rankings by all topics that there could be: chance
    moves the means, so the correlation changes with the number of topics, and is usually lower for few.

    An interval is the correlation ± t times its standard deviation over resampled topics, within the range of the
    coefficient (`studentised_interval`); the resamples are the same for all measures, and `resamples=0` gives none.
    There is no interval where every resample has the same correlation.

    >>> values = [[[0.1, 0.3], [0.2, 0.4], [0.5, 0.9]], [[0.2, 0.1], [0.1, 0.1], [0.3, 0.9]]]
    >>> print(correlate(Scores(["AP", "RR"], ["a", "b", "c"], ["1", "2"], values), resamples=0))
    tau-b
            RR
    AP  0.3333
    correlation of rankings by 2 topics: with more, less is left to chance, and measures usually agree more
    3 systems, 2 topics
    1 more note: .notes
    """
    names = (coefficients,) if isinstance(coefficients, str) else tuple(dict.fromkeys(coefficients))
    if not names:
        raise UsageError("correlate: no coefficient; give one such as 'tau-b'")
    functions = [_function(name, p, rbo_ties) for name in names]
    complete = CompleteScores.of(scores, "correlate", measures)
    levels = complete.levels()
    values = np.stack([function(levels) for function in functions])
    low = high = np.full(values.shape, np.nan)
    systems, topics = len(complete.runs), len(complete.topics)
    notes = [method_note(f"{systems} systems, {counted(topics, 'topic')}"), _at_topics(topics)]
    notes += [method_note(f"{name}: {COEFFICIENTS[name][0]}") for name in names]
    drawn = resamples if topics > 1 else 0
    if drawn:
        low, high = studentised_interval(values, _resampled(complete, functions, drawn, seed, progress), topics, level)
        least = np.where(np.isin(names, "rbo"), 0.0, -1.0)[:, None, None]
        low, high = np.maximum(low, least), np.minimum(high, 1.0)
        notes.append(_interval_note(level, drawn, seed))
        different = ~np.eye(len(complete.measures), dtype=bool)
        if (np.isnan(low) & ~np.isnan(values))[:, different].any():
            notes.append(caution_note("no interval where every resample has the same correlation"))
    kendall, p_values = np.isin(names, KENDALL), np.full(values.shape, np.nan)
    if kendall.any():  # the test imports scipy
        p_values[kendall] = normal_test(levels)[1]
    notes += complete.notes
    tied = [name for name, row in zip(complete.measures, levels, strict=True) if row.max() == 0]
    if tied:
        notes.append(caution_note(f"all systems tie by {', '.join(tied)}: no ranking to correlate with"))
    if resamples and topics == 1:
        notes.append("1 topic: no intervals over topics")
    return Correlations(
        names, complete.measures, values, low, high, p_values, systems, topics, level, drawn, seed, tuple(notes)
    )


def _resampled(
    complete: CompleteScores,
    functions: list[Callable[..., Array]],
    resamples: int,
    seed: int,
    progress: Progress | None,
) -> NDArray[np.float32]:
    """resamples × coefficients × measures × measures."""
    count, systems = len(complete.measures), len(complete.runs)
    size = max(1, _BLOCK // (count * systems * systems))
    drawn = np.empty((resamples, len(functions), count, count), dtype=np.float32)
    # Single precision counts pairs exactly only up to 2**24.
    precision = np.float32 if systems < 4_000 else np.float64
    done = 0
    for levels in complete.resampled_levels(resamples, seed, size):
        for k, function in enumerate(functions):
            drawn[done : done + len(levels), k] = function(levels, precision)
        done += len(levels)
        report(progress, done, resamples)
    return drawn


def _function(coefficient: str, p: float, ties: str) -> Callable[..., Array]:
    if coefficient not in COEFFICIENTS:
        raise check.nearest(coefficient, list(COEFFICIENTS), "coefficient")
    function = COEFFICIENTS[coefficient][1]
    if coefficient != "rbo":
        return function
    return partial(function, p=p, ties=ties)


@dataclass(frozen=True, eq=False, repr=False)
class Distances(Record):
    """d_rank between all measures: from the scores by the row's measure to the ranking by the column's."""

    figure = "distances_figure"

    measures: tuple[str, ...]
    values: Array
    shrinkage: Array
    """For each measure, how much the covariances between systems were shrunk: 0 not at all, 1 to zero."""
    notes: tuple[str, ...]

    def columns(self) -> Columns:
        """measure (of the scores), other (of the ranking), d_rank."""
        a, b = np.nonzero(~np.eye(len(self.measures), dtype=bool))
        names = labels(self.measures)
        return {"measure": names[a], "other": names[b], "d_rank": self.values[a, b]}

    def table(self) -> Table:
        """A row per measure of the scores, a column per measure of the ranking."""
        rows = tuple(
            (name, *(None if i == j else distance for j, distance in enumerate(self.values[i].tolist())))
            for i, name in enumerate(self.measures)
        )
        columns = (Column("scores by"), *headings("number", *self.measures))
        return Table(columns, rows, "d_rank, scores by the row to the ranking by the column", self.notes)


def rank_distances(
    scores: Scores,
    measures: MeasuresLike | None = None,
    *,
    shrink: float | None = None,
    progress: Progress | None = None,
) -> Distances:
    r"""Carterette's distance between rankings, which takes the covariance of systems over topics into account.

    .. math:: d_{rank}^2 = \min_{\mu \in C} \; (\bar x - \mu)^T \left(\Sigma / n\right)^{-1} (\bar x - \mu)

    :math:`\bar x` are the systems' mean scores by one measure over n topics, Σ the covariances of systems over topics,
    and C all means that rank the systems as the other measure does. It is 0 if the rankings agree, and small if they
    differ only in pairs that the topics do not separate, or in many correlated pairs; Kendall's τ counts each such
    pair. For two systems it is the absolute paired t statistic. It depends on which measure's scores are moved.

    Σ is estimated from few topics, and is singular if there are more systems than topics. Its covariances therefore
    shrink towards 0 by `shrink` (0 to 1), by default by the amount that Schäfer & Strimmer (2005) estimate from the
    data. The distance is infinite if no such means exist, for example for systems without variance in the wrong order.
    It is derived from the paper's idea (the nearest scores with that ranking, under the covariances) and solved as a
    least distance programme (Lawson & Hanson); there is no p-value.
    References: Carterette, SIGIR 2009, doi:10.1145/1571941.1572017; Schäfer & Strimmer, SAGMB 4(1), 2005

    >>> values = [[[0.2, 0.4, 0.3], [0.5, 0.5, 0.8], [0.9, 0.7, 0.8]], [[1, 1, 1], [3, 3, 2], [2, 1, 3]]]
    >>> rank_distances(Scores(["A", "B"], ["a", "b", "c"], ["1", "2", "3"], values), shrink=0).values.round(3).tolist()
    [[0.0, 1.732], [0.756, 0.0]]
    """
    complete = CompleteScores.of(scores, "d_rank", measures, least_systems=2)
    n = len(complete.topics)
    if n < 2:
        raise UsageError("d_rank: 1 topic, covariances over topics need 2 or more")
    if shrink is not None:
        check.between("d_rank", low=0, high=1, shrink=shrink)
    levels = complete.levels()
    count = len(complete.measures)
    values = np.zeros((count, count))
    shrinkage = np.zeros(count)
    for a in range(count):
        covariance, shrinkage[a] = _covariance(complete.values[a], shrink)
        root = _root(covariance / n)
        means = complete.values[a].mean(axis=1)
        for b in range(count):
            if a != b:
                values[a, b] = _nearest(means, root, levels[b])
            report(progress, a * count + b + 1, count * count)
    source = "as requested" if shrink is not None else "as estimated (Schäfer & Strimmer)"
    span = f"{shrinkage.min():.2f}" if np.ptp(shrinkage) < 0.005 else f"{shrinkage.min():.2f} to {shrinkage.max():.2f}"
    note = method_note(f"{len(complete.runs)} systems, {n} topics; covariances shrunk by {span}, {source}")
    return Distances(complete.measures, values, shrinkage, (*complete.notes, note))


def _covariance(x: Array, shrink: float | None) -> tuple[Array, float]:
    """The covariances of systems over topics, and the share by which the off-diagonal entries were shrunk."""
    n = x.shape[1]
    away = x - x.mean(axis=1, keepdims=True)
    covariance = away @ away.T / (n - 1)
    if shrink is None:
        off = ~np.eye(len(x), dtype=bool)
        squares = ((away**2) @ (away**2).T - (away @ away.T) ** 2 / n) * n / (n - 1) ** 3
        total = float((covariance[off] ** 2).sum())
        shrink = min(1.0, max(0.0, float(squares[off].sum()) / total)) if total > 0 else 0.0
    diagonal = np.diag(np.diag(covariance))
    return (1 - shrink) * covariance + shrink * diagonal, float(shrink)


def _root(covariance: Array) -> Array:
    """L with L Lᵀ = covariance; directions without variance are left out."""
    size, direction = np.linalg.eigh(covariance)
    kept = size > size.max(initial=0.0) * 1e-12
    return np.asarray(direction[:, kept] * np.sqrt(size[kept]))


def _nearest(means: Array, root: Array, levels: Levels) -> float:
    """min |z| such that means + L z have the ranking `levels`."""
    # Pairs of systems on neighbouring levels; the order of all other pairs follows from theirs.
    better, worse = np.nonzero(levels[:, None] == levels[None, :] + 1)
    gap = means[better] - means[worse]
    if (gap >= 0).all():
        return 0.0
    slope = root[better] - root[worse]
    # Least distance programme: min |z| with G z ≥ h, by non-negative least squares on [Gᵀ; hᵀ] u = (0, ..., 0, 1), with
    # h in units of its largest entry.
    from scipy.optimize import nnls

    unit = float(np.abs(gap).max())
    system = np.vstack((slope.T, -gap[None, :] / unit))
    target = np.zeros(len(system))
    target[-1] = 1.0
    solution, _ = nnls(system, target)
    rest = system @ solution - target
    if -rest[-1] < 1e-12:
        return math.inf
    return float(np.linalg.norm(rest[:-1] / rest[-1]) * unit)
