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
from cranfield.notes import caution_note
from cranfield.online.clicks.click_estimates import (
    ClickSettings,
    Estimates,
    Maximum,
    Problem,
    at_the_ends,
    fixed,
    logit_covariances,
    logit_estimates,
    maximise,
    without_intervals,
)
from cranfield.online.clicks.click_pages import Cells, Pages
from cranfield.text import counted
from cranfield.types import Array, Index64

Flags = NDArray[np.bool_]


class Walk(Protocol):
    """Many users who go down their pages at the same time."""

    def probability(self, column: int) -> Array:
        """The probability of a click at this rank, given what was observed above."""

    def observe(self, column: int, clicked: Flags) -> None:
        """Tell what happened at this rank."""

    def marginal(self) -> Array:
        """pages × ranks: the probability of a click when nothing is known about the ranks above."""


class IndependentWalk:
    """Clicks do not depend on other clicks of the page."""

    def __init__(self, click: Array) -> None:
        self._click = click

    def probability(self, column: int) -> Array:
        return np.asarray(self._click[:, column])

    def observe(self, column: int, clicked: Flags) -> None:
        pass

    def marginal(self) -> Array:
        return self._click


class BrowsingWalk:
    """Examination depends on the rank and on the rank of the click above (0: none)."""

    def __init__(self, attractive: Array, examine: Array) -> None:
        """attractive: pages × ranks. examine: ranks × (0 and ranks above)."""
        self._attractive, self._examine = attractive, examine
        self._previous = np.zeros(len(attractive), dtype=np.int64)

    def probability(self, column: int) -> Array:
        return np.asarray(self._attractive[:, column] * self._examine[column, self._previous])

    def observe(self, column: int, clicked: Flags) -> None:
        self._previous = np.where(clicked, column + 1, self._previous)

    def marginal(self) -> Array:
        pages, ranks = self._attractive.shape
        click = np.zeros((pages, ranks))
        after = np.zeros((pages, ranks + 1))  # the probability that the lowest click so far is at this rank
        after[:, 0] = 1
        for column in range(ranks):
            here = self._attractive[:, column, None] * self._examine[column, : column + 1]
            taken = after[:, : column + 1] * here
            click[:, column] = taken.sum(axis=1)
            after[:, : column + 1] -= taken
            after[:, column + 1] = click[:, column]
        return click


class ChainWalk:
    """Users read from the top, and after each document go on or stop."""

    def __init__(self, attractive: Array, after_click: Array, after_skip: Array) -> None:
        """All are pages × ranks; the last two are probabilities of going on."""
        self._attractive, self._after_click, self._after_skip = attractive, after_click, after_skip
        self._examined = np.ones(len(attractive))

    def probability(self, column: int) -> Array:
        return np.asarray(self._examined * self._attractive[:, column])

    def observe(self, column: int, clicked: Flags) -> None:
        attractive = self._attractive[:, column]
        skipped = 1 - self._examined * attractive
        left = np.divide(self._examined * (1 - attractive), skipped, out=np.zeros(len(skipped)), where=skipped > 0)
        self._examined = np.where(clicked, self._after_click[:, column], self._after_skip[:, column] * left)

    def marginal(self) -> Array:
        examined, click = np.ones(len(self._attractive)), np.zeros(self._attractive.shape)
        for column in range(self._attractive.shape[1]):
            attractive = self._attractive[:, column]
            click[:, column] = examined * attractive
            on = attractive * self._after_click[:, column] + (1 - attractive) * self._after_skip[:, column]
            examined = examined * on
        return click


def conditional(walk: Walk, clicked: Flags) -> Array:
    """pages × ranks: the probability of a click given the clicks above it on the page."""
    probability = np.zeros(clicked.shape)
    for column in range(clicked.shape[1]):
        probability[:, column] = walk.probability(column)
        walk.observe(column, clicked[:, column])
    return probability


def drawn_clicks(walk: Walk, pages: int, ranks: int, rng: np.random.Generator) -> Flags:
    """pages × ranks: random clicks."""
    clicked = np.zeros((pages, ranks), dtype=bool)
    for column in range(ranks):
        clicked[:, column] = rng.random(pages) < walk.probability(column)
        walk.observe(column, clicked[:, column])
    return clicked


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
    order=lambda kind: BROWSING in kind.parameters.values(),
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
        estimates, held_values = logit_estimates(theta[part], variance[part], settings.level), fixed(theta[part])
        estimates = at_the_ends(estimates, trials[part], settings.level)
        held = problem.layout.fixed[part]
        ends = (
            np.where(held, exact, estimated)
            for exact, estimated in ((held_values.low, estimates.low), (held_values.high, estimates.high))
        )
        values[name] = Estimates(theta[part], *ends)
    if product:
        first_part, second_part = parts[product[0]], parts[product[1]]
        values[RELEVANCE] = product_estimates(
            theta[first_part], theta[second_part], variance[first_part], variance[second_part],
            covariance[first_part], settings.level,
        )  # fmt: skip
    note = caution_note(
        f"{counted(cut, 'parameter')} of queries with many documents: intervals ignore correlations, and are narrow"
    )
    return values, (note,) if cut else ()


def product_estimates(
    first: Array, second: Array, first_variance: Array, second_variance: Array, covariance: Array, level: float
) -> Estimates:
    """The product of two probabilities, by the delta method; variances are on the scale of log-odds."""
    value = first * second
    a, b = 1 - first, 1 - second
    logs = a**2 * first_variance + b**2 * second_variance + 2 * a * b * covariance
    return logit_estimates(value, np.maximum(logs, 0) / np.maximum(1 - value, 1e-12) ** 2, level)
