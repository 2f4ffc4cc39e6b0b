"""Read a log back into a project: what `log` exports, or qrels that somebody judged elsewhere."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from cranfield.building.serve.accounts import add_account, put_assessor
from cranfield.building.serve.database import Connection
from cranfield.building.serve.judgment_log import COUNTED, FIELDS, Entry, add_first, record
from cranfield.building.serve.project_parts import PoolEntry
from cranfield.building.serve.store import Store, put_pool
from cranfield.collection.doors import reads
from cranfield.collection.lint_bytes import blocks_of_lines
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import Buffer, load, shown_path
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

NUMBERS = ("id", "position", "counted", "supersedes", "restores", "guideline", "offer", "milliseconds")
TEXTS = ("request", "topic", "doc", "assessor", "action", "state", "reason", "purpose")
LARGEST = sys.float_info.max
BATCH = 10_000
"""Rows of a log that are added together."""
CHUNK = 500
"""Requests in a query."""
_FIELDS = frozenset(FIELDS)
_values = itemgetter(*FIELDS)
_INSERT = f"INSERT INTO judgment ({', '.join(FIELDS)}) VALUES ({', '.join('?' * len(FIELDS))})"
_POOL = """INSERT INTO pool (topic, doc, position, source, added_at, audit) VALUES (?, ?, ?, ?, ?, '{}')
    ON CONFLICT (topic, doc) DO NOTHING"""


@dataclass(frozen=True)
class Imported:
    """What came in."""

    rows: int
    """Rows that are new."""
    known: int
    """Rows that the project already had."""
    assessors: int
    """Assessors that are new."""


@reads
def import_log(store: Store, path: str) -> Imported:
    """Add the rows of an exported log; rows whose request is known are left out, so that it can be imported twice."""
    origin, data = shown_path(path), load(path)
    done = store.database.write(lambda connection: _Import(store, connection, origin).add(data))
    if not done.rows and not done.known:
        raise DataError(origin, None, "holds no judgments, expected a log of a project, an object on each line")
    return done


class _Import:
    """Adds the rows of a log within a transaction, many at a time: all or none."""

    def __init__(self, store: Store, connection: Connection, origin: str) -> None:
        self._engine = store.database.engine
        self._run, self._run_many = connection.run, connection.run_many
        self._origin, self._now = origin, time.time()
        self._topics = {id for (id,) in self._run("SELECT id FROM topic")}
        self._names = {name for (name,) in self._run("SELECT name FROM assessor")}
        self._positions: dict[str, int] = {}
        """The number of the last row of each assessor."""
        ((self._last,),) = self._run("SELECT COALESCE(MAX(id), 0) FROM judgment")
        ((self._pool,),) = self._run("SELECT COALESCE(MAX(position), 0) FROM pool")
        self._numbers: dict[int, int] = {}
        """{id in the log: id in the project}."""
        self._superseded = {id for (id,) in self._run("SELECT supersedes FROM judgment WHERE supersedes IS NOT NULL")}
        self._added = self._known = self._new = 0

    def add(self, data: Buffer) -> Imported:
        """Add all lines."""
        batch: list[tuple[int, dict[str, Any]]] = []
        lines = (line for block in blocks_of_lines(data) for line in block.removesuffix(b"\n").split(b"\n"))
        for number, line in enumerate(lines, 1):
            if line.strip():
                batch.append((number, _row(line, self._origin, number)))
                if len(batch) == BATCH:
                    self._add(batch)
                    batch = []
        self._add(batch)
        if self._added and self._engine.words["counter"]:
            self._run(self._engine.words["counter"])
        return Imported(self._added, self._known, self._new)

    def _add(self, batch: Sequence[tuple[int, dict[str, Any]]]) -> None:
        old = self._requests([row["request"] for _, row in batch])
        rows, pool = [], []
        for number, row in batch:
            if row["topic"] not in self._topics:
                what = f"topic {shown(row['topic'])} is not in the project; add its topics first"
                raise DataError(self._origin, number, what)
            request, assessor = row["request"], row["assessor"]
            if request in old:
                self._numbers[row["id"]] = old[request]
                self._known += 1
                continue
            for name in ("supersedes", "restores"):
                if row[name] is not None:
                    if row[name] not in self._numbers:
                        what = f"{name} is {row[name]}, which is not the id of an earlier row"
                        raise DataError(self._origin, number, what)
                    given, row[name] = row[name], self._numbers[row[name]]
                    if name == "supersedes" and row[name] in self._superseded:
                        what = f"supersedes is {given}, which another row supersedes already"
                        raise DataError(self._origin, number, what)
            self._superseded.add(row["supersedes"])
            self._last += 1
            old[request] = self._numbers[row["id"]] = row["id"] = self._last
            row["position"] = self._position(assessor)
            row["offer"] = None
            if row["payload"] is not None:
                row["payload"] = json.dumps(row["payload"], ensure_ascii=False, sort_keys=True)
            if row["purpose"] in COUNTED:
                self._pool += 1
                pool.append((row["topic"], row["doc"], self._pool, row["purpose"], self._now))
            rows.append(_values(row))
        if rows:
            self._run_many(_POOL, pool)
            self._run_many(_INSERT, rows)
        self._added += len(rows)

    def _requests(self, requests: Sequence[str]) -> dict[str, int]:
        """{request: id} of those that the project has."""
        known: dict[str, int] = {}
        for start in range(0, len(requests), CHUNK):
            chunk = requests[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            known.update(self._run(f"SELECT request, id FROM judgment WHERE request IN ({marks})", chunk))
        return known

    def _position(self, assessor: str) -> int:
        """The order of an assessor's rows goes on after those that are there."""
        if assessor not in self._positions:
            if assessor not in self._names:
                put_assessor(self._run, assessor)
                self._names.add(assessor)
                self._new += 1
            ((last,),) = self._run("SELECT COALESCE(MAX(position), 0) FROM judgment WHERE assessor = ?", (assessor,))
            self._positions[assessor] = last
        self._positions[assessor] += 1
        return self._positions[assessor]


def _row(line: bytes, origin: str, number: int) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "; expected the log of a project; qrels need the name of their assessor" if number == 1 else ""
        raise DataError(origin, number, f"not valid JSON: {error}{hint}") from None
    if not isinstance(row, dict) or not row.keys() >= _FIELDS:
        absent = next(name for name in FIELDS if not isinstance(row, dict) or name not in row)
        raise DataError(origin, number, f"no {absent}, expected a row of the log of a project")
    for name in NUMBERS:
        value = row[name]
        if type(value) is int:
            if not -(2**62) < value < 2**62:
                raise DataError(origin, number, f"{name} is {shown(value)}, which is too large")
        elif value is not None or name in ("id", "counted"):
            raise DataError(origin, number, f"{name} is {shown(value)}, expected a whole number")
    for name in TEXTS:
        if type(row[name]) is not str:
            raise DataError(origin, number, f"{name} is {shown(row[name])}, expected text")
    if row["grade"] is not None and not (type(row["grade"]) in (int, float) and abs(row["grade"]) <= LARGEST):
        raise DataError(origin, number, f"grade is {shown(row['grade'])}, expected a number")
    try:
        row["judged_at"] = datetime.fromisoformat(row["judged_at"].replace("Z", "+00:00")).timestamp()
    except (ValueError, AttributeError, TypeError, OverflowError):
        raise DataError(origin, number, f"judged_at is {shown(row['judged_at'])}, expected a date") from None
    return row


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

    def change(connection: Connection) -> Imported:
        added, known, now = 0, 0, time.time()
        put_pool(connection, [PoolEntry(entry.topic, entry.doc, {}) for entry in entries])
        for entry in entries:
            name = f"{assessor}\0{entry.topic}\0{entry.doc}\0{entry.grade}"
            request = f"import-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:40]}"
            said = Entry(request, entry.topic, entry.doc, assessor, grade=float(entry.grade), reason="")
            if add_first(connection, said, overlap=settings.overlap, now=now) is None:  # known, or judged before
                if connection.run("SELECT 1 FROM judgment WHERE request = ?", (request,)):
                    known += 1
                    continue
                record(connection, said, overlap=settings.overlap, now=now)
            added += 1
        return Imported(added, known, new)

    return store.database.write(change)


def _add_assessors(store: Store, names: list[str]) -> int:
    known = {name for (name,) in store.database.read("SELECT name FROM assessor")}
    new = [name for name in dict.fromkeys(names) if name not in known]
    for name in new:
        add_account(store, name)
    return len(new)
