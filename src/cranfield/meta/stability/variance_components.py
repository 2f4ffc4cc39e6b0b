"""What systems, topics and a further facet add to the variance of scores, all of them crossed and drawn at random."""

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
from cranfield.types import Array

SYSTEM, TOPIC = "system", "topic"
ROUNDING = 1e-12
"""Effects smaller than this share of the largest score are rounding errors."""


@dataclass(frozen=True)
class Component:
    """What one source adds to the variance of a score."""

    source: str
    """`system`, `topic`, `system × topic`, ...; the last one includes all that is not told apart from it."""
    df: int
    mean_square: float
    variance: float
    """Estimated; 0 where the estimate is below."""
    share: float
    estimate: float
    """As it came out, which may be below 0."""


def score_cube(data: Any, measure: Any) -> tuple[list[Matrix], str, tuple[str, ...]]:
    """One matrix, or one for each level of a further facet, on the same systems and topics."""
    if not (isinstance(data, Mapping) and data and all(_holds_systems(one) for one in data.values())):
        matrix = Matrix.of(data, measure).complete()
        return [matrix], matrix.measure, matrix.notes
    matrices = {str(level): Matrix.of(one, measure).complete() for level, one in data.items()}
    if len(matrices) < 2:
        raise UsageError("g_study: 1 level of the further facet, give 2 or more, or the scores without it")
    first, *others = matrices.values()
    topics = [topic for topic in first.topics if all(topic in one.topics for one in others)]
    for level, one in matrices.items():
        if set(one.systems) != set(first.systems):
            odd = sorted(set(one.systems) ^ set(first.systems))
            raise UsageError(f"g_study: {level!r} has other systems than the first level: {', '.join(odd[:5])}")
    if not topics:
        raise UsageError("g_study: the levels of the further facet have no topic in common")
    notes = [note for one in matrices.values() for note in one.notes]
    most = max(one.n for one in matrices.values())
    if len(topics) < most:
        notes.append(f"{most - len(topics)} of {most} topics left out: not in every level")
    made = []
    for one in matrices.values():
        rows = [one.topics.index(topic) for topic in topics]
        columns = [one.systems.index(system) for system in first.systems]
        made.append(Matrix(one.values[np.ix_(rows, columns)], tuple(topics), first.systems, one.measure))
    return made, first.measure, tuple(notes)


def _holds_systems(thing: Any) -> bool:
    """Is it scores of systems on topics, rather than of one system?"""
    if isinstance(thing, Scores | Matrix):
        return True
    if isinstance(thing, Mapping):
        return any(isinstance(one, Mapping) for one in thing.values())
    return not hasattr(thing, "columns") and np.ndim(thing) == 2


def variance_components(values: Array, axes: Sequence[str]) -> tuple[Component, ...]:
    r"""From mean squares, by Brennan's rule for crossed random facets.

    :math:`\sigma^2_A = \frac{1}{\pi_A} \sum_{B \supseteq A} (-1)^{|B \setminus A|} MS_B`, with :math:`\pi_A` the
    product of the sizes that are not in A.
    """
    numbers = range(values.ndim)
    sources = [one for size in range(1, values.ndim + 1) for one in combinations(numbers, size)]
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
    found = {}
    for source in sources:
        signed = sum((-1) ** (len(one) - len(source)) * squares[one] for one in sources if set(source) <= set(one))
        found[source] = signed / math.prod(values.shape[axis] for axis in numbers if axis not in source)
    total = sum(max(one, 0.0) for one in found.values())
    return tuple(
        Component(
            " × ".join(axes[axis] for axis in source),
            degrees[source],
            squares[source],
            max(found[source], 0.0),
            max(found[source], 0.0) / total if total else 0.0,
            found[source],
        )
        for source in sources
    )
