"""The base of records of meta-evaluation, and functions that turn arrays into columns and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import record
from cranfield.check import nearest
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.types import Progress

Columns = dict[str, NDArray[Any]]


class MetaRecord(Record):
    """A result of meta-evaluation. It prints as its table; its notes say how it was computed."""

    facts: ClassVar[tuple[str, ...]] = ()
    """Attributes that accompany the rows in JSON and in frames."""

    def _metadata(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.facts}, "notes": list(getattr(self, "notes", ()))}

    def told(self) -> tuple[str, ...]:
        """The notes. An older name, which still works."""
        return tuple(getattr(self, "notes", ()))


def labels(values: Iterable[Any]) -> NDArray[Any]:
    """An array for a column; texts become objects."""
    entries = list(values)
    return np.array(entries, dtype=object if not entries or isinstance(entries[0], str) else None)


def attributes(objects: Sequence[object], *names: str) -> Columns:
    """A column for each attribute, with a row per object."""
    return {name: labels(getattr(thing, name) for thing in objects) for name in names}


def crossed(axes: Mapping[str, Iterable[Any]], values: Mapping[str, NDArray[Any]]) -> Columns:
    """Columns with a row for every combination of labels; the values have one dimension per axis.

    >>> crossed({"run": ["a", "b"], "topic": [1]}, {"score": np.array([[0.5], [0.7]])})["run"].tolist()
    ['a', 'b']
    """
    names = [labels(axis) for axis in axes.values()]
    index = np.indices([len(axis) for axis in names]).reshape(len(names), -1)
    columns = {name: axis[i] for name, axis, i in zip(axes, names, index, strict=True)}
    return {**columns, **{name: array.ravel() for name, array in values.items()}}


def stacked(records: Iterable[Record]) -> Columns:
    """The columns of several records with the same columns, one record after the other."""
    parts = [record.columns() for record in records]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def rows_of(columns: Mapping[str, NDArray[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Columns row by row, as Python values."""
    return tuple(zip(*(column.tolist() for column in columns.values()), strict=True))


def table_of(
    columns: Mapping[str, NDArray[Any]],
    notes: tuple[str, ...] = (),
    caption: str = "",
    names: Mapping[str, str] | None = None,
) -> Table:
    """A table of texts, counts and numbers; `names` has other headings for some columns."""
    renamed = {(names or {}).get(name, name): column for name, column in columns.items()}
    return record.table_of(renamed, caption=caption, notes=notes)


def headings(kind: str, *names: str, better: str = "neither") -> tuple[Column, ...]:
    """Table columns of one kind: text, number, count or probability."""
    return tuple(Column(name, kind, better) for name in names)


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
