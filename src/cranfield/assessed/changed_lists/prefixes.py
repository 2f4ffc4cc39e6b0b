"""One list cut after each of its first ranks, without a copy of the list for every cut.

The first `n` ranks of a list are `n` cut lists. Their hits are the first hits of the same list, so a sum over the hits
of a cut list is a running sum over the hits of the whole list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, ranges, row_blocks
from cranfield.types import Array, Index

HITS_AT_ONCE = 1 << 22
"""How many hits of cut lists are copied and scored at once, to bound memory."""


def _no_cuts() -> Index:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PrefixHits(Hits):
    """Hits of one list (row 0), for lists that are cut after the ranks `cuts`: sums and counts have one number per cut.

    >>> hits = PrefixHits(3, np.zeros(2, dtype=int), np.array([1, 3]), np.ones(2), cuts=np.array([1, 2, 3]))
    >>> hits.count.tolist(), hits.sum([5, 6]).tolist()
    ([1.0, 1.0, 2.0], [5.0, 5.0, 11.0])
    """

    cuts: Index = field(default_factory=_no_cuts)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """How many of these hits are in each cut list."""
        return np.searchsorted(self.rank, self.cuts, side="right")

    @cached_property
    def count(self) -> Array:
        return self.sum(1.0)

    def sum(self, values: ArrayLike) -> Array:
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), len(self.row))
        if self.weight is not None:
            values = values * self.weight
        return np.concatenate(([0.0], np.cumsum(values)))[self.ends]

    def value_at_nth(self, values: ArrayLike, nth: Array | Index) -> tuple[Array, NDArray[np.bool_]]:
        at = np.broadcast_to(nth, self.rows).astype(np.int64) - 1
        reached = at < self.ends
        out = np.zeros(self.rows)
        out[reached] = np.asarray(values)[at[reached]]
        return out, reached

    def last(self, values: ArrayLike) -> Array:
        return np.concatenate(([0.0], np.asarray(values, dtype=np.float64)))[self.ends]

    def at(self, index: Index) -> PrefixHits:
        weight = None if self.weight is None else self.weight.take(index)
        row, rank, grade = self.row.take(index), self.rank.take(index), self.grade.take(index)
        return PrefixHits(self.rows, row, rank, grade, weight, self.cuts)


@dataclass(frozen=True, eq=False)
class Prefixes(Assessed):
    """A list cut after each of its first ranks: one row per cut, and the hits of the whole list once, in row 0.

    A measure can score it if it counts only with sums and counts of hits, with values of the n-th hit, with numbers of
    a hit that do not depend on the documents below it, and with the number of retrieved documents of a row (not of a
    hit, as all hits are in row 0).

    >>> Prefixes.of(Assessed.one([1, 0, 1]), 3).relevant().count.tolist()
    [1.0, 1.0, 2.0]
    """

    @staticmethod
    def of(lists: Assessed, ranks: int) -> Prefixes:
        """The first of the lists, cut after rank 1, 2, ... up to `ranks`."""
        top = int(np.searchsorted(lists.rank, ranks, side="right"))
        cut = lists.take_hits(np.zeros(ranks, dtype=np.int64), slice(top), np.zeros(top, dtype=np.int64))
        cut = cut.replace(retrieved=np.arange(1, ranks + 1), place=None, tie_first=None, tie_last=None)
        known = {name: value for name, value in vars(cut).items() if name in cut.__dataclass_fields__}
        return Prefixes(**known)

    def as_hits(self, row: Index, rank: Index, grade: Array, weight: Array | None) -> PrefixHits:
        return PrefixHits(self.rows, row, rank, grade, weight, self.retrieved)

    def every(self, cutoff: int | None = None) -> Hits:
        def make() -> Hits:
            deepest = self.rows if cutoff is None else min(self.rows, cutoff)
            grade = np.full(deepest, np.nan)
            hits = self.hits(cutoff)
            grade[hits.rank - 1] = hits.grade
            return self.as_hits(np.zeros(deepest, dtype=np.int64), np.arange(1, deepest + 1), grade, None)

        return self._once(("every", cutoff), make)


def score_cut_lists(score: Callable[[Assessed], Array], lists: Assessed, ranks: int) -> Array:
    """The scores of the first of the lists, cut after rank 1, 2, ... up to `ranks`, for any score.

    Each cut list is a copy of its hits, so time grows with ranks × hits; many are scored at once.
    """
    cuts = np.arange(1, ranks + 1)
    sizes = np.searchsorted(lists.rank, cuts, side="right")
    scores = []
    for begin, end in row_blocks(sizes + 1, HITS_AT_ONCE):
        size = sizes[begin:end]
        rows = np.zeros(end - begin, dtype=np.int64)
        cut = lists.take_hits(rows, ranges(rows, size), np.repeat(np.arange(end - begin), size))
        scores.append(score(cut.replace(retrieved=cuts[begin:end], place=None, tie_first=None, tie_last=None)))
    return np.concatenate(scores)
