"""Rank changes: where each system stands, and where it would stand had it not been pooled."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, columns_of, names, no_repeats, numbers
from cranfield.text import counted


def describe_rank_changes(
    columns: Any,
    *,
    system: str = "system",
    before: str = "before",
    after: str = "after",
    measure: str = "",
    before_label: str = "with its own documents judged",
    after_label: str = "left out of the pool",
) -> Figure:
    """The rank of every system before and after, such as with all judgments and when it is left out of the pool.

    >>> made = describe_rank_changes({"system": ["a", "b", "c"], "before": [1, 2, 3], "after": [2, 2, 3]}).columns()
    >>> made["change"].tolist()
    [1.0, 0.0, 0.0]
    """
    found = columns_of(columns, system, before, after)
    labels = names(found[system])
    no_repeats(labels.tolist(), "system")
    first, second = numbers(found[before], before), numbers(found[after], after)
    order = np.argsort(first, kind="stable")
    change = (second - first)[order]
    moved, most = int((change != 0).sum()), float(np.nanmax(np.abs(change)))
    return Figure(
        "ranks",
        {"system": labels[order], "before": first[order], "after": second[order], "change": change},
        x=Axis("before", "rank", "count"),
        y=Axis("system", "", "category"),
        title=f"Ranks{f' by {measure}' if measure else ''}: {after_label}",
        subtitle=f"filled: {before_label}; hollow: {after_label}\n"
        + (
            f"{moved:,} of {counted(len(labels), 'system')} change rank, by up to {most:g}"
            if moved
            else "no rank changes"
        ),
    )
