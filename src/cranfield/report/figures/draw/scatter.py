"""Scatter plots of named points, with reference lines, lines of equal value, or a Pareto front.

Names stand beside their points, where they do not overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures.figure import Axis, Figure
from cranfield.report.figures.lettering import ROOM, text_width
from cranfield.report.figures.theme import INK, SIZE, altair, finished, quantitative, references, rows
from cranfield.types import Array

SIDE = 400
GREY = "#8c8c8c"
MANY = 40
"""With more points than this, only those on a front have names."""


def draw_scatter(figure: Figure) -> Any:
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
    layers = [*_iso_lines(figure, at), *_front(figure, at), *_edges(figure, at), *references(figure)]
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
    free = placed([points[i] for i in order], [names[i] for i in order], SIDE, SIDE)
    places: list[Place | None] = [None] * len(points)
    for i, place in zip(order, free, strict=True):
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


def _edges(figure: Figure, at: dict[str, Any]) -> list[Any]:
    """Return the lines between points."""
    if "edges" not in figure.also:
        return []
    edges = figure.also["edges"]
    ends = {"x": edges[figure.x.column], "y": edges[figure.y.column], "edge": edges["edge"]}
    return [altair().Chart(rows(ends)).mark_line(color="#b5b5b5", strokeWidth=1).encode(**at, detail="edge:N")]


def _pixels(x: Array, y: Array, figure: Figure) -> list[tuple[float, float]]:
    """Return the points in pixels from the top left corner."""

    def along(values: Array, axis: Axis) -> Array:
        low, high = axis.low or 0.0, 1.0 if axis.high is None else axis.high
        if axis.log:
            values, low, high = np.log(values), float(np.log(low)), float(np.log(high))
        return (values - low) / (high - low) * SIDE

    return list(zip(along(x, figure.x).tolist(), (SIDE - along(y, figure.y)).tolist(), strict=True))


Box = tuple[float, float, float, float]
GAP = 6.0
LINE_HEIGHT = SIZE + 2.0


@dataclass(frozen=True)
class Place:
    """The position of a name relative to its point: alignment and offset in pixels."""

    align: str
    dx: float
    dy: float


PLACES = (
    Place("left", GAP, 0.0), Place("right", -GAP, 0.0), Place("center", 0.0, -11.0), Place("center", 0.0, 12.0),
    Place("left", GAP, -9.0), Place("right", -GAP, -9.0), Place("left", GAP, 9.0), Place("right", -GAP, 9.0),
)  # fmt: skip
"""To the right of the point, to the left, above, below, and at its corners."""
LONGEST = 18
"""Names beside points are shortened to this many characters."""


def short_names(names: Sequence[str]) -> list[str]:
    """Return names that fit beside points: long ones without the parts that all share, and without their middle.

    Names that would no longer differ stay as they are.

    >>> short_names(["university-of-x-bm25-run", "university-of-x-dense-run"]), short_names(["bm25", "bm25-rm3"])
    (['bm25', 'dense'], ['bm25', 'bm25-rm3'])
    >>> short_names(["a-name-that-is-much-too-long-1", "b"])
    ['a-name-t…oo-long-1', 'b']
    """
    short = list(names)
    if max(map(len, names), default=0) > LONGEST:
        parts = [re.split(r"[-_./: ]+", name) for name in names]
        if len(set(map(len, parts))) == 1:
            differ = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
            short = ["-".join(compress(part, differ)) or name for part, name in zip(parts, names, strict=True)]
        head, tail = (LONGEST - 1) // 2, LONGEST - 1 - (LONGEST - 1) // 2
        short = [name if len(name) <= LONGEST else f"{name[:head]}…{name[-tail:]}" for name in short]
    return short if len(set(short)) == len(set(names)) else list(names)


def placed(
    points: Sequence[tuple[float, float]], labels: Sequence[str], width: float, height: float
) -> list[Place | None]:
    """Return a place for each name, or None if there is no free place. Earlier names choose first.

    `points` are in pixels from the top left corner; `width` and `height` are those of the figure.

    >>> [place and place.align for place in placed([(10, 50), (90, 50)], ["a", "b"], 100, 100)]
    ['left', 'right']
    """
    boxes = np.empty((len(points) + len(labels), 4))  # what is taken: the points, then names
    boxes[: len(points)] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    taken = len(points)
    places: list[Place | None] = []
    for number, ((x, y), label) in enumerate(zip(points, labels, strict=True)):
        for place in PLACES:
            box = _covered(x + place.dx, y + place.dy, ROOM * text_width(label, SIZE - 1), place.align)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            if inside and not _overlaps(box, boxes[:taken], number):
                boxes[taken] = box
                taken += 1
                places.append(place)
                break
        else:
            places.append(None)
    return places


def _covered(x: float, y: float, wide: float, align: str) -> Box:
    begin = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
    return begin, y - LINE_HEIGHT / 2, begin + wide, y + LINE_HEIGHT / 2


def _overlaps(box: Box, others: Array, but: int) -> bool:
    """Return whether a box overlaps one of the others, except the one with the number `but`."""
    hits = (others[:, 0] < box[2]) & (others[:, 2] > box[0]) & (others[:, 1] < box[3]) & (others[:, 3] > box[1])
    return int(np.count_nonzero(hits)) > int(hits[but])
