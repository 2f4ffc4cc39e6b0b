"""Power curves: what a number of topics can find."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, names, numbers

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
