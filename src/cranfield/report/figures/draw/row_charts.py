"""Charts with a row per system, topic or measure: boxes, points with intervals, and changes of rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.report.figures.describe.meta_figures import FEW
from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import (
    GREY,
    INK,
    SIZE,
    WIDTH,
    altair,
    finished,
    quantitative,
    references,
    row_chart,
    rows,
    style,
    style_numbers,
    with_room,
)


def draw_boxes(figure: Figure) -> Any:
    """Draw box plots."""
    alt = altair()
    base, step = row_chart(figure)
    thin = 1 if step >= 8 else 0.5

    def span(low: str, high: str) -> dict[str, Any]:
        return {"x": quantitative(figure.x, channel="x", column=low), "x2": f"{high}:Q"}

    box = base.mark_bar(size=0.62 * step, fill="#dcdcdc", stroke="#555555", strokeWidth=0.7 * thin)
    mean = base.mark_point(
        shape="diamond", size=min(45, 4.5 * step), filled=True, fill="#ffffff", stroke=INK, opacity=1,
        strokeWidth=0.9 * thin,
    )  # fmt: skip
    layers = [
        base.mark_rule(color=GREY, strokeWidth=thin).encode(**span("low", "high")),
        box.encode(**span("q1", "q3")),
        base.mark_tick(color=INK, thickness=2 * thin, size=0.62 * step).encode(x="median:Q"),
        mean.encode(x="mean:Q"),
    ]
    if len(figure.also["beyond"]["value"]):
        outliers, _ = row_chart(figure, figure.also["beyond"])
        points = outliers.mark_point(size=min(16, 1.6 * step), stroke="#555555", strokeWidth=0.8 * thin)
        layers.append(points.encode(x="value:Q"))
    chart = alt.layer(*layers).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)


FILLED = ("differs", "below")
"""How the names of groups begin whose points are filled."""


def draw_intervals(figure: Figure) -> Any:
    """Draw points with intervals. If the figure has groups, those that differ from a reference are filled."""
    alt = altair()
    base, step = row_chart(figure)
    x = with_room(figure.x, *(figure.data[name] for name in (figure.x.column, "low", "high")))
    span = {"x": quantitative(x, channel="x", column="low"), "x2": "high:Q"}
    bars = base.mark_rule(color=INK, strokeWidth=1.2 if step >= 12 else 0.8).encode(**span)
    points = base.mark_point(size=min(50, 4 * step), stroke=INK, fill=INK, strokeWidth=1, opacity=1)
    points = points.encode(x=quantitative(x, channel="x"))
    if figure.y.column == "measure":
        order = in_order(figure.data["measure"])
        numbers = style_numbers(order, "measure")
        colours = alt.Scale(domain=order, range=[style(numbers[name])["color"] for name in order])
        bars = bars.encode(color=alt.Color("measure:N", scale=colours, legend=None))
        points = points.encode(
            fill=alt.Fill("measure:N", scale=colours, legend=None),
            stroke=alt.Stroke("measure:N", scale=colours, legend=None),
        )
    if figure.by is not None:
        groups = in_order(figure.data[figure.by.column])
        groups.sort(key=lambda group: (group != "baseline", group.startswith(FILLED)))
        fills = [INK if group.startswith(FILLED) else "#ffffff" for group in groups]
        shapes = ["diamond" if group == "baseline" else "circle" for group in groups]
        key = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=400)
        points = points.encode(
            fill=alt.Fill(f"{figure.by.column}:N", scale=alt.Scale(domain=groups, range=fills), legend=key),
            shape=alt.Shape(f"{figure.by.column}:N", scale=alt.Scale(domain=groups, range=shapes), legend=key),
        )
    layers = [*references(figure), bars]
    if "median" in figure.data:
        layers.append(base.mark_tick(color=INK, thickness=1.6, size=0.7 * step).encode(x="median:Q"))
    chart = alt.layer(*layers, points).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)


def draw_paired_intervals(figure: Figure) -> Any:
    """Draw two intervals for each system, one below the other: a filled and a hollow point."""
    alt = altair()
    assert figure.by is not None
    base, step = row_chart(figure)
    kinds = in_order(figure.data[figure.by.column])
    offset = alt.YOffset(f"{figure.by.column}:N", sort=None, scale=alt.Scale(domain=kinds, paddingInner=0.3))
    x = with_room(figure.x, *(figure.data[name] for name in (figure.x.column, "low", "high")))
    colours = alt.Scale(domain=kinds, range=[INK, GREY])
    fills = alt.Scale(domain=kinds, range=[INK, "#ffffff"])
    by = f"{figure.by.column}:N"
    span = {"x": quantitative(x, channel="x", column="low"), "x2": "high:Q", "yOffset": offset}
    bars = base.mark_rule(strokeWidth=1.3).encode(**span, color=alt.Color(by, scale=colours, legend=None))
    points = base.mark_point(size=min(44, 4 * step), strokeWidth=1.1, opacity=1).encode(
        x=quantitative(x, channel="x"),
        yOffset=offset,
        stroke=alt.Stroke(by, scale=colours, legend=None),
        fill=alt.Fill(by, scale=fills, legend=None),
    )
    height = alt.Step(0.75 * step)  # of each of the two intervals
    chart = alt.layer(*references(figure), bars, points).properties(width=WIDTH + 60, height=height)
    return finished(chart, figure, width=WIDTH + 60)


def draw_dumbbells(figure: Figure) -> Any:
    """Draw a line from 0 to the change of rank in each row. Of many rows, those that move, or the first ones."""
    alt = altair()
    change = figure.data["change"]
    moved = change != 0
    first = np.arange(len(change)) < FEW
    shown = moved if len(change) > FEW and moved.any() else first
    data = {name: column[shown] for name, column in figure.data.items()}
    ranks = zip(data["before"].tolist(), data["after"].tolist(), strict=True)
    data["ranks"] = np.array([f"{before:g} → {after:g}" for before, after in ranks], dtype=object)
    data["zero"] = np.zeros(len(data["change"]))
    base, step = row_chart(replace(figure, data=data))
    far = max(1.0, float(np.nanmax(np.abs(data["change"]), initial=0.0)))
    at = quantitative(replace(figure.x, low=-1.4 * far, high=1.4 * far), channel="x")  # there is room for the ranks
    size = min(40, 3.5 * step)
    small = min(SIZE - 1, max(6.5, step * 0.85))
    text = {"fontSize": small, "baseline": "middle", "color": "#444444"}
    layers = [
        alt.Chart(rows({"zero": np.zeros(1)})).mark_rule(color=GREY, strokeWidth=1).encode(x="zero:Q"),
        base.mark_rule(color=INK, strokeWidth=1.2).encode(x=at, x2="zero:Q"),
        base.mark_point(size=size, filled=True, color=INK, opacity=1).encode(x=at),
        base.transform_filter("datum.change >= 0").mark_text(align="left", dx=7, **text).encode(x=at, text="ranks:N"),
        base.transform_filter("datum.change < 0").mark_text(align="right", dx=-7, **text).encode(x=at, text="ranks:N"),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH)
