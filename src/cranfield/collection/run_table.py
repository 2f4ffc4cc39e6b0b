"""Which team, group or system a run is from: a file with a line for each run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from cranfield.collection.source import PathLike, read_bytes, shown_path, unmarked
from cranfield.errors import DataError

Belongs = Mapping[str, str] | str | os.PathLike[str]
"""{run: team}, or a file that says so."""


def belongs(given: Belongs, what: str) -> dict[str, str]:
    """{run: team}, as it is given or from a file; `what` is what messages call the team.

    >>> belongs({"bm25": "A"}, "team")
    {'bm25': 'A'}
    """
    if isinstance(given, Mapping):
        return {str(run): str(team) for run, team in given.items()}
    return read_run_table(given, what)


def read_run_table(path: PathLike, what: str) -> dict[str, str]:
    """Lines of run and team, separated by a comma, a tab or blanks; `#` begins a comment."""
    origin = shown_path(os.fspath(path))
    found: dict[str, str] = {}
    text = unmarked(read_bytes(path)).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip() for cell in re.split("[,\t]", line)] if re.search("[,\t]", line) else line.split()
        if len(cells) != 2:
            raise DataError(origin, number, f"{len(cells)} column{'s'[: len(cells) > 1]}, expected 2: run {what}")
        if not all(cells):
            raise DataError(origin, number, f"a column is empty, expected run {what}")
        if cells[0] in found:
            raise DataError(origin, number, f"run {cells[0]!r} is there twice")
        found[cells[0]] = cells[1]
    if not found:
        raise DataError(origin, None, f"is empty, expected lines of run {what}")
    return found
