"""Small tables by schema: which columns a table has, what they may hold, and one reader for all of them.

    GROUPS = Schema("doc group [weight]", doc=DOC, group=Words("group", "label"), weight=Numbers(least=0, default=1))
    rows = GROUPS.read("groups.csv")
    rows["doc"], rows["weight"]

A table is a file (lines separated by tabs, commas, semicolons or blanks, with or without a header; JSON lines; Parquet;
compressed or not; `-` is standard input), a frame, a dict, or tuples and dicts. Columns are found by the names that
people use for them, or as `named_columns` says.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection.column_names import COLUMNS, find_columns, no_column, repeated_column
from cranfield.collection.doors import reads
from cranfield.collection.first_block import check_lines
from cranfield.collection.named_tables import read_json_lines, text_blocks
from cranfield.collection.side_files import SideTable, number_in, read_side_file
from cranfield.collection.source import Buffer, load, shown_path
from cranfield.collection.structured import frame_columns, is_frame, parquet_table
from cranfield.declared.settings import Setting
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, shown

NO_DEFAULT = object()
MOST_COLUMNS = 1000


@dataclass(frozen=True)
class Column(ABC):
    """A column: the names that people give it, and the value of a row that lacks it."""

    words: tuple[str, ...] = ()
    noun: str = ""
    """What a value is, for messages: `document`; default: the name of the column."""
    default: Any = NO_DEFAULT
    optional: bool = False
    """The table may lack this column, and then the result lacks it too."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What a value has to be, for messages."""

    @abstractmethod
    def values(self, column: list[Any]) -> tuple[Any, int | None]:
        """The values of the column, and the first row with a wrong one."""


@dataclass(frozen=True)
class Words(Column):
    """Names or other texts, which are not empty."""

    blank: str = ""
    """What an empty cell stands for; an empty text: it is an error."""

    @property
    def expected(self) -> str:
        return "a text that is not empty"

    def values(self, column: list[Any]) -> tuple[list[str], int | None]:
        texts = [self.blank if _missing(value) else str(value) for value in column]
        return texts, next((row for row, text in enumerate(texts) if not text), None)


@dataclass(frozen=True)
class Numbers(Column):
    """Finite numbers within limits."""

    least: float = -np.inf
    most: float = np.inf
    whole: bool = False
    called: tuple[tuple[str, float], ...] = ()
    """Words that stand for numbers."""
    blank: float | None = None
    """What an empty cell stands for; None: it is an error."""

    @property
    def expected(self) -> str:
        number = "a whole number" if self.whole else "a number"
        limits = Setting(0.0, least=self.least, most=self.most).range
        words = f" or one of {', '.join(word for word, _ in self.called)}" if self.called else ""
        return (number if limits == "a number" else f"{number}, {limits}") + words

    def values(self, column: list[Any]) -> tuple[Any, int | None]:
        if self.called:
            known = dict(self.called)
            column = [known.get(value.lower(), value) if isinstance(value, str) else value for value in column]
        try:
            array = np.array([number_in(value) for value in column] if _has_texts(column) else column, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.array([_number(value) for value in column])
        if array.ndim != 1:  # pairs in place of numbers
            array = np.full(len(column), np.nan)
        right = np.isfinite(array) & (array >= self.least) & (array <= self.most)
        if self.whole:
            right &= array == np.round(array)
        if self.blank is not None:
            empty = np.array([_missing(value) for value in column], dtype=bool)
            array, right = np.where(empty, self.blank, array), right | empty
        wrong = np.flatnonzero(~right)
        return array, int(wrong[0]) if len(wrong) else None


def _has_texts(column: list[Any]) -> bool:
    return any(isinstance(value, str) for value in column)


def _number(value: Any) -> float:
    try:
        return number_in(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


DOC = Words(COLUMNS["doc"], "document")
TOPIC = Words(COLUMNS["topic"], "topic")


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a table by name, and where its rows stand."""

    origin: str
    columns: Mapping[str, Any]
    """Lists of texts, and arrays of numbers."""
    lines: Sequence[int] | None = None
    """The line of each row of a file with lines."""

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns.values(), strict=True)

    def fault(self, row: int, message: str) -> DataError:
        """The error about a row."""
        if self.lines is not None:
            return DataError(self.origin, self.lines[row], message)
        return DataError(self.origin, None, f"row {row + 1}: {message}")


class Schema:
    """The columns of a kind of table.

    form: how a line is written, for messages and docs, such as `doc group [weight]`; without a header the columns
        stand in this order.
    key: the columns that no two rows share.
    any_of: columns of which a table has at least one.
    same: rows that are equal in all columns count once.
    mixed: the separator of each line is found by itself; otherwise the first line decides.
    comments: lines that begin with `#` are left out.
    plain: how many columns, at most, a file without a header has; default: all.

    >>> lengths = Schema("doc length", doc=DOC, length=Numbers(("length", "len"), least=0), key=("doc",))
    >>> rows = lengths.read([("d1", 500), ("d2", "80")])
    >>> rows["doc"], rows["length"].tolist()
    (['d1', 'd2'], [500.0, 80.0])
    >>> lengths.read({"d1": -1})
    Traceback (most recent call last):
    cranfield.errors.DataError: table: row 1: document 'd1': the length is -1, expected a number, 0 or above
    """

    def __init__(
        self,
        form: str,
        *,
        key: Sequence[str] = (),
        any_of: Sequence[str] = (),
        same: bool = False,
        plain: int | None = None,
        separators: str = "\t,; ",
        mixed: bool = False,
        comments: bool = False,
        **columns: Column,
    ) -> None:
        self.form = form
        self.key = tuple(key)
        self.any_of = tuple(any_of)
        self.same = same
        self.plain = plain or len(columns)
        self.separators = separators
        self.mixed = mixed
        self.comments = comments
        self.columns: dict[str, Column] = {
            name: replace(column, words=column.words or (name,), noun=column.noun or name)
            for name, column in columns.items()
        }
        self._needed = [
            name for name, column in self.columns.items() if column.default is NO_DEFAULT and not column.optional
        ]
        self._least = len(self._needed) + bool(any_of)
        self._widths = range(self._least, self.plain + 1 if mixed else MOST_COLUMNS)

    def read(self, source: Any, name: str = "table") -> Rows:
        """The rows of a file, a frame, a dict {key: value}, or tuples and dicts. `name` is what it is, for messages."""
        if isinstance(source, str | os.PathLike):
            return self._from_file(os.fspath(source))
        if is_frame(source):
            return self._from_frame(source, "frame")
        if isinstance(source, Mapping):
            return self._from_records([(key, *_cells(value)) for key, value in source.items()], name)
        if isinstance(source, Iterable):
            return self._from_records(list(source), name)
        raise UsageError(f"{type(source).__name__} cannot be read as {name}: give a file, a frame or {{...}}")

    def read_columns(self, columns: Mapping[str, list[Any]], name: str = "table") -> Rows:
        """The rows of columns as lists, by their names."""
        return self._checked({key: columns[key] for key in self.columns if key in columns}, name)

    @reads
    def _from_file(self, path: str) -> Rows:
        origin = shown_path(path)

        def read(data: Buffer) -> SideTable:
            return read_side_file(
                path, self.form, self._widths, data=data, separators=self.separators, mixed=self.mixed,
                comments=self.comments, header=self._is_header,
            )  # fmt: skip

        def check(head: bytes) -> None:
            if not head.startswith((b"PAR1", b"{")):
                check_lines(head, origin, self.form, read)

        data = load(path, check)
        if bytes(data[:4]) == b"PAR1":
            return self._from_frame(parquet_table(data, path), origin)
        if bytes(data[:1]) == b"{":
            table = read_json_lines(text_blocks(data, origin), origin, f"an object with {self.form}")
            places = self._places(table.names, origin, None)
            return self._checked({name: list(table.columns[at]) for name, at in places.items()}, origin, table.lines)
        file = read(data)
        if file.header is not None:
            if not file.rows:
                raise DataError(origin, file.header_line, f"holds only a header, expected lines of {self.form}")
            places = self._places(file.header, origin, file.header_line)
        else:
            width = len(file.rows[0])
            if width > self.plain:
                message = f"{counted(width, 'column')}, expected {self.form}, or a first line of names"
                raise DataError(origin, file.lines[0], message)
            places = dict(zip(self.columns, range(width), strict=False))
        cells = list(zip(*file.rows, strict=True))
        return self._checked({name: list(cells[at]) for name, at in places.items()}, origin, file.lines)

    def _is_header(self, cells: list[str]) -> bool:
        """Whether a first line names columns: two of them, or one if no cell is a number where one is needed."""
        places = find_columns(cells, {name: column.words for name, column in self.columns.items()})
        if len(places) > 1:
            return True
        columns = [self.columns[name] for name in (*self._needed, *self.any_of)]
        numeric = [column for column in columns if isinstance(column, Numbers)]
        called = {word for column in numeric for word, _ in column.called}
        numbers = any(cell.lower() in called or not np.isnan(_number(cell)) for cell in cells[1:])
        return bool(places and numeric) and not numbers

    def _from_frame(self, frame: Any, origin: str) -> Rows:
        names, get = frame_columns(frame)
        return self._checked({name: get(at) for name, at in self._places(names, origin, None).items()}, origin)

    def _from_records(self, records: list[Any], origin: str) -> Rows:
        if records and isinstance(records[0], Mapping):
            names = list(dict.fromkeys(str(key) for record in records for key in record))
            places = self._places(names, origin, None)
            return self._checked({name: [r.get(names[at]) for r in records] for name, at in places.items()}, origin)
        for record in records:
            if not isinstance(record, list | tuple) or not self._least <= len(record) <= self.plain:
                names = list(self.columns)[: self.plain]
                form = "".join((", " if at < self._least else "[, ") + name for at, name in enumerate(names))
                raise UsageError(f"{origin}: {shown(record)}, must be ({form[2:]}{']' * (self.plain - self._least)})")
        width = max(map(len, records), default=self._least)
        names = list(self.columns)[:width]
        missing = [self.columns[name].default for name in names]
        for row, record in enumerate(records):
            if NO_DEFAULT in missing[len(record) :]:
                raise DataError(origin, None, f"row {row + 1}: {counted(len(record), 'value')}, others have {width}")
        columns = list(zip(*((*record, *missing[len(record) :]) for record in records), strict=True)) or [()] * width
        return self._checked({name: list(column) for name, column in zip(names, columns, strict=True)}, origin)

    def _places(self, names: Sequence[str], origin: str, line: int | None) -> dict[str, int]:
        """The position of each column that the table has."""
        places = find_columns(names, {name: column.words for name, column in self.columns.items()})
        if message := repeated_column(names, places.values()):
            raise DataError(origin, line, message)
        for name in self._needed:
            if name not in places:
                column = self.columns[name]
                raise DataError(origin, line, no_column(column.noun, names, column.words))
        if self.any_of and not places.keys() & set(self.any_of):
            raise DataError(origin, line, no_column(self.any_of[0], names, self.any_of))
        return places

    def _checked(self, columns: dict[str, list[Any]], origin: str, lines: Sequence[int] | None = None) -> Rows:
        size = len(next(iter(columns.values())))
        if not size:
            raise DataError(origin, None, f"is empty, expected {'lines of ' if lines is not None else ''}{self.form}")
        for name, column in self.columns.items():
            if name not in columns and not column.optional:
                columns[name] = [column.default] * size
        columns = {name: columns[name] for name in self.columns if name in columns}
        rows = Rows(origin, columns, lines)
        checked: dict[str, Any] = {}
        for name, values in columns.items():
            column = self.columns[name]
            checked[name], wrong = column.values(values)
            if wrong is not None:
                whose = f"{self._named(columns, wrong)}: " if self.key and name != self.key[0] else ""
                message = f"the {column.noun} is {shown(values[wrong])}, expected {column.expected}"
                raise rows.fault(wrong, f"{whose}{message}")
        return self._without_repeats(Rows(origin, checked, lines))

    def _named(self, columns: Mapping[str, Any], row: int) -> str:
        """A row by its key: document 'd1'."""
        return " and ".join(f"{self.columns[name].noun} {shown(columns[name][row])}" for name in self.key[:1])

    def _without_repeats(self, rows: Rows) -> Rows:
        keys = list(zip(*(rows[name] for name in self.key), strict=True)) if self.key else []
        if len(set(keys)) == len(keys):
            return rows
        first: dict[tuple[Any, ...], int] = {}
        kept = []
        every = list(rows)
        for row, key in enumerate(keys):
            before = first.setdefault(key, row)
            if before == row:
                kept.append(row)
            elif not self.same or every[row] != every[before]:
                whose = " with ".join(f"{self.columns[name].noun} {shown(rows[name][row])}" for name in self.key)
                where = f"on line {rows.lines[before]}" if rows.lines is not None else f"in row {before + 1}"
                raise rows.fault(row, f"{whose} appears twice, first {where}")
        columns = {
            name: column[kept] if isinstance(column, np.ndarray) else [column[row] for row in kept]
            for name, column in rows.columns.items()
        }
        return Rows(rows.origin, columns, None if rows.lines is None else [rows.lines[row] for row in kept])


def _cells(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)
