"""The result of testing an axiom on a measure, with lists as evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.meta.synthetic_lists import FAR
from cranfield.types import Array


@dataclass(frozen=True)
class Scored:
    """A list as text, and its score."""

    listed: str
    score: float

    def __str__(self) -> str:
        return f"({self.listed}) {self.score:.4f}"


@dataclass(frozen=True)
class Finding:
    """Whether an axiom holds, what was tried, and lists as evidence: a counter-example if it does not hold.

    >>> print(Finding("swap", False, "a swap lowers the score", (Scored("1 2", 0.5), Scored("2 1", 0.4))))
    swap: no; a swap lowers the score: (1 2) 0.5000, (2 1) 0.4000
    """

    axiom: str
    holds: bool
    says: str
    example: tuple[Scored, ...] = ()
    measure: str = ""

    def shown(self) -> str:
        return ", ".join(map(str, self.example))

    def __str__(self) -> str:
        lists = f": {self.shown()}" if self.example else ""
        return f"{self.axiom}: {'yes' if self.holds else 'no'}; {self.says}{lists}"


def differ(a: Array | float, b: Array | float) -> bool:
    """Are these different scores? Two undefined scores are equal."""
    return not np.allclose(a, b, rtol=0, atol=FAR, equal_nan=True)


def first_difference(
    axiom: str, pairs: Iterable[tuple[Scored, Scored]], change: str, *, holds_if_different: bool = True
) -> Finding:
    """The finding from pairs of lists that differ in one respect: does it change the score of any pair?"""
    tried = 0
    for pair in pairs:
        tried += 1
        if differ(pair[0].score, pair[1].score):
            return Finding(axiom, holds_if_different, f"{change} change the score", pair)
    return Finding(axiom, not holds_if_different, f"{change} do not change the score in {tried} comparisons")


class SecondDocument(NamedTuple):
    """How the value of a document changes after a relevant one: at most `-low` less and `high` more, with examples."""

    low: float = 0.0
    high: float = 0.0
    lowest: tuple[Scored, ...] = ()
    highest: tuple[Scored, ...] = ()
    tried: int = 0

    def extended(self, scores: Array, example: Callable[[int], tuple[Scored, ...]]) -> SecondDocument:
        """Also consider these scores of four lists each (4 × …); `example` returns the i-th four lists."""
        effect = second_document_effect(scores)
        best = self._replace(tried=self.tried + int(np.isfinite(effect).sum()))
        if np.nanmin(effect, initial=0.0) < best.low:
            at = int(np.nanargmin(effect))
            best = best._replace(low=float(effect[at]), lowest=example(at))
        if np.nanmax(effect, initial=0.0) > best.high:
            at = int(np.nanargmax(effect))
            best = best._replace(high=float(effect[at]), highest=example(at))
        return best

    def diminishing(self, to: str = "") -> Finding:
        """Is a relevant document never worth more, and sometimes less, after another one?"""
        if self.high >= FAR:
            says = f"with the first document relevant{to}, the second adds more than without it"
            return Finding("diminishing", False, says, self.highest)
        if self.low > -FAR:
            return Finding("diminishing", False, f"never worth less after another, in {self.tried:,} comparisons")
        says = f"never worth more in {self.tried:,} comparisons, and less here"
        return Finding("diminishing", True, says, self.lowest)


def second_document_effect(scores: Array) -> Array:
    """What the second document adds if the first is relevant, minus what it adds if the first is not.

    `scores` are those of lists in which both documents are relevant, only the first, only the second, and neither.
    """
    both, first, second, neither = scores
    return np.asarray((both - first) - (second - neither))
