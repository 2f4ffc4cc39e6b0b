"""The variance that systems (and topics) do not explain, on which the size of an experiment depends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.data import Matrix, all_pairs, check_topics
from cranfield.errors import UsageError
from cranfield.text import counted
from cranfield.types import Array

MODELS = ("two-way", "one-way")
OF = ("scores", "differences")
TENTH = 0.1
FEW_TOPICS = 25
"""The minimum for a comparison or a plan (Voorhees & Buckley, SIGIR 2002; Ferro & Maistro 2024 §2.3)."""


@dataclass(frozen=True)
class Variance:
    """A variance and its source.

    >>> print(Variance(0.045, "differences"))
    variance of differences 0.045
    """

    value: float
    of: str
    """`scores`: of one score; `differences`: of the difference between two systems on one topic."""
    model: str = ""
    """The factors of the model: `one-way` systems, `two-way` systems and topics; empty if the user gave the value."""
    systems: tuple[int, ...] = ()
    """The number of systems in each collection."""
    topics: tuple[int, ...] = ()
    measure: str = ""
    notes: tuple[str, ...] = ()
    range: tuple[float, float] = (math.nan, math.nan)
    """A tenth of the pairs of systems have a variance below the first, a tenth above the second; NaN if unknown."""

    def __post_init__(self) -> None:
        check.one_of("variance", OF, of=self.of)
        check.finite("variance", value=self.value)
        if self.value <= 0:
            hint = "; all systems vary in the same way over topics, so these scores cannot be used to plan"
            raise UsageError(f"variance == {self.value!r}, must be above 0{hint if self.model else ''}")

    def differences(self) -> Variance:
        r"""The variance of differences between two systems, :math:`2 \hat\sigma^2`.

        This is exact for the two-way model: the variance of differences, averaged over all pairs of systems, is twice
        the residual variance. For the one-way model it is an upper bound, because scores of two systems are correlated.
        """
        if self.of == "differences":
            return self
        low, high = self.range
        return replace(self, value=2 * self.value, of="differences", range=(2 * low, 2 * high))

    def __str__(self) -> str:
        text = f"variance of {self.of} {self.value:.4g}"
        if not self.model:
            return text
        parts = [f"{counted(m, 'system')} on {n} topics" for m, n in zip(self.systems, self.topics, strict=True)]
        where = parts[0] if len(parts) == 1 else f"{len(parts)} collections ({'; '.join(parts)})"
        bound = "at most, " if self.of == "differences" and self.model == "one-way" else ""
        return f"{text}, {bound}estimated from {where}"


def estimated_variance(data: Any, measure: Any = None, *, model: str = "two-way") -> Variance:
    r"""The variance of scores on an existing collection, to plan the size of the next one.

    With n topics, m systems, :math:`\bar x_{i\cdot}` the mean of system i and :math:`\bar x_{\cdot j}` that of topic j:

    .. math:: V_{E1} = \frac{\sum_{ij} (x_{ij} - \bar x_{i\cdot})^2}{m (n - 1)} \qquad
              V_{E2} = \frac{\sum_{ij} (x_{ij} - \bar x_{i\cdot} - \bar x_{\cdot j} + \bar x)^2}{(m - 1)(n - 1)}

    `one-way` is :math:`V_{E1}`, the variance within systems; `two-way` is :math:`V_{E2}`, which excludes the difficulty
    of topics, as paired tests do. `data` is anything that holds scores; topics on which some system has no score are
    left out.

    Reference: Sakai, Topic set size design, Information Retrieval Journal 19(3), 2016, doi:10.1007/s10791-015-9273-z

    >>> print(estimated_variance([[0.2, 0.3], [0.4, 0.7]], model="one-way"))
    variance of scores 0.05, estimated from 2 systems on 2 topics
    """
    check.one_of("variance", MODELS, model=model)
    matrix = Matrix.of(data, measure).complete()
    n, m = matrix.values.shape
    check_topics(n, 2, "a variance")
    if model == "two-way" and m < 2:
        raise UsageError(f"{m} system, the two-way model needs 2 or more; model='one-way' needs one")
    values, df = matrix.values, m * (n - 1)
    residuals = values - values.mean(axis=0)
    if model == "two-way":
        residuals, df = residuals - values.mean(axis=1, keepdims=True) + values.mean(), (m - 1) * (n - 1)
    rounding = 1e-12 * max(1.0, float(np.abs(values).max()))
    value = 0.0 if float(np.abs(residuals).max()) <= rounding else float((residuals**2).sum() / df)
    few = (f"{n} topics are few to estimate a variance, so it is itself uncertain",) if n < FEW_TOPICS else ()
    notes = (*matrix.notes, *few)
    return Variance(value, "scores", model, (m,), (n,), matrix.measure, notes, variance_range(values, model, value))


def variance_range(values: Array, model: str, value: float) -> tuple[float, float]:
    """Below and above which variance a tenth of pairs (or systems, in the one-way model) lie, on the scale of scores.

    Pairs have variances of their own, around the `value` that they have on average. With few systems this spread
    cannot be seen, so it is at least that of the estimated variance of normal differences: it has n − 1 degrees of
    freedom for a pair, whatever the number of systems.
    """
    from scipy.special import chdtri

    n, m = values.shape
    cross = np.atleast_2d(np.cov(values, rowvar=False))
    own = np.diag(cross)
    if model == "two-way":
        first, second = all_pairs(m)
        own = (own[first] + own[second] - 2 * cross[first, second]) / 2
    low, high = np.quantile(own, [TENTH, 1 - TENTH])
    chance = [value * (n - 1) / float(chdtri(n - 1, tail)) for tail in (TENTH, 1 - TENTH)]
    return min(float(low), chance[0]), max(float(high), chance[1])


def pooled_variance(
    collections: Mapping[str, Any] | Iterable[Any], measure: Any = None, *, model: str = "two-way"
) -> Variance:
    r"""One variance from several collections, weighted by their topics.

    .. math:: \hat\sigma^2 = \frac{\sum_C (n_C - 1)\, \hat\sigma^2_C}{\sum_C (n_C - 1)}

    Reference: Sakai 2016, see `estimated_variance`.

    >>> old, new = [[0.2, 0.3], [0.4, 0.7]], [[0.1, 0.5], [0.3, 0.5], [0.2, 0.8]]
    >>> print(pooled_variance([old, new], model="one-way"))
    variance of scores 0.03, estimated from 2 collections (2 systems on 2 topics; 2 systems on 3 topics)
    """
    parts = collections.values() if isinstance(collections, Mapping) else collections
    variances = [estimated_variance(scores, measure, model=model) for scores in parts]
    if not variances:
        raise UsageError("there are no collections to estimate a variance from")
    systems = tuple(variance.systems[0] for variance in variances)
    topics = tuple(variance.topics[0] for variance in variances)
    value = float(np.average([variance.value for variance in variances], weights=np.array(topics) - 1))
    notes = tuple(note for variance in variances for note in variance.notes)
    low, high = zip(*(variance.range for variance in variances), strict=True)
    return Variance(value, "scores", model, systems, topics, variances[0].measure, notes, (min(low), max(high)))
