"""How often offline measures name the online winner, against the number of topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, in_order, names, numbers


def describe_online_agreement(columns: Any, *, comparison: str | None = None, subtitle: str = "") -> Figure:
    """Show the share of pairs whose online winner a measure names, a line per measure, against the number of topics.

    `columns` are comparison, measure, topics and agreement, as in `OnlineAgreement.curve_columns`. With several kinds
    of comparison, a line is named after both, unless `comparison` selects one.

    >>> table = {"comparison": ["ab"] * 2, "measure": ["AP"] * 2, "topics": [10, 50], "agreement": [0.7, 0.8]}
    >>> describe_online_agreement(table)
    Figure(lines: 2 rows of measure, topics, agreement)
    """
    table = columns_of(columns, "comparison", "measure", "topics", "agreement")
    kind, measure = names(table["comparison"]), names(table["measure"])
    keep = np.ones(len(kind), dtype=bool) if comparison is None else kind == comparison
    label = (
        measure
        if len(in_order(kind[keep])) < 2
        else np.array([f"{m}, {k}" for m, k in zip(measure, kind, strict=True)])
    )
    return Figure(
        "lines",
        {
            "measure": names(label[keep]),
            "topics": numbers(table["topics"], "topics")[keep],
            "agreement": numbers(table["agreement"], "agreement")[keep],
        },
        x=Axis("topics", "topics", "count", low=0),
        y=Axis("agreement", "pairs whose online winner is named", "share", low=0, high=1),
        by=Axis("measure", "measure", "category"),
        title="Which measure predicts the online winner?",
        subtitle=subtitle,
        references=(Reference("y", 0.5, "chance"),),
    )
