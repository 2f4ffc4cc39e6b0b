"""Box plots: how the scores of each system spread over topics."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Figure, in_order
from cranfield.report.figures.theme import GREY, INK, WIDTH, altair, finished, quantitative, row_step, rows, system_axis


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["system"])
    step = row_step(len(order))
    y = system_axis(figure.y, order)
    told = [*(f"{name}:N" if name == "system" else f"{name}:Q" for name in figure.data)]
    base = alt.Chart(rows(figure.data)).encode(y=y, tooltip=told)
    thin = 1 if step >= 8 else 0.5

    def span(low: str, high: str) -> dict[str, Any]:
        return {"x": quantitative(figure.x, channel="x", column=low), "x2": f"{high}:Q"}

    layers = [
        base.mark_rule(color=GREY, strokeWidth=thin).encode(**span("low", "high")),
        base.mark_bar(size=0.62 * step, fill="#dcdcdc", stroke="#555555", strokeWidth=0.7 * thin).encode(
            **span("q1", "q3")
        ),
        base.mark_tick(color=INK, thickness=2 * thin, size=0.62 * step).encode(x="median:Q"),
        base.mark_point(shape="diamond", size=min(45, 4.5 * step), filled=True, fill="#ffffff", stroke=INK, opacity=1,
                        strokeWidth=0.9 * thin).encode(x="mean:Q"),
    ]  # fmt: skip
    if len(figure.also["beyond"]["value"]):
        spots = alt.Chart(rows(figure.also["beyond"])).encode(
            y=y, x="value:Q", tooltip=["system:N", "topic:N", "value:Q"]
        )
        layers.append(spots.mark_point(size=min(16, 1.6 * step), stroke="#555555", strokeWidth=0.8 * thin))
    chart = alt.layer(*layers).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)
