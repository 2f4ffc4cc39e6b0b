"""Find the two tables of a log, queries and events; split exports that hold both in one file of JSON-lines."""

from __future__ import annotations

import json
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from cranfield.collection.compression import MAGIC_LENGTH, compression, decompressor, unpack_errors
from cranfield.collection.source import BLOCK
from cranfield.errors import DataError, UsageError
from cranfield.online.engines.table_source import DATABASE_MARK, REMOTE_MARK, content_format, find_table, first_bytes
from cranfield.text import cut, listed, printable

KINDS = {
    "queries": re.compile(r"(ubi[_-])?(queries|impressions|searches)([^a-z].*)?$", re.IGNORECASE),
    "events": re.compile(r"(ubi[_-])?(events|clicks|interactions)([^a-z].*)?$", re.IGNORECASE),
}
"""How the names of the two tables begin."""
COLUMN_FILE = "columns.toml"


def kind_of_table(name: str) -> str | None:
    """Whether a table or an index holds `queries` or `events`, from its name.

    >>> kind_of_table("ubi_events"), kind_of_table(".ds-ubi_queries-2026.01"), kind_of_table("products")
    ('events', 'queries', None)
    """
    plain = name.removeprefix(".").removeprefix("ds-")
    return next((kind for kind, pattern in KINDS.items() if pattern.match(plain)), None)


def find_log(source: Any, events: Any) -> tuple[Any, Any, str | None]:
    """The sources of the queries and of the events, and the column map beside them, if there is one.

    A directory or a database holds both: files, directories or tables whose names begin with `queries`, `impressions`
    or `searches`, and with `events`, `clicks` or `interactions`; `ubi_` may come before.
    """
    if not isinstance(source, str | os.PathLike):
        return source, events, None
    path = os.fspath(source)
    if os.path.isdir(path):
        beside = os.path.join(path, COLUMN_FILE)
        columns = beside if os.path.isfile(beside) else None
        names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
        parts = {kind: [name for name in names if pattern.match(name)] for kind, pattern in KINDS.items()}
        if not parts["queries"]:
            if events is None and parts["events"]:
                there = listed(parts["events"], most=8)
                raise DataError(path, None, f"holds events ({there}), but no file begins with queries or impressions")
            if events is not None or _all_alike(names):
                return path, events, columns
            if not names:
                raise DataError(path, None, "is an empty directory, expected files of queries and events")
            there = listed(names, most=8)
            raise DataError(path, None, f"no file begins with queries or impressions; there are {there}")
        return _paths(path, parts["queries"]), events or _paths(path, parts["events"]), columns
    if os.path.isfile(path) and content_format(path) in ("duckdb", "sqlite"):
        tables = database_tables(path)
        parts = {kind: [name for name in tables if pattern.match(name)] for kind, pattern in KINDS.items()}
        for kind, names in parts.items():
            if len(names) > 1 or (kind == "queries" and not names):
                raise UsageError(
                    f"{path}: which table holds the {kind}? There are {listed(tables, most=8) or 'none'};"
                    f" name one, such as {path}{DATABASE_MARK}{(names or tables or [kind])[0]}"
                )
        sources = [f"{path}{DATABASE_MARK}{names[0]}" if names else None for names in parts.values()]
        return sources[0], events or sources[1], None
    return path, events, None


def _all_alike(names: list[str]) -> bool:
    """Whether the files of a directory are parts of one table: they have one suffix."""
    return len({os.path.splitext(name)[1] for name in names}) == 1


def _paths(folder: str, names: list[str]) -> str | list[str] | None:
    paths = [os.path.join(folder, name) for name in names]
    return paths[0] if len(paths) == 1 else paths or None


def database_tables(path: str) -> list[str]:
    """The tables of a DuckDB or SQLite file."""
    if content_format(path) == "sqlite":
        from cranfield.online.engines.table_source import opened, table_names

        with opened(path) as database:
            return table_names(database)
    from cranfield.online.engines.engine import need_logs

    duckdb = need_logs("duckdb", f"{path}: a DuckDB database")
    try:
        with duckdb.connect(path, read_only=True) as database:
            return [row[0] for row in database.execute("SHOW TABLES").fetchall()]
    except duckdb.Error as error:
        raise DataError(path, None, str(error).partition("\n")[0]) from None


ACTIONS = ("index", "create", "update", "delete")
WITH_ROW = ("index", "create")
"""The actions that write a whole row, which is on the next line."""


@dataclass(eq=False)
class Part:
    """The rows of one kind from an export: the file that they were copied to, and their lines in the export."""

    path: str
    origin: str
    lines: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True, eq=False)
class BulkFiles:
    """Where the rows of exports are now."""

    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()

    def place(self, path: str, line: int | None) -> tuple[str, int | None]:
        """The file and the line of an export, for a file and a line that `split_bulk` has written."""
        part = next((part for part in self.parts if part.path == path), None)
        if part is None:
            return path, line
        return part.origin, part.lines[line - 1] if line and line <= len(part.lines) else None

    def origin(self, text: str) -> str:
        """The name of a table, with exports instead of the files that they were copied to."""
        for part in self.parts:
            text = text.replace(part.path, part.origin)
        return text

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors name the export and its line."""
        try:
            yield
        except DataError as error:
            path, line = self.place(error.path, error.line)
            raise (error if path == error.path else DataError(path, line, error.what)) from None


def split_bulk(queries: Any, events: Any, folder: Any) -> tuple[Any, Any, BulkFiles]:
    """The sources of queries and events, with the two parts of each export instead of the export.

    folder: a function that makes a directory for the parts.
    """
    sources = {"queries": _files(queries), "events": _files(events)}
    exports = list(dict.fromkeys(file for files in sources.values() for file in files if _is_export(file)))
    if not exports:
        return queries, events, BulkFiles()
    made: list[Part] = []
    notes = []
    tables = {name: [file for file in files if file not in exports] for name, files in sources.items()}
    for export in exports:
        parts, counts = _split(export, folder())
        named = ", ".join(f"{name} ({rows:,})" for name, rows in sorted(counts.items()))
        notes.append(f"{os.path.basename(export)}: an export of the indexes {named}")
        for kind, part in parts.items():
            tables[kind].append(part.path)
            made.append(part)
    chosen = {name: files[0] if len(files) == 1 else files or None for name, files in tables.items()}
    if chosen["queries"] is None:
        raise DataError(exports[0], None, f"no index of queries, such as ubi_queries; {notes[0].partition(': ')[2]}")
    return chosen["queries"], chosen["events"], BulkFiles(tuple(made), tuple(notes))


def _files(source: Any) -> Sequence[str]:
    """The files of a source; none if it is something else."""
    if not isinstance(source, str | os.PathLike | list | tuple) or (
        isinstance(source, str | os.PathLike) and REMOTE_MARK in os.fspath(source)
    ):
        return ()
    return find_table(source).files


def _is_export(path: str) -> bool:
    """Whether a file begins like an export."""
    line = first_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    if not line.startswith(b"{") or not any(f'"{name}"'.encode() in line for name in (*ACTIONS, "_source")):
        return False
    try:
        row = json.loads(line)
    except ValueError:
        return b'"_source"' in line and b'"_index"' in line
    return ("_source" in row and "_index" in row) or _action(row) is not None


def _action(row: Any) -> str | None:
    """The action of a line that says what to do with the next one."""
    name = next(iter(row)) if isinstance(row, dict) and len(row) == 1 else None
    return name if name in ACTIONS and isinstance(row[name], dict) else None


def _split(path: str, folder: str) -> tuple[dict[str, Part], Counter[str]]:
    """Copy the rows of an export to a file for each kind of table; also count the rows of each index."""
    counts: Counter[str] = Counter()
    parts: dict[str, Part] = {}
    with ExitStack() as opened:
        files: dict[str, IO[bytes]] = {}
        for index, line, row in _rows(path):
            counts[index] += 1
            kind = kind_of_table(index)
            if kind is None:
                what = f"index {printable(index)}, expected a name such as ubi_queries or ubi_events"
                raise DataError(path, line, f"{what}; leave out its rows")
            if kind not in parts:
                os.makedirs(os.path.join(folder, kind), exist_ok=True)
                name = os.path.basename(path).split(".")[0] or "log"
                parts[kind] = Part(os.path.join(folder, kind, f"{name}.jsonl"), path)
                files[kind] = opened.enter_context(open(parts[kind].path, "wb"))
            files[kind].write(row + b"\n")
            parts[kind].lines.append(line)
    return parts, counts


def _rows(path: str) -> Iterator[tuple[str, int, bytes]]:
    """The index, the line and the text of each row of an export."""
    index: str | None = None
    for number, text in enumerate(_lines(path), 1):
        line = text.strip()
        if not line:
            continue
        if index is not None:
            yield index, number, line
            index = None
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise DataError(
                path, number, f"is not valid JSON: {printable(cut(line.decode(errors='replace'), 60))}"
            ) from None
        action = _action(row)
        if action is None and isinstance(row, dict) and isinstance(row.get("_source"), dict):
            yield _index_of(path, number, row), number, json.dumps(row["_source"]).encode()
        elif action in WITH_ROW:
            index = _index_of(path, number, row[action])
        elif action is not None:
            raise DataError(path, number, f"action {action!r}, expected index or create; leave out its rows")
        else:
            raise DataError(path, number, 'is a row without the line {"index": {"_index": …}} before it')
    if index is not None:
        raise DataError(path, None, "the last row is missing: the file ends after a line that announces it")


def _index_of(path: str, line: int, about: dict[str, Any]) -> str:
    if not isinstance(about.get("_index"), str):
        raise DataError(path, line, 'no "_index", such as ubi_queries or ubi_events')
    return str(about["_index"])


def _lines(path: str) -> Iterator[bytes]:
    """The lines of a file, unpacked if it is compressed."""
    with open(path, "rb") as file:
        kind = compression(file.read(MAGIC_LENGTH))
        file.seek(0)
        if kind is None:
            yield from file
            return
        rest = b""
        with unpack_errors(kind, path):
            for block in _blocks(file, kind):
                *whole, rest = (rest + block).split(b"\n")
                yield from whole
        if rest:
            yield rest


def _blocks(file: IO[bytes], kind: str) -> Iterator[bytes]:
    """The content of a compressed file, a block at a time; it may have several streams."""
    new_stream = decompressor(kind)
    stream, data = new_stream(), file.read(BLOCK)
    while data:
        yield stream.decompress(data)
        if not stream.eof:
            data = file.read(BLOCK)
            continue
        data = (stream.unused_data or file.read(BLOCK)).lstrip(b"\0")
        stream = new_stream() if data else stream
    if not stream.eof:
        raise EOFError
