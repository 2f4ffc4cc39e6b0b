"""Checks of parameters. The error names the parameter, its value and the values that are allowed.

`who` names the measure or function that has the parameter; it is empty for an option of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
    """Return the error for an unknown name; it suggests a similar one, or lists what there is.

    >>> str(nearest("ndcg@10", ["nDCG@10", "AP"], "measure"))
    "no measure 'ndcg@10'; did you mean 'nDCG@10'?"
    """
    if close := similar(str(name), choices):
        return UsageError(f"no {kind} {shown(name)}; did you mean {' or '.join(map(repr, close))}?")
    return UsageError(f"no {kind} {shown(name)}; there are {listed(map(repr, choices), most=8) or 'none'}")


def index_of(name: str, names: Sequence[str], noun: str) -> int:
    """The index of a name; the error about an unknown name suggests the most similar one."""
    if name not in names:
        raise nearest(name, names, noun)
    return names.index(name)


LONGEST = 60
"""The most letters of a name that are compared: the time grows with their square."""


def similar(name: str, choices: Iterable[str]) -> list[str]:
    """The names that may be meant: at most two, equally close; none if nothing is close, or if too many are.

    One mistake is allowed in a name of 3 or 4 letters, 2 in one of 5 to 9, 3 in a longer one; else a name that begins
    or ends with this one is meant.

    >>> similar("wilcoxen", ["wilcoxon", "sign"]), similar("queries", ["quiet", "quality"])
    (['wilcoxon'], [])
    >>> similar("team", ["team-draft", "balanced"]), similar("tua", ["tau", "top"])
    (['team-draft'], ['tau'])
    """
    letters = name[:LONGEST].casefold()
    most = 0 if len(letters) < 3 else 1 if len(letters) < 5 else 2 if len(letters) < 10 else 3
    near = {
        choice: mistakes(letters, choice.casefold()) for choice in choices if abs(len(choice) - len(letters)) <= most
    }
    best = min(near.values(), default=most + 1)
    close = [choice for choice, distance in near.items() if distance == best <= most]
    if not close and len(letters) > 2:
        close = [
            choice for choice in choices if choice.casefold().startswith(letters) or choice.endswith(f"-{letters}")
        ]
    return close if len(close) <= 2 else []


def mistakes(a: str, b: str) -> int:
    """How many letters are missing, added, wrong or in the wrong order (Damerau 1964, each letter touched once).

    >>> mistakes("nDGC", "nDCG"), mistakes("wilcoxen", "wilcoxon"), mistakes("dept", "depth")
    (1, 1, 1)
    """
    before, row = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        older, before, row = before, row, [i] * (len(b) + 1)
        for j, other in enumerate(b, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                row[j] = min(row[j], older[j - 2] + 1)
    return row[-1]
