"""Power: what so many topics can find."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, names, numbers

LABELS = {
    "power": "power: probability of finding the difference",
    "difference": "smallest difference that is found",
    "width": "expected width of the interval",
}
TITLES = {
    "power": "Power by number of topics",
    "difference": "What so many topics find",
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
    """Power (or the difference found, or an interval's width: `value`) against the number of topics.

    `columns` are those of a `PowerCurve` or of any mapping; `by` names the column that lines differ in, such as the
    measure or the true difference. `wanted` is a line across the picture, `answer` one at a number of topics.

    >>> describe_power({"topics": [25, 50], "power": [0.36, 0.64]}, wanted=0.8).references[0].text
    '0.8'
    """
    found = columns_of(columns, topics, value, *([by] if by else []))
    if by is None and "measure" in found and len(set(found["measure"].tolist())) > 1:
        by = "measure"
    data: dict[str, Any] = {"topics": numbers(found[topics], topics), value: numbers(found[value], value)}
    if by is not None:
        named = found[by]
        told = [f"{x:g}" for x in named.tolist()] if np.asarray(named).dtype.kind == "f" else named
        data = {by: names(told), **data}
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
