"""A setting: its default, the values that are allowed, and a sentence about it, all declared in one place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.errors import UsageError
from cranfield.text import plain_number

WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""How true and false are written."""
MANY = 1_000_000
Value = bool | int | float | str


class _Required:
    """The default of a setting that has none."""

    def __repr__(self) -> str:
        return "no default"


NO_DEFAULT: Any = _Required()


@dataclass(frozen=True)
class Setting:
    """A parameter of a method: a truth value, a whole number, a number or a word, as its default is.

    >>> Setting(0.8, "the persistence of the reader", least=0, below=1).checked("rbp", "p", "0.95")
    0.95
    >>> Setting(0.8, "the persistence of the reader", least=0, below=1).checked("rbp", "p", 1)
    Traceback (most recent call last):
    cranfield.errors.UsageError: rbp: p == 1, must be 0 or above and below 1
    """

    default: Any
    summary: str = ""
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    """The value is larger than this."""
    below: float = math.inf
    """The value is smaller than this."""
    choices: tuple[str, ...] = ()
    names: str = ""
    """Where the library lists the values, as `module:NAME`; it knows other spellings, and checks them itself."""
    spelled: str = ""
    """How the command line writes it, if not as its name: `--resamples, -B N`."""
    off: str = ""
    """What the option does that turns a truth value off, if that is not "Do not" with the sentence."""
    rare: bool = False
    """Whether only the whole help of a verb shows it."""
    only: str = ""
    """What the setting is for, if not for everything: `mace`. It is passed on only if it was given."""
    solves: str = ""
    """A pattern: the command line suggests the option where a message matches it."""
    holds: str = ""
    """`file` for the path of a file to read, `measures` for names of measures."""
    kind: str = ""
    """`bool`, `int`, `float`, `str`, or `ints`, `floats`, `strs` for several; it follows from the type."""

    def checked(self, owner: str, name: str, given: Any) -> Value:
        """The value of text or of a Python value; an error if it is not allowed."""
        if isinstance(self.default, bool):
            if str(given).lower() not in WORDS:
                raise check.wrong(owner, name, given, "true or false")
            return WORDS[str(given).lower()]
        if isinstance(self.default, str):
            return self._word(owner, name, given)
        number = _number(owner, name, given)
        if isinstance(self.default, int) and number != int(number):
            raise check.wrong(owner, name, given, "a whole number")
        if not self.allows(number):
            raise check.wrong(owner, name, given, self.range)
        return int(number) if isinstance(self.default, int) else number

    def allows(self, number: float) -> bool:
        """Whether a number is within the limits."""
        return self.least <= number <= self.most and self.above < number < self.below

    @property
    def range(self) -> str:
        """The numbers that are allowed, in words.

        A limit of a million or more is one that nobody meets by mistake; it is not mentioned.

        >>> Setting(0, above=0, below=1).range, Setting(0, least=1, most=5_000_000, kind="int").range
        ('above 0 and below 1', 'a whole number, 1 or more')
        """
        whole = self.kind in ("int", "ints")
        least, above, most, below = map(plain_bound, (self.least, self.above, self.most, self.below))
        if self.least > -math.inf and self.most < MANY:
            return f"a whole number between {least} and {most}" if whole else f"between {least} and {most}"
        bounds = [f"{least} or {'more' if whole else 'above'}"] if self.least > -math.inf else []
        bounds += [f"above {above}"] if self.above > -math.inf else []
        bounds += [f"at most {most}"] if self.most < MANY else []
        bounds += [f"below {below}"] if self.below < math.inf else []
        words = " and ".join(bounds)
        return f"a whole number{', ' if words else ''}{words}" if whole else words or "a number"

    def _word(self, owner: str, name: str, given: Any) -> str:
        given = "none" if given is None else given  # which names with parameters read as a constant
        if not isinstance(given, str):
            raise check.wrong(owner, name, given, f"a word such as {self.default!r}")
        if self.choices:
            check.one_of(owner, self.choices, **{name: given})
        return given


def plain_bound(bound: float) -> str:
    """A limit in words.

    >>> plain_bound(0.5), plain_bound(2**64)
    ('0.5', '2**64')
    """
    if bound == 2**64:
        return "2**64"
    return str(int(bound)) if math.isfinite(bound) and bound == int(bound) else f"{bound:g}"


def _number(owner: str, name: str, given: Any) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        raise check.wrong(owner, name, given, "a number") from None
    if isinstance(given, bool) or not math.isfinite(number):
        raise check.wrong(owner, name, given, "a number")
    return number


def checked_values(owner: str, given: Mapping[str, Any], declared: Mapping[str, Setting]) -> dict[str, Value]:
    """The values that were given, checked; a setting that the owner does not have is an error.

    >>> checked_values("rbp", {"q": 1}, {"p": Setting(0.8)})
    Traceback (most recent call last):
    cranfield.errors.UsageError: rbp: no parameter 'q'; there are 'p'
    """
    known = list(declared)
    for name in given:
        if name not in known:
            has_none = f"no parameter {name!r}; it has no parameters"
            raise UsageError(f"{owner}: {check.nearest(name, known, 'parameter') if known else has_none}")
    return {name: declared[name].checked(owner, name, value) for name, value in given.items()}


def changed(values: Mapping[str, Any], declared: Mapping[str, Setting]) -> tuple[tuple[str, Any], ...]:
    """The values that differ from their defaults, in the order of their declaration.

    >>> changed({"d": 2.0, "c": 1.0}, {"c": Setting(1.0), "d": Setting(0.5)})
    (('d', 2.0),)
    """
    return tuple((name, values[name]) for name in declared if name in values and values[name] != declared[name].default)


def full_name(name: str, values: Iterable[tuple[str, Any]]) -> str:
    """The name with its parameters, which reads back as the same value.

    >>> full_name("rbp", [("p", 0.123456789)]), full_name("team-draft", [("skip_shared", True)]), full_name("depth", [])
    ('rbp(p=0.123456789)', 'team-draft(skip_shared=true)', 'depth')
    """
    written = ",".join(f"{parameter}={_spelled(value)}" for parameter, value in values)
    return f"{name}({written})" if written else name


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else plain_number(value)
