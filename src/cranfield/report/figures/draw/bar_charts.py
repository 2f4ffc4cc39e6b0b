"""Bars: differences by topic, shares, and strings of a text."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import (
    HEIGHT,
    INK,
    SIZE,
    WIDTH,
    altair,
    finished,
    name_axis,
    quantitative,
    references,
    rows,
)


def draw_bars(figure: Figure) -> Any:
    """Draw vertical bars above and below 0, a bar per topic."""
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


FILLS = ("#0072B2", "#E69F00", "#d9d9d9", "#5B2A86", "#7CC8F2", "#00604A", "#CC79A7", "#000000")
"""Dark next to light, so that neighbours differ when printed in grey."""
LIGHT = ("#E69F00", "#d9d9d9", "#7CC8F2", "#CC79A7")


def draw_stacked_bars(figure: Figure) -> Any:
    """Draw bars that are divided into shares, a row each."""
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


GAIN_FILLS = {"with a gain": "#0072B2", "without a gain": "#d9d9d9"}


def draw_text_strings(figure: Figure) -> Any:
    """Draw strings of a text that was read, a bar each, from where they begin to where they end."""
    alt = altair()
    columns = figure.data
    worth = zip(columns["gain"].tolist(), columns["decay"].tolist(), strict=True)
    shown = np.array([f"{gain:g} × {left:.3f}" if gain > 0 else "" for gain, left in worth], dtype=object)
    strings = columns["string"].tolist()
    axis = alt.Axis(ticks=False, domain=False, labelLimit=260, labelPadding=6)
    base = alt.Chart(rows({**columns, "shown": shown})).encode(
        y=name_axis("string", strings, channel="y", title=None, axis=axis),
        tooltip=["string:N", "begin:Q", "end:Q", "gain:Q", "decay:Q", "adds:Q"],
    )
    # Names of gains are to the right of a bar, so the axis is longer than the text.
    along = alt.X("begin:Q", title=figure.x.label, scale=alt.Scale(domain=[0, 1.25 * float(figure.x.high or 1)]))
    kinds = [kind for kind in GAIN_FILLS if kind in columns["kind"].tolist()]
    scale = alt.Scale(domain=kinds, range=[GAIN_FILLS[kind] for kind in kinds])
    key = alt.Legend(title=None, orient="top", symbolType="square", symbolStrokeWidth=0)
    bars = base.mark_bar(size=14).encode(x=along, x2="end:Q", color=alt.Color("kind:N", scale=scale, legend=key))
    words = base.mark_text(align="left", dx=5, fontSize=SIZE - 1).encode(x="end:Q", text="shown:N")
    return finished(alt.layer(bars, words).properties(width=WIDTH, height=alt.Step(22)), figure, width=WIDTH)
