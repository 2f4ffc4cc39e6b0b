"""Strings of a text that was read, a bar each, from where they begin to where they end."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure
from cranfield.report.figures.theme import SIZE, WIDTH, altair, finished, name_axis, rows

FILLS = {"with a gain": "#0072B2", "without a gain": "#d9d9d9"}


def draw(figure: Figure) -> Any:
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
    kinds = [kind for kind in FILLS if kind in columns["kind"].tolist()]
    scale = alt.Scale(domain=kinds, range=[FILLS[kind] for kind in kinds])
    key = alt.Legend(title=None, orient="top", symbolType="square", symbolStrokeWidth=0)
    bars = base.mark_bar(size=14).encode(x=along, x2="end:Q", color=alt.Color("kind:N", scale=scale, legend=key))
    words = base.mark_text(align="left", dx=5, fontSize=SIZE - 1).encode(x="end:Q", text="shown:N")
    return finished(alt.layer(bars, words).properties(width=WIDTH, height=alt.Step(22)), figure, width=WIDTH)
