"""How every picture looks: one palette, one type, and ways to tell lines apart without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Columns, Figure

INK, GREY, PALE = "#000000", "#8a8a8a", "#d9d9d9"
PALETTE = ("#000000", "#D55E00", "#0072B2", "#E69F00", "#5B2A86", "#7CC8F2", "#00604A", "#CC79A7")
"""Hues of Okabe and Ito, some darker or lighter, so that no two are alike to the colour-blind or in greyscale."""
_X = "M-1,-0.6L-0.6,-1L0,-0.4L0.6,-1L1,-0.6L0.4,0L1,0.6L0.6,1L0,0.4L-0.6,1L-1,0.6L-0.4,0Z"
_BAR = "M-1,-0.35L1,-0.35L1,0.35L-1,0.35Z"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", _X, _BAR)
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 1), (1, 1), (10, 3), (6, 2, 1, 2, 1, 2))
STYLES = 3 * len(PALETTE)
"""How many lines can be told apart; with more, the first few are marked and the rest is grey."""
MARKED = len(PALETTE)

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
SIZE = 11
WIDTH, HEIGHT = 460, 300
MISSING = "pictures need altair and vl-convert-python, which are not installed: pip install 'cranfield[plot]'"


def altair() -> Any:
    """The package that draws, or how to get it."""
    try:
        import altair
    except ImportError:
        raise UsageError(MISSING) from None
    return altair


def rows(columns: Columns) -> Any:
    """Columns as the data of a chart; NaN is a hole.

    They go in as one text, which Vega reads as the rows it stands for: altair copies and checks whatever it can look
    into at every step, which takes ten times as long as the drawing.
    """
    import json

    lists = {name: _plain(column) for name, column in columns.items()}
    made = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    alt = altair()
    return alt.InlineData(values=json.dumps(made, ensure_ascii=False), format=alt.JsonDataFormat(type="json"))


def _plain(column: Any) -> list[Any]:
    values = np.asarray(column).tolist()
    return [None if isinstance(x, float) and x != x else x for x in values]


def style(number: int) -> dict[str, Any]:
    """Colour, dash, width, shape and filling of the so-many-th line: each repeats only when the others have changed.

    >>> style(0)["shape"], style(8)["shape"], style(0)["fill"] == style(8)["fill"]
    ('circle', 'circle', False)
    """
    turn, place = divmod(number, MARKED)
    colour = PALETTE[(place + 3 * (turn // 2)) % MARKED]
    return {
        "color": colour,
        "dash": DASHES[(place + turn) % MARKED],
        "shape": SHAPES[place],
        "fill": "#ffffff" if turn else colour,
        "width": 1.6,
    }


def quantitative(axis: Axis, *, channel: str, column: str | None = None, grid: bool = True, zero: bool = False) -> Any:
    """A numeric axis with its label, for its own column or another of the same scale."""
    alt = altair()
    shown = {"share": "~%", "count": ",~r", "number": "~g"}
    # Numbers as small as 1e-5 keep d3's own format, which writes 0.00001.
    format = shown[axis.kind] if axis.kind != "number" else alt.Undefined
    ends: dict[str, Any] = {}
    if axis.low is not None:
        ends["domainMin"] = axis.low
    if axis.high is not None:
        ends["domainMax"] = axis.high
    made = alt.X if channel == "x" else alt.Y
    scale = alt.Scale(zero=zero, nice=not ends, reverse=axis.reverse, **ends)
    whole = {"labelExpr": "datum.value % 1 ? '' : datum.label"} if axis.kind == "count" else {}
    shown_axis = alt.Axis(format=format, grid=grid, tickCount=8, **whole)
    return made(f"{column or axis.column}:Q", title=axis.label, scale=scale, axis=shown_axis)


def text_width(text: str) -> float:
    """About how many pixels a label takes."""
    from cranfield.table import visible_width

    return 0.56 * SIZE * visible_width(text)


def finished(chart: Any, figure: Figure, *, width: float = WIDTH) -> Any:
    """Titles, fonts and lines, the same in every picture."""
    alt = altair()
    letters = max(40, int(width / (0.43 * SIZE)))
    title = alt.TitleParams(
        text=textwrap.wrap(figure.title, int(letters * 0.8)) or [""],
        subtitle=[line for part in figure.subtitle.split("\n") for line in textwrap.wrap(part, letters)],
    )
    told = {"cranfield": {"notes": list(figure.notes)}}
    return (
        chart.properties(title=title, background="white", usermeta=told)
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_title(
            anchor="start", frame="group", fontSize=SIZE + 2, fontWeight="bold", offset=10,
            subtitleFontSize=SIZE - 1, subtitleColor="#444444", subtitlePadding=4,
        )
        .configure_axis(
            labelFontSize=SIZE, titleFontSize=SIZE, titleFontWeight="normal", titlePadding=8, labelColor=INK,
            titleColor=INK, domainColor=GREY, tickColor=GREY, gridColor="#e6e6e6", labelFlush=False,
        )
        .configure_legend(
            labelFontSize=SIZE, titleFontSize=SIZE, titleFontWeight="normal", labelLimit=240, symbolSize=60,
            symbolStrokeWidth=1.4, symbolOpacity=1, offset=14,
        )
        .configure_header(labelFontSize=SIZE, titleFontSize=SIZE)
    )  # fmt: skip


# -- a row per system


def row_step(n: int) -> float:
    """How high a row is: roomy for a few, and never so high that many do not fit a page.

    >>> row_step(2), row_step(129)
    (22.0, 8.0)
    """
    return float(max(2.5, min(22.0, max(8.0, 440 / n), 1600 / n)))


def system_axis(axis: Axis, order: Sequence[str], **options: Any) -> Any:
    """Names down the page, which are read without turning the head; in small type, or only some, where many are."""
    alt = altair()
    step = row_step(len(order))
    each = int(np.ceil(7.5 / step))
    shown = alt.Axis(
        values=list(order[::each]),
        labelFontSize=min(SIZE, max(6.5, step * 0.85)),
        labelLimit=260,
        labelOverlap=False,
        ticks=False,
        domain=False,
        labelPadding=6,
        grid=len(order) > 30,
    )
    return alt.Y(f"{axis.column}:N", sort=list(order), title=axis.label, axis=shown, **options)


def references(figure: Figure) -> list[Any]:
    """Layers of lines to read values against, each with its text at the end."""
    alt = altair()
    made = []
    for one in figure.references:
        data = rows({"value": np.array([one.value]), "text": np.array([one.text], dtype=object)})
        base = alt.Chart(data)
        if one.axis == "y":
            place: Mapping[str, Any] = {"y": alt.Y("value:Q")}
            words = {"x": alt.value("width"), "align": "right", "dx": -3, "dy": -6}
        else:
            place = {"x": alt.X("value:Q")}
            words = {"y": alt.value(0), "align": "left", "dx": 4, "dy": 7}
        at = {name: words.pop(name) for name in ("x", "y") if name in words}
        made.append(base.mark_rule(color="#444444", strokeDash=[4, 3], strokeWidth=1).encode(**place))
        made.append(base.mark_text(color="#444444", fontSize=SIZE - 1, **words).encode(**place, **at, text="text:N"))
    return made
