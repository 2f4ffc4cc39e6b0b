"""Tied documents read in the best order, in the worst order, or averaged over all orders."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cranfield.assessed.changed_lists.tied_orders import (
    TiedOrders,
    chosen_orders,
    in_order_of_grades,
    tie_bounds,
    tied_rows,
)
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import ranges, row_blocks
from cranfield.errors import UsageError
from cranfield.types import Array, Index
from cranfield.views.view import Score, Scorer, View, refuse_sets

MOST_HITS = 4_000_000
"""Hits are copied to all ranks of their ties for lists with up to this many copies at a time, to bound memory."""


@dataclass(frozen=True)
class Ties(View):
    """Documents with the same score read in the `best` order, the `worst`, or averaged over all orders (`expected`).

    The expectation is exact if the measure is a sum over documents (each document counts at every rank of its tie
    with equal weight), or if a list has at most 1,000 different orders. Otherwise it is the mean over 1,000 orders
    drawn with a fixed seed (McSherry & Najork, ECIR 2008, doi:10.1007/978-3-540-78646-7_38).

    `best` puts high grades first within a tie, and `worst` puts them last; unjudged documents count as grade 0. For a
    measure that uses more than the grade of a document (intents, length, several dimensions, sampling) `best` is the
    order with the best score (the lowest score if lower is better), and `worst` is the order with the worst. If a
    list has more than 1,000 orders, these are the best and the worst of 1,000 drawn orders, the orders by grade and
    the present order; the true extremes are at these scores or beyond.

    >>> tied = Assessed.one([0, 1]).replace(tie_first=np.array([1, 1]), tie_last=np.array([2, 2]))
    >>> Ties("best").apply(tied).grade.tolist()
    [1.0, 0.0]
    """

    reading: str
    score: Score | None = field(default=None, compare=False, repr=False)
    """The score that orders are compared by, if grades are not enough; higher is better."""

    def __post_init__(self) -> None:
        if self.reading not in ("expected", "best", "worst"):
            raise UsageError(f"ties == {self.reading!r}, must be 'expected', 'best' or 'worst'")

    def by(self, score: Score, better: str) -> Ties:
        """The same, where the best order is the one with the best score; unchanged if neither is `better`."""
        if better == "neither":
            return self
        return Ties(self.reading, score if better == "higher" else lambda lists: -score(lists))

    def for_measure(self, measure: Scorer, score: Score) -> Ties:
        return self.by(score, measure.properties.better) if measure.beyond_grades() else self

    def explained(self, lists: Assessed) -> tuple[Assessed, list[str]]:
        if self.reading == "expected":
            return lists, ["documents with equal scores are shown in one order; the score is the mean over all orders"]
        return super().explained(lists)

    def apply(self, lists: Assessed) -> Assessed:
        if self.score is None or self.reading == "expected":
            return in_order_of_grades(lists, self.reading)
        return chosen_orders(lists, self._extreme)

    def _extreme(self, orders: Assessed) -> int:
        """The number of the best, or the worst, order of a list."""
        assert self.score is not None
        values = np.nan_to_num(self.score(orders))
        return int(np.argmax(values) if self.reading == "best" else np.argmin(values))

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        inside = self._around(score, additive=additive, cutoff=cutoff)

        def checked(lists: Assessed) -> Array:
            refuse_sets(lists, str(self))
            return inside(lists)

        return checked

    def _around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        if self.reading == "expected":
            return partial(_expected_sum if additive else _expected, score)
        if self.score is None:
            return super().around(score, additive=additive, cutoff=cutoff)
        return lambda lists: score(self.apply(lists))

    def __str__(self) -> str:
        return "ties" if self.reading == "expected" else f"ties={self.reading}"


def _expected_sum(score: Score, lists: Assessed) -> Array:
    """For sums over documents: each hit counts at every rank of its tie with weight 1/size."""
    first, last = tie_bounds(lists)
    blocks = row_blocks(lists.hits().sum(last - first + 1), MOST_HITS)
    return np.concatenate([score(_at_every_rank_of_tie(lists, first, last, *block)) for block in blocks])


def _at_every_rank_of_tie(lists: Assessed, first: Index, last: Index, begin: int, end: int) -> Assessed:
    """The lists from row `begin` up to `end`, with every hit at every rank that it can have."""
    hits = np.arange(*np.searchsorted(lists.row, [begin, end]))
    size = last[hits] - first[hits] + 1
    hit, rank = np.repeat(hits, size), ranges(first[hits], size)
    order = np.lexsort((rank, lists.row[hit]))
    hit = hit[order]
    weight = 1.0 / (last[hit] - first[hit] + 1)
    return lists.take_hits(slice(begin, end), hit, lists.row[hit] - begin).replace(
        rank=rank[order], weight=weight, tie_first=None, tie_last=None
    )


def _expected(score: Score, lists: Assessed) -> Array:
    """For any measure: the mean over all orders of the tied documents, or over a sample of them."""
    out = score(lists)
    for row in tied_rows(lists):
        out[row] = np.mean(score(TiedOrders.of(lists, row).lists()))
    return out


def only_with(lists: Assessed, needs: Collection[str]) -> Assessed:
    """The lists with only the attachments that a measure needs, so that tied orders that differ only there are one."""
    if not lists.attachments:
        return lists
    return lists._once(
        ("only with", frozenset(needs)),
        lambda: lists.replace(**{name: known.only_for(needs) for name, known in lists.attachments.items()}),
    )
