"""Axioms: what each measure rewards, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, columns_of, in_order, names
from cranfield.report.figures.theme import INK, SIZE, altair, finished, rows

CELL = 24
HOLDS, FAILS = "holds", "fails"


def describe_axioms(columns: Any) -> Figure:
    """A row per axiom, a column per measure: filled where the axiom holds, hollow where an example breaks it.

    `columns` are those of `axioms`: measure, axiom, holds; and maybe says and example, which a page shows.

    >>> made = {"measure": ["AP", "P+"], "axiom": ["swap", "swap"], "holds": [True, False]}
    >>> describe_axioms(made).columns()["found"].tolist()
    ['holds', 'fails']
    """
    found = columns_of(columns, "measure", "axiom", "holds")
    data = {
        "measure": names(found["measure"]),
        "axiom": names([str(one).replace("_", "-") for one in found["axiom"].tolist()]),
        "found": np.where(found["holds"].astype(bool), HOLDS, FAILS).astype(object),
    }
    data |= {name: names(found[name]) for name in ("says", "example") if name in found}
    return Figure(
        "axioms",
        data,
        x=Axis("measure", "", "category"),
        y=Axis("axiom", "", "category"),
        by=Axis("found", "", "category"),
        title="What measures reward",
        subtitle="tried on all small lists; nothing is drawn where an axiom does not apply",
    )


def draw(figure: Figure) -> Any:
    alt = altair()
    across, down = in_order(figure.data["measure"]), in_order(figure.data["axiom"])
    axis: dict[str, Any] = {"labelLimit": 220, "labelOverlap": False, "ticks": False, "domain": False, "grid": True}
    key = alt.Legend(title=None, symbolStrokeWidth=1)
    fills = alt.Scale(domain=[HOLDS, FAILS], range=[INK, "#ffffff"])
    chart = (
        alt.Chart(rows(figure.data))
        .mark_point(size=90, stroke=INK, strokeWidth=1, opacity=1)
        .encode(
            x=alt.X("measure:N", sort=across, title=None, axis=alt.Axis(orient="top", labelAngle=-90, **axis)),
            y=alt.Y("axiom:N", sort=down, title=None, axis=alt.Axis(labelFontSize=SIZE, **axis)),
            fill=alt.Fill("found:N", scale=fills, legend=key),
            tooltip=[f"{name}:N" for name in figure.data],
        )
        .properties(width=alt.Step(CELL), height=alt.Step(CELL))
    )
    return finished(chart, figure, width=max(320, CELL * len(across) + 200))
