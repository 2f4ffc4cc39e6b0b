"""Discovery curves: how fast pooling methods find the relevant documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, columns_of, in_order, names, numbers

MOST_POINTS = 400
"""Points of a line that are kept; a page cannot show more."""


def describe_discovery(columns: Any, *, subtitle: str = "") -> Figure:
    """Show the share of all relevant documents that is found against the number of judgments, a line per method.

    `columns` are `method`, `judgments` and `share`, as in `PoolSimulation.curve`.

    >>> describe_discovery({"method": ["depth"] * 2, "judgments": [0, 1], "share": [0.0, 0.5]})
    Figure(lines: 2 rows of method, judgments, share)
    """
    table = columns_of(columns, "method", "judgments", "share")
    method = names(table["method"])
    kept = []
    for name in in_order(method):
        points = np.flatnonzero(method == name)
        if len(points) > MOST_POINTS:
            points = points[np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int))]
        kept.append(points)
    rows = np.concatenate(kept)
    data = {
        "method": method[rows],
        "judgments": numbers(table["judgments"], "judgments")[rows],
        "share": numbers(table["share"], "share")[rows],
    }
    return Figure(
        "lines",
        data,
        x=Axis("judgments", "judgments", "count", low=0),
        y=Axis("share", "share of relevant documents found", "share", low=0, high=1),
        by=Axis("method", "method", "category"),
        title="Relevant documents found by number of judgments",
        subtitle=subtitle,
    )
