"""Means with intervals: which systems differ from the best, or from a baseline."""

from __future__ import annotations

import math

import numpy as np

from cranfield.check import nearest
from cranfield.comparison.result import Comparison, Family
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted


def describe_intervals(comparison: Comparison, measure: str | None = None) -> Figure:
    """Every system's mean with its interval, best first, and whether it differs from the best (or the baseline).

    Where the test has one critical difference for all pairs, an interval is half of it to each side: two systems differ
    just if their intervals do not meet (Ferro & Maistro 2024 (11)). Otherwise intervals are Student's, of each mean.

    >>> from cranfield.comparison.compare import compare
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
