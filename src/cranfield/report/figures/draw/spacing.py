"""Spacing plots: lists named beside their scores, or a stroke per score if there are many."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, in_order
from cranfield.report.figures.lettering import MONOSPACE, ROOM, text_width
from cranfield.report.figures.theme import (
    SIZE,
    WIDTH,
    altair,
    finished,
    name_axis,
    quantitative,
    rows,
    style,
    style_numbers,
)

NAMED = 32
"""Lists are named beside their scores if there are at most this many."""
PANELS = 8
"""The most measures for which lists are named."""
HEIGHT = 460


def draw_spacing(figure: Figure) -> Any:
    measures = in_order(figure.data["measure"])
    lists = int(figure.data["ties"][figure.data["measure"] == measures[0]].sum())
    return _columns(figure, measures) if lists <= NAMED and len(measures) <= PANELS else _rug(figure, measures)


def _headed(figure: Figure, measures: list[str]) -> dict[str, str]:
    spacing = dict(zip(figure.data["measure"].tolist(), figure.data["spacing"].tolist(), strict=True))
    return {measure: f"{measure} ({spacing[measure]})" for measure in measures}


def _columns(figure: Figure, measures: list[str]) -> Any:
    """Draw a column per measure, with the lists named to the right of their scores."""
    alt = altair()
    heads, styles = _headed(figure, measures), style_numbers(measures, "measure")
    panels = []
    for number, measure in enumerate(measures):
        selected = figure.data["measure"] == measure
        data = {name: column[selected] for name, column in figure.data.items()}
        data["shown"] = np.array([_folded(text) for text in data["lists"].tolist()], dtype=object)
        longest = max(max(map(len, text)) for text in data["shown"].tolist())
        wide = max(MONOSPACE / 1000 * (SIZE - 3) * longest + 16, text_width(heads[measure], SIZE) * ROOM)
        y = quantitative(_whole_range(data["score"], figure.x.label if number == 0 else ""), channel="y", grid=False)
        base = alt.Chart(rows(data)).encode(y=y, x=alt.value(5), tooltip=["score:Q", "gap:Q", "ties:Q", "lists:N"])
        spots = base.mark_square(color=style(styles[measure])["color"], size=34, opacity=1)
        words = base.mark_text(
            align="left", baseline="middle", dx=7, fontSize=SIZE - 3, font="monospace", lineHeight=SIZE - 3
        ).encode(text="shown:N")
        head = alt.TitleParams(heads[measure], anchor="start", fontSize=SIZE, fontWeight="normal", offset=8)
        panels.append(alt.layer(spots, words).properties(width=wide, height=HEIGHT, title=head))
    chart = alt.hconcat(*panels, spacing=18).resolve_scale(y="independent")
    return finished(chart, figure, width=170 * len(measures))


def _whole_range(scores: Any, label: str) -> Axis:
    """The axis of scores: all of 0 to 1, also the part that no list reaches, if the scores are within it."""
    within = scores.min() >= 0 and scores.max() <= 1
    return Axis("score", label, low=0, high=1) if within else Axis("score", label)


def _folded(text: str) -> list[str]:
    """Split the lists that share a score into lines of three."""
    words = text.split(" ")
    return [" ".join(words[i : i + 3]) for i in range(0, len(words), 3)]


def _rug(figure: Figure, measures: list[str]) -> Any:
    """Draw a row per measure, with a stroke per score."""
    alt = altair()
    heads, styles = _headed(figure, measures), style_numbers(measures, "measure")
    colours = alt.Scale(domain=measures, range=[style(styles[measure])["color"] for measure in measures])
    data = {
        **figure.data,
        "head": np.array([heads[measure] for measure in figure.data["measure"].tolist()], dtype=object),
    }
    axis = alt.Axis(ticks=False, domain=False, labelLimit=260, labelPadding=8)
    thin = 1.0 if len(figure.data["score"]) / len(measures) < 120 else 0.5
    chart = (
        alt.Chart(rows(data))
        .mark_tick(thickness=thin, size=16, opacity=1)
        .encode(
            x=quantitative(_whole_range(figure.data["score"], figure.x.label), channel="x", zero=True),
            color=alt.Color("measure:N", scale=colours, legend=None),
            y=name_axis("head", list(heads.values()), channel="y", title=None, axis=axis),
            tooltip=["measure:N", "score:Q", "gap:Q", "ties:Q", "lists:N"],
        )
        .properties(width=WIDTH + 60, height=alt.Step(26))
    )
    return finished(chart, figure, width=WIDTH + 60)
