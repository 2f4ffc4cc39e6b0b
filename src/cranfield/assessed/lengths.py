"""How long documents are: a table of lengths, and the lengths of the retrieved documents by rank.

Measures of reading time or of text read need the length of every document in a list, judged or not.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import _core
from cranfield.assessed.attachment import Moves
from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.segments import position_in_segment
from cranfield.collection.column_names import COLUMNS, column_key, find_columns, no_column, repeated_column
from cranfield.collection.columns import shown
from cranfield.collection.doors import reads
from cranfield.collection.first_block import check_lines
from cranfield.collection.side_files import SideTable, read_side_file
from cranfield.collection.source import Buffer, load, shown_path
from cranfield.collection.structured import frame_columns, is_frame, parquet_table
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed

NAMES = {
    "length": ("length", "len", "doc_length", "document_length"),
    "words": ("words", "tokens", "word_count"),
    "characters": ("characters", "chars", "character_count"),
    "cost": ("cost", "costs"),
    "snippet": ("snippet", "snippet_length", "snippet_characters"),
}
"""Column names in a table. A `length` is in the unit that a measure counts: words, characters or a cost."""

LENGTHS = NAMES.keys() - {"snippet"}
EXPECTED = "doc length [snippet]"


class Lengths(ByRank):
    """The lengths of the documents of every list: columns `length`, `words`, `characters`, `cost` and `snippet`."""

    follows_order = True
    knows_unjudged = True

    @staticmethod
    def one(lengths: Any, retrieved: int) -> Lengths:
        """For a single list: numbers from the top down, or {column: numbers}.

        >>> Lengths.one([500, 80], 2).of("words", np.array([0]), np.array([2])).tolist()
        [80.0]
        """
        columns = lengths if isinstance(lengths, Mapping) else {"length": lengths}
        unknown = [name for name in columns if name not in NAMES]
        if unknown:
            raise UsageError(f"lengths: column {unknown[0]!r} is not known; there are {', '.join(NAMES)}")
        return Lengths.of_list("lengths", columns, retrieved)

    def reordered(self, lists: Assessed, moves: Moves) -> Lengths:
        start = lists.document_start
        row, rank = np.repeat(np.arange(lists.rows), lists.retrieved), position_in_segment(start)
        old_rank = np.empty(len(row), dtype=np.int64)
        old_rank[start[row] + moves.of(row, rank) - 1] = rank
        return self.picked(start[:-1], row, old_rank)

    def only_for(self, needs: Collection[str]) -> Lengths | None:
        return self if "lengths" in needs else None

    def of(self, unit: str, row: Index, rank: Index) -> Array:
        """The length in `unit` (words, characters) of the documents at these rows and ranks."""
        return self.at(self.column(unit), row, rank)

    def column(self, unit: str) -> str:
        """The column that holds lengths in `unit`."""
        column = next((name for name in (unit, "length") if name in self.columns), None)
        if column is None:
            columns = ", ".join(self.columns)
            raise UsageError(f"the table of document lengths has only {columns}; add a column called {unit}")
        return column

    def snippet(self, row: Index, rank: Index, otherwise: float) -> Array:
        """The number of characters of the snippets of these documents; `otherwise` if the table does not say."""
        if "snippet" not in self.columns:
            return np.full(len(row), float(otherwise))
        length = self.at("snippet", row, rank)
        return np.where(np.isnan(length), otherwise, length)


@dataclass(frozen=True, eq=False)
class LengthTable:
    """Documents and their lengths.

    >>> len(LengthTable.of({"d1": 500, "d2": 80}))
    2
    """

    documents: tuple[str, ...]
    columns: Mapping[str, Array]
    origin: str = "lengths"

    @staticmethod
    def of(thing: Any) -> LengthTable:
        """From {document: length}, a frame, or a file.

        A file has lines `doc length`, or `doc length snippet` where the snippets differ in length, separated by blanks,
        tabs or commas. With a first line of names, columns may also be called `words` (which TBG counts),
        `characters` (which U counts) and `cost` (what reading takes, for C/W/L measures). Parquet files are read too.
        """
        if isinstance(thing, LengthTable):
            return thing
        if isinstance(thing, Mapping):
            return _checked(list(thing), {"length": list(thing.values())}, "lengths")
        if is_frame(thing):
            return _from_frame(thing, "frame")
        if isinstance(thing, str | os.PathLike):
            return _from_file(os.fspath(thing))
        raise UsageError(
            f"{type(thing).__name__} cannot be read as lengths of documents: give {{doc: length}}, a frame or a file"
        )

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def numbers(self) -> _core.Judged:
        """The documents, ready to be looked up while runs are joined; the number of each is its row in the table."""
        return _core.judged(_core.table_from_dict({"documents": dict.fromkeys(self.documents, 0)}, "", "row"), "error")

    def lists(self, row: Index, begin: Index, unknown: list[str], assumed: float | str | None) -> Lengths:
        """The lengths of retrieved documents, for which `row` is the row of the table (-1: not in the table)."""
        without = row < 0
        columns = {name: column[row] for name, column in self.columns.items()}
        if without.any():
            documents = f"{counted(len(unknown), 'retrieved document')} without a length: {listed(unknown)}"
            if assumed is None:
                raise DataError(self.origin, None, f"{documents}; add them, or give missing_length=N or 'mean'")
            values = {name: self._assumed(name, assumed) for name in columns if name != "snippet"}
            for name, column in columns.items():
                column[without] = values.get(name, np.nan)
            lengths = [f"{value:g}{f' {name}' if name != 'length' else ''}" for name, value in values.items()]
            mean = " (the mean)" if assumed == "mean" else ""
            warn_caller(f"{documents}; assumed: {' and '.join(lengths)}{mean}", CranfieldWarning)
        return Lengths(begin, columns)

    def _assumed(self, name: str, assumed: float | str) -> float:
        if assumed == "mean":
            return float(self.columns[name].mean())
        if len(units := [name for name in self.columns if name != "snippet"]) > 1:
            raise UsageError(f"missing_length == {assumed!r}, but lengths are in {' and in '.join(units)}; use 'mean'")
        return float(assumed)


def _from_frame(frame: Any, origin: str) -> LengthTable:
    names, get = frame_columns(frame)
    columns_at = _named(names, origin, None)
    return _checked(get(columns_at["doc"]), {name: get(at) for name, at in columns_at.items() if name != "doc"}, origin)


@reads
def _from_file(path: str) -> LengthTable:
    def read(data: Buffer) -> SideTable:
        return read_side_file(
            path, EXPECTED, range(2, 1000), data=data, separators=", ;", comments=False, header=_looks_named
        )

    def check(head: bytes) -> None:
        if not head.startswith(b"PAR1"):
            check_lines(head, shown_path(path), EXPECTED, read)

    buffer = load(path, check)
    if bytes(buffer[:4]) == b"PAR1":
        return _from_frame(parquet_table(buffer, path), path)
    file = read(buffer)
    if file.header is not None:
        columns_at = _named(file.header, file.origin, file.header_line)
    else:
        width = len(file.rows[0])
        if width > 3:
            message = f"{width} columns, expected {EXPECTED}, or a first line of names"
            raise DataError(file.origin, file.lines[0], message)
        columns_at = dict(zip(("doc", "length", "snippet"), range(width), strict=False))
    cells = list(zip(*file.rows, strict=True)) or [()] * 1000
    columns = {name: list(cells[at]) for name, at in columns_at.items() if name != "doc"}
    return _checked(list(cells[columns_at["doc"]]), columns, file.origin, file.lines.__getitem__)


def _looks_named(cells: list[str]) -> bool:
    """Whether a first line names columns: it has a known name, and no number after the first column.

    `d1 abc` is not a header but a line of data with a wrong length.
    """
    numbers = [_core.parse_number(cell.encode("utf-8", "surrogateescape")) is not None for cell in cells[1:]]
    known = {word for words in (COLUMNS["doc"], *NAMES.values()) for word in words}
    return not any(numbers) and not known.isdisjoint(map(column_key, cells))


def _named(names: list[str], origin: str, line: int | None) -> dict[str, int]:
    """The positions of the column of documents and of the columns of lengths."""
    positions = find_columns(names, {"doc": COLUMNS["doc"], **NAMES})
    if message := repeated_column(names, positions.values()):
        raise DataError(origin, line, message)
    if "doc" not in positions:
        raise DataError(origin, line, no_column("document", names, COLUMNS["doc"]))
    if not LENGTHS & set(positions):
        raise DataError(origin, line, no_column("length", names, (name for name in NAMES if name in LENGTHS)))
    return positions


def _checked(documents: list[Any], columns: dict[str, list[Any]], origin: str, line: Any = None) -> LengthTable:
    def fault(row: int, message: str) -> DataError:
        return DataError(origin, line(row), message) if line else DataError(origin, None, f"row {row + 1}: {message}")

    ids = tuple(map(str, documents))
    if not ids:
        raise DataError(origin, None, f"is empty, expected lines of {EXPECTED}" if line else "is empty")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        row = next(row for row, doc in enumerate(ids) if doc in seen or seen.add(doc))  # type: ignore[func-returns-value]
        raise fault(row, f"document {ids[row]!r} appears twice, first in row {ids.index(ids[row]) + 1}")
    arrays = {}
    for name, values in columns.items():
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.array([_number(value) for value in values])
        if array.ndim != 1:  # pairs in place of numbers
            array = np.full(len(values), np.nan)
        wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
        if len(wrong):
            row = int(wrong[0])
            value = shown(values[row])
            raise fault(row, f"document {ids[row]!r}: the {name} is {value}, expected a number, 0 or above")
        arrays[name] = array
    return LengthTable(ids, arrays, origin)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan
