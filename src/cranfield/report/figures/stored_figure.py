"""Figures as plain values, so that they can be kept in a file and drawn later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures.figure import Axis, Figure, Reference

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
