"""What an experiment with a measure found, with the lists that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.types import Array


@dataclass(frozen=True)
class Scored:
    """A list as it is read, and its score."""

    listed: str
    score: float

    def __str__(self) -> str:
        return f"({self.listed}) {self.score:.4f}"


@dataclass(frozen=True)
class Finding:
    """Does it hold, what was tried, and the lists that show it: a counter-example where it does not hold.

    >>> print(Finding("swap", False, "a swap lowers the score", (Scored("1 2", 0.5), Scored("2 1", 0.4))))
    swap: no; a swap lowers the score: (1 2) 0.5000, (2 1) 0.4000
    """

    axiom: str
    holds: bool
    says: str
    example: tuple[Scored, ...] = ()
    measure: str = ""

    def of(self, measure: object) -> Finding:
        """The same, told of a measure."""
        return replace(self, measure=str(measure))

    def shown(self) -> str:
        """The lists and their scores."""
        return ", ".join(map(str, self.example))

    def __str__(self) -> str:
        lists = f": {self.shown()}" if self.example else ""
        return f"{self.axiom}: {'yes' if self.holds else 'no'}; {self.says}{lists}"


FAR = 1e-9
"""Scores that differ by less are the same."""


def differ(one: Array | float, other: Array | float) -> bool:
    """Are these different scores? Undefined is the same as undefined."""
    return not np.allclose(one, other, rtol=0, atol=FAR, equal_nan=True)


def listed(grades: Sequence[float | None], missed: Sequence[float] = ()) -> str:
    """A list from the top, `-` being an unjudged document, and what it missed.

    >>> listed([2, None, 0], [1, 1])
    '2 - 0 | missed 1 1'
    """
    top = " ".join("-" if grade is None else f"{grade:g}" for grade in grades)
    return top + (f" | missed {' '.join(f'{grade:g}' for grade in missed)}" if missed else "")
