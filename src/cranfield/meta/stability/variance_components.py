"""Variance components of scores for systems, topics and an optional facet, all crossed and random."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.errors import UsageError
from cranfield.scores.scores import Scores
from cranfield.text import listed
from cranfield.types import Array

SYSTEM, TOPIC = "system", "topic"
ROUNDING = 1e-12
"""Effects below this share of the largest score are rounding errors."""


@dataclass(frozen=True)
class Component:
    """The variance of a score that comes from one source."""

    source: str
    """`system`, `topic`, `system × topic`, ...; the last one includes the residual."""
    df: int
    mean_square: float
    variance: float
    """The estimate, or 0 if it is negative."""
    share: float
    estimate: float
    """The estimate, which may be negative."""


def score_cube(data: Any, measure: Any) -> tuple[list[Matrix], str, tuple[str, ...]]:
    """One matrix, or one for each level of a facet, with the same systems and topics; the measure; and notes."""
    if not (isinstance(data, Mapping) and data and all(map(_has_systems, data.values()))):
        matrix = Matrix.of(data, measure).complete()
        return [matrix], matrix.measure, matrix.notes
    levels = {str(level): Matrix.of(scores, measure).complete() for level, scores in data.items()}
    if len(levels) < 2:
        raise UsageError("g_study: 1 level of the facet, give 2 or more, or scores without a facet")
    first, *others = levels.values()
    topics = [topic for topic in first.topics if all(topic in matrix.topics for matrix in others)]
    for level, matrix in levels.items():
        if different := set(matrix.systems) ^ set(first.systems):
            raise UsageError(f"g_study: {level!r} has other systems than the first level: {listed(sorted(different))}")
    if not topics:
        raise UsageError("g_study: the levels of the facet have no topic in common")
    notes = [note for matrix in levels.values() for note in matrix.notes]
    most = max(matrix.n for matrix in levels.values())
    if len(topics) < most:
        notes.append(f"{most - len(topics)} of {most} topics left out: not in every level")
    matrices = []
    for matrix in levels.values():
        rows = [matrix.topics.index(topic) for topic in topics]
        columns = [matrix.systems.index(system) for system in first.systems]
        matrices.append(Matrix(matrix.values[np.ix_(rows, columns)], tuple(topics), first.systems, matrix.measure))
    return matrices, first.measure, tuple(notes)


def _has_systems(data: Any) -> bool:
    """Does the data have scores of several systems, rather than of one?"""
    if isinstance(data, Scores | Matrix):
        return True
    if isinstance(data, Mapping):
        return any(isinstance(scores, Mapping) for scores in data.values())
    return not hasattr(data, "columns") and np.ndim(data) == 2


def variance_components(values: Array, axes: Sequence[str]) -> tuple[Component, ...]:
    r"""Estimate the components from mean squares, by Brennan's rule for crossed random facets.

    :math:`\sigma^2_A = \frac{1}{\pi_A} \sum_{B \supseteq A} (-1)^{|B \setminus A|} MS_B`, with :math:`\pi_A` the
    product of the sizes of all axes that are not in A.
    """
    numbers = range(values.ndim)
    sources = [source for size in range(1, values.ndim + 1) for source in combinations(numbers, size)]
    squares: dict[tuple[int, ...], float] = {}
    degrees: dict[tuple[int, ...], int] = {}
    effects: dict[tuple[int, ...], Array] = {(): np.asarray(values.mean(keepdims=True))}
    rounding = (ROUNDING * max(1.0, float(np.abs(values).max()))) ** 2
    for source in sources:
        rest = tuple(axis for axis in numbers if axis not in source)
        effect = np.asarray(values.mean(axis=rest, keepdims=True) if rest else values)
        for smaller in effects:
            if set(smaller) < set(source):
                effect = effect - effects[smaller]
        effects[source] = effect
        degrees[source] = math.prod(values.shape[axis] - 1 for axis in source)
        times = math.prod(values.shape[axis] for axis in rest)
        square = times * float((effect**2).sum()) / degrees[source]
        squares[source] = 0.0 if square <= rounding else square
    estimates = {}
    for source in sources:
        larger = [other for other in sources if set(source) <= set(other)]
        signed = sum((-1) ** (len(other) - len(source)) * squares[other] for other in larger)
        estimates[source] = signed / math.prod(values.shape[axis] for axis in numbers if axis not in source)
    total = sum(max(estimate, 0.0) for estimate in estimates.values())
    components = []
    for source, estimate in estimates.items():
        name, variance = " × ".join(axes[axis] for axis in source), max(estimate, 0.0)
        share = variance / total if total else 0.0
        components.append(Component(name, degrees[source], squares[source], variance, share, estimate))
    return tuple(components)
