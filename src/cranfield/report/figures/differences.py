"""Differences topic by topic: where one system is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.comparison.data import paired
from cranfield.report.figures.figure import Axis, Figure, Reference, counted, in_order, names
from cranfield.report.figures.theme import HEIGHT, INK, SIZE, altair, finished, quantitative, references, rows


def describe_differences(data: Any, systems: Sequence[str] | None = None, *, measure: Any = None) -> Figure:
    """The difference of two systems on every topic, largest first, with the mean difference.

    `data` holds two systems, or more and `systems` names two: first − second.

    >>> made = describe_differences({"a": [0.2, 0.5, 0.4], "b": [0.1, 0.9, 0.4]}, ("a", "b"), measure="AP")
    >>> made.columns()["difference"].round(3).tolist()
    [0.1, 0.0, -0.4]
    """
    pair = paired(data, systems=systems, measure=measure)
    away = pair.difference
    order = np.argsort(-away, kind="stable")
    topics = names(pair.topics if len(pair.topics) == len(away) else range(1, len(away) + 1))
    first, second = names(pair.names)
    win, loss = int((away > 0).sum()), int((away < 0).sum())
    mean = float(away.mean())
    return Figure(
        "differences",
        {
            "topic": topics[order],
            "first": pair.x[order],
            "second": pair.y[order],
            "difference": away[order],
        },
        x=Axis("topic", "topics, by difference", "category"),
        y=Axis("difference", f"difference of {pair.measure}"),
        title=f"{pair.measure}: {first} − {second}",
        subtitle=f"{counted(len(away), 'topic')}: {first} is higher on {win:,}, {second} on {loss:,}, "
        f"alike on {len(away) - win - loss:,}; mean difference {mean:+.4f} (dashed)",
        references=(Reference("y", mean, ""),),
        notes=pair.notes,
    )


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["topic"])
    step = float(np.clip(620 / len(order), 0.3, 30))
    named = step >= 8
    axis = alt.Axis(
        labels=named, ticks=False, domain=False, grid=False, labelAngle=-90, labelLimit=90, orient="bottom",
        labelFontSize=min(SIZE, max(6.5, step * 0.85)), labelOverlap=False,
    )  # fmt: skip
    base = alt.Chart(rows(figure.data)).encode(
        x=alt.X(
            "topic:N",
            sort=order,
            title=figure.x.label,
            axis=axis,
            scale=alt.Scale(paddingInner=0.2 if step >= 4 else 0),
        ),
        tooltip=["topic:N", "first:Q", "second:Q", "difference:Q"],
    )
    y = quantitative(figure.y, channel="y", zero=True)
    colour = alt.condition("datum.difference >= 0", alt.value("#0072B2"), alt.value("#E69F00"))
    # Bars thinner than a pixel would show as stripes.
    bars = base.mark_bar(strokeWidth=0.6 if step < 4 else 0).encode(y=y, fill=colour, stroke=colour)
    zero = alt.Chart(rows({"value": np.zeros(1)})).mark_rule(color=INK, strokeWidth=1).encode(y="value:Q")
    chart = alt.layer(bars, zero, *references(figure)).properties(width=alt.Step(step), height=HEIGHT)
    return finished(chart, figure, width=max(300.0, step * len(order)))
