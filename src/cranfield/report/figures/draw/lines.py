"""Lines that differ in colour, dash and the shape of their points; ranks of runs, a line each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures.figure import Axis, Figure, in_order
from cranfield.report.figures.theme import (
    DASHES,
    GREY,
    HEIGHT,
    INK,
    MARKED,
    PALE,
    SHAPES,
    SIZE,
    WIDTH,
    altair,
    finished,
    name_axis,
    quantitative,
    references,
    row_step,
    rows,
    style,
    style_numbers,
    styles_of,
    with_room,
)
from cranfield.text import counted

MOST_POINTS = 400
"""A line is thinned to this many points, about a pixel apart."""
ALL_POINTS = 100_000
"""Many lines have fewer points each, so that all together have about this many; but not fewer than `MARK_ALL`."""
MARK_ALL = 24
"""Lines with at most this many points have a mark on each point; others have about `MARKS`."""
MARKS = 8


def draw_lines(figure: Figure) -> Any:
    """Draw a line of `y` against `x` for each value of `by`; columns `low` and `high` become bars around the points."""
    alt = altair()
    data, legend = _prepared(figure)
    y = with_room(figure.y, *(data[name] for name in ("y", "low", "high") if name in data))
    base = alt.Chart(rows(data)).encode(x=_x_axis(figure, data["x"]), y=quantitative(y, channel="y", column="y"))
    chosen = alt.selection_point(fields=["line"], bind="legend") if len(legend) > 1 else None
    line_style, point_style = _styles(figure, legend, chosen)
    clip = {"clip": True} if _is_cut(figure) else {}
    # The layer of lines takes the parameters for zooming and choosing: other layers may have other scales.
    zoom = alt.selection_interval(bind="scales") if figure.x.kind != "category" else None
    params = [param for param in (chosen, zoom) if param is not None]
    lines = base.mark_line(strokeJoin="round", **clip).encode(**line_style)
    layers = [*references(figure), lines.add_params(*params) if params else lines]
    if {"low", "high"} <= data.keys():
        span = {"y": alt.Y("low:Q", title=figure.y.label), "y2": "high:Q"}
        colour = {name: line_style[name] for name in ("color", "opacity") if name in line_style}
        layers.append(base.mark_rule(strokeWidth=1, **clip).encode(**span, **colour))
    tooltip = [alt.Tooltip("name:N", title=figure.by.label)] if figure.by else []
    tooltip += [alt.Tooltip(f"x:{'N' if figure.x.kind == 'category' else 'Q'}", title=figure.x.label)]
    tooltip += [alt.Tooltip("y:Q", title=figure.y.label, format=".4~g")]
    points = base.transform_filter("datum.marked").mark_point(size=38, strokeWidth=1.3, opacity=1, **clip)
    layers.append(points.encode(**point_style, tooltip=tooltip))
    width = _width(figure, data["x"])
    return finished(alt.layer(*layers).properties(width=width, height=HEIGHT), figure, width=width + 120)


def _styles(figure: Figure, legend: dict[str, dict[str, Any]], chosen: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the encodings of lines and of points, by legend entry; lines that are not chosen fade."""
    alt = altair()
    if figure.by is None:
        ink = alt.value(INK)
        return {"color": ink, "strokeWidth": alt.value(1.6)}, {"color": ink, "fill": ink}
    order = list(legend)
    key = alt.Legend(title=figure.by.label) if chosen is not None else None

    def scale(part: str) -> Any:
        return alt.Scale(domain=order, range=[look[part] for look in legend.values()])

    colour = alt.Color("line:N", scale=scale("color"), legend=key)
    fade = {"opacity": alt.condition(chosen, alt.value(1), alt.value(0.12))} if chosen is not None else {}

    def numbered(channel: Any, part: str) -> Any:
        """Encode by number, not by name: with the same names, the legend would draw its symbols with dashes."""
        looks = [look[part] for look in legend.values()]
        number = alt.Scale(type="ordinal", domain=list(range(len(order))), range=looks)
        return channel("number:O", scale=number, legend=None)

    line_style = {
        "color": colour,
        "strokeDash": numbered(alt.StrokeDash, "dash"),
        "strokeWidth": numbered(alt.StrokeWidth, "width"),
        "detail": "name:N",
        "tooltip": alt.Tooltip("name:N", title=figure.by.label),
    }
    point_style = {
        "color": colour,
        "fill": alt.Fill("line:N", scale=scale("fill"), legend=key),
        "shape": alt.Shape("line:N", scale=scale("shape"), legend=key),
    }
    return {**line_style, **fade}, {**point_style, **fade}


def _is_cut(figure: Figure) -> bool:
    """Return whether some values lie beyond the ends of the vertical axis."""
    values = figure.data[figure.y.column]
    low, high = figure.y.low, figure.y.high
    return bool((high is not None and np.nanmax(values) > high) or (low is not None and np.nanmin(values) < low))


def _x_axis(figure: Figure, places: NDArray[Any]) -> Any:
    if figure.x.kind != "category":
        return quantitative(figure.x, channel="x", column="x")
    alt = altair()
    order = in_order(places)
    crowded = sum(map(len, order)) * SIZE * 0.6 > _width(figure, places) * 0.9
    shown = alt.Axis(labelAngle=-40 if crowded else 0, grid=False, labelLimit=160, labelOverlap=len(order) > MARK_ALL)
    return name_axis("x", order, channel="x", title=figure.x.label, axis=shown)


def _width(figure: Figure, places: NDArray[Any]) -> float:
    if figure.x.kind != "category":
        return WIDTH
    return float(np.clip(70 * len(in_order(places)), 220, 700))


def _prepared(figure: Figure) -> tuple[dict[str, NDArray[Any]], dict[str, dict[str, Any]]]:
    """Return the columns to draw, thinned, and the legend.

    The columns are renamed, because Vega reads dots and brackets in names as paths: `x`, `y`, `name`, the legend entry
    (`line`) and its `number`, whether a point is `marked`, and the ends of bars, `low` and `high`.
    """
    data = {"x": figure.data[figure.x.column], "y": figure.data[figure.y.column]}
    data |= {end: figure.data[end] for end in ("low", "high") if {"low", "high"} <= figure.data.keys()}
    size = len(data["x"])
    by = figure.data[figure.by.column] if figure.by is not None else np.zeros(size, dtype=object)
    order = in_order(by)
    kept, marked = [], np.zeros(size, dtype=bool)
    most = max(MARK_ALL, min(MOST_POINTS, ALL_POINTS // max(1, len(order))))
    rows_of: dict[str, list[int]] = {name: [] for name in order}
    for row, name in enumerate(by.tolist()):
        rows_of[name].append(row)
    for number, name in enumerate(order):
        points = np.array(rows_of[name])
        if len(points) > most:
            points = points[np.unique(np.linspace(0, len(points) - 1, most).round().astype(int))]
        kept.append(points)
        if figure.by is not None or len(points) <= MARK_ALL:  # marks tell lines apart, and show where values are
            marked[_marks(points, _within(data["y"][points], figure.y), number, len(order))] = True
    legend, line = _legend(order, figure.by)
    data["marked"] = marked
    if figure.by is not None:
        data["name"] = by
        entries = {entry: number for number, entry in enumerate(legend)}
        data["line"] = np.array([line[name] for name in by.tolist()], dtype=object)
        data["number"] = np.array([entries[entry] for entry in data["line"].tolist()])
        if len(order) > styles_of(figure.by.column):
            data["marked"] = marked & (data["line"] == by)
            kept = kept[MARKED:] + kept[:MARKED]  # draw the marked lines above the others
    together = np.concatenate(kept)
    return {name: column[together] for name, column in data.items()}, legend


def _within(values: NDArray[Any], axis: Axis) -> NDArray[Any]:
    """Return the values, with those beyond the ends of the axis moved to its ends."""
    low, high = -np.inf if axis.low is None else axis.low, np.inf if axis.high is None else axis.high
    return np.asarray(np.clip(values, low, high))


def _marks(points: NDArray[Any], heights: NDArray[Any], number: int, lines: int) -> NDArray[Any]:
    """Return the points of a line that are marked.

    If not all are, the marks divide the way up and down, and each line has them at other heights: marks on a flat part,
    where many lines lie on each other, would pile up.
    """
    if len(points) <= MARK_ALL:
        return points
    way = np.concatenate([[0.0], np.nancumsum(np.abs(np.diff(heights)))])
    if way[-1] == 0:
        way = np.arange(len(points), dtype=np.float64)
    turn = min(max(lines, 1), MARKED)
    at = way[-1] * (np.arange(MARKS) + (number % turn + 0.5) / turn) / MARKS
    return np.asarray(points[np.unique(np.searchsorted(way, at).clip(max=len(points) - 1))])


def _legend(order: list[str], by: Axis | None) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the style of each legend entry, and the entry of each line."""
    if by is None:
        return {}, {}
    if len(order) <= styles_of(by.column):
        numbers = style_numbers(order, by.column)
        return {name: style(numbers[name]) for name in order}, {name: name for name in order}
    rest = counted(len(order) - MARKED, "other")
    looks = {name: style(number) for number, name in enumerate(order[:MARKED])}
    looks[rest] = {"color": "#c4c4c4", "dash": DASHES[0], "shape": SHAPES[-1], "fill": "#c4c4c4", "width": 0.4}
    return looks, {name: name if number < MARKED else rest for number, name in enumerate(order)}


COLUMN_GAP = 150
"""The distance between two columns, in pixels."""


def draw_slopes(figure: Figure) -> Any:
    """Draw ranks of runs under several judgments: a line per run, dark if it moves, with its name at both ends."""
    alt = altair()
    assert figure.by is not None
    run, x, y = (figure.data[axis.column] for axis in (figure.by, figure.x, figure.y))
    columns, runs = in_order(x), in_order(run)
    step = row_step(len(runs))
    first = {name: rank for name, column, rank in zip(run, x, y.tolist(), strict=True) if column == columns[0]}
    moved = {name for name, rank in zip(run, y.tolist(), strict=True) if rank != first[name]}
    data = {"run": run, "judge": x, "rank": y, "moved": np.array([name in moved for name in run])}
    # Runs that tie have the same place, and their names would be printed over each other.
    ends = {}
    for end in (columns[0], columns[-1]):
        texts: dict[int, list[str]] = {}
        for name, column, rank in zip(run, x, y.tolist(), strict=True):
            if column == end:
                texts.setdefault(rank, []).append(name)
        ends[end] = {
            "judge": np.full(len(texts), end, dtype=object),
            "rank": np.array(list(texts)),
            "name": np.array([", ".join(names) for names in texts.values()], dtype=object),
        }
    scale = alt.Scale(reverse=True, domain=[0.5, max(y.tolist()) + 0.5], nice=False, zero=False)
    place = {
        "x": name_axis("judge", columns, channel="x", title=None, type="point", padding=0.2,
                    axis=alt.Axis(orient="top", labelAngle=0, labelLimit=COLUMN_GAP, domain=False, ticks=False)),
        "y": alt.Y("rank:Q", title=figure.y.label, scale=scale, axis=None),
    }  # fmt: skip
    ink = alt.condition("datum.moved", alt.value(INK), alt.value(PALE))
    base = alt.Chart(rows(data)).encode(**place, detail="run:N", tooltip=["run:N", "judge:N", "rank:Q"])
    size = min(SIZE, max(6.0, 0.85 * step))
    layers = [
        base.mark_line(strokeWidth=1.3).encode(color=ink),
        base.mark_point(filled=True, size=min(36, 3 * step), opacity=1).encode(
            color=alt.condition("datum.moved", alt.value(INK), alt.value(GREY))
        ),
    ]
    for end, side, shift in ((columns[0], "right", -8), (columns[-1], "left", 8)):
        text = alt.Chart(rows(ends[end])).mark_text(align=side, dx=shift, fontSize=size, color=INK, limit=240)
        layers.append(text.encode(**place, text="name:N"))
    width = COLUMN_GAP * max(1, len(columns) - 1) + 260
    chart = alt.layer(*layers).properties(width=width, height=max(120.0, step * len(runs)))
    return finished(chart, figure, width=width)
