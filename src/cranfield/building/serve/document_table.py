"""The texts of documents in the database of a project, and the index for search."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cranfield.building.serve.database import Connection, Database
from cranfield.building.serve.project_parts import Document

BATCH = 1_000
"""Rows of documents that are written together."""


def add_documents(
    database: Database, documents: Iterable[Document], progress: Callable[[int], None] | None = None
) -> int:
    """Add documents, or replace those with the same id, and index them for search. Returns how many were read."""
    count, batch = 0, []
    for one in documents:
        extra = json.dumps(dict(one.extra or {}))
        batch.append((one.id, one.title, one.text.replace("\0", ""), one.kind, extra))
        if len(batch) == BATCH:
            _put(database, batch)
            count += len(batch)
            batch = []
            if progress:
                progress(count)
    if batch:
        _put(database, batch)
    return count + len(batch)


def _put(database: Database, rows: Sequence[tuple[str, str, str, str, str]]) -> None:
    def change(connection: Connection) -> None:
        indexed = []
        for row in rows:
            old = connection.run("SELECT number, title, text FROM document WHERE id = ?", (row[0],))
            if old and (old[0][1], old[0][2]) != row[1:3]:
                database.engine.unindex(connection, *old[0])
            ((number,),) = connection.run(
                """INSERT INTO document (id, title, text, kind, extra) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET title = excluded.title, text = excluded.text,
                kind = excluded.kind, extra = excluded.extra RETURNING number""",
                row,
            )
            if not old or (old[0][1], old[0][2]) != row[1:3]:
                indexed.append((number, row[1], row[2]))
        database.engine.index(connection, indexed)

    database.write(change)


def document(database: Database, id: str) -> Document | None:
    """A document by its id."""
    rows = database.glance("SELECT id, title, text, kind, extra FROM document WHERE id = ?", id)
    return _document(rows[0]) if rows else None


def search(database: Database, query: str, limit: int) -> list[Document]:
    """The documents that contain all words of a query, the best first."""
    statement, values = database.engine.search(query, limit)
    if not statement:
        return []
    return [_document(row) for row in database.read(statement, *values)]


def _document(row: Sequence[Any]) -> Document:
    id, title, text, kind, extra = row
    return Document(id, title, text, kind, json.loads(extra) if extra != "{}" else None)
