"""Heat maps: how alike measures rank systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.report.figures.figure import Axis, Figure, names, no_repeats


def describe_heat(
    matrix: Any,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    what: str = "Kendall's τ",
    title: str | None = None,
    subtitle: str = "",
) -> Figure:
    """A matrix such as Kendall's τ between measures: the darker, the higher. `columns` are those of `rows` unless said.

    >>> describe_heat([[1, 0.9], [0.9, 1]], ["AP", "Q"]).columns()["value"].tolist()
    [1.0, 0.9, 0.9, 1.0]
    """
    across = rows if columns is None else columns
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("a heat map is of numbers, one for each row and column") from None
    if values.shape != (len(rows), len(across)):
        raise UsageError(f"matrix.shape == {values.shape}, must be rows × columns: {(len(rows), len(across))}")
    if np.isnan(values).all():
        raise UsageError(f"nothing to draw: {what} has no value anywhere")
    no_repeats(rows, "row")
    no_repeats(across, "column")
    return Figure(
        "heat",
        {
            "row": np.repeat(names(rows), len(across)),
            "column": np.tile(names(across), len(rows)),
            "value": values.ravel(),
        },
        x=Axis("column", "", "category"),
        y=Axis("row", "", "category"),
        by=Axis("value", what),
        title=what if title is None else title,
        subtitle=subtitle,
    )
