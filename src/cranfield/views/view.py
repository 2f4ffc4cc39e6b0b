"""A view turns assessed lists into assessed lists, so any measure can be computed on any reading of a list."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.types import Array

Score = Callable[[Assessed], Array]


def refuse_sets(lists: Assessed, view: str) -> None:
    """Raise an error for lists with documents that are relevant only together, whose grades depend on the order."""
    if lists.judged.size is not None:
        raise UsageError(f"view {view!r} cannot be combined with documents that are relevant only together")


class Scorer(Protocol):
    """A measure, as views see it."""

    only_relevant: ClassVar[bool]
    estimates: ClassVar[bool]

    @property
    def properties(self) -> Any: ...
    @property
    def rank_cutoff(self) -> int | None: ...
    def beyond_grades(self) -> bool: ...
    def gains(self) -> Any: ...
    def score(self, lists: Assessed) -> Array: ...


class View(ABC):
    """A reading of the lists that any measure can be computed on. By default it only changes the lists."""

    mark: ClassVar[str] = ""
    """What it adds to the name of a measure; empty if the view is written in brackets."""
    place: ClassVar[int] = 0
    """Views of the whole list (0) come first, in the order given; then views by intent, by this number."""
    grades_by_intent: ClassVar[bool] = False
    """Whether measures see the grades for intents, not the highest grade of a document."""
    one_list_per_intent: ClassVar[bool] = False
    """Whether it scores a list once for each intent."""
    top_down: ClassVar[bool] = False
    """Whether it reads a document by the documents above it and the judgments alone. Then `around_prefixes` gives the
    scores of a list cut after every rank from the whole list."""
    keeps_bounds: ClassVar[bool] = True
    """Whether the worst and best scores of unjudged documents stay bounds."""

    @property
    def uses_intent_types(self) -> bool:
        """Whether it matters which intents are navigational."""
        return False

    @abstractmethod
    def apply(self, lists: Assessed) -> Assessed:
        """The lists as this view reads them."""

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        """The score of the lists as this view reads them."""
        return lambda lists: score(lists._once(self, lambda: self.apply(lists)))

    def for_measure(self, measure: Scorer, score: Score) -> View:
        """The view as this measure reads it; `score` is the measure with the views that come after this one."""
        return self

    def explained(self, lists: Assessed) -> tuple[Assessed, list[str]]:
        """The lists as `explain` shows them, and notes about them."""
        return self.apply(lists), []

    def around_prefixes(self, score: Score, cutoff: int | None) -> Score:
        """The scores of one list cut after each rank, from `score`, which gives those of a list read by this view."""
        return lambda lists: score(self.apply(lists))

    def remarks(self, lists: Assessed, measure: Scorer) -> list[str]:
        """How the view changes the score of one list, for `explain`; `measure` has no views."""
        return []
