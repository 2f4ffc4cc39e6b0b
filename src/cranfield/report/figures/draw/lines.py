"""Lines, told apart by colour, dash and the shape of their points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures.figure import Axis, Figure, in_order
from cranfield.report.figures.theme import (
    DASHES,
    HEIGHT,
    INK,
    MARKED,
    SHAPES,
    SIZE,
    STYLES,
    WIDTH,
    altair,
    finished,
    quantitative,
    references,
    rows,
    style,
)
from cranfield.text import counted

FINE = 400
"""A line has no more points than this: a pixel or so apart."""
FEW = 24
"""Lines with no more points than this have a mark on each; others a few marks along the way."""
MARKS = 8


def draw(figure: Figure) -> Any:
    """Lines of `y` along `x`, one for each value of `by`; a column `low` and one `high` are bars around the points."""
    alt = altair()
    data, legend = _prepared(figure)
    base = alt.Chart(rows(data)).encode(x=_along(figure, data["x"]), y=quantitative(figure.y, channel="y", column="y"))
    chosen = alt.selection_point(fields=["line"], bind="legend") if len(legend) > 1 else None
    line_style, point_style = _styles(figure, legend, chosen)
    cut = {"clip": True} if _is_cut(figure) else {}
    # Whoever zooms or picks a line acts on the lines; in a layer of another scale there would be nothing to act on.
    params = [one for one in (chosen, _zoom(figure)) if one is not None]
    lines = base.mark_line(strokeJoin="round", **cut).encode(**line_style)
    layers = [*references(figure), lines.add_params(*params) if params else lines]
    if {"low", "high"} <= data.keys():
        span = {"y": alt.Y("low:Q", title=figure.y.label), "y2": "high:Q"}
        only = {name: line_style[name] for name in ("color", "opacity") if name in line_style}
        layers.append(base.mark_rule(strokeWidth=1, **cut).encode(**span, **only))
    told = [alt.Tooltip("name:N", title=figure.by.label)] if figure.by else []
    told += [alt.Tooltip(f"x:{'N' if figure.x.kind == 'category' else 'Q'}", title=figure.x.label)]
    told += [alt.Tooltip("y:Q", title=figure.y.label, format=".4~g")]
    spots = base.transform_filter("datum.marked").mark_point(size=38, strokeWidth=1.3, opacity=1, **cut)
    layers.append(spots.encode(**point_style, tooltip=told))
    wide = _width(figure, data["x"])
    return finished(alt.layer(*layers).properties(width=wide, height=HEIGHT), figure, width=wide + 120)


def _zoom(figure: Figure) -> Any:
    return altair().selection_interval(bind="scales") if figure.x.kind != "category" else None


def _styles(figure: Figure, legend: dict[str, dict[str, Any]], chosen: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """How lines and points look, by the entry of the legend; those that are not chosen fade."""
    alt = altair()
    if figure.by is None:
        return {"color": alt.value(INK), "strokeWidth": alt.value(1.6)}, {
            "color": alt.value(INK),
            "fill": alt.value(INK),
        }
    order = list(legend)
    key = alt.Legend(title=figure.by.label) if chosen is not None else None

    def scale(part: str) -> Any:
        return alt.Scale(domain=order, range=[legend[one][part] for one in order])

    colour = alt.Color("line:N", scale=scale("color"), legend=key)
    seen = {"opacity": alt.condition(chosen, alt.value(1), alt.value(0.12))} if chosen is not None else {}

    def numbered(channel: Any, part: str) -> Any:
        """By the number of the entry: by the same names, the legend would draw its symbols with dashes, too."""
        looks = alt.Scale(type="ordinal", domain=list(range(len(order))), range=[legend[one][part] for one in order])
        return channel("number:O", scale=looks, legend=None)

    dash, wide = numbered(alt.StrokeDash, "dash"), numbered(alt.StrokeWidth, "width")
    fill, shape = (
        channel("line:N", scale=scale(part), legend=key) for channel, part in ((alt.Fill, "fill"), (alt.Shape, "shape"))
    )
    return (
        {
            "color": colour,
            "strokeDash": dash,
            "strokeWidth": wide,
            "detail": "name:N",
            "tooltip": alt.Tooltip("name:N", title=figure.by.label),
            **seen,
        },
        {"color": colour, "fill": fill, "shape": shape, **seen},
    )


def _is_cut(figure: Figure) -> bool:
    """Do values lie beyond the ends of the vertical axis?"""
    values = figure.data[figure.y.column]
    low, high = figure.y.low, figure.y.high
    return bool((high is not None and np.nanmax(values) > high) or (low is not None and np.nanmin(values) < low))


def _along(figure: Figure, places: NDArray[Any]) -> Any:
    if figure.x.kind != "category":
        return quantitative(figure.x, channel="x", column="x")
    alt = altair()
    order = in_order(places)
    crowded = sum(map(len, order)) * SIZE * 0.6 > _width(figure, places) * 0.9
    shown = alt.Axis(labelAngle=-40 if crowded else 0, grid=False, labelLimit=160)
    return alt.X("x:N", sort=order, title=figure.x.label, axis=shown)


def _width(figure: Figure, places: NDArray[Any]) -> float:
    if figure.x.kind != "category":
        return WIDTH
    return float(np.clip(70 * len(in_order(places)), 220, 700))


def _prepared(figure: Figure) -> tuple[dict[str, NDArray[Any]], dict[str, dict[str, Any]]]:
    """The columns to draw, thinned, and the legend.

    They have names of their own (a chart reads dots and brackets in a column's name as paths): `x`, `y`, `name`, the
    entry of the legend it belongs to (`line`) and its `number`, whether a point is `marked`, the ends of bars, `low`
    and `high`.
    """
    data = {"x": figure.data[figure.x.column], "y": figure.data[figure.y.column]}
    data |= {end: figure.data[end] for end in ("low", "high") if {"low", "high"} <= figure.data.keys()}
    size = len(data["x"])
    by = figure.data[figure.by.column] if figure.by is not None else np.zeros(size, dtype=object)
    order = in_order(by)
    kept, marked = [], np.zeros(size, dtype=bool)
    for number, one in enumerate(order):
        mine = np.flatnonzero(by == one)
        fine = mine if len(mine) <= FINE else mine[np.unique(np.linspace(0, len(mine) - 1, FINE).round().astype(int))]
        kept.append(fine)
        marked[_marks(fine, number, len(order))] = True
    legend, line = _legend(order, figure.by)
    data["marked"] = marked
    if figure.by is not None:
        data["name"] = by
        place = {one: number for number, one in enumerate(legend)}
        data["line"] = np.array([line[one] for one in by.tolist()], dtype=object)
        data["number"] = np.array([place[one] for one in data["line"].tolist()])
        if len(order) > STYLES:
            data["marked"] = marked & (data["line"] == by)
            kept = kept[MARKED:] + kept[:MARKED]  # those that are marked are drawn above the rest
    together = np.concatenate(kept)
    return {name: column[together] for name, column in data.items()}, legend


def _marks(mine: NDArray[Any], number: int, lines: int) -> NDArray[Any]:
    """Which points of a line are marked: all of a few; some of many, for each line at other places."""
    if len(mine) <= FEW:
        return mine
    gap = len(mine) / MARKS
    begin = gap * (number % max(lines, 1)) / max(min(lines, MARKED), 1) % gap
    return np.asarray(mine[np.unique(np.arange(begin, len(mine), gap).astype(int))])


def _legend(order: list[str], by: Axis | None) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """How each entry of the legend looks, and the entry of each line."""
    if by is None:
        return {}, {}
    if len(order) <= STYLES:
        return {one: style(number) for number, one in enumerate(order)}, {one: one for one in order}
    rest = f"{counted(len(order) - MARKED, 'other')}"
    looks = {one: style(number) for number, one in enumerate(order[:MARKED])}
    looks[rest] = {"color": "#c4c4c4", "dash": DASHES[0], "shape": SHAPES[-1], "fill": "#c4c4c4", "width": 0.4}
    return looks, {one: one if number < MARKED else rest for number, one in enumerate(order)}
