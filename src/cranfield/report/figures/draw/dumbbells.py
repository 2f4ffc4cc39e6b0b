"""Changes of rank: a line from 0 to the change in each row. Of many rows, those that move, or the first ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.report.figures.describe.rank_changes import FEW
from cranfield.report.figures.figure import Figure
from cranfield.report.figures.theme import GREY, INK, SIZE, WIDTH, altair, finished, quantitative, row_chart, rows


def draw(figure: Figure) -> Any:
    alt = altair()
    change = figure.data["change"]
    moved = change != 0
    first = np.arange(len(change)) < FEW
    shown = moved if len(change) > FEW and moved.any() else first
    data = {name: column[shown] for name, column in figure.data.items()}
    ranks = zip(data["before"].tolist(), data["after"].tolist(), strict=True)
    data["ranks"] = np.array([f"{before:g} → {after:g}" for before, after in ranks], dtype=object)
    data["zero"] = np.zeros(len(data["change"]))
    base, step = row_chart(replace(figure, data=data))
    far = max(1.0, float(np.nanmax(np.abs(data["change"]), initial=0.0)))
    at = quantitative(replace(figure.x, low=-1.4 * far, high=1.4 * far), channel="x")  # there is room for the ranks
    size = min(40, 3.5 * step)
    small = min(SIZE - 1, max(6.5, step * 0.85))
    text = {"fontSize": small, "baseline": "middle", "color": "#444444"}
    layers = [
        alt.Chart(rows({"zero": np.zeros(1)})).mark_rule(color=GREY, strokeWidth=1).encode(x="zero:Q"),
        base.mark_rule(color=INK, strokeWidth=1.2).encode(x=at, x2="zero:Q"),
        base.mark_point(size=size, filled=True, color=INK, opacity=1).encode(x=at),
        base.transform_filter("datum.change >= 0").mark_text(align="left", dx=7, **text).encode(x=at, text="ranks:N"),
        base.transform_filter("datum.change < 0").mark_text(align="right", dx=-7, **text).encode(x=at, text="ranks:N"),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH)
