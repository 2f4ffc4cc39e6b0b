"""Entries of runs and qrels as lists, column by column: checked here, then passed to the core."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.collection.column_names import VALUE
from cranfield.collection.grade_labels import grades_of, way_out_of_words
from cranfield.errors import CranfieldWarning, DataError, warn_caller


def decimal_comma(message: str) -> str:
    """The end of a message about a number with a decimal comma; empty for other messages.

    >>> decimal_comma("the score is '0,5', expected a number")
    '; numbers need a decimal point: 0.5'
    """
    comma = re.search(r"is '([-+]?\d*),(\d+)', expected a number$", message)
    return f"; numbers need a decimal point: {comma[1]}.{comma[2]}" if comma else ""


def with_points(texts: Sequence[str], origin: str, noun: str) -> Sequence[str]:
    """Numbers between semicolons, where a spreadsheet writes 0,5 for 0.5: with a point, and a warning that says so."""
    if not has_decimal_commas(texts):
        return texts
    first = next(text.strip() for text in texts if "," in text)
    point = first.replace(",", ".")
    warn_caller(f"{origin}: the {noun} has decimal commas; {first} is read as {point}", CranfieldWarning)
    return [text.replace(",", ".") for text in texts]


def has_decimal_commas(texts: Sequence[str]) -> bool:
    """Whether texts are numbers, some of which have a comma in place of the point.

    >>> has_decimal_commas(["0,5", "1", ""]), has_decimal_commas(["0,5", "1.5"]), has_decimal_commas(["0.5"])
    (True, False, False)
    """
    return any("," in text for text in texts) and all(map(_COMMA.fullmatch, texts))


_COMMA = re.compile(r"\s*([-+]?(\d+(,\d*)?|,\d+)(e[-+]?\d+)?)?\s*", re.IGNORECASE)
"""A number that may have a decimal comma, or nothing."""


def with_way_out(message: str) -> str:
    """Add what to do about a document that appears twice, a decimal comma, or a grade that is a letter.

    >>> with_way_out("document 'd1' appears twice for topic '7'")
    "document 'd1' appears twice for topic '7'; to keep one: on_duplicate='first' or 'max'"
    >>> with_way_out("the grade is 'S', expected a number")
    "the grade is 'S', expected a number (the grades S, A, B, C are read if every line has one)"
    """
    if " appears twice for topic " in message:
        split = ", or a run for each tag: split_tags=True" if re.search(r"with [\d,]+ tags$", message) else ""
        return f"{message}; to keep one: on_duplicate='first' or 'max'{split}"
    if comma := decimal_comma(message):
        return f"{message}{comma}"
    letter = re.match("the grade is '[A-Z]', expected a number", message)
    return f"{message} (the grades S, A, B, C are read if every line has one)" if letter else message


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
    """The path of the file, or the object, for messages."""
    unit: str = "row"
    line: Callable[[int], int] | None = None
    """The line of a row, for files with lines."""
    label_name: str = ""
    """What the data calls the column of labels, as `column_names` spells it."""
    rows: list[int] | None = None
    """The record of each entry, if a record may hold several."""
    notes: tuple[str, ...] = ()
    """What readers of the scores must know."""

    def fault(self, row: int, message: str) -> DataError:
        """The error about a row, with its place."""
        row = self._record(row)
        if self.line is not None:
            return DataError(self.origin, self.line(row), message)
        return DataError(self.origin, None, f"{self.unit} {row + 1}: {message}")

    def _record(self, row: int) -> int:
        """The record that holds an entry."""
        return row if self.rows is None else self.rows[row]

    @property
    def tags(self) -> list[str]:
        """The different names of runs."""
        self._check_labels(self.names, "run")
        return [str(name) for name in dict.fromkeys(self.names or ())]

    def check(self, kind: str) -> None:
        """Check the ids and numbers; grades that are true or false become 1 and 0, missing labels 0."""
        noun = VALUE[kind]
        self._check_labels(self.labels, "label")
        self._check_ids(self.topics, "topic")
        self._check_ids(self.docs, "document")
        if kind == "qrels":
            self.values = grades_of(self.values)
        if kind == "qrels" and bool in set(map(type, self.values)):
            self.values = [int(value) if type(value) is bool else value for value in self.values]
        self.check_numbers(self.values, noun)
        if self.ranks is not None:
            self.check_numbers(self.ranks, "rank")
        if self.labels is not None:
            self.labels = ["0" if label is None else label for label in self.labels]

    def table(self, kind: str, on_duplicate: str, split_tags: bool = False) -> _core.Table:
        """Check the columns and return the core's table, as one run or as a run for each tag."""
        self.check(kind)
        noun = VALUE[kind]
        self._warn_of_infinite(noun)
        together = len(self.tags) > 1 and not split_tags
        try:
            return _core.table_from_columns(
                None if together else self.names, self.topics, self.docs, self.values, self.ranks, self.labels,
                on_duplicate, noun,
            )  # fmt: skip
        except UnicodeError:
            raise DataError(self.origin, None, "an id contains half a surrogate pair, expected text") from None
        except ValueError as error:
            repeat = re.fullmatch(r"row (\d+): (.*), first in row (\d+)", str(error), re.DOTALL)
            if repeat is None:
                raise DataError(self.origin, None, str(error)) from None
            again, message, first = repeat.groups()
            record = self._record(int(first) - 1)
            where = f"on line {self.line(record)}" if self.line else f"in {self.unit} {record + 1}"
            tags = f", in data with {len(self.tags)} tags" if together else ""
            raise self.fault(int(again) - 1, with_way_out(f"{message}, first {where}{tags}")) from None

    def _check_ids(self, column: list[Any], noun: str) -> None:
        row = _wrong_type(column, (str, bytes, Integral))
        if row is not None:
            raise self.fault(row, f"the {noun} is {column[row]!r}, expected text or an integer")
        for empty in ("", b""):
            if empty in column:
                raise self.fault(column.index(empty), f"the {noun} is empty")

    def _check_labels(self, column: list[Any] | None, noun: str) -> None:
        """Raise an error about the first entry that cannot be a name, such as a list; it may be missing."""
        row = _wrong_type(column or [], (str, bytes, Real, Decimal, type(None)))
        if column is not None and row is not None:
            raise self.fault(row, f"the {noun} is {shown(column[row])}, expected text")

    def check_numbers(self, column: list[Any], noun: str) -> None:
        """Raise an error about the first entry that is not a number."""
        row = _wrong_type(column, (Real, Decimal))
        if row is not None:
            raise self.not_a_number(row, column, noun)
        try:
            numbers = np.asarray(column, dtype=np.float64)
        except OverflowError:
            row = next(row for row, value in enumerate(column) if sys.float_info.max < abs(value) < math.inf)
            raise self.fault(row, f"the {noun} is {shown(column[row])}, too large for a 64-bit number") from None
        if np.isnan(numbers).any():
            row = int(np.flatnonzero(np.isnan(numbers))[0])
            raise self.fault(row, f"the {noun} is nan, not a number that can be ordered")

    def not_a_number(self, row: int, column: list[Any], noun: str) -> DataError:
        """The error about an entry that is not a number, with what to do about it."""
        message = with_way_out(f"the {noun} is {shown(column[row])}, expected a number")
        words = way_out_of_words(value for value in column if isinstance(value, str)) if noun == "grade" else ""
        return self.fault(row, f"{message}{words}")

    def infinite(self) -> Iterator[tuple[str, list[int]]]:
        """The rows with an infinite number, by its role; the columns are checked."""
        for role, column in (("value", self.values), ("rank", self.ranks)):
            rows = np.flatnonzero(np.isinf(np.asarray(column or (), dtype=np.float64))).tolist()
            if rows:
                yield role, rows

    def _warn_of_infinite(self, noun: str) -> None:
        for role, rows in self.infinite():
            column = self.ranks if role == "rank" else self.values
            assert column is not None
            name = "rank" if role == "rank" else noun
            self.warn(rows, f"the {name} is {shown(column[rows[0]])}, infinite as a 64-bit number")

    def warn(self, rows: list[int], message: str) -> None:
        """Warn about the first of these rows, and say how many there are."""
        more = f" ({len(rows)} {self.unit}s like this)" if len(rows) > 1 else ""
        warn_caller(str(self.fault(rows[0], message + more)), CranfieldWarning)


def _wrong_type(column: list[Any], types: tuple[type, ...]) -> int | None:
    """The first row whose value is of another type, or a bool; looks at each type once, not at each value."""
    wrong = {kind for kind in set(map(type, column)) if kind is bool or not issubclass(kind, types)}
    return next(row for row, value in enumerate(column) if type(value) in wrong) if wrong else None


def shown(value: object) -> str:
    """A value for a message, cut off if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
