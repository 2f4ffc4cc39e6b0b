"""Unjudged documents read as the best or the worst they could be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, position_in_segment, row_blocks, segment_starts
from cranfield.assessed.tied_orders import (
    tied_groups,
)
from cranfield.errors import UsageError
from cranfield.types import Index
from cranfield.views.view import ListView, Score


@dataclass(frozen=True)
class Unjudged(ListView):
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
    """Blocks of rows that are read together, to bound memory."""
    intents = lists.intents
    if intents is None:
        return [(0, lists.rows)]
    judged = np.bincount(intents.topic_of_document, np.diff(intents.document_start), intents.topics)
    return row_blocks(judged[lists.topic] + lists.retrieved * intents.count[lists.topic], TOGETHER)


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
