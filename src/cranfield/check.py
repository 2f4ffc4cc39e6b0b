"""Complain early: name, value, way out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def nearest(name: str, choices: Sequence[str], kind: str) -> UsageError:
    """The complaint about a name that is not there, with the one that was probably meant.

    >>> str(nearest("ndcg@10", ["nDCG@10", "AP"], "measure"))
    "no measure 'ndcg@10'; did you mean 'nDCG@10'?"
    """
    import difflib

    folded: Mapping[str, str] = {choice.casefold(): choice for choice in choices}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.5)
    if close:
        return UsageError(f"no {kind} {name!r}; did you mean {folded[close[0]]!r}?")
    shown = ", ".join(map(repr, choices[:8])) + (f" and {len(choices) - 8} more" if len(choices) > 8 else "")
    return UsageError(f"no {kind} {name!r}; there are {shown or 'none'}")
