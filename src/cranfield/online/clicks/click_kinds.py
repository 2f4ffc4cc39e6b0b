"""What a click model is: its parameters, how it is fitted, and how its users go down a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield.declared.registry import Registry
from cranfield.errors import UsageError
from cranfield.online.clicks.bernoulli_em import Maximum, Problem, maximise
from cranfield.online.clicks.click_estimates import (
    Estimates,
    at_the_ends,
    fixed,
    logit_estimates,
    without_intervals,
)
from cranfield.online.clicks.click_pages import Cells, Pages
from cranfield.online.clicks.click_settings import ClickSettings
from cranfield.online.clicks.click_walks import Walk
from cranfield.online.clicks.em_intervals import logit_covariances
from cranfield.text import counted
from cranfield.types import Array, Index64

PAIR, RANK, BROWSING, SINGLE = "pair", "rank", "browsing", "single"
"""What a parameter belongs to: a query with a document, a rank, a rank and the rank of the click above, the model."""
ATTRACTIVENESS, SATISFACTION, RELEVANCE = "attractiveness", "satisfaction", "relevance"
EXAMINATION, CONTINUATION = "examination", "continuation"


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted parameters by name, and how they were found."""

    values: Mapping[str, Estimates]
    log_likelihood: float
    trace: tuple[float, ...] = ()
    converged: bool | None = None
    """None for a model that takes no steps."""
    notes: tuple[str, ...] = ()
    steps: int = 0


class Placed(Protocol):
    """The parameters of a model at the places of pages."""

    present: NDArray[np.bool_]

    def pair(self, name: str) -> Array:
        """pages × ranks; 0 where there is no document."""

    def rank(self, name: str) -> Array:
        """A value per rank."""

    def browsing(self, name: str) -> Array:
        """ranks × (0 and ranks above)."""

    def single(self, name: str) -> float:
        """The value of the whole model."""


class ClickKind(ABC):
    """A click model: one object, without parameters of its own."""

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    from_pages: ClassVar[bool] = True
    """Does the fit need whole pages? Otherwise counts by query, document and rank suffice."""
    parameters: ClassVar[Mapping[str, str]]
    """{parameter: what it belongs to}."""
    takes_steps: ClassVar[bool] = False
    can_be_counted: ClassVar[bool] = False
    """Is there a second way, by counting, which is not exact?"""
    one_click: ClassVar[bool] = False
    """Are several clicks in a session impossible?"""

    @abstractmethod
    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        """Estimate the parameters."""

    @abstractmethod
    def walk(self, values: Placed) -> Walk:
        """Users of this model on pages."""


CLICK_MODELS: Registry[ClickKind] = Registry(
    "click model",
    modules="cranfield.online.clicks.models",
    aliases={"cascade": "CM", "rank-ctr": "RCTR", "document-ctr": "DCTR", "random": "RCM"},
)
"""The click models, from the simplest to the richest."""


def click_kind(kind: type[ClickKind]) -> type[ClickKind]:
    """Register a click model."""
    CLICK_MODELS.add(kind())
    return kind


def check_exact(kind: ClickKind, settings: ClickSettings) -> None:
    """Raise an error if a fit by counting is asked of a model that has one way of fitting only."""
    if not settings.exact and not kind.can_be_counted:
        others = " and ".join(name for name, other in CLICK_MODELS.items() if other.can_be_counted)
        raise UsageError(f"exact=False is for {others}, which can be fitted by counting too; {kind.name} cannot")


def fit_by_steps(
    problem: Problem, parts: Mapping[str, slice], settings: ClickSettings, product: tuple[str, str] | None = None
) -> Fit:
    """Fit a model by EM, with intervals from the observed information.

    parts: where each parameter is among those of the problem. product: two parameters of documents whose product is
    the relevance.
    """
    maximum = maximise(problem, settings)
    values, more = _estimates(problem, maximum, parts, settings, product)
    return Fit(values, maximum.log_likelihood, maximum.trace, maximum.converged, more, maximum.steps)


def _estimates(
    problem: Problem, maximum: Maximum, parts: Mapping[str, slice], settings: ClickSettings,
    product: tuple[str, str] | None,
) -> tuple[dict[str, Estimates], tuple[str, ...]]:  # fmt: skip
    theta, size = maximum.theta, len(maximum.theta)
    if settings.level is None:
        values = {name: without_intervals(theta[part]) for name, part in parts.items()}
        if product:
            values[RELEVANCE] = without_intervals(theta[parts[product[0]]] * theta[parts[product[1]]])
        return values, ()
    partner: Index64 = np.full(size, -1, dtype=np.int64)
    if product:
        first, second = (np.arange(size)[parts[name]] for name in product)
        partner[first], partner[second] = second, first
    variance, covariance, cut = logit_covariances(problem, maximum, partner)
    layout, expected = problem.layout, maximum.expected
    trials = expected.success + expected.failure + layout.success_prior + layout.failure_prior
    values = {}
    for name, part in parts.items():
        estimates, given = logit_estimates(theta[part], variance[part], settings.level), fixed(theta[part])
        estimates = at_the_ends(estimates, trials[part], settings.level)
        held = problem.layout.fixed[part]
        ends = (np.where(held, one, other) for one, other in ((given.low, estimates.low), (given.high, estimates.high)))
        values[name] = Estimates(theta[part], *ends)
    if product:
        first_part, second_part = parts[product[0]], parts[product[1]]
        values[RELEVANCE] = product_estimates(
            theta[first_part], theta[second_part], variance[first_part], variance[second_part],
            covariance[first_part], settings.level,
        )  # fmt: skip
    note = f"{counted(cut, 'parameter')} of queries with many documents: intervals ignore correlations, and are narrow"
    return values, (note,) if cut else ()


def product_estimates(
    first: Array, second: Array, first_variance: Array, second_variance: Array, covariance: Array, level: float
) -> Estimates:
    """The product of two probabilities, by the delta method; variances are on the scale of log-odds."""
    value = first * second
    a, b = 1 - first, 1 - second
    logs = a**2 * first_variance + b**2 * second_variance + 2 * a * b * covariance
    return logit_estimates(value, np.maximum(logs, 0) / np.maximum(1 - value, 1e-12) ** 2, level)
