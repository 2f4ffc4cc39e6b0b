"""Variance components: what scores differ by."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, counted, in_order, names, numbers
from cranfield.report.figures.theme import SIZE, WIDTH, altair, finished, rows

FILLS = ("#0072B2", "#E69F00", "#d9d9d9", "#5B2A86", "#7CC8F2", "#00604A", "#CC79A7", "#000000")
"""Dark beside light, so that neighbours differ in grey print."""


def describe_components(
    columns: Any, *, component: str = "component", variance: str = "variance", measure: str = "measure"
) -> Figure:
    """The share of each variance component (system, topic, both together ...) for every measure.

    `columns` have a row per measure and component; without a column of measures there is one bar. An estimate below 0
    counts as 0.

    >>> made = {"component": ["system", "topic", "system × topic"], "variance": [1.0, 2.0, 1.0]}
    >>> describe_components(made).columns()["share"].tolist()
    [0.25, 0.5, 0.25]
    """
    found = columns_of(columns, component, variance)
    several = measure in found
    labels = names(found[measure] if several else [""] * len(found[component]))
    given = numbers(found[variance], variance)
    if np.isnan(given).any():
        raise UsageError(f"{variance} has no value in row {int(np.flatnonzero(np.isnan(given))[0]) + 1}")
    kept = np.maximum(given, 0.0)
    order = in_order(labels)
    places = np.array([order.index(one) for one in labels.tolist()])
    total = np.bincount(places, kept)
    if (total == 0).any():
        raise UsageError(
            f"nothing varies{f' in {order[int(np.argmin(total))]}' if several else ''}; there are no shares to draw"
        )
    share = kept / total[places]
    end = np.empty_like(share)
    for number in range(len(order)):
        end[places == number] = np.cumsum(share[places == number])
    below = int((given < 0).sum())
    return Figure(
        "components",
        {
            "measure": labels,
            "component": names(found[component]),
            "variance": given,
            "share": share,
            "begin": end - share,
            "end": end,
        },
        x=Axis("share", "share of variance", "share", low=0, high=1),
        y=Axis("measure", "", "category"),
        by=Axis("component", "component", "category"),
        title="Variance components",
        notes=(f"{counted(below, 'estimate')} below 0 drawn as 0",) if below else (),
    )


def draw(figure: Figure) -> Any:
    alt = altair()
    measures, parts = in_order(figure.data["measure"]), in_order(figure.data["component"])
    fills = [FILLS[i % len(FILLS)] for i in range(len(parts))]
    light = {
        part: fill in ("#E69F00", "#d9d9d9", "#7CC8F2", "#CC79A7") for part, fill in zip(parts, fills, strict=True)
    }
    shown = [f"{100 * x:.0f}%" if x >= 0.05 else "" for x in figure.data["share"].tolist()]
    data = {
        **figure.data,
        "middle": (figure.data["begin"] + figure.data["end"]) / 2,
        "shown": np.array(shown, dtype=object),
        "light": np.array([light[one] for one in figure.data["component"].tolist()]),
    }
    axis = alt.Axis(ticks=False, domain=False, labelLimit=260, labelPadding=6, labels=measures != [""])
    base = alt.Chart(rows(data)).encode(
        y=alt.Y("measure:N", sort=measures, title=None, axis=axis),
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
