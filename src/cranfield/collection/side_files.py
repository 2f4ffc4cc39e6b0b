"""Read small side files: tables of a few columns, such as run and team, or document and length."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from cranfield.collection.doors import check_lines, reads
from cranfield.collection.source import Buffer, PathLike, load, shown_path, text_of
from cranfield.errors import DataError
from cranfield.text import counted


@dataclass(frozen=True, eq=False)
class SideTable:
    """The rows of a side file, each with its line."""

    origin: str
    """The path, for messages."""
    rows: list[list[str]]
    lines: Sequence[int]
    header: list[str] | None = None
    header_line: int | None = None

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return zip(self.lines, self.rows, strict=True)

    def __len__(self) -> int:
        return len(self.rows)


@reads
def read_side_file(
    path: PathLike,
    expected: str,
    columns: Sequence[int],
    *,
    data: Buffer | None = None,
    separators: str = "\t,; ",
    mixed: bool = False,
    comments: bool = True,
    filled: int = 0,
    header: Callable[[list[str]], bool] = lambda cells: False,
    fits: Callable[[list[str]], bool] = lambda cells: True,
) -> SideTable:
    r"""The rows of a file with lines of `expected` columns, without blank lines and comments.

    The file may be compressed; `-` is standard input; bytes that are not UTF-8 are kept as surrogates. Cells between
    commas or semicolons may be quoted.

    columns: the allowed numbers of columns.
    data: the content of the file, if it has been loaded.
    separators: the separator is the first of these that splits a line into an allowed number of columns; a blank means
        any mix of spaces and tabs.
    mixed: find the separator of each line. Otherwise the first line decides, and all rows have as many columns.
    comments: skip lines that begin with `#`.
    filled: how many columns, from the first, must not be empty.
    header: whether the cells of the first line are a header.
    fits: a further condition on the cells of a line; a separator that does not meet it is not used.
    """
    origin = shown_path(os.fspath(path))

    def read(data: Buffer) -> SideTable:
        return read_side_file(
            path, expected, columns, data=data, separators=separators, mixed=mixed, comments=comments, filled=filled,
            header=header, fits=fits,
        )  # fmt: skip

    if data is None:
        data = load(path, lambda head: check_lines(head, origin, f"lines of {expected}", read))
    lines, numbers = _lines(text_of(data, origin), comments)
    if not lines:
        raise DataError(origin, None, f"is empty, expected lines of {expected}")

    def separator_of(line: str) -> str | None:
        for separator in separators:
            cells = _split([line], separator)[0]
            if len(cells) in columns and fits(cells):
                return separator
        return None

    def fallback(line: str) -> str:
        return next((mark for mark in separators if mark != " " and mark in line), " ")

    if mixed:
        rows = [_split([line], separator_of(line) or fallback(line))[0] for line in lines]
    else:
        separator = separator_of(lines[0]) or fallback(lines[0])
        if separator in ",;" and any('"' in line for line in lines):
            rows, numbers = _quoted_rows(lines, numbers, separator)
        else:
            rows = _split(lines, separator)
    table = SideTable(origin, rows, numbers)
    if len(rows[0]) in columns and header(rows[0]):
        table = SideTable(origin, rows[1:], numbers[1:], rows[0], numbers[0])
    allowed = columns if mixed else [len(rows[0])] if len(rows[0]) in columns else ()
    if any(len(cells) not in allowed for cells in table.rows):
        line, cells = next((line, cells) for line, cells in table if len(cells) not in allowed)
        like = f" as on line {numbers[0]}" if len(columns) > 1 else ""
        number = f"{allowed[0]}{like}: " if len(allowed) == 1 else ""
        raise DataError(origin, line, f"{counted(len(cells), 'column')}, expected {number}{expected}")
    if filled:
        for line, cells in table:
            if "" in cells[:filled]:
                raise DataError(origin, line, f"column {cells.index('') + 1} is empty, expected {expected}")
    return table


def _lines(text: str, comments: bool) -> tuple[list[str], Sequence[int]]:
    """The lines that are neither blank nor comments, and their numbers."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n")
    kept = [bool(line.strip()) and not (comments and line.lstrip().startswith("#")) for line in lines]
    if all(kept):
        return lines, range(1, len(lines) + 1)  # which takes no memory
    return list(compress(lines, kept)), list(compress(range(1, len(lines) + 1), kept))


def _split(lines: list[str], separator: str) -> list[list[str]]:
    if separator == " ":
        return list(map(str.split, lines))
    if separator in ",;" and len(lines) == 1 and '"' in lines[0]:
        return _quoted_rows(lines, [1], separator)[0]
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


def _quoted_rows(lines: list[str], numbers: Sequence[int], separator: str) -> tuple[list[list[str]], Sequence[int]]:
    """Rows whose cells may be quoted, even over several lines; with other quotes, cells are as written."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True, strict=True)
    rows, first_lines, start = [], [], 0
    try:
        for cells in reader:
            rows.append([cell.strip() for cell in cells])
            first_lines.append(numbers[start])
            start = reader.line_num
    except csv.Error:
        return [[cell.strip() for cell in line.split(separator)] for line in lines], numbers
    return rows, first_lines


def number_in(value: str | float) -> float:
    """The number that a cell holds: decimal, with a point. Python's own rule would read 1_000 and １２ too.

    >>> number_in(" 1e3"), number_in("+.5"), number_in(2)
    (1000.0, 0.5, 2.0)
    >>> number_in("1_000")
    Traceback (most recent call last):
    ValueError: '1_000' is not a number
    """
    if isinstance(value, str) and (not value.isascii() or "_" in value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)
