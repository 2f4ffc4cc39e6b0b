"""Views: any measure on any reading of the list. A view turns assessed lists into assessed lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed import Array, Assessed, Index, Judged, position_in_segment, segment_starts
from cranfield.errors import UsageError
from cranfield.lengths import Lengths

Score = Callable[[Assessed], Array]


class View(Protocol):
    """A reading of the lists that any measure can be computed on."""

    def apply(self, lists: Assessed) -> Assessed:
        """The lists as this view reads them."""
        ...

    @property
    def mark(self) -> str:
        """What it adds to a measure's name (`'`), or nothing when it is written in brackets."""
        ...

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        """The score of the lists as this view reads them."""
        ...


class _Reading:
    """A view that only rewrites the lists."""

    mark: ClassVar[str] = ""

    def apply(self, lists: Assessed) -> Assessed:
        raise NotImplementedError

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        return lambda lists: score(lists._once(self, lambda: self.apply(lists)))


@dataclass(frozen=True)
class Condensed(_Reading):
    """Unjudged documents removed, ranks closed up: `AP'`, `nDCG'`, ... (Sakai, SIGIR 2007; Sakai 2014 (21)).

    >>> Condensed().apply(Assessed.one([None, 0, 1])).rank.tolist()
    [1, 2]
    """

    mark: ClassVar[str] = "'"

    def apply(self, lists: Assessed) -> Assessed:
        hits = lists.hits()
        first = last = None
        if lists.tie_first is not None:  # tied documents stay tied, closed up as well
            _, starts, sizes = _tied_groups(lists, lists.tie_first)
            first = np.repeat(hits.nth[starts], sizes)
            last = np.repeat(hits.nth[starts + sizes - 1], sizes)
        told = {
            name: known.picked(hits.start[:-1], lists.row, lists.rank)
            for name, known in (("lengths", lists.lengths), ("scores", lists.scores))
            if known is not None
        }
        return lists.replace(rank=hits.nth, retrieved=np.diff(hits.start), tie_first=first, tie_last=last, **told)

    def __str__(self) -> str:
        return "condensed"


@dataclass(frozen=True)
class Unjudged(_Reading):
    """Unjudged documents read as judged: all of the highest grade (`best`) or all of grade 0 (`worst`).

    They join the judged set of their list, so R and the ideal list grow with them. For a measure that is free of
    recall (P, RBP, DCG, ERR, RR) the two readings enclose every possible judgment of the retrieved documents. For
    one that is normalised by the relevant documents they are two scenarios, not bounds.

    >>> Unjudged("best").apply(Assessed.one([None, 0, 1])).grade.tolist()
    [1.0, 0.0, 1.0]
    """

    reading: str

    def __post_init__(self) -> None:
        if self.reading not in ("best", "worst"):
            raise UsageError(f"unjudged == {self.reading!r}, must be 'best' or 'worst'")

    def apply(self, lists: Assessed) -> Assessed:
        grade_of_unjudged = max(lists.max_grade, 1.0) if self.reading == "best" else 0.0
        start = np.zeros(lists.rows + 1, dtype=np.int64)
        np.cumsum(lists.retrieved, out=start[1:])
        row = np.repeat(np.arange(lists.rows), lists.retrieved)
        grade = np.full(len(row), grade_of_unjudged)
        known = start[lists.row] + lists.rank - 1
        grade[known] = lists.grade
        added = np.ones(len(row), dtype=bool)
        added[known] = False
        sizes = np.diff(lists.judged.start)[lists.set_of_row]
        judged_row = np.repeat(np.arange(lists.rows), sizes)
        judged_at = np.repeat(lists.judged.start[lists.set_of_row], sizes) + position_in_segment(
            segment_starts(judged_row, lists.rows)
        )
        rank = position_in_segment(start)
        tie_first, tie_last = _at_every_rank(lists, rank, start)
        return lists.replace(
            row=row,
            rank=rank,
            grade=grade,
            # the last set is no list's: it keeps the largest grade that topics without a list here have
            judged=Judged.of(
                np.concatenate((judged_row, row[added], [lists.rows])),
                np.concatenate((lists.judged.grade[judged_at - 1], grade[added], [lists.max_grade])),
                lists.rows + 1,
            ),
            set_of_row=np.arange(lists.rows),
            place=_every_place(lists, known, len(row)),
            document=None,
            tie_first=tie_first,
            tie_last=tie_last,
        )

    def __str__(self) -> str:
        return self.reading


def _tied_groups(lists: Assessed, first: Index) -> tuple[Index, Index, Index]:
    """The group of each hit among the tied ones, where each group begins among the hits and how many it has."""
    begins = np.ones(len(first), dtype=bool)
    begins[1:] = (np.diff(lists.row) != 0) | (np.diff(first) != 0)
    starts = np.flatnonzero(begins)
    return np.cumsum(begins) - 1, starts, np.diff(np.append(starts, len(first)))


def _at_every_rank(
    lists: Assessed, rank: NDArray[np.int64], start: NDArray[np.int64]
) -> tuple[Index | None, Index | None]:
    """Tie bounds of every document: all between the bounds of a tied hit are tied with it; others keep their rank."""
    if lists.tie_first is None or lists.tie_last is None:
        return None, None
    _, groups, _ = _tied_groups(lists, lists.tie_first)
    first, last = lists.tie_first[groups], lists.tie_last[groups]
    size = last - first + 1
    tied = np.repeat(start[lists.row[groups]] + first - 1, size) + position_in_segment(
        np.concatenate(([0], np.cumsum(size)))
    )
    every_first, every_last = rank.copy(), rank.copy()
    every_first[tied - 1] = np.repeat(first, size)
    every_last[tied - 1] = np.repeat(last, size)
    return every_first, every_last


def _every_place(lists: Assessed, known: Index, documents: int) -> Index | None:
    """Unjudged documents take the places of the ranking that no hit has, in order; for one list at a time."""
    if lists.place is None:
        return None
    place = np.full(documents, -1)
    place[known] = lists.place
    empty = np.flatnonzero(place < 0)  # none where the list was condensed: its places then lie further apart
    place[empty] = np.setdiff1d(np.arange(documents), lists.place)[: len(empty)]
    return place


ENUMERATED = 1000
"""Up to this many orders of a list's tied documents are enumerated; beyond, this many are drawn."""


@dataclass(frozen=True)
class Ties(_Reading):
    """Documents with the same score read in the `best` order, the `worst`, or averaged over all orders (`expected`).

    The expectation is exact where the measure is a sum over documents (each document stands at every rank of its
    tie with equal weight) and where a list has at most 1,000 orders that differ; elsewhere it is the mean over
    1,000 orders drawn with a fixed seed (McSherry & Najork, ECIR 2008, doi:10.1007/978-3-540-78646-7_38).

    >>> tied = Assessed.one([0, 1]).replace(tie_first=np.array([1, 1]), tie_last=np.array([2, 2]))
    >>> Ties("best").apply(tied).grade.tolist()
    [1.0, 0.0]
    """

    reading: str

    def __post_init__(self) -> None:
        if self.reading not in ("expected", "best", "worst"):
            raise UsageError(f"ties == {self.reading!r}, must be 'expected', 'best' or 'worst'")

    def apply(self, lists: Assessed) -> Assessed:
        """`best` puts high grades first within a tie; `worst` puts them last. Unjudged documents count as 0."""
        first, last = _bounds(lists)
        better = lists.grade > 0 if self.reading == "best" else lists.grade <= 0
        toward = -lists.grade if self.reading == "best" else lists.grade
        order = np.lexsort((toward, first, lists.row))  # groups stay where they are, so row, first and last do too
        group, starts, sizes = _tied_groups(lists, first)
        nth = np.arange(len(group)) - starts[group] + 1
        rank = np.where(better[order], first + nth - 1, last - (sizes[group] - nth))
        place = None if lists.place is None else lists.place[order]
        document = None if lists.document is None else lists.document[order]
        lengths = _moved(lists, lists.rank[order], rank)
        return lists.replace(rank=rank, grade=lists.grade[order], place=place, document=document, lengths=lengths)

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        if self.reading != "expected":
            return super().around(score, additive=additive, cutoff=cutoff)
        return _expected_sum(score) if additive else _expected(score)

    def __str__(self) -> str:
        return "ties" if self.reading == "expected" else f"ties={self.reading}"


def _moved(lists: Assessed, before: Index, after: Index) -> Lengths | None:
    """The lengths of documents once hits moved within their ties; unjudged ones take what is left, in order."""
    if lists.lengths is None:
        return None
    start = np.zeros(lists.rows + 1, dtype=np.int64)
    np.cumsum(lists.retrieved, out=start[1:])
    row = np.repeat(np.arange(lists.rows), lists.retrieved)
    source, target = (start[lists.row] + rank - 1 for rank in (before, after))
    free_source, free_target = np.ones((2, len(row)), dtype=bool)
    free_source[source] = free_target[target] = False
    came_from = np.empty(len(row), dtype=np.int64)
    came_from[target], came_from[free_target] = source, np.flatnonzero(free_source)
    return lists.lengths.picked(start[:-1], row, came_from - start[row] + 1)


def _bounds(lists: Assessed) -> tuple[Index, Index]:
    if lists.tie_first is None or lists.tie_last is None:
        raise UsageError("these lists do not say which documents are tied; join runs with order='score' to know")
    return lists.tie_first, lists.tie_last


SPREAD = 4_000_000
"""Hits are spread over the ranks of their ties for so many at a time, to bound memory."""


def _expected_sum(score: Score) -> Score:
    """For sums over documents: each hit stands at every rank of its tie with weight 1/size."""

    def expected(lists: Assessed) -> Array:
        first, last = _bounds(lists)
        start = segment_starts(lists.row, lists.rows)
        spread = np.concatenate(([0], np.cumsum(last - first + 1)))[start]
        out, begin = np.empty(lists.rows), 0
        while begin < lists.rows:
            end = int(np.searchsorted(spread, spread[begin] + SPREAD, side="right")) - 1
            end = min(max(end, begin + 1), lists.rows)
            out[begin:end] = score(_spread(lists, first, last, begin, end))
            begin = end
        return out

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
        first, last = _bounds(lists)
        out = score(lists)
        for row in np.unique(lists.row[last > first]):
            here = slice(*np.searchsorted(lists.row, [row, row + 1]))
            ranks, lengths = _orders_with_lengths(lists, int(row), here)
            copies, hits = ranks.shape
            order = np.argsort(ranks, axis=1)
            many = lists.rows_at(np.full(copies, row)).replace(
                row=np.repeat(np.arange(copies), hits),
                rank=np.take_along_axis(ranks, order, axis=1).ravel(),
                grade=np.take(lists.grade[here], order).ravel(),
                document=None if lists.document is None else np.take(lists.document[here], order).ravel(),
                lengths=lengths,
            )
            out[row] = np.mean(score(many))
        return out

    return expected


def _orders_with_lengths(lists: Assessed, row: int, here: slice) -> tuple[NDArray[np.int64], Lengths | None]:
    """Ranks of the hits of one list in every order (or a sample), and the lengths of its documents in that order."""
    first, last = (bound[here] for bound in _bounds(lists))
    if lists.lengths is None:
        return _orders(first, last), None
    documents = int(lists.retrieved[row])
    rank = np.arange(1, documents + 1)
    every_first, every_last = rank.copy(), rank.copy()
    for low, high in {(int(low), int(high)) for low, high in zip(first, last, strict=True)}:
        every_first[low - 1 : high], every_last[low - 1 : high] = low, high
    tied = every_last > every_first
    moved = _orders(every_first[tied], every_last[tied])  # unjudged documents too: how long they are matters
    ranks = np.tile(rank, (len(moved), 1))
    ranks[:, tied] = moved
    begin = np.arange(len(moved)) * documents
    came_from = np.argsort(ranks, axis=1).ravel() + 1
    return ranks[:, lists.rank[here] - 1], lists.lengths.picked(begin, np.full(len(came_from), row), came_from)


def _orders(first: Index, last: Index) -> NDArray[np.int64]:
    """Ranks of the hits of one list (columns) in every order of its tied documents (rows), or in a sample of them."""
    groups = [np.flatnonzero(first == f) for f in np.unique(first)]
    sizes = [int(last[g[0]] - first[g[0]] + 1) for g in groups]
    count = math.prod(math.perm(n, len(g)) if n <= 1000 else ENUMERATED + 1 for n, g in zip(sizes, groups, strict=True))
    if count <= ENUMERATED:
        from itertools import permutations, product

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


def parse_view(text: str) -> View:
    """A view from its name: `condensed`, `best`, `worst`, `ties`, `ties=best`, `ties=worst`.

    >>> parse_view("ties=best")
    Ties(reading='best')
    """
    key, _, value = text.strip().partition("=")
    if key == "condensed" and not value:
        return Condensed()
    if key in ("best", "worst") and not value:
        return Unjudged(key)
    if key == "ties":
        return Ties(value or "expected")
    raise UsageError(f"view {text!r} is not known; there are condensed, best, worst, ties, ties=best, ties=worst")
