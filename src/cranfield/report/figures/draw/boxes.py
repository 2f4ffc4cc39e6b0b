"""Box plots, a row each."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Figure
from cranfield.report.figures.theme import GREY, INK, WIDTH, altair, finished, quantitative, row_chart


def draw(figure: Figure) -> Any:
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
