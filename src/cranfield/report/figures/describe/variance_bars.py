"""Variance components: where the variance of scores comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, in_order, names, numbers
from cranfield.text import counted


def describe_components(
    columns: Any,
    *,
    component: str = "component",
    variance: str = "variance",
    measure: str = "measure",
    subtitle: str = "",
) -> Figure:
    """Show the share of each variance component (system, topic, their interaction ...) for every measure.

    `columns` have a row per measure and component; without a column of measures there is one bar. Estimates below 0
    count as 0.

    >>> table = {"component": ["system", "topic", "system × topic"], "variance": [1.0, 2.0, 1.0]}
    >>> describe_components(table).columns()["share"].tolist()
    [0.25, 0.5, 0.25]
    """
    table = columns_of(columns, component, variance)
    several = measure in table
    labels = names(table[measure] if several else [""] * len(table[component]))
    variances = numbers(table[variance], variance)
    if np.isnan(variances).any():
        raise UsageError(f"{variance} has no value in row {int(np.flatnonzero(np.isnan(variances))[0]) + 1}")
    kept = np.maximum(variances, 0.0)
    share, end = np.empty_like(kept), np.empty_like(kept)
    for label in in_order(labels):
        bar = labels == label
        if not kept[bar].any():
            raise UsageError(f"nothing varies{f' in {label}' if several else ''}, so there are no shares to draw")
        share[bar] = kept[bar] / kept[bar].sum()
        end[bar] = np.cumsum(share[bar])
    below = int((variances < 0).sum())
    data = {"measure": labels, "component": names(table[component]), "variance": variances}
    return Figure(
        "stacked_bars",
        {**data, "share": share, "begin": end - share, "end": end},
        x=Axis("share", "share of variance", "share", low=0, high=1),
        y=Axis("measure", "measure", "category"),
        by=Axis("component", "component", "category"),
        title="Variance components",
        subtitle=subtitle,
        notes=(f"{counted(below, 'estimate')} below 0 drawn as 0",) if below else (),
    )
