"""What a measure declares: its properties, its parameters and how they are checked, and its sum over hits."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield import check
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.gain import Gain
from cranfield.types import Array

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
    """Scale of measurement for a single topic (Ferro & Maistro 2024 §7.7); `measures.property_tables.scale_of` answers
    for several topics and for parameters."""
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


Probability = float
"""A number from 0 to 1."""
Persistence = float
"""The probability of going on to the next document: 0 or more, and below 1."""
Positive = float
NotNegative = float
ByTopic = float | str
"""A number from 0 to 1, or `"topic"`: the number of each topic, from the table `topic_numbers`."""
Whole = int
"""A whole number, 1 or more."""
Norm = str
"""`"R"` to divide by R, `"min"` to divide by min(l, R)."""


def _check_persistence(caller: str, **values: float) -> None:
    check.between(caller, low=0, high=1, **values)
    for name, value in values.items():
        if value == 1:
            raise UsageError(f"{caller}: {name} == 1, must be below 1")


RULES: dict[str, Callable[..., None]] = {
    "Probability": lambda caller, **values: check.between(caller, low=0, high=1, **values),
    "ByTopic": lambda caller, **values: check.between(caller, low=0, high=1, **values),
    "Persistence": _check_persistence,
    "Positive": check.positive,
    "NotNegative": check.not_negative,
    "Whole": check.whole,
    "Norm": lambda caller, **values: check.one_of(caller, ("R", "min"), **values),
}
NUMBERS = ("float", "int", "Probability", "Persistence", "Positive", "NotNegative", "Whole")


class Parameter(NamedTuple):
    """A parameter of a measure, as its class declares it."""

    default: Any
    annotation: str
    keyword_only: bool

    @property
    def optional(self) -> bool:
        return "None" in self.annotation

    def normalised(self, name: str, value: Any) -> Any:
        """The value in the form that a measure keeps: a `Gain` for anything that stands for one."""
        is_gain = "GainLike" in self.annotation or isinstance(self.default, Gain)
        return Gain.of(value, name) if is_gain and not (value is None and self.optional) else value

    def check(self, caller: str, name: str, value: Any) -> None:
        """Raise an error if a value does not fit the annotation, or else the type of the default."""
        if value is None and self.optional:
            return
        kind = self.annotation.removesuffix(" | None")
        if kind == "ByTopic" and value == "topic":
            return
        if isinstance(self.default, str) and not isinstance(value, str):
            raise UsageError(f"{caller}: {name} == {value!r}, must be a string such as {self.default!r}")
        if kind in NUMBERS or (isinstance(self.default, (int, float)) and not isinstance(self.default, bool)):
            check.finite(caller, **{name: value})
        if kind in RULES:
            RULES[kind](caller, **{name: value})


@dataclass(frozen=True, eq=False)
class Terms:
    """A score as a sum: (the sum of `adds` over the hits of a list + `unretrieved`) / `over`.

    `unretrieved` is what documents outside the list add. `columns` are further numbers per hit that `explain` shows.
    """

    hits: Hits
    adds: Array
    over: Array | float = 1.0
    columns: Mapping[str, Array] = field(default_factory=dict)
    unretrieved: Array | float = 0.0

    def score(self) -> Array:
        return divide(self.hits.sum(self.adds) + self.unretrieved, self.over)

    def running(self, ranks: int) -> Array:
        """The scores of a single list cut after each rank, if a document adds the same in every cut list."""
        adds = np.broadcast_to(self.adds, len(self.hits)) * (1.0 if self.hits.weight is None else self.hits.weight)
        total = np.cumsum(np.bincount(self.hits.rank, adds, minlength=ranks + 1))[1 : ranks + 1].astype(np.float64)
        return divide(total + self.unretrieved, self.over)


def divide(above: Array, below: Array | float) -> Array:
    """`above / below`, undefined (NaN) where `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(below, 0), np.nan, np.true_divide(above, below))


def docstring_reference(thing: object) -> str:
    """The paper, from the docstring's `Reference:` line."""
    match = re.search(r"Reference: (.*?)(?:\n\s*\n|\Z)", inspect.getdoc(thing) or "", re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def number_tuple(values: Any) -> Any:
    """A sequence of numbers as a tuple of floats; anything else unchanged, for `check` to complain about."""
    if not isinstance(values, Iterable):
        return values
    listed = tuple(values)
    numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in listed)
    return tuple(map(float, listed)) if numbers else listed
