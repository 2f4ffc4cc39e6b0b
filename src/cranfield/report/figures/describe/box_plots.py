"""Box plots: the spread of each system's scores over topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.errors import UsageError
from cranfield.measures.property_tables import lower_is_better
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.text import counted

REACH = 1.5
"""Whiskers end at the last score within this many box lengths of the box."""


def describe_boxes(data: Any, measure: Any = None) -> Figure:
    """Show quartiles, median, mean and whiskers of every system, best mean first; scores beyond are single points.

    `data` is `Scores`, a matrix, a frame or dicts. Quartiles are interpolated linearly; whiskers end at the last score
    within 1.5 interquartile ranges. Ferro & Maistro 2024 Fig. 16.

    >>> describe_boxes({"bm25": [0.1, 0.2, 0.3, 0.4, 0.9]}).columns()["median"].tolist()
    [0.3]
    """
    matrix = Matrix.of(data, measure)
    scored = ~np.isnan(matrix.values).all(axis=0)
    if not scored.any():
        raise UsageError(f"{matrix.measure}: no system has a score to draw")
    values = matrix.values[:, scored]
    labels = names(matrix.systems)[scored]
    topics = int((~np.isnan(values)).any(axis=1).sum())
    means = np.nanmean(values, axis=0)
    q1, median, q3 = np.nanquantile(values, [0.25, 0.5, 0.75], axis=0)
    reach = REACH * (q3 - q1)
    within = (values >= q1 - reach) & (values <= q3 + reach)
    low = np.nanmin(np.where(within, values, np.nan), axis=0)
    high = np.nanmax(np.where(within, values, np.nan), axis=0)
    # An interpolated quartile may lie beyond the last score within reach.
    low, high = np.minimum(low, q1), np.maximum(high, q3)
    order = np.argsort(means if lower_is_better(matrix.measure) else -means, kind="stable")
    beyond = np.nonzero((~within & ~np.isnan(values))[:, order].T)
    lost = int((~scored).sum())
    notes = (f"{counted(lost, 'system')} without any score left out",) if lost else ()
    data = {"system": labels, "mean": means, "low": low, "q1": q1, "median": median, "q3": q3, "high": high}
    data["topics"] = (~np.isnan(values)).sum(axis=0)
    return Figure(
        "boxes",
        {name: column[order] for name, column in data.items()},
        x=Axis("mean", f"{matrix.measure}, topic by topic"),
        y=Axis("system", "system", "category"),
        title=f"{matrix.measure} of {counted(len(labels), 'system')} on {counted(topics, 'topic')}",
        subtitle="box: quartiles and median; diamond: mean; whiskers: at most 1.5 box lengths; circles: topics beyond\n"
        "best mean first",
        also={
            "beyond": {
                "system": labels[order][beyond[0]],
                "topic": names(matrix.topics)[beyond[1]],
                "value": values[:, order][beyond[1], beyond[0]],
            }
        },
        notes=(*matrix.notes, *notes),
    )
