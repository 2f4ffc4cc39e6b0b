"""The parts that all resampling tests share: settings, p-values, the loop with progress and Ctrl-C, groups of pairs.

Resample b depends only on the seed and on b (the core draws it), so p does not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np

from cranfield import _core, check
from cranfield.comparison.data import Matrix, difference_blocks, row_moments
from cranfield.comparison.test_result import ALTERNATIVES
from cranfield.declared.operation import RESAMPLES, Seed, about
from cranfield.errors import UsageError
from cranfield.notes import interruption_note
from cranfield.types import Array, Index64, Progress

ASL = ("plus-one", "share")
"""p is (1 + hits) / (1 + B), which is never 0; or hits / B, the achieved significance level (Sakai 2014 Fig. 12-15)."""
Asl = Annotated[
    str,
    about(
        "Tests that resample, {names}: p = (1 + hits) / (1 + B), significant if at most A; or hits / B, significant if "
        "below A, as in Sakai's papers.",
        choices=ASL, spelled="--asl RULE", rare=True,
    ),
]  # fmt: skip
TestResamples = Annotated[int, about("Number of resamples, for tests that resample.", **RESAMPLES)]
Threads = Annotated[
    int | None,
    about("Number of threads; the result does not depend on it.", least=1, spelled="--threads N", rare=True),
]
TIE = 1e-10
"""A resampled statistic counts as equal to the observed one within this share of its largest possible value: rounding
must not lose ties, which are frequent with few topics or few distinct scores."""


class ResamplingSettings(TypedDict, total=False):
    """The settings of the tests of two samples that resample; `systems` and `measure` are those of `paired`."""

    systems: Sequence[str] | None
    measure: Any
    alternative: Annotated[str, about("The alternative hypothesis.", "two-sided", choices=ALTERNATIVES)]
    level: Annotated[float, about("Confidence level of the interval.", 0.95, above=0, below=1)]
    resamples: Annotated[int, about("Number of resamples.", 10_000, **RESAMPLES)]
    seed: Annotated[Seed, about("Seed of the random numbers.", 0, least=0, below=2**64)]
    asl: Annotated[str, about("How p follows from the resamples.", "plus-one", choices=ASL)]
    threads: Annotated[int | None, about("Number of threads.", None, least=1)]
    progress: Progress | None


FEWEST_KEPT = 100
"""A test that is interrupted after at least this many resamples keeps them."""
MOST_THREADS = 64


def check_resampling(caller: str, resamples: Any, seed: Any, threads: Any, asl: str = "plus-one") -> None:
    """Check the settings of a resampling test.

    >>> check_resampling("randomisation", 0, 1, None)
    Traceback (most recent call last):
    cranfield.errors.UsageError: randomisation: resamples == 0, must be a whole number, 1 or more
    """
    if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or resamples < 1:
        raise UsageError(f"{caller}: resamples == {resamples!r}, must be a whole number, 1 or more")
    check.whole(caller, threads=threads)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise UsageError(f"{caller}: seed == {seed!r}, must be a whole number, 0 or more and below 2**64")
    check.one_of(caller, ASL, asl=asl)


def p_of(hits: Any, resamples: int, asl: str = "plus-one") -> Array:
    """The p-value, from the number of resamples (`hits`) that are at least as extreme as the observed statistic.

    >>> p_of([0, 49], 999).tolist(), p_of([0, 49], 1000, "share").tolist()
    ([0.001, 0.05], [0.0, 0.049])
    """
    hits = np.asarray(hits, dtype=np.float64)
    return np.asarray(hits / resamples if asl == "share" else (1 + hits) / (1 + resamples))


def check_asl(caller: str, asl: str, test: str, resampling: bool) -> None:
    """Check the rule for p-values, which only tests that resample have."""
    check.one_of(caller, ASL, asl=asl)
    if asl == "share" and not resampling:
        where = f"{caller}: " if caller else ""
        raise UsageError(f"{where}asl == 'share' is for tests that resample; {test} does not")


def rank_of_critical(resamples: int, alpha: float) -> int:
    """The k such that p ≤ α exactly if the observed statistic exceeds the k-th largest resampled one; 0: never.

    >>> rank_of_critical(9_999, 0.05), rank_of_critical(10, 0.05)
    (500, 0)
    """
    return math.floor(alpha * (1 + resamples) + 1e-9)


def threads_of(threads: int | None) -> int:
    return min(int(threads or os.cpu_count() or 1), MOST_THREADS)


@dataclass
class Resampling:
    """The state of a loop over resamples."""

    total: int
    result: Any
    """The result of the resamples so far, such as counts or statistics."""
    done: int = 0

    @property
    def interrupted(self) -> bool:
        return self.done < self.total

    @property
    def notes(self) -> tuple[str, ...]:
        return (interruption_note(f"{self.done:,} of {self.total:,} resamples"),) if self.interrupted else ()


def resample(
    total: int,
    size: int,
    start: Any,
    more: Callable[[Any, int, int], Any],
    progress: Progress | None = None,
    *,
    keep: bool = True,
) -> Resampling:
    """Call `result = more(result, begin, end)` for blocks of `size` resamples; if `keep`, Ctrl-C keeps those done."""
    state = Resampling(total, start)
    try:
        for begin in range(0, total, size):
            end = min(total, begin + size)
            result = more(state.result, begin, end)
            state = Resampling(total, result, end)  # one assignment, so that Ctrl-C comes before or after it
            if progress is not None:
                progress(end, total)
    except KeyboardInterrupt:
        if state.done < FEWEST_KEPT or not keep:
            raise
    return state


@dataclass(frozen=True, eq=False)
class Group:
    """Pairs that have the same topics in common."""

    pairs: Index64
    """The positions of these pairs among all pairs."""
    scores: Array
    """Systems × topics, contiguous."""
    first: Index64
    second: Index64

    @property
    def n(self) -> int:
        return int(self.scores.shape[1])


def groups_of(matrix: Matrix, first: Index64, second: Index64) -> Iterator[Group]:
    """The pairs grouped by their common topics; a single group if no score is missing."""
    defined = ~np.isnan(matrix.values)
    if defined.all():
        yield Group(np.arange(len(first)), np.ascontiguousarray(matrix.values.T), first, second)
        return
    bits = np.packbits(defined, axis=0).T
    masks, group_of = np.unique(bits[first] & bits[second], axis=0, return_inverse=True)
    order = np.argsort(group_of.ravel(), kind="stable")
    for mask, pairs in zip(masks, np.split(order, np.cumsum(np.bincount(group_of.ravel()))[:-1]), strict=True):
        shared = np.unpackbits(mask, count=matrix.n).astype(bool)
        systems, renumbered = np.unique(np.concatenate([first[pairs], second[pairs]]), return_inverse=True)
        scores = np.ascontiguousarray(matrix.values[shared][:, systems].T)
        yield Group(pairs, scores, *np.split(renumbered.astype(np.int64), 2))


@dataclass(frozen=True, eq=False)
class BootstrapGroup:
    """A group in the form that the core expects, and the largest resampled statistics of its pairs so far."""

    group: Group
    centred: Array
    largest: Array
    kept: Array
    sizes: Index64
    floors: Array

    @staticmethod
    def of(group: Group, rank: int) -> BootstrapGroup:
        count = len(group.pairs)
        centred = np.ascontiguousarray(group.scores - group.scores.mean(axis=1, keepdims=True))
        kept, floors = np.empty((count, 2 * rank)), np.full(count, -np.inf)
        largest = np.abs(group.scores).max(axis=1)
        return BootstrapGroup(group, centred, largest, kept, np.zeros(count, dtype=np.int64), floors)

    def critical_t(self) -> Array:
        """The resampled t that is exceeded with probability α, for each pair."""
        if not self.kept.shape[1]:
            return np.full(len(self.sizes), np.inf)
        ratio = _core.last_of_largest(self.kept, self.sizes, self.floors)
        full = np.abs(ratio) >= 1 - 1e-12  # a resample without variance
        t = np.sign(ratio) * np.sqrt(np.abs(ratio) * (self.group.n - 1) / np.where(full, 1.0, 1 - np.abs(ratio)))
        return np.where(full, np.copysign(np.inf, ratio), t)


@dataclass(frozen=True, eq=False)
class Moments:
    """Summaries of the differences of each pair; `size` is the sum of absolute differences, `t` Student's t."""

    n: Array
    mean: Array
    sd: Array
    size: Array
    t: Array

    @property
    def error(self) -> Array:
        """The standard error of the mean; 0 without topics."""
        return np.asarray(self.sd / np.sqrt(np.maximum(self.n, 1)))

    def ratio_limits(self, two_sided: bool) -> Array:
        """Student's t as the core compares it, t|t| / (n − 1 + t²), lowered slightly so that ties count."""
        t = np.clip(np.nan_to_num(np.abs(self.t) if two_sided else self.t), -1e150, 1e150)
        t = t - TIE * np.abs(t)
        return np.asarray(np.where(self.n > 1, t * np.abs(t) / (np.maximum(self.n - 1, 1) + t * t), 2.0))


def moments_of(matrix: Matrix, first: Index64, second: Index64) -> Moments:
    """The moments of all pairs.

    t is 0 if the mean is 0, infinite if all differences are equal but not 0, and NaN with fewer than two topics.
    """
    mean, sd, size, n = np.zeros((4, len(first)))
    for block, difference in difference_blocks(matrix, first, second):
        n[block], mean[block], sd[block] = row_moments(difference)
        size[block] = np.nansum(np.abs(difference), axis=1)
    mean, sd = np.where(n < 1, 0.0, mean), np.where(n < 2, 0.0, sd)
    # If rounding is all that keeps the mean from 0, its t would be noise.
    mean = np.where(np.abs(mean) * n <= 1e-13 * size, 0.0, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean * np.sqrt(n) / sd)
    return Moments(n, mean, sd, size, np.where(n < 2, np.nan, t))


def one_pair(x: Array, y: Array) -> tuple[Matrix, Index64, Index64]:
    """Two matched samples as the arguments of a test of pairs."""
    matrix = Matrix(np.stack([x, y], axis=1), tuple(map(str, range(len(x)))), ("x", "y"))
    return matrix, np.array([0]), np.array([1])


def interval_ends(mean: Array, margin: Array, alternative: str) -> tuple[Array, Array]:
    """mean ± margin; with a one-sided alternative one end is infinite."""
    low = np.full(len(mean), -np.inf) if alternative == "less" else mean - margin
    high = np.full(len(mean), np.inf) if alternative == "greater" else mean + margin
    return low, high
