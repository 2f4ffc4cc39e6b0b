"""Figures of online measures: a measure over days or groups, and the calibration of predicted probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, columns_of, names, numbers
from cranfield.text import counted

KEYS = ("measure", "value", "low", "high", "error", "unit", "users", "part")
"""The columns of `measure_log` that are not groups."""


def describe_log_measure(columns: Any, measure: str | None = None, *, confidence: float = 0.95) -> Figure:
    """Show an online measure over days, a line per group, or by group, with its intervals.

    `columns` are those of `measure_log` with `by`: the groups, measure, value, low, high, unit.

    >>> table = {"arm": ["A", "B"], "measure": ["CTR", "CTR"], "value": [0.1, 0.2], "low": [0.0, 0.1]}
    >>> describe_log_measure({**table, "high": [0.2, 0.3], "unit": ["clicks", "clicks"]}).title
    'CTR by arm'
    """
    table = columns_of(columns, "measure", "value", "low", "high", "unit")
    labels = names(table["measure"])
    measure = labels[0] if measure is None else measure
    chosen = labels == measure
    if not chosen.any():
        raise UsageError(f"no measure {measure!r} to draw")
    groups = [name for name in table if name not in KEYS]
    if not groups:
        raise UsageError("a figure of an online measure needs groups, such as days or arms")
    ends = {name: numbers(table[name], name)[chosen] for name in ("value", "low", "high")}
    unit = str(table["unit"][chosen][0])
    label = f"{measure} ({unit})" if unit else measure
    intervals = f"with {100 * confidence:g}% intervals over users"
    others = [name for name in groups if name != "day"]
    key = _joined(table, others, chosen)
    if "day" in groups:
        data = {"day": names(table["day"][chosen]), measure: ends["value"], "low": ends["low"], "high": ends["high"]}
        if others:
            data[", ".join(others)] = key
        return Figure(
            "lines",
            data,
            x=Axis("day", "day", "category"),
            y=Axis(measure, label),
            by=Axis(", ".join(others), ", ".join(others), "category") if others else None,
            title=f"{measure} by day" + (f" and {', '.join(others)}" if others else ""),
            subtitle=intervals,
        )
    by = ", ".join(others)
    return Figure(
        "intervals",
        {
            "group": key,
            measure: ends["value"],
            "low": ends["low"],
            "high": ends["high"],
        },
        x=Axis(measure, label),
        y=Axis("group", by, "category"),
        title=f"{measure} by {by}",
        subtitle=intervals,
    )


def _joined(table: Any, groups: list[str], chosen: Any) -> Any:
    """The values of several columns as one label."""
    return names(" ".join(map(str, row)) for row in zip(*(table[name][chosen] for name in groups), strict=True))


def describe_reliability(columns: Any) -> Figure:
    """Show predicted probabilities beside the share of labels that are 1: on the diagonal, they are right.

    `columns` are those of `reliability_curve`: predicted, observed, low, high, n.

    >>> table = {"predicted": [0.2, 0.8], "observed": [0.3, 0.7], "low": [0.1, 0.5], "high": [0.5, 0.9], "n": [10, 12]}
    >>> describe_reliability(table).subtitle
    '22 predictions in 2 bins, with 95% intervals; the straight line is perfect calibration'
    """
    table = columns_of(columns, "predicted", "observed", "low", "high", "n")
    bins = len(table["n"])
    data = {name: numbers(table[name], name) for name in ("predicted", "observed", "low", "high")}
    line = {"predicted": np.array([0.0, 1.0]), "observed": np.array([0.0, 1.0])}
    nothing = np.full(2, np.nan)
    joined = {name: np.concatenate([data[name], line.get(name, nothing)]) for name in data}
    total = counted(int(np.sum(table["n"])), "prediction")
    return Figure(
        "lines",
        {"line": names(["classifier"] * bins + ["perfect"] * 2), **joined},
        x=Axis("predicted", "predicted probability", low=0.0, high=1.0),
        y=Axis("observed", "share of satisfied queries", low=0.0, high=1.0),
        by=Axis("line", "line", "category"),
        title="Calibration",
        subtitle=f"{total} in {counted(bins, 'bin')}, with 95% intervals; the straight line is perfect calibration",
    )
