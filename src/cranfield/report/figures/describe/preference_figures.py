"""Interleaving: the matrix of preferences, and how power grows with impressions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.report.figures.describe.grids import describe_heat
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, names, numbers


def describe_preferences(analysis: Any) -> Figure:
    """Show Δ of every system (row) over every other (column).

    `analysis` is the result of `analyse_interleaving`.

    >>> from cranfield.online.interleaving.interleaving_analysis import analyse_interleaving
    >>> from cranfield.online.interleaving.preference_counts import count_preferences
    >>> counts = count_preferences(["a", "b"], np.array([[1, 0], [1, 0], [0, 1], [1, 0]]))
    >>> describe_preferences(analyse_interleaving(counts)).columns()["value"].tolist()
    [nan, 0.25, -0.25, nan]
    """
    matrix = np.array(analysis.matrix())
    np.fill_diagonal(matrix, np.nan)
    figure = describe_heat(matrix, analysis.systems, what="Δ of row over column", subtitle=analysis.verdict)
    return replace(figure, title="Preferences of users")


def describe_interleaving_power(columns: Any, *, wanted: float = 0.8, subtitle: str = "") -> Figure:
    """Show the power of the sign test against the number of impressions, a line for each `series`.

    `columns` are `series`, `impressions` and `power`, as in `InterleavingSimulation.curve`.

    >>> describe_interleaving_power({"series": ["team-draft"] * 2, "impressions": [10, 99], "power": [0.1, 0.8]})
    Figure(lines: 2 rows of series, impressions, power)
    """
    table = columns_of(columns, "series", "impressions", "power")
    data = {
        "series": names(table["series"]),
        "impressions": numbers(table["impressions"], "impressions"),
        "power": numbers(table["power"], "power"),
    }
    sizes = data["impressions"]
    return Figure(
        "lines",
        data,
        x=Axis("impressions", "impressions", "count", low=float(sizes.min()), high=float(sizes.max()), log=True),
        y=Axis("power", "power: probability of finding the difference", low=0, high=1),
        by=Axis("series", "", "category"),
        title="Power by number of impressions",
        subtitle=subtitle,
        references=(Reference("y", wanted, f"{wanted:g}"),),
    )
