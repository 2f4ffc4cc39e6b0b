"""Interaction plots: does the effect of one factor depend on another?"""

from __future__ import annotations

from typing import Any

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, ends_of, names, numbers


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
