"""The team, group or system of each run: a file with a line per run."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cranfield.collection.side_files import read_side_file
from cranfield.collection.source import PathLike
from cranfield.errors import DataError

Belongs = Mapping[str, str] | str | os.PathLike[str]
"""{run: team}, or a file of run and team."""


def belongs(runs: Belongs, noun: str) -> dict[str, str]:
    """{run: team} from a mapping or a file; messages call the team `noun`.

    >>> belongs({"bm25": "A"}, "team")
    {'bm25': 'A'}
    """
    if isinstance(runs, Mapping):
        return {str(run): str(team) for run, team in runs.items()}
    return read_run_table(runs, noun)


def read_run_table(path: PathLike, noun: str) -> dict[str, str]:
    """Read lines of run and team between tabs, commas, blanks or semicolons; `#` begins a comment."""
    table = read_side_file(path, f"run {noun}", [2], separators="\t, ;", mixed=True, filled=2)
    teams: dict[str, str] = {}
    for line, (run, team) in table:
        if run in teams:
            raise DataError(table.origin, line, f"run {run!r} appears twice")
        teams[run] = team
    return teams
