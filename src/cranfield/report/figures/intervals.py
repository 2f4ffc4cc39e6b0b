"""Means with intervals: which systems differ from the best, or from a baseline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cranfield.aggregate import nearest
from cranfield.comparison.outcome import Comparison, Family
from cranfield.report.figures.figure import Axis, Figure, Reference, counted, in_order, names
from cranfield.report.figures.theme import INK, WIDTH, altair, finished, quantitative, row_step, rows, system_axis


def describe_intervals(comparison: Comparison, measure: str | None = None) -> Figure:
    """Every system's mean with its interval, best first, and whether it differs from the best (or the baseline).

    Where the test has one critical difference for all pairs, an interval is half of it to each side: two systems differ
    just if their intervals do not meet (Ferro & Maistro 2024 (11)). Otherwise intervals are Student's, of each mean.

    >>> from cranfield.comparison.systems import compare
    >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.3, 0.6, 0.5, 0.8], "c": [0.2, 0.4, 0.4, 0.5]}
    >>> describe_intervals(compare(scores, "AP", test="tukey")).columns()["system"].tolist()
    ['b', 'a', 'c']
    """
    family = _family(comparison, measure)
    matrix = family.matrix
    low, high = family.intervals(1 - comparison.alpha)
    ranking = family.ranking
    against = matrix.column(comparison.baseline) if comparison.baseline is not None else int(ranking[0])
    found = family.adjusted <= comparison.alpha
    other = np.zeros(len(matrix.systems), dtype=bool)
    for one, two in ((family.first, family.second), (family.second, family.first)):
        other[one[found & (two == against)]] = True
    whom = "the baseline" if comparison.baseline is not None else "the best"
    words = np.where(other, f"differs from {whom}", f"does not differ from {whom}").astype(object)
    if comparison.baseline is not None:
        words[against] = "baseline"
    if not math.isnan(family.tests.critical):
        rule = "two systems whose intervals do not meet differ"
        mark = (Reference("x", float(low[against]), ""),) if not family.lower_is_better else ()
    else:
        level = f"{100 * (1 - comparison.alpha):g}%"
        rule = f"{level} intervals of each mean alone: whether two systems differ is told by filled and hollow points"
        mark = ()
    where = f"{family.collection}: " if family.collection else ""
    return Figure(
        "intervals",
        {
            "system": names(matrix.systems)[ranking],
            "mean": family.means[ranking],
            "low": low[ranking],
            "high": high[ranking],
            "stands": words[ranking],
        },
        x=Axis("mean", f"mean {matrix.measure}"),
        y=Axis("system", "", "category"),
        by=Axis("stands", "", "category"),
        title=f"{where}{matrix.measure} of {counted(len(matrix.systems), 'system')} on {counted(matrix.n, 'topic')}",
        subtitle=f"{comparison.method()}\n{rule}",
        references=mark,
        notes=tuple(comparison.notes()),
    )


def _family(comparison: Comparison, measure: str | None) -> Family:
    if measure is None:
        return comparison.families[0]
    for family in comparison.families:
        if family.matrix.measure == measure:
            return family
    raise nearest(measure, [family.matrix.measure for family in comparison.families], "measure")


def draw(figure: Figure) -> Any:
    alt = altair()
    order = in_order(figure.data["system"])
    step = row_step(len(order))
    base = alt.Chart(rows(figure.data)).encode(
        y=system_axis(figure.y, order), tooltip=["system:N", "mean:Q", "low:Q", "high:Q", "stands:N"]
    )
    stands = sorted(in_order(figure.data["stands"]), key=lambda one: (one != "baseline", one.startswith("differs")))
    hollow = ["#ffffff" if one.startswith("differs") else INK for one in stands]
    shapes = ["diamond" if one == "baseline" else "circle" for one in stands]
    key = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=400)
    span = {"x": quantitative(figure.x, channel="x", column="low"), "x2": "high:Q"}
    layers = [base.mark_rule(color=INK, strokeWidth=1.2 if step >= 12 else 0.8).encode(**span)]
    for one in figure.references:
        at = alt.Chart(rows({"value": np.array([one.value])}))
        layers.insert(0, at.mark_rule(color="#444444", strokeDash=[4, 3], strokeWidth=0.8).encode(x="value:Q"))
    spots = base.mark_point(size=min(50, 4 * step), stroke=INK, strokeWidth=1, opacity=1).encode(
        x="mean:Q",
        fill=alt.Fill("stands:N", scale=alt.Scale(domain=stands, range=hollow), legend=key),
        shape=alt.Shape("stands:N", scale=alt.Scale(domain=stands, range=shapes), legend=key),
    )
    chart = alt.layer(*layers, spots).properties(width=WIDTH + 60, height=alt.Step(step))
    return finished(chart, figure, width=WIDTH + 60)
