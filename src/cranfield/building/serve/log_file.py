"""The rows of an exported log, checked.

Lines are read many at a time, by columns. If anything in a block is not as we write it, each of its lines is looked at
by itself, so that an error names its line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from cranfield.building.serve.judgment_log import COUNTED, FIELDS, STATES
from cranfield.building.serve.text_guard import need_text
from cranfield.collection.lint_bytes import blocks_of_lines
from cranfield.collection.source import Buffer, release
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

BLOCK = 1 << 16
"""Bytes of a log that are read together: few enough that their rows stay in the cache of the processor."""
NUMBERS = ("id", "position", "counted", "supersedes", "restores", "guideline", "offer", "milliseconds")
TEXTS = ("request", "topic", "doc", "assessor", "action", "state", "reason", "purpose")
CHOICES: dict[str, tuple[object, ...]] = {
    "action": ("judge", "undo"),
    "state": (*STATES, "none"),
    "purpose": (*COUNTED, "gold", "repeat"),
    "counted": (0, 1),
}
"""The values that a column can have."""
Columns = dict[str, Sequence[Any]]
"""{field: its values}, of some rows."""
_TYPES: dict[str, set[type]] = {
    **{name: {int, type(None)} for name in NUMBERS},
    **{name: {str} for name in (*TEXTS, "judged_at")},
    "id": {int},
    "counted": {int},
    "grade": {int, float, type(None)},
    "payload": {dict, type(None)},
}
_values = itemgetter(*FIELDS)


def _most(name: str) -> int:
    """Numbers are below this, and above its negative: what the column of the database can hold."""
    return 2**31 if name == "milliseconds" else 2**62


def log_blocks(data: Buffer, origin: str) -> Iterator[tuple[Sequence[int], Columns]]:
    """The rows of a log in parts, with the line of each row; times are seconds."""
    first = 1
    done = 0
    for block in blocks_of_lines(data, BLOCK):
        lines = block.removesuffix(b"\n").split(b"\n")
        columns = _together(block, lines)
        if columns is not None:
            yield range(first, first + len(lines)), columns
        else:
            rows = {n: _row(line, origin, n) for n, line in enumerate(lines, first) if line.strip()}
            if rows:
                yield list(rows), dict(zip(FIELDS, zip(*rows.values(), strict=True), strict=True))
        first += len(lines)
        done += len(block)
        release(data, done)


def _together(block: bytes, lines: Sequence[bytes]) -> Columns | None:
    """The rows of lines that are as we write them; None if one of them is not, or may not be."""
    try:
        rows = json.loads(f"[{b','.join(lines).decode()}]")
        if len(rows) != len(lines):
            return None
        columns: Columns = dict(zip(FIELDS, zip(*map(_values, rows), strict=True), strict=True))
        for name, column in columns.items():
            if not set(map(type, column)) <= _TYPES[name] or (
                name in CHOICES and not set(column).issubset(CHOICES[name])
            ):
                return None
        for name in NUMBERS:
            given = list(filter(None, columns[name]))
            if given and (max(given) >= _most(name) or min(given) <= -_most(name)):
                return None
        if not all(map(math.isfinite, filter(None, columns["grade"]))):
            return None
        if b"\\u" in block:
            for row in rows:
                need_text(row)
        columns["judged_at"] = [datetime.fromisoformat(text).timestamp() for text in columns["judged_at"]]
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, UsageError):
        return None
    return columns


def _row(line: bytes, origin: str, number: int) -> tuple[Any, ...]:
    """The row on a line; an error names the line and what is wrong."""
    try:
        row: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "; expected the log of a project; qrels need the name of their assessor" if number == 1 else ""
        raise DataError(origin, number, f"not valid JSON: {error}{hint}") from None
    if not isinstance(row, dict) or not row.keys() >= set(FIELDS):
        absent = next(name for name in FIELDS if not isinstance(row, dict) or name not in row)
        raise DataError(origin, number, f"no {absent}, expected a row of the log of a project")
    row = {name: row[name] for name in FIELDS}
    try:
        need_text(row)
    except UsageError as error:
        raise DataError(origin, number, str(error)) from None
    for name, value in row.items():
        if wrong := _wrong(name, value):
            raise DataError(origin, number, f"{name} is {shown(value)}, {wrong}")
    try:
        row["judged_at"] = datetime.fromisoformat(row["judged_at"]).timestamp()
    except (ValueError, OverflowError):
        raise DataError(origin, number, f"judged_at is {shown(row['judged_at'])}, expected a date") from None
    return tuple(row.values())


def _wrong(name: str, value: Any) -> str | None:
    """What is wrong with a value; None if nothing is."""
    if type(value) not in _TYPES[name]:
        expected = {"grade": "a number", "payload": "an object", "judged_at": "a date"}
        return f"expected {expected.get(name, 'text' if name in TEXTS else 'a whole number')}"
    if name in CHOICES and value not in CHOICES[name]:
        return f"must be one of {', '.join(map(str, CHOICES[name]))}"
    if name in NUMBERS and value is not None and not -_most(name) < value < _most(name):
        return "which is too large"
    if name == "grade" and value is not None:
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        return None if finite else "expected a number"
    return None
