"""Stacked bars of shares, a row each."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import SIZE, WIDTH, altair, finished, name_axis, rows

FILLS = ("#0072B2", "#E69F00", "#d9d9d9", "#5B2A86", "#7CC8F2", "#00604A", "#CC79A7", "#000000")
"""Dark next to light, so that neighbours differ when printed in grey."""
LIGHT = ("#E69F00", "#d9d9d9", "#7CC8F2", "#CC79A7")


def draw(figure: Figure) -> Any:
    alt = altair()
    measures, parts = in_order(figure.data["measure"]), in_order(figure.data["component"])
    fills = [FILLS[i % len(FILLS)] for i in range(len(parts))]
    light = {part for part, fill in zip(parts, fills, strict=True) if fill in LIGHT}
    shown = [f"{100 * x:.0f}%" if x >= 0.05 else "" for x in figure.data["share"].tolist()]
    data = {
        **figure.data,
        "middle": (figure.data["begin"] + figure.data["end"]) / 2,
        "shown": np.array(shown, dtype=object),
        "light": np.array([part in light for part in figure.data["component"].tolist()]),
    }
    axis = alt.Axis(ticks=False, domain=False, labelLimit=260, labelPadding=6, labels=measures != [""])
    base = alt.Chart(rows(data)).encode(
        y=name_axis("measure", measures, channel="y", title=None, axis=axis),
        tooltip=["measure:N", "component:N", "variance:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    scale = alt.Scale(domain=parts, range=fills)
    key = alt.Legend(title=None, orient="top", columns=4, symbolType="square", symbolStrokeWidth=0, labelLimit=300)
    along = alt.X(
        "begin:Q", title=figure.x.label, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~%", grid=False)
    )
    bars = base.mark_bar(size=18, stroke="white", strokeWidth=1).encode(
        x=along, x2="end:Q", color=alt.Color("component:N", scale=scale, legend=key)
    )
    ink = alt.condition("datum.light", alt.value("black"), alt.value("white"))
    words = base.mark_text(fontSize=SIZE - 1).encode(x="middle:Q", text="shown:N", color=ink)
    chart = alt.layer(bars, words).properties(width=WIDTH, height=alt.Step(26))
    return finished(chart, figure, width=WIDTH)
