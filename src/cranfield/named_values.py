"""Names with parameters, such as `rbp(p=0.95)`: how they are read, compared and printed, the same for all registries.

A name is found whatever its case and separators: `Team Draft`, `team_draft` and `teamdraft` are `team-draft`. A
parameter that is unknown or given twice is an error. A value keeps only the parameters that differ from their defaults,
in the order of their declaration, so that equal values are equal and have one name; the name has all digits, so that
reading it gives the value again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cranfield.check import nearest, wrong
from cranfield.errors import UsageError
from cranfield.text import plain_number

_WRITTEN = re.compile(r"\s*([^\s()@=,](?:[^()@=,]*[^\s()@=,])?)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\w+))?\s*")


class Written(NamedTuple):
    """The parts of a name as they are written."""

    name: str
    parameters: dict[str, str]
    cutoff: str | None
    """What follows `@`, if there is one."""


def read_name(text: str, kind: str, *, cutoffs: bool = False) -> Written:
    """The parts of a name with parameters. `kind` is what it names, for messages.

    >>> read_name("epsilon-greedy(c=1, d=0.5)", "method")
    Written(name='epsilon-greedy', parameters={'c': '1', 'd': '0.5'}, cutoff=None)
    >>> read_name("rbp(p=0.95,p=0.5)", "method")
    Traceback (most recent call last):
    cranfield.errors.UsageError: method 'rbp(p=0.95,p=0.5)': p is given twice, as 0.95 and 0.5; give it once
    """
    match = _WRITTEN.fullmatch(text)
    if match is None or (match[3] is not None and not cutoffs):
        forms = "NAME, NAME@K or NAME(parameter=value)" if cutoffs else "NAME or NAME(parameter=value)"
        raise UsageError(f"{kind} {text!r} is not written as {forms}")
    parameters: dict[str, str] = {}
    for part in (match[2] or "").split(",") if (match[2] or "").strip() else ():
        key, sign, value = (word.strip() for word in part.partition("="))
        if not (key and sign and value):
            raise UsageError(f"{kind} {text!r}: {part.strip()!r}, expected parameter=value")
        value = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
        if key in parameters:
            raise UsageError(f"{kind} {text!r}: {key} is given twice, as {parameters[key]} and {value}; give it once")
        parameters[key] = value
    return Written(match[1], parameters, match[3])


def folded(name: str) -> str:
    """A name without differences in case, separators and British or American spelling.

    >>> folded("Team_Draft") == folded("team draft"), folded("optimized") == folded("optimised")
    (True, True)
    """
    return re.sub(r"[\s_-]", "", name).casefold().replace("ise", "ize").replace("isa", "iza")


def find_name(name: str, known: Iterable[str], kind: str, others: Mapping[str, str] | None = None) -> str:
    """The known name that is meant; `others` are {other name: known name}. An unknown one is an error.

    >>> find_name("TD", ["team-draft", "balanced"], "method", {"td": "team-draft"})
    'team-draft'
    """
    names = list(known)
    by_spelling = {folded(other): meant for other, meant in (others or {}).items()}
    by_spelling |= {folded(each): each for each in names}
    if folded(name) not in by_spelling:
        raise nearest(name, names, kind)
    return by_spelling[folded(name)]


def check_names(owner: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise an error for a parameter that the owner does not have.

    >>> check_names("rbp", ["q"], ["p"])
    Traceback (most recent call last):
    cranfield.errors.UsageError: rbp: no parameter 'q'; there are 'p'
    """
    known = list(allowed)
    for name in given:
        if name not in known:
            unknown = nearest(name, known, "parameter") if known else f"no parameter {name!r}; it has no parameters"
            raise UsageError(f"{owner}: {unknown}")


def given_once(owner: str, written: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in a name together with those that were passed beside it; one in both is an error.

    >>> given_once("rrf", {"k": "20"}, {"k": 60})
    Traceback (most recent call last):
    cranfield.errors.UsageError: rrf: k is given twice, as 20 and 60; give it once
    """
    for name in written:
        if name in passed:
            raise UsageError(f"{owner}: {name} is given twice, as {written[name]} and {passed[name]}; give it once")
    return {**written, **passed}


def number_of(owner: str, parameter: str, value: Any) -> float:
    """The number of text; a number stays as it is."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise wrong(owner, parameter, value, "a number") from None


def changed(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The values that differ from their defaults, in the order of the defaults.

    >>> changed({"d": 2.0, "c": 1.0}, {"c": 1.0, "d": 0.5})
    (('d', 2.0),)
    """
    return tuple((name, values[name]) for name in defaults if name in values and values[name] != defaults[name])


def full_name(name: str, parameters: Iterable[tuple[str, Any]]) -> str:
    """The name with its parameters, which reads back as the same value.

    >>> full_name("rbp", [("p", 0.123456789)]), full_name("team-draft", [("skip_shared", True)]), full_name("depth", [])
    ('rbp(p=0.123456789)', 'team-draft(skip_shared=true)', 'depth')
    """
    shown = ",".join(f"{parameter}={_spelled(value)}" for parameter, value in parameters)
    return f"{name}({shown})" if shown else name


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else plain_number(value)


def split_names(text: str) -> list[str]:
    """The names between commas, except commas between brackets.

    >>> split_names("depth, epsilon-greedy(c=1,d=0.5)")
    ['depth', 'epsilon-greedy(c=1,d=0.5)']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]
