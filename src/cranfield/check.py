"""Checks of parameters. The error names the parameter, its value and the values that are allowed.

`who` names the measure or function that has the parameter; it is empty for an option of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from cranfield.errors import UsageError
from cranfield.text import listed, shown


def wrong(caller: str, name: str, value: Any, allowed: str) -> UsageError:
    """Return the error for a value that is not allowed.

    >>> str(wrong("", "--digits", 99, "between 0 and 17"))
    '--digits == 99, must be between 0 and 17'
    """
    return UsageError(f"{caller}{': ' if caller else ''}{name} == {shown(value)}, must be {allowed}")


def is_finite(value: Any) -> bool:
    """Whether it is a number that a double can hold.

    >>> is_finite(1), is_finite(10**400), is_finite(float("inf")), is_finite(True), is_finite("1")
    (True, False, False, False, False)
    """
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of a double
        return False


def finite(caller: str, **values: Any) -> None:
    """Check that every value is a finite number.

    >>> finite("AP", rel="high")
    Traceback (most recent call last):
    cranfield.errors.UsageError: AP: rel == 'high', must be a number
    """
    for name, value in values.items():
        if not is_finite(value):
            raise wrong(caller, name, value, "a number")


def between(caller: str, *, low: float, high: float, **values: float) -> None:
    """Check that every value is within [low, high].

    >>> between("RBP", low=0, high=1, p=1.2)
    Traceback (most recent call last):
    cranfield.errors.UsageError: RBP: p == 1.2, must be between 0 and 1
    """
    for name, value in values.items():
        if not low <= value <= high:
            raise wrong(caller, name, value, f"between {low:g} and {high:g}")


def positive(caller: str, **values: float) -> None:
    """Check that every value is above 0."""
    for name, value in values.items():
        if not value > 0:
            raise wrong(caller, name, value, "above 0")


def not_negative(caller: str, **values: float) -> None:
    """Check that no value is below 0."""
    for name, value in values.items():
        if not value >= 0:
            raise wrong(caller, name, value, "0 or above")


def whole(caller: str, **values: Any) -> None:
    """Check that every value is a whole number, 1 or more. None is allowed: the parameter was left out.

    >>> whole("PRES", N_max=0.5)
    Traceback (most recent call last):
    cranfield.errors.UsageError: PRES: N_max == 0.5, must be a whole number, 1 or more
    """
    for name, value in values.items():
        if value is not None:
            finite(caller, **{name: value})
            if value < 1 or value != int(value):
                raise wrong(caller, name, value, "a whole number, 1 or more")


def one_of(caller: str, choices: tuple[str, ...], **values: str) -> None:
    """Check that every value is one of the choices."""
    for name, value in values.items():
        if value not in choices:
            raise wrong(caller, name, value, f"one of {', '.join(map(repr, choices))}")


def nearest(name: str, choices: Sequence[str], kind: str) -> UsageError:
    """Return the error for an unknown name; it suggests the most similar one.

    >>> str(nearest("ndcg@10", ["nDCG@10", "AP"], "measure"))
    "no measure 'ndcg@10'; did you mean 'nDCG@10'?"
    """
    import difflib

    folded = {choice.casefold(): choice for choice in choices}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.5)
    if close:
        return UsageError(f"no {kind} {shown(name)}; did you mean {folded[close[0]]!r}?")
    return UsageError(f"no {kind} {shown(name)}; there are {listed(map(repr, choices), most=8) or 'none'}")
