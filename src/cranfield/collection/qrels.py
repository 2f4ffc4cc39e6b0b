"""Judgments: the grade of each document for a topic and, in diversity collections, for each intent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import _core, check
from cranfield.collection.accepted_inputs import FrameLike, QrelsLike
from cranfield.collection.accepted_inputs import Records as GivenRecords
from cranfield.collection.column_names import ColumnNames, named_columns
from cranfield.collection.file_formats.writing import Outgoing, Part
from cranfield.collection.grade_labels import labels_note, named_grades
from cranfield.collection.records import PLAIN, Reading, Records, are_whole, from_mapping, matrix_columns, table_of
from cranfield.collection.source import PathLike, stem
from cranfield.errors import DataError, UsageError

DIVERSITY = "diversity"
"""The format in which column 2 is the intent."""
NO_INTENT = "0"
"""The label of documents that are relevant to no intent, in files of the Web track 2009 and of NTCIREVAL."""
INTENT_NAMES = frozenset({"intent", "subtopic", "subtopic_id"})
"""Names by which a column of a table says that it holds intents."""


BINARY = "grades of {:g} or more count as 1, all others as 0"


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
    """Column 2 is the intent, whatever it holds: the qrels were read with `format="diversity"`, or the column has that
    name."""
    plain: bool = False
    """Column 2 has no meaning, whatever it holds: the qrels were read with `format="trec"`."""

    kind: ClassVar[str] = "qrels"

    # ---- input

    @classmethod
    def of(
        cls,
        thing: QrelsLike,
        *,
        format: str | None = None,
        on_duplicate: str = "error",
        name: str | None = None,
        threads: int | None = None,
        columns: ColumnNames | None = None,
        grades: Mapping[str, float] | None = None,
    ) -> Qrels:
        """Qrels from a file or an object; qrels are returned as they are.

        `thing` is a path (`-` is standard input, `irds:NAME` a dataset of ir_datasets), bytes, an open file,
        {topic: {doc: grade}}, {topic: [relevant doc, ...]}, a pandas, polars or Arrow frame, or an iterable of named
        tuples or tuples (topic, doc, grade[, iteration]).
        True and False are the grades 1 and 0. `grades` are the numbers of labels in place of grades: {"Exact": 3,
        "Bad": 0}. `columns` names columns of a table that have unusual names, or all columns of a file without a
        header, as for `Run`.
        A document judged twice is an error, unless `on_duplicate` is "first" or "max".

        Column 2 (of frames: a column such as `iteration`) is the intent if some document has two labels in a topic, and
        has no meaning otherwise. With `format="diversity"`, or if the column is called `intent` or `subtopic`, it is
        always the intent. With `format="trec"` it never has a meaning, and a document with two labels is judged twice.
        """
        if isinstance(thing, Qrels):
            named = thing if name in (None, thing.name) else replace(thing, name=name or "")
            if format == PLAIN and not named.plain:
                named = replace(named, by_intent=False, plain=True)
                named.judged(on_duplicate)  # complains of a document that is judged twice
            return named.with_intents() if format == DIVERSITY else named
        if columns or grades:
            with named_columns(columns), named_grades(grades):
                return cls.of(thing, format=format, on_duplicate=on_duplicate, name=name, threads=threads)
        reading = Reading("qrels", format, on_duplicate, threads)
        table, path = table_of(thing, reading)
        name = name or (stem(path) if path else "qrels")
        notes = tuple(dict.fromkeys((*reading.notes, *labels_note())))
        qrels = cls(table, name, path, notes, by_intent=format == DIVERSITY, plain=format == PLAIN)
        return qrels._as_named(reading.column_names)

    @classmethod
    def read(
        cls,
        path: PathLike,
        *,
        format: str | None = None,
        on_duplicate: str = "error",
        threads: int | None = None,
        columns: ColumnNames | None = None,
        grades: Mapping[str, float] | None = None,
    ) -> Qrels:
        """Qrels from a file; the format is detected unless given. See `of`."""
        return cls.of(path, format=format, on_duplicate=on_duplicate, threads=threads, columns=columns, grades=grades)

    @classmethod
    def from_dict(cls, lists: Mapping[Any, Mapping[Any, float]], name: str = "qrels") -> Qrels:
        """Qrels from {topic: {doc: grade}}."""
        return cls(from_mapping(lists, "qrels"), name)

    @classmethod
    def from_frame(
        cls,
        frame: FrameLike,
        *,
        on_duplicate: str = "error",
        name: str = "qrels",
        columns: Mapping[str, str] | None = None,
        grades: Mapping[str, float] | None = None,
    ) -> Qrels:
        """Qrels from a pandas, polars or Arrow frame; `columns` names columns that have unusual names."""
        return cls.of(frame, on_duplicate=on_duplicate, name=name, columns=columns, grades=grades)

    @classmethod
    def from_tuples(cls, records: GivenRecords, *, on_duplicate: str = "error", name: str = "qrels") -> Qrels:
        """Qrels from tuples (topic, doc, grade[, iteration]), named tuples or dicts with such fields.

        >>> len(Qrels.from_tuples([("q1", "d1", 1), ("q1", "d2", 0)]))
        2
        """
        given: GivenRecords = iter(records)  # type: ignore[assignment]  # of one of the two kinds
        return cls.of(given, on_duplicate=on_duplicate, name=name)

    @classmethod
    def from_arrays(
        cls,
        grades: ArrayLike,
        mask: ArrayLike | None = None,
        topics: Iterable[object] | None = None,
        docs: ArrayLike | Sequence[Sequence[str]] | None = None,
        name: str = "qrels",
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
        """The distinct labels of column 2 if some document has two in a topic or `by_intent` is set; else none.

        >>> Qrels.of(b"1 a d1 1\\n1 b d1 0\\n").intents
        ('a', 'b')
        >>> Qrels.of(b"1 a d1 1\\n1 b d2 1\\n").intents
        ()
        >>> Qrels.of(b"1 a d1 1\\n1 b d2 1\\n", format="diversity").intents
        ('a', 'b')

        The label 0 of documents that are relevant to no intent is not one, see `intent_labels`.
        """
        if self.by_intent:
            return intent_labels(self.table) or (NO_INTENT,)
        if self.plain or not self.labels_vary or len(self.probabilities):
            return ()
        try:
            self.judged()  # stops at the first document that is judged twice
        except DataError:
            return intent_labels(self.table)
        return ()

    @cached_property
    def labels_vary(self) -> bool:
        """Whether some topic has several labels in column 2."""
        label = self.table.label
        if not len(label):
            return False
        first = np.repeat(label[np.minimum(self.starts[:-1], len(label) - 1)], np.diff(self.starts))
        return bool((label != first).any())

    def _as_named(self, names: Iterable[str]) -> Qrels:
        """The same judgments, by intent if the name of their column says so and there are several in a topic."""
        return self.with_intents() if INTENT_NAMES.intersection(names) and self.labels_vary else self

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability with which each document was drawn to be judged; empty if the judgments are not a sample.

        >>> Qrels.of(b"topic\\tstratum\\tdoc\\tgrade\\tprobability\\n1\\ta\\td1\\t1\\t0.5\\n").probabilities.tolist()
        [0.5]
        """
        return self.table.ranks

    @property
    def has_intents(self) -> bool:
        """Whether documents are judged by intent (a diversity collection)."""
        return bool(self.intents)

    def with_intents(self) -> Qrels:
        """The same judgments, with column 2 as the intent."""
        return self if self.by_intent else replace(self, by_intent=True, plain=False)

    def binary(self, least: float) -> Qrels:
        """The same judgments with grade 1 for `least` or more, and 0 for less.

        >>> Qrels.of({"q1": {"d1": 2, "d2": 1, "d3": 0}}).binary(2).to_dict()
        {'q1': {'d1': 1, 'd2': 0, 'd3': 0}}
        """
        if self.has_intents or len(self.probabilities):
            what = "by intent" if self.has_intents else "a sample with probabilities"
            raise UsageError(f"{self.name}: binary grades need plain judgments, but these are {what}")
        check.positive("binary", least=least)
        lists = {topic: {doc: int(grade >= least) for doc, grade in grades.items()} for topic, grades in self.lists()}
        return replace(Qrels.from_dict(lists, self.name), path=self.path, notes=(*self.notes, BINARY.format(least)))

    def of_rows(self, rows: NDArray[np.int64]) -> Qrels:
        """The judgments in some rows of the table; what column 2 means stays the same."""
        return replace(super().of_rows(rows), by_intent=self.has_intents)

    def numbers(self, values: NDArray[np.float64]) -> list[Any]:
        """Grades as Python numbers: integers if all are whole."""
        return list(values.astype(np.int64).tolist() if self._whole else values.tolist())

    @cached_property
    def _whole(self) -> bool:
        return are_whole(self.values)

    def grades(self, topic: object, intent: str | None = None) -> dict[str, Any]:
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

    def highest_grades(self, topic: object) -> dict[str, Any]:
        """{doc: grade} of one topic; of a document with several grades (one per intent), the highest.

        >>> Qrels.from_dict({"q1": {"d1": 2, "d2": 0}}).highest_grades("q1")
        {'d1': 2, 'd2': 0}
        """
        begin, end = self._slice(topic)
        grades: dict[str, Any] = {}
        for doc, grade in zip(self.table.docs(begin, end), self.numbers(self.values[begin:end]), strict=True):
            grades[doc] = max(grade, grades.get(doc, grade))
        return grades

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """{topic: {doc: grade}}; grades are integers if all are whole."""
        lists = super().to_dict()
        self._check_held(lists)
        return lists

    def lists(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(topic, {doc: grade}) for each topic."""
        self._check_held({topic: self.grades(topic) for topic in self.topics} if self.labels_vary else None)
        return super().lists()

    def _check_held(self, lists: dict[str, dict[str, Any]] | None) -> None:
        """Refuse judgments of which {topic: {doc: grade}} holds only some."""
        if lists is not None and sum(map(len, lists.values())) != len(self):
            message = "judged by intent: a document has several grades, which {topic: {doc: grade}} cannot hold"
            raise DataError(self.path or self.name, None, f"{message}; use grades(topic, intent)")

    def outgoing(self) -> Outgoing:
        """The data to write."""
        return Outgoing(
            "qrels", self.name, len(self), self.part, self.lists, labelled=self.labelled, intents=self.has_intents,
            sampled=len(self.probabilities) > 0, empty_topics=self.empty_topics,
        )  # fmt: skip

    def part(self, begin: int, end: int) -> Part:
        """Entries to write."""
        return Part(self.columns(begin, end), [], self.probabilities[begin:end].tolist())

    def __iter__(self) -> Iterator[Judgment]:
        columns = self.columns()
        labels = columns.labels or ["0"] * len(self)
        return map(Judgment, columns.topics, columns.docs, columns.values, labels)

    def _content(self) -> dict[str, Any]:
        labels = ["0" if label == "Q0" else label for label in self.row_labels or ["0"] * len(self)]
        keys = list(zip(self.table.docs(0, len(self)), labels, strict=True))
        values: list[Any] = self.values.tolist()
        if len(self.probabilities):
            values = list(zip(values, self.probabilities.tolist(), strict=True))
        return self._by_topic(keys, values)

    def __reduce__(self) -> tuple[Any, ...]:
        reduced: tuple[Any, ...] = super().__reduce__()
        return (_rebuild_as, (*reduced, self.by_intent, self.plain)) if self.by_intent or self.plain else reduced

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


def intent_labels(table: _core.Table) -> tuple[str, ...]:
    """The labels of column 2 that are intents: not 0, if there are others and no document is relevant to it.

    >>> intent_labels(Qrels.of(b"1 1 d1 1\\n1 2 d1 1\\n1 0 d2 0\\n").table)
    ('1', '2')
    >>> intent_labels(Qrels.of(b"1 1 d1 1\\n1 0 d1 0\\n1 0 d2 1\\n").table)
    ('1', '0')
    """
    labels = tuple(table.labels)
    if NO_INTENT not in labels or len(labels) == 1:
        return labels
    grades = np.asarray(table.values)[np.asarray(table.label) == labels.index(NO_INTENT)]
    return labels if (grades > 0).any() else tuple(label for label in labels if label != NO_INTENT)


def _rebuild_as(rebuild: Callable[..., Qrels], arguments: tuple[Any, ...], by_intent: bool, plain: bool) -> Qrels:
    return replace(rebuild(*arguments), by_intent=by_intent, plain=plain)
