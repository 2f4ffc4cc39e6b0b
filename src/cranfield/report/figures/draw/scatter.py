"""Scatter plots of named points, with reference lines, lines of equal value, or a Pareto front."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures.figure import Axis, Figure
from cranfield.report.figures.label_placement import Place, placed, short_names
from cranfield.report.figures.theme import INK, SIZE, altair, finished, quantitative, references, rows
from cranfield.types import Array

SIDE = 400
GREY = "#8c8c8c"
MANY = 40
"""With more points than this, only those on a front have names."""


def draw(figure: Figure) -> Any:
    """Draw a point for each row; the first column holds the names."""
    alt = altair()
    axes = {"x": figure.x, "y": figure.y, **({"combined": figure.by} if figure.by else {})}
    labels = next(iter(figure.data.values()))
    # Column names may contain dots and brackets, which Vega reads as paths; so the columns are renamed.
    short = np.array(short_names(labels.tolist()), dtype=object)
    data = {"label": labels, "short": short, **{name: figure.data[axis.column] for name, axis in axes.items()}}
    at = {name: quantitative(axes[name], channel=name, column=name, grid=False) for name in ("x", "y")}
    tooltip = [alt.Tooltip("label:N", title=next(iter(figure.data)))]
    tooltip += [alt.Tooltip(f"{name}:Q", title=axis.label, format=".4f") for name, axis in axes.items()]
    front = np.asarray(figure.data.get("front", np.ones(len(labels))), dtype=bool)
    layers = [*_iso_lines(figure, at), *_front(figure, at), *references(figure)]
    for these, style in ((~front, {"filled": False, "color": GREY}), (front, {"filled": True, "color": INK})):
        if these.any():
            points = alt.Chart(rows({name: column[these] for name, column in data.items()}))
            layers.append(points.mark_point(size=38, opacity=0.9, **style).encode(**at, tooltip=tooltip))
    places = _places(data["x"], data["y"], short.tolist(), front, figure)
    for place in dict.fromkeys(place for place in places if place is not None):
        here = np.array([other == place for other in places])
        names = alt.Chart(rows({name: column[here] for name, column in data.items()})).mark_text(
            align=place.align, baseline="middle", dx=place.dx, dy=place.dy, fontSize=SIZE - 1
        )
        layers.append(names.encode(x="x:Q", y="y:Q", text="short:N"))
    chart = alt.layer(*layers).properties(width=SIDE, height=SIDE)
    if not figure.references:
        chart = chart.add_params(alt.selection_interval(bind="scales"))
    return finished(chart, figure, width=SIDE)


def _places(x: Array, y: Array, names: list[str], front: NDArray[np.bool_], figure: Figure) -> list[Place | None]:
    """Return the places of names: those on the front choose first, and alone if there are too many points."""
    points = _pixels(x, y, figure)
    order = np.argsort(~front, kind="stable").tolist()
    found = placed([points[i] for i in order], [names[i] for i in order], SIDE, SIDE)
    places: list[Place | None] = [None] * len(points)
    for i, place in zip(order, found, strict=True):
        places[i] = place if front[i] or len(points) <= MANY else None
    return places


def _iso_lines(figure: Figure, at: dict[str, Any]) -> list[Any]:
    """Return the layers of the lines along which the combined value is equal, and of their labels."""
    if "lines" not in figure.also:
        return []
    alt = altair()
    lines = figure.also["lines"]
    left_ends = {name: column[::2] for name, column in lines.items()}
    levels = alt.Chart(rows(left_ends)).mark_text(
        align="left", baseline="bottom", dx=3, dy=-2, fontSize=SIZE - 2, color="#666666"
    )
    return [
        alt.Chart(rows(lines)).mark_line(color="#b5b5b5", strokeWidth=1).encode(**at, detail="level:N"),
        levels.encode(x="x:Q", y="y:Q", text=alt.Text("level:Q", format="~g")),
    ]


def _front(figure: Figure, at: dict[str, Any]) -> list[Any]:
    """Return the line through the points that no other point beats on both axes."""
    if "front" not in figure.also:
        return []
    line = altair().Chart(rows(figure.also["front"])).mark_line(color="#b5b5b5", strokeWidth=1)
    return [line.encode(**at)]


def _pixels(x: Array, y: Array, figure: Figure) -> list[tuple[float, float]]:
    """Return the points in pixels from the top left corner."""

    def along(values: Array, axis: Axis) -> Array:
        low, high = axis.low or 0.0, 1.0 if axis.high is None else axis.high
        if axis.log:
            values, low, high = np.log(values), float(np.log(low)), float(np.log(high))
        return (values - low) / (high - low) * SIDE

    return list(zip(along(x, figure.x).tolist(), (SIDE - along(y, figure.y)).tolist(), strict=True))
