"""Reading and writing YAML: plain values only, never Python objects."""

from __future__ import annotations

from typing import Any

from cranfield.errors import DataError, UsageError


def read_yaml(text: str, path: str, first_line: int = 1) -> Any:
    """The value of a YAML text; errors name the file and line. `first_line` is the line of the file it begins on.

    >>> read_yaml("tag: bm25\\nactor: {team: ours}", "run.txt")
    {'tag': 'bm25', 'actor': {'team': 'ours'}}
    """
    yaml = _package(path)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else first_line + mark.line
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(path, line, f"not valid YAML: {problem}") from None
    except RecursionError:
        raise DataError(path, None, "the YAML is nested too deeply") from None
    except ValueError as error:  # for example a date in month 13
        raise DataError(path, None, f"not valid YAML: {error}") from None


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
        raise UsageError(f"{caller}: YAML needs PyYAML: pip install 'cranfield[yaml]'") from None
    return yaml
