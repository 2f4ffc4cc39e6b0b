"""Types that many signatures of the package use."""

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
