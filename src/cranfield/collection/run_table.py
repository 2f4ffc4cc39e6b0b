"""The team, group or system of each run: a file with a line per run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from cranfield.collection.column_names import COLUMNS
from cranfield.collection.source import PathLike, named_paths, stem
from cranfield.collection.tables.table_schema import Schema, Words

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


def by_run(table: Mapping[str, str], runs: Sequence[str], files: object) -> dict[str, str]:
    """The table with the names of runs where it has those of their files, with or without their suffixes.

    files: the files of these runs, in their order. If they are something else, or hold several runs each, the table
        stays as it is. A run's name wins, as it may also be the name of another run's file.

    >>> by_run({"a": "red", "b.run": "blue"}, ["a", "tag"], ["runs/a.run", "runs/b.run"])
    {'a': 'red', 'tag': 'blue'}
    """
    named = dict(table)
    if not isinstance(files, Sequence) or not all(isinstance(file, str | os.PathLike) for file in files):
        return named
    paths = [path for _, path in named_paths([files] if isinstance(files, str) else files)]
    for run, path in zip(runs, paths, strict=True) if len(paths) == len(runs) else ():
        for name in (os.path.basename(path), stem(path)):
            if run not in named and name in named and name not in runs:
                named[run] = named.pop(name)
    return named


def read_run_table(path: PathLike, noun: str) -> dict[str, str]:
    """Read lines of run and team between tabs, commas, blanks or semicolons; `#` begins a comment."""
    schema = Schema(
        f"run {noun}", key=("run",), separators="\t, ;", mixed=True, comments=True, run=Words(COLUMNS["name"]),
        team=Words((noun, "team", "group"), noun),
    )  # fmt: skip
    return dict(schema.read(path))
