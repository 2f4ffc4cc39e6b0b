"""Vertical bars above and below 0, a bar per topic."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import (
    HEIGHT,
    INK,
    SIZE,
    altair,
    finished,
    name_axis,
    quantitative,
    references,
    rows,
)


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["topic"])
    step = float(np.clip(620 / len(order), 0.3, 30))
    padding = 0.2 if step >= 4 else 0
    axis = alt.Axis(
        labels=step >= 8, ticks=False, domain=False, grid=False, labelAngle=-90, labelLimit=90, orient="bottom",
        labelFontSize=min(SIZE, max(6.5, step * 0.85)), labelOverlap=False,
    )  # fmt: skip
    base = alt.Chart(rows(figure.data)).encode(
        x=name_axis("topic", order, channel="x", title=figure.x.label, axis=axis, paddingInner=padding),
        tooltip=["topic:N", "first:Q", "second:Q", "difference:Q"],
    )
    y = quantitative(figure.y, channel="y", zero=True)
    colour = alt.condition("datum.difference >= 0", alt.value("#0072B2"), alt.value("#E69F00"))
    # Without an outline, bars thinner than a pixel would show as stripes.
    bars = base.mark_bar(strokeWidth=0.6 if step < 4 else 0).encode(y=y, fill=colour, stroke=colour)
    zero = alt.Chart(rows({"value": np.zeros(1)})).mark_rule(color=INK, strokeWidth=1).encode(y="value:Q")
    chart = alt.layer(bars, zero, *references(figure)).properties(width=alt.Step(step), height=HEIGHT)
    return finished(chart, figure, width=max(300.0, step * len(order)))
