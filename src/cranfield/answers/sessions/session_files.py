"""Sessions: the queries of one user with one need, their lists and clicks; reading and writing them as JSON-lines."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from cranfield import check
from cranfield.collection.doors import reads
from cranfield.collection.file_formats.structured import parsed_json
from cranfield.collection.source import PathLike, check_content, head_of, load, shown_path, text_of, write_bytes
from cranfield.collection.tables.cells import number_or_none
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed, shown

FIELDS = ("session", "topic", "query", "text", "time", "list", "clicks")
CLICK_FIELDS = ("doc", "rank", "time", "end")
NOT_KNOWN = ("", "na", "n/a", "nan", "null", "none", "unknown", "-")
"""What files write in place of a time that they do not know; the tracks write NA."""
CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)", re.ASCII)


class Click(NamedTuple):
    """A click on a document of a list."""

    rank: int
    time: float | None = None
    """In seconds."""
    end: float | None = None


@dataclass(frozen=True)
class Query:
    """A query of a session: its text, the documents that were shown, from the top, and the clicks."""

    documents: tuple[str, ...]
    clicks: tuple[Click, ...] = ()
    text: str = ""
    time: float | None = None


@dataclass(frozen=True)
class Session:
    """The queries of one user with one need, in the order in which they were asked."""

    name: str
    topic: str | None
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Sessions:
    """The sessions of a file, and notes about what was wrong with some of them."""

    sessions: tuple[Session, ...]
    notes: tuple[str, ...] = ()
    origin: str = "sessions"

    def __len__(self) -> int:
        return len(self.sessions)

    def named(self, name: str) -> Session:
        """The session with this name."""
        for session in self.sessions:
            if session.name == name:
                return session
        raise check.nearest(name, [session.name for session in self.sessions], "session")


@dataclass
class Faults:
    """What a reader found and went on with, counted, to be told in notes."""

    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, place: str) -> None:
        self.places.setdefault(what, []).append(place)

    def notes(self) -> tuple[str, ...]:
        return tuple(f"{len(places):,} × {what}: {listed(places, 3)}" for what, places in self.places.items())


UNKNOWN = "click on a document that its list does not show, left out"
EARLY = "click with a time before that of its query; clicks are used in order of time"
BACKWARDS = "click that ends before it starts; its end is left out"
DISORDER = "query with a time before that of the query above it; queries stay in the order of their numbers"
REPEATED = "document that appears twice in one list, the second left out"
EMPTY = "query without documents"
TIMELESS = "{} that is {}, which is not known"
NO_TOPIC = "session without a topic, which cannot be judged"


def seconds(value: Any) -> float | None:
    """A time in seconds: a number, or a clock such as 10:20:55.4; None if it is not a time.

    >>> seconds("00:01:30.5"), seconds(12), seconds("soon")
    (90.5, 12.0, None)
    """
    if type(value) is int:
        return float(value)
    if isinstance(value, str) and (clock := CLOCK.fullmatch(value.strip())):
        return 3600.0 * int(clock[1]) + 60.0 * int(clock[2]) + float(clock[3])
    number = number_or_none(value)
    return number if number is not None and math.isfinite(number) else None


def is_known(value: Any) -> bool:
    """Whether a time is given: not None, and not a word such as NA.

    >>> is_known("12.5"), is_known("NA"), is_known(None)
    (True, False, False)
    """
    return not (value is None or (isinstance(value, str) and value.strip().lower() in NOT_KNOWN))


def made_query(
    documents: Sequence[str], clicks: Iterable[Click], text: str, time: float | None, place: str, faults: Faults
) -> Query:
    """A query whose clicks are checked and sorted by time; what is wrong with them is counted."""
    kept: list[Click] = []
    for click in clicks:
        if not 1 <= click.rank <= len(documents):
            faults.add(UNKNOWN, place)
            continue
        if time is not None and click.time is not None and click.time < time:
            faults.add(EARLY, place)
        if click.end is not None and click.time is not None and click.end < click.time:
            faults.add(BACKWARDS, place)
            click = click._replace(end=None)
        kept.append(click)
    if all(click.time is not None for click in kept):
        kept.sort(key=lambda click: click.time or 0.0)
    if not documents:
        faults.add(EMPTY, place)
    return Query(tuple(documents), tuple(kept), text, time)


def made_session(name: str, topic: str | None, queries: Sequence[Query], place: str, faults: Faults) -> Session:
    """A session; queries whose times go backwards, and sessions without a topic, are counted."""
    times = [query.time for query in queries if query.time is not None]
    for before, after in pairwise(times):
        if after < before:
            faults.add(DISORDER, place)
    if topic is None:
        faults.add(NO_TOPIC, place)
    return Session(name, topic, tuple(queries))


@reads
def read_sessions(path: PathLike) -> Sessions:
    """Sessions from a file: JSON-lines, or XML of the TREC Session tracks; the content decides.

    JSON-lines have an object for each query: `session`, `topic`, `query` (its number), `text`, `time` (seconds, or a
    clock such as 10:20:55), `list` (documents from the top) and `clicks`, each with `doc` or `rank`, `time` and `end`.
    Only `session`, `query` and `list` are needed.
    """
    from cranfield.answers.sessions.trec_sessions import trec_sessions

    origin = shown_path(os.fspath(path))
    buffer = load(path)
    if not len(buffer):
        raise DataError(origin, None, "is empty")
    head = head_of(buffer).lstrip()
    if head.startswith((b"<", b"\xef\xbb\xbf<")):
        return trec_sessions(text_of(buffer, origin), origin)
    check_content(head, origin)
    return _from_lines(text_of(buffer, origin), origin)


def _from_lines(text: str, origin: str) -> Sessions:
    faults = Faults()
    queries: dict[str, dict[int, Query]] = {}
    topics: dict[str, str | None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        record = parsed_json(line, origin, number)
        if not isinstance(record, dict):
            raise DataError(origin, number, f"is {shown(record)}, expected an object for a query of a session")
        _check_fields(record, FIELDS, ("session", "query", "list"), origin, number)
        name = _name(record["session"], "session", origin, number)
        topic = None if record.get("topic") in (None, "") else _name(record["topic"], "topic", origin, number)
        asked = record["query"]
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
            raise DataError(origin, number, f"query is {shown(asked)}, expected its number in the session: 1, 2, ...")
        if topics.setdefault(name, topic) != topic:
            message = f"session {name!r} has topic {shown(topic)} here, but {shown(topics[name])} above"
            raise DataError(origin, number, f"{message}; a session has one topic")
        if asked in queries.setdefault(name, {}):
            raise DataError(origin, number, f"session {name!r} has query {asked} twice; number its queries 1, 2, ...")
        queries[name][asked] = _query_of(record, f"line {number}", origin, number, faults)
    if not queries:
        raise DataError(origin, None, "holds no sessions")
    made = [
        made_session(name, topics[name], [asked[at] for at in sorted(asked)], f"session {name}", faults)
        for name, asked in queries.items()
    ]
    return Sessions(tuple(made), faults.notes(), origin)


def _query_of(record: Mapping[str, Any], place: str, origin: str, line: int, faults: Faults) -> Query:
    documents = record["list"]
    if not isinstance(documents, list):
        raise DataError(origin, line, f'list is {shown(documents)}, expected documents: ["d1", "d2"]')
    names = [doc if isinstance(doc, str) and doc else _name(doc, "list", origin, line) for doc in documents]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(origin, line, f"document {twice!r} appears twice in one list")
    clicks = record.get("clicks") or []
    if not isinstance(clicks, list):
        raise DataError(origin, line, f"clicks is {shown(clicks)}, expected a list")
    made = [_click_of(click, names, origin, line, faults) for click in clicks]
    text = record.get("text")
    time = _time(record.get("time"), "time", origin, line, faults)
    return made_query(names, made, "" if text is None else str(text), time, place, faults)


def _click_of(click: Any, names: Sequence[str], origin: str, line: int, faults: Faults) -> Click:
    if not isinstance(click, dict):
        raise DataError(
            origin, line, f'a click is {shown(click)}, expected an object such as {{"doc": "d1", "time": 3}}'
        )
    _check_fields(click, CLICK_FIELDS, (), origin, line)
    if ("doc" in click) == ("rank" in click):
        raise DataError(origin, line, f"a click is {shown(click)}, expected either doc or rank in it")
    time = _time(click.get("time"), "time", origin, line, faults)
    end = _time(click.get("end"), "end", origin, line, faults)
    if "doc" in click:
        doc = _name(click["doc"], "doc", origin, line)
        return Click(names.index(doc) + 1 if doc in names else 0, time, end)
    rank = click["rank"]
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise DataError(origin, line, f"the rank of a click is {shown(rank)}, expected a whole number, 1 or above")
    return Click(rank, time, end)


def _check_fields(
    record: Mapping[str, Any], known: Sequence[str], needed: Sequence[str], origin: str, line: int
) -> None:
    for name in record:
        if name not in known:
            raise DataError(origin, line, f"{check.nearest(name, known, 'field')}")
    for name in needed:
        if name not in record:
            raise DataError(origin, line, f"no field {name!r}; a query has {', '.join(known)}")


def _name(value: Any, what: str, origin: str, line: int) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise DataError(origin, line, f"{what} is {shown(value)}, expected a name")
    return str(value).strip()


def _time(value: Any, what: str, origin: str, line: int, faults: Faults) -> float | None:
    if not is_known(value):
        if value:
            faults.add(TIMELESS.format(what, value), f"line {line}")
        return None
    time = seconds(value)
    if time is None:
        raise DataError(origin, line, f"{what} is {shown(value)}, expected seconds or a clock such as 10:20:55")
    return time


def write_sessions(path: PathLike, sessions: Sessions | Iterable[Session]) -> None:
    """Write sessions as JSON-lines, as `read_sessions` reads them."""
    every = sessions.sessions if isinstance(sessions, Sessions) else tuple(sessions)
    if not every:
        raise UsageError(f"no sessions to write to {shown_path(os.fspath(path))}")
    lines = [json.dumps(record, ensure_ascii=False) for session in every for record in _records(session)]
    write_bytes(path, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _records(session: Session) -> Iterable[dict[str, Any]]:
    for number, query in enumerate(session.queries, 1):
        record: dict[str, Any] = {"session": session.name, "topic": session.topic, "query": number}
        record |= {"text": query.text or None, "time": query.time, "list": list(query.documents)}
        clicks = [{"rank": click.rank, "time": click.time, "end": click.end} for click in query.clicks]
        record["clicks"] = [{key: value for key, value in click.items() if value is not None} for click in clicks]
        yield {key: value for key, value in record.items() if value is not None}


def summary_note(sessions: Sessions) -> str:
    """How much a file holds.

    >>> summary_note(Sessions((Session("s", "1", (Query(("d1",), (Click(1),)),)),)))
    '1 session, 1 query, 1 click'
    """
    asked = [query for session in sessions.sessions for query in session.queries]
    clicks = sum(len(query.clicks) for query in asked)
    parts = (counted(len(sessions), "session"), counted(len(asked), "query", "queries"), counted(clicks, "click"))
    return ", ".join(parts)
