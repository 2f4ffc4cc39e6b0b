"""Faults of the table of an experiment: where a value is not a number, and users that have several rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cranfield.collection.column_names import column_key
from cranfield.errors import DataError, UsageError
from cranfield.online.engines.engine import need_logs, without_skip
from cranfield.online.engines.table_source import DATABASE_MARK, lines_of_rows
from cranfield.online.logs.column_map import QUERY_NAMES
from cranfield.online.moments import fetched
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.online.engines.engine import Engine

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
"""What a number looks like in a column of text."""


class NotNumbers(UsageError):
    """A column that should hold numbers holds something else."""

    def __init__(self, message: str, column: str, wrong: int, values: int) -> None:
        super().__init__(message)
        self.column, self.wrong, self.values = column, wrong, values


@contextmanager
def placed_errors(engine: Engine, source: Any) -> Iterator[None]:
    """Name the file and the line of a row that cannot be read, or of a value that is not a number."""
    try:
        origin = os.fspath(source) if isinstance(source, str | os.PathLike) else "the table"
        with without_skip(), engine.translated(origin):
            yield
    except NotNumbers as error:
        raise _placed(engine, source, error) or error from None


def _placed(engine: Engine, source: Any, error: NotNumbers) -> DataError | None:
    """The error with the place of the first wrong value; None if the table is not in files."""
    if not isinstance(source, str | os.PathLike) or DATABASE_MARK in os.fspath(source):
        return None
    nw = need_logs("narwhals", "a table of an experiment")
    value = nw.col(error.column).cast(nw.String).str.strip_chars('" ')  # text of JSON-lines has its quotes
    rows = engine.read_rows(source, numbered=True)
    wrong = rows.filter(~value.is_null() & ~value.is_in(["", "null"]) & ~value.str.contains(NUMBER))
    first = fetched(wrong.select("_file", "_row", value.alias("value")).sort("_file", "_row").head(1)).to_pylist()
    if not first:
        return DataError(os.fspath(source), None, str(error))
    path, row = first[0]["_file"], first[0]["_row"]
    line = None if row is None else lines_of_rows(path, [row])[row]
    many = f" ({error.wrong:,} such values of {error.values:,})" if error.wrong > 1 else ""
    what = f"{first[0]['value']!r} in column {error.column!r} is not a number{many}"
    return DataError(path, line, f"{what}; correct it, or leave it empty")


def user_column(names: Sequence[str]) -> str | None:
    """The column that seems to hold users, by its name."""
    by_key = {column_key(name): name for name in reversed(names)}
    return next((by_key[name] for name in QUERY_NAMES["user"] if name in by_key), None)


def user_notes(frame: Any) -> list[str]:
    """A note if rows are taken as users, although a column seems to hold users and some of them have several rows."""
    nw = need_logs("narwhals", "a table of an experiment")
    column = user_column(frame.collect_schema().names())
    if column is None:
        return []
    present = frame.filter(~nw.col(column).is_null()).select(
        nw.len().alias("rows"), nw.col(column).n_unique().alias("users")
    )
    counts = fetched(present).to_pylist()[0]
    if counts["rows"] == counts["users"]:
        return []
    return [
        f"column {column!r} names {counted(counts['users'], 'user')} in {counts['rows']:,} rows, but each row counts as"
        f" a user of its own here, so that intervals are too narrow; to add up the rows of a user, name {column!r} as "
        "the unit"
    ]
