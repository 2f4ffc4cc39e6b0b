"""Read the labels of assessors: crowd tables, frames, tuples, and one qrels file for each assessor."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cranfield.collection.column_names import (
    COLUMNS,
    checked_columns,
    column_key,
    find_columns,
    no_column,
    repeated_column,
)
from cranfield.collection.doors import header_cells, reads
from cranfield.collection.file_formats.structured import frame_columns, parquet_table
from cranfield.collection.named_tables import Coded, lines_of, read_csv, read_json_lines, text_blocks
from cranfield.collection.qrels import Qrels
from cranfield.collection.side_files import number_in, read_side_file
from cranfield.collection.source import HEAD, PathLike, check_content, load, shown_path, stem, text_of
from cranfield.errors import DataError, UsageError
from cranfield.text import listed, plain_number, shown
from cranfield.types import Array

LABEL_COLUMNS = {
    "topic": COLUMNS["topic"],
    "doc": COLUMNS["doc"],
    "task": (
        "task",
        "task_id",
        "taskid",
        "item",
        "item_id",
        "itemid",
        "unit",
        "unit_id",
        "orig_id",
        "hit_id",
        "hitid",
        "question",
        "question_id",
        "example",
    ),
    "worker": (
        "worker",
        "worker_id",
        "workerid",
        "assessor",
        "assessor_id",
        "assessorid",
        "annotator",
        "annotator_id",
        "annotatorid",
        "rater",
        "rater_id",
        "judge",
        "user",
        "user_id",
        "amt_worker_ids",
    ),
    "label": ("label", "grade", "relevance", "rel", "judgment", "judgement", "answer", "rating", "response"),
    "time": ("time", "timestamp", "when", "date", "submitted"),
    "seconds": ("seconds", "duration", "work_time", "worktime"),
    "group": ("group", "worker_group", "role"),
    "cost": ("cost", "price", "reward", "payment"),
}
"""Names of columns by role, the most specific first."""
MISSING = frozenset({"", "na", "nan", "none", "null", "n/a", "?"})
"""Labels that stand for no label, in lower case."""
Columns = Mapping[str, str]
"""{role: name of its column}, for the roles of `LABEL_COLUMNS`."""
EXPECTED = "a header that names the columns task (or topic and doc), worker and label"
NAMING = "Labels.of(..., columns={...})"
"""How to say which column is which; other functions take the labels that it returns."""


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


@reads
def from_file(path: PathLike, chosen: Columns | None = None) -> LabelColumns:
    """The labels in a file: CSV, TSV, JSON-lines or Parquet with names of columns, or text without a header."""
    words = _words(chosen)
    origin = shown_path(os.fspath(path))
    buffer = load(path)
    head = bytes(buffer[:HEAD])
    if head.startswith(b"PAR1"):
        return from_columns(parquet_table(buffer, origin), chosen, origin)
    check_content(head, origin)
    first = next((line.rstrip("\r\n") for line in lines_of(text_blocks(buffer, origin)) if line.strip()), "")
    if first.lstrip().startswith("{"):
        expected = "an object with task, worker and label"
        table = read_json_lines(text_blocks(buffer, origin), origin, expected, complete=True)
        return _by_name(table.names, table.columns, chosen, origin, table.lines)
    for delimiter in "\t,;":
        names = header_cells(first, delimiter, origin)
        places = find_columns(_plain(names), words)
        is_header = any(role in places for role in chosen) if chosen else len(places) >= 3 and "label" in places
        if len(names) >= 3 and is_header:
            table = read_csv(text_blocks(buffer, origin), delimiter, origin, "labels")
            stripped = [column.mapped(str.strip) for column in table.columns if isinstance(column, Coded)]
            return _by_name(table.names, stripped, chosen, origin, table.lines)
    if chosen:
        at = next(
            number
            for number, line in enumerate(text_of(buffer, origin).splitlines() or [""], 1)
            if line.strip() or not first
        )
        raise DataError(origin, at, f"is not a header with the columns {listed(map(repr, chosen.values()))}")
    lines = "lines of task worker label, or of topic assessor doc grade"
    expected = f"{EXPECTED}, or {lines}; to name the columns: {NAMING}"
    side_file = read_side_file(path, expected, (3, 4), data=buffer)
    if not side_file.rows:
        raise DataError(origin, None, "holds no labels")
    columns = [Coded.of(column) for column in zip(*side_file.rows, strict=True)]
    _check_first_line(columns[-1], origin, side_file.lines[0], first)
    if len(columns) == 3:
        tasks, workers, labels = columns
        return LabelColumns(tasks, workers, labels, origin=origin, lines=side_file.lines)
    topics, workers, docs, labels = columns
    note = "no header: columns are read as topic, assessor, doc, grade"
    return LabelColumns(docs, workers, labels, topics, origin=origin, lines=side_file.lines, notes=(note,))


def _check_first_line(labels: Coded, origin: str, line: int, text: str) -> None:
    """Raise an error if only the label of the first line is not a number, as in a header with unusual names."""
    once = len(labels) > 1 and bool((labels.number[1:] != labels.number[0]).all())
    if once and not _is_number(labels[0]) and all(map(_is_number, labels.texts[1:])):
        raise DataError(
            origin, line,
            f"label {shown(labels[0])} is not a number, as those of all other lines are. If {shown(text)} is a header, "
            f"name its columns: {NAMING}",
        )  # fmt: skip


def _is_number(word: str) -> bool:
    try:
        number_in(word)
    except ValueError:
        return False
    return True


def from_columns(frame: Any, chosen: Columns | None = None, origin: str = "frame") -> LabelColumns:
    """The labels in a pandas, polars or Arrow table."""
    names, get = frame_columns(frame)
    return _by_name(names, [get(i) for i in range(len(names))], chosen, origin, None)


def _plain(names: Sequence[str]) -> list[str]:
    """Names without marks such as that of `!amt_worker_ids`."""
    return [name.strip().lstrip("!") for name in names]


def _words(chosen: Columns | None) -> Mapping[str, Sequence[str]]:
    """The names of the column of each role: the one that was chosen, or the usual ones that are not chosen for another.

    >>> _words({"task": "worker"})["task"], "worker" in _words({"task": "worker"})["worker"]
    (('worker',), False)
    """
    if not chosen:
        return LABEL_COLUMNS
    keys = {role: column_key(*_plain([name])) for role, name in checked_columns(chosen, LABEL_COLUMNS).items()}
    return {
        role: (keys[role],) if role in keys else tuple(word for word in words if word not in keys.values())
        for role, words in LABEL_COLUMNS.items()
    }


def _by_name(
    names: Sequence[str],
    columns: Sequence[Sequence[Any]],
    chosen: Columns | None,
    origin: str,
    lines: Sequence[int] | None,
) -> LabelColumns:
    """Find the columns by their names."""
    words = _words(chosen)
    places = find_columns(_plain(names), words)
    for role, name in checked_columns(chosen or {}, LABEL_COLUMNS).items():
        if role not in places:
            raise DataError(origin, None, f"no column {name!r} for the {role}; there are {', '.join(map(str, names))}")
    if message := repeated_column(names, places.values()):
        raise DataError(origin, None, message)
    pair = "topic" in places and "doc" in places and "task" not in checked_columns(chosen or {}, LABEL_COLUMNS)
    if not pair and "task" not in places and "doc" in places:
        places["task"] = places["doc"]
    needed = ("worker", "label") if pair else ("task", "worker", "label")
    for role in needed:
        if role not in places:
            raise DataError(origin, None, f"{no_column(role, names, words[role])}; to name it: {NAMING}")

    def text(role: str) -> Coded:
        return _texts(columns[places[role]])

    def numbers(role: str, read: Any) -> Array | None:
        return _numbers(columns[places[role]], role, read, origin, lines) if role in places else None

    return LabelColumns(
        _filled(text("doc" if pair else "task"), "doc" if pair else "task", origin, lines),
        _filled(text("worker"), "worker", origin, lines),
        text("label"),
        _filled(text("topic"), "topic", origin, lines) if pair else None,
        numbers("time", seconds_of),
        numbers("seconds", number_in),
        numbers("cost", number_in),
        text("group") if "group" in places else None,
        origin,
        lines,
    )


def _texts(values: Sequence[Any]) -> Coded:
    """Cells as text; a column of text, or of whole numbers, needs no look at each cell."""
    if isinstance(values, Coded):
        return values
    kinds = set(map(type, values))
    return Coded.of(values if kinds == {str} else map(str if kinds == {int} else _text, values))


def _text(value: Any) -> str:
    """A cell as text: 2.0 is "2", None and NaN are "" (no label)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict | set | np.ndarray):
        raise UsageError(f"a cell of the labels is {shown(value)}, expected text or a number")
    if value is None or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    return plain_number(value) if isinstance(value, float | np.floating) else str(value)


def _filled(names: Coded, role: str, origin: str, lines: Sequence[int] | None) -> Coded:
    if "" in names.texts:
        at = names.first(names.texts.index(""))
        raise DataError(origin, lines[at] if lines else None, f"row {at + 1} has no {role}")
    return names


def _numbers(values: Sequence[Any], role: str, read: Any, origin: str, lines: Sequence[int] | None) -> Array:
    numbers = np.empty(len(values))
    for at, value in enumerate(values):
        try:
            numbers[at] = np.nan if value is None or value == "" else read(value)
        except (ValueError, TypeError):
            line = lines[at] if lines else None
            kind = "a number or a date such as 2026-01-31T12:00:00Z" if role == "time" else "a number"
            raise DataError(origin, line, f"{role} {shown(value)} is not {kind}") from None
    return numbers


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


def from_rows(rows: Iterable[Any], chosen: Columns | None = None) -> LabelColumns:
    """The labels in tuples (task, worker, label) or (topic, doc, worker, label), or in dicts with such names."""
    rows = list(rows)
    if not rows:
        raise DataError("labels", None, "there are none")
    if all(isinstance(row, Mapping) for row in rows):
        names = list(rows[0])
        return _by_name(names, [[row.get(name) for row in rows] for name in names], chosen, "labels", None)
    size = len(rows[0]) if isinstance(rows[0], tuple | list) else 0
    for at, row in enumerate(rows):
        if size not in (3, 4) or not isinstance(row, tuple | list) or len(row) != size:
            message = f"entry {at + 1} is {shown(row)}, expected (task, worker, label) or (topic, doc, worker, label)"
            raise DataError("labels", None, message)
    names = ["task", "worker", "label"] if size == 3 else ["topic", "doc", "worker", "label"]
    return _by_name(names, [list(column) for column in zip(*rows, strict=True)], None, "labels", None)


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
        for topic, doc, grade in _repeated(thing) if is_path and on_duplicate != "error" else _judged_once(thing):
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


def _repeated(path: PathLike) -> Iterator[tuple[str, str, float]]:
    """topic, document and grade of each line of a file of judgments."""
    table = read_side_file(path, "topic iteration doc grade", (4,))
    for line, (topic, _, doc, grade) in table:
        try:
            yield topic, doc, float(grade)
        except ValueError:
            raise DataError(table.origin, line, f"grade {shown(grade)} is not a number") from None
