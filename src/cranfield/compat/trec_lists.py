"""Runs and judgments as assessed lists, by the rules of trec_eval.

These rules differ from those of cranfield in three ways: grades are whole numbers, every negative grade means "in the
pool, but not judged", and the gains of the nDCG family can be pairs, with an ideal list that depends on how C sorts.
With judgments by several judges (`-R qrels_jg`), a measure is the mean over the judges of a topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Gains, Ideal, Judged, position_in_segment
from cranfield.errors import UsageError
from cranfield.measures.gain import Gain
from cranfield.types import Array

NOT_IN_POOL = -1.0
"""The grade of a retrieved document without a judgment."""
POOLED = -2.0
"""The grade of a document with a negative grade in the judgments."""

MOST_LEVELS = 1_000_000
"""Gain pairs need a table of all levels up to the highest, which would not fit in memory above this."""


@dataclass(frozen=True, eq=False)
class TrecLists(Assessed):
    """The lists of one run on every judged topic; the row is the number of the topic."""

    def ideal(self, gain: Gains) -> Ideal:
        if isinstance(gain, PairGain):
            pairs = gain
            return self._once(("ideal", gain), lambda: pairs.ideal_lists(self))
        return super().ideal(gain)

    def dense(self) -> TrecLists:
        """The same lists with every document as a hit; those outside the pool have the grade NOT_IN_POOL."""

        def make() -> TrecLists:
            start = self.document_start
            grade = np.full(int(start[-1]), NOT_IN_POOL)
            grade[start[self.row] + self.rank - 1] = self.grade
            every_row = np.repeat(np.arange(self.rows), self.retrieved)
            return self.replace(row=every_row, rank=position_in_segment(start), grade=grade)  # type: ignore[return-value]

        return self._once("dense", make)

    def only_judged(self) -> TrecLists:
        """The same lists without documents that have no grade (-J)."""
        some = self.hits_where(self.grade >= 0)
        row = some.row
        retrieved = np.bincount(row, minlength=self.rows)
        rank = position_in_segment(np.concatenate(([0], np.cumsum(retrieved)))).astype(np.int32)
        return some.replace(rank=rank, retrieved=retrieved)  # type: ignore[return-value]

    def hits_where(self, kept: NDArray[np.bool_]) -> TrecLists:
        """The same lists with some of the hits; the other documents are not judged."""
        return self.replace(row=self.row[kept], rank=self.rank[kept], grade=self.grade[kept])  # type: ignore[return-value]


def graded(grade: Array, *, whole: bool) -> Array:
    """Grades with one value for all negative ones; `whole` as read by C's atol (the digits before the point)."""
    if whole:
        grade = np.trunc(grade)
    return np.where(grade < 0, POOLED, grade)


def sorted_labels(table: _core.Table) -> tuple[list[bytes], NDArray[np.int64]]:
    """The labels of the judgments in the order of their bytes, and for each row the number of its label.

    trec_eval takes column 2 for a group of judgments.
    """
    names = [name.encode("utf-8", "surrogateescape") for name in table.labels]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    number = place[table.label] if len(table.label) else np.zeros(len(table), dtype=np.int64)
    return [names[index] for index in order], number


class TrecQrels:
    """Judgments ready to be joined with runs, with the grades of trec_eval."""

    def __init__(self, judged: _core.Judged, *, whole_grades: bool) -> None:
        self.core = judged
        self.topics: list[str] = judged.topics
        self.whole_grades = whole_grades
        topic = np.repeat(np.arange(len(self.topics)), np.diff(judged.start))
        self.judged = Judged.of(topic, self.graded(judged.grade), len(self.topics))

    def graded(self, grade: Array) -> Array:
        return graded(grade, whole=self.whole_grades)

    def lists(
        self,
        joined: _core.Joined,
        *,
        judged_only: bool = False,
        nothing: bool = False,
        unjudged_for_missing: bool = False,
    ) -> TrecLists:
        """The lists of a join.

        `judged_only` drops documents without a grade (-J), `nothing` drops all (-M 0). With `unjudged_for_missing`,
        topics that the run lacks have a list of one unjudged document (trec_eval 10 with -c).
        """
        grade = self.graded(self.core.grade[joined["document"]])
        every = lists_of(
            joined, self.topics, grade, self.judged, nothing=nothing, unjudged_for_missing=unjudged_for_missing
        )
        return every.only_judged() if judged_only else every


def lists_of(
    joined: _core.Joined,
    topics: list[str],
    grade: Array,
    judged: Judged,
    *,
    nothing: bool = False,
    unjudged_for_missing: bool = False,
) -> TrecLists:
    """The lists of a join, with the grade of every hit; see `TrecQrels.lists` for the options."""
    row, rank = joined["row"], joined["rank"]
    missing = joined["missing"].astype(bool)
    retrieved = np.asarray(joined["retrieved"], dtype=np.int64)
    if unjudged_for_missing:
        retrieved = np.where(missing, 1, retrieved)
    if nothing:
        row, rank, grade, retrieved = row[:0], rank[:0], grade[:0], np.zeros_like(retrieved)
    columns = {"row": row, "rank": rank, "grade": grade, "judged": judged}
    return TrecLists.grid(["run"], topics, retrieved=retrieved, missing=missing, **columns)


@dataclass(frozen=True)
class _Rung:
    """A level, its gain, and whether its documents count here (a level can be named twice)."""

    level: float
    gain: float
    counts: bool = True


@dataclass(frozen=True)
class PairGain(Gain):
    """Gains from `level=gain` pairs (the `table`, in this order); the gain of any other level is the level.

    >>> PairGain("table", ((1.0, 3.0), (-1.0, 0.5)))(np.array([-2.0, -1.0, 0.0, 1.0, 2.0])).tolist()
    [0.0, 0.5, 0.0, 3.0, 2.0]
    """

    def __call__(self, grade: Array) -> Array:
        gains = np.maximum(grade, 0.0)
        for rung in reversed(sorted_as_c(self._named())):
            gains[grade == rung.level] = rung.gain
        return gains

    def check(self, caller: str) -> None:
        """Accept gains below 0, like trec_eval."""

    def ideal_lists(self, lists: Assessed) -> Ideal:
        """The ideal list of every topic, from the highest of the sorted levels down, like trec_eval.

        Gains are compared as whole numbers: gains less than 1 apart count as equal. The list ends at the first gain of
        0 or less that some document has, and is empty if the top gain is 0 or less.
        """
        judged, ladders = lists.judged, dict[int, list[_Rung]]()
        gains: list[float] = []
        start = [0]
        for topic in range(len(judged.start) - 1):
            grade = judged.grade[judged.start[topic] : judged.start[topic + 1]]
            levels, counts = np.unique(grade[grade >= 0], return_counts=True)
            top = int(levels[-1]) + 1 if len(levels) else 0
            if top not in ladders:
                ladders[top] = self._ladder(top)
            gains.extend(_walk_down(ladders[top], dict(zip(levels.tolist(), counts.tolist(), strict=True))))
            start.append(len(gains))
        return Ideal(np.array(start, dtype=np.int64), np.array(gains, dtype=np.float64), lists.set_of_row)

    def _named(self) -> list[_Rung]:
        first: dict[float, int] = {}
        for place, (level, _) in enumerate(self.table):
            first.setdefault(level, place)
        return [_Rung(level, gain, first[level] == place) for place, (level, gain) in enumerate(self.table)]

    def _ladder(self, top: int) -> list[_Rung]:
        """The pairs and all other levels below `top`, sorted by gain."""
        if top > MOST_LEVELS:
            raise UsageError(f"gains by pairs need grades up to {MOST_LEVELS}, the judgments have {top - 1}")
        named = {level for level, _ in self.table}
        return sorted_as_c([*self._named(), *(_Rung(level, level) for level in range(top) if level not in named)])


def _walk_down(ladder: list[_Rung], count: dict[float, int]) -> list[float]:
    gains: list[float] = []
    if not ladder or ladder[-1].gain <= 0:
        return gains
    for rung in reversed(ladder):
        documents = count.get(rung.level, 0) if rung.counts else 0
        if documents and rung.gain <= 0:
            break
        gains.extend([rung.gain] * documents)
    return gains


def sorted_as_c(rungs: list[_Rung]) -> list[_Rung]:
    """Sort by gain, compared by the whole part of the difference, with the merge sort of the C library.

    This comparison is not an order (0.5 equals 1.2, 1.2 equals 1.9, but 0.5 is less than 1.9), so the result depends on
    the steps of the algorithm: halves first, the smaller half in front, equal elements from the left.

    >>> [rung.gain for rung in sorted_as_c([_Rung(1, 0.5), _Rung(2, 1.0), _Rung(0, 0.0)])]
    [0.5, 0.0, 1.0]
    """
    if len(rungs) < 2:
        return rungs
    half = len(rungs) // 2
    left, right = sorted_as_c(rungs[:half]), sorted_as_c(rungs[half:])
    merged: list[_Rung] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if int(left[i].gain - right[j].gain) <= 0:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


class TrecGroups:
    """Judgments by group (column 2), ready to be joined with runs."""

    def __init__(self, table: _core.Table) -> None:
        self._labels, label = sorted_labels(table)
        self.core, rows, start = _core.by_document(table, np.arange(len(self._labels), dtype=np.int64))
        self.topics: list[str] = self.core.topics
        self._topic = np.repeat(np.arange(len(self.topics)), np.diff(self.core.start))
        self._document = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self._label = label[rows]
        self._grade = graded(table.values[rows], whole=True)

    def lists(
        self, joined: _core.Joined, *, judged_only: bool, nothing: bool, unjudged_for_missing: bool
    ) -> GroupedLists:
        """The lists of a join once for each group; see `TrecQrels.lists`."""
        groups = []
        for label in range(len(self._labels)):
            mine = self._label == label
            document, grade = self._document[mine], self._grade[mine]
            of_document = np.full(len(self._topic), np.nan)
            of_document[document] = grade
            judged = Judged.of(self._topic[document], grade, len(self.topics))
            hit = of_document[joined["document"]]
            lists = lists_of(
                joined, self.topics, hit, judged, nothing=nothing, unjudged_for_missing=unjudged_for_missing
            )
            lists = lists.hits_where(~np.isnan(lists.grade))
            groups.append((lists.only_judged() if judged_only else lists, np.diff(judged.start) > 0))
        return GroupedLists(**vars(groups[0][0]), groups=tuple(groups))


@dataclass(frozen=True, eq=False)
class GroupedLists(TrecLists):
    """The lists of the first group, and for every group its lists and the topics it has judged."""

    groups: tuple[tuple[TrecLists, NDArray[np.bool_]], ...] = ()

    def mean(self, values: Callable[[TrecLists], list[Array]]) -> list[Array]:
        """The mean over the groups of each topic, added up in the order of the groups, like in C."""
        number = np.zeros(self.rows)
        totals: list[Array] = []
        for lists, judged in self.groups:
            number += judged
            of_group = [np.where(judged, value, 0.0) for value in values(lists)]
            totals = [a + b for a, b in zip(totals, of_group, strict=True)] if totals else of_group
        return [total / number for total in totals]
