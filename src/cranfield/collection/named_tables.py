"""Tables whose first line, or whose JSON objects, name the columns: the form of most files that people bring along."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.errors import DataError
from cranfield.text import counted, listed, shown

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class NamedTable:
    """The columns of a file by name, and the line of each row."""

    names: Sequence[str]
    columns: Sequence[Sequence[Any]]
    lines: list[int]


def read_csv(text: str, delimiter: str, origin: str, content: str) -> NamedTable:
    """A table with a header. Rows without any text are left out; `content` is what rows hold, for messages.

    >>> read_csv("query,count\\nmaps,3\\n\\n", ",", "log.csv", "queries").columns
    [['maps'], ['3']]
    """
    reader = csv.reader(lines_of(text.lstrip("\ufeff")), delimiter=delimiter)
    rows = (row for row in reader if row and (len(row) > 1 or row[0].strip()))
    lines: list[int] = []
    known: dict[str, str] = {}  # a cell that is repeated, such as the name of a topic, is in memory once
    try:
        names = next(rows)
        columns: list[list[str]] = [[] for _ in names]
        for row in rows:
            if len(row) != len(names):
                what = f"{counted(len(row), 'column')}, expected {len(names)} as in the header"
                raise DataError(origin, reader.line_num, what)
            for column, cell in zip(columns, row, strict=True):
                column.append(known.setdefault(cell, cell))
            lines.append(reader.line_num)
    except csv.Error as error:
        raise DataError(origin, reader.line_num, f"not a valid table: {error}") from None
    if not lines:
        raise DataError(origin, None, f"holds no {content}, only a header")
    return NamedTable(names, columns, lines)


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text with their ends, one after the other, so that they are never in memory together.

    >>> list(lines_of("a\\r\\nb\\rc\\n\\nd"))
    ['a\\r\\n', 'b\\r', 'c\\n', '\\n', 'd']
    """
    return (match[0] for match in LINE.finditer(text))


def read_json_lines(text: str, origin: str, expected: str, *, complete: bool = False) -> NamedTable:
    """An object per line. With `complete`, every object has the names of the first one; else None fills the gaps.

    >>> read_json_lines('{"query": "maps"}\\n{"query": "news", "count": 2}', "log.jsonl", "an object").columns
    [['maps', 'news'], [None, 2]]
    """
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(origin, number, f"not valid JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(origin, number, f"is {shown(record)}, expected {expected}")
        if complete and records and (absent := [name for name in records[0] if name not in record]):
            raise DataError(origin, number, f"no {listed(absent)}, which line {lines[0]} has")
        records.append(record)
        lines.append(number)
    names = list(records[0] if complete else dict.fromkeys(name for record in records for name in record))
    return NamedTable(names, [[record.get(name) for record in records] for name in names], lines)
