"""The difference of two systems, topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.comparison.data import paired
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted


def describe_differences(data: Any, systems: Sequence[str] | None = None, *, measure: Any = None) -> Figure:
    """Show the difference of two systems on every topic, largest first, and the mean difference.

    `data` holds two systems, or `systems` names two of them: first − second.

    >>> figure = describe_differences({"a": [0.2, 0.5, 0.4], "b": [0.1, 0.9, 0.4]}, ("a", "b"), measure="AP")
    >>> figure.columns()["difference"].round(3).tolist()
    [0.1, 0.0, -0.4]
    """
    pair = paired(data, systems=systems, measure=measure)
    difference = pair.difference
    order = np.argsort(-difference, kind="stable")
    topics = names(pair.topics if len(pair.topics) == len(difference) else range(1, len(difference) + 1))
    first, second = names(pair.names)
    win, loss = int((difference > 0).sum()), int((difference < 0).sum())
    mean = float(difference.mean())
    return Figure(
        "bars",
        {"topic": topics[order], "first": pair.x[order], "second": pair.y[order], "difference": difference[order]},
        x=Axis("topic", "topics, by difference", "category"),
        y=Axis("difference", f"difference of {pair.measure}"),
        title=f"{pair.measure}: {first} − {second}",
        subtitle=f"{counted(len(difference), 'topic')}: {first} is higher on {win:,}, {second} on {loss:,}, "
        f"equal on {len(difference) - win - loss:,}; mean difference {mean:+.4f} (dashed)",
        references=(Reference("y", mean, ""),),
        notes=pair.notes,
    )
