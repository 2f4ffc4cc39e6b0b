"""Reproductions: is the effect as large as it was, and are the lists alike?"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure
from cranfield.report.figures.label_placement import placed
from cranfield.report.figures.theme import INK, SIZE, altair, finished, quantitative, references, rows

SIDE = 360


def draw(figure: Figure) -> Any:
    alt = altair()
    x, y, labels = (figure.data[name] for name in ("ER", "ΔRI", "measure"))
    data = {"measure": labels, "x": x, "y": y}
    told = ["measure:N", alt.Tooltip("x:Q", title="ER"), alt.Tooltip("y:Q", title="ΔRI")]
    base = alt.Chart(rows(data)).encode(
        x=quantitative(figure.x, channel="x", column="x", grid=False),
        y=quantitative(figure.y, channel="y", column="y", grid=False),
        tooltip=told,
    )
    layers = [*references(figure), base.mark_point(filled=True, color=INK, size=42, opacity=1)]
    across, down = _pixels(x, figure.x), SIDE - _pixels(y, figure.y)
    places = placed(list(zip(across.tolist(), down.tolist(), strict=True)), labels.tolist(), SIDE, SIDE)
    for place in dict.fromkeys(one for one in places if one is not None):
        mine = np.array([one == place for one in places])
        words = alt.Chart(rows({name: column[mine] for name, column in data.items()}))
        layers.append(
            words.mark_text(align=place.align, baseline="middle", dx=place.dx, dy=place.dy, fontSize=SIZE - 1).encode(
                x="x:Q", y="y:Q", text="measure:N"
            )
        )
    chart = alt.layer(*layers).properties(width=SIDE, height=SIDE)
    return finished(chart, figure, width=SIDE + 60)


def _pixels(values: Any, axis: Axis) -> Any:
    low, high = (0.0 if end is None else end for end in (axis.low, axis.high))
    return (values - low) / (high - low) * SIDE
