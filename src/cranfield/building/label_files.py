"""Read the labels of assessors: crowd tables, frames, tuples, and one qrels file for each assessor."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cranfield.collection.column_names import COLUMNS, checked_columns
from cranfield.collection.file_formats.structured import is_frame
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike, stem
from cranfield.collection.tables.cells import Coded, number_in
from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import DOC, TOPIC, Numbers, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.text import listed, plain_number, shown
from cranfield.types import Array

_OWN = {
    "task": (
        "task", "task_id", "taskid", "item", "item_id", "itemid", "unit", "unit_id", "orig_id", "hit_id", "hitid",
        "question", "question_id", "questionid", "example",
    ),
    "assessor": (
        "assessor", "assessor_id", "assessorid", "worker", "worker_id", "workerid", "annotator", "annotator_id",
        "annotatorid", "rater", "rater_id", "judge", "user", "user_id", "userid", "amt_worker_ids",
    ),
}  # fmt: skip
LABEL_COLUMNS = {
    **{role: tuple(word for word in COLUMNS[role] if word not in sum(_OWN.values(), ())) for role in ("topic", "doc")},
    **_OWN,
    "label": ("label", "grade", "relevance", "rel", "judgment", "judgement", "answer", "rating", "response"),
    "time": ("time", "timestamp", "when", "date", "submitted"),
    "seconds": ("seconds", "duration", "work_time", "worktime"),
    "group": ("group", "worker_group", "role"),
    "cost": ("cost", "price", "reward", "payment"),
}
"""Names of columns by role, the most specific first; users and questions are assessors and tasks here, not topics."""
MISSING = frozenset({"", "na", "nan", "none", "null", "n/a", "?"})
"""Labels that stand for no label, in lower case."""
NAMING = "Labels.of(..., columns={...})"
"""How to say which column is which; other functions take the labels that it returns."""


def seconds_of(value: Any) -> float:
    """A time in seconds: a number, or a date; a date without a zone is in UTC.

    >>> seconds_of("1970-01-01T00:01:00Z"), seconds_of("12.5")
    (60.0, 12.5)
    """
    if isinstance(value, str):
        try:
            return number_in(value)
        except ValueError:
            value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return float(value)


@dataclass(frozen=True)
class Times(Numbers):
    """Times in seconds, or as dates."""

    @property
    def expected(self) -> str:
        return "a number or a date such as 2026-01-31T12:00:00Z"

    def number(self, value: Any) -> float:
        return seconds_of(value)


@dataclass(frozen=True)
class Names(Words):
    """Names that may be numbers: 2.0 is "2", true is "1"."""

    coded: bool = True
    may_be_empty: bool = True

    def text(self, value: Any) -> str:
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            raise UsageError(f"a cell of the labels is {shown(value)}, expected text or a number")
        if isinstance(value, bool | np.bool_):
            return str(int(value))
        return super().text(plain_number(value) if isinstance(value, float | np.floating) else value)


_COLUMNS: Any = {role: Names(words, optional=True) for role, words in LABEL_COLUMNS.items()}
_COLUMNS |= {role: Names(LABEL_COLUMNS[role]) for role in ("assessor", "label")}
_COLUMNS |= {role: Numbers(LABEL_COLUMNS[role], blank=np.nan, optional=True) for role in ("seconds", "cost")}
_COLUMNS["time"] = Times(LABEL_COLUMNS["time"], blank=np.nan, optional=True)
TABLE = Schema(
    "task assessor label, or topic assessor doc grade", layouts=("task assessor label", "topic assessor doc label"),
    any_of=("task", "doc"), quoted="\t,;", complete=True, naming=NAMING, **_COLUMNS,
)  # fmt: skip
TUPLES = Schema(
    "(task, assessor, label) or (topic, doc, assessor, label)",
    layouts=("task assessor label", "topic doc assessor label"), any_of=("task", "doc"), naming=NAMING, **_COLUMNS,
)  # fmt: skip
JUDGED = Schema(
    "topic iteration doc grade", layouts=("topic - doc grade",), header=False, comments=True, topic=TOPIC, doc=DOC,
    grade=Numbers(),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """The columns of a table of labels."""

    tasks: Coded
    """The name of the task, or the document if there are topics."""
    workers: Coded
    labels: Coded
    topics: Coded | None = None
    time: Array | None = None
    seconds: Array | None = None
    cost: Array | None = None
    groups: Coded | None = None
    origin: str = "labels"
    lines: Sequence[int] | None = None
    notes: tuple[str, ...] = ()

    def line(self, at: int) -> int | None:
        """The line of an entry, if the data is from a file."""
        return None if self.lines is None else int(self.lines[at])

    def without_missing(self) -> tuple[LabelColumns, int]:
        """The entries that have a label, and how many have none."""
        has_label = np.array([label.strip().lower() not in MISSING for label in self.labels.texts], dtype=bool)
        if has_label.all():
            return self, 0
        present = has_label[self.labels.number]
        kept: dict[str, Any] = {
            name: column.kept(present)
            for name in ("tasks", "workers", "labels", "topics", "groups")
            if (column := getattr(self, name)) is not None
        }
        numbers: dict[str, Any] = {
            name: np.asarray(column)[present]
            for name in ("time", "seconds", "cost", "lines")
            if (column := getattr(self, name)) is not None
        }
        return replace(self, **kept, **numbers), len(present) - int(present.sum())

    def split_tasks(self, separator: str) -> LabelColumns:
        """Split the name of every task into topic and document."""
        if self.topics is not None:
            raise DataError(self.origin, None, f"topic and document have columns of their own; {separator!r} is unused")
        parts = [task.partition(separator) for task in self.tasks.texts]
        for number, (topic, mark, doc) in enumerate(parts):
            if not (topic and mark and doc):
                name = shown(self.tasks.texts[number])
                line = self.line(self.tasks.first(number))
                raise DataError(self.origin, line, f"task {name} is not a topic, {separator!r} and a document")
        topics, docs = Coded.of(topic for topic, _, _ in parts), Coded.of(doc for _, _, doc in parts)
        return replace(self, topics=topics.at(self.tasks.number), tasks=docs.at(self.tasks.number))


def read_labels(thing: Any, chosen: Mapping[str, str] | None = None) -> LabelColumns:
    """The labels in a file or frame with names of columns, in a file without a header, in tuples or dicts.

    chosen: {role: name of its column}, for the roles of `LABEL_COLUMNS`.
    """
    is_path = isinstance(thing, str | os.PathLike)
    rows = (TABLE if is_path or is_frame(thing) else TUPLES).read(thing, "labels", chosen)
    pair = "topic" in rows and "doc" in rows and "task" not in checked_columns(chosen or {}, LABEL_COLUMNS)
    notes: tuple[str, ...] = ()
    if is_path and not rows.named:
        _check_first_line(rows)
        notes = ("no header: columns are read as topic, assessor, doc, grade",) if pair else ()
    task = "doc" if pair or "task" not in rows else "task"
    for name in (task, "assessor", *(["topic"] if pair else [])):
        if "" in rows[name].texts:
            at = rows[name].first(rows[name].texts.index(""))
            raise rows.fault(at, f"the {name} is empty")
    topics = rows["topic"] if pair else None
    time, seconds, cost, groups = map(rows.columns.get, ("time", "seconds", "cost", "group"))
    return LabelColumns(
        rows[task], rows["assessor"], rows["label"], topics, time, seconds, cost, groups, rows.origin, rows.lines, notes
    )  # fmt: skip


def _check_first_line(rows: Rows) -> None:
    """Raise an error if only the label of the first line is not a number, as in a header with unusual names."""
    labels = rows["label"]
    once = len(labels) > 1 and bool((labels.number[1:] != labels.number[0]).all())
    number = Numbers()
    if once and not number.holds(labels[0]) and all(map(number.holds, labels.texts[1:])):
        first = " ".join(column[0] for column in rows.columns.values())
        raise rows.fault(
            0,
            f"label {shown(labels[0])} is not a number, as those of all other lines are. If {shown(first)} is a "
            f"header, name its columns: {NAMING}",
        )  # fmt: skip


def from_judgments(judgments: Mapping[str, Any] | Sequence[PathLike], on_duplicate: str = "error") -> LabelColumns:
    """The labels of assessors who each have judgments (qrels) of their own: {assessor: judgments}, or paths.

    Unless `on_duplicate` is `error`, a file has lines of topic, iteration, doc, grade, and may repeat a document.
    """
    if not isinstance(judgments, Mapping):
        stems = [stem(os.fspath(path)) for path in judgments]
        distinct = len(set(stems)) == len(stems)
        names = stems if distinct else [os.fspath(path) for path in judgments]
        if repeated := [name for name, count in Counter(names).items() if count > 1]:
            raise UsageError(f"{listed(repeated)} is given twice; each file holds the judgments of one assessor")
        judgments = dict(zip(names, judgments, strict=True))
    topics: list[str] = []
    docs: list[str] = []
    workers: list[str] = []
    labels: list[str] = []
    for name, thing in judgments.items():
        is_path = isinstance(thing, str | os.PathLike)
        for topic, doc, grade in JUDGED.read(thing) if is_path and on_duplicate != "error" else _judged_once(thing):
            topics.append(topic)
            docs.append(doc)
            workers.append(str(name))
            labels.append(plain_number(grade))
    return LabelColumns(Coded.of(docs), Coded.of(workers), Coded.of(labels), Coded.of(topics))


def _judged_once(thing: Any) -> Iterator[tuple[str, str, float]]:
    """topic, document and grade of judgments in which no document appears twice."""
    try:
        yield from ((judgment.topic, judgment.doc, judgment.grade) for judgment in Qrels.of(thing))
    except DataError as error:
        choices = "Labels.of(..., on_duplicate='first') or 'last'; to keep both: 'keep'"
        raise DataError(error.path, error.line, error.what.replace("on_duplicate='first' or 'max'", choices)) from None
