"""Documents with the same score: between which ranks they stand, and the list in every order of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import position_in_segment
from cranfield.errors import UsageError
from cranfield.types import Index

ENUMERATED = 1000
"""Up to this many orders of a list's tied documents are enumerated; beyond, this many are drawn."""


def tie_bounds(lists: Assessed) -> tuple[Index, Index]:
    """The first and the last rank at which each hit could stand, or a complaint that nobody knows."""
    if lists.tie_first is None or lists.tie_last is None:
        raise UsageError("these lists do not say which documents are tied; join runs with order='score' to know")
    return lists.tie_first, lists.tie_last


def tied_groups(row: Index, first: Index) -> tuple[Index, Index, Index]:
    """The group of each hit among the tied ones, where each group begins among the hits and how many it has."""
    begins = np.ones(len(first), dtype=bool)
    begins[1:] = (np.diff(row) != 0) | (np.diff(first) != 0)
    starts = np.flatnonzero(begins)
    return np.cumsum(begins) - 1, starts, np.diff(np.append(starts, len(first)))


def ranks_by_grade(row: Index, first: Index, last: Index, grade: NDArray[np.float64], reading: str) -> Index:
    """The rank of each hit when high grades come first within a tie (`best`), or last (`worst`).

    Unjudged documents count as 0, and stand between.
    """
    better = grade > 0 if reading == "best" else grade <= 0
    order = np.lexsort((-grade if reading == "best" else grade, first, row))  # groups stay where they are
    group, starts, sizes = tied_groups(row, first)
    nth = np.arange(len(group)) - starts[group] + 1
    rank = np.empty_like(first)
    rank[order] = np.where(better[order], first + nth - 1, last - (sizes[group] - nth))
    return rank


def in_order_of_grades(lists: Assessed, reading: str) -> Assessed:
    """The lists with high grades first within a tie (`best`), or last (`worst`)."""
    first, last = tie_bounds(lists)
    rank = ranks_by_grade(lists.row, first, last, lists.grade, reading)
    if lists.lengths is None and lists.dimensions is None:
        return moved(lists, rank, None)
    documents, judged = _filled(lists, rank), None
    if lists.dimensions is not None:
        given = lists.dimensions.apart(lists.retrieved)
        lists = lists.replace(dimensions=given)
        judged = documents[np.repeat(_documents(lists)[0][:-1], np.diff(given.start)) + given.rank - 1]
    return moved(lists, rank, documents, judged)


def _filled(lists: Assessed, rank: Index) -> NDArray[np.int64]:
    """The rank of every retrieved document once hits moved to `rank`; unjudged ones take what is left, in order."""
    start, row = _documents(lists)
    source, target = start[lists.row] + lists.rank - 1, start[lists.row] + rank - 1
    free_source, free_target = np.ones((2, len(row)), dtype=bool)
    free_source[source] = free_target[target] = False
    place = np.empty(len(row), dtype=np.int64)
    place[source], place[free_source] = target, np.flatnonzero(free_target)
    return np.asarray(place - start[row] + 1)


def _documents(lists: Assessed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the retrieved documents of each list begin, and the list of each."""
    start = np.zeros(lists.rows + 1, dtype=np.int64)
    np.cumsum(lists.retrieved, out=start[1:])
    return start, np.repeat(np.arange(lists.rows), lists.retrieved)


def moved(lists: Assessed, rank: Index, documents: Index | None, judged: Index | None = None) -> Assessed:
    """The lists with their hits at other ranks within their ties.

    `documents` are the ranks of all retrieved documents, where their lengths are known; `judged` of those that some
    dimension judges, where there are dimensions and the documents are to move in all of them.
    """
    order = np.lexsort((rank, lists.row))  # groups stay where they are, so row and the bounds of ties do too
    changed = {
        name: column[order]
        for name, column in (("place", lists.place), ("document", lists.document))
        if column is not None
    }
    lengths, dimensions = lists.lengths, lists.dimensions
    if lengths is not None and documents is not None:
        start, row = _documents(lists)
        came_from = np.empty(len(row), dtype=np.int64)
        came_from[start[row] + documents - 1] = position_in_segment(start)
        lengths = lengths.picked(start[:-1], row, came_from)
    if dimensions is not None and judged is not None:
        dimensions = dimensions.moved(judged)
    return lists.replace(
        rank=rank[order], grade=lists.grade[order], lengths=lengths, dimensions=dimensions, **changed
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TiedOrders:
    """One list in every order of its tied documents, or in a sample of them.

    What moves are its units: its hits; all documents where their lengths are known; and where there are dimensions,
    every document that one of them judges, for it stands at the same rank in all.

    | array | one per | meaning |
    |---|---|---|
    | `unit` | unit | the rank at which it stands |
    | `ranks` | order × unit | the rank at which it stands in that order |
    """

    alone: Assessed
    unit: Index
    ranks: NDArray[np.int64]

    @staticmethod
    def of(lists: Assessed, row: int, *, extremes: bool = False) -> TiedOrders:
        """Of the list at `row`.

        With `extremes`, where orders are drawn, the order as it is and those by grade are there besides.
        """
        alone = _alone(lists, row)
        unit, first, last, grade = _units(alone)
        tied = last > first
        ranks = _orders(first[tied], last[tied])
        if extremes and len(ranks) == ENUMERATED:
            one = np.zeros(int(tied.sum()), dtype=np.int64)
            by_grade = [
                ranks_by_grade(one, first[tied], last[tied], grade[tied], reading) for reading in ("best", "worst")
            ]
            ranks = np.vstack((ranks, unit[tied], *by_grade))
        every = np.tile(unit.astype(np.int64), (len(ranks), 1))
        every[:, tied] = ranks
        return TiedOrders(alone, unit, every)

    def lists(self) -> Assessed:
        """The list in these orders, a row each."""
        alone, copies = self.alone, len(self.ranks)
        many = alone.rows_at(np.zeros(copies, dtype=np.int64))
        many = many.replace(
            row=np.repeat(np.arange(copies), len(alone.row)),
            rank=np.tile(alone.rank, copies),
            grade=np.tile(alone.grade, copies),
            document=None if alone.document is None else np.tile(alone.document, copies),
            dimensions=None if many.dimensions is None else many.dimensions.apart(many.retrieved),
        )
        judged = None if alone.dimensions is None else self.of_judged().ravel()
        return moved(many, self.of_hits().ravel(), None if alone.lengths is None else self.ranks.ravel(), judged)

    def of_hits(self, order: int | slice = slice(None)) -> NDArray[np.int64]:
        """Where the hits stand then."""
        return self.ranks[order][..., np.searchsorted(self.unit, self.alone.rank)]

    def of_judged(self, order: int | slice = slice(None)) -> NDArray[np.int64]:
        """Where the documents stand then that some dimension judges."""
        assert self.alone.dimensions is not None
        return self.ranks[order][..., np.searchsorted(self.unit, self.alone.dimensions.rank)]


def tied_rows(lists: Assessed) -> list[int]:
    """Which lists have tied documents that count."""
    first, last = tie_bounds(lists)
    tied = np.zeros(lists.rows, dtype=bool)
    tied[lists.row[last > first]] = True
    given = lists.dimensions
    if given is not None and given.tie_first is not None and given.tie_last is not None:
        some = np.concatenate(([0], np.cumsum(given.tie_last > given.tie_first)))[given.start]
        tied |= (np.diff(some) > 0)[given.listed]
    return np.flatnonzero(tied).tolist()


def chosen_orders(lists: Assessed, choose: Callable[[Assessed], int]) -> Assessed:
    """The lists, each in that order of its tied documents which `choose` takes of many."""
    rank = lists.rank.copy()
    documents = None if lists.lengths is None else position_in_segment(_documents(lists)[0])
    if lists.dimensions is not None:
        lists = lists.replace(dimensions=lists.dimensions.apart(lists.retrieved))
    judged = None if lists.dimensions is None else lists.dimensions.rank.copy()
    for row in tied_rows(lists):
        orders = TiedOrders.of(lists, row, extremes=True)
        one = choose(orders.lists())
        here = slice(*np.searchsorted(lists.row, [row, row + 1]))
        rank[here] = orders.of_hits(one)
        if documents is not None:
            begin = int(lists.retrieved[:row].sum())
            documents[begin : begin + int(lists.retrieved[row])] = orders.ranks[one]
        if judged is not None and lists.dimensions is not None:
            judged[slice(*lists.dimensions.start[row : row + 2])] = orders.of_judged(one)
    return moved(lists, rank, documents, judged)


def _alone(lists: Assessed, row: int) -> Assessed:
    here = slice(*np.searchsorted(lists.row, [row, row + 1]))
    first, last = tie_bounds(lists)
    one = lists.rows_at(np.array([row]))
    return one.replace(
        row=np.zeros(here.stop - here.start, dtype=np.int64),
        rank=lists.rank[here],
        grade=lists.grade[here],
        document=None if lists.document is None else lists.document[here],
        tie_first=first[here],
        tie_last=last[here],
        dimensions=None if one.dimensions is None else one.dimensions.apart(one.retrieved),
    )


def _units(alone: Assessed) -> tuple[Index, Index, Index, NDArray[np.float64]]:
    """What moves in one list: the rank of each unit, the bounds of its tie, and its grade, over all dimensions."""
    unit, grade = alone.rank, alone.grade
    first, last = tie_bounds(alone)
    given = alone.dimensions
    if given is not None and given.tie_first is not None and given.tie_last is not None:
        unit, at = np.unique(np.concatenate((given.rank, unit)), return_index=True)
        first, last = np.concatenate((given.tie_first, first))[at], np.concatenate((given.tie_last, last))[at]
        in_all = np.nan_to_num(given.grade[:, given.document]).sum(axis=0)
        grade = np.concatenate((in_all, grade))[at]
    if alone.lengths is None:
        return unit, first, last, grade
    every = np.arange(1, int(alone.retrieved[0]) + 1)
    every_first, every_last, every_grade = every.copy(), every.copy(), np.zeros(len(every))
    _, groups, _ = tied_groups(np.zeros_like(first), first)
    for low, high in zip(first[groups].tolist(), last[groups].tolist(), strict=True):
        every_first[low - 1 : high], every_last[low - 1 : high] = low, high  # unjudged ones too: their length matters
    every_grade[unit - 1] = grade
    return every, every_first, every_last, every_grade


def _orders(first: Index, last: Index) -> NDArray[np.int64]:
    """Ranks of the hits of one list (columns) in every order of its tied documents (rows), or in a sample of them."""
    groups = [np.flatnonzero(first == f) for f in np.unique(first)]
    sizes = [int(last[g[0]] - first[g[0]] + 1) for g in groups]
    count = math.prod(math.perm(n, len(g)) if n <= 1000 else ENUMERATED + 1 for n, g in zip(sizes, groups, strict=True))
    if count <= ENUMERATED:
        choices = [list(permutations(range(n), len(g))) for n, g in zip(sizes, groups, strict=True)]
        offsets = np.array([[place for group in pick for place in group] for pick in product(*choices)], dtype=np.int64)
    else:
        rng = np.random.default_rng(0)  # the same for every list: a score does not depend on the lists beside it
        offsets = np.concatenate(
            [np.argsort(rng.random((ENUMERATED, n)), axis=1)[:, : len(g)] for n, g in zip(sizes, groups, strict=True)],
            axis=1,
        )
    columns = np.concatenate(groups)
    ranks = np.empty_like(offsets)
    ranks[:, columns] = offsets + first[columns]
    return ranks
