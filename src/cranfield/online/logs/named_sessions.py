"""Sessions that a log names, in the rows of its queries or in the events of a query; and which sessions to use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cranfield import check
from cranfield.online.logs.log import Log
from cranfield.text import counted

AUTO = "auto"
WAYS = (AUTO, "silence", "continuity", "given")
"""How sessions are found.

`given`: as the log names them, in the row of a query or in its events. `auto`: given if the row of every query names
one, or else by silence: sessions of events alone may leave out users whose events have none.
"""


@dataclass(frozen=True, eq=False)
class ChosenSessions:
    """How the sessions of a log are found, and the log; if they are given, with all that it says about them."""

    log: Log
    by: str
    """`silence`, `continuity` or `given`."""
    note: str
    """What the sessions are, for a reader of numbers."""


def choose_sessions(log: Log, by: str, silence: float) -> ChosenSessions:
    """How the sessions of a log are found: as `by` says, or for `auto` as the log allows."""
    check.one_of("sessions", WAYS, by=by)
    check.positive("sessions", silence=silence)
    without, queries = _unnamed(log, log.queries) if by == AUTO else (0, 0)
    way = by if by != AUTO else "silence" if without or not queries else "given"
    log = with_event_sessions(log) if way == "given" else log
    return ChosenSessions(log, way, session_note(way, silence, without if without < queries else 0, queries))


def session_note(way: str, silence: float, without: int = 0, queries: int = 0) -> str:
    """What the sessions of a log are.

    >>> session_note("silence", 30)
    'sessions: a new one after 30 minutes without a query or an event'
    """
    if way == "given":
        return "sessions: as the log names them"
    ends = f"after {silence:g} minutes without a query or an event"
    if way == "continuity":
        return f"sessions: a new one {ends}, or with a query that shares no word with the one before"
    some = f", as {without:,} of {counted(queries, 'query', 'queries')} name none" if without else ""
    return f"sessions: a new one {ends}{some}"


def with_event_sessions(log: Log) -> Log:
    """The log with sessions for queries that have none, from their events, and for events, from their query.

    User Behavior Insights writes sessions to events only. A query whose events are in several sessions is in that of
    its first event.
    """
    import narwhals as nw

    (queryless, _), (eventless, events) = (_unnamed(log, frame) for frame in (log.queries, log.events))
    queries = log.queries
    if queryless and eventless < events:
        queries = log.engine.keep(_filled(queries, _first_sessions(log.events)))
    if not eventless:
        return replace(log, queries=queries)
    named = queries.filter(~nw.col("session").is_null(), ~nw.col("query_id").is_null())
    of_queries = named.select("user", "query_id", nw.col("session").alias("_session"))
    return replace(log, queries=queries, events=log.engine.keep(_filled(log.events, of_queries)))


def _unnamed(log: Log, frame: Any) -> tuple[int, int]:
    """How many rows have no session, and how many rows there are."""
    import narwhals as nw

    counts = frame.select(nw.col("session").count().alias("named"), nw.len().alias("rows"))
    row = log.engine.fetch(counts).to_pylist()[0]
    return int(row["rows"]) - int(row["named"]), int(row["rows"])


def _first_sessions(events: Any) -> Any:
    """`user`, `query_id` and the `_session` of the first event of each query that names one."""
    import narwhals as nw

    keys = ("user", "query_id")
    known = events.filter(*(~nw.col(name).is_null() for name in (*keys, "session"))).select(*keys, "session", "time")
    known = known.with_columns(nw.col("time").min().over(*keys).alias("_first"))
    first = nw.when(nw.col("time") == nw.col("_first")).then(nw.col("session")).min().alias("_earliest")
    groups = known.group_by(*keys).agg(first, nw.col("session").min())
    return groups.select(*keys, nw.coalesce("_earliest", "session").alias("_session"))


def _filled(rows: Any, sessions: Any) -> Any:
    """Rows with the session of their query where they have none."""
    import narwhals as nw

    joined = rows.join(sessions, on=["user", "query_id"], how="left")
    return joined.with_columns(nw.coalesce("session", "_session").alias("session")).select(*rows.columns)
