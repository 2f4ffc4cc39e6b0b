"""Grids of filled and hollow points."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.describe.grids import FAILS, HOLDS
from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import INK, SIZE, altair, finished, name_axis, rows

CELL = 24


def draw(figure: Figure) -> Any:
    alt = altair()
    across, down = in_order(figure.data["measure"]), in_order(figure.data["axiom"])
    axis: dict[str, Any] = {"labelLimit": 220, "labelOverlap": False, "ticks": False, "domain": False, "grid": True}
    top = alt.Axis(orient="top", labelAngle=-90, **axis)
    key = alt.Legend(title=None, symbolStrokeWidth=1)
    fills = alt.Scale(domain=[HOLDS, FAILS], range=[INK, "#ffffff"])
    chart = (
        alt.Chart(rows(figure.data))
        .mark_point(size=90, stroke=INK, strokeWidth=1, opacity=1)
        .encode(
            x=name_axis("measure", across, channel="x", title=None, axis=top),
            y=name_axis("axiom", down, channel="y", title=None, axis=alt.Axis(labelFontSize=SIZE, **axis)),
            fill=alt.Fill("found:N", scale=fills, legend=key),
            tooltip=[f"{name}:N" for name in figure.data],
        )
        .properties(width=alt.Step(CELL), height=alt.Step(CELL))
    )
    return finished(chart, figure, width=max(320, CELL * len(across) + 200))
