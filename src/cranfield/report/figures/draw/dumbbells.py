"""Dumbbells: a filled and a hollow point in each row, joined by a line."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Figure
from cranfield.report.figures.theme import GREY, INK, WIDTH, altair, finished, quantitative, row_chart


def draw(figure: Figure) -> Any:
    alt = altair()
    base, step = row_chart(figure)
    span = {"x": quantitative(figure.x, channel="x"), "x2": "after:Q"}
    size = min(40, 3.5 * step)
    layers = [
        base.mark_rule(color=GREY, strokeWidth=1.2).encode(**span),
        base.mark_point(size=size, stroke=INK, fill="#ffffff", strokeWidth=1, opacity=1).encode(x="after:Q"),
        base.mark_point(size=0.7 * size, filled=True, color=INK, opacity=1).encode(x="before:Q"),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH)
