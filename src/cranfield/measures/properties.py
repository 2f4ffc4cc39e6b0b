"""The properties that a measure declares."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.measures.base import Measure


@dataclass(frozen=True)
class Properties:
    """What a measure is like: the rows of Sakai 2014 Fig. 6 and Fig. 7, its range and its scale.

    Diversity measures answer for each intent. tests/laws/test_properties.py checks the answers by experiment.
    """

    graded: bool = False
    """Can a better grade count more (with the right `gain`, if there is that parameter)?"""
    normalised: bool = False
    """Do all judged documents, best first, score 1 on every topic with relevant documents?"""
    recall_free: bool = False
    """Can it be computed without knowing the relevant documents that were missed (intents are known)?"""
    diminishing: bool = False
    """Is a relevant document never worth more, and sometimes less, after another one?"""
    additive: bool = False
    """Is it, up to a constant, a sum over documents of a number that depends on the document's grade and rank only?"""
    low: float = 0.0
    """The smallest possible value."""
    high: float = 1.0
    """The largest possible value."""
    better: str = "higher"
    """`higher`, `lower`, or `neither` for numbers that describe a list and do not rate it."""
    scale: str = "not interval"
    """Scale of measurement for a single topic (Ferro & Maistro 2024 §7.7); `measures.scale_type.scale_of` answers for
    several topics and for parameters."""
    lengths: bool = False
    """Do the lengths of documents or snippets count?"""
    nonlinear: bool = False
    """Can it score readers who do not go straight down the list, by the text that they read or by their moves?"""
    intent_probabilities: bool = False
    """Are intents weighted by their probability?"""

    step: str = ""
    """What the step of the scale depends on, so that topics have different ones: `length`, `relevant`, or both."""

    def replace(self, **changes: Any) -> Properties:
        """These properties with some changed."""
        return dataclasses.replace(self, **changes)


class PropertiesOfMeasure:
    """The attribute `properties` of a measure: the class has the default, an instance what its `declares` returns."""

    def __init__(self, default: Properties, *, unless_cut: bool = False) -> None:
        self.default = default
        self.unless_cut = unless_cut

    def __get__(self, measure: Measure | None, kind: type[Measure]) -> Properties:
        if measure is None:
            return self.default
        properties = measure.declares(self.default)
        if self.unless_cut and measure.cutoff is not None and getattr(measure, "norm", "R") == "R":
            return properties.replace(normalised=False)
        return properties


def normalised_unless_cut(default: Properties) -> Any:
    """Properties of a measure that stops at its cutoff but divides by the whole ideal list, unless `norm="min"`.

    Such a measure is not normalised with a cutoff: AP@10 is at most 1/2 on a topic with 20 relevant documents.
    """
    return PropertiesOfMeasure(default, unless_cut=True)
