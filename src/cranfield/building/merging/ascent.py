"""Uphill steps for many units at once: a step that makes a unit worse is halved, and given up if that does not help."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.types import Array

HALVINGS = 10


def uphill(value: Callable[[Array], Array], point: Array, step: Array, now: Array) -> tuple[Array, Array]:
    """The points after a step, and their values, none of which is below `now`.

    point, step: units, or units × dimensions. value: from points to a value per unit; `now` is that of `point`.

    >>> point, step = np.array([0.0, 0.0]), np.array([1.0, 3.0])
    >>> [part.tolist() for part in uphill(lambda x: 1 - (x - 1) ** 2, point, step, np.zeros(2))]
    [[1.0, 1.5], [1.0, 0.75]]
    """
    size = np.ones((len(point), *([1] * (point.ndim - 1))))
    tried, then = point + step, value(point + step)
    for _ in range(HALVINGS):
        worse = ~(then >= now)
        if not worse.any():
            return tried, then
        size[worse] /= 2
        tried = point + size * step
        then = value(tried)
    better = then >= now
    kept = better.reshape(size.shape)
    return np.where(kept, tried, point), np.where(better, then, now)
