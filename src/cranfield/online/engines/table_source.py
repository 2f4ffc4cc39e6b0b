"""Where a table is: files of one format (and the lines of their rows), a table of a database, or a frame."""

from __future__ import annotations

import csv
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import Any

from cranfield.collection.compression import MAGIC_LENGTH, compression
from cranfield.collection.source import beginning, expand, shown_path, unmarked
from cranfield.collection.whole_folder import check_whole
from cranfield.errors import DataError, UsageError
from cranfield.text import listed

DATABASE_MARK = "::"
"""Between the file of a database and the table."""
REMOTE_MARK = "://"
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".csv": "csv", ".tsv": "csv", ".txt": "csv",
}  # fmt: skip
"""The formats by suffix, for files that only the engine can open."""
PACKED = (".gz", ".zst", ".bz2")


@dataclass(frozen=True)
class TableSource:
    """The files of a table, or the table of a database."""

    origin: str
    """The source as it was given, for messages."""
    format: str
    """`parquet`, `json`, `csv`, `duckdb`, `sqlite`, or `catalog` for a table that the engine knows."""
    files: tuple[str, ...] = ()
    table: str = ""
    delimiter: str = ","
    """Between the cells of a CSV file."""


def find_table(path: str | os.PathLike[str] | Sequence[str]) -> TableSource:
    """The files of a path, a pattern, a directory or a list of paths, or the table of a database.

    The format of files is found by their content.

    >>> find_table("::events").table, find_table("s3://bucket/log.parquet").format
    ('events', 'parquet')
    """
    if not isinstance(path, str | os.PathLike):
        return _of_files(listed(path), tuple(path))
    origin = os.fspath(path)
    database, mark, table = origin.rpartition(DATABASE_MARK)
    if mark and not os.path.exists(origin):
        return _database_table(origin, database, table)
    if REMOTE_MARK in origin:
        return TableSource(origin, _format_by_suffix(origin), (origin,))
    if os.path.isdir(origin):
        return _folder(origin)
    files = tuple(expand([origin])) if has_magic(origin) else (origin,)
    return _of_files(origin, files)


def _database_table(origin: str, database: str, table: str) -> TableSource:
    if not table:
        raise UsageError(f"{origin}: no table after '::'; write the name of one, such as log.duckdb::events")
    if not database:
        return TableSource(origin, "catalog", (), table)
    kind = content_format(database)
    if kind not in ("duckdb", "sqlite"):
        raise DataError(database, None, "is not a DuckDB or SQLite database")
    return TableSource(origin, kind, (database,), table)


def _folder(origin: str) -> TableSource:
    """All files of a directory and its subdirectories, except hidden ones and those that begin with `_`."""
    files = []
    for folder, folders, names in os.walk(origin):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        files += [os.path.join(folder, name) for name in sorted(names) if not name.startswith((".", "_"))]
    if not files:
        raise DataError(origin, None, "is an empty directory, expected files of JSON-lines, CSV or Parquet")
    return _of_files(origin, tuple(files))


def _of_files(origin: str, files: tuple[str, ...]) -> TableSource:
    for folder in dict.fromkeys(map(os.path.dirname, files)):
        check_whole(folder)
    formats = {file: content_format(file) for file in files}
    if len(set(formats.values())) > 1:
        kinds = listed(f"{os.path.basename(file)} is {formats[file]}" for file in files)
        raise DataError(origin, None, f"has files of different formats ({kinds}), expected one format")
    format = formats[files[0]]
    if format in ("duckdb", "sqlite"):
        raise DataError(origin, None, f"is a {format} database: name one of its tables, such as {origin}::events")
    return TableSource(origin, format, files, delimiter=_delimiter(files[0]) if format == "csv" else ",")


def content_format(path: str) -> str:
    """The format of a file, found by its first bytes: `parquet`, `duckdb`, `sqlite`, `json` or `csv`."""
    head = first_bytes(path)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head.startswith(b"SQLite format 3"):
        return "sqlite"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text:
        raise DataError(shown_path(path), None, "is empty, expected JSON-lines, CSV or Parquet")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(shown_path(path), None, "is UTF-16, expected JSON-lines or CSV in UTF-8, or Parquet")
    if b"\0" in head:
        raise DataError(shown_path(path), None, "is not text, expected JSON-lines, CSV or Parquet")
    return "json" if text[:1] in b"{[" else "csv"


def first_bytes(path: str, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked if it is compressed."""
    if path == "-":
        raise UsageError("a log cannot be read from standard input, because it is scanned more than once; give a file")
    try:
        with open(path, "rb") as file:
            head = file.read(size)
    except OSError as error:
        raise DataError(path, None, "no such file" if isinstance(error, FileNotFoundError) else str(error)) from None
    return bytes(beginning(path)[:size]) if compression(head) else head


def _delimiter(path: str) -> str:
    """The delimiter of a CSV file: the one of tab, comma, semicolon and bar that its first line has most often."""
    line = first_bytes(path).splitlines()[0].decode("utf-8", "replace")
    return max("\t,;|", key=line.count)


def csv_header(table: TableSource) -> list[str]:
    """The names of the columns of a CSV file; the same name twice is an error."""
    text = unmarked(first_bytes(table.files[0])).decode("utf-8", "replace")
    names = next(csv.reader(text.splitlines(keepends=True), delimiter=table.delimiter))
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(table.files[0], 1, f"two columns are called {twice[0]!r}; rename one of them")
    return names


def _format_by_suffix(path: str) -> str:
    name = path
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: the format of a remote file is found by its ending, one of {', '.join(SUFFIXES)}")
    return SUFFIXES[suffix]


def no_table(table: TableSource, known: Sequence[str]) -> DataError:
    """The error for a table that a database does not have."""
    return DataError(table.files[0], None, f"no table {table.table!r}; there are {listed(known, most=10) or 'none'}")


BATCH = 100_000
"""Rows that are copied at a time."""


@contextmanager
def opened(path: str) -> Iterator[sqlite3.Connection]:
    """A SQLite database to read; an error names the file if it is damaged."""
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            yield database
    except sqlite3.Error as error:
        raise DataError(path, None, f"cannot be read as a SQLite database: {error}") from None


def table_names(database: sqlite3.Connection) -> list[str]:
    """The tables and views of a database."""
    return [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]


def copy_sqlite(connection: Any, table: TableSource, name: str) -> str:
    """Copy a table to the temporary table `name` of DuckDB, all values as text: SQLite has a type per value."""
    import pyarrow

    with opened(table.files[0]) as database:
        known = table_names(database)
        if table.table not in known:
            raise no_table(table, known)
        cursor = database.execute(f"SELECT * FROM {_quoted(table.table)}")
        columns = [entry[0] for entry in cursor.description]
        connection.execute(
            f"CREATE TEMP TABLE {name} ({', '.join(f'{_quoted(column)} VARCHAR' for column in columns)})"
        )
        while rows := cursor.fetchmany(BATCH):
            texts = [[None if value is None else str(value) for value in values] for values in zip(*rows, strict=True)]
            batch = pyarrow.table([pyarrow.array(values, pyarrow.string()) for values in texts], names=columns)
            connection.register(f"{name}_batch", batch)
            connection.execute(f"INSERT INTO {name} SELECT * FROM {name}_batch")
            connection.unregister(f"{name}_batch")
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def lines_of_rows(path: str, rows: Iterable[int], rejected: Sequence[int] = ()) -> Mapping[int, int]:
    """The line on which each row begins, in a JSON-lines or CSV file; the header of a CSV file is row 1.

    rejected: rows that the numbers do not count, because they were left out.
    """
    wanted = {row: _record(row, rejected) for row in rows}
    with open(path, "rb") as file:
        if compression(file.read(MAGIC_LENGTH)):
            return wanted
        file.seek(0)
        if content_format(path) not in ("json", "csv"):
            return {row: row for row in wanted}
        quoted = content_format(path) == "csv"
        lines: dict[int, int] = {}
        searched, last = set(wanted.values()), max(wanted.values(), default=0)
        record, inside = 0, False
        for number, line in enumerate(file, 1):
            if not inside and line.strip():
                record += 1
                if record in searched:
                    lines[record] = number
                if record > last:
                    break
            if quoted and line.count(b'"') % 2:
                inside = not inside
    return {row: lines.get(record, record) for row, record in wanted.items()}


def _record(row: int, rejected: Sequence[int]) -> int:
    """The number of a row, if rows that were left out are counted as well."""
    for left_out in sorted(rejected):
        if left_out <= row:
            row += 1
    return row
