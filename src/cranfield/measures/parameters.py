"""Kinds of parameters: a parameter annotated with one of these names is checked when a measure is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cranfield import check
from cranfield.errors import UsageError
from cranfield.measures.gain import Gain

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
