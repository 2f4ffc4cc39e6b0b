"""Views: any measure on any reading of the list. A view turns assessed lists into assessed lists."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed import Array, Assessed, Index, Judged, position_in_segment, segment_starts
from cranfield.errors import UsageError
from cranfield.segments import parted
from cranfield.tied_orders import (
    TiedOrders,
    chosen_orders,
    in_order_of_grades,
    tie_bounds,
    tied_groups,
    tied_rows,
)

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
            _, starts, sizes = tied_groups(lists.row, lists.tie_first)
            first = np.repeat(hits.nth[starts], sizes)
            last = np.repeat(hits.nth[starts + sizes - 1], sizes)
        told = {
            name: known.picked(hits.start[:-1], lists.row, lists.rank)
            for name, known in (("lengths", lists.lengths), ("scores", lists.scores))
            if known is not None
        }
        given = lists.dimensions  # where documents stand that only other dimensions judge nobody knows any more
        dimensions = None if given is None else given.unplaced()
        retrieved = np.diff(hits.start)
        return lists.replace(
            rank=hits.nth, retrieved=retrieved, tie_first=first, tie_last=last, dimensions=dimensions, **told
        )

    def __str__(self) -> str:
        return "condensed"


@dataclass(frozen=True)
class Unjudged(_Reading):
    """Unjudged documents read as judged: all of the highest grade (`best`) or all of grade 0 (`worst`).

    They join the judged set of their list, so R and the ideal list grow with them. For a measure that is free of
    recall (P, RBP, DCG, ERR, RR) the two readings enclose every possible judgment of the retrieved documents. For
    one that is normalised by the relevant documents they are two scenarios, not bounds. Where topics have intents, such
    a document has that grade for every intent of its topic; where there are dimensions, all documents have it in those
    that do not judge them.

    >>> Unjudged("best").apply(Assessed.one([None, 0, 1])).grade.tolist()
    [1.0, 0.0, 1.0]
    """

    reading: str

    def __post_init__(self) -> None:
        if self.reading not in ("best", "worst"):
            raise UsageError(f"unjudged == {self.reading!r}, must be 'best' or 'worst'")

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        read = super().around(score, additive=additive, cutoff=cutoff)
        return lambda lists: np.concatenate([read(lists.part(*part)) for part in _parts(lists)])

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
        return _known(lists, known, row, grade_of_unjudged).replace(
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
            tie_first=tie_first,
            tie_last=tie_last,
        )

    def __str__(self) -> str:
        return self.reading


TOGETHER = 1_000_000
"""So many entries of intents are made for lists at a time: every list gets all those of its topic, and more."""


def _parts(lists: Assessed) -> list[tuple[int, int]]:
    """Where lists are parted whose unjudged documents are read for intents, to bound memory."""
    intents = lists.intents
    if intents is None:
        return [(0, lists.rows)]
    judged = np.bincount(intents.topic_of_document, np.diff(intents.document_start), intents.topics)
    return parted(judged[lists.topic] + lists.retrieved * intents.count[lists.topic], TOGETHER)


def _known(lists: Assessed, known: Index, row: Index, grade: float) -> Assessed:
    """What is told of lists all of whose documents are judged, given the list of each and which of them are hits.

    Where there are intents each list is of a topic of its own then, as it has judged documents of its own.
    """
    document: Index
    if lists.document is not None and lists.dimensions is not None:
        document = lists.dimensions.documents(lists.topic, lists.retrieved)
        document[known] = lists.document
        return lists.replace(dimensions=lists.dimensions.filled(best=grade > 0), document=document)
    if lists.document is None or lists.intents is None:
        return lists.replace(document=None)
    unjudged = np.ones(len(row), dtype=bool)
    unjudged[known] = False
    made = lists.intents.with_unjudged(lists.topic, lists.row, lists.document, row[unjudged], grade)
    document = np.empty(len(row), dtype=np.int64)
    document[known], document[unjudged] = made.hits, made.more
    return lists.replace(
        topics=tuple(lists.topics[topic] for topic in lists.topic.tolist()),
        topic=np.arange(lists.rows),
        intents=made.intents,
        document=document,
    )


def _at_every_rank(
    lists: Assessed, rank: NDArray[np.int64], start: NDArray[np.int64]
) -> tuple[Index | None, Index | None]:
    """Tie bounds of every document: all between the bounds of a tied hit are tied with it; others keep their rank."""
    if lists.tie_first is None or lists.tie_last is None:
        return None, None
    _, groups, _ = tied_groups(lists.row, lists.tie_first)
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


@dataclass(frozen=True)
class Ties(_Reading):
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
        parts = parted(lists.hits().sum(last - first + 1), SPREAD)
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
