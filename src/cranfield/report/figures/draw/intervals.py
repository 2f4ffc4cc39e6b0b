"""Means with intervals: which systems differ from the best, or from a baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import INK, WIDTH, altair, finished, quantitative, row_step, rows, system_axis


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["system"])
    step = row_step(len(order))
    base = alt.Chart(rows(figure.data)).encode(
        y=system_axis(figure.y, order), tooltip=["system:N", "mean:Q", "low:Q", "high:Q", "stands:N"]
    )
    stands = sorted(in_order(figure.data["stands"]), key=lambda one: (one != "baseline", one.startswith("differs")))
    hollow = ["#ffffff" if one.startswith("differs") else INK for one in stands]
    shapes = ["diamond" if one == "baseline" else "circle" for one in stands]
    key = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=400)
    span = {"x": quantitative(figure.x, channel="x", column="low"), "x2": "high:Q"}
    layers = [base.mark_rule(color=INK, strokeWidth=1.2 if step >= 12 else 0.8).encode(**span)]
    for one in figure.references:
        at = alt.Chart(rows({"value": np.array([one.value])}))
        layers.insert(0, at.mark_rule(color="#444444", strokeDash=[4, 3], strokeWidth=0.8).encode(x="value:Q"))
    spots = base.mark_point(size=min(50, 4 * step), stroke=INK, strokeWidth=1, opacity=1).encode(
        x="mean:Q",
        fill=alt.Fill("stands:N", scale=alt.Scale(domain=stands, range=hollow), legend=key),
        shape=alt.Shape("stands:N", scale=alt.Scale(domain=stands, range=shapes), legend=key),
    )
    chart = alt.layer(*layers, spots).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)
