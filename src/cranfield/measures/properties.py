"""What a measure says it is like."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.measures.base import Measure


@dataclass(frozen=True)
class Properties:
    """What a measure is like (the rows of Sakai 2014 Fig. 6 and Fig. 7, and its scale of measurement).

    Measures of diversity answer for each intent. tests/laws/test_properties.py finds out whether it is true.
    """

    graded: bool = False
    """Can a better grade count more (where there is a `gain` parameter, by it)?"""
    normalised: bool = False
    """Do all judged documents, best first, score 1 on every topic with relevant documents?"""
    recall_free: bool = False
    """Can it be computed without knowing the relevant documents that were not retrieved (intents are known)?"""
    diminishing: bool = False
    """Is a relevant document never worth more, and sometimes less, after another one?"""
    additive: bool = False
    """Is it, but for a constant, a sum over documents of what depends on each one's own grade and rank only?"""
    low: float = 0.0
    """The smallest value it can take."""
    high: float = 1.0
    """The largest value it can take."""
    better: str = "higher"
    """`higher`, `lower`, or `neither` for counts that describe rather than rate."""
    scale: str = "ordinal"
    """Scale of measurement (Ferro & Maistro 2024 §7)."""
    lengths: bool = False
    """Does it count how long documents or snippets are?"""
    nonlinear: bool = False
    """Can it be computed for text that was read in another order than from the top of the list?"""
    intent_probabilities: bool = False
    """Do intents count by their probability?"""

    def replace(self, **changed: Any) -> Properties:
        """These properties with some changed."""
        return dataclasses.replace(self, **changed)


class _ByParameters:
    """Properties that depend on the parameters: a class has the default ones, an instance what it `declares`."""

    def __init__(self, default: Properties) -> None:
        self.default = default

    def __get__(self, made: Measure | None, kind: type[Measure]) -> Properties:
        return self.default if made is None else made.declares(self.default)


class _UnlessCut(_ByParameters):
    """The same for a measure that stops at its cutoff, but divides by what the whole ideal list has."""

    def __get__(self, made: Measure | None, kind: type[Measure]) -> Properties:
        told = super().__get__(made, kind)
        cut = made is not None and made.cutoff is not None and getattr(made, "norm", "R") == "R"
        return told.replace(normalised=False) if cut else told


def normalised_unless_cut(default: Properties) -> Any:
    """For `properties` of a measure that is not normalised at a cutoff, such as AP@10 where R is 20: at most 1/2.

    Where it has a `norm` of "min" it still is.
    """
    return _UnlessCut(default)


def by_parameters(default: Properties) -> Any:
    """For `properties` of a measure that says in `declares` what its parameters change."""
    return _ByParameters(default)
