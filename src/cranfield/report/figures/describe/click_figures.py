"""Click models: parameters by rank, and perplexity by rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, in_order, names, numbers
from cranfield.text import counted


def describe_click_parameters(columns: Any, *, model: str = "") -> Figure:
    """Show the parameters of ranks, such as examination, against the rank, with intervals.

    `columns` are those of a `ClickModel`: parameter, rank, above, value, low, high. Parameters of UBM get a line for
    each rank of the click above.

    >>> table = {"parameter": ["examination"] * 2, "rank": [1, 2], "above": [0, 0], "value": [1.0, 0.6]}
    >>> describe_click_parameters({**table, "low": [1.0, 0.5], "high": [1.0, 0.7]})
    Figure(lines: 2 rows of line, rank, value, low, high)
    """
    table = columns_of(columns, "parameter", "rank", "above", "value", "low", "high")
    model = model or getattr(columns, "model", "")
    rank, above = numbers(table["rank"], "rank"), numbers(table["above"], "above")
    shown = rank > 0
    if not shown.any():
        raise UsageError(f"{model or 'this model'} has no parameters of ranks, so there is nothing to draw")
    parameter = names(table["parameter"])[shown]
    label = in_order(parameter)[0]
    lines = parameter
    if above.any():
        words = ["no click above" if not place else f"click at rank {place:g}" for place in above[shown].tolist()]
        lines = names(words)
    low, high = (numbers(table[end], end)[shown] for end in ("low", "high"))
    order = np.lexsort((rank[shown], above[shown]))
    known = ~np.isnan(low)
    ends = {"low": np.where(known, low, np.nan)[order], "high": np.where(known, high, np.nan)[order]}
    return Figure(
        "lines",
        {"line": lines[order], "rank": rank[shown][order], "value": numbers(table["value"], "value")[shown][order]}
        | (ends if known.any() else {}),
        x=Axis("rank", "rank", "count", low=0),
        y=Axis("value", label, low=0, high=1),
        by=Axis("line", "parameter" if not above.any() else "nearest click", "category"),
        title=f"{label.capitalize()} by rank" + (f", {model}" if model else ""),
        subtitle="with intervals" if known.any() else "",
    )


def describe_click_perplexity(columns: Any) -> Figure:
    """Show the perplexity of click models against the rank, a line per model.

    `columns` are those of a `ClickEvaluation`: model, rank (0 for all ranks) and perplexity.

    >>> describe_click_perplexity({"model": ["PBM"] * 3, "rank": [0, 1, 2], "perplexity": [1.4, 1.6, 1.2]})
    Figure(lines: 2 rows of model, rank, perplexity)
    """
    table = columns_of(columns, "model", "rank", "perplexity")
    rank, value = numbers(table["rank"], "rank"), np.asarray(table["perplexity"], dtype=np.float64)
    endless = np.isinf(value) & (rank > 0)
    shown = (rank > 0) & np.isfinite(value)
    if not shown.any():
        raise UsageError("no rank has a perplexity that can be drawn")
    notes = (f"{counted(int(endless.sum()), 'infinite perplexity', 'infinite perplexities')} not shown",)
    return Figure(
        "lines",
        {"model": names(table["model"])[shown], "rank": rank[shown], "perplexity": value[shown]},
        x=Axis("rank", "rank", "count", low=0),
        y=Axis("perplexity", "perplexity", low=1),
        by=Axis("model", "click model", "category"),
        title="Perplexity of click models by rank",
        subtitle="1 is a perfect prediction of clicks, 2 that of a coin",
        notes=notes if endless.any() else (),
    )
