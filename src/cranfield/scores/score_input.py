"""Scores from matrices, columns, frames and nested dicts, and from files of these or of `trec_eval -q`."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import _core, check
from cranfield.collection.column_names import COLUMNS, column_key, find_columns, repeated_column
from cranfield.collection.columns import has_decimal_commas
from cranfield.collection.doors import check_json, reads, whole_lines
from cranfield.collection.file_formats.structured import parquet_table, parsed_json
from cranfield.collection.source import read_bytes, stem, without_compression
from cranfield.collection.tables.cells import number_or_none
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.frames import need
from cranfield.notes import caution_note
from cranfield.scores.basis import Basis
from cranfield.scores.labels import label, repeated
from cranfield.text import counted, listed
from cranfield.types import Array

Mask = NDArray[np.bool_]
MISSING_RULES = ("zero", "skip")
AXES = ("measure", "run", "topic")
Fault = Callable[[int | None, str], DataError]
"""Returns the error about the n-th entry, or about all of them."""


@dataclass(frozen=True)
class Cells:
    """The arguments of `Scores`."""

    measures: Sequence[str]
    runs: Sequence[str]
    topics: Sequence[str]
    values: Array
    """measures × runs × topics."""
    missing: Mask | None = None
    """runs × topics: the run lacks the topic."""
    missing_rule: str = "zero"
    notes: Sequence[str] = ()
    basis: Basis | None = None


def grid(
    names: Mapping[str, Sequence[str]], value: Array, flagged: Mask, rule: str | None, facts: Mapping[str, Any],
    fault: Fault,
) -> Cells:  # fmt: skip
    """Arrange entries, one per score and in any order, as measures × runs × topics.

    A (run, topic) without any entry is missing. If `rule` is None, it is `skip` if no entry flagged as missing has a
    value, else `zero`. `facts` may have notes, and the measures, runs and topics that come first.
    """
    labels = {axis: list(dict.fromkeys((*map(str, facts.get(f"{axis}s", ())), *names[axis]))) for axis in AXES}
    measures, runs, topics = labels.values()
    shape = (len(measures), len(runs), len(topics))
    m, r, t = (codes(names[axis], labels[axis]) for axis in AXES)
    place = np.ravel_multi_index((m, r, t), shape) if len(m) else m
    _, first = np.unique(place, return_index=True)
    if len(first) < len(place):
        i = int(np.setdiff1d(np.arange(len(place)), first)[0])
        raise fault(i, ", ".join(f"{axis} {names[axis][i]!r}" for axis in AXES) + " already has a score")
    values = np.full(shape, np.nan)
    values.reshape(-1)[place] = value
    absent = np.ones(shape[1:], dtype=bool)
    absent[r, t] = False
    missing = absent.copy()
    missing[r[flagged], t[flagged]] = True
    if rule is None:
        rule = "skip" if flagged.any() and np.isnan(value[flagged]).all() else "zero"
    check.one_of("Scores", MISSING_RULES, missing=rule)
    if rule == "zero" and absent.any():
        scored = np.zeros((shape[0], 1, shape[2]), dtype=bool)
        scored[m, 0, t] = True
        values[absent[None] & scored] = 0.0
        examples = listed((f"{runs[i]} {topics[j]}" for i, j in np.argwhere(absent)), 3)
        message = f"{absent.sum()} of {absent.size} lists have no score and count as 0: {examples}"
        warn_caller(f"{message}; missing='skip' leaves them out", CranfieldWarning)
    notes = tuple(map(str, facts.get("notes", ())))
    return Cells(measures, runs, topics, values, missing, rule, notes, Basis.of_plain(facts.get("basis")))


def codes(names: Sequence[str], known: Sequence[str]) -> NDArray[np.int64]:
    """The position of each name among the known names."""
    place = {name: i for i, name in enumerate(known)}
    return np.fromiter(map(place.__getitem__, names), dtype=np.int64, count=len(names))


def from_matrix(
    values: ArrayLike, runs: Iterable[str] | None = None, topics: Iterable[str] | None = None, measure: str = "score"
) -> Cells:
    """From a row per topic and a column per run, with default names if none are given."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError(f"from_matrix: values.ndim == {table.ndim}, must be 2: a row per topic, a column per run")
    n_topics, n_runs = table.shape
    return Cells(
        [measure],
        [f"run{i + 1}" for i in range(n_runs)] if runs is None else list(runs),
        [f"{i + 1}" for i in range(n_topics)] if topics is None else list(topics),
        table.T[None],
    )


def from_columns(
    columns: Mapping[str, Sequence[Any]], facts: Mapping[str, Any], fault: Fault,
    measure: str | None = None, run: str | None = None, missing: str | None = None,
) -> Cells:  # fmt: skip
    """From columns by role; `measure` and `run` replace a column that is missing."""
    for kind in ("topic", "value"):
        if kind not in columns:
            raise fault(None, f"no column {kind!r}, expected measure, run, topic, value")
    n = len(columns["value"])
    if n == 0 and "topics" not in facts:
        raise fault(None, "no scores")
    names = {}
    for axis, default in zip(AXES, (measure, run, None), strict=True):
        if axis not in columns and default is None:
            raise fault(None, f"no column {axis!r}, expected one, or {axis}=")
        names[axis] = list(map(str, columns.get(axis, [default] * n)))
    for kind, column in columns.items():
        if len(column) != n:
            raise fault(min(n, len(column)), f"column {kind!r} has {len(column)} entries, value has {n}")
    rule = facts.get("missing_rule")
    if rule not in (None, *MISSING_RULES):
        raise fault(None, f"'missing_rule' is {rule!r}, expected one of {', '.join(MISSING_RULES)}")
    value = np.array([number(x, partial(fault, i)) for i, x in enumerate(columns["value"])], dtype=np.float64)
    flags = columns.get("missing", [False] * n)
    flagged = np.array([_flag(x, partial(fault, i)) for i, x in enumerate(flags)], dtype=bool)
    return grid(names, value, flagged, missing or rule, facts, fault)


def from_frame(frame: Any, measure: str | None, run: str | None, missing: str | None, origin: str = "frame") -> Cells:
    """From a frame with a row per score, or a mapping from column names to columns."""

    def fault(row: int | None, message: str) -> DataError:
        return DataError(origin, None, message if row is None else f"row {row}: {message}")

    if not hasattr(frame, "columns") and not isinstance(frame, Mapping) and hasattr(frame, "__arrow_c_stream__"):
        frame = need("pyarrow", "an Arrow stream").table(frame)
    facts = getattr(frame, "attrs", {}).get("cranfield", {})  # of pandas
    about = getattr(getattr(frame, "schema", None), "metadata", None) or {}  # of Arrow
    if b"cranfield" in about:
        facts = parsed_json(about[b"cranfield"].decode(), origin)
    every = frame if isinstance(frame, Mapping) else getattr(frame, "column_names", None) or frame.columns
    names, columns = [str(name) for name in every], {}
    places = find_columns(names, SCORE_COLUMNS)
    if message := repeated_column(names, places.values()):
        raise fault(None, message)
    for kind, place in places.items():
        column = frame[names[place]]
        as_list = next((getattr(column, m) for m in ("to_pylist", "to_list", "tolist") if hasattr(column, m)), None)
        columns[kind] = list(column) if as_list is None else as_list()
    return from_columns(columns, facts, fault, measure, run, missing)


def from_nested(data: Any, measure: str, missing: str | None, facts: Mapping[str, Any], origin: str = "dict") -> Cells:
    """From {run: {topic: {measure: value}}} or {run: {topic: value}}; `facts["missing"]` may be {run: [topics]}."""
    entries: list[tuple[str, str, str]] = []
    values: list[Any] = []

    def fault(i: int | None, message: str) -> DataError:
        where = "" if i is None else "measure {!r}, run {!r}, topic {!r}: ".format(*entries[i])
        return DataError(origin, None, where + message)

    if not isinstance(data, Mapping):
        raise fault(None, f"{type(data).__name__}, expected {{run: {{topic: {{measure: value}}}}}}")
    for run, topics in data.items():
        if not isinstance(topics, Mapping):
            raise fault(None, f"run {run!r}: {topics!r}, expected {{topic: {{measure: value}}}}")
        for topic, row in topics.items():
            for name, x in row.items() if isinstance(row, Mapping) else [(measure, row)]:
                entries.append((label(name), str(run), str(topic)))
                values.append(x)
    columns: dict[str, Sequence[Any]] = {axis: [entry[i] for entry in entries] for i, axis in enumerate(AXES)}
    absent = {(run, str(topic)) for run, topics in facts.get("missing", {}).items() for topic in topics}
    columns |= {"value": values, "missing": [entry[1:] in absent for entry in entries]}
    return from_columns(columns, {"runs": list(data), **facts}, fault, missing=missing)


# -- names and numbers

SCORE_COLUMNS = {
    "measure": ("measure", "metric"),
    "run": COLUMNS["name"],
    "topic": ("topic", *COLUMNS["topic"]),
    "value": ("value", "score"),
    "missing": ("missing",),
}
_UNDEFINED = ("", "nan", "na", "n/a", "null", "none")
_FLAGS = {"true": True, "1": True, "false": False, "0": False, "": False, "none": False}


def parsed_number(text: str) -> float | None:
    """The number in a text; NaN for an empty text, "n/a" and the like; None if it is not a number."""
    if text.strip().casefold() in _UNDEFINED:
        return np.nan
    return number_or_none(text)


def number(x: Any, fault: Callable[[str], DataError]) -> float:
    """A value as a number; NaN if it is undefined."""
    if x is None or type(x).__name__ == "NAType":  # pandas.NA
        return np.nan
    try:
        value = parsed_number(x) if isinstance(x, str) else float(x)
    except (TypeError, ValueError, OverflowError):  # an integer may be too large
        value = None
    if value is None:
        raise fault(f"{x!r:.80} is not a number")
    return value


def _flag(x: Any, fault: Callable[[str], DataError]) -> bool:
    flag = _FLAGS.get(str(x).strip().casefold())
    if flag is None:
        raise fault(f"missing is {x!r}, expected true or false")
    return flag


FORMATS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}
"""The formats that are written, by suffix."""
READABLE = (*dict.fromkeys(FORMATS.values()), "trec", "matrix")
_TOPIC_HEADINGS = ("id", "#", *COLUMNS["topic"])

_Rows = list[tuple[int, list[str]]]
"""Line number and cells."""


def format_of(path: str) -> str | None:
    """The format of the suffix, ignoring that of a compressed file."""
    return FORMATS.get(os.path.splitext(without_compression(path.lower()))[1])


@dataclass(frozen=True)
class ScoreFile:
    """A file of scores, and what the caller knows about it."""

    path: str
    format: str | None
    measure: str
    run: str | None
    missing: str | None
    header: bool | None
    topic_column: bool | None

    @reads
    def read(self) -> Cells:
        """The scores in the file; the format is the one given, or that of the suffix, or detected."""
        if self.format is not None:
            check.one_of("Scores.read", READABLE, format=self.format)
        kind = self.format or format_of(self.path)
        if kind == "parquet":
            table = parquet_table(read_bytes(self.path), self.path)
            return from_frame(table, self.measure, self._run_name, self.missing, self.path)
        text = self._text()
        if kind == "json" or (kind is None and text.lstrip()[:1] == "{"):
            return self._json(text)
        if kind == "trec" or (kind is None and _looks_like_trec(text)):
            return self._trec(text)
        first = text.lstrip("\r\n").partition("\n")[0]
        comma = None if ";" in first and "," not in first else ","
        rows = self._rows(text, {"csv": comma, "tsv": "\t"}.get(kind or ""))
        roles = find_columns(rows[0][1], SCORE_COLUMNS).keys()
        tidy = {"topic", "value"} < roles and bool({"measure", "run"} & roles)
        return self._tidy(rows) if tidy and kind != "matrix" else self._matrix(rows)

    @property
    def _run_name(self) -> str:
        """The name of a run that the file does not name."""
        return self.run or stem(self.path)

    def _fault(self, line: int | None, message: str) -> DataError:
        return DataError(self.path, line, message)

    def _text(self) -> str:
        data = read_bytes(self.path, self._check_block)
        try:
            text = data.decode("utf-8").lstrip("\ufeff")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self._fault(line, f"byte 0x{data[error.start]:02x}, expected UTF-8 text") from None
        if not text.strip():
            raise self._fault(None, "is empty, expected scores")
        return text

    def _check_block(self, head: bytes) -> None:
        """Raise an error if the first block cannot be scores, before the rest is read: a pipe may have no end."""
        if self.format in (None, "json") and head.lstrip().startswith(b"{"):
            check_json(head, self.path)
            return
        lines = whole_lines(head, self.path, "lines of scores")
        words = [re.split(rb"[\s,;]+", line.strip()) for line in lines.splitlines() if line.strip()]
        if words and all(len(cells) == 1 and _core.parse_number(cells[0]) is None for cells in words):
            raise self._fault(1, f"{words[0][0].decode('utf-8', 'replace')!r}, expected scores")

    def _rows(self, text: str, sep: str | None) -> _Rows:
        """The cells of each line that is not blank; without `sep`, the first line shows the separator."""
        if sep is None:
            first = text.lstrip("\r\n").partition("\n")[0]
            sep = next((s for s in "\t,;" if s in first), None)
        if sep is None:
            return [(n, line.split()) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
        try:
            rows = [(reader.line_num, cells) for cells in reader if cells]
        except csv.Error as error:
            raise self._fault(reader.line_num, f"not a row of cells: {error}") from None
        return rows if sep != ";" else self._points(rows)

    def _points(self, rows: _Rows) -> _Rows:
        """Lines with semicolons, where numbers may have decimal commas: with points in columns of numbers."""
        (line, header), *body = rows
        if len({len(cells) for _, cells in rows}) > 1:
            return rows  # another message says so
        commas = [has_decimal_commas([cells[at] for _, cells in body]) for at in range(len(header))]
        if any(commas):
            warn_caller(f"{self.path}: the scores have decimal commas; 0,5 is read as 0.5", CranfieldWarning)
        return [
            (line, header),
            *(
                (number, [cell.replace(",", ".") if comma else cell for cell, comma in zip(cells, commas, strict=True)])
                for number, cells in body
            ),
        ]

    def _entries(self, columns: Mapping[str, list[str]], facts: Mapping[str, Any], rows: _Rows) -> Cells:
        """Scores from columns with an entry for each of these rows."""

        def fault(i: int | None, message: str) -> DataError:
            return self._fault(None if i is None else rows[i][0], message)

        return from_columns(columns, facts, fault, self.measure, self._run_name, self.missing)

    def _tidy(self, rows: _Rows) -> Cells:
        (_, header), *body = rows
        for line, cells in body:
            if len(cells) != len(header):
                raise self._fault(line, f"{counted(len(cells), 'column')}, expected {len(header)}: {', '.join(header)}")
        places = find_columns(header, SCORE_COLUMNS)
        if message := repeated_column(header, places.values()):
            raise self._fault(rows[0][0], message)
        columns = {kind: [cells[i] for _, cells in body] for kind, i in places.items()}
        facts: dict[str, Any] = {}
        if "notes" in header and body:
            rule, *notes = _split_notes(body[0][1][header.index("notes")])
            if rule in MISSING_RULES:
                facts = {"missing_rule": rule, "notes": notes}
                if "basis" in header:
                    facts["basis"] = parsed_json(body[0][1][header.index("basis")], self.path)
        return self._entries(columns, facts, body)

    def _matrix(self, rows: _Rows) -> Cells:
        line, first = rows[0]
        header = self._has_header(line, first) if self.header is None else self.header
        names, body = (first, rows[1:]) if header else (None, rows)
        if not body:
            raise self._fault(line, "a header and no scores")
        width = len(body[0][1])
        for n, cells in body:
            if len(cells) != width:
                raise self._fault(n, f"{counted(len(cells), 'column')}, expected {width} as in line {body[0][0]}")
        if names and len(names) not in (width, width - (self.topic_column is not False)):
            raise self._fault(line, f"{len(names)} names, expected {width}")
        has_topics = self.topic_column
        if has_topics is None:
            has_topics = len(names or first) < width or self._has_topics(body, names)
        start = int(has_topics)
        if width == start:
            raise self._fault(body[0][0], "topics and no scores")
        values = [[number(cell, partial(self._fault, n)) for cell in cells[start:]] for n, cells in body]
        topics = [cells[0] for _, cells in body] if has_topics else None
        if topics and (i := repeated(topics)):
            raise self._fault(body[i][0], f"topic {topics[i]!r} appears twice")
        if names:
            names = names[len(names) - width + start :]
            if i := repeated(names):
                raise self._fault(line, f"run {names[i]!r} appears twice")
        return replace(from_matrix(values, names, topics, self.measure), missing_rule=self.missing or "zero")

    def _has_header(self, line: int, cells: list[str]) -> bool:
        """Whether the first line of a matrix names the runs: no cell after the first is a number."""
        if column_key(cells[0]) in _TOPIC_HEADINGS:
            return True
        words = [cell for cell in cells[1:] or cells if parsed_number(cell) is None]
        if words and len(words) < len(cells[1:]):
            raise self._fault(line, f"{words[0]!r} is not a number, other cells are; use header=True if they name runs")
        return bool(words)

    def _has_topics(self, body: _Rows, names: Sequence[str] | None) -> bool:
        """Whether the first column of a matrix names topics.

        It does if its heading says so, if it has no numbers, or if it has distinct whole numbers, some above 1, and
        other columns have fractions, because no measure has such scores.
        """
        if names and column_key(names[0]) in ("", *_TOPIC_HEADINGS):
            return True
        first = [cells[0].strip() for _, cells in body]
        word = next((i for i, cell in enumerate(first) if parsed_number(cell) is None), None)
        if word is not None:
            if any("." in other and parsed_number(other) is not None for other in first):
                message = f"{first[word]!r} is not a number; use topic_column=True if the column names topics"
                raise self._fault(body[word][0], message)
            return True
        if not all(map(str.isdecimal, first)) or len(set(first)) < len(first):
            return False
        return max(map(int, first)) > 1 and any("." in cell for _, cells in body for cell in cells[1:])

    def _trec(self, text: str) -> Cells:
        """trec_eval -q: name, topic, value. `all` lines end the part of a run; only their runid and num_q are used."""
        parts: list[tuple[_Rows, dict[str, tuple[int, str]]]] = [([], {})]
        for n, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
            if len(cells) != 3:
                raise self._fault(n, f"{counted(len(cells), 'column')}, expected name, topic, value")
            name, topic, value = cells
            if topic == "all":
                parts[-1][1][name] = n, value
                continue
            if parts[-1][1]:
                parts.append(([], {}))
            if name != "relstring":
                parts[-1][0].append((n, cells))
        rows: _Rows = []
        notes = []
        for entries, summary in parts:
            run = self.run or summary.get("runid", (0, ""))[1] or self._run_name
            rows += [(n, [*cells, run]) for n, cells in entries]
            topics = len({topic for _, (_, topic, _) in entries})
            n, text_of_num_q = summary.get("num_q", (0, str(topics)))
            if topics and topics != (num_q := number(text_of_num_q, partial(self._fault, n))):
                notes.append(caution_note(f"{run}: trec_eval averaged over {num_q:g} topics, {topics} are listed"))
        if not rows:
            raise self._fault(None, "no scores of topics, expected the output of trec_eval -q")
        columns = {kind: [row[i] for _, row in rows] for i, kind in enumerate(("measure", "topic", "value", "run"))}
        return self._entries(columns, {"notes": notes}, rows)

    def _json(self, text: str) -> Cells:
        data = parsed_json(text, self.path)
        if not isinstance(data, dict) or data.get("cranfield") != "scores":
            nested = isinstance(data, dict) and all(isinstance(row, dict) for row in data.values())
            if nested and not any(isinstance(x, dict) for row in data.values() for x in row.values()):
                data = {self._run_name: data}  # {topic: {measure: value}}, the result of evaluators for one run
            return from_nested(data, self.measure, self.missing, {}, self.path)
        lists = ("notes", "measures", "runs", "topics")
        for kind, expected in {"scores": dict, "missing": dict, **dict.fromkeys(lists, list)}.items():
            if not isinstance(data.get(kind), expected):
                raise self._fault(None, f"{kind!r} is {data.get(kind)!r}, expected {expected.__name__}")
        for run, topics in data["missing"].items():
            if not isinstance(topics, list):
                raise self._fault(None, f"'missing' of run {run!r} is {topics!r}, expected list")
        return from_nested(data["scores"], self.measure, self.missing, data, self.path)


def _looks_like_trec(text: str) -> bool:
    lines = [line.split("\t") for line in text.split("\n", 2000)[:2000] if line.strip()]
    if any(len(cells) != 3 for cells in lines):
        return False
    names = [cells[0] for cells in lines]
    padded = any(name != name.rstrip() for name in names)
    return padded or any(cells[1] == "all" for cells in lines) or len(set(names)) < len(names)


def joined_notes(notes: Iterable[str]) -> str:
    r"""Join notes for one cell of a table: ` | ` between them, `\|` and `\\` within."""
    return " | ".join(re.sub(r"[\\|]", r"\\\g<0>", note) for note in notes)


def _split_notes(text: str) -> list[str]:
    """Undo `joined_notes`: within a note, a bar follows a backslash and never a blank."""
    return [re.sub(r"\\(.)", r"\1", note, flags=re.DOTALL) for note in text.split(" | ")]
