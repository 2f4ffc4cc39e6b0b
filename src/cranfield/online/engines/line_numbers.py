"""The lines of rows in text files: a blank line is no row, and a quoted cell may have line breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cranfield.collection.source import MAGIC_LENGTH, compression
from cranfield.online.engines.table_source import content_format


def lines_of_rows(path: str, rows: Iterable[int], rejected: Sequence[int] = ()) -> Mapping[int, int]:
    """The line on which each row begins, in a JSON-lines or CSV file; the header of a CSV file is row 1.

    rejected: rows that the numbers do not count, because they were left out.
    """
    wanted = {row: _record(row, rejected) for row in rows}
    with open(path, "rb") as file:
        if compression(file.read(MAGIC_LENGTH)):
            return wanted
        file.seek(0)
        if content_format(path) not in ("json", "csv"):
            return {row: row for row in wanted}
        quoted = content_format(path) == "csv"
        lines: dict[int, int] = {}
        searched, last = set(wanted.values()), max(wanted.values(), default=0)
        record, inside = 0, False
        for number, line in enumerate(file, 1):
            if not inside and line.strip():
                record += 1
                if record in searched:
                    lines[record] = number
                if record > last:
                    break
            if quoted and line.count(b'"') % 2:
                inside = not inside
    return {row: lines.get(record, record) for row, record in wanted.items()}


def _record(row: int, rejected: Sequence[int]) -> int:
    """The number of a row, if rows that were left out are counted as well."""
    for left_out in sorted(rejected):
        if left_out <= row:
            row += 1
    return row
