"""Aggregates that hide single users: rows of a table with small counts are left out."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from cranfield import check
from cranfield.text import counted


def hide_small(
    columns: dict[str, NDArray[Any]], counts: NDArray[Any], least: int, unit: str
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """The rows whose count is at least `least`, and a note if there are others.

    >>> import numpy as np
    >>> columns = {"device": np.array(["phone", "watch"], dtype=object), "sessions": np.array([200, 3])}
    >>> hide_small(columns, columns["sessions"], 10, "session")[1]
    ('1 row with fewer than 10 sessions is left out',)
    """
    check.whole("", least=least)
    large = counts >= least
    if large.all():
        return columns, ()
    hidden = int((~large).sum())
    verb = "is" if hidden == 1 else "are"
    note = f"{counted(hidden, 'row')} with fewer than {counted(least, unit)} {verb} left out"
    return {name: column[large] for name, column in columns.items()}, (note,)
