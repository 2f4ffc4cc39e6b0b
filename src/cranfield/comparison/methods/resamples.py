"""What all resampling tests share: B and seed, what a p-value is, progress and Ctrl-C, and pairs by their topics.

Resample b depends on the seed and on b only (the core draws it), so p is the same at any number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import _core, check
from cranfield.comparison.data import Matrix
from cranfield.comparison.differences import difference_blocks, row_moments
from cranfield.errors import UsageError
from cranfield.types import Array, Index64, Progress

ASL = ("plus-one", "share")
"""p is (1 + hits) / (1 + B), which is never 0; or hits / B, the achieved significance level (Sakai 2014 Fig. 12-15)."""
TIE = 1e-10
"""A resampled statistic within this share of the largest it could be counts as equal to the observed one: rounding must
not lose ties, which are frequent with few topics or few different scores."""
FEWEST_KEPT = 100
"""Interrupted after so many resamples or more, a test keeps them."""
MOST_THREADS = 64


def check_resampling(who: str, resamples: Any, seed: Any, threads: Any, asl: str = "plus-one") -> None:
    """B 1 or more, a seed that fits in 64 bits, a rule that exists.

    >>> check_resampling("randomisation", 0, 1, None)
    Traceback (most recent call last):
    cranfield.errors.UsageError: randomisation: resamples == 0, must be a whole number, 1 or more
    """
    if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or resamples < 1:
        raise UsageError(f"{who}: resamples == {resamples!r}, must be a whole number, 1 or more")
    check.whole(who, threads=threads)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise UsageError(f"{who}: seed == {seed!r}, must be a whole number, 0 or more and below 2**64")
    check.one_of(who, ASL, asl=asl)


def p_of(hits: Any, resamples: int, asl: str = "plus-one") -> Array:
    """From how many of the resamples are as extreme as what was seen.

    >>> p_of([0, 49], 999).tolist(), p_of([0, 49], 1000, "share").tolist()
    ([0.001, 0.05], [0.0, 0.049])
    """
    hits = np.asarray(hits, dtype=np.float64)
    return np.asarray(hits / resamples if asl == "share" else (1 + hits) / (1 + resamples))


def rank_of_critical(resamples: int, level: float) -> int:
    """k: p ≤ 1 − level exactly if what was seen is above the k-th largest resampled statistic; 0: nothing is enough.

    >>> rank_of_critical(9_999, 0.95), rank_of_critical(10, 0.95)
    (500, 0)
    """
    return math.floor((1 - level) * (1 + resamples) + 1e-9)


def threads_of(threads: int | None) -> int:
    return min(int(threads or os.cpu_count() or 1), MOST_THREADS)


@dataclass
class Resampling:
    """The state of a loop over resamples: what all of them have given so far, and how many there are."""

    total: int
    found: Any
    done: int = 0

    @property
    def interrupted(self) -> bool:
        return self.done < self.total

    def notes(self) -> tuple[str, ...]:
        if not self.interrupted:
            return ()
        return (f"interrupted after {self.done:,} of {self.total:,} resamples",)


def resample(
    total: int,
    size: int,
    start: Any,
    more: Callable[[Any, int, int], Any],
    progress: Progress | None = None,
    *,
    work: int | None = None,
    keep: bool = True,
) -> Resampling:
    """`found = more(found, begin, end)` for all resamples, `size` at a time; on Ctrl-C what is done is kept, if `keep`.

    `work` is what progress counts up to, where more is to come after the last resample.
    """
    state = Resampling(total, start)
    try:
        for begin in range(0, total, size):
            end = min(total, begin + size)
            found = more(state.found, begin, end)
            # In one step, so that Ctrl-C falls before or after it.
            state = Resampling(total, found, end)
            if progress is not None:
                progress(end, work or total)
    except KeyboardInterrupt:
        if state.done < FEWEST_KEPT or not keep:
            raise
    return state


@dataclass(frozen=True, eq=False)
class Group:
    """Pairs that have the same topics in common."""

    where: Index64
    """Which of the pairs asked for."""
    scores: Array
    """Systems × topics, in one piece."""
    first: Index64
    second: Index64

    @property
    def n(self) -> int:
        return int(self.scores.shape[1])


def groups_of(matrix: Matrix, first: Index64, second: Index64) -> Iterator[Group]:
    """The pairs by the topics on which both systems have a value; all in one group where no value is missing."""
    there = ~np.isnan(matrix.values)
    if there.all():
        yield Group(np.arange(len(first)), np.ascontiguousarray(matrix.values.T), first, second)
        return
    bits = np.packbits(there, axis=0).T
    masks, which = np.unique(bits[first] & bits[second], axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    for mask, where in zip(masks, np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1]), strict=True):
        shared = np.unpackbits(mask, count=matrix.n).astype(bool)
        systems, renumbered = np.unique(np.concatenate([first[where], second[where]]), return_inverse=True)
        scores = np.ascontiguousarray(matrix.values[shared][:, systems].T)
        one, other = np.split(renumbered.astype(np.int64), 2)
        yield Group(where, scores, one, other)


@dataclass(frozen=True, eq=False)
class Gathered:
    """A group as the core takes it for the bootstrap, and the largest resampled statistics of its pairs so far."""

    group: Group
    centred: Array
    largest: Array
    kept: Array
    sizes: Index64
    floors: Array

    @staticmethod
    def of(group: Group, rank: int) -> Gathered:
        pairs = len(group.where)
        centred = np.ascontiguousarray(group.scores - group.scores.mean(axis=1, keepdims=True))
        kept, floors = np.empty((pairs, 2 * rank)), np.full(pairs, -np.inf)
        return Gathered(group, centred, np.abs(group.scores).max(axis=1), kept, np.zeros(pairs, dtype=np.int64), floors)

    def critical_t(self) -> Array:
        """The resampled t that is reached with probability 1 − level, pair by pair."""
        if not self.kept.shape[1]:
            return np.full(len(self.sizes), np.inf)
        ratio = _core.last_of_largest(self.kept, self.sizes, self.floors)
        full = np.abs(ratio) >= 1 - 1e-12  # a resample without variance
        t = np.sign(ratio) * np.sqrt(np.abs(ratio) * (self.group.n - 1) / np.where(full, 1.0, 1 - np.abs(ratio)))
        return np.where(full, np.copysign(np.inf, ratio), t)


@dataclass(frozen=True, eq=False)
class Moments:
    """Of the differences of each pair: how many, mean, standard deviation, the sum of their sizes, and Student's t."""

    n: Array
    mean: Array
    sd: Array
    size: Array
    t: Array

    @property
    def error(self) -> Array:
        """Of the mean; 0 with no topics."""
        return np.asarray(self.sd / np.sqrt(np.maximum(self.n, 1)))


def moments_of(matrix: Matrix, first: Index64, second: Index64) -> Moments:
    """t is 0 where the mean is, infinite where differences are all alike and not 0, NaN with fewer than two topics."""
    mean, sd, size, n = np.zeros((4, len(first)))
    for block, difference in difference_blocks(matrix, first, second):
        n[block], mean[block], sd[block] = row_moments(difference)
        size[block] = np.nansum(np.abs(difference), axis=1)
    mean, sd = np.where(n < 1, 0.0, mean), np.where(n < 2, 0.0, sd)
    # A mean that is 0 but for rounding: the t of it would be noise.
    mean = np.where(np.abs(mean) * n <= 1e-13 * size, 0.0, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean * np.sqrt(n) / sd)
    return Moments(n, mean, sd, size, np.where(n < 2, np.nan, t))


def one_pair(x: Array, y: Array) -> tuple[Matrix, Index64, Index64]:
    """Two matched samples as what tests of all pairs take."""
    matrix = Matrix(np.stack([x, y], axis=1), tuple(map(str, range(len(x)))), ("x", "y"))
    return matrix, np.array([0]), np.array([1])


def ends(mean: Array, margin: Array, alternative: str) -> tuple[Array, Array]:
    """Of an interval: mean ± margin, or one end of it and infinity."""
    low = np.full(len(mean), -np.inf) if alternative == "less" else mean - margin
    high = np.full(len(mean), np.inf) if alternative == "greater" else mean + margin
    return low, high
