"""The cells of small files: lines of columns with or without a header, and JSON lines, column by column."""

from __future__ import annotations

import csv
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, repeat
from typing import Any, overload

import numpy as np

from cranfield.collection.doors import text_blocks
from cranfield.collection.source import HEAD, Buffer, check_content, check_encoding, unmarked
from cranfield.errors import DataError
from cranfield.text import counted, listed, shown
from cranfield.types import Index32

MOST_COLUMNS = 10_000
BATCH = 10_000
"""How many rows with quoted cells are taken together."""
Lines = tuple[list[str], Sequence[int]]
"""Some lines, and their numbers."""


@dataclass(frozen=True, eq=False)
class Coded(Sequence[str]):
    """A column of texts: each distinct text once, and for each row its number. Most columns repeat most of their texts.

    >>> column = Coded.of(["b", "a", "b"])
    >>> list(column), column.texts, column.number
    (['b', 'a', 'b'], ['b', 'a'], array([0, 1, 0], dtype=int32))
    """

    texts: Sequence[str]
    """In the order of appearance."""
    number: Index32
    commas: bool = False
    """Numbers may have a decimal comma: the file has semicolons between cells."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Coded:
        known: dict[str, int] = {}
        number = array("i", (known.setdefault(text, len(known)) for text in texts))
        return cls(list(known), np.frombuffer(number, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.number)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self.texts[number] for number in self.number[at].tolist()]
        return self.texts[int(self.number[at])]

    def __iter__(self) -> Iterator[str]:
        return map(self.texts.__getitem__, np.ascontiguousarray(self.number).data)

    def mapped(self, change: Callable[[str], str]) -> Coded:
        """The column with every text changed; texts that become the same have one number."""
        changed = list(map(change, self.texts))
        if changed == self.texts:
            return self
        texts = Coded.of(changed)
        return Coded(texts.texts, self.number if len(texts.texts) == len(self.texts) else texts.number[self.number])

    def at(self, number: Index32) -> Coded:
        """The texts in rows of this column."""
        return Coded(self.texts, self.number[number])

    def first(self, number: int) -> int:
        """The first row that has a text."""
        return int(np.argmax(self.number == number))

    def kept(self, keep: np.ndarray) -> Coded:
        """The rows that are kept, with their texts in the order of appearance."""
        number = self.number[keep]
        distinct, first, place = np.unique(number, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return Coded([self.texts[at] for at in distinct[order].tolist()], rank[place])


@dataclass(frozen=True, eq=False)
class Cells:
    """The columns of a file, the line of each row, and the header if there is one."""

    columns: Sequence[Sequence[Any]]
    lines: Sequence[int]
    names: list[str] | None = None
    header_line: int | None = None


@dataclass(frozen=True)
class LineForm:
    """How the lines of a file are split into cells."""

    expected: str
    """What a line holds, for messages."""
    widths: Sequence[int]
    """The allowed numbers of columns."""
    separators: str = "\t,; "
    """The separator is the first of these that splits a line into an allowed number of columns; a blank means any mix
    of spaces and tabs."""
    quoted: str = ",;"
    """The separators between which cells may be quoted, even over several lines."""
    mixed: bool = False
    """Find the separator of each line, and allow rows of several widths. Otherwise the first line decides."""
    comments: bool = False
    """Leave out lines that begin with `#`."""
    strip: bool = True
    """Remove blanks around cells."""
    complete: bool = False
    """Every object of JSON lines has the names of the first; otherwise None fills the gaps."""
    any_bytes: bool = False
    """Read lines that are not UTF-8: who reads them counts them."""
    objects: bool = True
    """A file may also be JSON lines."""
    is_header: Callable[[list[str]], bool] = lambda cells: False
    fits: Callable[[list[str]], bool] = lambda cells: True
    """A further condition on the cells of a line; a separator that does not meet it is not used."""

    def separator(self, line: str) -> str:
        """The separator of a line; if none splits it into an allowed number of columns, the first that it has."""
        for separator in self.separators:
            cells = split(line, separator, self.quoted)
            if len(cells) in self.widths and self.fits(cells):
                return separator
        return next((mark for mark in self.separators if mark != " " and mark in line), " ")


class _Numbered(dict[str, int]):
    """The number of each text, in the order of appearance."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


def read_cells(data: Buffer, origin: str, form: LineForm) -> Cells:
    """The cells of the lines, or of the JSON lines, in a file; texts are `Coded`."""
    check_content(bytes(data[:HEAD]), origin, cr_ends=True)
    if form.objects and unmarked(bytes(data[:HEAD])).lstrip().startswith(b"{"):
        expected = f"an object with {form.expected}"
        return _objects(text_blocks(data, origin), origin, expected, complete=form.complete)
    try:
        return _cells(data, origin, form, form.quoted)
    except csv.Error:  # a quote that does not belong to the form
        return _cells(data, origin, form, "")


def _objects(text: Iterable[str], origin: str, expected: str, *, complete: bool = False) -> Cells:
    """An object per line. With `complete`, every object has the names of the first one; else None fills the gaps.

    text: blocks of whole lines, such as `text_blocks` gives.

    >>> _objects(['{"query": "maps"}\\n{"query": "news", "count": 2}'], "log.jsonl", "an object").columns
    [['maps', 'news'], [None, 2]]
    """
    columns: dict[str, list[Any]] = {}
    lines = array("I")
    known: dict[str, str] = {}  # a text that is repeated is in memory once
    for number, line in enumerate((line for block in text for line in block.removesuffix("\n").split("\n")), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(origin, number, f"not valid JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(origin, number, f"is {shown(record)}, expected {expected}")
        if complete and lines and (absent := [name for name in columns if name not in record]):
            raise DataError(origin, number, f"no {listed(absent)}, which line {lines[0]} has")
        if not lines or not complete:
            columns |= {name: [None] * len(lines) for name in record if name not in columns}
        for name, column in columns.items():
            value = record.get(name)
            column.append(known.setdefault(value, value) if isinstance(value, str) else value)
        lines.append(number)
    return Cells(list(columns.values()), lines, list(columns), lines[0] if lines else None)


def _cells(data: Buffer, origin: str, form: LineForm, quoted: str) -> Cells:
    blocks = _blocks(data, origin, form)
    first = next(blocks, None)
    if first is None:
        raise DataError(origin, None, f"is empty, expected lines of {form.expected}")
    blocks = chain([first], blocks)
    separator = form.separator(first[0][0])
    names, header_line = None, None
    known: list[_Numbered] = []
    numbers: list[array[int]] = []
    lines = array("I")
    widest = 0
    for rows, places in _mixed(blocks, form) if form.mixed else _rows(blocks, separator, quoted):
        if not known:
            top = split(rows[0], separator) if isinstance(rows[0], str) else [cell.strip() for cell in rows[0]]
            width, first_line = len(top), places[0]
            if width in form.widths and form.is_header(top):
                names, header_line = top, first_line
                rows, places = rows[1:], places[1:]
            count = max(form.widths) if form.mixed and width in form.widths else width
            known, numbers = [_Numbered() for _ in range(count)], [array("i") for _ in range(count)]
        columns = _columns(rows, separator, width) if width in form.widths else None
        if columns is None:
            rows = [row.split(None if separator == " " else separator) if isinstance(row, str) else row for row in rows]
            widest = max(widest, _widest(rows, places, origin, form, width, first_line))
            padded = [row + [""] * (count - len(row)) for row in rows] if form.mixed else rows
            columns = list(zip(*padded, strict=True))
        for texts, number, column in zip(known, numbers, columns, strict=bool(rows)):
            number.extend(map(texts.__getitem__, column))
        lines.extend(places)
    made = []
    for number in numbers[
        : widest or width
    ]:  # the first dict leaves the memory before the texts of the second are listed
        coded = Coded(list(known.pop(0)), np.frombuffer(number, dtype=np.int32))
        coded = coded.mapped(str.strip) if form.strip and separator != " " else coded
        made.append(replace(coded, commas=separator == ";" and not form.mixed))
    return Cells(made, lines, names, header_line)


def _columns(rows: Sequence[Any], separator: str, width: int) -> Sequence[Sequence[str]] | None:
    """The columns of lines that all have a width, without a list for each line; None if they have not, or are split."""
    if not rows or not isinstance(rows[0], str) or set(map(str.count, rows, repeat(separator))) != {width - 1}:
        return None
    text = separator.join(rows)
    cells = text.split(separator)
    if separator == " " and cells != text.split():  # several blanks, or tabs
        return None
    return [cells[column::width] for column in range(width)]


def _widest(
    rows: list[list[str]], lines: Sequence[int], origin: str, form: LineForm, width: int, first_line: int
) -> int:
    """The number of columns of the widest row; a row whose number is not allowed is an error."""
    widths = set(map(len, rows))
    allowed = form.widths if form.mixed else [width] if width in form.widths else []
    if not widths.issubset(allowed):
        line, cells = next((line, row) for line, row in zip(lines, rows, strict=True) if len(row) not in allowed)
        like = f" as on line {first_line}" if len(form.widths) > 1 else ""
        number = f"{allowed[0]}{like}: " if len(allowed) == 1 else ""
        raise DataError(origin, line, f"{counted(len(cells), 'column')}, expected {number}{form.expected}")
    return max(widths, default=0)


def _blocks(data: Buffer, origin: str, form: LineForm) -> Iterator[Lines]:
    """The lines that are neither blank nor comments, some at a time."""
    before = 1
    for text in text_blocks(data, origin):
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not form.any_bytes:
            check_encoding(text, before - 1, origin)
        lines = text.removesuffix("\n").split("\n")
        places: Sequence[int] = range(before, before + len(lines))
        before += len(lines)
        kept = [bool(line) and not line.isspace() for line in lines]
        if form.comments and "#" in text:
            kept = [keep and not line.lstrip().startswith("#") for keep, line in zip(kept, lines, strict=True)]
        if not all(kept):
            lines, places = list(compress(lines, kept)), list(compress(places, kept))
        if lines:
            yield lines, places


def split(line: str, separator: str, quoted: str = "") -> list[str]:
    """The cells of a line, without the blanks around them."""
    if separator == " ":
        return line.split()
    if separator in quoted and '"' in line:
        try:
            return [cell.strip() for cell in next(_reader([line], separator))]
        except csv.Error:
            pass  # not a quoted cell
    return [cell.strip() for cell in line.split(separator)]


def _reader(lines: Iterable[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _mixed(blocks: Iterable[Lines], form: LineForm) -> Iterator[tuple[list[list[str]], Sequence[int]]]:
    """The cells of lines that each have a separator of their own."""
    for lines, places in blocks:
        yield [split(line, form.separator(line), form.quoted) for line in lines], places


def _rows(blocks: Iterator[Lines], separator: str, quoted: str) -> Iterator[tuple[list[Any], Sequence[int]]]:
    """Lines as they are; from the first quote on, they are read as CSV, and split into cells."""
    for lines, places in blocks:
        if separator in quoted and any('"' in line for line in lines):
            yield from _quoted_rows(chain([(lines, places)], blocks), separator)
        else:
            yield lines, places


def _quoted_rows(blocks: Iterable[Lines], separator: str) -> Iterator[tuple[list[list[str]], Sequence[int]]]:
    """Rows whose cells may be quoted, with the line on which each begins."""
    numbers = array("I")

    def lines_of() -> Iterator[str]:
        for lines, places in blocks:
            numbers.extend(places)
            for line in lines:
                yield f"{line}\n"

    reader = _reader(lines_of(), separator)
    rows, places, start = [], array("I"), 0
    for cells in reader:
        rows.append(cells)
        places.append(numbers[start])
        start = reader.line_num
        if len(rows) == BATCH:
            yield rows, places
            rows, places = [], array("I")
    if rows:
        yield rows, places


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


def number_or_none(value: object) -> float | None:
    """As `number_in`; None for a value that holds no number, such as a truth value or a list.

    >>> number_or_none("0.5"), number_or_none("high"), number_or_none(True)
    (0.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return number_in(value)
    except ValueError:
        return None
