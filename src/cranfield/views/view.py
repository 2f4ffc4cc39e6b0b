"""A view turns assessed lists into assessed lists, so any measure can be computed on any reading of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from cranfield.assessed.lists import Assessed
from cranfield.types import Array

Score = Callable[[Assessed], Array]


class View(Protocol):
    """A reading of the lists that any measure can be computed on."""

    def apply(self, lists: Assessed) -> Assessed:
        """The lists as this view reads them."""
        ...

    @property
    def mark(self) -> str:
        """What it adds to a measure's name (`'`), or nothing when it is written in brackets."""
        ...

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        """The score of the lists as this view reads them."""
        ...


class ListView:
    """A view that only rewrites the lists."""

    mark: ClassVar[str] = ""

    def apply(self, lists: Assessed) -> Assessed:
        raise NotImplementedError

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        return lambda lists: score(lists._once(self, lambda: self.apply(lists)))
