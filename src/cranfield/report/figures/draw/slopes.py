"""Ranks of runs under several judgments: a line per run, with its name at both ends. Runs that move are dark."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import GREY, INK, PALE, SIZE, altair, finished, name_axis, row_step, rows

GAP = 150
"""The distance between two columns, in pixels."""


def draw(figure: Figure) -> Any:
    alt = altair()
    assert figure.by is not None
    run, x, y = (figure.data[axis.column] for axis in (figure.by, figure.x, figure.y))
    columns, runs = in_order(x), in_order(run)
    step = row_step(len(runs))
    first = {name: rank for name, column, rank in zip(run, x, y.tolist(), strict=True) if column == columns[0]}
    moved = {name for name, rank in zip(run, y.tolist(), strict=True) if rank != first[name]}
    data = {"run": run, "judge": x, "rank": y, "moved": np.array([name in moved for name in run])}
    # Runs that tie have the same place, and their names would be printed over each other.
    ends = {}
    for end in (columns[0], columns[-1]):
        texts: dict[int, list[str]] = {}
        for name, column, rank in zip(run, x, y.tolist(), strict=True):
            if column == end:
                texts.setdefault(rank, []).append(name)
        ends[end] = {
            "judge": np.full(len(texts), end, dtype=object),
            "rank": np.array(list(texts)),
            "name": np.array([", ".join(names) for names in texts.values()], dtype=object),
        }
    scale = alt.Scale(reverse=True, domain=[0.5, max(y.tolist()) + 0.5], nice=False, zero=False)
    place = {
        "x": name_axis("judge", columns, channel="x", title=None, type="point", padding=0.2,
                    axis=alt.Axis(orient="top", labelAngle=0, labelLimit=GAP, domain=False, ticks=False)),
        "y": alt.Y("rank:Q", title=figure.y.label, scale=scale, axis=None),
    }  # fmt: skip
    ink = alt.condition("datum.moved", alt.value(INK), alt.value(PALE))
    base = alt.Chart(rows(data)).encode(**place, detail="run:N", tooltip=["run:N", "judge:N", "rank:Q"])
    size = min(SIZE, max(6.0, 0.85 * step))
    layers = [
        base.mark_line(strokeWidth=1.3).encode(color=ink),
        base.mark_point(filled=True, size=min(36, 3 * step), opacity=1).encode(
            color=alt.condition("datum.moved", alt.value(INK), alt.value(GREY))
        ),
    ]
    for end, side, shift in ((columns[0], "right", -8), (columns[-1], "left", 8)):
        text = alt.Chart(rows(ends[end])).mark_text(align=side, dx=shift, fontSize=size, color=INK, limit=240)
        layers.append(text.encode(**place, text="name:N"))
    width = GAP * max(1, len(columns) - 1) + 260
    chart = alt.layer(*layers).properties(width=width, height=max(120.0, step * len(runs)))
    return finished(chart, figure, width=width)
