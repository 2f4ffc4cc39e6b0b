"""Spacing plots: every possible list at its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, names, numbers
from cranfield.text import counted

ALIKE = 1e-9
"""Scores, and gaps between scores, that differ by less than this are equal."""


def describe_spacing(scores: Mapping[str, Any], lists: Sequence[str], *, subtitle: str = "") -> Figure:
    """Show the scores that each measure gives to all lists of a length, with the lists that share each score.

    `scores` is {measure: a score per list}; `lists` are the grades of the lists, such as "1010". `gap` is the distance
    to the next lower score. Ferro & Maistro 2024 Fig. 19.

    >>> table = describe_spacing({"P": [0, 0.5, 0.5, 1]}, ["00", "01", "10", "11"]).columns()
    >>> table["lists"].tolist(), table["spacing"].tolist()
    (['00', '01 10', '11'], ['even', 'even', 'even'])
    """
    if not scores or not len(lists):
        raise UsageError("nothing to draw: give the scores of at least one measure, and the lists")
    records: list[tuple[Any, ...]] = []
    for measure, column in scores.items():
        values = numbers(column, f"the scores of {measure}")
        if len(values) != len(lists):
            raise UsageError(f"{measure} has {len(values)} scores, but there are {len(lists)} lists")
        if np.isnan(values).any():
            raise UsageError(f"{measure} has no score for list {lists[int(np.flatnonzero(np.isnan(values))[0])]}")
        order = np.argsort(values, kind="stable")
        begins = np.flatnonzero(np.diff(values[order], prepend=-np.inf) > ALIKE)
        levels = values[order][begins]
        gaps = np.diff(levels)
        even = not len(gaps) or bool(gaps.max() - gaps.min() <= ALIKE)
        for number, group in enumerate(np.split(order, begins[1:])):
            below = gaps[number - 1] if number else np.nan
            shared = " ".join(str(lists[i]) for i in sorted(group.tolist()))
            records.append((measure, levels[number], below, len(group), shared, "even" if even else "uneven"))
    measures, score, gap, ties, listed, spacing = zip(*records, strict=True)
    data = {"measure": names(measures), "score": np.array(score), "gap": np.array(gap), "ties": np.array(ties)}
    return Figure(
        "spacing",
        {**data, "lists": names(listed), "spacing": names(spacing)},
        x=Axis("score", "score"),
        y=Axis("measure", "measure", "category"),
        title=f"Order and spacing of {counted(len(lists), 'list')}",
        subtitle=subtitle or "an interval scale has even spacing",
    )
