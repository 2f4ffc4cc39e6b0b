"""The randomised version of Tukey's honestly significant difference: all pairs of systems at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.comparison.assumptions import pooled_cautions
from cranfield.comparison.data import Matrix, all_pairs, check_systems, check_topics
from cranfield.comparison.pair_tests import PairTests, TestSettings, pair_columns, pair_test
from cranfield.comparison.resampling import (
    TIE,
    Resampling,
    check_resampling,
    p_of,
    rank_of_critical,
    resample,
    threads_of,
)
from cranfield.comparison.test_result import check_alpha, pairs_differ, shown_p
from cranfield.errors import UsageError
from cranfield.record import Record, plain, table_of
from cranfield.table import Table
from cranfield.types import Array, Index64, Progress

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
        return _critical(self.ranges, 1 - level)

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
        return "\n".join([self.sentence(), *lines, *more, *self.notes])


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
    than those of others, these pairs are found too often: a note says so, and the test max-t of `compare` gives each
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
    critical = _critical(state.result, settings.alpha)
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
    critical = _critical(state.result, settings.alpha)
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


def _critical(ranges: Array, alpha: float) -> float:
    rank = rank_of_critical(len(ranges), alpha)
    return float(ranges[rank - 1]) if rank else math.inf
