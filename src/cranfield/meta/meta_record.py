"""The base of records of meta-evaluation, and what their tables and progress have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cranfield.check import nearest
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.types import Progress


class MetaRecord(Record):
    """A result of meta-evaluation. It prints as its table; its notes say how it was computed."""

    def _metadata(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.facts}, "notes": list(getattr(self, "notes", ()))}


def upper_triangle(
    names: Sequence[str], cell: Callable[[int, int], str], caption: str, notes: tuple[str, ...]
) -> Table:
    """A table of pairs: `cell(row, column)` above the diagonal, dashes below it."""
    rows: list[tuple[Cell, ...]] = []
    for i, name in enumerate(names[:-1]):
        rows.append((name, *["-"] * i, *(cell(i, j) for j in range(i + 1, len(names)))))
    return Table((Column(""), *map(Column, names[1:])), tuple(rows), caption, notes)


def interval(value: float, low: float, high: float, measure: str = "", other: str = "", topics: int = 0) -> Estimate:
    """A table cell with an interval."""
    return Estimate(measure, other, float(value), float(low), float(high), topics, 0, 0)


def index_of(name: str, names: Sequence[str], noun: str) -> int:
    """The index of a name; the error about an unknown name suggests the most similar one."""
    if name not in names:
        raise nearest(name, names, noun)
    return names.index(name)


def report(progress: Progress | None, done: int, total: int) -> None:
    """Report progress, if the caller wants to know it."""
    if progress is not None:
        progress(done, total)


def part_of(progress: Progress, part: int, parts: int) -> Progress:
    """Report the progress of one of several equal parts as progress of the whole."""
    return lambda done, total: progress(part * total + done, parts * total)
