"""Precision against recall, and ROC curves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cranfield.errors import UsageError
from cranfield.measures.curves import Curve, Curves
from cranfield.report.figures.figure import Axis, Figure, names
from cranfield.text import counted


def describe_curves(curves: Curves) -> Figure:
    """Show the mean curve of every run, highest first; the notes give the area, if known.

    >>> from cranfield.assessed.lists import Assessed
    >>> from cranfield.measures.curves import interpolated_precision
    >>> describe_curves(interpolated_precision(Assessed.one([1, 0, 1]))).title
    'Interpolated precision against recall'
    """
    mean = curves.mean()
    height = mean.y.mean(axis=1) if mean.area is None else mean.area
    defined = np.flatnonzero(~np.isnan(height))
    if not len(defined):
        raise UsageError("no run has a curve: the measure is undefined on all topics")
    order = defined[np.argsort(-height[defined], kind="stable")]
    points = len(mean.x)
    # The topics on which at least one run has a curve.
    topics = curves.topics if curves.topic is None else np.unique(curves.topic[~np.isnan(curves.y).any(axis=1)])
    title = "Interpolated precision against recall" if mean.y_name == "precision" else "ROC"
    notes = [] if mean.area is None else [f"{mean.runs[i]}: area {mean.area[i]:.4f}" for i in order.tolist()]
    lost = len(mean.runs) - len(defined)
    if lost:
        notes.append(f"{counted(lost, 'run')} without a curve left out")
    return Figure(
        "lines",
        {
            "system": np.repeat(names(mean.runs)[order], points),
            mean.x_name: np.tile(mean.x, len(order)),
            mean.y_name: mean.y[order].ravel(),
        },
        x=Axis(mean.x_name, mean.x_name, low=0, high=1),
        y=Axis(mean.y_name, mean.y_name, low=0, high=1),
        by=Axis("system", "system", "category"),
        title=title,
        subtitle=f"means over {counted(len(topics), 'topic')}",
        notes=tuple(notes),
    )


def describe_precision_recall(curves: Mapping[str, Curve], *, topic: str = "") -> Figure:
    """Show precision against recall of single lists: {system: curve of one topic}. Each relevant document is a point.

    >>> from cranfield.assessed.lists import Assessed
    >>> from cranfield.measures.curves import precision_recall
    >>> curve = precision_recall(Assessed.one([1, 0, 1], missed=[1, 1]), "run", "topic")
    >>> describe_precision_recall({"bm25": curve}).columns()["recall"].tolist()
    [0.25, 0.5]
    """
    shown = {name: curve for name, curve in curves.items() if len(curve.x)}
    if not shown:
        raise UsageError("no list has a relevant document, so there is no curve to draw")
    empty = [name for name in curves if name not in shown]
    return Figure(
        "lines",
        {
            "system": names(name for name, curve in shown.items() for _ in curve.x),
            "recall": np.concatenate([curve.x for curve in shown.values()]),
            "precision": np.concatenate([curve.y for curve in shown.values()]),
        },
        x=Axis("recall", "recall", low=0, high=1),
        y=Axis("precision", "precision", low=0, high=1),
        by=Axis("system", "system", "category"),
        title="Precision against recall" + (f", topic {topic}" if topic else ""),
        subtitle="a point at each relevant document",
        notes=(f"without a relevant document: {', '.join(empty)}",) if empty else (),
    )
