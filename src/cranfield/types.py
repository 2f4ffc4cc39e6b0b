"""The types that signatures all over the package name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]
Index64 = NDArray[np.int64]
"""Positions as the core takes them."""
Progress = Callable[[int, int], None]
"""A function that is called with the amount of work done and the total amount."""
