"""Two intervals for each system, one below the other: a filled and a hollow point."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import (
    GREY,
    INK,
    WIDTH,
    altair,
    finished,
    quantitative,
    references,
    row_chart,
    with_room,
)


def draw(figure: Figure) -> Any:
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
