"""Reproductions: is the effect as large as in the original, and are the lists similar?"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, Reference, columns_of, names, numbers
from cranfield.text import counted

ROOM = 0.12


def describe_effects(columns: Any) -> Figure:
    """Show every measure at its effect ratio (ER) and its difference of relative improvements (ΔRI).

    `columns` are those of `reproduce`: measure, effect_ratio, delta_ri; rows without an effect are left out. A
    perfect reproduction has ER = 1 and ΔRI = 0. Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036

    >>> table = {"measure": ["AP", "AP"], "effect_ratio": [float("nan"), 0.8], "delta_ri": [float("nan"), 0.05]}
    >>> describe_effects(table).columns()["ER"].tolist()
    [0.8]
    """
    table = columns_of(columns, "measure", "effect_ratio", "delta_ri")
    ratio, change = numbers(table["effect_ratio"], "effect_ratio"), numbers(table["delta_ri"], "delta_ri")
    defined = ~(np.isnan(ratio) | np.isnan(change))
    if not defined.any():
        raise UsageError("no measure has an effect to draw: an effect needs a baseline and an advanced run that differ")
    ratio, change = ratio[defined], change[defined]
    (low, high), (bottom, top) = _ends(ratio, 1.0), _ends(change, 0.0)
    return Figure(
        "scatter",
        {"measure": names(table["measure"])[defined], "ER": ratio, "ΔRI": change},
        x=Axis("ER", "effect ratio (ER)", low=low, high=high),
        y=Axis("ΔRI", "difference of relative improvements (ΔRI)", low=bottom, high=top),
        title="Is the effect reproduced?",
        subtitle="as large as in the original where the lines meet,\nsmaller to the left of ER = 1",
        references=(Reference("x", 1.0, "ER = 1"), Reference("y", 0.0, "ΔRI = 0")),
    )


def describe_alike(columns: Any, role: str = "") -> Figure:
    """Show how similar the lists of a run and of its repetition are (τ union and RBO), topics in ascending order.

    `columns` are topic, tau and overlap.

    >>> figure = describe_alike({"topic": ["1", "2"], "tau": [0.9, 0.5], "overlap": [0.8, 0.7]})
    >>> figure.columns()["value"].tolist()
    [0.5, 0.9, 0.7, 0.8]
    """
    table = columns_of(columns, "topic", "tau", "overlap")
    parts = []
    for label, name in (("τ union", "tau"), ("RBO", "overlap")):
        values = numbers(table[name], name)
        order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
        parts.append((label, names(table["topic"])[order], values[order]))
    if not any(len(values) for _, _, values in parts):
        raise UsageError("nothing to draw: no topic has lists that can be compared")
    topics = len(table["topic"])
    return Figure(
        "lines",
        {
            "coefficient": names([label for label, _, values in parts for _ in values]),
            "place": np.concatenate([np.arange(1, len(values) + 1) for _, _, values in parts]),
            "topic": np.concatenate([labels for _, labels, _ in parts]),
            "value": np.concatenate([values for _, _, values in parts]),
        },
        x=Axis("place", "topics, sorted by each coefficient", "count"),
        y=Axis("value", "agreement of the two lists", high=1.0),
        by=Axis("coefficient", "", "category"),
        title=f"Lists of the {role} run and of its repetition" if role else "Lists of a run and of its repetition",
        subtitle=f"{counted(topics, 'topic')}; 1: the same documents in the same order",
    )


def _ends(values: Any, mark: float) -> tuple[float, float]:
    """Return the ends of an axis: some room around the values and the reference line."""
    low, high = min(float(values.min()), mark), max(float(values.max()), mark)
    room = max(ROOM * (high - low), 0.02)
    return low - room, high + room
