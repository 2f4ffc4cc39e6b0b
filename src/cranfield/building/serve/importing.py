"""Read a log back into a project: what `log` exports, or qrels that somebody judged elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cranfield.building.serve.accounts import add_account
from cranfield.building.serve.database import Connection
from cranfield.building.serve.judgment_log import FIELDS, Entry, record
from cranfield.building.serve.project_parts import PoolEntry
from cranfield.building.serve.store import Store, put_pool
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import load, shown_path, text_of
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

NUMBERS = frozenset({"id", "position", "counted", "supersedes", "restores", "guideline", "offer", "milliseconds"})


@dataclass(frozen=True)
class Imported:
    """What came in."""

    rows: int
    """Rows that are new."""
    known: int
    """Rows that the project already had."""
    assessors: int
    """Assessors that are new."""


def import_log(store: Store, path: str) -> Imported:
    """Add the rows of an exported log; rows whose request is known are left out, so that it can be imported twice."""
    origin = shown_path(path)
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in enumerate(text_of(load(path), origin).split("\n"), 1):
        if line.strip():
            rows.append((number, _row(line, origin, number)))
    if not rows:
        raise DataError(origin, None, "holds no judgments, expected a log of a project, an object on each line")
    topics = {id for (id,) in store.database.read("SELECT id FROM topic")}
    for number, row in rows:
        if row["topic"] not in topics:
            raise DataError(origin, number, f"topic {shown(row['topic'])} is not in the project; add its topics first")
    new = _add_assessors(store, [str(row["assessor"]) for _, row in rows])

    def change(connection: Connection) -> Imported:
        numbers: dict[int, int] = {}
        added = known = 0
        for number, row in rows:
            old = connection.run("SELECT id FROM judgment WHERE request = ?", (row["request"],))
            if old:
                numbers[row["id"]] = old[0][0]
                known += 1
                continue
            for name in ("supersedes", "restores"):
                if row[name] is not None and row[name] not in numbers:
                    raise DataError(origin, number, f"{name} is {row[name]}, which is not the id of an earlier row")
            numbers[row["id"]] = _insert(connection, row, numbers)
            added += 1
        return Imported(added, known, new)

    return store.database.write(change)


def _row(line: str, origin: str, number: int) -> Mapping[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "; expected the log of a project; qrels need the name of their assessor" if number == 1 else ""
        raise DataError(origin, number, f"not valid JSON: {error}{hint}") from None
    absent = [name for name in FIELDS if not isinstance(row, dict) or name not in row]
    if absent:
        raise DataError(origin, number, f"no {absent[0]}, expected a row of the log of a project")
    for name in FIELDS:
        value = row[name]
        if name in NUMBERS and not (value is None or type(value) is int):
            raise DataError(origin, number, f"{name} is {shown(value)}, expected a whole number")
    try:
        row["judged_at"] = datetime.fromisoformat(row["judged_at"].replace("Z", "+00:00")).timestamp()
    except (ValueError, AttributeError, TypeError):
        raise DataError(origin, number, f"judged_at is {shown(row['judged_at'])}, expected a date") from None
    return row


def _insert(connection: Connection, row: Mapping[str, Any], numbers: Mapping[int, int]) -> int:
    """Add a row as it is; the order of an assessor's rows goes on after those that are there."""
    (last,) = connection.run("SELECT COALESCE(MAX(position), 0) FROM judgment WHERE assessor = ?", (row["assessor"],))[
        0
    ]
    values = dict(row) | {
        "position": last + 1,
        "payload": None if row["payload"] is None else json.dumps(row["payload"], ensure_ascii=False, sort_keys=True),
        "supersedes": None if row["supersedes"] is None else numbers[row["supersedes"]],
        "restores": None if row["restores"] is None else numbers[row["restores"]],
        "offer": None,
    }
    if row["purpose"] in ("pool", "found"):
        put_pool(connection, [PoolEntry(row["topic"], row["doc"], {}, row["purpose"])])
    names = FIELDS[1:]
    statement = f"INSERT INTO judgment ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) RETURNING id"
    ((id,),) = connection.run(statement, [values[name] for name in names])
    return int(id)


def import_qrels(store: Store, path: str, assessor: str) -> Imported:
    """Add judgments that were made elsewhere, as judgments of one assessor; those that are known are left out."""
    settings = store.settings()
    if settings.mode != "graded":
        raise UsageError(f"qrels are imported only in mode graded, but the project is in mode {settings.mode}")
    entries = list(Qrels.read(path))
    outside = [entry for entry in entries if entry.grade not in settings.values]
    if outside:
        allowed = ", ".join(f"{value:g}" for value in settings.values)
        what = f"document {shown(outside[0].doc)} has grade {outside[0].grade:g}, which is not one of {allowed}"
        raise DataError(path, None, f"{what}; {len(outside):,} such judgments")
    topics = {id for (id,) in store.database.read("SELECT id FROM topic")}
    unknown = sorted({entry.topic for entry in entries} - topics)
    if unknown:
        raise DataError(path, None, f"topic {shown(unknown[0])} is not in the project; add its topics first")
    new = _add_assessors(store, [assessor])
    import hashlib
    import time

    def change(connection: Connection) -> Imported:
        added = known = 0
        put_pool(connection, [PoolEntry(entry.topic, entry.doc, {}) for entry in entries])
        for entry in entries:
            name = f"{assessor}\0{entry.topic}\0{entry.doc}\0{entry.grade}"
            request = f"import-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:40]}"
            if connection.run("SELECT 1 FROM judgment WHERE request = ?", (request,)):
                known += 1
                continue
            said = Entry(request, entry.topic, entry.doc, assessor, grade=float(entry.grade), reason="")
            record(connection, said, overlap=settings.overlap, now=time.time())
            added += 1
        return Imported(added, known, new)

    return store.database.write(change)


def _add_assessors(store: Store, names: list[str]) -> int:
    known = {name for (name,) in store.database.read("SELECT name FROM assessor")}
    new = [name for name in dict.fromkeys(names) if name not in known]
    for name in new:
        add_account(store, name)
    return len(new)
