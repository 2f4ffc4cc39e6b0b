"""Several collections: where the judgments and runs of each are, from words or from one TOML file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.collection.config_files import only_known, read_toml, typed_entry
from cranfield.collection.file_formats.response_folders import holds_responses
from cranfield.collection.source import PathLike, expand
from cranfield.errors import UsageError
from cranfield.text import shown

WORD = re.compile(
    r"(?P<name>[^=:]+)=(?P<qrels>(?:irds:|ir_datasets:|[A-Za-z]:(?=[\\/]))?[^:]+):(?P<runs>.+)", re.DOTALL
)
"""NAME=QRELS:RUNS; the colon after the drive of a path does not end it."""


@dataclass(frozen=True)
class CollectionFiles:
    """The files of a collection."""

    name: str
    qrels: str
    runs: tuple[str, ...] | Mapping[str, str]
    """Files, or {name of the run: file}."""


def collections_of_words(words: Iterable[str]) -> list[CollectionFiles]:
    """Collections from words NAME=QRELS:RUNS, where RUNS is a file, a pattern or a folder.

    >>> collections_of_words(["covid=covid.qrels"])
    Traceback (most recent call last):
    cranfield.errors.UsageError: 'covid=covid.qrels': expected NAME=QRELS:RUNS, such as covid=covid.qrels:covid/*.run
    """
    collections = []
    for word in words:
        parts = WORD.fullmatch(word)
        if parts is None:
            raise UsageError(f"{shown(word)}: expected NAME=QRELS:RUNS, such as covid=covid.qrels:covid/*.run")
        collections.append(CollectionFiles(parts["name"], parts["qrels"], tuple(run_files(parts["runs"]))))
    return distinct_collections(collections)


def read_collections(path: PathLike) -> list[CollectionFiles]:
    """Collections from a TOML file: a table for each, with `qrels` and `runs`.

    `runs` is a file, a pattern, a folder, a list of these, or a table of names and files. Paths are relative to the
    folder of the file.
    """
    folder = os.path.dirname(os.fspath(path))

    def made_of(data: Mapping[str, Any]) -> list[CollectionFiles]:
        only_known(data, ("collections",))
        tables = typed_entry(data, "collections", dict, "", {})
        if not tables:
            raise UsageError("there is no collection; expected tables such as [collections.covid] with qrels and runs")
        return [_of_table(name, table, folder) for name, table in tables.items()]

    return distinct_collections(read_toml(path, made_of))


def _of_table(name: str, table: Any, folder: str) -> CollectionFiles:
    where = f"collections.{name}"
    if not isinstance(table, dict):
        raise UsageError(f"{where} == {shown(table)}, must be a table with qrels and runs")
    only_known(table, ("qrels", "runs"), f"{where}.")
    for entry in ("qrels", "runs"):
        if not table.get(entry):
            raise UsageError(f"{where}: {entry} is missing")
    qrels = typed_entry(table, "qrels", str, f"{where}.")
    if not qrels.startswith(("irds:", "ir_datasets:")):
        qrels = os.path.join(folder, qrels)
    runs = table["runs"]
    if isinstance(runs, dict):
        for run in runs:
            typed_entry(runs, run, str, f"{where}.runs.")
        return CollectionFiles(name, qrels, {run: os.path.join(folder, file) for run, file in runs.items()})
    several = [runs] if isinstance(runs, str) else runs
    if not isinstance(several, list) or not all(isinstance(file, str) for file in several):
        raise UsageError(f"{where}.runs == {shown(runs)}, must be text, a list of texts, or a table of names and files")
    files = [file for part in several for file in run_files(os.path.join(folder, part))]
    return CollectionFiles(name, qrels, tuple(files))


def run_files(path: str) -> list[str]:
    """The files of a pattern, or of a folder (not of folders in it, and no hidden files).

    A folder with the response to one query in each file is one run.
    """
    if not os.path.isdir(path):
        return expand([path])
    if holds_responses(path):
        return [path]
    inside = (os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.startswith("."))
    files = [file for file in inside if os.path.isfile(file)]
    if not files:
        raise UsageError(f"{path}: there is no file in this folder; expected the runs of a collection")
    return files


def distinct_collections(collections: list[CollectionFiles]) -> list[CollectionFiles]:
    """The collections, of which no two may have the same name."""
    seen: dict[str, str] = {}
    for one in collections:
        if one.name in seen:
            raise UsageError(f"collection {one.name!r} is given twice, with {seen[one.name]} and {one.qrels}")
        seen[one.name] = one.qrels
    return collections
