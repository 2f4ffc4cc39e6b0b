"""Entries of runs and qrels as lists, column by column: checked here, then handed to the core."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.collection.text_formats import COLUMNS, find_columns, namesakes
from cranfield.errors import DataError

WHAT = {"qrels": "grade", "run": "score"}
"""What the number of an entry is called in messages."""


def with_way_out(what: str) -> str:
    """What is wrong with a line, and how to go on if it is that a document is there twice, or that a grade is a letter.

    >>> with_way_out("document 'd1' appears twice for topic '7'")
    "document 'd1' appears twice for topic '7'; to keep one: on_duplicate='first' or 'max' (eval --on-duplicate)"
    >>> with_way_out("the grade is 'S', expected a number")
    "the grade is 'S', expected a number (the grades S, A, B, C are read if every line has one)"
    """
    if " appears twice for topic " in what:
        return f"{what}; to keep one: on_duplicate='first' or 'max' (eval --on-duplicate)"
    letter = re.match("the grade is '[A-Z]', expected a number", what)
    return f"{what} (the grades S, A, B, C are read if every line has one)" if letter else what


@dataclass
class Columns:
    """Entries of a run or of qrels, column by column; row i of all lists is one entry."""

    topics: list[Any]
    docs: list[Any]
    values: list[Any]
    ranks: list[Any] | None = None
    names: list[Any] | None = None
    labels: list[Any] | None = None
    origin: str = "<data>"
    """The path or the thing the columns came from, for messages."""
    unit: str = "row"
    line: Callable[[int], int] | None = None
    """On which line of the file a row stands, where the file has lines."""

    def fault(self, row: int, what: str) -> DataError:
        """What is wrong with a row, and where that row is."""
        if self.line is not None:
            return DataError(self.origin, self.line(row), what)
        return DataError(self.origin, None, f"{self.unit} {row + 1}: {what}")

    def table(self, kind: str, on_duplicate: str) -> _core.Table:
        """The checked columns in the core's hands."""
        what = WHAT[kind]
        self._check_ids(self.topics, "topic")
        self._check_ids(self.docs, "document")
        self.check_numbers(self.values, what)
        if self.ranks is not None:
            self.check_numbers(self.ranks, "rank")
        if self.labels is not None:
            self.labels = ["0" if label is None else label for label in self.labels]
        try:
            return _core.table_from_columns(
                self.names, self.topics, self.docs, self.values, self.ranks, self.labels, on_duplicate, what
            )
        except UnicodeError:
            raise DataError(self.origin, None, "an id has half a surrogate pair in it, expected text") from None
        except ValueError as error:
            repeat = re.fullmatch(r"row (\d+): (.*), first in row (\d+)", str(error), re.DOTALL)
            if repeat is None:
                raise DataError(self.origin, None, str(error)) from None
            again, told, first = repeat.groups()
            where = f"on line {self.line(int(first) - 1)}" if self.line else f"in {self.unit} {first}"
            raise self.fault(int(again) - 1, with_way_out(f"{told}, first {where}")) from None

    def _check_ids(self, column: list[Any], what: str) -> None:
        bad = {kind for kind in set(map(type, column)) if not issubclass(kind, (str, bytes, Integral))}
        bad |= {bool}.intersection(map(type, column))
        if bad:
            row = next(row for row, id_ in enumerate(column) if type(id_) in bad)
            raise self.fault(row, f"the {what} is {column[row]!r}, expected text or an integer")
        for empty in ("", b""):
            if empty in column:
                raise self.fault(column.index(empty), f"the {what} is empty")

    def check_numbers(self, column: list[Any], what: str) -> None:
        bad = {kind for kind in set(map(type, column)) if not issubclass(kind, (Real, Decimal))}
        bad |= {bool}.intersection(map(type, column))
        if bad:
            row = next(row for row, value in enumerate(column) if type(value) in bad)
            raise self.fault(row, f"the {what} is {shown(column[row])}, expected a number")
        try:
            numbers = np.asarray(column, dtype=np.float64)
        except OverflowError:
            row = next(row for row, value in enumerate(column) if not _fits(value))
            raise self.fault(row, f"the {what} is {shown(column[row])}, too large for a 64-bit number") from None
        if np.isnan(numbers).any():
            row = int(np.flatnonzero(np.isnan(numbers))[0])
            raise self.fault(row, f"the {what} is nan, not a number that can be ordered")


def shown(value: object) -> str:
    """A value as it may be shown in a message: not too long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def _fits(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def chosen(names: Sequence[str], kind: str, origin: str) -> dict[str, int]:
    """The columns of known names by role; an error names what is missing and what it may be called."""
    found = find_columns(names, kind)
    if wrong := namesakes(names, found.values()):
        raise DataError(origin, None, wrong)
    if "value" not in found and "rank" in found:
        found["value"] = found["rank"]
    for role in ("topic", "doc", "value"):
        if role not in found:
            words = COLUMNS[WHAT[kind] if role == "value" else role]
            what = {"topic": "the topic", "doc": "the document", "value": f"the {WHAT[kind]}"}[role]
            raise DataError(
                origin, None,
                f"no column for {what} among {', '.join(map(str, names))}; expected one called {', '.join(words)}",
            )  # fmt: skip
    return found
