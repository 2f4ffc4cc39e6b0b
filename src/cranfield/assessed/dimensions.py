"""Judgments in several dimensions: relevance, and also understandability, credibility, ... of the same documents.

The runs are joined once with the documents that any of the dimensions judges.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.attachment import Attachment, Moves, Placed
from cranfield.assessed.segments import ranges, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed

RELEVANCE = "relevance"
"""The name of the main judgments among the dimensions."""
NAME = re.compile(r"[\w.-]+")


def _no_documents() -> Index:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Dimensions(Attachment):
    """Grades by dimension, and the ranks of the documents that have a grade in any of them.

    | array | one per | meaning |
    |---|---|---|
    | `topic` | document | its topic; documents are numbered as in `Assessed.document` |
    | `grade` | dimension × document | NaN if the dimension does not judge the document |
    | `largest` | dimension | the largest grade in its judgments, at least 0 |
    | `listed` | row | the list that the row reads; rows may be the same list, cut at different ranks |
    | `start` | list | where it begins in the arrays below, with their length at the end |
    | `rank`, `document`, `tie_first`, `tie_last` | retrieved document with a grade | as in `Assessed` |
    """

    names: tuple[str, ...]
    topic: Index
    grade: Array
    largest: Array
    listed: Index = field(default_factory=_no_documents)
    start: Index = field(default_factory=_no_documents)
    rank: Index = field(default_factory=_no_documents)
    document: Index = field(default_factory=_no_documents)
    tie_first: Index | None = None
    tie_last: Index | None = None

    follows_order = True

    @staticmethod
    def one(grades: Sequence[float | None], retrieved: int, others: Mapping[str, Sequence[float | None]]) -> Dimensions:
        """For a single list: grades of its documents from the top down, then of the documents that it missed.

        `grades` are of relevance, `others` has the grades of the other dimensions.

        >>> Dimensions.one([1, 0], 2, {"clear": [None, 3]}).grade.tolist()
        [[1.0, 0.0], [nan, 3.0]]
        """
        for name, values in others.items():
            if len(values) != len(grades):
                raise UsageError(f"dimensions: {len(values)} grades for {name}, but there are {len(grades)} documents")
        grade = np.array([grades, *others.values()], dtype=np.float64)
        return Dimensions(
            (RELEVANCE, *others),
            np.zeros(len(grades), dtype=np.int64),
            grade,
            np.nan_to_num(grade).max(axis=1, initial=0.0),
            np.zeros(1, dtype=np.int64),
            np.array([0, retrieved]),
            np.arange(1, retrieved + 1),
            np.arange(retrieved),
        )

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """dimensions × topics: whether the dimension judges any document of the topic."""
        judged = np.zeros((len(self.names), int(self.topic.max(initial=-1)) + 1), dtype=bool)
        dimension, document = np.nonzero(~np.isnan(self.grade))
        judged[dimension, self.topic[document]] = True
        return judged

    def column(self, name: str, caller: str) -> int:
        """The number of a dimension; an unknown name is an error."""
        if name not in self.names:
            raise UsageError(f"{caller}: {no_judgments(name)}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def hits(self, grade: Array, retrieved: Index) -> tuple[Index, Index]:
        """The retrieved documents with a `grade` (NaN: none): the row of each, and its place in the arrays."""
        row, at = self._of_rows(retrieved)
        judged = ~np.isnan(grade[self.document[at]])
        return row[judged], at[judged]

    def _of_rows(self, retrieved: Index) -> tuple[Index, Index]:
        """The retrieved documents with a grade: the row of each, and its place in the arrays."""
        size = np.diff(self.start)[self.listed]
        row = np.repeat(np.arange(len(self.listed)), size)
        at = ranges(self.start[self.listed], size)
        inside = self.rank[at] <= retrieved[row]
        return row[inside], at[inside]

    def joined(self, lists: Assessed) -> Dimensions:
        assert lists.document is not None
        return replace(
            self,
            listed=np.arange(lists.rows),
            start=lists.hits().start,
            rank=lists.rank,
            document=lists.document,
            tie_first=lists.tie_first,
            tie_last=lists.tie_last,
        )

    def take(self, rows: Index | slice) -> Dimensions:
        return replace(self, listed=self.listed[rows])

    def condensed(self, lists: Assessed) -> Dimensions:
        """Only the grades: the ranks of documents judged only in other dimensions are lost."""
        return self._without_ranks()

    def only_for(self, needs: Collection[str]) -> Dimensions:
        return self if "places" in needs else self._without_ranks()

    def _without_ranks(self) -> Dimensions:
        start = np.zeros(len(self.start), dtype=np.int64)
        none = _no_documents()
        return replace(self, start=start, rank=none, document=none, tie_first=None, tie_last=None)

    def placed(self, lists: Assessed) -> Placed | None:
        if self.tie_first is None or self.tie_last is None:
            return None
        row, at = self._of_rows(lists.retrieved)
        grade = np.nan_to_num(self.grade[:, self.document[at]]).sum(axis=0)
        return Placed(row, self.rank[at], self.tie_first[at], self.tie_last[at], grade)

    def reordered(self, lists: Assessed, moves: Moves) -> Dimensions:
        row, at = self._of_rows(lists.retrieved)
        rank = moves.of(row, self.rank[at])
        order = np.lexsort((rank, row))  # ties keep their place, so the tie bounds stay
        return replace(
            self,
            listed=np.arange(len(self.listed)),
            start=segment_starts(row, len(self.listed)),
            rank=rank[order],
            document=self.document[at[order]],
            tie_first=None if self.tie_first is None else self.tie_first[at],
            tie_last=None if self.tie_last is None else self.tie_last[at],
        )

    def with_unjudged(self, lists: Assessed, row: Index, hits: Index, grade: float) -> dict[str, Any]:
        """The largest grade (at least 1), or 0, where a dimension that judges the topic does not judge a document.

        All documents of a topic without any grade share one new number.
        """
        if lists.document is None:
            return {}
        document = np.asarray(len(self.topic) + lists.topic[row], dtype=np.int64)
        of_row, at = self._of_rows(lists.retrieved)
        document[lists.document_start[of_row] + self.rank[at] - 1] = self.document[at]
        document[hits] = lists.document
        topics = self.judged.shape[1]
        topic = np.concatenate((self.topic, np.arange(topics)))
        grades = np.concatenate((self.grade, np.full((len(self.names), topics), np.nan)), axis=1)
        filled = np.maximum(self.largest, 1.0) if grade > 0 else np.zeros(len(self.names))
        grades = np.where(np.isnan(grades) & self.judged[:, topic], filled[:, None], grades)
        return {"document": document, "dimensions": replace(self._without_ranks(), topic=topic, grade=grades)}


def no_judgments(name: str | None) -> str:
    """The message about a dimension without judgments; None: about any further dimension."""
    return f'no judgments of {name or "a further dimension"}; give them as dimensions={{"{name or "NAME"}": qrels}}'


def named_qrels(dimensions: Any, on_duplicate: str = "error") -> dict[str, Qrels]:
    """{dimension: qrels}, read and checked."""
    if not isinstance(dimensions, Mapping) or not dimensions:
        raise UsageError(f"dimensions == {dimensions!r}, must be {{name: qrels}} with at least one dimension")
    for name in map(str, dimensions):
        if name == RELEVANCE:
            raise UsageError(f"dimensions: {name!r} is the name of the main judgments; choose another name")
        if not NAME.fullmatch(name):
            raise UsageError(f"dimensions: name == {name!r}, must consist of letters, digits, '_', '.' and '-'")
    return {str(name): Qrels.of(qrels, on_duplicate=on_duplicate) for name, qrels in dimensions.items()}


def judged_in_dimensions(qrels: Qrels, others: Any, on_duplicate: str) -> tuple[_core.Judged, Dimensions]:
    """The judgments in all dimensions, for the topics of `qrels`, ready to be joined; ranks are not known yet."""
    every = {RELEVANCE: qrels, **named_qrels(others, on_duplicate)}
    for name, judgments in every.items():
        if judgments.has_intents:
            origin = judgments.path or f"the judgments of {name}"
            raise UsageError(f"dimensions: {origin} are judged by intent, which dimensions do not support")
    tables = {name: judgments.to_dict() for name, judgments in every.items()}
    _warn_unshared(tables)
    pairs = [
        (topic, doc)
        for topic in tables[RELEVANCE]
        for doc in dict.fromkeys(doc for table in tables.values() for doc in table.get(topic, ()))
    ]
    topics, docs = [topic for topic, _ in pairs], [doc for _, doc in pairs]
    table = _core.table_from_columns(None, topics, docs, [0] * len(docs), None, None, "error", "grade")
    judged = _core.judged(table, "error")
    return judged, Dimensions(
        tuple(every),
        np.repeat(np.arange(len(judged.topics)), np.diff(judged.start)),
        np.array([[table.get(topic, {}).get(doc, np.nan) for topic, doc in pairs] for table in tables.values()]),
        np.array([judgments.values.max(initial=0.0) for judgments in every.values()]),
    )


def _warn_unshared(tables: Mapping[str, Mapping[str, Any]]) -> None:
    shared = set.intersection(*(set(table) for table in tables.values()))
    if not shared:
        raise UsageError(f"no topic is judged in all dimensions: {', '.join(tables)}")
    every = dict.fromkeys(topic for table in tables.values() for topic in table)
    unshared = [topic for topic in every if topic not in shared]
    if unshared:
        warn_caller(
            f"{counted(len(unshared), 'topic is', 'topics are')} not judged in all dimensions, and left out of means "
            f"over all dimensions: {listed(unshared)}",
            CranfieldWarning,
        )
