"""Relevance against diversity: D-nDCG over I-rec, with lines along which D# is the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure
from cranfield.report.figures.label_placement import placed
from cranfield.report.figures.theme import INK, SIZE, altair, finished, quantitative, rows
from cranfield.types import Array

SIDE = 400


def draw(figure: Figure) -> Any:
    alt = altair()
    lines = alt.Chart(rows(figure.also["lines"])).encode(
        x=quantitative(figure.x, channel="x", column="x", grid=False),
        y=quantitative(figure.y, channel="y", column="y", grid=False),
    )
    top = {name: column[::2] for name, column in figure.also["lines"].items()}
    levels = alt.Chart(rows(top)).mark_text(
        align="left", baseline="bottom", dx=3, dy=-2, fontSize=SIZE - 2, color="#666666"
    )
    labelled, places = _labels(figure)
    # The column names may hold dots and brackets, which a field name reads as paths.
    plain = {"system": figure.data["system"], **{k: figure.data[a.column] for k, a in _axes(figure).items()}}
    data = rows(plain)
    told = [
        alt.Tooltip("system:N"),
        *(alt.Tooltip(f"{k}:Q", title=a.label, format=".4f") for k, a in _axes(figure).items()),
    ]
    at = {"x": alt.X("x:Q"), "y": alt.Y("y:Q")}
    layers = [
        lines.mark_line(color="#b5b5b5", strokeWidth=1).encode(detail="level:N"),
        levels.encode(**at, text=alt.Text("level:Q", format="~g")),
        alt.Chart(data).mark_point(filled=True, color=INK, size=36, opacity=0.85).encode(**at, tooltip=told),
    ]
    for place in dict.fromkeys(one for one in places if one is not None):
        mine = np.array([one == place for one in places])
        words = alt.Chart(rows({name: column[mine] for name, column in labelled.items()}))
        layers.append(
            words.mark_text(align=place.align, baseline="middle", dx=place.dx, dy=place.dy, fontSize=SIZE - 1).encode(
                **at, text="system:N"
            )
        )
    chart = alt.layer(*layers).properties(width=SIDE, height=SIDE).add_params(alt.selection_interval(bind="scales"))
    return finished(chart, figure, width=SIDE)


def _axes(figure: Figure) -> dict[str, Axis]:
    assert figure.by is not None
    return {"x": figure.x, "y": figure.y, "combined": figure.by}


def _labels(figure: Figure) -> tuple[dict[str, Any], list[Any]]:
    """Names beside the points, as many as there is room for, the best first."""
    x, y = figure.data[figure.x.column], figure.data[figure.y.column]
    across, down = _pixels(x, figure.x), SIDE - _pixels(y, figure.y)
    points = list(zip(across.tolist(), down.tolist(), strict=True))
    labels = figure.data["system"].tolist()
    return {"system": figure.data["system"], "x": x, "y": y}, placed(points, labels, SIDE, SIDE)


def _pixels(values: Array, axis: Axis) -> Array:
    low, high = axis.low or 0.0, 1.0 if axis.high is None else axis.high
    return (values - low) / (high - low) * SIDE
