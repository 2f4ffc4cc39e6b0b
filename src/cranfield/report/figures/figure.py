"""What a picture shows, as data: tidy columns, axes, titles and notes. Drawing comes after, and needs more packages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.table import Cell, Column, Table, printable

Columns = Mapping[str, NDArray[Any]]

AXIS_KINDS = ("number", "share", "count", "category")


@dataclass(frozen=True)
class Axis:
    """Which column runs along an axis, and how the axis is labelled; a unit stands in the label.

    `low` and `high` fix its ends. A `share` is told in percent; a `category` keeps the order of the column.
    """

    column: str
    label: str
    kind: str = "number"
    low: float | None = None
    high: float | None = None
    reverse: bool = False

    def __post_init__(self) -> None:
        check.one_of(f"axis {self.label!r}", AXIS_KINDS, kind=self.kind)


@dataclass(frozen=True)
class Reference:
    """A line to read values against, such as α, across the whole picture."""

    axis: str
    value: float
    text: str

    def __post_init__(self) -> None:
        check.one_of(f"reference {self.text!r}", ("x", "y"), axis=self.axis)


@dataclass(frozen=True, eq=False, repr=False)
class Figure(Tidy):
    """A picture before it is drawn. `kind` says how it is drawn: the module of this package with that name does it.

    >>> from cranfield.report.figures import describe_asl
    >>> describe_asl({"AP": [0.04, 0.01], "RR": [0.2, 0.03]})
    Figure(lines: 4 rows of measure, pairs, p)
    """

    kind: str
    data: Columns
    x: Axis
    y: Axis
    by: Axis | None = None
    """The column that tells lines (or parts of bars) from one another."""
    title: str = ""
    subtitle: str = ""
    """What must be known to read the picture, in a line or two below the title."""
    references: tuple[Reference, ...] = ()
    also: Mapping[str, Columns] = field(default_factory=dict)
    """Further rows that are drawn: points beyond whiskers, iso-lines."""
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        return dict(self.data)

    def _metadata(self) -> dict[str, Any]:
        return {"title": self.title, "subtitle": self.subtitle, "notes": list(self.notes)}

    def __repr__(self) -> str:
        n = len(next(iter(self.data.values())))
        return f"Figure({self.kind}: {n:,} rows of {', '.join(self.data)})"

    def table(self, digits: int | None = None) -> Table:
        """The numbers behind the picture, for every output format."""
        kinds = {"f": "number", "i": "count", "u": "count"}
        heads = tuple(Column(name, kinds.get(column.dtype.kind, "text")) for name, column in self.data.items())
        told = [_cells(column) for column in self.data.values()]
        rows: tuple[tuple[Cell, ...], ...] = tuple(zip(*told, strict=True))
        notes = tuple(text for text in (*self.subtitle.split("\n"), *self.notes) if text)
        return Table(heads, rows, caption=self.title, notes=notes, digits=digits)

    def draw(self) -> Any:
        """An altair chart, to be shown in a notebook or worked on further."""
        return import_module(f"cranfield.report.figures.draw.{self.kind}").draw(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture; the ending of the name says how: html, svg, pdf, png, json (Vega-Lite) or csv (the data).

        Neither a browser nor a network is needed, to write it or to look at it.
        """
        from cranfield.report.figures.saving import save

        save(self, path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.draw()._repr_mimebundle_(include, exclude)


def _cells(column: NDArray[Any]) -> list[Any]:
    return [("yes" if x else "") if isinstance(x, bool) else x for x in column.tolist()]


# -- what descriptions are made of


def names(labels: Any) -> NDArray[Any]:
    """Labels as a picture can show them: control characters and bytes that are no text are spelled out."""
    return np.array([printable(str(one)) for one in labels], dtype=object)


def numbers(values: Any, who: str) -> NDArray[np.float64]:
    """A column of numbers; NaN is a hole, infinity cannot be drawn."""
    try:
        made = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{who} must hold numbers") from None
    if made.ndim != 1:
        raise UsageError(f"{who}.shape == {made.shape}, must be one number a row")
    if np.isinf(made).any():
        raise UsageError(f"{who} has an infinite value (row {int(np.flatnonzero(np.isinf(made))[0]) + 1})")
    return made


def columns_of(source: Any, *wanted: str) -> dict[str, NDArray[Any]]:
    """All columns of a mapping, of a frame, or of any record that tells its columns; those wanted must be there.

    >>> columns_of({"n": [10, 20], "power": [0.2, 0.4]}, "n", "powr")
    Traceback (most recent call last):
    cranfield.errors.UsageError: no column 'powr'; did you mean 'power'?
    """
    told = source.columns() if isinstance(source, Tidy) else source
    try:
        found = {str(name): np.asarray(told[name]) for name in (told if isinstance(told, Mapping) else told.columns)}
    except (AttributeError, TypeError):
        raise UsageError(f"columns must be {{name: values}} or a record that has columns, not {type(source)}") from None
    for name in wanted:
        if name not in found:
            raise nearest(name, list(found), "column")
    sizes = {name: len(found[name]) for name in wanted}
    if len(set(sizes.values())) > 1:
        raise UsageError(f"columns of different lengths: {', '.join(f'{k} {n}' for k, n in sizes.items())}")
    if wanted and not sizes[wanted[0]]:
        raise UsageError(f"nothing to draw: column {wanted[0]!r} is empty")
    return found


def in_order(labels: NDArray[Any]) -> list[str]:
    """Each label once, in the order of appearance."""
    return list(dict.fromkeys(labels.tolist()))


def no_repeats(labels: Sequence[str], what: str) -> None:
    """Rows of a picture need names that differ."""
    seen: set[str] = set()
    for one in labels:
        if one in seen:
            raise UsageError(f"{what} {one!r} is there twice; a picture needs names that differ")
        seen.add(one)
