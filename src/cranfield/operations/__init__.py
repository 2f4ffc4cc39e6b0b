"""Operations as calls with JSON, described by JSON Schema; the modules here have the names of groups of verbs.

The operations are those of `declared/operations.json`. A request holds the settings by name, and the inputs: a path, or
data such as `{run: {topic: value}}`. Scores can also be those of judgments and runs:
`{"qrels": "qrels.txt", "runs": ["bm25.run"], "measures": ["AP"]}`. Nothing in a request is imported or run.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from cranfield import declared
from cranfield.check import nearest
from cranfield.declared.operation import schema_of, settings_of
from cranfield.declared.settings import NO_DEFAULT
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.record import Record, declared_columns, plain
from cranfield.scores.scores import Scores
from cranfield.text import listed, shown

__all__ = ["call", "known_operations", "schema"]


NOT_INPUTS = ("progress", "threads")
"""Parameters that say how a result is computed, not which."""
COLLECTION = ("qrels", "runs", "measures")
"""What an object with judgments and runs holds."""
SCORES = {
    "description": "a file of scores, {run: {topic: {measure: value}}}, or judgments and runs to score",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "qrels": {"type": ["string", "object"]},
                "runs": {"type": ["string", "array", "object"]},
                "measures": {"type": ["string", "array"], "items": {"type": "string"}},
            },
            "required": ["qrels", "runs"],
            "additionalProperties": False,
        },
        {"type": "object", "additionalProperties": {"type": "object"}},
    ],
}


@cache
def _homes() -> dict[str, str]:
    """The `module:function` of each operation by the name of the function."""
    listed_homes = json.loads(Path(declared.__file__).with_name("operations.json").read_text("utf-8"))
    return {home.rpartition(":")[2]: home for home in listed_homes}


def known_operations() -> tuple[str, ...]:
    """The names of all operations.

    >>> "swap_rates" in known_operations()
    True
    """
    return tuple(sorted(_homes()))


def _function(name: str) -> Callable[..., Any]:
    if name not in _homes():
        raise nearest(name, known_operations(), "operation")
    module, _, function_name = _homes()[name].partition(":")
    function: Callable[..., Any] = getattr(import_module(f"cranfield.{module}"), function_name)
    return function


def _inputs(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of an operation that are data."""
    parameters = inspect.signature(function).parameters
    settings = settings_of(function)
    return {
        name: parameter
        for name, parameter in parameters.items()
        if name not in settings and name not in NOT_INPUTS and parameter.kind is not parameter.VAR_KEYWORD
    }


def _takes_scores(parameter: inspect.Parameter) -> bool:
    return str(parameter.annotation) == "Scores"


def schema(name: str) -> dict[str, Any]:
    """The request and the answer of an operation in JSON Schema.

    >>> schema("swap_rates")["input"]["required"]
    ['scores']
    """
    function = _function(name)
    described = schema_of(function)
    inputs = {key: SCORES if _takes_scores(parameter) else {} for key, parameter in _inputs(function).items()}
    required = [key for key, parameter in _inputs(function).items() if parameter.default is parameter.empty]
    request = {**described, "properties": {**inputs, **described["properties"]}}
    request["required"] = [*required, *described["required"]]
    return {"name": name, "description": described["description"], "input": request, "output": _answer(function)}


def _answer(function: Callable[..., Any]) -> dict[str, Any]:
    """The answer in JSON Schema; columns are listed where the record declares them."""
    answer: dict[str, Any] = {"type": "object", "properties": {"notes": {"type": "array", "items": {"type": "string"}}}}
    kind = _returned(function)
    if isinstance(kind, type) and issubclass(kind, Record):
        columns = declared_columns(kind).items()
        names = [heading for name, headings in columns for heading in headings.names or (name.replace("_", " "),)]
        row = {"type": "object", "properties": {heading: {} for heading in names}}
        answer["properties"] |= {"rows": {"type": "array", "items": row}} if names else {}
    return answer


def _returned(function: Callable[..., Any]) -> Any:
    """The type of the result; None if it is imported for checks only."""
    try:
        return get_type_hints(inspect.unwrap(function)).get("return")
    except NameError:
        return None


def call(name: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of an operation to a request, both as JSON holds them.

    >>> scores = {"a": {"1": 0.1, "2": 0.2}, "b": {"1": 0.3, "2": 0.5}, "c": {"1": 0.4, "2": 0.2}}
    >>> call("swap_rates", {"scores": scores, "resamples": 100})["topics"]
    2
    """
    function = _function(name)
    inputs, settings = _inputs(function), settings_of(function)
    for key in request:
        if key not in inputs and key not in settings:
            raise UsageError(f"{name}: {nearest(key, [*inputs, *settings], 'input or setting')}")
    needed = [key for key, parameter in inputs.items() if parameter.default is parameter.empty]
    needed += [key for key, setting in settings.items() if setting.default is NO_DEFAULT]
    if lacking := [key for key in needed if key not in request]:
        raise UsageError(f"{name}: {listed(lacking)} missing")
    given = {
        key: _scores(name, value) if key in inputs and (_takes_scores(inputs[key]) or _collection(value)) else value
        for key, value in request.items()
    }
    result = function(**given)
    answer = result.to_dict() if isinstance(result, Record) else plain(result)
    return answer if isinstance(answer, dict) else {"rows": answer}


def _collection(value: Any) -> bool:
    """Whether an input is judgments and runs."""
    return isinstance(value, Mapping) and {"qrels", "runs"} <= value.keys()


def _scores(name: str, value: Any) -> Scores:
    """Scores from a file, from {run: {topic: value}}, or of judgments and runs."""
    if isinstance(value, str):
        return Scores.read(value)
    if not isinstance(value, Mapping):
        raise UsageError(f"{name}: scores is {shown(value)}, must be a file, or an object of runs, topics and values")
    if _collection(value):
        for key in value:
            if key not in COLLECTION:
                raise UsageError(f"{name}: scores: {nearest(key, COLLECTION, 'input')}")
        return evaluate(value["qrels"], value["runs"], value.get("measures"))
    return Scores.from_dict(value)
