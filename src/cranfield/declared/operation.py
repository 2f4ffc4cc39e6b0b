"""An operation: a function whose signature declares its settings, once, for Python, the command line and studies.

    @operation
    def swap_rates(scores: Scores, *, rate: Annotated[float, about("The highest swap rate.", least=0, most=1)] = 0.05)

Name, type and default stand in the signature; `about` adds a sentence and what is allowed. A call with another value is
an error. Settings that several functions share are a `TypedDict`, whose fields have their defaults in `about`; a
function takes it by `**settings: Unpack[...]`. A single one is a type with a name, such as `Seed`.

Verbs of the command line take their options from here (`cli/declare.py`), studies their keys, and `schema_of` describes
the operation in JSON Schema.
"""

from __future__ import annotations

import functools
import inspect
import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from types import NoneType
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from cranfield import check
from cranfield.declared.settings import MANY, NO_DEFAULT, Setting

P = ParamSpec("P")
R = TypeVar("R")


def about(summary: str, default: Any = NO_DEFAULT, **allowed: Any) -> Setting:
    """For `Annotated`: what a setting means, and the values that are allowed, as the fields of `Setting`.

    `default` is for the fields of a `TypedDict`; in a signature it stands behind the annotation.
    """
    return Setting(default, summary, **allowed)


MOST_RESAMPLES = 50_000_000
"""The largest number of resamples; more would take days."""
RESAMPLES: dict[str, Any] = {"least": 1, "most": MOST_RESAMPLES, "spelled": "--resamples, -B N"}
"""What is allowed for a number of resamples, where a sentence says what is drawn."""
Resamples = Annotated[int, about("The number of resamples.", **RESAMPLES)]
Seed = Annotated[int, about("Seed of the random numbers.", least=0, below=2**64)]
Level = Annotated[float, about("Confidence level of the intervals.", above=0, below=1, spelled="--level L", rare=True)]
ALPHA: dict[str, Any] = {"above": 0, "below": 1, "spelled": "--alpha A"}
"""What is allowed for a significance level, where a sentence says what it is for."""
Alpha = Annotated[float, about("Significance level.", **ALPHA)]


def settings_of(function: Callable[..., Any]) -> dict[str, Setting]:
    """The settings that a function declares, with their defaults, by name.

    >>> def f(data, *, seed: Seed = 0): ...
    >>> settings_of(f)["seed"].default, settings_of(f)["seed"].least, settings_of(f)["seed"].kind
    (0, 0, 'int')
    """
    return dict(_settings_of(inspect.unwrap(function)))


@functools.cache
def _settings_of(function: Callable[..., Any]) -> Mapping[str, Setting]:
    settings: dict[str, Setting] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = _evaluated(parameter.annotation, function)
        if parameter.kind is parameter.VAR_KEYWORD:
            shared = get_args(hint)[0] if get_origin(hint) is typing.Unpack else None
            settings |= declared_settings(shared) if shared else {}
        elif declared := _declared(hint):
            default = NO_DEFAULT if parameter.default is parameter.empty else parameter.default
            settings[parameter.name] = replace(declared, default=default)
    return settings


def declared_settings(shared: type) -> dict[str, Setting]:
    """The settings that a `TypedDict` declares; none if some of its types are imported for checks only."""
    try:
        hints = get_type_hints(shared, include_extras=True).items()
    except NameError:
        return {}
    return {name: declared for name, hint in hints if (declared := _declared(hint))}


def with_defaults(shared: type[R], given: R) -> R:
    """What was given of the settings of a `TypedDict`, and the defaults of the others."""
    defaults = {name: setting.default for name, setting in declared_settings(shared).items()}
    return typing.cast(R, {**defaults, **typing.cast(dict[str, Any], given)})


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    """The type that an annotation names; None for types that are imported for checks only: they are no settings."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # an annotation is code of this package
    except NameError:
        return None


def _declared(hint: Any) -> Setting | None:
    """The setting that a type declares, also as a part of a union, with its kind."""
    for part in (hint, *get_args(hint)):
        for fact in reversed(getattr(part, "__metadata__", ())):  # what is said about a named type replaces its own
            if isinstance(fact, Setting):
                return replace(fact, kind=_kind(hint))
    return None


KINDS: Mapping[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}


def _kind(hint: Any) -> str:
    """A word for a type: `bool`, `int`, `float`, `str`, a list such as `ints`, or else empty.

    >>> _kind(int | Sequence[int] | None), _kind(str | None)
    ('ints', 'str')
    """
    parts = _plain_types(hint)
    for part in parts:
        origin = get_origin(part)
        several = isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping)
        items = _plain_types(get_args(part)[0]) if several and get_args(part) else ()
        if items and items[0] in KINDS:
            return f"{KINDS[items[0]]}s"
    return next((word for kind, word in KINDS.items() if kind in parts), "")


def _plain_types(hint: Any) -> tuple[Any, ...]:
    """The types of a union, without None and without what `Annotated` adds."""
    if get_origin(hint) is Annotated:
        return _plain_types(get_args(hint)[0])
    if isinstance(hint, type) or get_origin(hint) not in (typing.Union, type(int | str)):
        return () if hint is NoneType else (hint,)
    return tuple(part for member in get_args(hint) for part in _plain_types(member))


def operation(function: Callable[P, R]) -> Callable[P, R]:
    """Check the settings of each call.

    >>> @operation
    ... def draw(*, seed: Seed = 0) -> int: return seed
    >>> draw(seed=-1)
    Traceback (most recent call last):
    cranfield.errors.UsageError: draw: seed == -1, must be a whole number, 0 or more and below 2**64
    """
    parameters = inspect.signature(function).parameters.values()
    by_place = [parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    caller = function.__name__

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        settings = _settings_of(function)
        for name, value in (*zip(by_place, args, strict=False), *kwargs.items()):
            if name not in settings and not _takes(function, name):
                raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")
            if name in settings and not _is_default(value, settings[name].default):
                check_setting(caller, name, value, settings[name])
        return function(*args, **kwargs)

    return checked


@functools.cache
def _takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name, or a `TypedDict` for its other ones that has such a field."""
    parameters = inspect.signature(function).parameters
    others = [parameter for parameter in parameters.values() if parameter.kind is parameter.VAR_KEYWORD]
    if name in parameters or not others:
        return True  # Python refuses what a function without others does not take
    hint = _evaluated(others[0].annotation, function)
    return get_origin(hint) is not typing.Unpack or name in get_args(hint)[0].__annotations__


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def check_setting(caller: str, name: str, value: Any, setting: Setting) -> None:
    """Raise an error for a value that the setting does not allow; None is allowed where it is the default."""
    if value is None and setting.default is None:
        return
    if setting.kind in ("ints", "floats"):
        items = value if isinstance(value, Sequence) else [value]
        for item in items if not isinstance(value, str) else ():  # the function knows which words it takes
            _check_number(caller, name, item, setting)
    elif setting.choices:
        check.one_of(caller, setting.choices, **{name: value})
    elif setting.kind in ("int", "float"):
        _check_number(caller, name, value, setting)


def _check_number(caller: str, name: str, value: Any, setting: Setting) -> None:
    whole = setting.kind in ("int", "ints")
    is_number = isinstance(value, Integral) and not isinstance(value, bool) if whole else check.is_finite(value)
    if not (is_number and setting.allows(value)):
        too_many = is_number and value > setting.most >= MANY
        allowed = setting.range if is_number or whole else "a number"
        raise check.wrong(caller, name, value, f"at most {setting.most:,}" if too_many else allowed)


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The settings of an operation in JSON Schema, for pages, editors of study files, and agents.

    >>> def draw(*, seed: Seed = 0): ...
    >>> schema_of(draw)["properties"]["seed"]["minimum"]
    0
    """
    settings = settings_of(function)
    return {
        "title": function.__name__,
        "description": (inspect.getdoc(function) or "").partition("\n")[0],
        "type": "object",
        "properties": {name: _schema(setting) for name, setting in settings.items()},
        "required": [name for name, setting in settings.items() if setting.default is NO_DEFAULT],
        "additionalProperties": False,
    }


TYPES = {"bool": "boolean", "int": "integer", "float": "number", "str": "string"}


def _schema(setting: Setting) -> dict[str, Any]:
    """A setting in JSON Schema."""
    bounds = {
        "minimum": setting.least, "maximum": setting.most,
        "exclusiveMinimum": setting.above, "exclusiveMaximum": setting.below,
    }  # fmt: skip
    single: dict[str, Any] = {key: bound for key, bound in bounds.items() if math.isfinite(bound)}
    single |= {"enum": list(setting.choices)} if setting.choices else {}
    is_list = setting.kind.endswith("s")
    if kind := TYPES.get(setting.kind.removesuffix("s")):
        single["type"] = kind if is_list or setting.default is not None else [kind, "null"]
    entry: dict[str, Any] = {"type": "array", "items": single} if is_list else single
    entry["description"] = setting.summary
    return entry | ({"default": setting.default} if setting.default not in (NO_DEFAULT, None) else {})
