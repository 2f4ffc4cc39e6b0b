"""Effectiveness against seconds per query, with the Pareto front."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, in_order, names, numbers
from cranfield.scores.efficiency import TIMES
from cranfield.text import counted
from cranfield.types import Array

ROOM = 0.08
WIDE = 30.0
"""If the slowest run takes more than this many times as long as the fastest, seconds are on a log scale."""


def describe_efficiency(columns: Any, *, time: str = "mean") -> Figure:
    """Show every run at its seconds per query and its mean score, with a line through the Pareto front.

    `columns` are those of `efficiency` for one measure: measure, run, effectiveness, front, and the seconds `time`.

    >>> table = {"measure": ["AP", "AP"], "run": ["a", "b"], "effectiveness": [0.2, 0.3], "mean": [0.1, 0.4]}
    >>> describe_efficiency({**table, "front": [True, True]}).title
    'AP against seconds per query, 2 runs'
    """
    table = columns_of(columns, "run", "measure", "effectiveness", time, "front")
    measures = in_order(names(table["measure"]))
    if len(measures) > 1:
        raise UsageError(f"a figure shows one measure, but there are {len(measures)}: {', '.join(measures)}")
    x, y = numbers(table[time], time), numbers(table["effectiveness"], "effectiveness")
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        raise UsageError("no run has both a score and a time")
    x, y, labels, front = x[both], y[both], names(table["run"])[both], np.asarray(table["front"], dtype=bool)[both]
    order = np.argsort(x, kind="stable")
    x, y, labels, front = x[order], y[order], labels[order], front[order]
    left_out = int((~both).sum())
    return Figure(
        "scatter",
        {"run": labels, "seconds": x, measures[0]: y, "front": front},
        x=_seconds(x, f"seconds per query ({TIMES.get(time, time)})"),
        y=Axis(measures[0], measures[0], low=_start(y), high=_end(y)),
        title=f"{measures[0]} against seconds per query, {counted(len(x), 'run')}",
        subtitle="filled, with a line: runs that no other run beats in both",
        also={"front": {"x": x[front], "y": y[front]}},
        notes=(f"{counted(left_out, 'run')} without a score or a time left out",) if left_out else (),
    )


def _seconds(x: Array, label: str) -> Axis:
    """The axis of seconds; logarithmic if they differ so much that fast runs would stand on one another."""
    least, most = float(x.min()), float(x.max())
    if least > 0 and most / least > WIDE:
        room = (most / least) ** ROOM
        return Axis("seconds", f"{label}, log scale", low=least / room, high=most * room, log=True)
    return Axis("seconds", label, low=0.0, high=_end(x))


def _end(values: Array) -> float:
    """The upper end of an axis, with some room."""
    return float(values.max() + max(ROOM * (values.max() - min(0.0, float(values.min()))), 1e-6))


def _start(values: Array) -> float:
    low = float(values.min())
    room = ROOM * (float(values.max()) - low)
    return max(0.0, low - room) if low >= 0 else low - room
