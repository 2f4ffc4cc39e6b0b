"""The items to judge: topic and document, from a pool, from judgments or from a run."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable

from cranfield.collection.column_names import COLUMNS, DELIMITERS, find_columns
from cranfield.collection.convert import kind_of
from cranfield.collection.doors import csv_fault, header_cells, reads
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.source import BINARY, HEAD, PathLike, first_line, load, shown_path, text_of
from cranfield.errors import DataError, UsageError
from cranfield.text import counted

Item = tuple[str, str]
"""Topic and document."""


@reads
def read_items(thing: PathLike | Iterable[Item]) -> tuple[Item, ...]:
    """Items without repetitions: a table with a header that names topic and doc, judgments, a run, or pairs.

    >>> read_items([("1", "d1"), ("1", "d2"), ("1", "d1")])
    (('1', 'd1'), ('1', 'd2'))
    """
    if not isinstance(thing, str | os.PathLike):
        return tuple(dict.fromkeys((str(topic), str(doc)) for topic, doc in thing))
    origin = shown_path(os.fspath(thing))
    buffer = load(thing)
    if b"\0" in bytes(buffer[:HEAD]) and not bytes(buffer[:4]).startswith(BINARY):
        text_of(buffer, origin)  # raises the error of binary data
    first = first_line(buffer).decode("utf-8", "replace").lstrip("\ufeff")
    for delimiter in DELIMITERS:
        names = header_cells(first, delimiter, origin)
        if {"topic", "doc"} <= (places := find_columns(names, COLUMNS)).keys():
            return _from_table(text_of(buffer, origin), delimiter, places["topic"], places["doc"], origin)
    columns = (Run if _is_run(bytes(buffer), origin) else Qrels).of(bytes(buffer)).columns()
    return tuple(dict.fromkeys(zip(columns.topics, columns.docs, strict=True)))


def _is_run(data: bytes, origin: str) -> bool:
    try:
        return kind_of(data) == "run"
    except UsageError:
        message = "expected a table with a header that names topic and doc, or judgments, or a run"
        raise DataError(origin, None, message) from None


def _from_table(text: str, delimiter: str, topic: int, doc: int, origin: str) -> tuple[Item, ...]:
    lines = (line for line in text.lstrip("\ufeff").splitlines(keepends=True) if not line.startswith("#"))
    reader = csv.reader(lines, delimiter=delimiter)
    header = next(row for row in reader if row)
    items: dict[Item, None] = {}
    try:
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                width = counted(len(row), "column")
                raise DataError(origin, reader.line_num, f"{width}, expected {len(header)} as in the header")
            if not (row[topic].strip() and row[doc].strip()):
                raise DataError(origin, reader.line_num, "topic or document is empty")
            items[row[topic].strip(), row[doc].strip()] = None
    except csv.Error as error:
        raise DataError(origin, reader.line_num, csv_fault(error)) from None
    return tuple(items)
