"""Types that many signatures of the package use, and how progress is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]
Index32 = NDArray[np.int32]
Index64 = NDArray[np.int64]
"""Positions, in the type that the C++ core takes."""
Progress = Callable[[int, int], None]
"""A function that is called with the amount of work that is done, and the total."""


def report(progress: Progress | None, done: int, total: int) -> None:
    """Report progress, if the caller wants to know it."""
    if progress is not None:
        progress(done, total)


def part_of(progress: Progress, part: int, parts: int) -> Progress:
    """Report the progress of one of several equal parts as progress of the whole."""
    return lambda done, total: progress(part * total + done, parts * total)
