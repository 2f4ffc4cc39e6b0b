"""Spacing plots: every list there can be, at its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, counted, in_order, names, numbers
from cranfield.report.figures.theme import INK, SIZE, WIDTH, altair, finished, quantitative, rows, text_width

NAMED = 32
"""Lists are named beside their scores when there are no more than this."""
PANELS = 8
ALIKE = 1e-9
"""Scores closer than this are one score, and gaps that differ less are equal."""
HIGH = 460


def describe_spacing(scores: Mapping[str, Any], lists: Sequence[str], *, subtitle: str = "") -> Figure:
    """Where each measure puts all lists of a length: a row for each score it gives, with the lists that share it.

    `scores` has an entry per list for each measure; `lists` are their grades, such as "1010". `gap` is the distance to
    the score below. Ferro & Maistro 2024 Fig. 19.

    >>> made = describe_spacing({"P": [0, 0.5, 0.5, 1]}, ["00", "01", "10", "11"]).columns()
    >>> made["lists"].tolist(), made["spacing"].tolist()
    (['00', '01 10', '11'], ['even', 'even', 'even'])
    """
    if not scores or not len(lists):
        raise UsageError("nothing to draw: give scores of one measure or more, and the lists they are of")
    out: dict[str, list[Any]] = {name: [] for name in ("measure", "score", "gap", "ties", "lists", "spacing")}
    for measure, given in scores.items():
        values = numbers(given, f"the scores of {measure}")
        if len(values) != len(lists):
            raise UsageError(f"{measure} has {len(values)} scores, there are {len(lists)} lists")
        if np.isnan(values).any():
            raise UsageError(f"{measure} has no score for list {lists[int(np.flatnonzero(np.isnan(values))[0])]}")
        order = np.argsort(values, kind="stable")
        begins = np.flatnonzero(np.diff(values[order], prepend=-np.inf) > ALIKE)
        levels = values[order][begins]
        gaps = np.diff(levels)
        even = not len(gaps) or bool(gaps.max() - gaps.min() <= ALIKE)
        for number, group in enumerate(np.split(order, begins[1:])):
            out["measure"].append(measure)
            out["score"].append(float(levels[number]))
            out["gap"].append(float(gaps[number - 1]) if number else np.nan)
            out["ties"].append(len(group))
            out["lists"].append(" ".join(str(lists[i]) for i in sorted(group.tolist())))
            out["spacing"].append("even" if even else "uneven")
    kinds: dict[str, Any] = {"score": np.float64, "gap": np.float64, "ties": np.int64}
    data = {name: np.array(column, dtype=kinds.get(name, object)) for name, column in out.items()}
    for name in ("measure", "lists"):
        data[name] = names(data[name])
    return Figure(
        "spacing",
        data,
        x=Axis("score", "score"),
        y=Axis("measure", "", "category"),
        title=f"Order and spacing of {counted(len(lists), 'list')}",
        subtitle=subtitle or "an interval scale has even spacing",
    )


def draw(figure: Figure) -> Any:
    measures = in_order(figure.data["measure"])
    lists = int(figure.data["ties"][figure.data["measure"] == measures[0]].sum())
    return _columns(figure, measures) if lists <= NAMED and len(measures) <= PANELS else _rug(figure, measures)


def _headed(figure: Figure, measures: list[str]) -> dict[str, str]:
    spacing = dict(zip(figure.data["measure"].tolist(), figure.data["spacing"].tolist(), strict=True))
    return {one: f"{one} ({spacing[one]})" for one in measures}


def _columns(figure: Figure, measures: list[str]) -> Any:
    """A column for each measure, its lists named to the right of their scores."""
    alt = altair()
    heads = _headed(figure, measures)
    panels = []
    for number, one in enumerate(measures):
        mine = figure.data["measure"] == one
        data = {name: column[mine] for name, column in figure.data.items()}
        data["shown"] = np.array([_folded(text) for text in data["lists"].tolist()], dtype=object)
        longest = max(max(map(len, text)) for text in data["shown"].tolist())
        wide = max(text_width("0" * longest) * 0.85 + 16, text_width(heads[one]) * 1.02)
        y = quantitative(Axis("score", figure.x.label if number == 0 else ""), channel="y", grid=False)
        base = alt.Chart(rows(data)).encode(y=y, x=alt.value(5), tooltip=["score:Q", "gap:Q", "ties:Q", "lists:N"])
        spots = base.mark_square(color="#0072B2", size=34, opacity=1)
        words = base.mark_text(
            align="left", baseline="middle", dx=7, fontSize=SIZE - 3, font="monospace", lineHeight=SIZE - 3
        ).encode(text="shown:N")
        head = alt.TitleParams(heads[one], anchor="start", fontSize=SIZE, fontWeight="normal", offset=8)
        panels.append(alt.layer(spots, words).properties(width=wide, height=HIGH, title=head))
    chart = alt.hconcat(*panels, spacing=18).resolve_scale(y="independent")
    return finished(chart, figure, width=170 * len(measures))


def _folded(text: str) -> list[str]:
    """Lists that share a score, three to a line."""
    words = text.split(" ")
    return [" ".join(words[i : i + 3]) for i in range(0, len(words), 3)]


def _rug(figure: Figure, measures: list[str]) -> Any:
    """A row for each measure, a stroke for each score."""
    alt = altair()
    heads = _headed(figure, measures)
    data = {**figure.data, "head": np.array([heads[one] for one in figure.data["measure"].tolist()], dtype=object)}
    axis = alt.Axis(ticks=False, domain=False, labelLimit=260, labelPadding=8)
    thin = 1.0 if len(figure.data["score"]) / len(measures) < 120 else 0.5
    chart = (
        alt.Chart(rows(data))
        .mark_tick(color=INK, thickness=thin, size=16, opacity=1)
        .encode(
            x=quantitative(figure.x, channel="x", zero=True),
            y=alt.Y("head:N", sort=list(heads.values()), title=None, axis=axis),
            tooltip=["measure:N", "score:Q", "gap:Q", "ties:Q", "lists:N"],
        )
        .properties(width=WIDTH + 60, height=alt.Step(26))
    )
    return finished(chart, figure, width=WIDTH + 60)
