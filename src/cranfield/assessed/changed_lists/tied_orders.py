"""Documents with the same score: the ranks that they can have, and lists with tied documents in another order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.attachment import Moves
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import position_in_segment
from cranfield.errors import UsageError
from cranfield.types import Index

ENUMERATED = 1000
"""Up to this many orders of the tied documents of a list are enumerated; if there are more, this many are drawn."""


def tie_bounds(lists: Assessed) -> tuple[Index, Index]:
    """The first and the last rank that each hit can have; lists without ties are an error."""
    if lists.tie_first is None or lists.tie_last is None:
        raise UsageError("these lists do not say which documents are tied; join runs with order='score'")
    return lists.tie_first, lists.tie_last


def tied_groups(row: Index, first: Index) -> tuple[Index, Index, Index]:
    """The tie of each hit, where each tie begins among the hits, and how many hits it has."""
    begins = np.ones(len(first), dtype=bool)
    begins[1:] = (np.diff(row) != 0) | (np.diff(first) != 0)
    starts = np.flatnonzero(begins)
    return np.cumsum(begins) - 1, starts, np.diff(np.append(starts, len(first)))


def ranks_by_grade(row: Index, first: Index, last: Index, grade: NDArray[np.float64], reading: str) -> Index:
    """The rank of each hit when high grades come first within a tie (`best`), or last (`worst`).

    Unjudged documents count as grade 0, and stand in between.
    """
    better = grade > 0 if reading == "best" else grade <= 0
    order = np.lexsort((-grade if reading == "best" else grade, first, row))
    group, starts, sizes = tied_groups(row, first)
    nth = np.arange(len(group)) - starts[group] + 1
    rank = np.empty_like(first)
    rank[order] = np.where(better[order], first + nth - 1, last - (sizes[group] - nth))
    return rank


def in_order_of_grades(lists: Assessed, reading: str) -> Assessed:
    """The lists with high grades first within a tie (`best`), or last (`worst`)."""
    first, last = tie_bounds(lists)
    rank = ranks_by_grade(lists.row, first, last, lists.grade, reading)
    follows = any(attachment.follows_order for attachment in lists.attachments.values())
    return _reordered(lists, rank, _moves_of_all(lists, rank) if follows else None)


def _moves_of_all(lists: Assessed, rank: Index) -> Moves:
    """Where all documents move if the hits move to `rank`; unjudged documents keep their order on the ranks left."""
    start, row = lists.document_start, np.repeat(np.arange(lists.rows), lists.retrieved)
    source, target = start[lists.row] + lists.rank - 1, start[lists.row] + rank - 1
    free_source, free_target = np.ones((2, len(row)), dtype=bool)
    free_source[source] = free_target[target] = False
    place = np.empty(len(row), dtype=np.int64)
    place[source], place[free_source] = target, np.flatnonzero(free_target)
    return Moves(row, position_in_segment(start), place - start[row] + 1)


def _reordered(lists: Assessed, rank: Index, moves: Moves | None) -> Assessed:
    """The lists with their hits at other ranks within their ties; `moves` are for attachments that follow the order."""
    order = np.lexsort((rank, lists.row))  # ties keep their place, so rows and tie bounds stay
    columns = {
        name: column[order]
        for name, column in (("place", lists.place), ("document", lists.document))
        if column is not None
    }
    attachments = {} if moves is None else {name: a.reordered(lists, moves) for name, a in lists.attachments.items()}
    return lists.replace(rank=rank[order], grade=lists.grade[order], **columns, **attachments)


@dataclass(frozen=True, eq=False)
class TiedOrders:
    """One list in every order of its tied documents, or in a sample of these orders.

    The documents that move are the hits, the documents that attachments rank, and if an attachment knows unjudged
    documents, all documents.

    | array | one per | meaning |
    |---|---|---|
    | `rank` | document | its rank in the list |
    | `orders` | order × document | its rank in that order |
    """

    alone: Assessed
    rank: Index
    orders: NDArray[np.int64]

    @staticmethod
    def of(lists: Assessed, row: int, *, extremes: bool = False) -> TiedOrders:
        """The orders of the list at `row`.

        If orders are drawn, `extremes` adds the present order and the orders by grade.
        """
        alone = lists.take(np.array([row]))
        rank, first, last, grade = _documents(alone)
        tied = last > first
        ranks = _orders(first[tied], last[tied])
        if extremes and len(ranks) == ENUMERATED:
            one_row = np.zeros(int(tied.sum()), dtype=np.int64)
            by_grade = [
                ranks_by_grade(one_row, first[tied], last[tied], grade[tied], reading) for reading in ("best", "worst")
            ]
            ranks = np.vstack((ranks, rank[tied], *by_grade))
        orders = np.tile(rank.astype(np.int64), (len(ranks), 1))
        orders[:, tied] = ranks
        return TiedOrders(alone, rank, orders)

    def lists(self) -> Assessed:
        """The list in these orders, one row each."""
        copies = len(self.orders)
        many = self.alone.take(np.zeros(copies, dtype=np.int64)).replace(tie_first=None, tie_last=None, place=None)
        moves = Moves(np.repeat(np.arange(copies), len(self.rank)), np.tile(self.rank, copies), self.orders.ravel())
        ranks = self.orders[:, np.searchsorted(self.rank, self.alone.rank)]
        return _reordered(many, ranks.ravel(), moves)


def tied_rows(lists: Assessed) -> list[int]:
    """The lists with tied documents that matter."""
    first, last = tie_bounds(lists)
    tied = np.zeros(lists.rows, dtype=bool)
    tied[lists.row[last > first]] = True
    for attachment in lists.attachments.values():
        if (placed := attachment.placed(lists)) is not None:
            tied[placed.row[placed.last > placed.first]] = True
    return np.flatnonzero(tied).tolist()


def chosen_orders(lists: Assessed, choose: Callable[[Assessed], int]) -> Assessed:
    """The lists, each in the order of its tied documents whose number `choose` returns."""
    rows, ranks, chosen = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for row in tied_rows(lists):
        orders = TiedOrders.of(lists, row, extremes=True)
        rows.append(np.full(len(orders.rank), row))
        ranks.append(np.asarray(orders.rank, dtype=np.int64))
        chosen.append(orders.orders[choose(orders.lists())])
    moves = Moves(np.concatenate(rows), np.concatenate(ranks), np.concatenate(chosen))
    return _reordered(lists, moves.of(lists.row, lists.rank), moves)


def _documents(alone: Assessed) -> tuple[Index, Index, Index, NDArray[np.float64]]:
    """The documents of one list that move: rank, first and last rank of the tie, and grade over all dimensions."""
    rank, grade = alone.rank, alone.grade
    first, last = tie_bounds(alone)
    for attachment in alone.attachments.values():
        if (placed := attachment.placed(alone)) is not None:
            rank, at = np.unique(np.concatenate((placed.rank, rank)), return_index=True)
            first, last = np.concatenate((placed.first, first))[at], np.concatenate((placed.last, last))[at]
            grade = np.concatenate((placed.grade, grade))[at]
    if not any(attachment.knows_unjudged for attachment in alone.attachments.values()):
        return rank, first, last, grade
    every = np.arange(1, int(alone.retrieved[0]) + 1)
    every_first, every_last, every_grade = every.copy(), every.copy(), np.zeros(len(every))
    _, ties, _ = tied_groups(np.zeros_like(first), first)
    for low, high in zip(first[ties].tolist(), last[ties].tolist(), strict=True):
        every_first[low - 1 : high], every_last[low - 1 : high] = low, high
    every_grade[rank - 1] = grade
    return every, every_first, every_last, every_grade


def _orders(first: Index, last: Index) -> NDArray[np.int64]:
    """Ranks of the documents of one list (columns) in every order of its ties (rows), or in a sample of the orders."""
    groups = [np.flatnonzero(first == f) for f in np.unique(first)]
    sizes = [int(last[g[0]] - first[g[0]] + 1) for g in groups]
    count = math.prod(math.perm(n, len(g)) if n <= 1000 else ENUMERATED + 1 for n, g in zip(sizes, groups, strict=True))
    if count <= ENUMERATED:
        choices = [list(permutations(range(n), len(g))) for n, g in zip(sizes, groups, strict=True)]
        offsets = np.array([[place for group in pick for place in group] for pick in product(*choices)], dtype=np.int64)
    else:
        rng = np.random.default_rng(0)  # the same for every list, so a score does not depend on other lists
        offsets = np.concatenate(
            [np.argsort(rng.random((ENUMERATED, n)), axis=1)[:, : len(g)] for n, g in zip(sizes, groups, strict=True)],
            axis=1,
        )
    columns = np.concatenate(groups)
    ranks = np.empty_like(offsets)
    ranks[:, columns] = offsets + first[columns]
    return ranks
