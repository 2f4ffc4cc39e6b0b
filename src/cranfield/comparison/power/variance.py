"""How much scores vary beyond what systems (and topics) explain: what the size of an experiment depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.data import Matrix
from cranfield.errors import UsageError
from cranfield.types import Array

MODELS = ("two-way", "one-way")
OF = ("scores", "differences")
FEW_TOPICS = 25
"""Fewer are not enough to compare or plan by (Voorhees & Buckley, SIGIR 2002; Ferro & Maistro 2024 §2.3)."""


@dataclass(frozen=True)
class Variance:
    """A variance and where it is from.

    >>> print(Variance(0.045, "differences"))
    variance of differences 0.045
    """

    value: float
    of: str
    """`scores`: of one score; `differences`: of the difference between two systems on one topic."""
    model: str = ""
    """What was taken out before: `one-way` systems, `two-way` systems and topics; empty if the value was given."""
    systems: tuple[int, ...] = ()
    """How many systems each collection has."""
    topics: tuple[int, ...] = ()
    measure: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.one_of("variance", OF, of=self.of)
        check.finite("variance", value=self.value)
        if self.value <= 0:
            hint = (
                "; all systems vary alike over topics, so nothing can be planned on these scores" if self.model else ""
            )
            raise UsageError(f"variance == {self.value!r}, must be above 0{hint}")

    def differences(self) -> Variance:
        r"""Of differences between two systems, :math:`2 \hat\sigma^2`.

        Exact for the two-way model: the variance of differences, averaged over all pairs of systems, is twice the
        residual variance. For the one-way model it is a bound, as scores of two systems rise and fall together.
        """
        return self if self.of == "differences" else replace(self, value=2 * self.value, of="differences")

    def __str__(self) -> str:
        told = f"variance of {self.of} {self.value:.4g}"
        if not self.model:
            return told
        parts = [f"{m} system{'s' * (m != 1)} on {n} topics" for m, n in zip(self.systems, self.topics, strict=True)]
        where = parts[0] if len(parts) == 1 else f"{len(parts)} collections ({'; '.join(parts)})"
        bound = "at most, " if self.of == "differences" and self.model == "one-way" else ""
        return f"{told}, {bound}estimated from {where}"


def estimated_variance(data: Any, measure: Any = None, *, model: str = "two-way") -> Variance:
    r"""The variance of scores on a collection one has, for the size of the next one.

    With n topics, m systems, :math:`\bar x_{i\cdot}` the mean of system i and :math:`\bar x_{\cdot j}` that of topic j:

    .. math:: V_{E1} = \frac{\sum_{ij} (x_{ij} - \bar x_{i\cdot})^2}{m (n - 1)} \qquad
              V_{E2} = \frac{\sum_{ij} (x_{ij} - \bar x_{i\cdot} - \bar x_{\cdot j} + \bar x)^2}{(m - 1)(n - 1)}

    `one-way` is :math:`V_{E1}`, within systems; `two-way` is :math:`V_{E2}`, which leaves out how hard topics are, as
    paired tests do. `data` is anything that holds scores; topics without a value for some system are left out.

    Reference: Sakai, Topic set size design, Information Retrieval Journal 19(3), 2016, doi:10.1007/s10791-015-9273-z

    >>> print(estimated_variance([[0.2, 0.3], [0.4, 0.7]], model="one-way"))
    variance of scores 0.05, estimated from 2 systems on 2 topics
    """
    check.one_of("variance", MODELS, model=model)
    matrix = Matrix.of(data, measure).complete()
    n, m = matrix.values.shape
    if n < 2:
        raise UsageError(f"{n} topic{'s' * (n != 1)}, a variance needs 2 or more")
    if model == "two-way" and m < 2:
        raise UsageError(f"{m} system, the two-way model needs 2 or more; model='one-way' takes one")
    value = _within(matrix.values) if model == "one-way" else _residual(matrix.values)
    few = (f"{n} topics are few to take a variance from: it is itself uncertain",) if n < FEW_TOPICS else ()
    return Variance(value, "scores", model, (m,), (n,), matrix.measure, (*matrix.notes, *few))


def pooled_variance(
    collections: Mapping[str, Any] | Iterable[Any], measure: Any = None, *, model: str = "two-way"
) -> Variance:
    r"""One variance from several collections, weighted by their topics.

    .. math:: \hat\sigma^2 = \frac{\sum_C (n_C - 1)\, \hat\sigma^2_C}{\sum_C (n_C - 1)}

    Reference: Sakai 2016, as for `estimated_variance`.

    >>> old, new = [[0.2, 0.3], [0.4, 0.7]], [[0.1, 0.5], [0.3, 0.5], [0.2, 0.8]]
    >>> print(pooled_variance([old, new], model="one-way"))
    variance of scores 0.03, estimated from 2 collections (2 systems on 2 topics; 2 systems on 3 topics)
    """
    each = [
        estimated_variance(one, measure, model=model)
        for one in (collections.values() if isinstance(collections, Mapping) else collections)
    ]
    if not each:
        raise UsageError("no collections to take a variance from")
    weights = np.array([one.topics[0] - 1 for one in each])
    value = float(np.average([one.value for one in each], weights=weights))
    return Variance(
        value,
        "scores",
        model,
        tuple(one.systems[0] for one in each),
        tuple(one.topics[0] for one in each),
        each[0].measure,
        tuple(note for one in each for note in one.notes),
    )


def _within(values: Array) -> float:
    return _vanishing(values - values.mean(axis=0), values, values.shape[1] * (len(values) - 1))


def _residual(values: Array) -> float:
    n, m = values.shape
    left = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    return _vanishing(left, values, (m - 1) * (n - 1))


def _vanishing(left: Array, values: Array, df: int) -> float:
    """The mean square of what is left; 0 where that is rounding error only."""
    rounding = 1e-12 * max(1.0, float(np.abs(values).max()))
    return 0.0 if float(np.abs(left).max()) <= rounding else float((left**2).sum() / df)
