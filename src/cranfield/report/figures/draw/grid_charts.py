"""Grids: heat maps, whose cells are darker for higher values, and filled and hollow points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures.describe.grids import FAILS, HOLDS
from cranfield.report.figures.figure import Columns, Figure, in_order
from cranfield.report.figures.theme import INK, SIZE, altair, finished, name_axis, rows

NUMBERED = 24
"""Cells show their numbers if there are at most this many rows and columns."""
LIGHT = ("#f7fbff", "#6baed6")
"""The colours of the lowest and the highest cell that have numbers."""
LEAST_LABEL = 7.0
"""The smallest size of labels."""
MOST = 300
"""The most rows and columns; of more, neighbours are drawn together."""


def draw_heat_map(figure: Figure) -> Any:
    """Draw a grid; with a column `coefficient`, a grid for each of its values, side by side."""
    alt = altair()
    assert figure.by is not None
    figure = _joined(figure)
    across = in_order(figure.data["column"])
    cell = _cell(figure)
    values = figure.data["value"]
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    # One colour from light to dark keeps the order when printed in grey; the scale ends at 0 and 1 where possible.
    ends = [min(0.0, low) if low < 0.4 else np.floor(10 * low) / 10, 1.0 if 0.5 < high <= 1 else high]
    if "coefficient" not in figure.data:
        return finished(_grid(figure, figure.data, ends), figure, width=max(320.0, cell[0] * len(across) + 90))
    panels = []
    for name in in_order(figure.data["coefficient"]):
        data = {column: values[figure.data["coefficient"] == name] for column, values in figure.data.items()}
        head = alt.TitleParams(name, anchor="start", fontSize=SIZE, fontWeight="normal", offset=8)
        panels.append(_grid(figure, data, ends).properties(title=head))
    chart = panels[0] if len(panels) == 1 else alt.hconcat(*panels, spacing=24)
    return finished(chart, figure, width=max(320.0, len(panels) * (cell[0] * len(across) + 90)))


def _joined(figure: Figure) -> Figure:
    """Return the figure with at most `MOST` rows and columns: a cell has the mean of neighbours, and their names."""
    columns = dict(figure.data)
    factors = {}
    for side in ("row", "column"):
        order = in_order(columns[side])
        factor = factors[side] = -(-len(order) // MOST)
        if factor > 1:
            blocks = [order[begin : begin + factor] for begin in range(0, len(order), factor)]
            block_of = {
                name: block[0] + (f" … {block[-1]}" if len(block) > 1 else "") for block in blocks for name in block
            }
            columns[side] = np.array([block_of[name] for name in columns[side].tolist()], dtype=object)
    if max(factors.values()) == 1:
        return figure
    keys = [columns[name] for name in ("coefficient", "row", "column") if name in columns]
    cells: dict[tuple[str, ...], list[float]] = {}
    for key, value in zip(zip(*keys, strict=True), columns["value"].tolist(), strict=True):
        cells.setdefault(key, []).extend([] if value != value else [value])
    parts = np.array(list(cells), dtype=object).T
    names = [name for name in ("coefficient", "row", "column") if name in columns]
    means = [sum(values) / len(values) if values else np.nan for values in cells.values()]
    data = {**dict(zip(names, parts, strict=True)), "value": np.array(means)}
    said = f"a cell is the mean of {factors['row']} × {factors['column']} neighbours"
    return replace(figure, data=data, subtitle="\n".join(filter(None, [figure.subtitle, said])))


def _cell(figure: Figure) -> tuple[float, float]:
    """Return the width and height of a cell: there is room for the interval if there is one, and for labels."""
    down, across = (len(in_order(figure.data[side])) for side in ("row", "column"))
    if max(down, across) > NUMBERED:
        return float(np.clip(640 / across, 7, 34)), float(np.clip(1300 / down, 4, 20))
    side = float(np.clip(640 / max(down, across), 7, 34))
    return (max(side, 62.0), max(side, 34.0)) if "low" in figure.data else (side, side)


def _grid(figure: Figure, data: Columns, ends: list[float]) -> Any:
    alt = altair()
    assert figure.by is not None
    down, across = in_order(data["row"]), in_order(data["column"])
    numbered = max(len(down), len(across)) <= NUMBERED
    wide, high = _cell(figure)
    axis: dict[str, Any] = {"labelLimit": 220, "labelOverlap": False, "ticks": False, "domain": False, "grid": False}
    top, left = ({**axis, **_labels(order, room)} for order, room in ((across, wide), (down, high)))
    spans = "low" in data
    columns = {**data, "cell": _texts(data)} if numbered else data
    base = alt.Chart(rows(columns)).encode(
        x=name_axis("column", across, channel="x", title=None, axis=alt.Axis(orient="top", labelAngle=-90, **top)),
        y=name_axis("row", down, channel="y", title=None, axis=alt.Axis(**left)),
        tooltip=[
            "row:N", "column:N",
            *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("value", "low", "high") if name in data),
        ],
    )  # fmt: skip
    # Black numbers can be read on all of the lighter colours.
    scale = alt.Scale(domain=ends, range=LIGHT) if numbered else alt.Scale(domain=ends, scheme="blues")
    key = None if numbered else alt.Legend(title=figure.by.label, gradientLength=160)
    border = {"stroke": "white", "strokeWidth": 1} if high > 9 else {"strokeWidth": 0}
    layers = [base.mark_rect(**border).encode(color=alt.Color("value:Q", scale=scale, legend=key))]
    if numbered:
        # An undefined cell stays empty; its text would be "null".
        text = (
            base.transform_filter("isValid(datum.value)")
            .mark_text(fontSize=SIZE - 2 if spans else min(SIZE - 1, 0.36 * high), lineBreak="|", baseline="middle",
                       dy=-(SIZE - 2) / 2 if spans else 0, lineHeight=SIZE)
            .encode(text="cell:N")
        )  # fmt: skip
        layers.append(text)
    return alt.layer(*layers).properties(width=alt.Step(wide), height=alt.Step(high))


def _labels(order: list[str], room: float) -> dict[str, Any]:
    """Return the size of labels with this room each; where it is too little, only some are shown."""
    every = int(np.ceil(LEAST_LABEL / room))
    return {"labelFontSize": min(SIZE, max(LEAST_LABEL, 0.85 * room)), "values": order[::every]}


def _texts(data: Columns) -> NDArray[Any]:
    """Return the text of each cell: the value, and below it the interval if there is one."""
    texts = [f"{value:.2f}" for value in data["value"].tolist()]
    if "low" in data:
        spans = zip(data["low"].tolist(), data["high"].tolist(), data["row"], data["column"], strict=True)
        ends = ["" if row == column or low != low else f"|[{low:.2f}, {high:.2f}]" for low, high, row, column in spans]
        texts = [text + end for text, end in zip(texts, ends, strict=True)]
    return np.array(texts, dtype=object)


CELL = 24


def draw_dot_grid(figure: Figure) -> Any:
    """Draw a grid of filled and hollow points."""
    alt = altair()
    across, down = in_order(figure.data["measure"]), in_order(figure.data["axiom"])
    axis: dict[str, Any] = {"labelLimit": 220, "labelOverlap": False, "ticks": False, "domain": False, "grid": True}
    top = alt.Axis(orient="top", labelAngle=-90, **axis)
    key = alt.Legend(title=None, symbolStrokeWidth=1)
    fills = alt.Scale(domain=[HOLDS, FAILS], range=[INK, "#ffffff"])
    chart = (
        alt.Chart(rows(figure.data))
        .mark_point(size=90, stroke=INK, strokeWidth=1, opacity=1)
        .encode(
            x=name_axis("measure", across, channel="x", title=None, axis=top),
            y=name_axis("axiom", down, channel="y", title=None, axis=alt.Axis(labelFontSize=SIZE, **axis)),
            fill=alt.Fill("found:N", scale=fills, legend=key),
            tooltip=[f"{name}:N" for name in figure.data],
        )
        .properties(width=alt.Step(CELL), height=alt.Step(CELL))
    )
    return finished(chart, figure, width=max(320, CELL * len(across) + 200))
