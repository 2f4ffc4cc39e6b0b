"""Tied documents read in the best order, in the worst order, or averaged over all orders."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import position_in_segment, row_blocks
from cranfield.assessed.tied_orders import (
    TiedOrders,
    chosen_orders,
    in_order_of_grades,
    tie_bounds,
    tied_rows,
)
from cranfield.errors import UsageError
from cranfield.types import Array, Index
from cranfield.views.view import ListView, Score


@dataclass(frozen=True)
class Ties(ListView):
    """Documents with the same score read in the `best` order, the `worst`, or averaged over all orders (`expected`).

    The expectation is exact where the measure is a sum over documents (each document stands at every rank of its
    tie with equal weight) and where a list has at most 1,000 orders that differ; elsewhere it is the mean over
    1,000 orders drawn with a fixed seed (McSherry & Najork, ECIR 2008, doi:10.1007/978-3-540-78646-7_38).

    `best` puts high grades first within a tie, and `worst` puts them last; unjudged documents count as 0. A measure
    that looks at more than the grade of a document (its intents, its length, its grades in several dimensions, how it
    was drawn) says so by `by`: then `best` is the order with the best score of all, the lowest one where lower is
    better, and `worst` the order with the worst. Beyond 1,000 orders these are the best and the worst of 1,000 drawn
    ones, of the orders by grade and of the list as it is: what is possible lies at these scores or further out.

    >>> tied = Assessed.one([0, 1]).replace(tie_first=np.array([1, 1]), tie_last=np.array([2, 2]))
    >>> Ties("best").apply(tied).grade.tolist()
    [1.0, 0.0]
    """

    reading: str
    score: Score | None = field(default=None, compare=False, repr=False)
    """What tells orders apart, where grades alone do not; higher is better."""

    def __post_init__(self) -> None:
        if self.reading not in ("expected", "best", "worst"):
            raise UsageError(f"ties == {self.reading!r}, must be 'expected', 'best' or 'worst'")

    def by(self, score: Score, better: str) -> Ties:
        """The same, the best order being that with the best score; as it is where neither is `better`."""
        if better == "neither":
            return self
        return Ties(self.reading, score if better == "higher" else lambda lists: -score(lists))

    def apply(self, lists: Assessed) -> Assessed:
        if self.score is None or self.reading == "expected":
            return in_order_of_grades(lists, self.reading)
        return chosen_orders(lists, self._extreme)

    def _extreme(self, many: Assessed) -> int:
        """Which of many orders of a list is the best, or the worst."""
        assert self.score is not None
        values = np.nan_to_num(self.score(many))
        return int(np.argmax(values) if self.reading == "best" else np.argmin(values))

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        if self.reading == "expected":
            return _expected_sum(score) if additive else _expected(score)
        if self.score is None:
            return super().around(score, additive=additive, cutoff=cutoff)
        return lambda lists: score(self.apply(lists))

    def __str__(self) -> str:
        return "ties" if self.reading == "expected" else f"ties={self.reading}"


SPREAD = 4_000_000
"""Hits are spread over the ranks of their ties for so many at a time, to bound memory."""


def _expected_sum(score: Score) -> Score:
    """For sums over documents: each hit stands at every rank of its tie with weight 1/size."""

    def expected(lists: Assessed) -> Array:
        first, last = tie_bounds(lists)
        parts = row_blocks(lists.hits().sum(last - first + 1), SPREAD)
        return np.concatenate([score(_spread(lists, first, last, *part)) for part in parts])

    return expected


def _spread(lists: Assessed, first: Index, last: Index, begin: int, end: int) -> Assessed:
    """The lists from row `begin` up to `end`, every hit at every rank where it could stand."""
    here = slice(*np.searchsorted(lists.row, [begin, end]))
    first, size = first[here], last[here] - first[here] + 1
    every = np.repeat(np.arange(len(first)), size)
    rank = first[every] + position_in_segment(np.concatenate(([0], np.cumsum(size)))) - 1
    row = lists.row[here][every] - begin
    order = np.lexsort((rank, row))
    return lists.rows_at(slice(begin, end)).replace(
        row=row[order],
        rank=rank[order],
        grade=lists.grade[here][every[order]],
        weight=1.0 / size[every[order]],
        document=None if lists.document is None else lists.document[here][every[order]],
    )


def _expected(score: Score) -> Score:
    """For any measure: the mean over the orders of the tied documents, all of them or a sample."""

    def expected(lists: Assessed) -> Array:
        out = score(lists)
        for row in tied_rows(lists):
            out[row] = np.mean(score(TiedOrders.of(lists, row).lists()))
        return out

    return expected


def only_with(lists: Assessed, needed: Collection[str]) -> Assessed:
    """The lists without what is not needed: orders of tied documents that differ only there are not told apart.

    `lengths` are those of documents; `places` is where documents stand that only further dimensions judge.
    """
    kept = frozenset(needed) & {"lengths", "places"}

    def make() -> Assessed:
        given = lists.dimensions
        return lists.replace(
            lengths=lists.lengths if "lengths" in kept else None,
            dimensions=given if given is None or "places" in kept else given.unplaced(),
        )

    if lists.lengths is None and lists.dimensions is None:
        return lists
    return lists._once(("only with", kept), make)
