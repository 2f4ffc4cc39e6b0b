"""The look of all figures: palette, fonts, axes, and line styles that differ even without colour."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.frames import install_command
from cranfield.report.figures.figure import Axis, Columns, Figure, in_order
from cranfield.report.figures.lettering import wrapped

INK, GREY, PALE = "#000000", "#8a8a8a", "#d9d9d9"
PALETTE = ("#000000", "#D55E00", "#0072B2", "#E69F00", "#5B2A86", "#7CC8F2", "#00604A", "#CC79A7")
"""Hues of Okabe and Ito, some darker or lighter, so that all differ for colour-blind readers and in greyscale."""
_X = "M-1,-0.6L-0.6,-1L0,-0.4L0.6,-1L1,-0.6L0.4,0L1,0.6L0.6,1L0,0.4L-0.6,1L-1,0.6L-0.4,0Z"
_BAR = "M-1,-0.35L1,-0.35L1,0.35L-1,0.35Z"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", _X, _BAR)
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 1), (1, 1), (10, 3), (6, 2, 1, 2, 1, 2))
STYLES = 3 * len(PALETTE)
"""The number of distinct line styles. With more lines, the first `MARKED` have a style and the others are grey."""
MARKED = len(PALETTE)
RANKED = ("system", "run")
"""Lines of these are sorted, the best first; if there are more than `MARKED`, the others are grey."""

USUAL = ("AP", "nDCG", "P", "RR", "Q", "bpref", "RBP", "ERR")
"""Measures that have the first styles, in this order."""

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
SIZE = 11
WIDTH, HEIGHT = 460, 300


def without_packages() -> UsageError:
    """The error of a figure if the packages that draw it are missing."""
    return UsageError(f"figures need altair and vl-convert-python, which are not installed: {install_command('plot')}")


def altair() -> Any:
    """Import altair; the error says how to install it."""
    try:
        import altair
    except ImportError:
        raise without_packages() from None
    return altair


def rows(columns: Columns) -> Any:
    """Return columns as the data of a chart; NaN is a gap.

    The data is one string of JSON, which Vega parses: altair would copy and validate a list at every step, which takes
    ten times as long as the drawing.
    """
    import json

    lists = {name: [None if x != x else x for x in np.asarray(column).tolist()] for name, column in columns.items()}
    records = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    alt = altair()
    return alt.InlineData(values=json.dumps(records, ensure_ascii=False), format=alt.JsonDataFormat(type="json"))


def styles_of(column: str) -> int:
    """The most lines that have a style each, if they are told apart by this column."""
    return MARKED if column in RANKED else STYLES


def style(number: int) -> dict[str, Any]:
    """Return colour, dash, width, shape and fill of a line; all styles below `STYLES` differ.

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


def style_numbers(names: Sequence[str], column: str) -> dict[str, int]:
    """Return the number of the style of each line.

    A measure has the same style in every figure, whatever the order of the lines: the usual ones have a style each, and
    others one by their name. If two measures of a figure would have the same, one takes the next free style.

    >>> style_numbers(["RR", "nDCG@10", "AP"], "measure")
    {'AP': 0, 'RR': 3, 'nDCG@10': 1}
    """
    if column != "measure" or len(names) > STYLES:
        return {name: number for number, name in enumerate(names)}
    families = {name: re.split("[@(,]", name)[0] for name in names}
    numbers: dict[str, int] = {}
    for name in sorted(names, key=lambda name: (families[name] not in USUAL, len(name), name)):
        family = families[name]
        first = USUAL.index(family) if family in USUAL else zlib.crc32(name.encode("utf-8", "replace")) % MARKED
        places = (turn + (first + step) % MARKED for turn in range(0, STYLES, MARKED) for step in range(MARKED))
        numbers[name] = next(place for place in places if place not in numbers.values())
    return numbers


def with_room(axis: Axis, *columns: NDArray[Any]) -> Axis:
    """Return the axis with round ends beyond all values, so that nothing is drawn on the frame; given ends stay.

    >>> with_room(Axis("tau", "τ", high=1), np.array([0.45, 0.9])).low
    0.4
    """
    values = np.concatenate([np.asarray(column, dtype=np.float64) for column in columns])
    values = values[np.isfinite(values)]
    if not len(values):
        return axis
    low, high = float(values.min()), float(values.max())
    span = (high if axis.high is None else axis.high) - (low if axis.low is None else axis.low)
    if span <= 0:
        return axis
    unit = 10.0 ** math.floor(math.log10(span / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if span / (unit * factor) <= 8)
    begin = math.floor((low - 0.03 * span) / step) * step
    end = math.ceil((high + 0.03 * span) / step) * step
    begin, end = (max(begin, 0.0) if low >= 0 else begin), (min(end, 1.0) if high <= 1 else end)
    return replace(
        axis,
        low=round(begin, 12) if axis.low is None else axis.low,
        high=round(end, 12) if axis.high is None else axis.high,
    )


def quantitative(axis: Axis, *, channel: str, column: str | None = None, grid: bool = True, zero: bool = False) -> Any:
    """Return a numeric axis with its label, for its own column or for another one on the same scale."""
    alt = altair()
    # The default format of d3 writes 1e-5 as 0.00001.
    format = {"share": "~%", "count": ",~r"}.get(axis.kind, alt.Undefined)
    ends = {end: value for end, value in (("domainMin", axis.low), ("domainMax", axis.high)) if value is not None}
    encoding = alt.X if channel == "x" else alt.Y
    if axis.log:
        format = "~g"
        scale = alt.Scale(type="log", nice=False, reverse=axis.reverse, **ends)
    else:
        scale = alt.Scale(zero=zero, nice=not ends, reverse=axis.reverse, **ends)
    more: dict[str, Any] = {"tickMinStep": 1} if axis.kind == "count" else {}
    if axis.ticks:
        last = f"abs(datum.value - {axis.ticks[-1]}) < 1e-9"
        label = f"format(datum.value, '.{_decimals(axis.ticks)}f')"
        shown = f"{last} ? [{label}, 'and above'] : {label}" if axis.open_end else label
        more = {"values": list(axis.ticks), "labelExpr": shown}
    ticks = alt.Axis(format=format, grid=grid, tickCount=8, **more)
    return encoding(f"{column or axis.column}:Q", title=axis.label, scale=scale, axis=ticks)


def name_axis(column: str, order: Sequence[str], *, channel: str, title: str | None, axis: Any, **scale: Any) -> Any:
    """Return an axis with a place for each name, in this order.

    The names are the domain of the scale. As an order to sort by, Vega-Lite would turn them into one expression with a
    branch for each name, which is too deep for the engine if there are some thousands.
    """
    alt = altair()
    encoding = alt.X if channel == "x" else alt.Y
    domain = alt.Scale(domain=list(order), **scale)
    return encoding(f"{column}:N", sort=None, scale=domain, title=title, axis=axis)


def _decimals(ticks: Sequence[float]) -> int:
    """Return how many decimals the ticks need, at least 2."""
    return next((n for n in range(2, 12) if all(abs(round(tick, n) - tick) < 1e-12 for tick in ticks)), 12)


def finished(chart: Any, figure: Figure, *, width: float = WIDTH) -> Any:
    """Add titles, and set the fonts and lines that all figures share."""
    alt = altair()
    wide = max(width, 220.0)
    title = alt.TitleParams(
        text=wrapped(figure.title, wide, SIZE + 2, bold=True) or [""],
        subtitle=[line for part in figure.subtitle.split("\n") for line in wrapped(part, wide, SIZE - 1)],
    )
    return (
        chart.properties(title=title, background="white", usermeta={"cranfield": {"notes": list(figure.notes)}})
        # One call: every further one would copy the whole chart.
        .configure(
            font=FONT,
            view=alt.ViewConfig(stroke=None),
            title=alt.TitleConfig(
                anchor="start", frame="group", fontSize=SIZE + 2, fontWeight="bold", offset=10,
                subtitleFontSize=SIZE - 1, subtitleColor="#444444", subtitlePadding=4,
            ),
            axis=alt.AxisConfig(
                labelFontSize=SIZE, titleFontSize=SIZE, titleFontWeight="normal", titlePadding=8, labelColor=INK,
                titleColor=INK, domainColor=GREY, tickColor=GREY, gridColor="#e6e6e6", labelFlush=False,
            ),
            legend=alt.LegendConfig(
                labelFontSize=SIZE, titleFontSize=SIZE, titleFontWeight="normal", labelLimit=420, symbolSize=60,
                symbolStrokeWidth=1.4, symbolOpacity=1, offset=14,
            ),
            header=alt.HeaderConfig(labelFontSize=SIZE, titleFontSize=SIZE),
        )
    )  # fmt: skip


# -- figures with a row per system or measure


def row_step(n: int) -> float:
    """Return the height of a row: large for few rows, small enough for many to fit a page.

    >>> row_step(2), row_step(129)
    (22.0, 11.0)
    """
    return float(max(2.5, min(22.0, max(11.0, 440 / n), 2400 / n)))


def row_chart(figure: Figure, data: Columns | None = None) -> tuple[Any, float]:
    """Return a chart with a row per name on the vertical axis, and the height of a row. Default data: the figure's.

    If there are many rows, the type is small, or only some names are shown.
    """
    alt = altair()
    columns = figure.data if data is None else data
    order = in_order(figure.data[figure.y.column])
    step = row_step(len(order))
    every = int(np.ceil(7.5 / step))
    axis = alt.Axis(
        values=order[::every], labelFontSize=min(SIZE, max(6.5, step * 0.85)), labelLimit=260, labelOverlap=False,
        ticks=False, domain=False, labelPadding=6, grid=len(order) > 30, maxExtent=320,
    )  # fmt: skip
    y = name_axis(figure.y.column, order, channel="y", title=figure.y.label, axis=axis)
    tooltip = [f"{name}:{'N' if column.dtype == object else 'Q'}" for name, column in columns.items()]
    return alt.Chart(rows(columns)).encode(y=y, tooltip=tooltip), step


def references(figure: Figure) -> list[Any]:
    """Return the layers of the reference lines, each with its text at the end."""
    alt = altair()
    layers = []
    for line in figure.references:
        base = alt.Chart(rows({"value": np.array([line.value]), "text": np.array([line.text], dtype=object)}))
        if line.axis == "y":
            at, end = {"y": alt.Y("value:Q")}, {"x": alt.value("width")}
            text = base.mark_text(color="#444444", fontSize=SIZE - 1, align="right", dx=-3, dy=-6)
        else:
            at, end = {"x": alt.X("value:Q")}, {"y": alt.value(0)}
            text = base.mark_text(color="#444444", fontSize=SIZE - 1, align="left", dx=4, dy=7)
        layers.append(base.mark_rule(color="#444444", strokeDash=[4, 3], strokeWidth=1).encode(**at))
        layers.append(text.encode(**at, **end, text="text:N"))
    return layers
