"""Sessions of a log: how many queries they have."""

from __future__ import annotations

from typing import Any

from cranfield.report.figures.figure import Axis, Figure, columns_of, names, numbers


def describe_sessions(columns: Any, *, subtitle: str = "") -> Figure:
    """Show the share of sessions by their number of queries.

    `columns` are `queries` and `share`, as in `SessionSummary`.

    >>> describe_sessions({"queries": ["1", "2 or more"], "share": [0.7, 0.3]})
    Figure(lines: 2 rows of queries, share)
    """
    table = columns_of(columns, "queries", "share")
    return Figure(
        "lines",
        {"queries": names(table["queries"]), "share": numbers(table["share"], "share")},
        x=Axis("queries", "queries of a session", "category"),
        y=Axis("share", "share of sessions", "share", low=0, high=1),
        title="Sessions by their number of queries",
        subtitle=subtitle,
    )
