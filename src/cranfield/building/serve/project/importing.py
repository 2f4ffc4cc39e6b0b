"""Read a log back into a project: what `log` exports, or qrels that somebody judged elsewhere.

Lines of a log are read many at a time, by columns. If anything in a block is not as we write it, each of its lines is
looked at by itself, so that an error names its line.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import compress, repeat
from operator import itemgetter
from typing import Annotated, Any

from cranfield.building.serve.database.database import Connection
from cranfield.building.serve.database.schema import judgment_indexes, need_text
from cranfield.building.serve.project.accounts import add_account, put_assessor
from cranfield.building.serve.project.judging_modes import PoolEntry
from cranfield.building.serve.project.judgment_log import COUNTED, FIELDS, STATES, Entry, add_first, record
from cranfield.building.serve.project.store import Store, put_pool
from cranfield.collection.doors import reads
from cranfield.collection.linting.file_findings import blocks_of_lines
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import Buffer, load, release, shown_path
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

BLOCK = 1 << 16
"""Bytes of a log that are read together: few enough that their rows stay in the cache of the processor."""
NUMBERS = ("id", "position", "counted", "supersedes", "restores", "guideline", "offer", "milliseconds")
TEXTS = ("request", "topic", "doc", "assessor", "action", "state", "reason", "purpose")
CHOICES: dict[str, tuple[object, ...]] = {
    "action": ("judge", "undo"),
    "state": (*STATES, "none"),
    "purpose": (*COUNTED, "gold", "repeat"),
    "counted": (0, 1),
}
"""The values that a column can have."""
Columns = dict[str, Sequence[Any]]
"""{field: its values}, of some rows."""
_TYPES: dict[str, set[type]] = {
    **{name: {int, type(None)} for name in NUMBERS},
    **{name: {str} for name in (*TEXTS, "judged_at")},
    "id": {int},
    "counted": {int},
    "grade": {int, float, type(None)},
    "payload": {dict, type(None)},
}
_values = itemgetter(*FIELDS)


def _most(name: str) -> int:
    """Numbers are below this, and above its negative: what the column of the database can hold."""
    return 2**31 if name == "milliseconds" else 2**62


def log_blocks(data: Buffer, origin: str) -> Iterator[tuple[Sequence[int], Columns]]:
    """The rows of a log in parts, with the line of each row; times are seconds."""
    first = 1
    done = 0
    for block in blocks_of_lines(data, BLOCK):
        lines = block.removesuffix(b"\n").split(b"\n")
        columns = _together(block, lines)
        if columns is not None:
            yield range(first, first + len(lines)), columns
        else:
            rows = {n: _row(line, origin, n) for n, line in enumerate(lines, first) if line.strip()}
            if rows:
                yield list(rows), dict(zip(FIELDS, zip(*rows.values(), strict=True), strict=True))
        first += len(lines)
        done += len(block)
        release(data, done)


def _together(block: bytes, lines: Sequence[bytes]) -> Columns | None:
    """The rows of lines that are as we write them; None if one of them is not, or may not be."""
    try:
        rows = json.loads(f"[{b','.join(lines).decode()}]")
        if len(rows) != len(lines):
            return None
        columns: Columns = dict(zip(FIELDS, zip(*map(_values, rows), strict=True), strict=True))
        for name, column in columns.items():
            if not set(map(type, column)) <= _TYPES[name] or (
                name in CHOICES and not set(column).issubset(CHOICES[name])
            ):
                return None
        for name in NUMBERS:
            numbers = list(filter(None, columns[name]))
            if numbers and (max(numbers) >= _most(name) or min(numbers) <= -_most(name)):
                return None
        if not all(map(math.isfinite, filter(None, columns["grade"]))):
            return None
        if b"\\u" in block:
            for row in rows:
                need_text(row)
        columns["judged_at"] = [datetime.fromisoformat(text).timestamp() for text in columns["judged_at"]]
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, UsageError):
        return None
    return columns


def _row(line: bytes, origin: str, number: int) -> tuple[Any, ...]:
    """The row on a line; an error names the line and what is wrong."""
    try:
        row: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "; expected the log of a project; qrels need the name of their assessor" if number == 1 else ""
        raise DataError(origin, number, f"not valid JSON: {error}{hint}") from None
    if not isinstance(row, dict) or not row.keys() >= set(FIELDS):
        absent = next(name for name in FIELDS if not isinstance(row, dict) or name not in row)
        raise DataError(origin, number, f"no {absent}, expected a row of the log of a project")
    row = {name: row[name] for name in FIELDS}
    try:
        need_text(row)
    except UsageError as error:
        raise DataError(origin, number, str(error)) from None
    for name, value in row.items():
        if wrong := _wrong(name, value):
            raise DataError(origin, number, f"{name} is {shown(value)}, {wrong}")
    try:
        row["judged_at"] = datetime.fromisoformat(row["judged_at"]).timestamp()
    except (ValueError, OverflowError):
        raise DataError(origin, number, f"judged_at is {shown(row['judged_at'])}, expected a date") from None
    return tuple(row.values())


def _wrong(name: str, value: Any) -> str | None:
    """What is wrong with a value; None if nothing is."""
    if type(value) not in _TYPES[name]:
        expected = {"grade": "a number", "payload": "an object", "judged_at": "a date"}
        return f"expected {expected.get(name, 'text' if name in TEXTS else 'a whole number')}"
    if name in CHOICES and value not in CHOICES[name]:
        return f"must be one of {', '.join(map(str, CHOICES[name]))}"
    if name in NUMBERS and value is not None and not -_most(name) < value < _most(name):
        return "which is too large"
    if name == "grade" and value is not None:
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        return None if finite else "expected a number"
    return None


ROW = 300
"""About the bytes of a row of a log."""
CHUNK = 500
"""Requests in a query."""
LINKS = ("supersedes", "restores")
"""The columns that name another row."""
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


@operation
def import_judgments(
    store: Store,
    path: str,
    *,
    assessor: Annotated[str | None, about("Whose judgments the qrels are.")] = None,
) -> Imported:
    """Add the judgments in a log that was exported, or in qrels, as those of an assessor."""
    return import_log(store, path) if assessor is None else import_qrels(store, path, assessor)


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
        # A row that the project has is not inserted, so that a row which refers to it has to learn its number first
        if not _refers(columns) and self._insert(lines, columns):
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
        ids, links = columns["id"], {name: list(columns[name]) for name in LINKS}
        if not _refers(columns):
            return dict(zip(ids, range(self._last + 1, self._last + 1 + len(lines)), strict=True)), set(), {}
        numbers, superseded = dict[int, int](), set[int]()
        for at, id in enumerate(ids):
            for name, column in links.items():
                if (linked_id := column[at]) is not None:
                    column[at] = earlier = numbers.get(linked_id) or self._numbers.get(linked_id)
                    if earlier is None:
                        what = f"{name} is {linked_id}, which is not the id of an earlier row"
                        raise DataError(self._origin, lines[at], what)
                    if name == "supersedes" and (earlier in superseded or earlier in self._superseded):
                        what = f"supersedes is {linked_id}, which another row supersedes already"
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


def _refers(columns: Columns) -> bool:
    """Does one of these rows name another row of the log?"""
    return any(columns[name].count(None) < len(columns[name]) for name in LINKS)


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
    unknown = sorted({entry.topic for entry in entries}.difference(store.topic_ids()))
    if unknown:
        raise DataError(path, None, f"topic {shown(unknown[0])} is not in the project; add its topics first")
    new = not store.database.read("SELECT 1 FROM assessor WHERE name = ?", assessor)
    if new:
        add_account(store, assessor)

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
        return Imported(added, known, int(new))

    return store.database.write(change)
