"""Users on a result page, rank by rank: the probability of a click given the clicks above, or on average."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cranfield.types import Array

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
