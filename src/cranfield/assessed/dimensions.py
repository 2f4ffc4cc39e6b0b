"""Judgments of several dimensions: relevance, and besides it understandability, credibility, ... of the same documents.

All dimensions are joined with the runs in one go: a retrieved document that any of them judges is remembered.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.segments import position_in_segment, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.types import Array, Index

RELEVANCE = "relevance"
"""What the judgments themselves are called among the dimensions."""
NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, eq=False)
class Dimensions:
    """Grades by dimension, and where the documents that have one stand in the lists.

    | array | one per | meaning |
    |---|---|---|
    | `topic` | document | whose document it is; documents are numbered as `Assessed.document` numbers them |
    | `grade` | dimension × document | NaN where the dimension does not judge it |
    | `largest` | dimension | the largest grade in its judgments, at least 0 |
    | `listed` | row | which list it is: rows may be the same list, cut at different ranks |
    | `start` | list | where it begins in the arrays below; one more entry than there are lists |
    | `rank`, `document`, `tie_first`, `tie_last` | retrieved document with a grade | as in `Assessed` |
    """

    names: tuple[str, ...]
    topic: Index
    grade: Array
    largest: Array
    listed: Index
    start: Index
    rank: Index
    document: Index
    tie_first: Index | None = None
    tie_last: Index | None = None

    @staticmethod
    def one(grades: Sequence[float | None], retrieved: int, others: Mapping[str, Sequence[float | None]]) -> Dimensions:
        """Of the documents of a single list, from the top, and those it missed; `others` has the further dimensions.

        >>> Dimensions.one([1, 0], 2, {"clear": [None, 3]}).grade.tolist()
        [[1.0, 0.0], [nan, 3.0]]
        """
        for name, given in others.items():
            if len(given) != len(grades):
                raise UsageError(f"dimensions: {len(given)} grades for {name}, but there are {len(grades)} documents")
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

    def rows(self, index: Index | slice) -> Dimensions:
        """Those of the lists at these rows."""
        return replace(self, listed=self.listed[index])

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """dimensions × topics: is anything of the topic judged in this dimension?"""
        some = np.zeros((len(self.names), int(self.topic.max(initial=-1)) + 1), dtype=bool)
        dimension, document = np.nonzero(~np.isnan(self.grade))
        some[dimension, self.topic[document]] = True
        return some

    def column(self, name: str, who: str) -> int:
        """Which of the dimensions this is, or a complaint that says what would supply it."""
        if name not in self.names:
            raise UsageError(f"{who}: {_supply(name)}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def hits(self, dimension: int, retrieved: Index) -> tuple[Index, Index]:
        """The retrieved documents that a dimension judges: the row of each, and its place in the arrays."""
        row, at = self._listed(retrieved)
        there = ~np.isnan(self.grade[dimension, self.document[at]])
        return row[there], at[there]

    def _listed(self, retrieved: Index) -> tuple[Index, Index]:
        """The retrieved documents with a grade: the row of each, and its place in the arrays."""
        size = np.diff(self.start)[self.listed]
        row = np.repeat(np.arange(len(self.listed)), size)
        at = np.repeat(self.start[self.listed], size) + position_in_segment(np.concatenate(([0], np.cumsum(size)))) - 1
        there = self.rank[at] <= retrieved[row]
        return row[there], at[there]

    def apart(self, retrieved: Index) -> Dimensions:
        """The same, every row a list of its own."""
        row, at = self._listed(retrieved)
        return replace(
            self,
            listed=np.arange(len(self.listed)),
            start=segment_starts(row, len(self.listed)),
            rank=self.rank[at],
            document=self.document[at],
            tie_first=None if self.tie_first is None else self.tie_first[at],
            tie_last=None if self.tie_last is None else self.tie_last[at],
        )

    def moved(self, rank: Index) -> Dimensions:
        """Lists of their own with their documents at other ranks within their ties."""
        order = np.lexsort((rank, np.repeat(np.arange(len(self.listed)), np.diff(self.start))))
        return replace(self, rank=rank[order], document=self.document[order])

    def documents(self, topic: Index, retrieved: Index) -> NDArray[np.int64]:
        """Of all retrieved documents, list after list: their numbers, one for all those of a topic that nobody judged.

        `topic` is the topic of each list. `filled` knows the grades of these numbers.
        """
        number = np.repeat((len(self.topic) + topic).astype(np.int64), retrieved)
        row, at = self._listed(retrieved)
        number[(np.cumsum(retrieved) - retrieved)[row] + self.rank[at] - 1] = self.document[at]
        return number

    def filled(self, best: bool) -> Dimensions:
        """The grades, with the largest (at least 1) or 0 where a dimension that judges the topic lacks one."""
        topics = self.judged.shape[1]
        topic = np.concatenate((self.topic, np.arange(topics)))
        grade = np.concatenate((self.grade, np.full((len(self.names), topics), np.nan)), axis=1)
        worth = np.maximum(self.largest, 1.0) if best else np.zeros(len(self.names))
        grade = np.where(np.isnan(grade) & self.judged[:, topic], worth[:, None], grade)
        return replace(self.unplaced(), topic=topic, grade=grade)

    def unplaced(self) -> Dimensions:
        """The grades alone, for who looks at hits and need not know where other documents stand."""
        none = np.zeros(0, dtype=np.int64)
        start = np.zeros(len(self.start), dtype=np.int64)
        return replace(self, start=start, rank=none, document=none, tie_first=None, tie_last=None)


def lacking(who: str, name: str | None = None) -> UsageError:
    """The complaint of a measure that needs dimensions where there are none."""
    return UsageError(f"{who}: {_supply(name or 'a further dimension', name or 'NAME')}")


def _supply(name: str, written: str | None = None) -> str:
    key = written or name
    return f'nobody judged {name}: give such judgments as dimensions={{"{key}": qrels}} (--dimension {key}=FILE)'


def named_qrels(given: Any, on_duplicate: str = "error") -> dict[str, Qrels]:
    """{dimension: qrels}, read."""
    if not isinstance(given, Mapping) or not given:
        raise UsageError(f"dimensions == {given!r}, must be {{name: qrels}} with one dimension or more")
    for name in map(str, given):
        if name == RELEVANCE:
            raise UsageError(f"dimensions: {name!r} is what the judgments themselves are called; choose another name")
        if not NAME.fullmatch(name):
            raise UsageError(f"dimensions: name == {name!r}, must be of letters, digits, '_', '.' and '-'")
    return {str(name): Qrels.of(qrels, on_duplicate=on_duplicate) for name, qrels in given.items()}


@dataclass(frozen=True, eq=False)
class Graded:
    """Judgments of several dimensions, ready to be joined."""

    judged: _core.Judged
    """Documents by topic that any dimension judges; the grade of each is its number among all."""
    names: tuple[str, ...]
    topic: NDArray[np.int64]
    grade: Array
    largest: Array

    def joined(self, start: Index, rank: Index, document: Index, tie_first: Any, tie_last: Any) -> Dimensions:
        """With where the documents stand in lists."""
        listed = np.arange(len(start) - 1)
        return Dimensions(
            self.names, self.topic, self.grade, self.largest, listed, start, rank, document, tie_first, tie_last
        )


def graded(qrels: Qrels, others: Any, on_duplicate: str = "error") -> Graded:
    """The judgments and those of the other dimensions, for the topics of the former."""
    every = {RELEVANCE: qrels, **named_qrels(others, on_duplicate)}
    for name, one in every.items():
        if one.has_intents:
            what = one.path or f"the judgments of {name}"
            raise UsageError(f"dimensions: {what} are judged by intent, but dimensions are read without intents")
    tables = {name: one.to_dict() for name, one in every.items()}
    _warn_unshared(tables)
    pairs = dict.fromkeys((topic, doc) for topic, docs in tables[RELEVANCE].items() for doc in docs)
    for table in tables.values():
        pairs |= dict.fromkeys((topic, doc) for topic in tables[RELEVANCE] for doc in table.get(topic, ()))
    topics, docs = [topic for topic, _ in pairs], [doc for _, doc in pairs]
    numbered = _core.table_from_columns(None, topics, docs, list(range(len(docs))), None, None, "error", "number")
    judged = _core.judged(numbered, "error")
    place = {topic: number for number, topic in enumerate(judged.topics)}
    return Graded(
        judged,
        tuple(every),
        np.array([place[topic] for topic in topics], dtype=np.int64),
        np.array([[table.get(topic, {}).get(doc, np.nan) for topic, doc in pairs] for table in tables.values()]),
        np.array([one.values.max(initial=0.0) for one in every.values()]),
    )


def _warn_unshared(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Topics that not every dimension judges: how many, and which."""
    shared = set.intersection(*(set(table) for table in tables.values()))
    if not shared:
        raise UsageError(f"no topic is judged in all dimensions: {', '.join(tables)}")
    every = dict.fromkeys(topic for table in tables.values() for topic in table)
    apart = [topic for topic in every if topic not in shared]
    if apart:
        told = ", ".join(apart[:5]) + (f" and {len(apart) - 5} more" if len(apart) > 5 else "")
        many = f"{len(apart)} topic{'s are' if len(apart) > 1 else ' is'}"
        warnings.warn(
            f"{many} not judged in all dimensions, and left out of the means over them: {told}",
            CranfieldWarning,
            stacklevel=2,
        )
