"""Ideal lists if some documents are relevant only together: such a set gains once, at its last document.

No order is best at every rank: a set of high gain may come late, because it needs several ranks. `most_gain` gives the
most that any order can have gained at each rank, and `best_order` the most that one order can reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.segments import segment_starts
from cranfield.types import Array, Index, Index64

Reward = Callable[[Array, Array, Index], Array]
"""What a document or set adds to a score: from the gain of all before it, the gain with it, and the rank of its end."""

STATES = 1 << 16
"""The largest number of states for which the best order is searched."""


def most_gain(gains: Array, sizes: Index64) -> Array:
    """The most gain that a list can have at each rank; a set takes `sizes` ranks.

    This is a knapsack: single documents enter best first, then each set is taken or not.

    >>> most_gain(np.array([1.0, 3.0]), np.array([1, 2])).tolist()  # a document, a pair, both
    [1.0, 3.0, 4.0]
    """
    single = -np.sort(-gains[sizes == 1])
    most = np.full(int(sizes.sum()) + 1, single.sum())
    most[0] = 0.0
    most[1 : len(single) + 1] = np.cumsum(single)
    for gain, size in zip(gains[sizes > 1], sizes[sizes > 1], strict=True):
        most[size:] = np.maximum(most[size:], most[:-size] + gain)
    return most[1:]


def best_order(gains: Array, sizes: Index64, reward: Reward, cutoff: int | None = None) -> float | None:
    """The largest sum of rewards of any order, down to `cutoff`; None if there are too many states to try.

    A state says how many single documents were taken, best first, and how many sets of each kind (size and gain). Its
    rank and gain do not depend on the order, so its best sum follows from those of the states before it.

    >>> best_order(np.array([1.0, 3.0]), np.array([1, 2]), lambda before, after, rank: (after - before) / rank)
    2.0
    """
    single = np.cumsum(np.concatenate(([0.0], -np.sort(-gains[sizes == 1]))))
    kinds, counts = np.unique(np.stack([sizes, gains])[:, sizes > 1], axis=1, return_counts=True)
    most = np.concatenate(([len(single) - 1], counts)).astype(np.int64)
    states = math.prod(int(count) + 1 for count in most)
    if states > STATES:
        return None
    stride = np.concatenate(([1], np.cumprod(most + 1)[:-1])).astype(np.int64)
    taken = np.arange(states)[:, None] // stride % (most + 1)
    rank = (taken[:, 0] + taken[:, 1:] @ kinds[0]).astype(np.int64)
    gain = single[taken[:, 0]] + taken[:, 1:] @ kinds[1]
    best = np.zeros(states)
    by_rank = np.argsort(rank, kind="stable")
    start = np.searchsorted(rank[by_rank], np.arange(int(rank.max()) + 2))
    for place in range(1, min(cutoff or len(start), len(start) - 2) + 1):
        here = by_rank[start[place] : start[place + 1]]
        for kind, step in enumerate(stride):
            after = here[taken[here, kind] > 0]
            before = after - step
            best[after] = np.maximum(best[after], best[before] + reward(gain[before], gain[after], rank[after]))
    return float(best.max())


@dataclass(frozen=True, eq=False)
class Units:
    """What can be taken into the ideal list of each topic: documents and sets, with their gains and sizes."""

    start: NDArray[np.int64]
    gain: Array
    size: Index64

    def ideal(self) -> tuple[NDArray[np.int64], Array]:
        """Where the ideal list of each topic begins, and its gain at each rank: the growth of `most_gain`."""
        lists = [self._ideal(topic) for topic in range(len(self.start) - 1)]
        start = segment_starts(np.repeat(np.arange(len(lists)), list(map(len, lists))), len(lists))
        return start, np.concatenate([np.zeros(0), *lists])

    def _ideal(self, topic: int) -> Array:
        gains, sizes = self._of(topic)
        if not (sizes > 1).any():
            return -np.sort(-gains)
        return np.diff(most_gain(gains, sizes), prepend=0.0)

    def _of(self, topic: int) -> tuple[Array, Index64]:
        here = slice(self.start[topic], self.start[topic + 1])
        return self.gain[here], self.size[here]

    def largest(self) -> Array:
        """The largest gain of each topic; NaN if nothing gains."""
        most = np.full(len(self.start) - 1, -np.inf)
        np.maximum.at(most, np.repeat(np.arange(len(most)), np.diff(self.start)), self.gain)
        return np.where(most > 0, most, np.nan)

    def best(self, reward: Reward, usual: Array, cutoff: int | None, change: Callable[[Array], Array]) -> Array:
        """For each topic the largest sum of rewards, down to `cutoff`; the `usual` sum if it has no set.

        `change` is applied to the gains first. If there are too many sets for a search, the sum is that of `most_gain`,
        which no order exceeds as long as rewards fall with the rank.
        """
        best = np.array(usual, dtype=np.float64)
        for topic in range(len(best)):
            gains, sizes = self._of(topic)
            if (sizes > 1).any():
                found = best_order(change(gains), sizes, reward, cutoff)
                best[topic] = self._bound(topic, reward, cutoff, change) if found is None else found
        return best

    def _bound(self, topic: int, reward: Reward, cutoff: int | None, change: Callable[[Array], Array]) -> float:
        gains, sizes = self._of(topic)
        most = most_gain(change(gains), sizes)[:cutoff]
        return float(reward(np.concatenate(([0.0], most[:-1])), most, np.arange(1, len(most) + 1)).sum())
