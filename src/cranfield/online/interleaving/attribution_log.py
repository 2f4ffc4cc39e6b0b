"""Logs of interleaved lists: attribution records with clicks, as JSON-lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from cranfield.collection.doors import reads
from cranfield.collection.source import PathLike, load, shown_path, text_of, write_bytes
from cranfield.collection.tables.table_schema import Numbers, Schema, Words
from cranfield.errors import DataError, UsageError
from cranfield.notes import method_note
from cranfield.online.interleaving.interleaved import Interleaved, credit
from cranfield.online.interleaving.mixing_methods import MixingMethod
from cranfield.online.interleaving.preference_counts import PreferenceCounts, count_preferences
from cranfield.text import counted, listed, shown

EXPECTED = "an attribution record as `Interleaved.to_json` writes it"
CLICK_COLUMNS = {
    "query_id": ("query_id", "qid", "impression", "impression_id", "id"),
    "doc": ("doc", "doc_id", "docno", "docid", "document", "object_id"),
    "position": ("position", "rank", "ordinal"),
    "action": ("action", "action_name", "event"),
}
"""Names of the columns of a file of clicks, by role."""
CLICKS = Schema(
    "query_id doc, with a header", layouts=(), any_of=("doc", "position"), may_be_empty=True, comments=True,
    query_id=Words(CLICK_COLUMNS["query_id"], may_be_empty=True),
    doc=Words(CLICK_COLUMNS["doc"], may_be_empty=True, default=""),
    position=Numbers(CLICK_COLUMNS["position"], whole=True, blank=0, default=0),
    action=Words(CLICK_COLUMNS["action"], blank="click", default="click"),
)  # fmt: skip


@dataclass(frozen=True)
class LoggedList:
    """A list that was shown: its attribution record, and who saw it."""

    record: Interleaved
    query_id: str | None = None
    """The id of this impression, by which clicks are joined."""
    user: str | None = None
    query: str | None = None
    clicks: tuple[str | int, ...] | None = None
    """Clicked documents or positions from 1 on; None if the clicks are logged elsewhere."""
    line: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The record with who saw it and what was clicked, ready for JSON."""
        more = {name: getattr(self, name) for name in ("query_id", "user", "query")}
        entry = {name: value for name, value in more.items() if value is not None} | self.record.to_dict()
        return entry if self.clicks is None else entry | {"clicks": list(self.clicks)}


def write_records(path: PathLike, lists: Iterable[LoggedList | Interleaved]) -> int:
    """Write lists as JSON-lines, compressed if the name says so (`.gz`); return their number."""
    lines = [json.dumps(logged.to_dict(), ensure_ascii=False) for logged in lists]
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return len(lines)


@reads
def read_records(path: PathLike) -> Iterator[LoggedList]:
    """The lists of a JSON-lines file: attribution records, with `query_id`, `user`, `query` and `clicks` if known."""
    origin = shown_path(os.fspath(path))
    empty = True
    for number, line in enumerate(text_of(load(path), origin).splitlines(), 1):
        if not line.strip():
            continue
        empty = False
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise DataError(origin, number, f"not valid JSON ({error}), expected {EXPECTED}") from None
        if not isinstance(entry, dict):
            raise DataError(origin, number, f"{shown(entry)}, expected {EXPECTED}")
        try:
            record = Interleaved.from_dict(entry)
        except UsageError as error:
            raise DataError(origin, number, f"{error}, expected {EXPECTED}") from None
        clicks = entry.get("clicks")
        if clicks is not None and not isinstance(clicks, list):
            raise DataError(origin, number, f"'clicks' is {shown(clicks)}, expected a list of documents or positions")
        for click in clicks or ():
            if not isinstance(click, str) and (not isinstance(click, int) or click < 1):
                raise DataError(origin, number, f"click {shown(click)}, expected a document, or a position from 1 on")
        ids = {name: str(entry[name]) for name in ("query_id", "user", "query") if entry.get(name) is not None}
        yield LoggedList(record, **ids, clicks=None if clicks is None else tuple(clicks), line=number)
    if empty:
        raise DataError(origin, None, f"is empty, expected lines that hold {EXPECTED}")


def read_clicks(path: PathLike) -> dict[str, list[str | int]]:
    """{query_id: clicked documents or positions} of a file: JSON-lines, Parquet, or a table with a header.

    Columns: `query_id`, and `doc` or `position` (from 1 on). If there is a column `action`, only its clicks count.
    """
    rows = CLICKS.read(path, "clicks")
    clicks: dict[str, list[str | int]] = {}
    for row, (query_id, doc, position, action) in enumerate(rows):
        if action.lower() != "click":
            continue
        if not query_id:
            raise rows.fault(row, "a click without a query_id")
        if not doc and position < 1:
            message = f"a click without a document, and position {position:g}, expected a position from 1 on"
            raise rows.fault(row, message)
        clicks.setdefault(query_id, []).append(doc or int(position))
    return clicks


@dataclass
class _Outcomes:
    """Credit, user and query of each impression, as they are collected."""

    systems: tuple[str, ...] = ()
    credit: list[list[float]] = field(default_factory=list)
    users: list[str | None] = field(default_factory=list)
    queries: list[str | None] = field(default_factory=list)
    methods: dict[str, int] = field(default_factory=dict)


def count_logged(
    records: PathLike | Iterable[LoggedList], clicks: PathLike | Mapping[str, Any] | None = None
) -> PreferenceCounts:
    """Count who won each logged list.

    records: a file of JSON-lines, or lists. clicks: a file, or {query_id: clicked documents or positions}; None if the
    records hold their clicks. A list without clicks is a tie. Clicks on documents that were not shown, and clicks of
    unknown lists, are left out and counted in the notes.
    """
    origin, lists = "records", records
    if isinstance(records, str | os.PathLike):
        origin, lists = shown_path(os.fspath(records)), read_records(records)
    known: Mapping[str, Any] | None = clicks if clicks is None or isinstance(clicks, Mapping) else read_clicks(clicks)
    out = _Outcomes()
    seen: dict[str, int] = {}
    not_shown: list[str] = []
    for logged in cast(Iterable[LoggedList], lists):
        _add(out, logged, clicks_of(logged, known, origin, seen), not_shown, origin)
    if not out.credit:
        raise DataError(origin, None, f"no lists, expected lines that hold {EXPECTED}")
    notes = [
        method_note(f"method: {listed(out.methods)}")
        if len(out.methods) == 1
        else method_note(f"methods: {listed(out.methods)}")
    ]
    if not_shown:
        notes.append(
            f"{counted(len(not_shown), 'click')} on documents that were not shown left out: {listed(not_shown)}"
        )
    if known is not None:
        unknown = [name for name in known if name not in seen]
        if unknown:
            number = counted(sum(len(known[name]) for name in unknown), "click")
            notes.append(
                f"{number} of lists without a record left out, such as of {listed(map(repr, unknown), most=3)}"
            )
    clicked = sum(any(row) for row in out.credit)
    notes.append(f"{counted(clicked, 'list')} of {len(out.credit):,} with a click that counts")
    users, queries = (_all_known(names) for names in (out.users, out.queries))
    for what, names, every in (("user", out.users, users), ("query", out.queries, queries)):
        lacking = sum(name is None for name in names)
        if every is None and lacking < len(names):
            notes.append(f"{counted(lacking, 'list')} without a {what}, so no counts by {what}")
    return count_preferences(out.systems, np.array(out.credit), users, queries, notes)


def clicks_of(
    logged: LoggedList, known: Mapping[str, Any] | None, origin: str, seen: dict[str, int]
) -> Iterable[str | int]:
    """The clicks on a list, from its record or from those that are known; `seen` are the lines of earlier lists."""
    if logged.query_id is not None:
        if logged.query_id in seen:
            first = seen[logged.query_id]
            message = f"query_id {logged.query_id!r} is also on line {first}; each list must be logged once"
            raise DataError(origin, logged.line, message)
        seen[logged.query_id] = logged.line
    if known is None:
        if logged.clicks is None:
            raise DataError(origin, logged.line, "a record without 'clicks'; log them in the record, or give clicks=")
        return logged.clicks
    if logged.query_id is None:
        raise DataError(origin, logged.line, "a record without 'query_id', so its clicks cannot be found")
    return known.get(logged.query_id, ())  # type: ignore[no-any-return]


def _add(out: _Outcomes, logged: LoggedList, clicks: Iterable[str | int], not_shown: list[str], origin: str) -> None:
    record = logged.record
    out.systems = out.systems or record.systems
    if set(record.systems) != set(out.systems) or len(record.systems) != len(out.systems):
        raise DataError(
            origin,
            logged.line,
            f"systems {listed(record.systems)}, but {listed(out.systems)} before; analyse them apart",
        )
    kept: list[str | int] = []
    for click in clicks:
        there = click in record.documents if isinstance(click, str) else 1 <= click <= len(record.documents)
        kept += [click] if there else []
        not_shown += [] if there else [str(click)]
    values = credit(record, kept)
    out.credit.append([values[name] for name in out.systems])
    out.users.append(logged.user)
    out.queries.append(logged.query)
    name = str(MixingMethod.of(record.method))
    out.methods[name] = out.methods.get(name, 0) + 1


def _all_known(names: list[str | None]) -> list[str] | None:
    known = [name for name in names if name is not None]
    return known if len(known) == len(names) else None
