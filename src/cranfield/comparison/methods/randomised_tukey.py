"""The randomised version of Tukey's honestly significant differences: all pairs of systems at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.comparison.data import Matrix, check_topics
from cranfield.comparison.methods.resamples import (
    TIE,
    Resampling,
    check_resampling,
    p_of,
    rank_of_critical,
    resample,
    threads_of,
)
from cranfield.comparison.registry import PairTests, TestSettings, pair_test
from cranfield.comparison.test_result import check_alpha, pair_table, pairs_differ, shown_p
from cranfield.errors import UsageError
from cranfield.record import Record, plain
from cranfield.table import Table
from cranfield.types import Array, Index64, Progress

MOST_RESAMPLES = 50_000_000
"""A number is kept for every resample; so many need less than 1 GB."""


@dataclass(frozen=True, eq=False)
class RandomisedTukey(Record):
    """All pairs of systems, tested together."""

    systems: tuple[str, ...]
    means: Array
    p: Array
    """Systems × systems; 1 on the diagonal."""
    critical: float
    """Two systems whose means differ by more than this differ at α = 1 − level."""
    level: float
    n: int
    resamples: int
    seed: int
    measure: str = "score"
    notes: tuple[str, ...] = ()
    ranges: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    """The range of the means in each resample, largest first."""

    def differ(self, alpha: float | None = None) -> NDArray[np.bool_]:
        """Systems × systems: p is at most α (as a rule 1 − level)."""
        if alpha is None:
            alpha = 1 - self.level
        check_alpha("randomised_tukey", alpha)
        return np.asarray(self.p <= alpha + 1e-12)

    def critical_at(self, level: float) -> float:
        """The critical difference at another level; infinite if the resamples are too few for it."""
        check_alpha("randomised_tukey", level, "level")
        return _critical(self.ranges, level)

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per pair: first, second, difference, its simultaneous interval, p."""
        first, second = np.triu_indices(len(self.systems), 1)
        names = np.array(self.systems, dtype=object)
        difference = self.means[first] - self.means[second]
        return {
            "first": names[first],
            "second": names[second],
            "difference": difference,
            "low": difference - self.critical,
            "high": difference + self.critical,
            "p": self.p[first, second],
        }

    def _metadata(self) -> dict[str, Any]:
        facts = ("measure", "critical", "level", "n", "resamples", "seed", "notes")
        return {name: plain(getattr(self, name)) for name in facts}

    def table(self) -> Table:
        """A row per pair."""
        return pair_table(self.columns(), notes=(self._headline(), *self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Pairs and facts, for JSON."""
        pairs = {name: column.tolist() for name, column in self.columns().items()}
        facts = {**self._metadata(), "systems": list(self.systems), "means": self.means.tolist(), "pairs": pairs}
        return {name: plain(value) for name, value in facts.items()}

    def _headline(self) -> str:
        pairs = len(self.systems) * (len(self.systems) - 1) // 2
        different = int(np.triu(self.differ(), 1).sum())
        return (
            f"{self.measure}: {pairs_differ(different, pairs)} at α = {1 - self.level:.4g} "
            f"(randomised Tukey HSD, critical difference {self.critical:.4f}, n = {self.n}, "
            f"B = {self.resamples:,}, seed {self.seed})"
        )

    def __str__(self) -> str:
        first, second = np.triu_indices(len(self.systems), 1)
        order = np.lexsort((-np.abs(self.means[first] - self.means[second]), self.p[first, second]))[:10]
        lines = [
            f"{self.systems[i]} − {self.systems[j]} = {self.means[i] - self.means[j]:.4f}, {shown_p(self.p[i, j])}"
            for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
        ]
        more = [f"and {len(first) - len(order):,} more pairs"] if len(first) > len(order) else []
        return "\n".join([self._headline(), *lines, *more, *self.notes])

    __repr__ = __str__


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
    r"""Which systems differ, when all are compared at once? Each topic's scores are dealt out to the systems anew.

    .. math:: p_{XY} = \frac{1 + |\{b : \max_j \bar u_j^{*b} - \min_j \bar u_j^{*b} \ge |\bar u_X - \bar u_Y|\}|}{1 + B}

    The null hypothesis is that no system differs from any other, so the family-wise error is at most α whatever the
    number of systems; no further correction is wanted. Means are taken once every topic is permuted. (The figures of
    Sakai have them inside the loop over topics, which cannot be meant, and compare with >, by which systems with
    the same scores would get p = 0; ties count here.) The interval of a difference is ± the critical difference, the
    range that only a share 1 − level of the resamples reach. Topics that lack a value for some system are left out.

    References: Carterette, TOIS 30(1), 2012, doi:10.1145/2094072.2094076; Sakai 2014 Fig. 15, Sakai 2013 Fig. 4

    >>> scores = [[0.2, 0.3, 0.8], [0.1, 0.2, 0.7], [0.4, 0.3, 0.9], [0.2, 0.2, 0.6], [0.3, 0.4, 0.9]]
    >>> found = randomised_tukey(scores)
    >>> found.systems, found.differ()[0].tolist()
    (('run1', 'run2', 'run3'), [False, False, True])
    """
    check_resampling("randomised_tukey", resamples, seed, threads, asl)
    check_alpha("randomised_tukey", level, "level")
    matrix = Matrix.of(data, measure).complete()
    if len(matrix.systems) < 2:
        raise UsageError(f"{len(matrix.systems)} system, randomised Tukey's test needs 2 or more")
    check_topics(matrix.n, 2, "randomised Tukey's test")
    state = _ranges(
        matrix, TestSettings(level=level, resamples=resamples, seed=seed, threads=threads, progress=progress)
    )
    means = matrix.values.mean(axis=0)
    gaps = np.abs(means[:, None] - means[None, :])
    p = p_of(_reaching(state.found, gaps, matrix), state.done, asl)
    np.fill_diagonal(p, 1.0)
    same = np.ptp(matrix.values, axis=1).max() == 0
    notes = (*matrix.notes, *state.notes(), *(["all systems score the same on every topic: p is 1"] if same else []))
    return RandomisedTukey(
        matrix.systems,
        means,
        p,
        _critical(state.found, level),
        level,
        matrix.n,
        state.done,
        seed,
        matrix.measure,
        notes,
        state.found,
    )


randomized_tukey = randomised_tukey


@pair_test(
    "randomised-tukey",
    aliases=("tukey-randomised", "randomised-tukey-hsd", "randomised-hsd"),
    statistic="mean difference",
    simultaneous=True,
    resampling=True,
    complete=True,
    source="Carterette 2012 (Sakai 2014 Fig. 15, Sakai 2013 Fig. 4)",
)
def _all_pairs(matrix: Matrix, first: Index64, second: Index64, asked: TestSettings) -> PairTests:
    if asked.alternative != "two-sided":
        raise UsageError(f"randomised-tukey is two-sided; alternative == {asked.alternative!r} needs another test")
    check_resampling("randomised-tukey", asked.resamples, asked.seed, asked.threads)
    check_topics(matrix.n, 2, "randomised Tukey's test")
    state = _ranges(matrix, asked)
    means = matrix.values.mean(axis=0)
    difference = means[first] - means[second]
    critical = _critical(state.found, asked.level)
    return PairTests(
        difference,
        p_of(_reaching(state.found, np.abs(difference), matrix), state.done),
        difference - critical,
        difference + critical,
        np.full(len(first), matrix.n),
        critical=critical,
        resamples=state.done,
        notes=state.notes(),
    )


def _ranges(matrix: Matrix, asked: TestSettings) -> Resampling:
    """The range of the means in every resample, largest first."""
    if asked.resamples > MOST_RESAMPLES:
        raise UsageError(f"randomised-tukey: resamples == {asked.resamples}, must be at most {MOST_RESAMPLES:,}")
    values = np.ascontiguousarray(matrix.values)

    def more(found: list[Array], begin: int, end: int) -> list[Array]:
        return [*found, _core.permuted_ranges(values, asked.seed, begin, end, threads_of(asked.threads))]

    size = min(8192, max(16, 50_000_000 // values.size))
    state = resample(asked.resamples, size, [], more, asked.progress)
    return Resampling(state.total, np.sort(np.concatenate(state.found))[::-1], state.done)


def _reaching(ranges: Array, gaps: Array, matrix: Matrix) -> NDArray[np.int64]:
    """How many of the ranges are as large as each gap, ties included."""
    # No range is larger than the mean of the topics' own ranges.
    slack = TIE * float(np.ptp(matrix.values, axis=1).mean()) + 1e-14 * float(np.abs(matrix.values).max())
    return np.asarray(len(ranges) - np.searchsorted(ranges[::-1], gaps - slack, side="left"))


def _critical(ranges: Array, level: float) -> float:
    rank = rank_of_critical(len(ranges), level)
    return float(ranges[rank - 1]) if rank else math.inf
