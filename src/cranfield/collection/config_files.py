"""Small files for people to write: TOML, whose entries are checked, and YAML with plain values only."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from cranfield.check import nearest
from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, read_bytes, unmarked
from cranfield.errors import CranfieldError, DataError, UsageError
from cranfield.frames import install_command
from cranfield.text import shown

MOST_VALUES = 100_000
"""A text of 1 KB with aliases of aliases can stand for billions of values."""


def read_yaml(text: str, path: str, first_line: int = 1) -> Any:
    """The value of a YAML text; errors name the file and line. `first_line` is the line of the file it begins on.

    >>> read_yaml("tag: bm25\\nactor: {team: ours}", "run.txt")
    {'tag': 'bm25', 'actor': {'team': 'ours'}}
    """
    yaml = _package(path)
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        _check_aliases(root, path)
        return loader.construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else first_line + mark.line
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(path, line, f"not valid YAML: {problem}") from None
    except RecursionError:
        raise DataError(path, None, "the YAML is nested too deeply") from None
    except ValueError as error:  # for example a date in month 13
        raise DataError(path, None, f"not valid YAML: {error}") from None


def _check_aliases(root: Any, path: str) -> None:
    """Refuse aliases that stand for too many values, or for themselves."""
    sizes: dict[int, float] = {}

    def size(node: Any) -> float:
        """The number of values below a node if every alias is replaced by what it stands for."""
        if id(node) not in sizes:
            sizes[id(node)] = math.inf  # until it is known: an alias within its own value
            entries = node.value if isinstance(node.value, list) else []
            parts = (part for entry in entries for part in (entry if isinstance(entry, tuple) else (entry,)))
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    total = size(root)
    if total > max(MOST_VALUES, len(sizes)):
        many = "infinitely many" if math.isinf(total) else f"{total:,}"
        raise DataError(path, None, f"its aliases stand for {many} values, at most {MOST_VALUES:,} are allowed")


def write_yaml(value: Any, caller: str) -> str:
    """A YAML text with the keys in their order. Values that are not plain are an error, which begins with `caller`.

    >>> print(write_yaml({"tag": "bm25", "actor": {"team": "ours"}}, "metadata"), end="")
    tag: bm25
    actor:
      team: ours
    """
    yaml = _package(caller)
    try:
        text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=4096)
    except yaml.YAMLError as error:
        raise UsageError(f"{caller}: a value is not plain text, number, list or mapping: {str(error)[:120]}") from None
    return text


def _package(caller: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise UsageError(f"{caller}: YAML needs PyYAML: {install_command('yaml')}") from None
    return yaml


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
