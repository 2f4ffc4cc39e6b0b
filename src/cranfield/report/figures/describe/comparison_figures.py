"""Figures of comparisons: systems and levels of factors with intervals, interactions, power, and means by build."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, ends_of, names, numbers
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.comparison.anova.residuals import Residuals
    from cranfield.comparison.gate.gate_history import GateHistory
    from cranfield.comparison.methods.tukey import LevelPairs
    from cranfield.comparison.pair_tests import Family
    from cranfield.comparison.result import Comparison
    from cranfield.comparison.yearly_best import YearlyBest


def describe_intervals(comparison: Comparison, measure: str | None = None) -> Figure:
    """Show every system's mean with its interval, best first, and whether it differs from the best.

    With a baseline, show the difference of every other system from it, with its interval. If the test has one critical
    difference for all pairs, an interval extends half of it to each side: two systems differ exactly if their intervals
    do not overlap (Ferro & Maistro 2024 (11)). Otherwise each mean has its own interval.

    >>> from cranfield.comparison.compare import compare
    >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.3, 0.6, 0.5, 0.8], "c": [0.2, 0.4, 0.4, 0.5]}
    >>> describe_intervals(compare(scores, "AP", test="tukey")).columns()["system"].tolist()
    ['b', 'a', 'c']
    """
    family = _family(comparison, measure)
    matrix, ranking, baseline = family.matrix, family.ranking, comparison.baseline
    if baseline is not None:
        return _differences_from(baseline, comparison, family)
    low, high = family.intervals(1 - comparison.alpha)
    against = int(ranking[0])
    stands = _stands(comparison, family, against, "the best")
    marks: tuple[Reference, ...] = ()
    if math.isnan(family.tests.critical):
        level = f"{100 * (1 - comparison.alpha):g}%"
        rule = f"{level} interval of each mean alone; filled points differ from the best"
    else:
        rule = "systems whose intervals do not overlap differ; filled points differ from the best"
        marks = () if family.lower_is_better else (Reference("x", float(low[against]), ""),)
    data = {"system": names(matrix.systems), "mean": family.means, "low": low, "high": high, "stands": stands}
    return Figure(
        "intervals",
        {name: column[ranking] for name, column in data.items()},
        x=Axis("mean", f"mean {matrix.measure} over topics"),
        y=Axis("system", "system", "category"),
        by=Axis("stands", "", "category"),
        title=f"{_where(family)}{matrix.measure} of {counted(len(matrix.systems), 'system')} on "
        f"{counted(matrix.n, 'topic')}",
        subtitle=f"{comparison.method()}\n{rule}",
        references=marks,
        notes=comparison.notes,
    )


def _stands(comparison: Comparison, family: Family, against: int, reference: str) -> NDArray[Any]:
    """Whether each system differs from the one in the column `against`, in words."""
    significant, contradicts = family.differ(comparison.alpha), family.against(comparison.alpha)
    stands = np.full(len(family.matrix.systems), f"does not differ from {reference}", dtype=object)
    for system, other in ((family.first, family.second), (family.second, family.first)):
        stands[system[significant & (other == against)]] = f"differs from {reference}"
        stands[system[contradicts & (other == against)]] = f"differs from {reference}, against the means"
    return stands


def _where(family: Family) -> str:
    return f"{family.collection}: " if family.collection else ""


def _differences_from(baseline: str, comparison: Comparison, family: Family) -> Figure:
    """The difference of each system from the baseline, the best first."""
    matrix = family.matrix
    against = matrix.column(baseline)
    pairs = {int(other): pair for pair, (first, second) in enumerate(zip(family.first, family.second, strict=True))
             for other in {int(first), int(second)} - {against} if against in (first, second)}  # fmt: skip
    systems = np.array([system for system in family.ranking.tolist() if system in pairs], dtype=np.int64)
    rows = np.array([pairs[system] for system in systems.tolist()], dtype=np.int64)
    sign = np.where(family.first[rows] == against, -1.0, 1.0)
    ends = np.sort(sign * np.array([family.tests.low[rows], family.tests.high[rows]]), axis=0)
    joint = comparison.interval_level > 1 - comparison.alpha + 1e-9
    of = "for all differences together" if joint else "of differences"
    level = f"{100 * (1 - comparison.alpha):g}% intervals {of}; "
    rule = f"{'' if np.isnan(ends).all() else level}filled points differ from the baseline"
    return Figure(
        "intervals",
        {
            "system": names(matrix.systems)[systems],
            "difference": sign * family.difference[rows],
            "low": ends[0],
            "high": ends[1],
            "stands": _stands(comparison, family, against, "the baseline")[systems],
        },
        x=Axis("difference", f"difference of mean {matrix.measure} from {baseline}"),
        y=Axis("system", "system", "category"),
        by=Axis("stands", "", "category"),
        title=f"{_where(family)}{matrix.measure}: {counted(len(systems), 'system')} against {baseline} on "
        f"{counted(matrix.n, 'topic')}",
        subtitle=f"{comparison.method()}\n{rule}",
        references=(Reference("x", 0.0, ""),),
        notes=comparison.notes,
    )


def describe_levels(pairs: LevelPairs) -> Figure:
    """Show the mean of every level of a factor, best first; levels differ if their intervals do not overlap.

    `pairs` are all pairs of levels by Tukey's test or another (Ferro & Maistro 2024 (11)).

    >>> from cranfield.comparison.methods.tukey import tukey
    >>> describe_levels(tukey([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8], [0.1, 0.3, 0.6]], "AP")).columns()["system"].tolist()
    ['run3', 'run2', 'run1']
    """
    from cranfield.measures.property_tables import lower_is_better

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


def describe_interaction(columns: Any, x: str, by: str, *, mean: str = "mean", measure: str = "") -> Figure:
    """Show mean scores by two factors: levels of `x` side by side, a line per level of `by`; `low`, `high` become bars.

    Parallel lines mean no interaction. `columns` are the means by both factors of an analysis of variance.

    >>> table = {"stemmer": ["none", "porter"] * 2, "model": ["bm25"] * 2 + ["lm"] * 2, "mean": [0.2, 0.3, 0.25, 0.26]}
    >>> describe_interaction(table, "stemmer", "model").title
    'Interaction of stemmer and model'
    """
    table = columns_of(columns, x, by, mean)
    if x == by:
        raise UsageError(f"an interaction needs two factors; {x!r} is given twice")
    levels, lines = names(table[x]), names(table[by])
    pairs = list(zip(levels.tolist(), lines.tolist(), strict=True))
    if len(set(pairs)) < len(pairs):
        raise UsageError(
            f"{len(pairs)} rows, but only {len(set(pairs))} combinations of {x} and {by}; expected one mean each"
        )
    return Figure(
        "lines",
        {by: lines, x: levels, "mean": numbers(table[mean], mean), **ends_of(table)},
        x=Axis(x, x, "category"),
        y=Axis("mean", f"mean {measure or 'score'}"),
        by=Axis(by, by, "category"),
        title=f"Interaction of {x} and {by}",
        subtitle="parallel lines: the effect of one does not depend on the other",
    )


def describe_progress(result: YearlyBest) -> Figure:
    """Show the best score of each year, the best so far, and the mean baseline that papers compared with.

    >>> from cranfield.comparison.yearly_best import yearly_best
    >>> describe_progress(yearly_best([(2000, "a", 0.2), (2001, "b", 0.3)])).columns()["score"].tolist()
    [0.2, 0.3, 0.2, 0.3]
    """
    so_far = np.fmax(result.score, result.before)
    parts = {"best of the year": result.score, "best so far": so_far, "mean baseline": result.baseline}
    shown = {name: values for name, values in parts.items() if not np.isnan(values).all()}
    return Figure(
        "lines",
        {
            "scores": names(name for name in shown for _ in result.year),
            "year": names(year for _ in shown for year in result.year.tolist()),
            "score": np.concatenate(list(shown.values())),
        },
        x=Axis("year", "year", "category"),
        y=Axis("score", "score"),
        by=Axis("scores", "", "category"),
        title="Best scores over the years",
        subtitle="\n".join(result.notes[:2]),
        notes=result.notes[2:],
    )


def describe_residuals(result: Residuals, against: str = "fitted") -> Figure:
    """Show the residuals of an analysis of variance against the fitted scores, or against normal quantiles.

    >>> from cranfield.comparison.anova.anova import two_way
    >>> from cranfield.comparison.anova.residuals import residuals
    >>> figure = describe_residuals(residuals(two_way([[0.2, 0.3, 0.5], [0.4, 0.6, 0.8]])))
    >>> figure.columns()["residual"].round(4).tolist()
    [0.0333, -0.0167, -0.0167, -0.0333, 0.0167, 0.0167]
    """
    check.one_of("describe_residuals", ("fitted", "normal"), against=against)
    columns = result.every()
    left = numbers(columns["residual"], "residual")
    factors = [column for name, column in columns.items() if column.dtype == object]
    points = names(", ".join(map(str, levels)) for levels in zip(*factors, strict=True))
    column = "fitted" if against == "fitted" else "normal quantile"
    across = numbers(columns[column], column)
    line: tuple[Reference, ...] = ()
    rest: dict[str, dict[str, NDArray[Any]]] = {}
    if against == "fitted":
        reach, subtitle = 0.0, "the spread should be the same everywhere"
        line = (Reference("y", 0.0, ""),)
    else:
        spread = float(left.std(ddof=1))
        reach = spread * float(np.abs(across).max())
        ends = np.array([across.min(), across.max()])
        rest, subtitle = {"front": {"x": ends, "y": spread * ends}}, "the line: normal residuals of this spread"
    high = 1.05 * max(float(np.abs(left).max()), reach, 1e-12)
    margin = 0.05 * max(float(np.ptp(across)), 1e-12)
    return Figure(
        "scatter",
        {"score": points, column: across, "residual": left, "front": np.zeros(len(left), dtype=bool)},
        x=Axis(column, f"{column} score" if against == "fitted" else column,
               low=float(across.min()) - margin, high=float(across.max()) + margin),
        y=Axis("residual", "residual", low=-high, high=high),
        title=result.caption,
        subtitle="\n".join((subtitle, *result.notes)),
        references=line,
        also=rest,
    )  # fmt: skip


LABELS = {
    "power": "power: probability of finding the difference",
    "difference": "smallest difference found",
    "width": "expected width of the interval",
}
TITLES = {
    "power": "Power by number of topics",
    "difference": "Difference found by number of topics",
    "width": "Width of intervals by number of topics",
}


def describe_power(
    columns: Any,
    *,
    topics: str = "topics",
    value: str = "power",
    by: str | None = None,
    by_label: str | None = None,
    wanted: float | None = None,
    answer: int | None = None,
    subtitle: str = "",
) -> Figure:
    """Show `value` (power, the difference found, or the width of an interval) against the number of topics.

    `columns` are those of a `PowerCurve` or of any mapping; there is a line for each value of the column `by`, such as
    the measure or the true difference. `wanted` draws a horizontal line, `answer` a vertical one.

    >>> describe_power({"topics": [25, 50], "power": [0.36, 0.64]}, wanted=0.8).references[0].text
    '0.8'
    """
    table = columns_of(columns, topics, value, *([by] if by else []))
    if by is None and "measure" in table and len(set(table["measure"].tolist())) > 1:
        by = "measure"
    data: dict[str, Any] = {"topics": numbers(table[topics], topics), value: numbers(table[value], value)}
    if by is not None:
        labels = [f"{x:g}" for x in table[by].tolist()] if table[by].dtype.kind == "f" else table[by]
        data = {by: names(labels), **data}
    marks = [Reference("y", wanted, f"{wanted:g}")] if wanted is not None else []
    marks += [Reference("x", answer, f"{answer:,} topics")] if answer is not None else []
    return Figure(
        "lines",
        data,
        x=Axis("topics", "topics", "count", low=0),
        y=Axis(value, LABELS.get(value, value), low=0, high=1 if value == "power" else None),
        by=Axis(by, by_label or by, "category") if by is not None else None,
        title=TITLES.get(value, value),
        subtitle=subtitle,
        references=tuple(marks),
    )


def describe_gate_history(history: GateHistory, *, title: str | None = None) -> Figure:
    """Show the mean of each measure, build by build; a line per measure, and per candidate if a build has several."""
    several = len({(build.build, build.candidate) for build in history.builds}) > len({b.build for b in history.builds})
    number = {name: place for place, name in enumerate(dict.fromkeys(build.build for build in history.builds), 1)}
    rows = [
        (f"{build.candidate} {measure}" if several else measure, number[build.build], build.means[measure])
        for measure in history.measures
        for build in history.builds
        if measure in build.means
    ]
    failed = [build.build for build in history.builds if not build.passed]
    return Figure(
        "lines",
        {
            "measure": names(row[0] for row in rows),
            "build": np.array([row[1] for row in rows], dtype=np.int64),
            "mean": np.array([row[2] for row in rows], dtype=np.float64),
        },
        x=Axis("build", "build", "count"),
        y=Axis("mean", "mean score"),
        by=Axis("measure", "measure", "category"),
        title="Mean scores by build" if title is None else title,
        subtitle=counted(len(number), "build"),
        notes=(f"failed: {', '.join(failed)}",) if failed else (),
    )
