"""Rows of the files of this folder: JSON-lines, or a table with a header between tabs, commas or semicolons."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.collection.column_names import COLUMNS, column_key, find_columns, repeated_column
from cranfield.collection.doors import csv_rows, reads
from cranfield.collection.file_formats.structured import parsed_json
from cranfield.collection.side_files import number_in
from cranfield.collection.source import PathLike, check_content, head_of, load, shown_path, text_of
from cranfield.errors import DataError
from cranfield.text import counted, listed, shown, unguarded

ROLES = {
    "topic": (*COLUMNS["topic"], "question_id", "question"),
    "run": COLUMNS["name"],
    "answer": ("answer", "answer_id", "output", "output_id", "doc", "doc_id", "docno"),
    "text": ("text", "answer_text", "summary", "contents", "content", "body", "response", "answer"),
    "nuggets": ("nuggets",),
    "nugget_text": ("nugget_text", "text"),
    "span_text": ("span_text", "text", "passage"),
    "nugget": ("nugget", "nugget_id", "iunit", "iunit_id", "scu", "scu_id", "unit"),
    "importance": ("importance", "type", "vote"),
    "weight": ("weight",),
    "support": ("support", "assignment", "grade", "label", "matched"),
    "assessor": ("assessor", "assessor_id", "worker", "annotator", "judge", "user"),
    "doc": COLUMNS["doc"],
    "start": ("start", "begin", "offset"),
    "end": ("end", "stop"),
    "rank": ("rank",),
    "score": ("score", "sim", "similarity"),
    "sentence": ("sentence", "sentence_id", "sentence_number", "line"),
    "citation": ("citation", "cited", "reference", "citation_id", *COLUMNS["doc"]),
    "references": ("references",),
    "sentences": ("answer", "sentences", "responses"),
    "vertical": ("vertical", "source", "engine", "block_type"),
    "block": ("block", "block_rank"),
    "orientation": ("orientation", "probability", "preference"),
    "grade": ("grade", "relevance", "rel", "label", "judgment"),
    "vital_string": ("vital_string", "vital", "vs", "text"),
    "id": ("id", "_id"),
    "number": ("number", "count", "n", "units"),
    "term": ("term", "word"),
    "idf": ("idf", "weight"),
}  # fmt: skip
"""Names of columns by role, the most specific first."""
GUARDED = {"nugget_text", "span_text"}
"""The texts that exports of a judging project guard against spreadsheets."""


@dataclass(frozen=True, eq=False)
class Row:
    """A row of a file: values by role, and where it is."""

    origin: str
    line: int
    values: Mapping[str, Any]

    def fault(self, what: str) -> DataError:
        """The error for this row."""
        return DataError(self.origin, self.line, what)

    def has(self, role: str) -> bool:
        """Is there a value that is not empty?"""
        return self.values.get(role) not in (None, "")

    def text(self, role: str) -> str:
        """A value that must be there, as text."""
        value = self.values.get(role)
        if value is None or isinstance(value, list | dict | bool) or not str(value).strip():
            raise self.fault(f"{role} is {'empty' if value in (None, '') else shown(value)}, expected a name or a text")
        return str(value).strip()

    def number(self, role: str, *, least: float | None = None) -> float:
        """A value that must be a number."""
        value = self.values.get(role)
        try:
            number = number_in(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not abs(number) < float("inf") or (least is not None and number < least):
            expected = "a number" if least is None else f"a number, {least:g} or above"
            raise self.fault(f"{role} is {shown(value)}, expected {expected}")
        return number

    def whole(self, role: str, *, least: int = 0) -> int:
        """A value that must be a whole number."""
        number = self.number(role)
        if number != int(number) or number < least:
            raise self.fault(f"{role} is {shown(self.values[role])}, expected a whole number, {least} or above")
        return int(number)


def read_rows(path: PathLike, needed: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """The rows of a file, with the values of the needed roles and of those optional roles that it has.

    A role may name alternatives, as in `run|answer`: one of them has to be there. Columns are found by `ROLES`.
    """
    origin = shown_path(os.fspath(path))
    roles = list(dict.fromkeys(name for role in (*needed, *optional) for name in role.split("|")))
    words = {role: ROLES[role] for role in roles}
    rows: list[Row] = []
    places: dict[tuple[str, ...], dict[str, int]] = {}
    for line, names, cells in _records(path, origin):
        key = tuple(names)
        if key not in places:
            places[key] = _places(names, words, needed, origin, line)
        values = {role: cells[at] for role, at in places[key].items()}
        for role in GUARDED & values.keys():
            values[role] = unguarded(values[role]) if isinstance(values[role], str) else values[role]
        rows.append(Row(origin, line, values))
    if not rows:
        raise DataError(origin, None, f"holds no rows, expected {_spelled(needed)}")
    return rows


def _places(
    names: Sequence[str], words: Mapping[str, Sequence[str]], needed: Sequence[str], origin: str, line: int
) -> dict[str, int]:
    places = find_columns(names, words)
    if message := repeated_column(names, places.values()):
        raise DataError(origin, line, message)
    for role in needed:
        if not any(name in places for name in role.split("|")):
            known = [word for name in role.split("|") for word in words[name]]
            kind = " or ".join(role.split("|"))
            message = f"no column for the {kind} among {listed(names, 8) or 'no names'}; expected one called"
            raise DataError(origin, line, f"{message} {', '.join(dict.fromkeys(known))}")
    return places


def _spelled(needed: Sequence[str]) -> str:
    return ", ".join(role.replace("|", " or ") for role in needed)


@reads
def _records(path: PathLike, origin: str) -> Iterator[tuple[int, Sequence[str], Sequence[Any]]]:
    """The line, the names and the values of every record."""
    buffer = load(path)
    if not len(buffer):
        raise DataError(origin, None, "is empty")
    check_content(head_of(buffer), origin)
    text = text_of(buffer, origin)
    if text.lstrip().startswith("{"):
        yield from _objects(text, origin)
    else:
        yield from _cells(text, origin)


def _objects(text: str, origin: str) -> Iterator[tuple[int, Sequence[str], Sequence[Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        record = parsed_json(line, origin, number)
        if not isinstance(record, dict):
            raise DataError(origin, number, f"is {shown(record)}, expected an object")
        yield number, list(record), list(record.values())


def _cells(text: str, origin: str) -> Iterator[tuple[int, Sequence[str], Sequence[Any]]]:
    lines = text.replace("\r\n", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise DataError(origin, None, "is empty")
    delimiter = next((mark for mark in "\t,;" if mark in lines[first]), None)
    known = {word for words in ROLES.values() for word in words}
    names = [] if delimiter is None else [name.strip().strip('"') for name in lines[first].split(delimiter)]
    if delimiter is None or not known.intersection(map(column_key, names)):
        message = "neither JSON-lines nor a table: expected an object on each line, or a first line that names the"
        raise DataError(origin, first + 1, f"{message} columns, between tabs, commas or semicolons")
    rows: Iterator[tuple[int, list[str]]]
    if delimiter == "\t":  # texts may hold quotes
        rows = ((number, line.split("\t")) for number, line in enumerate(lines, 1) if number > first + 1)
    else:
        rows = csv_rows(lines[first + 1 :], delimiter, origin, before=first + 1)
    for number, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(names):
            raise DataError(origin, number, f"{counted(len(cells), 'column')}, expected {len(names)} as in the header")
        yield number, names, cells
