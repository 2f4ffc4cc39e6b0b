"""Variance components of scores for systems, topics and an optional facet, all crossed and random; and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.errors import UsageError
from cranfield.frames import need
from cranfield.notes import caution_note
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
        notes.append(caution_note(f"{most - len(topics)} of {most} topics left out: not in every level"))
    matrices = []
    for matrix in levels.values():
        row_of = {topic: at for at, topic in enumerate(matrix.topics)}
        column_of = {system: at for at, system in enumerate(matrix.systems)}
        rows = [row_of[topic] for topic in topics]
        columns = [column_of[system] for system in first.systems]
        matrices.append(Matrix(matrix.values[np.ix_(rows, columns)], tuple(topics), first.systems, matrix.measure))
    return matrices, first.measure, tuple(notes)


def _has_systems(data: Any) -> bool:
    """Does the data have scores of several systems, rather than of one?"""
    if isinstance(data, Scores | Matrix):
        return True
    if isinstance(data, Mapping):
        return any(isinstance(scores, Mapping) for scores in data.values())
    return not hasattr(data, "columns") and np.ndim(data) == 2


def components_of(values: Array, axes: Sequence[str]) -> tuple[Component, ...]:
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


def widening(values: Array) -> tuple[float, float]:
    r"""How much wider the intervals of both coefficients have to be than for normal effects of systems and topics.

    Effects with outliers, such as a few very bad runs, make mean squares vary more. The factor is the jackknife's
    standard error of the logarithm of :math:`1 + n_t \sigma^2_s / \sigma^2_{st}` (and of the same with
    :math:`\sigma^2_t + \sigma^2_{st}`), over systems and over topics, divided by that of normal effects; at least 1.
    Reference: Miller, Jackknifing Variances, Annals of Mathematical Statistics 39(2), 1968
    """
    systems, topics = values.shape
    squares = _mean_squares(values)
    variance = np.zeros(2)
    for turned, size in ((False, systems), (True, topics)):
        if size < 3:  # a single one is left, which does not vary
            continue
        left = _mean_squares_without(values.T)[[1, 0, 2]] if turned else _mean_squares_without(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = _log_ratios(left, systems if turned else systems - 1)
        if np.isfinite(logs).all():
            variance += (size - 1) * logs.var(axis=1)
    times = np.sqrt(variance / _normal_variances(squares, systems, topics))
    return max(1.0, float(times[0])), max(1.0, float(times[1]))


def _mean_squares(values: Array) -> Array:
    """Of systems, topics, and their interaction; values are systems × topics."""
    systems, topics = values.shape
    effect, other = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    mean = values.mean()
    rest = values - effect - other + mean
    return np.array(
        [
            topics * float(((effect - mean) ** 2).sum()) / (systems - 1),
            systems * float(((other - mean) ** 2).sum()) / (topics - 1),
            float((rest**2).sum()) / ((systems - 1) * (topics - 1)),
        ]
    )


def _mean_squares_without(values: Array) -> Array:
    """mean squares of rows, columns and the rest × rows: without each row in turn."""
    values = values - values.mean()
    rows, columns = values.shape
    kept = rows - 1
    of_row, of_column, squares = values.sum(axis=1), values.sum(axis=0) - values, (values**2).sum(axis=1)
    middle = (of_row.sum() - of_row) ** 2 / (kept * columns)
    between_rows = ((of_row**2).sum() - of_row**2) / columns - middle
    between_columns = (of_column**2).sum(axis=1) / kept - middle
    rest = squares.sum() - squares - middle - between_rows - between_columns
    degrees = np.array([[kept - 1], [columns - 1], [(kept - 1) * (columns - 1)]])
    return np.asarray(np.maximum([between_rows, between_columns, rest], 0.0) / degrees)


def _log_ratios(squares: Array, systems: int) -> Array:
    """The logarithms of the two ratios of `widening`, from the mean squares of systems, topics and the interaction."""
    own, topic, error = squares
    of_topics = np.maximum(topic - error, 0.0) / systems
    return np.array([np.log(own / error), np.log((own + of_topics) / (error + of_topics))])


def _normal_variances(squares: Array, systems: int, topics: int) -> Array:
    """The variances of `_log_ratios` if all effects are normal: mean squares are χ², the logarithms are linear."""
    own, topic, error = squares
    above = float(topic > error) / systems
    of_topics = above * (topic - error)
    upper, lower = own + of_topics, error + of_topics
    slopes = np.array(
        [
            [1.0, 0.0, -1.0],
            [own / upper, topic * above * (1 / upper - 1 / lower), error * ((above - 1) / lower - above / upper)],
        ]
    )
    degrees = np.array([systems - 1, topics - 1, (systems - 1) * (topics - 1)])
    return np.asarray(slopes**2 @ (2 / degrees))


@dataclass(frozen=True)
class FRatios:
    """Two ratios of mean squares of a design with systems and topics, and its size.

    The example has the mean squares of Brennan 2001, Table 6.2. A bound r gives 12r / (1 + 12r) for Eρ²: Table 6.5.

    >>> ratios = FRatios(10.2963 / 2.7872, 11.6273 / 2.7872, 10, 12)
    >>> [round(12 * r / (1 + 12 * r), 3) for r in ratios.relative(0.8)]
    [0.541, 0.876]
    """

    system: float
    r""":math:`MS_s / MS_{st}`"""
    topic: float
    r""":math:`MS_t / MS_{st}`"""
    systems: int
    topics: int
    widening: tuple[float, float] = (1.0, 1.0)
    """How many times as far as with normal effects the bounds of both ratios are from the estimate (`widening`)."""

    def relative(self, level: float) -> tuple[float, float]:
        r"""Bounds of :math:`\sigma^2_s / \sigma^2_{st}`, exact for normal effects (Feldt, Psychometrika 30(3), 1965).

        :math:`MS_s / MS_{st}`, divided by :math:`1 + n_t \sigma^2_s / \sigma^2_{st}`, has Fisher's distribution.
        """
        bounds = (self._relative((1 + level) / 2), self._relative((1 - level) / 2))
        return self._wider(bounds, math.log(self.system), self.widening[0])

    def absolute(self, level: float) -> tuple[float, float]:
        r"""Bounds of :math:`\sigma^2_s / (\sigma^2_t + \sigma^2_{st})`, approximate.

        With f and g for the two ratios of mean squares, and :math:`F_\nu` for the quantile of Fisher's distribution
        with :math:`n_s - 1` and :math:`\nu` degrees of freedom, :math:`e = (n_s - 1)(n_t - 1)`,

        .. math:: \frac{n_s}{n_t} \cdot \frac{(f - F_e)(f + F_e - F_\infty)}
                  {f\,\big((n_s - 1) F_\infty + g F_{n_t - 1}\big)}

        which is 0 whenever the exact bound of the relative ratio is 0.
        Reference: Arteaga, Jeyaratnam & Franklin, Journal of Educational Statistics 7(3), 1982
        """
        bounds = (self._absolute((1 + level) / 2), self._absolute((1 - level) / 2))
        estimate = _log_ratios(np.array([self.system, self.topic, 1.0]), self.systems)[1]
        return self._wider(bounds, float(estimate), self.widening[1])

    def _wider(self, bounds: tuple[float, float], estimate: float, times: float) -> tuple[float, float]:
        r"""Move the bounds r away from the estimate, on the scale of :math:`\log(1 + n_t r)`."""
        low, high = (math.log1p(self.topics * bound) for bound in bounds)
        middle = max(0.0, estimate)
        low, high = min(low, middle + times * (low - middle)), max(high, middle + times * (high - middle))
        return max(0.0, math.expm1(low)) / self.topics, math.expm1(high) / self.topics

    def _relative(self, tail: float) -> float:
        return max(0.0, self.system / self._quantile(tail, (self.systems - 1) * (self.topics - 1)) - 1) / self.topics

    def _absolute(self, tail: float) -> float:
        of_error = self._quantile(tail, (self.systems - 1) * (self.topics - 1))
        of_topics = self._quantile(tail, self.topics - 1)
        of_truth = self._quantile(tail, None)
        # Both factors grow with f. A negative one means no variance of systems; two must not cancel each other.
        gained = max(0.0, self.system - of_error) * max(0.0, self.system + of_error - of_truth)
        against = self.system * ((self.systems - 1) * of_truth + self.topic * of_topics)
        return self.systems / self.topics * gained / against

    def _quantile(self, tail: float, below: int | None) -> float:
        """The quantile of Fisher's distribution; `below` is None for infinitely many degrees of freedom."""
        special = need("scipy.special", "an interval")
        above = self.systems - 1
        if below is None:  # the quantile of χ² over its degrees of freedom
            return float(special.gammaincinv(above / 2, tail)) * 2 / above
        return float(special.fdtri(above, below, tail))
