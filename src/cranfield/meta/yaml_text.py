"""YAML in and out, where it is wanted: plain values only, never objects."""

from __future__ import annotations

from typing import Any

from cranfield.errors import DataError, UsageError


def read_yaml(text: str, path: str, first_line: int = 1) -> Any:
    """What a YAML text holds; what is wrong with it is told with file and line. `first_line` is where it begins.

    >>> read_yaml("tag: bm25\\nactor: {team: ours}", "run.txt")
    {'tag': 'bm25', 'actor': {'team': 'ours'}}
    """
    yaml = _package(path)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else first_line + mark.line
        what = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(path, line, f"this is no YAML: {what}") from None
    except RecursionError:
        raise DataError(path, None, "the YAML is nested too deep") from None
    except ValueError as error:  # such as a date in month 13
        raise DataError(path, None, f"this is no YAML: {error}") from None


def write_yaml(thing: Any, what: str) -> str:
    """A YAML text, keys in the order given; an error names what YAML's plain values cannot hold.

    >>> print(write_yaml({"tag": "bm25", "actor": {"team": "ours"}}, "metadata"), end="")
    tag: bm25
    actor:
      team: ours
    """
    yaml = _package(what)
    try:
        text: str = yaml.safe_dump(thing, sort_keys=False, allow_unicode=True, width=4096)
    except yaml.YAMLError as error:
        raise UsageError(f"{what}: holds what YAML has no plain value for: {str(error)[:120]}") from None
    return text


def _package(what: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise UsageError(f"{what}: YAML needs PyYAML: pip install 'cranfield[yaml]'") from None
    return yaml
