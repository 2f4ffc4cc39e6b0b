"""Rank changes: the rank of each system with all judgments, and when it is left out of the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, columns_of, names, no_repeats, numbers
from cranfield.text import counted

FEW = 30
"""With more systems than this, the figure shows only those that move, or the first ones if none does."""


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
    """Show how ranks change, such as from those with all judgments to those of each system when it was not pooled.

    >>> changes = describe_rank_changes({"system": ["a", "b", "c"], "before": [1, 2, 3], "after": [2, 2, 3]})
    >>> changes.columns()["change"].tolist()
    [1.0, 0.0, 0.0]
    """
    table = columns_of(columns, system, before, after)
    labels = names(table[system])
    no_repeats(labels.tolist(), "system")
    first, second = numbers(table[before], before), numbers(table[after], after)
    order = np.argsort(first, kind="stable")
    change = (second - first)[order]
    moved = int((change != 0).sum())
    extent = f"by up to {np.nanmax(np.abs(change)):g}"
    hidden = "; the others are not shown" if moved and moved < len(labels) and len(labels) > FEW else ""
    outcome = f"{moved:,} of {counted(len(labels), 'system')} change rank, {extent}{hidden}"
    if not moved:
        cut = f"; the first {FEW} of {len(labels):,} systems are shown" if len(labels) > FEW else ""
        outcome = f"no rank changes{cut}"
    return Figure(
        "dumbbells",
        {"system": labels[order], "before": first[order], "after": second[order], "change": change},
        x=Axis("change", "change of rank: to the right, the system falls", "count"),
        y=Axis("system", "system", "category"),
        title=f"Ranks{f' by {measure}' if measure else ''}: {after_label}",
        subtitle=f"first rank: {before_label}; second: {after_label}\n{outcome}",
    )
