"""Lists without unjudged documents, and unjudged documents read as the best or the worst that they could be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.changed_lists.tied_orders import tied_groups
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, position_in_segment, ranges
from cranfield.errors import UsageError
from cranfield.types import Index
from cranfield.views.view import Score, Scorer, View, refuse_sets


@dataclass(frozen=True)
class Condensed(View):
    """Unjudged documents removed, ranks closed up: `AP'`, `nDCG'`, ... (Sakai, SIGIR 2007; Sakai 2014 (21)).

    A document with a negative grade was in the pool but not judged, and is removed too, as by `trec_eval -J` and
    ir_measures. It stays if the gain table of the measure has its grade, if the grade is `rel` or better, and for
    measures that estimate from a sample (xinfAP, infNDCG, statAP), which need documents that were not drawn.

    >>> Condensed().apply(Assessed.one([None, 0, -1, 1])).rank.tolist()
    [1, 2]
    """

    lowest: float = field(default=0.0, repr=False)
    """The lowest grade that is a judgment."""
    listed: tuple[float, ...] = field(default=(), repr=False)
    """Lower grades that are judgments, because a gain table has them."""

    mark: ClassVar[str] = "'"

    def for_measure(self, measure: Scorer, score: Score) -> Condensed:
        if measure.estimates:
            return Condensed(-np.inf)
        gain = measure.gains()
        lowest = min(0.0, float(measure.__dict__.get("rel") or 0.0))
        return Condensed(lowest, tuple(grade for grade, _ in gain.table if grade < lowest) if gain else ())

    def apply(self, lists: Assessed) -> Assessed:
        judged = lists.grade >= self.lowest
        if self.listed:
            judged |= np.isin(lists.grade, self.listed)
        if not judged.all():
            kept = np.flatnonzero(judged)
            lists = lists.take_hits(slice(None), kept, lists.row[kept])
        hits = lists.hits()
        first = last = None
        if lists.tie_first is not None:  # tied documents stay tied
            _, starts, sizes = tied_groups(lists.row, lists.tie_first)
            first = np.repeat(hits.nth[starts], sizes)
            last = np.repeat(hits.nth[starts + sizes - 1], sizes)
        attachments = {name: attachment.condensed(lists) for name, attachment in lists.attachments.items()}
        retrieved = np.diff(hits.start)
        return lists.replace(rank=hits.nth, retrieved=retrieved, tie_first=first, tie_last=last, **attachments)

    def __str__(self) -> str:
        return "condensed"


@dataclass(frozen=True)
class Unjudged(View):
    """Unjudged documents read as judged: all of the highest grade (`best`) or all of grade 0 (`worst`).

    They become judged documents of their list, so R and the ideal list grow. For a measure that does not depend on
    recall (P, RBP, DCG, ERR, RR) the two readings enclose every possible judgment of the retrieved documents. For a
    measure that is normalised by the relevant documents they are two scenarios, not bounds. If topics have intents,
    an unjudged document has the grade for every intent of its topic. With several dimensions, all documents have the
    grade in the dimensions that do not judge them.

    >>> Unjudged("best").apply(Assessed.one([None, 0, 1])).grade.tolist()
    [1.0, 0.0, 1.0]
    """

    reading: str

    def __post_init__(self) -> None:
        if self.reading not in ("best", "worst"):
            raise UsageError(f"unjudged == {self.reading!r}, must be 'best' or 'worst'")

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        read = super().around(score, additive=additive, cutoff=cutoff)

        def in_blocks(lists: Assessed) -> Any:
            blocks = [attachment.blocks(lists) for attachment in lists.attachments.values()]
            smallest = max(blocks, key=len, default=[(0, lists.rows)])
            return np.concatenate([read(lists.take(slice(*block))) for block in smallest])

        return in_blocks

    def apply(self, lists: Assessed) -> Assessed:
        refuse_sets(lists, str(self))
        grade_of_unjudged = max(lists.max_grade, 1.0) if self.reading == "best" else 0.0
        start = lists.document_start
        row, rank = np.repeat(np.arange(lists.rows), lists.retrieved), position_in_segment(start)
        hits = start[lists.row] + lists.rank - 1
        grade = np.full(len(row), grade_of_unjudged)
        grade[hits] = lists.grade
        added = np.ones(len(row), dtype=bool)
        added[hits] = False
        sizes = np.diff(lists.judged.start)[lists.set_of_row]
        judged_row = np.repeat(np.arange(lists.rows), sizes)
        judged_at = ranges(lists.judged.start[lists.set_of_row], sizes)
        tie_first, tie_last = _at_every_rank(lists, rank, start)
        attached: dict[str, Any] = {"document": None}
        for attachment in lists.attachments.values():
            attached |= attachment.with_unjudged(lists, row, hits, grade_of_unjudged)
        return lists.replace(
            row=row,
            rank=rank,
            grade=grade,
            # one more judged set, which no list has, keeps the largest grade of topics without a list here
            judged=Judged.of(
                np.concatenate((judged_row, row[added], [lists.rows])),
                np.concatenate((lists.judged.grade[judged_at], grade[added], [lists.max_grade])),
                lists.rows + 1,
            ),
            set_of_row=np.arange(lists.rows),
            place=_every_place(lists, hits, len(row)),
            tie_first=tie_first,
            tie_last=tie_last,
            **attached,
        )

    def __str__(self) -> str:
        return self.reading


def _at_every_rank(
    lists: Assessed, rank: NDArray[np.int64], start: NDArray[np.int64]
) -> tuple[Index | None, Index | None]:
    """Tie bounds of every document: documents between the bounds of a tied hit are tied with it."""
    if lists.tie_first is None or lists.tie_last is None:
        return None, None
    _, groups, _ = tied_groups(lists.row, lists.tie_first)
    first, last = lists.tie_first[groups], lists.tie_last[groups]
    size = last - first + 1
    tied = ranges(start[lists.row[groups]] + first - 1, size)
    every_first, every_last = rank.copy(), rank.copy()
    every_first[tied] = np.repeat(first, size)
    every_last[tied] = np.repeat(last, size)
    return every_first, every_last


def _every_place(lists: Assessed, hits: Index, documents: int) -> Index | None:
    """The places in the ranking of one list; unjudged documents have the places that no hit has, in order."""
    if lists.place is None:
        return None
    place = np.full(documents, -1)
    place[hits] = lists.place
    empty = np.flatnonzero(place < 0)  # none if the list was condensed: its places then have gaps
    place[empty] = np.setdiff1d(np.arange(documents), lists.place)[: len(empty)]
    return place
