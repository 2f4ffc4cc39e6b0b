"""Heat maps: a grid of cells, darker for higher values."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import SIZE, altair, finished, rows

NUMBERED = 24
"""Cells show their numbers if there are at most this many rows and columns."""


def draw(figure: Figure) -> Any:
    alt = altair()
    assert figure.by is not None
    down, across = in_order(figure.data["row"]), in_order(figure.data["column"])
    many = max(len(down), len(across))
    cell = float(np.clip(640 / many, 7, 34))
    numbered = many <= NUMBERED
    values = figure.data["value"]
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    # One colour from light to dark keeps the order when printed in grey; the scale ends at 0 and 1 where possible.
    ends = [min(0.0, low) if low < 0.4 else np.floor(10 * low) / 10, 1.0 if 0.5 < high <= 1 else high]
    middle = ends[0] + 0.55 * (ends[1] - ends[0])
    size = min(SIZE, max(6.5, 0.85 * cell))
    axis: dict[str, Any] = {
        "labelFontSize": size, "labelLimit": 220, "labelOverlap": False, "ticks": False, "domain": False, "grid": False,
    }  # fmt: skip
    base = alt.Chart(rows(figure.data)).encode(
        x=alt.X("column:N", sort=across, title=None, axis=alt.Axis(orient="top", labelAngle=-90, **axis)),
        y=alt.Y("row:N", sort=down, title=None, axis=alt.Axis(**axis)),
        tooltip=["row:N", "column:N", alt.Tooltip("value:Q", format=".4f")],
    )
    scale = alt.Scale(domain=ends, scheme="blues")
    key = None if numbered else alt.Legend(title=figure.by.label, gradientLength=160)
    border = {"stroke": "white", "strokeWidth": 1} if cell > 9 else {"strokeWidth": 0}
    layers = [base.mark_rect(**border).encode(color=alt.Color("value:Q", scale=scale, legend=key))]
    if numbered:
        ink = alt.condition(f"datum.value > {middle}", alt.value("white"), alt.value("black"))
        # An undefined cell stays empty; its text would be "null".
        text = (
            base.transform_filter("isValid(datum.value)")
            .mark_text(fontSize=min(SIZE - 1, 0.36 * cell))
            .encode(text=alt.Text("value:Q", format=".2f"), color=ink)
        )
        layers.append(text)
    chart = alt.layer(*layers).properties(width=alt.Step(cell), height=alt.Step(cell))
    return finished(chart, figure, width=max(320.0, cell * len(across) + 90))
