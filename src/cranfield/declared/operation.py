"""An operation: a function whose signature declares its settings, once, for Python, the command line and studies.

    @operation
    def swap_rates(scores: Scores, *, rate: Annotated[float, about("The highest swap rate.", least=0, most=1)] = 0.05)

Name, type and default stand in the signature; `about` adds a sentence and what is allowed. A call with another value is
an error. Verbs of the command line take their options from here (`cli/declare.py`), studies their keys, and
`schema_of` describes the operation in JSON Schema. A setting that several operations share has a name of its own, such
as `Seed`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_type_hints

from cranfield import check
from cranfield.declared.settings import NO_DEFAULT, Setting
from cranfield.types import Progress

P = ParamSpec("P")
R = TypeVar("R")


def about(summary: str, **allowed: Any) -> Setting:
    """For `Annotated`: what a setting means, and the values that are allowed, as the fields of `Setting`."""
    return Setting(NO_DEFAULT, summary, **allowed)


MOST_RESAMPLES = 50_000_000
"""The largest number of resamples; more would take days."""
Resamples = Annotated[
    int, about("The number of resamples.", least=1, most=MOST_RESAMPLES, spelled="--resamples, -B N", rare=True)
]
Seed = Annotated[int, about("The seed of random numbers.", least=0, below=2**64, rare=True)]
Level = Annotated[float, about("The level of intervals.", above=0, below=1, spelled="--level L", rare=True)]
Alpha = Annotated[float, about("The level of significance.", above=0, below=1, spelled="--alpha A")]
Counting = Progress | None
"""A function that is told how much is done; it is not a setting."""


def settings_of(function: Callable[..., Any]) -> dict[str, Setting]:
    """The settings that a function declares, with their defaults, by name.

    >>> def f(data, *, seed: Seed = 0): ...
    >>> settings_of(f)["seed"].default, settings_of(f)["seed"].least
    (0, 0)
    """
    return dict(_settings_of(inspect.unwrap(function)))


@functools.cache
def _settings_of(function: Callable[..., Any]) -> Mapping[str, Setting]:
    hints = get_type_hints(function, include_extras=True)
    settings = {}
    for parameter in inspect.signature(function).parameters.values():
        for part in (hints.get(parameter.name), *get_args(hints.get(parameter.name))):
            for fact in getattr(part, "__metadata__", ()):
                if isinstance(fact, Setting):
                    default = NO_DEFAULT if parameter.default is inspect.Parameter.empty else parameter.default
                    settings[parameter.name] = replace(fact, default=default)
    return settings


def kind_of(function: Callable[..., Any], name: str) -> str:
    """Whether a setting is a `bool`, `int`, `float`, `str` or something else, which is `list`."""
    kinds = _plain_types(get_type_hints(inspect.unwrap(function))[name])
    return next((kind.__name__ for kind in (bool, float, int, str) if kind in kinds), "list")


def _plain_types(hint: Any) -> tuple[Any, ...]:
    """The types of a union, without None."""
    parts = get_args(hint) if not isinstance(hint, type) else (hint,)
    return tuple(part for part in parts or (hint,) if part is not NoneType)


def operation(function: Callable[P, R]) -> Callable[P, R]:
    """Check the settings of each call.

    >>> @operation
    ... def draw(*, seed: Seed = 0) -> int: return seed
    >>> draw(seed=-1)
    Traceback (most recent call last):
    cranfield.errors.UsageError: draw: seed == -1, must be a whole number, 0 or above, and below 18446744073709551616
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        settings = _settings_of(function)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in settings:
                _check(function, name, value, settings[name])
        return function(*args, **kwargs)

    return checked


def _check(function: Callable[..., Any], name: str, value: Any, setting: Setting) -> None:
    """Raise an error for a value that the setting does not allow; None is allowed where it is the default."""
    if value is None and setting.default is None:
        return
    kind = kind_of(function, name)
    caller = function.__name__
    if kind == "str" and setting.choices:
        check.one_of(caller, setting.choices, **{name: value})
    if kind in ("int", "float") and (isinstance(value, int | float) or not isinstance(value, list | tuple | str)):
        allowed = f"a whole number, {setting.range}" if kind == "int" else setting.range
        in_range = check.is_finite(value) and setting.least <= value <= setting.most and setting.above < value
        if not (in_range and value < setting.below and (kind == "float" or value == int(value))):
            raise check.wrong(caller, name, value, allowed.removesuffix(", a number"))


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The settings of an operation in JSON Schema, for pages, editors of study files, and agents.

    >>> def draw(*, seed: Seed = 0): ...
    >>> schema_of(draw)["properties"]["seed"]["minimum"]
    0
    """
    types = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "list": "array"}
    properties = {}
    for name, setting in settings_of(function).items():
        bounds = {
            "minimum": setting.least, "maximum": setting.most,
            "exclusiveMinimum": setting.above, "exclusiveMaximum": setting.below,
        }  # fmt: skip
        entry: dict[str, Any] = {"type": types[kind_of(function, name)], "description": setting.summary}
        entry |= {key: bound for key, bound in bounds.items() if math.isfinite(bound)}
        entry |= {"enum": list(setting.choices)} if setting.choices else {}
        entry |= {"default": setting.default} if setting.default not in (NO_DEFAULT, None) else {}
        properties[name] = entry
    required = [name for name, setting in settings_of(function).items() if setting.default is NO_DEFAULT]
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    return {
        "title": function.__name__, "description": summary, "type": "object", "properties": properties,
        "required": required, "additionalProperties": False,
    }  # fmt: skip
