"""Charts with a row or a column per system, topic or measure: boxes, intervals, changes of rank, and bars."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.report.figures.describe.meta_figures import FEW
from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import (
    GREY,
    HEIGHT,
    INK,
    SIZE,
    WIDTH,
    altair,
    finished,
    name_axis,
    quantitative,
    references,
    row_chart,
    rows,
    style,
    style_numbers,
    with_room,
)


def draw_boxes(figure: Figure) -> Any:
    """Draw box plots."""
    alt = altair()
    base, step = row_chart(figure)
    thin = 1 if step >= 8 else 0.5

    def span(low: str, high: str) -> dict[str, Any]:
        return {"x": quantitative(figure.x, channel="x", column=low), "x2": f"{high}:Q"}

    box = base.mark_bar(size=0.62 * step, fill="#dcdcdc", stroke="#555555", strokeWidth=0.7 * thin)
    mean = base.mark_point(
        shape="diamond", size=min(45, 4.5 * step), filled=True, fill="#ffffff", stroke=INK, opacity=1,
        strokeWidth=0.9 * thin,
    )  # fmt: skip
    layers = [
        base.mark_rule(color=GREY, strokeWidth=thin).encode(**span("low", "high")),
        box.encode(**span("q1", "q3")),
        base.mark_tick(color=INK, thickness=2 * thin, size=0.62 * step).encode(x="median:Q"),
        mean.encode(x="mean:Q"),
    ]
    if len(figure.also["beyond"]["value"]):
        outliers, _ = row_chart(figure, figure.also["beyond"])
        points = outliers.mark_point(size=min(16, 1.6 * step), stroke="#555555", strokeWidth=0.8 * thin)
        layers.append(points.encode(x="value:Q"))
    chart = alt.layer(*layers).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)


FILLED = ("differs", "below")
"""How the names of groups begin whose points are filled."""


def draw_intervals(figure: Figure) -> Any:
    """Draw points with intervals. If the figure has groups, those that differ from a reference are filled."""
    alt = altair()
    base, step = row_chart(figure)
    x = with_room(figure.x, *(figure.data[name] for name in (figure.x.column, "low", "high")))
    span = {"x": quantitative(x, channel="x", column="low"), "x2": "high:Q"}
    bars = base.mark_rule(color=INK, strokeWidth=1.2 if step >= 12 else 0.8).encode(**span)
    points = base.mark_point(size=min(50, 4 * step), stroke=INK, fill=INK, strokeWidth=1, opacity=1)
    points = points.encode(x=quantitative(x, channel="x"))
    if figure.y.column == "measure":
        order = in_order(figure.data["measure"])
        numbers = style_numbers(order, "measure")
        colours = alt.Scale(domain=order, range=[style(numbers[name])["color"] for name in order])
        bars = bars.encode(color=alt.Color("measure:N", scale=colours, legend=None))
        points = points.encode(
            fill=alt.Fill("measure:N", scale=colours, legend=None),
            stroke=alt.Stroke("measure:N", scale=colours, legend=None),
        )
    if figure.by is not None:
        groups = in_order(figure.data[figure.by.column])
        groups.sort(key=lambda group: (group != "baseline", group.startswith(FILLED)))
        fills = [INK if group.startswith(FILLED) else "#ffffff" for group in groups]
        shapes = ["diamond" if group == "baseline" else "circle" for group in groups]
        key = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=400)
        points = points.encode(
            fill=alt.Fill(f"{figure.by.column}:N", scale=alt.Scale(domain=groups, range=fills), legend=key),
            shape=alt.Shape(f"{figure.by.column}:N", scale=alt.Scale(domain=groups, range=shapes), legend=key),
        )
    layers = [*references(figure), bars]
    if "median" in figure.data:
        layers.append(base.mark_tick(color=INK, thickness=1.6, size=0.7 * step).encode(x="median:Q"))
    chart = alt.layer(*layers, points).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)


def draw_paired_intervals(figure: Figure) -> Any:
    """Draw two intervals for each system, one below the other: a filled and a hollow point."""
    alt = altair()
    assert figure.by is not None
    base, step = row_chart(figure)
    kinds = in_order(figure.data[figure.by.column])
    offset = alt.YOffset(f"{figure.by.column}:N", sort=None, scale=alt.Scale(domain=kinds, paddingInner=0.3))
    x = with_room(figure.x, *(figure.data[name] for name in (figure.x.column, "low", "high")))
    colours = alt.Scale(domain=kinds, range=[INK, GREY])
    fills = alt.Scale(domain=kinds, range=[INK, "#ffffff"])
    by = f"{figure.by.column}:N"
    span = {"x": quantitative(x, channel="x", column="low"), "x2": "high:Q", "yOffset": offset}
    bars = base.mark_rule(strokeWidth=1.3).encode(**span, color=alt.Color(by, scale=colours, legend=None))
    points = base.mark_point(size=min(44, 4 * step), strokeWidth=1.1, opacity=1).encode(
        x=quantitative(x, channel="x"),
        yOffset=offset,
        stroke=alt.Stroke(by, scale=colours, legend=None),
        fill=alt.Fill(by, scale=fills, legend=None),
    )
    height = alt.Step(0.75 * step)  # of each of the two intervals
    chart = alt.layer(*references(figure), bars, points).properties(width=WIDTH + 60, height=height)
    return finished(chart, figure, width=WIDTH + 60)


def draw_dumbbells(figure: Figure) -> Any:
    """Draw a line from 0 to the change of rank in each row. Of many rows, those that move, or the first ones."""
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
