"""Small TOML files, such as the rules of a track: read them, and check names and types of their entries."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from cranfield.check import nearest
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, read_bytes, unmarked
from cranfield.errors import CranfieldError, DataError, UsageError
from cranfield.text import shown

T = TypeVar("T")

KINDS: dict[Any, str] = {
    str: "text", int: "a whole number", float | int: "a number", bool: "true or false", list: "a list", dict: "a table",
}  # fmt: skip


@reads
def read_toml(path: PathLike, made_of: Callable[[Mapping[str, Any]], T]) -> T:
    """What a function makes of the tables of a file; its errors, and those of the file, name the file."""
    name = os.fspath(path)
    try:
        return made_of(tomllib.loads(unmarked(read_bytes(name)).decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(name, None, f"not valid TOML: {error}") from None
    except RecursionError:
        raise DataError(name, None, "not valid TOML: it is nested too deep") from None
    except DataError:
        raise
    except CranfieldError as error:
        raise DataError(name, None, str(error)) from None


def only_known(table: Mapping[str, Any], names: tuple[str, ...], where: str = "") -> None:
    """Raise an error for an entry with another name; it suggests the most similar one.

    >>> only_known({"dept": 10}, ("depth", "tag"), "rules.")
    Traceback (most recent call last):
    cranfield.errors.UsageError: no entry 'rules.dept'; did you mean 'rules.depth'?
    """
    for name in table:
        if name not in names:
            raise nearest(f"{where}{name}", [f"{where}{known}" for known in names], "entry")


def typed_entry(table: Mapping[str, Any], name: str, kind: Any, where: str = "", default: Any = None) -> Any:
    """An entry, which must have this type.

    >>> typed_entry({"depth": "many"}, "depth", int, "rules.")
    Traceback (most recent call last):
    cranfield.errors.UsageError: rules.depth == 'many', must be a whole number
    """
    value = table.get(name, default)
    if value is not default and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
        raise UsageError(f"{where}{name} == {shown(value)}, must be {KINDS[kind]}")
    return value


def entries_for(table: Mapping[str, Any], kind: type, where: str = "") -> dict[str, Any]:
    """The entries of a table for a dataclass, each with the type of its default."""
    defaults = {field.name: field.default for field in fields(kind)}
    only_known(table, tuple(defaults), where)
    types = {entry: int if default is None else type(default) for entry, default in defaults.items()}
    return {entry: typed_entry(table, entry, types[entry], where) for entry in table}
