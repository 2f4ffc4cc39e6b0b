"""Tables whose first line, or whose JSON objects, name the columns: the form of most files that people bring along."""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from cranfield.collection.source import Buffer, check_complete, release, unmarked
from cranfield.errors import DataError
from cranfield.text import counted, listed, shown
from cranfield.types import Index32

BLOCK = 1 << 20
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


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


@dataclass(frozen=True)
class NamedTable:
    """The columns of a file by name, and the line of each row."""

    names: Sequence[str]
    columns: Sequence[Sequence[Any]]
    lines: Sequence[int]


def read_csv(text: Iterable[str], delimiter: str, origin: str, content: str) -> NamedTable:
    """A table with a header. Rows without any text are left out; `content` is what rows hold, for messages.

    text: blocks of whole lines, such as `text_blocks` gives.

    >>> table = read_csv(["query,count\\nmaps,3\\n\\n"], ",", "log.csv", "queries")
    >>> [list(column) for column in table.columns], list(table.lines)
    ([['maps'], ['3']], [2])
    """
    reader = csv.reader(lines_of(text), delimiter=delimiter)
    rows = (row for row in reader if row and (len(row) > 1 or row[0].strip()))
    lines = array("I")
    try:
        names = next(rows)
        known: list[dict[str, int]] = [{} for _ in names]
        numbers = [array("i") for _ in names]
        for row in rows:
            if len(row) != len(names):
                what = f"{counted(len(row), 'column')}, expected {len(names)} as in the header"
                raise DataError(origin, reader.line_num, what)
            for texts, number, cell in zip(known, numbers, row, strict=True):
                number.append(texts.setdefault(cell, len(texts)))
            lines.append(reader.line_num)
    except csv.Error as error:
        raise DataError(origin, reader.line_num, f"not a valid table: {error}") from None
    if not lines:
        raise DataError(origin, None, f"holds no {content}, only a header")
    columns = []
    for number in numbers:  # the first dict leaves the memory before the texts of the second are listed
        columns.append(Coded(list(known.pop(0)), np.frombuffer(number, dtype=np.int32)))
    return NamedTable(names, columns, lines)


def lines_of(text: Iterable[str]) -> Iterator[str]:
    """The lines of blocks of whole lines, with their ends, one after the other: they are never in memory together.

    >>> list(lines_of(["a\\r\\nb\\rc\\n", "\\nd"]))
    ['a\\r\\n', 'b\\r', 'c\\n', '\\n', 'd']
    """
    return (match[0] for block in text for match in LINE.finditer(block))


def text_blocks(buffer: Buffer, origin: str) -> Iterator[str]:
    """The text of a file in blocks of whole lines, without byte order marks; bytes that are not UTF-8 are surrogates.

    A NUL byte anywhere in the file is an error.
    """
    size = len(buffer)
    for begin in range(0, size, BLOCK):
        if b"\0" in (block := bytes(buffer[begin : begin + BLOCK])):
            before = sum(bytes(buffer[at : at + BLOCK]).count(b"\n") for at in range(0, begin, BLOCK))
            line = before + block.count(b"\n", 0, block.index(b"\0")) + 1
            raise DataError(origin, line, "a NUL byte: binary data, expected text")
        release(buffer, begin)
    begin = 0
    while begin < size:
        end = begin + BLOCK
        while end < size and (more := bytes(buffer[end : end + BLOCK]).find(b"\n")) < 0:
            end += BLOCK
        end = end + more + 1 if end < size else size
        data = bytes(buffer[begin:end])
        yield (data if begin else unmarked(data)).decode("utf-8", "surrogateescape")
        begin = end
        release(buffer, begin)
    check_complete(buffer)


def read_json_lines(text: Iterable[str], origin: str, expected: str, *, complete: bool = False) -> NamedTable:
    """An object per line. With `complete`, every object has the names of the first one; else None fills the gaps.

    text: blocks of whole lines, such as `text_blocks` gives.

    >>> read_json_lines(['{"query": "maps"}\\n{"query": "news", "count": 2}'], "log.jsonl", "an object").columns
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
    return NamedTable(list(columns), list(columns.values()), lines)
