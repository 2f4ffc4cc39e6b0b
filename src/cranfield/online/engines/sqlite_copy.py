"""Copy a table of a SQLite database to DuckDB, whose own reader of SQLite has to be downloaded."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cranfield.errors import DataError
from cranfield.online.engines.table_source import TableSource, no_table

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
