"""Rank changes: where each system stands, and where it would stand had it not been pooled."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import GREY, INK, WIDTH, altair, finished, quantitative, row_step, rows, system_axis


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["system"])
    step = row_step(len(order))
    base = alt.Chart(rows(figure.data)).encode(
        y=system_axis(figure.y, order), tooltip=["system:N", "before:Q", "after:Q", "change:Q"]
    )
    span = {"x": quantitative(figure.x, channel="x"), "x2": "after:Q"}
    size = min(40, 3.5 * step)
    layers = [
        base.mark_rule(color=GREY, strokeWidth=1.2).encode(**span),
        base.mark_point(size=size, stroke=INK, fill="#ffffff", strokeWidth=1, opacity=1).encode(x="after:Q"),
        base.mark_point(size=0.7 * size, filled=True, color=INK, opacity=1).encode(x="before:Q"),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH)
