"""All pairs of systems at once, by resampling: the max-t test of Westfall and Young, and randomised Tukey."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.comparison.assumptions import pooled_cautions
from cranfield.comparison.data import (
    Matrix,
    all_pairs,
    check_common_topics,
    check_systems,
    check_topics,
    difference_blocks,
    noise_of_pairs,
    row_moments,
    without_noise,
    zeros_for_nan,
)
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_columns, pair_test
from cranfield.comparison.resampling import (
    TIE,
    Resampling,
    check_resampling,
    moments_of,
    p_of,
    rank_of_critical,
    resample,
    threads_of,
)
from cranfield.comparison.test_result import check_alpha, pairs_differ, shown_p
from cranfield.errors import UsageError
from cranfield.notes import caution_note, shown_notes
from cranfield.record import Record, plain, table_of
from cranfield.table import Table
from cranfield.text import counted
from cranfield.types import Array, Index64, Progress

_DRAWN = 128
"""The number of resamples in a block, which has its own random numbers."""
_PAIRS = 256
"""About the number of pairs in a block, small enough for the processor's cache; it does not change results."""
_PRODUCT = 2**18
"""Matrices are multiplied in parts of at most this many products. For larger ones, linear algebra libraries start
threads, which makes small tests ten times as slow on a busy machine."""


@pair_test(
    "max-t",
    aliases=("maxt", "westfall-young", "max-t-test"),
    statistic="t",
    simultaneous=True,
    resampling=True,
    skewed=True,
    source="Westfall & Young, Resampling-Based Multiple Testing, 1993; Hall, J. R. Statistical Society B 54(1), 1992",
)
def max_t_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    r"""The largest |h| of all pairs when topics change signs; h is Student's t of a pair, corrected for skewness.

    .. math:: h = \frac{(1 + at)^3 - 1}{3a} + \frac{a}{2}, \quad a = \frac{\hat\gamma}{3\sqrt n} \qquad
        p_{XY} = \frac{1 + |\{b : \max_{VW} |h_{VW}(s^b z)| \ge |h_{XY}(z)|\}|}{1 + B}

    z are the differences of a pair on its topics, each pair with its own standard error and skewness γ̂. The sign s of
    a topic is the same for all pairs, which keeps their dependence. The level is exact if differences are symmetric
    around 0 where systems do not differ, and Hall's transformation removes the first-order error of skewed ones. The
    intervals have the critical h of differences minus their means, if it is larger: all of them together contain the
    true differences with probability 1 − α, and one that does not contain 0 has p of at most α.
    """
    moments = moments_of(matrix, first, second)
    rows = Rows.of(matrix, first, second)
    state, exact = rows.largest_flipped(settings)
    notes = [*state.notes, *check_common_topics(moments.n, 2, "a max-t test")]
    reached = len(state.result) - np.searchsorted(state.result[::-1], np.abs(rows.observed()) - TIE, side="left")
    p = reached / len(state.result) if exact else p_of(reached, state.done, settings.asl)
    critical = _critical(state, exact, settings.alpha)
    if (p <= settings.alpha).any() and not state.interrupted:
        # Signs of large differences flip together, so that they would hide how many intervals there are.
        centred, exact_too = Rows.of(matrix, first, second, centred=True).largest_flipped(settings)
        critical = max(critical, _critical(centred, exact_too, settings.alpha))
    limit = _unbounded(critical, moments.n)
    error = np.where(moments.sd > 0, moments.error, np.nan)
    a = rows.skewness()
    if constant := int(((moments.sd == 0) & (moments.n > 1)).sum()):
        notes.append(f"the difference is the same on every topic in {counted(constant, 'pair')}: no interval")
    if np.isinf(limit).any():
        notes.append(caution_note(f"too few topics for intervals at level {settings.level:g}: they are infinite"))
    return PairTests(
        moments.t,
        np.where(moments.n > 1, p, np.nan),
        moments.mean - error * _t_of_corrected(limit, a),
        moments.mean - error * _t_of_corrected(-limit, a),
        moments.n.astype(np.int64),
        resamples=None if exact else state.done,
        exact=exact,
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """The differences of each pair (a row), divided so that their squares sum to 1, and their cubes.

    A flip of signs changes the sums of rows and of cubes, but not those of squares.
    """

    unit: Array
    cubes: Array
    n: Array
    """The number of topics of each pair, as a column."""

    @staticmethod
    def of(matrix: Matrix, first: Index64, second: Index64, *, centred: bool = False) -> Rows:
        unit, n = np.empty((len(first), matrix.n)), np.empty((len(first), 1))
        close = noise_of_pairs(matrix, first, second)
        for block, difference in difference_blocks(matrix, first, second):
            if centred:
                difference = without_noise(difference - row_moments(difference)[1][:, None], close[block])
            values, n[block, 0] = zeros_for_nan(difference)
            length = np.sqrt((values**2).sum(axis=1, keepdims=True))
            unit[block] = np.divide(values, length, out=np.zeros_like(values), where=(length > 0) & (n[block] > 1))
        kept = np.asarray(unit.any(axis=0))
        kept[0] |= not kept.any()  # no two systems differ
        unit = np.ascontiguousarray(unit[:, kept])
        return Rows(unit, unit**3, n)

    def observed(self) -> Array:
        """The statistic of each pair."""
        return _bounded(self.unit.sum(axis=1, keepdims=True), self.cubes.sum(axis=1, keepdims=True), self.n)[:, 0]

    def skewness(self) -> Array:
        """a = γ̂ / 3√n of each pair."""
        mean = self.unit.sum(axis=1, keepdims=True) / self.n
        spread = 1 / self.n - mean**2
        third = self.cubes.sum(axis=1, keepdims=True) / self.n - 3 * mean / self.n + 2 * mean**3
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.where(spread > TIE / self.n, third / (spread**1.5 * 3 * np.sqrt(self.n)), 0.0)
        return np.asarray(a[:, 0])

    def largest_flipped(self, settings: TestSettings) -> tuple[Resampling, bool]:
        """The largest statistic of all pairs under each way to flip the signs of topics, in falling order.

        All ways are counted if they are no more than the resamples; the second value says so. A flip of all signs
        changes nothing, so one sign can stay.
        """
        topics = self.unit.shape[1]
        exact = 2 ** max(topics - 1, 0) <= settings.resamples
        total = 2 ** max(topics - 1, 0) if exact else settings.resamples
        at_once = max(1, _PRODUCT // max(1, topics * _DRAWN))
        block = max(1, _PAIRS // at_once) * at_once

        def more(largest: list[Array], begin: int, end: int) -> list[Array]:
            if exact:
                flipped = (np.arange(begin, end)[:, None] >> np.arange(topics)) & 1
            else:
                flipped = np.random.default_rng([settings.seed, begin // _DRAWN]).integers(0, 2, (_DRAWN, topics))
            signs = np.ascontiguousarray(1.0 - 2.0 * flipped[: end - begin].T)
            top = np.zeros(end - begin)
            for rows in range(0, len(self.unit), block):
                part = slice(rows, rows + block)
                sums, cubes = (_times(values[part], signs, at_once) for values in (self.unit, self.cubes))
                statistic = _bounded(sums, cubes, self.n[part])
                np.maximum(top, np.maximum(statistic.max(axis=0), -statistic.min(axis=0)), out=top)
            return [*largest, top]

        state = resample(total, _DRAWN, [], more, settings.progress, keep=not exact)
        return Resampling(state.total, np.sort(np.concatenate(state.result))[::-1], state.done), exact


def _critical(state: Resampling, exact: bool, alpha: float) -> float:
    """The largest statistic that does not show a difference; infinite if there are too few ways to flip signs."""
    rank = int(alpha * len(state.result) + 1e-9) if exact else rank_of_critical(state.done, alpha)
    return float(state.result[rank - 1]) if rank else np.inf


def _times(rows: Array, signs: Array, at_once: int) -> Array:
    """rows @ signs, in parts of `at_once` rows."""
    whole = len(rows) // at_once * at_once
    out = np.empty((len(rows), signs.shape[1]))
    np.matmul(
        rows[:whole].reshape(-1, at_once, rows.shape[1]), signs, out=out[:whole].reshape(-1, at_once, out.shape[1])
    )
    np.matmul(rows[whole:], signs, out=out[whole:])
    return out


def _bounded(sums: Array, cubes: Array, n: Array) -> Array:
    """h of each row and column, as √n h / √(n − 1 + h²).

    So pairs with few topics, whose t may be huge by chance, do not decide about the others: it is at most √n.
    """
    mean = sums / n
    spread = 1 / n - mean * mean
    flat = spread <= TIE / n  # differences of the same size and sign on all topics
    spread[flat] = 1.0
    a = (cubes / n + mean * (2 * mean * mean - 3 / n)) / (3 * np.sqrt(n) * spread * np.sqrt(spread))
    t = mean * np.sqrt((n - 1) / spread)
    h = t + a * t * (t + a * t * t / 3) + a / 2
    bounded = np.sqrt(n) * h / np.sqrt(np.maximum(n - 1, 1) + h * h)
    bounded[flat] = np.copysign(np.broadcast_to(np.sqrt(n), flat.shape)[flat], sums[flat])
    return np.asarray(bounded)


def _unbounded(limit: float, n: Array) -> Array:
    """The h that `_bounded` makes `limit`, for each number of topics; infinite if no pair with n topics reaches it."""
    room = n - limit**2
    inside = room > TIE * n
    return np.asarray(np.where(inside, limit * np.sqrt((n - 1) / np.where(inside, room, 1.0)), np.inf))


def _t_of_corrected(h: Array, a: Array) -> Array:
    """Student's t from h: the inverse of Hall's transformation."""
    small = np.abs(a) < 1e-9
    slope = np.where(small, 1.0, a)
    return np.asarray(np.where(small, h, (np.cbrt(1 + 3 * slope * (h - slope / 2)) - 1) / slope))


MOST_RESAMPLES = 50_000_000
"""One number is kept per resample; this many need less than 1 GB."""


@dataclass(frozen=True, eq=False, repr=False)
class RandomisedTukey(Record):
    """All pairs of systems, tested together."""

    facts = ("measure", "critical", "level", "n", "resamples", "seed", "notes")

    systems: tuple[str, ...]
    means: Array
    p: Array
    """Systems × systems; 1 on the diagonal."""
    critical: float
    """Two systems differ at α = 1 − level if their means differ by more than this."""
    level: float
    n: int
    resamples: int
    seed: int
    measure: str = "score"
    notes: tuple[str, ...] = ()
    ranges: Array = field(default_factory=lambda: np.zeros(0))
    """The range of the means in each resample, largest first."""

    def differ(self, alpha: float | None = None) -> NDArray[np.bool_]:
        """Systems × systems: whether p is at most α (by default 1 − level)."""
        alpha = 1 - self.level if alpha is None else alpha
        check_alpha("randomised_tukey", alpha)
        return np.asarray(self.p <= alpha + 1e-12)

    def critical_at(self, level: float) -> float:
        """The critical difference at another level; infinite if there are too few resamples."""
        check_alpha("randomised_tukey", level, "level")
        return _critical_range(self.ranges, 1 - level)

    def columns(self) -> dict[str, NDArray[Any]]:
        """first, second, difference, low and high of its simultaneous interval, p; a row per pair."""
        first, second = all_pairs(len(self.systems))
        difference = self.means[first] - self.means[second]
        low, high = difference - self.critical, difference + self.critical
        p = self.p[first, second]
        return pair_columns(self.systems, first, second, difference=difference, low=low, high=high, p=p)

    def table(self) -> Table:
        """A row per pair."""
        return table_of(self.columns(), notes=(self.sentence(), *self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Facts, systems, means and the columns of pairs, ready for JSON."""
        return {**self._metadata(), **self._facts("systems", "means"), "pairs": plain(self.columns())}

    def sentence(self) -> str:
        """How many pairs differ, and how they were tested."""
        pairs = len(self.systems) * (len(self.systems) - 1) // 2
        different = int(np.triu(self.differ(), 1).sum())
        return (
            f"{self.measure}: {pairs_differ(different, pairs)} at α = {1 - self.level:.4g} "
            f"(randomised Tukey HSD, critical difference {self.critical:.4f}, n = {self.n}, "
            f"B = {self.resamples:,}, seed {self.seed})"
        )

    def __str__(self) -> str:
        first, second = all_pairs(len(self.systems))
        order = np.lexsort((-np.abs(self.means[first] - self.means[second]), self.p[first, second]))[:10]
        lines = [
            f"{self.systems[i]} − {self.systems[j]} = {self.means[i] - self.means[j]:.4f}, {shown_p(self.p[i, j])}"
            for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
        ]
        more = [f"and {len(first) - len(order):,} more pairs"] if len(first) > len(order) else []
        return "\n".join([self.sentence(), *lines, *more, *shown_notes(self.notes)])


def randomised_tukey(
    data: Any,
    measure: Any = None,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    asl: str = "plus-one",
    threads: int | None = None,
    progress: Progress | None = None,
) -> RandomisedTukey:
    r"""Which systems differ, if all are compared at once? The scores of each topic are permuted among the systems.

    .. math:: p_{XY} = \frac{1 + |\{b : \max_j \bar u_j^{*b} - \min_j \bar u_j^{*b} \ge |\bar u_X - \bar u_Y|\}|}{1 + B}

    The null hypothesis is that all scores of a topic could change places. If it is true, the family-wise error is at
    most α for any number of systems, and no further correction is needed. If the differences of some pairs vary more
    than those of others, these pairs are found too often. A note warns of this; the test max-t of `compare` gives each
    pair its own standard error. The interval of a difference is ± the critical difference, the range that only
    a share 1 − level of the resamples reach. Topics on which some system has no score are left out.

    In Sakai's figures the means are computed inside the loop over topics, which must be a slip, and ranges are compared
    with >, which would give systems with equal scores p = 0. Here means are computed after all topics are permuted, and
    ties count.

    References: Carterette, TOIS 30(1), 2012, doi:10.1145/2094072.2094076; Sakai 2014 Fig. 15, Sakai 2013 Fig. 4

    >>> scores = [[0.2, 0.3, 0.8], [0.1, 0.2, 0.7], [0.4, 0.3, 0.9], [0.2, 0.2, 0.6], [0.3, 0.4, 0.9]]
    >>> result = randomised_tukey(scores)
    >>> result.systems, result.differ()[0].tolist()
    (('run1', 'run2', 'run3'), [False, False, True])
    """
    check_resampling("randomised_tukey", resamples, seed, threads, asl)
    check_alpha("randomised_tukey", level, "level")
    matrix = Matrix.of(data, measure).complete()
    check_systems(len(matrix.systems), "the randomised Tukey test")
    settings = TestSettings(alpha=1 - level, resamples=resamples, seed=seed, threads=threads, progress=progress)
    state = _ranges(matrix, settings)
    means = matrix.values.mean(axis=0)
    gaps = np.abs(means[:, None] - means[None, :])
    p = p_of(_reaching(state.result, gaps, matrix), state.done, asl)
    np.fill_diagonal(p, 1.0)
    notes = (*matrix.notes, *state.notes, *pooled_cautions(matrix))
    if np.ptp(matrix.values, axis=1).max() == 0:
        notes = (*notes, "all systems have the same score on every topic: p = 1")
    critical = _critical_range(state.result, settings.alpha)
    return RandomisedTukey(
        matrix.systems, means, p, critical, level, matrix.n, state.done, seed, matrix.measure, notes, state.result
    )


@pair_test(
    "randomised-tukey",
    aliases=("tukey-randomised", "randomised-tukey-hsd", "randomised-hsd"),
    function=randomised_tukey,
    statistic="mean difference",
    simultaneous=True,
    resampling=True,
    complete=True,
    pooled=True,
    source="Carterette 2012 (Sakai 2014 Fig. 15, Sakai 2013 Fig. 4)",
)
def randomised_tukey_of_pairs(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
    state = _ranges(matrix, settings)
    means = matrix.values.mean(axis=0)
    difference = means[first] - means[second]
    critical = _critical_range(state.result, settings.alpha)
    return PairTests(
        difference,
        p_of(_reaching(state.result, np.abs(difference), matrix), state.done, settings.asl),
        difference - critical,
        difference + critical,
        np.full(len(first), matrix.n),
        critical=critical,
        resamples=state.done,
        notes=state.notes,
    )


def _ranges(matrix: Matrix, settings: TestSettings) -> Resampling:
    """The range of the means in every resample, largest first."""
    check_topics(matrix.n, 2, "the randomised Tukey test")
    if settings.resamples > MOST_RESAMPLES:
        raise UsageError(f"randomised-tukey: resamples == {settings.resamples}, must be at most {MOST_RESAMPLES:,}")
    values = np.ascontiguousarray(matrix.values)

    def more(ranges: list[Array], begin: int, end: int) -> list[Array]:
        return [*ranges, _core.permuted_ranges(values, settings.seed, begin, end, threads_of(settings.threads))]

    size = min(8192, max(16, 50_000_000 // values.size))
    state = resample(settings.resamples, size, [], more, settings.progress)
    return Resampling(state.total, np.sort(np.concatenate(state.result))[::-1], state.done)


def _reaching(ranges: Array, gaps: Array, matrix: Matrix) -> NDArray[np.int64]:
    """The number of ranges that are at least as large as each gap, ties included."""
    # No range exceeds the mean of the ranges of single topics.
    slack = TIE * float(np.ptp(matrix.values, axis=1).mean()) + 1e-14 * float(np.abs(matrix.values).max())
    return np.asarray(len(ranges) - np.searchsorted(ranges[::-1], gaps - slack, side="left"))


def _critical_range(ranges: Array, alpha: float) -> float:
    rank = rank_of_critical(len(ranges), alpha)
    return float(ranges[rank - 1]) if rank else math.inf
