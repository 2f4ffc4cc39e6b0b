"""Judgments: the grade of each document for a topic and, in diversity collections, for each intent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.collection import structured
from cranfield.collection.records import Reading, Records, are_whole, from_mapping, matrix_columns, table_of
from cranfield.collection.source import PathLike, stem
from cranfield.collection.writing import Outgoing
from cranfield.errors import DataError

DIVERSITY = "diversity"
"""The format in which column 2 is the intent."""


class Judgment(NamedTuple):
    """One line of qrels."""

    topic: str
    doc: str
    grade: float
    iteration: str = "0"
    """Column 2: the intent in diversity collections, without meaning in most others."""


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(Records):
    """Judgments of a test collection. An immutable value: equal when topics, documents, intents and grades are.

    >>> qrels = Qrels.of({"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}})
    >>> qrels
    <Qrels 'qrels': 2 topics, 3 judgments>
    >>> qrels.grades("q1")
    {'d1': 2, 'd2': 0}
    """

    by_intent: bool = False
    """Column 2 is the intent, even if every topic has only one: the qrels were read with `format="diversity"`."""

    kind: ClassVar[str] = "qrels"

    # ---- input

    @classmethod
    def of(
        cls,
        thing: Any,
        *,
        format: str | None = None,
        on_duplicate: str = "error",
        name: str | None = None,
        threads: int | None = None,
    ) -> Qrels:
        """Qrels from a file or an object; qrels are returned as they are.

        `thing` is a path (`-` is standard input, `irds:NAME` a dataset of ir_datasets), bytes, an open file,
        {topic: {doc: grade}}, a pandas, polars or Arrow frame, or an iterable of named tuples or tuples
        (topic, doc, grade[, iteration]).
        A document judged twice is an error, unless `on_duplicate` is "first" or "max". With `format="diversity"`,
        column 2 is the intent even if every topic has only one.
        """
        if isinstance(thing, Qrels):
            named = thing if name in (None, thing.name) else replace(thing, name=name or "")
            return named.with_intents() if format == DIVERSITY else named
        reading = Reading("qrels", format, on_duplicate, threads)
        table, path = table_of(thing, reading)
        name = name or (stem(path) if path else "qrels")
        return cls(table, name, path, tuple(reading.notes), by_intent=format == DIVERSITY)

    @classmethod
    def read(
        cls, path: PathLike, *, format: str | None = None, on_duplicate: str = "error", threads: int | None = None
    ) -> Qrels:
        """Qrels from a file; the format is detected unless given. See `of`."""
        return cls.of(path, format=format, on_duplicate=on_duplicate, threads=threads)

    @classmethod
    def from_dict(cls, lists: Mapping[Any, Mapping[Any, float]], name: str = "qrels") -> Qrels:
        """Qrels from {topic: {doc: grade}}."""
        return cls(from_mapping(lists, "qrels"), name)

    @classmethod
    def from_frame(cls, frame: Any, *, on_duplicate: str = "error", name: str = "qrels") -> Qrels:
        """Qrels from a pandas, polars or Arrow frame; columns are found by their usual names."""
        return cls(structured.from_frame(frame, "qrels").table("qrels", on_duplicate), name)

    @classmethod
    def from_tuples(cls, records: Iterable[Any], *, on_duplicate: str = "error", name: str = "qrels") -> Qrels:
        """Qrels from tuples (topic, doc, grade[, iteration]), named tuples or dicts with such fields.

        >>> len(Qrels.from_tuples([("q1", "d1", 1), ("q1", "d2", 0)]))
        2
        """
        return cls(structured.from_records(records, "qrels").table("qrels", on_duplicate), name)

    @classmethod
    def from_arrays(
        cls, grades: Any, mask: Any = None, topics: Iterable[Any] | None = None, docs: Any = None, name: str = "qrels"
    ) -> Qrels:
        """Qrels from a matrix (queries × documents). A document is unjudged if `mask` is false or its grade is NaN.

        >>> Qrels.from_arrays([[0, 2], [1, float("nan")]]).to_dict()
        {'0': {'0': 0, '1': 2}, '1': {'0': 1}}
        """
        columns = matrix_columns(grades, mask, topics, docs, "grades", nan_is_absent=True)
        return cls(columns.table("qrels", "error"), name)

    # ---- the entries

    @cached_property
    def intents(self) -> tuple[str, ...]:
        """The distinct labels of column 2 if it varies within a topic or `by_intent` is set; else none.

        >>> Qrels.of(b"1 a d1 1\\n1 b d1 0\\n").intents
        ('a', 'b')
        >>> Qrels.of(b"1 a d1 1\\n").intents, Qrels.of(b"1 a d1 1\\n", format="diversity").intents
        ((), ('a',))
        """
        if self.by_intent:
            return tuple(self.table.labels) or ("0",)
        label = self.table.label
        if not len(label):
            return ()
        first = np.repeat(label[np.minimum(self.starts[:-1], len(label) - 1)], np.diff(self.starts))
        return tuple(self.table.labels) if bool((label != first).any()) else ()

    @property
    def has_intents(self) -> bool:
        """Whether documents are judged by intent (a diversity collection)."""
        return bool(self.intents)

    def with_intents(self) -> Qrels:
        """The same judgments, with column 2 as the intent."""
        return self if self.by_intent else replace(self, by_intent=True)

    def numbers(self, values: NDArray[np.float64]) -> list[Any]:
        """Grades as Python numbers: integers if all are whole."""
        return list(values.astype(np.int64).tolist() if self._whole else values.tolist())

    @cached_property
    def _whole(self) -> bool:
        return are_whole(self.values)

    def grades(self, topic: Any, intent: str | None = None) -> dict[str, Any]:
        """{doc: grade} of one topic, or of one intent of it.

        Without `intent`, a document with several grades (one per intent) is an error.
        """
        begin, end = self._slice(topic)
        docs, values = self.table.docs(begin, end), self.numbers(self.values[begin:end])
        if intent is not None:
            labels = (self.row_labels or ["0"] * len(self))[begin:end]
            return {doc: grade for doc, grade, label in zip(docs, values, labels, strict=True) if label == intent}
        grades = dict(zip(docs, values, strict=True))
        if len(grades) != len(docs):
            message = f"topic {topic!r} is judged by intent; choose one, such as intent={self.intents[0]!r}"
            raise DataError(self.path or self.name, None, message)
        return grades

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{topic: {doc: grade}}; grades are integers if all are whole."""
        lists = super().to_dict()
        if sum(map(len, lists.values())) != len(self):
            message = "judged by intent: a document has several grades, which {topic: {doc: grade}} cannot hold"
            raise DataError(self.path or self.name, None, f"{message}; use grades(topic, intent)")
        return lists

    def outgoing(self) -> Outgoing:
        """The data to write."""
        return Outgoing(
            "qrels", self.name, self.columns(), self.to_dict, intents=self.has_intents, empty_topics=self.empty_topics
        )

    def __iter__(self) -> Iterator[Judgment]:
        columns = self.columns()
        labels = columns.labels or ["0"] * len(self)
        return map(Judgment, columns.topics, columns.docs, columns.values, labels)

    def _content(self) -> dict[str, Any]:
        labels = ["0" if label == "Q0" else label for label in self.row_labels or ["0"] * len(self)]
        keys = list(zip(self.table.docs(0, len(self)), labels, strict=True))
        return self._by_topic(keys, self.values.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        reduced: tuple[Any, ...] = super().__reduce__()
        return (_rebuild_with_intents, reduced) if self.by_intent else reduced

    # ---- for joins

    @cached_property
    def _judged(self) -> dict[str, _core.Judged]:
        return {}

    def judged(self, on_duplicate: str = "error") -> _core.Judged:
        """The judgments ready to be joined with runs, ignoring intents; computed once for each rule."""
        if on_duplicate not in self._judged:
            try:
                self._judged[on_duplicate] = _core.judged(self.table, on_duplicate)
            except ValueError as error:
                message = f"{error}; to take its highest grade: on_duplicate='max'; or use measures of diversity"
                raise DataError(self.path or self.name, None, message) from None
        return self._judged[on_duplicate]


def _rebuild_with_intents(rebuild: Callable[..., Qrels], arguments: tuple[Any, ...]) -> Qrels:
    return rebuild(*arguments).with_intents()
