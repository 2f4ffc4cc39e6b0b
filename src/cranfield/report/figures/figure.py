"""What a figure shows, as data: columns, axes, titles and notes. Only drawing it needs further packages.

A figure as plain values can be kept in a file and drawn later.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.frames import Tidy
from cranfield.report.figures.style import Style
from cranfield.table import Cell, Column, Table, printable

Columns = Mapping[str, NDArray[Any]]

AXIS_KINDS = ("number", "share", "count", "category")
DRAWN_IN = {
    **dict.fromkeys(("dot_grid", "heat_map"), "grid_charts"),
    **dict.fromkeys(("lines", "slopes"), "lines"),
    **dict.fromkeys(
        ("bars", "boxes", "dumbbells", "intervals", "paired_intervals", "stacked_bars", "text_strings"), "row_charts"
    ),
    "scatter": "scatter",
    "spacing": "spacing",
}
"""{kind of a figure: the module of `draw/` that has `draw_KIND`}."""


@dataclass(frozen=True)
class Axis:
    """The column of an axis, and its label.

    `low` and `high` fix its ends. A `share` is shown in percent; a `category` keeps the order of the column. The
    `ticks`, if given, are the numbered places; with `open_end`, the last one stands for all values from there on. On a
    `log` axis, which needs both ends, equal steps are equal ratios.
    """

    column: str
    label: str
    kind: str = "number"
    low: float | None = None
    high: float | None = None
    reverse: bool = False
    ticks: tuple[float, ...] = ()
    open_end: bool = False
    log: bool = False

    def __post_init__(self) -> None:
        check.one_of(f"axis {self.label!r}", AXIS_KINDS, kind=self.kind)


@dataclass(frozen=True)
class Reference:
    """A reference line across the whole figure, such as α."""

    axis: str
    value: float
    text: str

    def __post_init__(self) -> None:
        check.one_of(f"reference {self.text!r}", ("x", "y"), axis=self.axis)


@dataclass(frozen=True, eq=False, repr=False)
class Figure(Tidy):
    """A figure before it is drawn. `kind` says how it is drawn, see `DRAWN_IN`.

    >>> from cranfield.report.figures import describe_asl
    >>> describe_asl({"AP": [0.04, 0.01], "RR": [0.2, 0.03]})
    Figure(lines: 4 rows of measure, pairs, p)
    """

    kind: str
    data: Columns
    x: Axis
    y: Axis
    by: Axis | None = None
    """The column that has a value for each line, or for each part of a bar."""
    title: str = ""
    subtitle: str = ""
    """How to read the figure, in a line or two below the title."""
    references: tuple[Reference, ...] = ()
    also: Mapping[str, Columns] = field(default_factory=dict)
    """Further data to draw: points beyond whiskers, iso-lines."""
    notes: tuple[str, ...] = ()
    style: Style = field(default_factory=Style)
    """How large the figure is."""

    def columns(self) -> dict[str, NDArray[Any]]:
        return dict(self.data)

    def _metadata(self) -> dict[str, Any]:
        return {"title": self.title, "subtitle": self.subtitle, "notes": list(self.notes)}

    def __repr__(self) -> str:
        n = len(next(iter(self.data.values())))
        return f"Figure({self.kind}: {n:,} rows of {', '.join(self.data)})"

    def table(self, digits: int | None = None) -> Table:
        """Return the data as a table, for all output formats."""
        kinds = {"f": "number", "i": "count", "u": "count"}
        heads = tuple(Column(name, kinds.get(column.dtype.kind, "text")) for name, column in self.data.items())
        cells = [[("yes" if x else "") if isinstance(x, bool) else x for x in c.tolist()] for c in self.data.values()]
        rows: tuple[tuple[Cell, ...], ...] = tuple(zip(*cells, strict=True))
        notes = tuple(text for text in (*self.subtitle.split("\n"), *self.notes) if text)
        return Table(heads, rows, caption=self.title, notes=notes, digits=digits)

    def styled(
        self,
        width: float | str | None = None,
        height: str | None = None,
        font_size: float | None = None,
        titled: bool = True,
    ) -> Figure:
        """The figure as a paper needs it: its width in columns or as a length, height, letters in points, no title.

        >>> from cranfield.report.figures import describe_boxes
        >>> describe_boxes({"a": [0.1, 0.2]}).styled(width=1, titled=False).style.inches_wide
        3.33
        """
        return replace(self, style=Style(width, height, font_size, titled))

    def draw(self) -> Any:
        """Return an altair chart."""
        module = import_module(f"cranfield.report.figures.draw.{DRAWN_IN[self.kind]}")
        return getattr(module, f"draw_{self.kind}")(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure; the suffix of the path is the format: html, svg, pdf, png, json (Vega-Lite) or csv (data).

        No browser or network is needed to write it, and no network to view it.
        """
        from cranfield.report.figures.saving import save

        save(self, path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        try:
            chart = self.draw()
        except UsageError as error:  # altair is not installed: the data, and how to install it
            return {"text/plain": repr(self), "text/html": f"{self.table().html()}<p>{escape(str(error))}</p>"}
        return chart._repr_mimebundle_(include, exclude)


# -- helpers for the functions that describe figures


def names(labels: Any) -> NDArray[Any]:
    """Return labels with control characters and undecodable bytes escaped."""
    texts = [str(label) for label in labels]
    return np.array(list(map(printable, texts)), dtype=object)


def numbers(values: Any, caller: str) -> NDArray[np.float64]:
    """Return a column of numbers; NaN is a gap, infinity is an error."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{caller} must hold numbers") from None
    if column.ndim != 1:
        raise UsageError(f"{caller}.shape == {column.shape}, must be one number per row")
    if np.isinf(column).any():
        raise UsageError(f"{caller} has an infinite value (row {int(np.flatnonzero(np.isinf(column))[0]) + 1})")
    return column


def columns_of(source: Any, *wanted: str) -> dict[str, NDArray[Any]]:
    """Return all columns of a mapping, a frame or a record. The `wanted` columns must exist, and have the same length.

    >>> columns_of({"n": [10, 20], "power": [0.2, 0.4]}, "n", "powr")
    Traceback (most recent call last):
    cranfield.errors.UsageError: no column 'powr'; did you mean 'power'?
    """
    data = source.columns() if isinstance(source, Tidy) else source
    try:
        columns = {str(name): np.asarray(data[name]) for name in (data if isinstance(data, Mapping) else data.columns)}
    except (AttributeError, TypeError):
        raise UsageError(f"columns must be {{name: values}} or a record that has columns, not {type(source)}") from None
    for name in wanted:
        if name not in columns:
            raise nearest(name, list(columns), "column")
    sizes = {name: len(columns[name]) for name in wanted}
    if len(set(sizes.values())) > 1:
        raise UsageError(f"columns of different lengths: {', '.join(f'{k} {n}' for k, n in sizes.items())}")
    if wanted and not sizes[wanted[0]]:
        raise UsageError(f"nothing to draw: column {wanted[0]!r} is empty")
    return columns


def ends_of(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Return the columns `low` and `high` of intervals; nothing unless both exist."""
    ends = ("low", "high")
    return {end: numbers(columns[end], end) for end in ends} if columns.keys() >= set(ends) else {}


def in_order(labels: NDArray[Any]) -> list[str]:
    """Return each label once, in the order of appearance."""
    return list(dict.fromkeys(labels.tolist()))


def no_repeats(labels: Sequence[str], noun: str) -> None:
    """Check that the labels of rows or columns differ."""
    label, count = Counter(labels).most_common(1)[0] if labels else ("", 0)
    if count > 1:
        raise UsageError(f"{noun} {label!r} appears more than once; a figure needs different names")


KINDS = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_, "O": object, "U": object}
"""The type of a column, by the kind of its array."""


def figure_to_plain(figure: Figure) -> dict[str, Any]:
    """A figure as plain values for JSON, without loss; NaN is written as Python writes it."""
    return {
        "kind": figure.kind,
        "data": _columns(figure.data),
        "x": asdict(figure.x),
        "y": asdict(figure.y),
        "by": None if figure.by is None else asdict(figure.by),
        "title": figure.title,
        "subtitle": figure.subtitle,
        "references": [asdict(reference) for reference in figure.references],
        "also": {name: _columns(columns) for name, columns in figure.also.items()},
        "notes": list(figure.notes),
    }


def figure_from_plain(plain: Mapping[str, Any]) -> Figure:
    """The figure that `figure_to_plain` wrote.

    >>> from cranfield.report.figures import describe_heat
    >>> figure = describe_heat([[1, 0.5], [0.5, 1]], ["AP", "RR"])
    >>> figure_from_plain(figure_to_plain(figure)).columns()["value"].tolist()
    [1.0, 0.5, 0.5, 1.0]
    """
    return Figure(
        plain["kind"],
        _arrays(plain["data"]),
        x=_axis(plain["x"]),
        y=_axis(plain["y"]),
        by=None if plain["by"] is None else _axis(plain["by"]),
        title=plain["title"],
        subtitle=plain["subtitle"],
        references=tuple(Reference(**reference) for reference in plain["references"]),
        also={name: _arrays(columns) for name, columns in plain["also"].items()},
        notes=tuple(plain["notes"]),
    )


def _columns(columns: Mapping[str, NDArray[Any]]) -> dict[str, list[Any]]:
    return {name: [column.dtype.kind, column.tolist()] for name, column in columns.items()}


def _arrays(columns: Mapping[str, list[Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.array(values, dtype=KINDS[kind]) for name, (kind, values) in columns.items()}


def _axis(plain: Mapping[str, Any]) -> Axis:
    return Axis(**{**plain, "ticks": tuple(plain["ticks"])})
