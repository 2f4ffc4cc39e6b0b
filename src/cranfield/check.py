"""Complain early: name, value, way out."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from cranfield.errors import UsageError


def finite(who: str, **values: Any) -> None:
    """Every value a finite number.

    >>> finite("AP", rel="high")
    Traceback (most recent call last):
    cranfield.errors.UsageError: AP: rel == 'high', must be a number
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise UsageError(f"{who}: {name} == {value!r}, must be a number")


def between(who: str, *, low: float, high: float, **values: float) -> None:
    """Every value within [low, high].

    >>> between("RBP", low=0, high=1, p=1.2)
    Traceback (most recent call last):
    cranfield.errors.UsageError: RBP: p == 1.2, must be between 0 and 1
    """
    for name, value in values.items():
        if not low <= value <= high:
            raise UsageError(f"{who}: {name} == {value!r}, must be between {low:g} and {high:g}")


def positive(who: str, **values: float) -> None:
    """Every value above 0."""
    for name, value in values.items():
        if not value > 0:
            raise UsageError(f"{who}: {name} == {value!r}, must be above 0")


def not_negative(who: str, **values: float) -> None:
    """Every value 0 or above."""
    for name, value in values.items():
        if not value >= 0:
            raise UsageError(f"{who}: {name} == {value!r}, must be 0 or above")


def whole(who: str, **values: Any) -> None:
    """Every value a whole number, 1 or more; None, for a parameter that was not given, passes.

    >>> whole("PRES", N_max=0.5)
    Traceback (most recent call last):
    cranfield.errors.UsageError: PRES: N_max == 0.5, must be a whole number, 1 or more
    """
    for name, value in values.items():
        if value is not None:
            finite(who, **{name: value})
            if value < 1 or value != int(value):
                raise UsageError(f"{who}: {name} == {value!r}, must be a whole number, 1 or more")


def one_of(who: str, choices: tuple[str, ...], **values: str) -> None:
    """Every value among the choices."""
    for name, value in values.items():
        if value not in choices:
            raise UsageError(f"{who}: {name} == {value!r}, must be one of {', '.join(map(repr, choices))}")
