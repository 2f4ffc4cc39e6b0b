"""Read a log back into a project: what `log` exports, or qrels that somebody judged elsewhere."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, repeat

from cranfield.building.serve.accounts import add_account, put_assessor
from cranfield.building.serve.database import Connection
from cranfield.building.serve.judgment_log import COUNTED, Entry, add_first, record
from cranfield.building.serve.log_file import Columns, log_blocks
from cranfield.building.serve.project_parts import PoolEntry
from cranfield.building.serve.schema import judgment_indexes
from cranfield.building.serve.store import Store, put_pool
from cranfield.collection.doors import reads
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import Buffer, load, shown_path
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

ROW = 300
"""About the bytes of a row of a log."""
CHUNK = 500
"""Requests in a query."""
_POOL = """INSERT INTO pool (topic, doc, position, source, added_at, audit) VALUES (?, ?, ?, ?, ?, '{}')
    ON CONFLICT (topic, doc) DO NOTHING"""
_TWICE = """SELECT MAX(id) FROM judgment WHERE supersedes IS NULL AND purpose <> 'repeat'
    GROUP BY topic, doc, assessor HAVING COUNT(*) > 1 LIMIT 1"""
"""A judgment of a document that the same assessor has judged before, and that does not say so."""


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
        with self._without_indexes(self._last < len(data) // ROW):
            for lines, columns in log_blocks(data, self._origin):
                self._add(lines, columns)
        if self._added:
            if self._engine.words["counter"]:
                self._run(self._engine.words["counter"])
            if twice := self._run(_TWICE):
                self._refuse(data, twice[0][0])
        return Imported(self._added, self._known, self._new)

    @contextmanager
    def _without_indexes(self, many: bool) -> Iterator[None]:
        """Make the indexes of judgments again after many rows, which takes less time than to keep them up to date."""
        indexes = judgment_indexes() if many else {}
        for name in indexes:
            self._run(f"DROP INDEX {name}")
        yield
        for statement in indexes.values():
            self._run(statement)

    def _add(self, lines: Sequence[int], columns: Columns) -> None:
        """Add rows; those that the project has, or that come twice, are left out."""
        if unknown := set(columns["topic"]) - self._topics:
            line, topic = next(pair for pair in zip(lines, columns["topic"], strict=True) if pair[1] in unknown)
            what = f"topic {shown(topic)} is not in the project; add its topics first"
            raise DataError(self._origin, line, what)
        self._add_people(lines, columns["assessor"])
        if self._insert(lines, columns):
            return
        requests, ids = columns["request"], columns["id"]
        known, first = self._requests(requests), {request: at for at, request in reversed(list(enumerate(requests)))}
        new = [request not in known and first[request] == at for at, request in enumerate(requests)]
        pairs = list(zip(ids, requests, strict=True))
        self._numbers.update((id, known[request]) for id, request in pairs if request in known)
        if any(new):
            rows: Columns = {name: list(compress(column, new)) for name, column in columns.items()}
            self._insert(list(compress(lines, new)), rows)
        twice = list(compress(pairs, (not is_new for is_new in new)))
        known = self._requests([request for _, request in twice])
        self._numbers.update((id, known[request]) for id, request in twice)
        self._known += len(twice)

    def _add_people(self, lines: Sequence[int], assessors: Sequence[str]) -> None:
        for name in dict.fromkeys(assessors):
            if name in self._positions:
                continue
            if name not in self._names:
                try:
                    put_assessor(self._run, name)
                except UsageError as error:
                    raise DataError(self._origin, lines[assessors.index(name)], f"assessor: {error}") from None
                self._names.add(name)
                self._new += 1
            ((last,),) = self._run("SELECT COALESCE(MAX(position), 0) FROM judgment WHERE assessor = ?", (name,))
            self._positions[name] = last  # the order of an assessor's rows goes on after those that are there

    def _insert(self, lines: Sequence[int], columns: Columns) -> bool:
        """Add rows that are new. False if the project has one of them: then nothing was changed."""
        count, begin = len(lines), self._last + 1
        numbers, superseded, linked = self._linked(lines, columns)
        positions, places = dict(self._positions), []
        for assessor in columns["assessor"]:
            positions[assessor] += 1
            places.append(positions[assessor])
        values = {**columns, **linked, "id": range(begin, begin + count), "position": places}
        if any(columns["payload"]):
            values["payload"] = [_text(payload) for payload in columns["payload"]]
        del values["offer"]  # the offers of before are not in a log
        for name in ("payload", "supersedes", "restores", "guideline"):
            if values[name].count(None) == count:  # to leave NULL out takes less time than to write it
                del values[name]
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO judgment ({', '.join(values)}) VALUES ({marks}) ON CONFLICT (request) DO NOTHING"
        self._run("SAVEPOINT rows")
        self._run_many(statement, list(zip(*values.values(), strict=True)))
        all_new = self._run("SELECT COUNT(*) FROM judgment WHERE id >= ?", (begin,)) == [(count,)]
        if not all_new:
            self._run("ROLLBACK TO SAVEPOINT rows")
        self._run("RELEASE SAVEPOINT rows")
        if all_new:
            purposes, order = columns["purpose"], range(self._pool + 1, self._pool + count + 1)
            pool = zip(columns["topic"], columns["doc"], order, purposes, repeat(self._now, count), strict=True)
            self._run_many(_POOL, list(compress(pool, map(COUNTED.__contains__, purposes))))
            self._pool += count
            self._last += count
            self._added += count
            self._positions = positions
            self._numbers.update(numbers)
            self._superseded |= superseded
        return all_new

    def _linked(self, lines: Sequence[int], columns: Columns) -> tuple[dict[int, int], set[int], Columns]:
        """{id in the log: new id} of these rows, the rows that they replace, and the columns that name other rows."""
        ids, links = columns["id"], {name: list(columns[name]) for name in ("supersedes", "restores")}
        if all(column.count(None) == len(lines) for column in links.values()):
            return dict(zip(ids, range(self._last + 1, self._last + 1 + len(lines)), strict=True)), set(), {}
        numbers, superseded = dict[int, int](), set[int]()
        for at, id in enumerate(ids):
            for name, column in links.items():
                if (given := column[at]) is not None:
                    column[at] = earlier = numbers.get(given) or self._numbers.get(given)
                    if earlier is None:
                        what = f"{name} is {given}, which is not the id of an earlier row"
                        raise DataError(self._origin, lines[at], what)
                    if name == "supersedes" and (earlier in superseded or earlier in self._superseded):
                        what = f"supersedes is {given}, which another row supersedes already"
                        raise DataError(self._origin, lines[at], what)
            superseded.add(links["supersedes"][at])
            numbers[id] = self._last + 1 + at
        return numbers, superseded - {None}, dict(links)

    def _requests(self, requests: Sequence[str]) -> dict[str, int]:
        """{request: id} of those that the project has."""
        known: dict[str, int] = {}
        for start in range(0, len(requests), CHUNK):
            chunk = requests[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            known.update(self._run(f"SELECT request, id FROM judgment WHERE request IN ({marks})", chunk))
        return known

    def _refuse(self, data: Buffer, id: int) -> None:
        """Raise the error for a judgment of a document that the assessor has judged before."""
        ((request, topic, doc, assessor),) = self._run(
            "SELECT request, topic, doc, assessor FROM judgment WHERE id = ?", (id,)
        )
        what = f"{shown(assessor)} has judged document {shown(doc)} of topic {shown(topic)} before, in another row"
        for lines, columns in log_blocks(data, self._origin):
            if request in columns["request"]:
                line = lines[list(columns["request"]).index(request)]
                raise DataError(self._origin, line, f"{what}, which this row does not supersede")
        raise DataError(self._origin, None, what)


def _text(payload: object) -> str | None:
    return None if payload is None else json.dumps(payload, ensure_ascii=False, sort_keys=True)


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
