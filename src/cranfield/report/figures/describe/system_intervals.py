"""Means of systems with intervals, and which systems differ from the best or from a baseline."""

from __future__ import annotations

import math

import numpy as np

from cranfield.check import nearest
from cranfield.comparison.methods.tukey import LevelPairs
from cranfield.comparison.result import Comparison, Family
from cranfield.errors import UsageError
from cranfield.measures.property_tables import lower_is_better
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted


def describe_intervals(comparison: Comparison, measure: str | None = None) -> Figure:
    """Show every system's mean with its interval, best first, and whether it differs from the best or the baseline.

    If the test has one critical difference for all pairs, an interval extends half of it to each side: two systems
    differ exactly if their intervals do not overlap (Ferro & Maistro 2024 (11)). Otherwise each mean has its own
    interval.

    >>> from cranfield.comparison.compare import compare
    >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.3, 0.6, 0.5, 0.8], "c": [0.2, 0.4, 0.4, 0.5]}
    >>> describe_intervals(compare(scores, "AP", test="tukey")).columns()["system"].tolist()
    ['b', 'a', 'c']
    """
    family = _family(comparison, measure)
    matrix, ranking, baseline = family.matrix, family.ranking, comparison.baseline
    low, high = family.intervals(1 - comparison.alpha)
    against = int(ranking[0]) if baseline is None else matrix.column(baseline)
    significant, contradicts = family.differ(comparison.alpha), family.against(comparison.alpha)
    reference = "the best" if baseline is None else "the baseline"
    stands = np.full(len(matrix.systems), f"does not differ from {reference}", dtype=object)
    for system, other in ((family.first, family.second), (family.second, family.first)):
        stands[system[significant & (other == against)]] = f"differs from {reference}"
        stands[system[contradicts & (other == against)]] = f"differs from {reference}, against the means"
    if baseline is not None:
        stands[against] = "baseline"
    marks: tuple[Reference, ...] = ()
    if math.isnan(family.tests.critical):
        level = f"{100 * (1 - comparison.alpha):g}%"
        rule = f"{level} interval of each mean alone; filled points differ from {reference}"
    else:
        rule = f"systems whose intervals do not overlap differ; filled points differ from {reference}"
        marks = () if family.lower_is_better else (Reference("x", float(low[against]), ""),)
    data = {"system": names(matrix.systems), "mean": family.means, "low": low, "high": high, "stands": stands}
    where = f"{family.collection}: " if family.collection else ""
    return Figure(
        "intervals",
        {name: column[ranking] for name, column in data.items()},
        x=Axis("mean", f"mean {matrix.measure} over topics"),
        y=Axis("system", "system", "category"),
        by=Axis("stands", "", "category"),
        title=f"{where}{matrix.measure} of {counted(len(matrix.systems), 'system')} on {counted(matrix.n, 'topic')}",
        subtitle=f"{comparison.method()}\n{rule}",
        references=marks,
        notes=tuple(comparison.notes()),
    )


def describe_levels(pairs: LevelPairs) -> Figure:
    """Show the mean of every level of a factor, best first; levels differ if their intervals do not overlap.

    `pairs` are all pairs of levels by Tukey's test or another (Ferro & Maistro 2024 (11)).

    >>> from cranfield.comparison.methods.tukey import tukey
    >>> describe_levels(tukey([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]], "AP")).columns()["system"].tolist()
    ['run3', 'run2', 'run1']
    """
    if not math.isfinite(pairs.half_width):
        raise UsageError(f"{pairs.factor}: no single half-width holds for all pairs, so no intervals can show them")
    lower = lower_is_better(pairs.measure)
    order = np.argsort(pairs.mean if lower else -pairs.mean, kind="stable")
    best = int(order[0])
    stands = np.full(len(pairs.levels), "does not differ from the best", dtype=object)
    for level, other in ((pairs.first, pairs.second), (pairs.second, pairs.first)):
        stands[level[pairs.differ & (other == best)]] = "differs from the best"
    low, high = pairs.mean - pairs.half_width, pairs.mean + pairs.half_width
    rule = "levels whose intervals do not overlap differ; filled points differ from the best"
    data = {pairs.factor: names(pairs.levels), "mean": pairs.mean, "low": low, "high": high, "stands": stands}
    return Figure(
        "intervals",
        {name: column[order] for name, column in data.items()},
        x=Axis("mean", f"mean {pairs.measure}"),
        y=Axis(pairs.factor, pairs.factor, "category"),
        by=Axis("stands", "", "category"),
        title=f"{pairs.measure} of {counted(len(pairs.levels), 'level')} of {pairs.factor}",
        subtitle=f"{pairs.sentence()}\n{rule}",
        references=() if lower else (Reference("x", float(low[best]), ""),),
        notes=pairs.notes,
    )


def _family(comparison: Comparison, measure: str | None) -> Family:
    families = {family.matrix.measure: family for family in reversed(comparison.families)}
    if measure is not None and measure not in families:
        raise nearest(measure, list(families), "measure")
    return comparison.families[0] if measure is None else families[measure]
