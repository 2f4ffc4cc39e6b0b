"""A number for each measure, with an interval: agreement with people, and how much a score tells of the list."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import (
    Figure,
    in_order,
)
from cranfield.report.figures.theme import (
    INK,
    WIDTH,
    altair,
    finished,
    quantitative,
    references,
    row_step,
    rows,
    system_axis,
)


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["measure"])
    step = row_step(len(order))
    base = alt.Chart(rows(figure.data)).encode(
        y=system_axis(figure.y, order), tooltip=["measure:N", f"{figure.x.column}:Q", "low:Q", "high:Q"]
    )
    span = {"x": quantitative(figure.x, channel="x", column="low"), "x2": "high:Q"}
    bars = base.mark_rule(color=INK, strokeWidth=1.2).encode(**span)
    spots = base.mark_point(size=min(50, 4 * step), filled=True, color=INK, opacity=1).encode(
        x=quantitative(figure.x, channel="x")
    )
    chart = alt.layer(*references(figure), bars, spots).properties(width=WIDTH, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH)
