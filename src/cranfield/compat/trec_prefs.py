"""The preference measures of trec_eval: how many of the judged preferences between two documents a run fulfils.

Judgments come in groups, one for each judge. Within a group, a document is preferred to those of a lower level. A group
with subgroups is a partial order: only documents of one subgroup are compared, and what follows from these preferences
is added (a before b and b before c make a before c).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.segments import Judged
from cranfield.collection.file_formats.formats import Layout
from cranfield.collection.source import Buffer, shown_path
from cranfield.collection.tables.cells import Coded
from cranfield.collection.tables.table_schema import Column, Schema, Words
from cranfield.compat.trec_lists import TrecLists, lists_of, sorted_labels
from cranfield.errors import DataError
from cranfield.types import Array

EXPECTED = {"prefs": "topic group subgroup doc level", "qrels_prefs": "topic group doc level"}
"""The columns of the two formats of preferences."""


@dataclass(frozen=True)
class CNumbers(Column):
    """Numbers as C reads them: also in base 16, infinite and NaN."""

    @property
    def expected(self) -> str:
        return "a number"

    def values(self, cells: Sequence[Any]) -> tuple[Array, int | None]:
        column = cells if isinstance(cells, Coded) else Coded.of(cells)
        numbers = [_core.parse_number(text.encode("utf-8", "surrogateescape")) for text in column.texts]
        wrong = column.first(numbers.index(None)) if None in numbers else None
        return np.array(numbers, dtype=np.float64)[column.number], wrong


PREFERENCES = Schema(
    EXPECTED["prefs"], key=("topic", "group", "subgroup", "doc"), separators=" ", comments=True, header=False,
    topic=Words(), group=Words(), subgroup=Words(), doc=Words(noun="document"), level=CNumbers(),
)  # fmt: skip


def read_preferences(path: str, buffer: Buffer, format: str) -> _core.Table:
    """The lines of a file of preferences; the label of a line is its group, a blank and its subgroup."""
    expected = EXPECTED[format]
    if format == "qrels_prefs":
        layout = Layout("qrels_prefs", ("topic", "label", "doc", "value"), expected)
        table, faults = layout.read(buffer, "qrels")
        for _, line, message in faults:
            raise DataError(path, line, message)
        if not len(table):
            raise DataError(path, None, f"is empty, expected lines of {expected}")
        return table
    rows = PREFERENCES.read_content(buffer, shown_path(path))
    labels = list(map(" ".join, zip(rows["group"], rows["subgroup"], strict=True)))
    levels = rows["level"].tolist()
    return _core.table_from_columns(None, rows["topic"], rows["doc"], levels, None, labels, "error", "level")


class TrecPreferences:
    """Preferences ready to be joined with runs."""

    def __init__(self, path: str, table: _core.Table, dialect: int) -> None:
        self.path = path
        labels, label = sorted_labels(table)
        names = [label.partition(b" ")[0] for label in labels]
        group = np.cumsum([0, *(name != before for before, name in pairwise(names))])
        places = np.arange(len(labels), dtype=np.int64)
        self.core, rows, start = _core.by_document(table, places)
        self.topics: list[str] = self.core.topics
        self._docs = table.docs(0, len(table))
        self._rows = rows
        self._document = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self._subgroup = label[rows]
        self._group = group[label[rows]]
        level = table.values[rows]
        self._level = level.astype(np.float32).astype(np.float64) if dialect == 9 else level
        self._start = start[self.core.start]

    def lists(self, joined: _core.Joined, depth: int | None) -> PreferenceLists:
        """The preferences of each topic with the order of its documents in the run, down to `depth`.

        Equal scores are ordered by document id, from a to z, unlike in the other measures.
        """
        rank = joined["tie_first"] + joined["tie_last"] - joined["rank"]
        kept = np.full(len(rank), True) if depth is None else rank <= depth
        row, rank, document = joined["row"][kept], rank[kept], joined["document"][kept]
        order = np.lexsort((rank, row))
        hits = np.searchsorted(row[order], np.arange(len(self.topics) + 1))
        topics = []
        for number, topic in enumerate(self.topics):
            first, last = self.core.start[number : number + 2]
            ranked = document[order[hits[number] : hits[number + 1]]] - first
            position = np.full(last - first, -1, dtype=np.int64)
            position[ranked] = np.arange(len(ranked))
            position[position < 0] = np.arange(len(ranked), last - first)
            topics.append(self._topic(topic, number, position, len(ranked)))
        no_grades = np.zeros(0)
        judged = Judged.of(np.zeros(0, dtype=np.int64), no_grades, len(self.topics))
        lists = lists_of(joined, self.topics, no_grades, judged, nothing=True)
        return PreferenceLists(**vars(lists), prefs=tuple(topics))

    def _topic(self, topic: str, number: int, position: NDArray[np.int64], retrieved: int) -> TopicPreferences:
        lines = slice(self._start[number], self._start[number + 1])
        place = position[self._document[lines] - self.core.start[number]]
        group, subgroup, level = self._group[lines], self._subgroup[lines], self._level[lines]
        order = np.lexsort((place, -level, subgroup, group))
        groups = []
        for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            docs = self._rows[lines][members]

            def name(index: int, docs: NDArray[np.int64] = docs) -> str:
                return repr(self._docs[docs[index]])

            group_of = Group(place[members], level[members], subgroup[members], len(position), retrieved)
            if problem := group_of.problem(name):
                raise DataError(self.path, None, f"topic {topic!r}: {problem}")
            groups.append(group_of)
        return TopicPreferences(tuple(groups), len(position), retrieved)


@dataclass(frozen=True, eq=False)
class Group:
    """The preferences of one judge, by line: the position of the document, its level and its subgroup.

    Positions count from 0, retrieved documents first, in their order in the run. Lines are sorted by subgroup, then by
    level (highest first), then by position.
    """

    place: NDArray[np.int64]
    level: Array
    subgroup: NDArray[np.int64]
    documents: int
    retrieved: int

    @cached_property
    def partial(self) -> bool:
        """Whether the group has several subgroups."""
        return bool((self.subgroup != self.subgroup[0]).any())

    @cached_property
    def preferred(self) -> NDArray[np.bool_]:
        """Whether a document (row) is preferred to another (column), by position."""
        matrix = np.zeros((self.documents, self.documents), dtype=bool)
        for lines in np.split(np.arange(len(self.place)), np.flatnonzero(np.diff(self.subgroup)) + 1):
            places, levels = self.place[lines], self.level[lines]
            matrix[np.ix_(places, places)] |= levels[:, None] > levels[None, :]
        if self.partial:
            members = np.unique(self.place)
            reached = matrix[np.ix_(members, members)] | np.eye(len(members), dtype=bool)
            while True:
                further = reached.astype(np.float32) @ reached.astype(np.float32) > 0
                if (further == reached).all():
                    break
                reached = further
            np.fill_diagonal(reached, False)
            matrix[np.ix_(members, members)] = reached
        return matrix

    def problem(self, name: Callable[[int], str]) -> str | None:
        """What is wrong with the lines, with `name` for the document of a line; None if nothing is."""
        if not self.partial:
            return None
        zero, above = np.unique(self.place[self.level == 0]), np.unique(self.place[self.level > 0])
        line_of = {place: line for line, place in enumerate(self.place.tolist())}
        if both := np.intersect1d(zero, above).tolist():
            return f"document {name(line_of[both[0]])} has level 0 and a level above 0 in one group"
        first, second = np.nonzero(self.preferred & self.preferred.T)
        if len(first):
            one, other = name(line_of[int(first[0])]), name(line_of[int(second[0])])
            return f"documents {one} and {other} are preferred to each other in one group"
        return None

    @cached_property
    def last_level(self) -> Array:
        """The level of each document by position, from its last line; -1 for documents of other groups."""
        levels = np.full(self.documents, -1.0)
        levels[self.place] = self.level
        return levels

    @cached_property
    def counts(self) -> Counts:
        return Counts.of(self.preferred, self.retrieved)

    def relevant(self) -> tuple[int, int, int, int]:
        """The numbers of relevant documents, of those retrieved, of not relevant documents, and of those retrieved."""
        if self.partial:
            place, good, bad = np.arange(self.documents), self.last_level > 0, self.last_level == 0
        else:
            place, good, bad = self.place, self.level > 0, self.level <= 0
        inside = place < self.retrieved
        return int(good.sum()), int((good & inside).sum()), int(bad.sum()), int((bad & inside).sum())

    def first_nonrelevant(self, number: int, only_retrieved: bool) -> tuple[int, int]:
        """Fulfilled and possible preferences if only the first `number` documents that are not relevant count.

        Without subgroups, trec_eval takes the documents of the lowest level for those that are not relevant, and
        compares them with themselves, too.
        """
        end = self.retrieved if only_retrieved else self.documents
        if self.partial:
            bad = np.flatnonzero(self.last_level[:end] == 0)
            kept = np.full(end, True)
            kept[bad[self.relevant()[0] :]] = False
            counts = Counts.of(self.preferred[:end, :end][np.ix_(kept, kept)], int(kept[: self.retrieved].sum()))
            return counts.fulfilled, counts.possible
        first = self.place[self.level == self.level[-1]][:number]
        place, level = self.place, self.level
        if only_retrieved:
            first = first[first < end]
            place, level = place[place < end], level[place < end]
        upper, upper_level = place[level > self.level[-1]], level[level > self.level[-1]]
        better = (upper[:, None] < upper) & (upper[:, None] < self.retrieved)
        compared = upper_level[:, None] > upper_level
        fulfilled = int((better & compared).sum())
        fulfilled += int(((place[:, None] < first) & (place[:, None] < self.retrieved)).sum())
        return fulfilled, int(compared.sum()) + len(place) * len(first)


@dataclass(frozen=True)
class Counts:
    """Preferences by the documents that were retrieved: both, one or none; and those fulfilled."""

    both: int
    both_fulfilled: int
    one: int
    one_fulfilled: int
    none: int

    @classmethod
    def of(cls, preferred: NDArray[np.bool_], retrieved: int) -> Counts:
        inside = preferred[:retrieved, :retrieved]
        better, worse = int(preferred[:retrieved, retrieved:].sum()), int(preferred[retrieved:, :retrieved].sum())
        return cls(
            both=int(inside.sum()),
            both_fulfilled=int(np.triu(inside, 1).sum()),
            one=better + worse,
            one_fulfilled=better,
            none=int(preferred[retrieved:, retrieved:].sum()),
        )

    @property
    def fulfilled(self) -> int:
        return self.both_fulfilled + self.one_fulfilled

    @property
    def possible(self) -> int:
        return self.both + self.one + self.none


@dataclass(frozen=True, eq=False)
class TopicPreferences:
    """The groups of a topic, in the order of their names."""

    groups: tuple[Group, ...]
    documents: int
    retrieved: int

    @cached_property
    def judges(self) -> NDArray[np.int64]:
        """How many groups prefer a document (row) to another (column), by position."""
        total = np.zeros((self.documents, self.documents), dtype=np.int64)
        for group in self.groups:
            total += group.preferred
        return total

    def simple(self, scope: str) -> float:
        """Fulfilled preferences of all possible ones."""
        fulfilled, possible = np.sum([in_scope(group.counts, scope) for group in self.groups], axis=0).tolist()
        return fulfilled / possible if possible else 0.0

    def by_group(self, scope: str) -> float:
        """The mean over groups of fulfilled preferences of possible ones."""
        total = 0.0
        for fulfilled, possible in (in_scope(group.counts, scope) for group in self.groups):
            total += fulfilled / possible if possible else 0.0
        return total / len(self.groups)

    def by_pair(self, scope: str) -> float:
        """The mean over pairs of documents of the share of groups whose preference is fulfilled."""
        judges, n = self.judges, self.retrieved
        inside, outside = (slice(None, n), slice(None, n)), (slice(None, n), slice(n, None))
        shares = [_shares(np.triu(judges[inside], 1), np.triu(judges[inside].T, 1))]
        if scope != "both":
            shares.append(_shares(judges[outside], judges.T[outside]))
        ratios = np.concatenate(shares)
        number = len(ratios)
        if scope == "all":
            number += int(np.triu(judges[n:, n:] + judges[n:, n:].T, 1).astype(bool).sum())
        return float(np.cumsum(ratios)[-1]) / number if len(ratios) else 0.0

    def as_many_nonrelevant(self, only_retrieved: bool) -> float:
        """The mean over groups if every group had as many documents that are not relevant as relevant ones."""
        total = 0.0
        for group in self.groups:
            relevant, relevant_retrieved, other, other_retrieved = group.relevant()
            have, lack = (relevant_retrieved, other_retrieved) if only_retrieved else (relevant, other)
            if have >= lack:
                fulfilled, possible = in_scope(group.counts, "both" if only_retrieved else "all")
                fulfilled += relevant_retrieved * (have - lack)
                possible += relevant * (have - lack)
            else:
                fulfilled, possible = group.first_nonrelevant(have, only_retrieved)
            total += fulfilled / possible if possible else np.nan  # 0/0 in C, which makes the sum undefined
        return total / len(self.groups) if total > 0 else 0.0


def _shares(first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
    total = first + second
    some = total > 0
    return np.asarray(first[some] / total[some], dtype=np.float64)


def in_scope(counts: Counts, scope: str) -> tuple[int, int]:
    """Fulfilled and possible preferences: `all`, those with `one` document retrieved at least, or `both`."""
    if scope == "both":
        return counts.both_fulfilled, counts.both
    return counts.fulfilled, counts.possible - (counts.none if scope == "one" else 0)


@dataclass(frozen=True, eq=False)
class PreferenceLists(TrecLists):
    """Lists with the preferences of their topics."""

    prefs: tuple[TopicPreferences, ...] = ()

    def each(self, value: Callable[[TopicPreferences], Any]) -> list[Array]:
        """A value for each topic, as the only column."""
        return [np.array([value(topic) for topic in self.prefs], dtype=np.float64)]
