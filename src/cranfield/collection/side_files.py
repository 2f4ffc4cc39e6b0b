"""Read small side files: tables of a few columns, such as run and team, or document and length."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from cranfield.collection.doors import check_lines, reads
from cranfield.collection.source import Buffer, PathLike, load, shown_path
from cranfield.collection.tables.cells import LineForm, read_cells
from cranfield.errors import DataError


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
    separators, mixed, comments, fits: as in `LineForm`; a row of a mixed file that is shorter has empty cells.
    filled: how many columns, from the first, must not be empty.
    header: whether the cells of the first line are a header.
    """
    origin = shown_path(os.fspath(path))

    form = LineForm(
        expected, columns, separators, mixed=mixed, comments=comments, is_header=header, fits=fits, objects=False
    )
    if data is None:
        data = load(
            path, lambda head: check_lines(head, origin, f"lines of {expected}", partial(_table, origin, form, 0))
        )
    return _table(origin, form, filled, data)


def _table(origin: str, form: LineForm, filled: int, data: Buffer) -> SideTable:
    cells = read_cells(data, origin, form)
    rows = [list(row) for row in zip(*cells.columns, strict=True)]
    table = SideTable(origin, rows, cells.lines, cells.names, cells.header_line)
    for line, row in table if filled else ():
        if "" in row[:filled]:
            raise DataError(origin, line, f"column {row.index('') + 1} is empty, expected {form.expected}")
    return table


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
