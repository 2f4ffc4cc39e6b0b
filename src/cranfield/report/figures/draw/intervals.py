"""Points with intervals, a row each. If the figure has groups, those that differ from a reference are filled."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import (
    INK,
    WIDTH,
    altair,
    finished,
    quantitative,
    references,
    row_chart,
    style,
    style_numbers,
    with_room,
)

FILLED = ("differs", "below")
"""How the names of groups begin whose points are filled."""


def draw(figure: Figure) -> Any:
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
    chart = alt.layer(*references(figure), bars, points).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)
