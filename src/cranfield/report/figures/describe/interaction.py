"""Interaction plots: does the effect of one factor depend on another?"""

from __future__ import annotations

from typing import Any

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, names, numbers


def describe_interaction(columns: Any, x: str, by: str, *, mean: str = "mean", measure: str = "") -> Figure:
    """Mean scores by two factors: levels of `x` side by side, a line for each level of `by`; `low` and `high` are bars.

    Parallel lines: no interaction. `columns` are those of the analysis of variance's means by both factors.

    >>> made = {"stemmer": ["none", "porter"] * 2, "model": ["bm25"] * 2 + ["lm"] * 2, "mean": [0.2, 0.3, 0.25, 0.26]}
    >>> describe_interaction(made, "stemmer", "model").title
    'Interaction of stemmer and model'
    """
    found = columns_of(columns, x, by, mean)
    if x == by:
        raise UsageError(f"an interaction is between two factors; {x!r} is given twice")
    levels, lines = names(found[x]), names(found[by])
    pairs = list(zip(levels.tolist(), lines.tolist(), strict=True))
    if len(set(pairs)) < len(pairs):
        raise UsageError(
            f"{len(pairs)} rows, but only {len(set(pairs))} combinations of {x} and {by}; give one mean each"
        )
    data = {by: lines, x: levels, "mean": numbers(found[mean], mean)}
    if {"low", "high"} <= found.keys():
        data |= {end: numbers(found[end], end) for end in ("low", "high")}
    return Figure(
        "lines",
        data,
        x=Axis(x, x, "category"),
        y=Axis("mean", f"mean {measure}".rstrip() if measure else "mean score"),
        by=Axis(by, by, "category"),
        title=f"Interaction of {x} and {by}",
        subtitle="parallel lines: the effect of one does not depend on the other",
    )
