"""Differences topic by topic: where one system is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.comparison.data import paired
from cranfield.report.figures.figure import Axis, Figure, Reference, names
from cranfield.text import counted


def describe_differences(data: Any, systems: Sequence[str] | None = None, *, measure: Any = None) -> Figure:
    """The difference of two systems on every topic, largest first, with the mean difference.

    `data` holds two systems, or more and `systems` names two: first − second.

    >>> made = describe_differences({"a": [0.2, 0.5, 0.4], "b": [0.1, 0.9, 0.4]}, ("a", "b"), measure="AP")
    >>> made.columns()["difference"].round(3).tolist()
    [0.1, 0.0, -0.4]
    """
    pair = paired(data, systems=systems, measure=measure)
    away = pair.difference
    order = np.argsort(-away, kind="stable")
    topics = names(pair.topics if len(pair.topics) == len(away) else range(1, len(away) + 1))
    first, second = names(pair.names)
    win, loss = int((away > 0).sum()), int((away < 0).sum())
    mean = float(away.mean())
    return Figure(
        "differences",
        {
            "topic": topics[order],
            "first": pair.x[order],
            "second": pair.y[order],
            "difference": away[order],
        },
        x=Axis("topic", "topics, by difference", "category"),
        y=Axis("difference", f"difference of {pair.measure}"),
        title=f"{pair.measure}: {first} − {second}",
        subtitle=f"{counted(len(away), 'topic')}: {first} is higher on {win:,}, {second} on {loss:,}, "
        f"alike on {len(away) - win - loss:,}; mean difference {mean:+.4f} (dashed)",
        references=(Reference("y", mean, ""),),
        notes=pair.notes,
    )
