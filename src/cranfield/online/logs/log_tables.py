"""Find the two tables of a log: queries (or impressions) and events (or clicks)."""

from __future__ import annotations

import os
import re
from typing import Any

from cranfield.errors import DataError, UsageError
from cranfield.online.engines.table_source import DATABASE_MARK, content_format
from cranfield.text import listed

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
        found = [f"{path}{DATABASE_MARK}{names[0]}" if names else None for names in parts.values()]
        return found[0], events or found[1], None
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
