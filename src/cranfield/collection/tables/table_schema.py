"""Small tables by schema: which columns a table has, what they may hold, and one reader for all of them.

    GROUPS = Schema("doc group [weight]", doc=DOC, group=Words("group", "label"), weight=Numbers(least=0, default=1))
    rows = GROUPS.read("groups.csv")
    rows["doc"], rows["weight"]

A table is a file (lines separated by tabs, commas, semicolons or blanks, with or without a header; JSON lines; Parquet;
compressed or not; `-` is standard input), a frame, a dict, or tuples and dicts. Columns are found by the names that
people use for them, or as `columns=` or `named_columns` says.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection.column_names import (
    COLUMNS,
    assumed_header,
    checked_columns,
    column_key,
    find_columns,
    no_column,
    repeated_column,
)
from cranfield.collection.columns import with_points
from cranfield.collection.doors import check_lines, reads
from cranfield.collection.file_formats.structured import frame_columns, is_frame, parquet_table
from cranfield.collection.source import Buffer, load, shown_path
from cranfield.collection.tables.cells import MOST_COLUMNS, Cells, Coded, LineForm, number_in, read_cells
from cranfield.collection.tables.rows import Rows
from cranfield.declared.settings import Setting
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed, shown

NO_DEFAULT = object()


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
    def values(self, cells: Sequence[Any]) -> tuple[Any, int | None]:
        """The values of the cells, and the first row with a wrong one. Cells of text files are `Coded`."""


@dataclass(frozen=True)
class Anything(Column):
    """Values of any type, such as the lists in JSON lines; None where an object has none."""

    @property
    def expected(self) -> str:
        return "a value"

    def values(self, cells: Sequence[Any]) -> tuple[list[Any], int | None]:
        return list(cells), None


@dataclass(frozen=True)
class Words(Column):
    """Names or other texts, which are not empty."""

    blank: str = ""
    """What an empty cell stands for; an empty text: it is an error."""
    may_be_empty: bool = False
    word: bool = False
    """Texts in a file have no blanks, so that a separator which leaves some in this column is not used."""
    coded: bool = False
    """The result is a `Coded`, for columns in which most texts are repeated."""

    @property
    def expected(self) -> str:
        return "a text that is not empty"

    def text(self, value: Any) -> str:
        """The text of a cell."""
        if isinstance(value, str):
            return value if value and not value.isspace() else self.blank
        return self.blank if is_missing(value) else str(value)

    def values(self, cells: Sequence[Any]) -> tuple[Sequence[str], int | None]:
        if isinstance(cells, Coded):
            coded = cells.mapped(self.text)
            wrong = coded.first(coded.texts.index("")) if "" in coded.texts and not self.may_be_empty else None
            return coded if self.coded else list(coded), wrong
        texts = list(map(self.text, cells))
        wrong = texts.index("") if "" in texts and not self.may_be_empty else None
        return Coded.of(texts) if self.coded else texts, wrong


@dataclass(frozen=True)
class Numbers(Column):
    """Finite numbers within limits."""

    least: float = -np.inf
    most: float = np.inf
    above: float = -np.inf
    """Numbers have to be above this."""
    whole: bool = False
    called: tuple[tuple[str, float], ...] = ()
    """Words that stand for numbers."""
    blank: float | None = None
    """What an empty cell stands for; None: it is an error."""

    @property
    def expected(self) -> str:
        number = "a whole number" if self.whole else "a number"
        limits = Setting(0.0, least=self.least, most=self.most).range
        if self.above > -np.inf:
            limits = f"above {self.above:g}" + (f", at most {self.most:g}" if self.most < np.inf else "")
        words = f" or one of {', '.join(word for word, _ in self.called)}" if self.called else ""
        return (number if limits == "a number" else f"{number}, {limits}") + words

    def number(self, value: Any) -> float:
        """The number in a cell; a ValueError or TypeError if it holds none."""
        return number_in(value)

    def values(self, cells: Sequence[Any]) -> tuple[Any, int | None]:
        if isinstance(cells, Coded):
            array, wrong = self.values(cells.texts)
            return array[cells.number], None if wrong is None else cells.first(wrong)
        if self.called:
            known = dict(self.called)
            cells = [known.get(value.lower(), value) if isinstance(value, str) else value for value in cells]
        try:
            texts = any(isinstance(value, str) for value in cells)
            array = np.array([self.number(value) for value in cells] if texts else cells, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.array([self._number_or_nan(value) for value in cells])
        if array.ndim != 1:  # pairs in place of numbers
            array = np.full(len(cells), np.nan)
        right = np.isfinite(array) & (array >= self.least) & (array <= self.most) & (array > self.above)
        if self.whole:
            right &= array == np.round(array)
        if self.blank is not None:
            empty = np.array([is_missing(value) for value in cells], dtype=bool)
            array, right = np.where(empty, self.blank, array), right | empty
        return array, None if right.all() else int(np.argmin(right))

    def _number_or_nan(self, value: Any) -> float:
        try:
            return self.number(value)
        except (TypeError, ValueError, OverflowError):
            return np.nan

    def holds(self, text: str) -> bool:
        """Whether a text is a number, or stands for one."""
        if self.blank is not None and not text:
            return True
        return text.lower() in dict(self.called) or not np.isnan(self._number_or_nan(text))


MISSING = tuple((word, np.nan) for word in ("nan", "na", "null", "none"))
"""Words for a number that is not known: `Numbers(called=MISSING, blank=np.nan)`."""


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or nothing but blanks."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


DOC = Words(COLUMNS["doc"], "document")
TOPIC = Words(COLUMNS["topic"], "topic")


class Schema:
    """The columns of a kind of table.

    form: how a line is written, for messages and docs, such as `doc group [weight]`.
    layouts: the columns of lines without a header, such as `task label` and `topic - doc label`, in which `-` is a
        column that is not used; default: the columns in their order, of which the last may be left out. No layouts:
        every table needs a header.
    header: whether a first line may hold names.
    placed: in a table with names, columns with names of their own are found by their place; a first line whose first
        cell is a usual name of the first column is a header.
    key: the columns that no two rows share.
    same: rows that are equal in all columns count once.
    may_be_empty: a table may have names of columns and no row.
    any_of: columns of which a table has at least one.
    others: what all other columns hold; they are in `Rows.others`.
    separators, quoted, mixed, comments, strip, complete: see `LineForm`.
    naming: how to name the columns by hand, for messages about one that is not there.

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
        layouts: Sequence[str] | None = None,
        header: bool = True,
        placed: bool = False,
        key: Sequence[str] = (),
        any_of: Sequence[str] = (),
        others: Column | None = None,
        same: bool = False,
        may_be_empty: bool = False,
        separators: str = "\t,; ",
        quoted: str = ",;",
        mixed: bool = False,
        comments: bool = False,
        strip: bool = True,
        complete: bool = False,
        any_bytes: bool = False,
        naming: str = "",
        **columns: Column,
    ) -> None:
        self.form = form
        self.header = header
        self.placed = placed
        self.needs_header = layouts is not None and not layouts
        self.key = tuple(key)
        self.any_of = tuple(any_of)
        self.others = others
        self.same = same
        self.may_be_empty = may_be_empty
        self.naming = naming and f"; to name it: {naming}"
        self.columns: dict[str, Column] = {
            name: replace(column, words=column.words or (name,), noun=column.noun or name)
            for name, column in columns.items()
        }
        self._needed = [
            name for name, column in self.columns.items() if column.default is NO_DEFAULT and not column.optional
        ]
        least = len(self._needed) + bool(any_of) + (others is not None)
        if layouts is None:
            widths = range(least, len(columns) + 1) if others is None else ()
            self.layouts = {width: list(columns)[:width] for width in widths}
        else:
            self.layouts = {len(names): names for names in map(str.split, layouts)}
        any_width = (header or others is not None) and not mixed
        self._lines = LineForm(
            form, range(least, MOST_COLUMNS) if any_width else tuple(self.layouts), separators, quoted, mixed, comments,
            strip, complete, any_bytes,
        )  # fmt: skip

    def read(self, source: Any, name: str = "table", columns: Mapping[str, str] | None = None) -> Rows:
        """The rows of a file, a frame, a dict {key: value}, or tuples and dicts.

        name: what the table is, for messages.
        columns: {column of this schema: its name in the table}, where the name is not a usual one.
        """
        chosen = checked_columns(columns or {}, self._words({}))
        if isinstance(source, str | os.PathLike):
            return self._from_file(os.fspath(source), chosen)
        if is_frame(source):
            return self._from_frame(source, "frame", chosen)
        if isinstance(source, Mapping):
            return self._from_records([(key, *_cells_of(value)) for key, value in source.items()], name, chosen)
        if isinstance(source, Iterable):
            return self._from_records(list(source), name, chosen)
        raise UsageError(f"{type(source).__name__} cannot be read as {name}: give a file, a frame or {{...}}")

    def read_columns(self, columns: Mapping[str, Sequence[Any]], name: str = "table") -> Rows:
        """The rows of columns as lists, by their names."""
        return self._checked({key: columns[key] for key in self.columns if key in columns}, name)

    def read_content(self, data: Buffer, origin: str, columns: Mapping[str, str] | None = None) -> Rows:
        """The rows in the content of a file; messages name its `origin`."""
        chosen = checked_columns(columns or {}, self._words({}))
        if bytes(data[:4]) == b"PAR1":
            return self._from_frame(parquet_table(data, origin), origin, chosen)
        return self._from_cells(self._cells(data, origin, chosen), origin, chosen)

    @reads
    def _from_file(self, path: str, chosen: Mapping[str, str]) -> Rows:
        origin = shown_path(path)

        def check(head: bytes) -> None:
            if not head.startswith((b"PAR1", b"{")):
                check_lines(head, origin, self.form, lambda lines: self._cells(lines, origin, chosen))

        return self.read_content(load(path, check), origin, chosen)

    def _cells(self, data: Buffer, origin: str, chosen: Mapping[str, str]) -> Cells:
        def fits(cells: list[str]) -> bool:
            names = self.layouts.get(len(cells), ())
            return not any(
                " " in cell and getattr(self.columns.get(name), "word", False)
                for name, cell in zip(names, cells, strict=False)
            )

        def is_header(cells: list[str]) -> bool:
            return self.header and self._is_header(cells, chosen)

        return read_cells(data, origin, replace(self._lines, is_header=is_header, fits=fits))

    def _from_cells(self, cells: Cells, origin: str, chosen: Mapping[str, str]) -> Rows:
        if cells.names is not None:
            if not cells.lines and not self.may_be_empty:
                what = f"holds only a header, expected lines of {self.form}"
                raise DataError(origin, cells.header_line, what)
            return self._named(
                cells.names, lambda at: cells.columns[at], origin, chosen, cells.header_line, cells.lines
            )
        names = assumed_header(len(cells.columns))
        if set(self._needed) <= find_columns(names, self._words(chosen)).keys() and names:
            return self._named(names, lambda at: cells.columns[at], origin, chosen, None, cells.lines)
        if chosen:
            names = list(map(repr, chosen.values()))
            raise DataError(origin, cells.lines[0], f"is not a header with the columns {listed(names)}")
        width = len(cells.columns)
        layout = self.layouts.get(width, [])
        others = {}
        if self.others is not None:
            layout = list(self.columns)
            others = {f"column {at + 1}": cells.columns[at] for at in range(len(layout), width)}
        elif not layout:
            message = f"{counted(width, 'column')}, expected {self.form}, or a first line of names"
            raise DataError(origin, cells.lines[0], message)
        columns = {name: cells.columns[at] for at, name in enumerate(layout) if name != "-"}
        return self._checked(columns, origin, cells.lines, others, named=False)

    def _is_header(self, cells: list[str], chosen: Mapping[str, str]) -> bool:
        """Whether a first line names columns: two of them, or one if no cell is a number where one is needed."""
        places = find_columns(cells, self._words(chosen))
        if chosen:
            return any(name in places for name in chosen)
        if len(places) > 1 or self.needs_header or (self.placed and places.get(next(iter(self.columns))) == 0):
            return True
        numeric = [
            column for name in (*self._needed, *self.any_of) if isinstance(column := self.columns[name], Numbers)
        ]
        if isinstance(self.others, Numbers):
            numeric.append(self.others)
        numbers = any(column.holds(cell) for column in numeric for cell in cells[1:])
        return bool((places or self.others) and numeric) and not numbers

    def _words(self, chosen: Mapping[str, str]) -> dict[str, Sequence[str]]:
        """The names of each column: the one that was chosen, or the usual ones that were not chosen for another."""
        keys = {name: column_key(key) for name, key in chosen.items()}
        return {
            name: (keys[name],) if name in keys else [word for word in column.words if word not in keys.values()]
            for name, column in self.columns.items()
        }

    def _from_frame(self, frame: Any, origin: str, chosen: Mapping[str, str]) -> Rows:
        names, get = frame_columns(frame)
        return self._named(names, get, origin, chosen)

    def _from_records(self, records: list[Any], origin: str, chosen: Mapping[str, str]) -> Rows:
        if records and isinstance(records[0], Mapping):
            names = list(dict.fromkeys(str(key) for record in records for key in record))
            return self._named(names, lambda at: [record.get(names[at]) for record in records], origin, chosen)
        for record in records:
            if not isinstance(record, list | tuple) or len(record) not in self.layouts:
                raise UsageError(f"{origin}: {shown(record)}, must be {self._tuples()}")
        width = max(map(len, records), default=min(self.layouts))
        names = self.layouts[width]
        missing = [self.columns[name].default if name in self.columns else None for name in names]
        for row, record in enumerate(records):
            if NO_DEFAULT in missing[len(record) :]:
                raise DataError(origin, None, f"row {row + 1}: {counted(len(record), 'value')}, others have {width}")
        columns = list(zip(*((*record, *missing[len(record) :]) for record in records), strict=True)) or [()] * width
        return self._checked(
            {name: list(column) for name, column in zip(names, columns, strict=True) if name != "-"}, origin
        )

    def _tuples(self) -> str:
        """The tuples that can be read, for messages."""
        longest = max(self.layouts.values(), key=len)
        if any(names != longest[:width] for width, names in self.layouts.items()):
            return " or ".join(f"({', '.join(names)})" for names in self.layouts.values())
        least = min(self.layouts)
        form = "".join((", " if at < least else "[, ") + name for at, name in enumerate(longest))
        return f"({form[2:]}{']' * (len(longest) - least)})"

    def _named(
        self, names: Sequence[str], get: Any, origin: str, chosen: Mapping[str, str], header_line: int | None = None,
        lines: Sequence[int] | None = None,
    ) -> Rows:  # fmt: skip
        """The rows of a table that names its columns."""
        words = self._words(chosen)
        places = find_columns(names, words)
        for at, name in enumerate(self.columns if self.placed else ()):
            if at < len(names) and name not in places and at not in places.values():
                places[name] = at
        for name, key in chosen.items():
            if name not in places:
                what = f"no column {key!r} for the {self.columns[name].noun}; there are {', '.join(map(str, names))}"
                raise DataError(origin, header_line, what)
        if message := repeated_column(names, places.values() if self.others is None else range(len(names))):
            raise DataError(origin, header_line, message)
        for name in self._needed:
            if name not in places:
                message = no_column(self.columns[name].noun, names, words[name])
                raise DataError(origin, header_line, f"{message}{self.naming}")
        if self.any_of and not places.keys() & set(self.any_of):
            raise DataError(origin, header_line, no_column(self.any_of[0], names, self.any_of) + self.naming)
        unused = [at for at in range(len(names)) if at not in places.values()]
        others = {names[at]: get(at) for at in unused} if self.others is not None else {}
        columns = {name: get(at) for name, at in places.items()}
        return self._checked(columns, origin, lines, others, tuple(names[at] for at in unused))

    def _checked(
        self, columns: dict[str, Sequence[Any]], origin: str, lines: Sequence[int] | None = None,
        others: Mapping[str, Sequence[Any]] | None = None, unused: tuple[str, ...] = (), *, named: bool = True,
    ) -> Rows:  # fmt: skip
        others = others or {}
        size = len(next(iter((*columns.values(), *others.values()))))
        if not size and not self.may_be_empty:
            raise DataError(origin, None, f"is empty, expected {'lines of ' if lines is not None else ''}{self.form}")
        for name, column in self.columns.items():
            if name not in columns and not column.optional:
                columns[name] = [column.default] * size
        columns = {name: columns[name] for name in self.columns if name in columns}
        rows = Rows(origin, columns, lines)

        def checked(name: str, column: Column, cells: Sequence[Any]) -> Any:
            if isinstance(column, Numbers) and isinstance(cells, Coded) and cells.commas:
                cells = replace(cells, texts=with_points(cells.texts, origin, column.noun or name), commas=False)
            values, wrong = column.values(cells)
            if wrong is not None:
                whose = f"{self._of_key(columns, wrong)}: " if self.key and name != self.key[0] else ""
                message = f"the {column.noun or name} is {shown(cells[wrong])}, expected {column.expected}"
                raise rows.fault(wrong, f"{whose}{message}")
            return values

        return self._without_repeats(
            Rows(
                origin,
                {name: checked(name, self.columns[name], cells) for name, cells in columns.items()},
                lines,
                {name: checked(name, self.others, cells) for name, cells in others.items() if self.others},
                unused,
                named,
            )
        )

    def _of_key(self, columns: Mapping[str, Any], row: int) -> str:
        """A row by its key: document 'd1'."""
        return f"{self.columns[self.key[0]].noun} {shown(columns[self.key[0]][row])}"

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
        columns = {name: _picked(column, kept) for name, column in rows.columns.items()}
        others = {name: _picked(column, kept) for name, column in rows.others.items()}
        lines = None if rows.lines is None else [rows.lines[row] for row in kept]
        return replace(rows, columns=columns, others=others, lines=lines)


def _picked(column: Any, kept: list[int]) -> Any:
    """The rows that are kept of a column."""
    if isinstance(column, Coded):
        return column.at(np.array(kept))
    return column[kept] if isinstance(column, np.ndarray) else [column[row] for row in kept]


def _cells_of(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)
