"""Best, median and worst score of every topic, and one run among them."""

from __future__ import annotations

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.scores.topic_sheet import TopicSheet
from cranfield.text import counted


def describe_topics(sheet: TopicSheet) -> Figure:
    """Show the range of scores on every topic, with the median, or with a run's score above or below the median.

    >>> from cranfield.scores import Scores
    >>> from cranfield.scores.topic_sheet import topic_sheet
    >>> figure = describe_topics(topic_sheet(Scores.from_matrix([[0.2, 0.5], [0.1, 0.0]], measure="AP")))
    >>> figure.columns()["mean"].round(2).tolist()
    [0.05, 0.35]
    """
    if len(sheet.measures) > 1:
        raise UsageError(f"a figure shows one measure, but there are {len(sheet.measures)}; choose one")
    data = sheet.columns()
    point = data["median"] if sheet.run is None else data[sheet.run]
    keep = ~np.isnan(point)
    columns = {
        "topic": names(data["topic"]),
        "mean": point,
        "low": np.minimum(data["worst"], data["best"]),
        "high": np.maximum(data["worst"], data["best"]),
    }
    by = None
    if sheet.run is not None:
        columns["stands"] = np.where(point < data["median"], "below the median", "at or above the median").astype(
            object
        )
        by = Axis("stands", "", "category")
    measure, shown = sheet.measures[0], "median" if sheet.run is None else sheet.run
    return Figure(
        "intervals",
        {name: column[keep] for name, column in columns.items()},
        x=Axis("mean", measure),
        y=Axis("topic", "topic", "category"),
        by=by,
        title=f"{measure} by topic: {shown} among {counted(sheet.runs, 'run')}",
        subtitle=f"point: {shown}; line: from the worst to the best run",
        notes=sheet.notes,
    )
