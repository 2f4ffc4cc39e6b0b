"""The files of NTCIREVAL: lists, judged documents, equivalence classes; columns between any separators."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from cranfield.collection.doors import load_lines, reads
from cranfield.collection.source import Buffer, load, text_of
from cranfield.errors import DataError
from cranfield.text import counted

T = TypeVar("T")


@reads
def text_lines(path: str, data: Buffer | None = None) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text_of(load(path) if data is None else data).split("\n"), 1):
        line = line.rstrip("\r")
        if line and not line.startswith("#"):
            yield number, line


def fields(path: str, separator: str, data: Buffer | None = None) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line, separated by one or more of the characters."""
    between = re.compile(f"[{re.escape(separator)}]+")
    for number, line in text_lines(path, data):
        cells = [cell for cell in between.split(line) if cell]
        if cells:
            yield number, cells


def read_judged(path: str, separator: str, expected: str, parse: Callable[[int, str], T]) -> dict[str, T]:
    """{document: value} from the first two columns; `parse` returns the value of a line number and a text."""

    def read(data: Buffer) -> dict[str, T]:
        judged: dict[str, T] = {}
        for number, cells in fields(path, separator, data):
            if len(cells) < 2:
                raise too_few(path, number, cells, 2, expected)
            if cells[0] in judged:
                raise DataError(path, number, f"document {cells[0]!r} appears twice")
            judged[cells[0]] = parse(number, cells[1])
        return judged

    return read(load_lines(path, expected, read))


def too_few(path: str, number: int, cells: list[str], columns: int, expected: str) -> DataError:
    """The error for a line with too few columns; other separators in the line are the likely cause."""
    between = next((mark for mark in (";", "\t", ",") if len(cells) == 1 and cells[0].count(mark) >= columns - 1), None)
    hint = f"; if {between!r} separates the columns, add -sep {shlex.quote(between)}" if between else ""
    return DataError(path, number, f"{counted(len(cells), 'column')}, expected {columns}: {expected}{hint}")


def gain_of(path: str, number: int, text: str, what: str = "gain") -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise DataError(path, number, f"the {what} is {text!r}, expected a number, 0 or more")
    return value


def level_of(levels: int, path: str, number: int, label: str) -> int:
    if not re.fullmatch(r"L\d+", label):
        raise DataError(path, number, f"the level is {label!r}, expected L0, L1, ...")
    if int(label[1:]) > levels:
        raise DataError(path, number, f"the level is {label}, but -g gives gains up to L{levels}")
    return int(label[1:])


class Classed(NamedTuple):
    """A judged document: its level, and its equivalence class."""

    level: str
    number: str


def read_classes(path: str, separator: str) -> dict[str, Classed]:
    """{document: level and class} from lines `doc level class`."""
    expected = "doc level class"

    def read(data: Buffer) -> dict[str, Classed]:
        judged: dict[str, Classed] = {}
        for number, cells in fields(path, separator, data):
            if len(cells) < 3:
                raise too_few(path, number, cells, 3, expected)
            if not cells[2].isdecimal() or int(cells[2]) < 1:
                raise DataError(
                    path, number, f"the equivalence class is {cells[2]!r}, must be a whole number, 1 or more"
                )
            if cells[0] in judged:
                raise DataError(path, number, f"document {cells[0]!r} appears twice")
            judged[cells[0]] = Classed(cells[1], cells[2])
        return judged

    return read(load_lines(path, expected, read))


def levels_of_classes(judged: dict[str, Classed], parse: Callable[[str], int]) -> list[int]:
    """The highest level of each class with a relevant document; other classes do not count."""
    highest: dict[int, int] = {}
    for level, number in judged.values():
        highest[int(number)] = max(highest.get(int(number), 0), parse(level))
    return [level for level in highest.values() if level]


def is_separated(path: str, separator: str) -> bool:
    """Whether the first line of a file has one of these separators; a pipe, which is read once, is said to."""
    if not os.path.isfile(path):
        return True
    return any(mark in line for _, line in islice(text_lines(path), 1) for mark in separator)


def separated_judgments(path: str, separator: str) -> dict[str, dict[str, int]]:
    """{topic: {document: level}} from lines `topic doc level`, with or without a class, or `topic 0 doc grade`."""

    def read(data: Buffer) -> dict[str, dict[str, int]]:
        judged: dict[str, dict[str, int]] = {}
        columns, doc, level, expected = 3, 1, 2, "topic doc level"
        for number, cells in fields(path, separator, data):
            if not judged and len(cells) > 3:
                in_trec = not re.fullmatch(r"L\d+", cells[2])
                columns, doc, level = (4, 2, 3) if in_trec else (4, 1, 2)
                expected = "topic iteration doc grade" if in_trec else "topic doc level class"
            if len(cells) < columns:
                raise too_few(path, number, cells, columns, expected)
            if not re.fullmatch(r"L?-?\d+", cells[level]):
                raise DataError(path, number, f"the level is {cells[level]!r}, expected L0, L1, ... or a whole number")
            of_topic = judged.setdefault(cells[0], {})
            if cells[doc] in of_topic:
                raise DataError(path, number, f"document {cells[doc]!r} appears twice for topic {cells[0]!r}")
            of_topic[cells[doc]] = int(cells[level].removeprefix("L"))
        return judged

    return read(load_lines(path, "topic doc level", read))


def separated_run(path: str, separator: str) -> dict[str, list[str]]:
    """{topic: documents in the order of the file} from lines `topic dummy doc rank score run`."""
    expected = "topic dummy doc rank score run"

    def read(data: Buffer) -> dict[str, list[str]]:
        run: dict[str, list[str]] = {}
        for number, cells in fields(path, separator, data):
            if len(cells) < 3:
                raise too_few(path, number, cells, 6, expected)
            run.setdefault(cells[0], []).append(cells[2])
        return run

    return read(load_lines(path, expected, read))
