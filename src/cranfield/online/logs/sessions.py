r"""Sessions: queries and events of a user that belong together.

By silence, a session ends where a user does nothing for 30 minutes. By continuity, it also ends where a query has no
word in common with the query before. Or the log names its sessions; these are used by default if every query has one.

Queries with the same time are in the order of their ids, and before events, so that every engine finds the same
sessions. Events with the same time are in the same session in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.declared.operation import about, operation
from cranfield.errors import DataError
from cranfield.notes import method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import nw
from cranfield.online.logs.log import EVENTS, QUERIES, Log, number_users
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.text import counted

AUTO = "auto"
WAYS = (AUTO, "silence", "continuity", "given")
"""How sessions are found.

`given`: as the log names them, in the row of a query or in its events. `auto`: given if the row of every query names
one, or else by silence: sessions of events alone may leave out users whose events have none.
"""
SessionRule = Annotated[
    str,
    about(
        "How sessions are found: {names}. auto: as the log names them if it does so for every query, or by silence.",
        choices=WAYS,
        spelled="--sessions HOW",
    ),
]
END_OF_SESSION = "A session ends after this many minutes without a query or an event."
Silence = Annotated[float, about(END_OF_SESSION, above=0, spelled="--silence MINUTES")]
RareSilence = Annotated[float, about(END_OF_SESSION, above=0, spelled="--silence MINUTES", rare=True)]


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
        return method_note("sessions: as the log names them")
    ends = f"after {silence:g} minutes without a query or an event"
    if way == "continuity":
        return method_note(f"sessions: a new one {ends}, or with a query that shares no word with the one before")
    some = f", as {without:,} of {counted(queries, 'query', 'queries')} name none" if without else ""
    return method_note(f"sessions: a new one {ends}{some}")


def with_event_sessions(log: Log) -> Log:
    """The log with sessions for queries that have none, from their events, and for events, from their query.

    User Behavior Insights writes sessions to events only. A query whose events are in several sessions is in that of
    its first event.
    """
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
    counts = frame.select(nw.col("session").count().alias("named"), nw.len().alias("rows"))
    row = log.engine.row(counts)
    return int(row["rows"]) - int(row["named"]), int(row["rows"])


def _first_sessions(events: Any) -> Any:
    """`user`, `query_id` and the `_session` of the first event of each query that names one."""
    keys = ("user", "query_id")
    known = events.filter(*(~nw.col(name).is_null() for name in (*keys, "session"))).select(*keys, "session", "time")
    known = known.with_columns(nw.col("time").min().over(*keys).alias("_first"))
    first = nw.when(nw.col("time") == nw.col("_first")).then(nw.col("session")).min().alias("_earliest")
    groups = known.group_by(*keys).agg(first, nw.col("session").min())
    return groups.select(*keys, nw.coalesce("_earliest", "session").alias("_session"))


def _filled(rows: Any, sessions: Any) -> Any:
    """Rows with the session of their query where they have none."""
    joined = rows.join(sessions, on=["user", "query_id"], how="left")
    return joined.with_columns(nw.coalesce("session", "_session").alias("session")).select(*rows.columns)


FIRST, LAST = "first of session", "last of session"
"""Columns of stretches that `mark_sessions` adds."""
SESSION = "session"
"""The column that identifies a session of a user: the time of its start."""


def mark_sessions(rows: Any, silence: int, engine: Engine, following: Mapping[str, str] | None = None) -> Any:
    """Stretches with whether each is the first and the last one of a session; kept by the engine.

    A stretch begins a session if all earlier ones of the user ended longer ago than the silence, in microseconds. Of
    stretches that start together, any may be the first: they are in the same session.

    following: {column: name} adds, under this name, the column of the next stretch of the session.
    """
    start, end = engine.quote("start"), engine.quote("end")
    before = f"MAX({end}) OVER ({_order(engine)} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    after = f"LEAD({start}) OVER ({_order(engine)})"
    marks = {
        FIRST: f"coalesce({start} - {before} > {silence}, TRUE)",
        LAST: f"coalesce({after} - greatest({end}, {before}) > {silence}, TRUE)",
    }
    for column, name in (following or {}).items():
        marks[name] = f"CASE WHEN NOT {marks[LAST]} THEN LEAD({engine.quote(column)}) OVER ({_order(engine)}) END"
    return engine.keep(engine.select(rows, marks, add=True))


def whole_sessions(marked: Any) -> Any:
    """The stretches that are a session, with the column `session`."""
    alone = marked.filter(nw.col(FIRST) & nw.col(LAST)).drop(FIRST, LAST)
    return alone.with_columns(nw.col("start").alias(SESSION))


def parts_of_sessions(marked: Any, engine: Engine) -> Any:
    """The stretches of sessions with several ones, with the column `session`."""
    # Stretches that start together are peers, so that each of them counts for the others
    session = f"MAX(CASE WHEN {engine.quote(FIRST)} THEN {engine.quote('start')} END) OVER ({_order(engine)})"
    parts = marked.filter(~(nw.col(FIRST) & nw.col(LAST)))
    return engine.select(parts, {SESSION: session}, add=True).drop(FIRST, LAST)


def _order(engine: Engine) -> str:
    return f"PARTITION BY {engine.quote('user')} ORDER BY {engine.quote('start')}"


SILENCE = 30.0
"""The minutes of silence that end a session."""
MICROSECONDS = 1_000_000
MINUTE = 60 * MICROSECONDS
DAY = 86_400 * MICROSECONDS
ORDER = {"silence": ("time",), "continuity": ("time", "kind", "query_id")}
"""The order of what a user did. By silence, rows with the same time are in the same session, so it needs no more."""
EARLIEST = 10**17
"""Microseconds before 1970: earlier times are not expected. Added to times, so that none is negative."""
MOST_QUERIES = 10
"""Sessions with as many queries or more share a row of the distribution."""
QUANTILES = (0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, repr=False)
class SessionSummary(Record):
    """How many sessions a log has, how long they are, and how many queries they have."""

    figure = "describe_sessions"

    facts: ClassVar[tuple[str, ...]] = (
        "by", "silence", "sessions", "users", "queries_per_session", "minutes", "quantiles", "exact", "across_midnight",
    )  # fmt: skip

    by: str
    silence: float
    """In minutes."""
    sessions: int
    users: int
    queries_per_session: float
    minutes: float
    """The mean length."""
    quantiles: dict[str, float]
    """The quantiles of the length in minutes."""
    exact: bool
    """Are the quantiles exact?"""
    across_midnight: int
    """Sessions that begin on one day and end on another, in UTC."""
    distribution: dict[str, NDArray[Any]]
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per number of queries: the sessions with as many, their share, their clicks and their mean length."""
        return self.distribution

    def table(self) -> Table:
        """The distribution of queries per session, with the means in the notes."""
        kind = "" if self.exact else " (approximate)"
        about = (
            f"{counted(self.sessions, 'session')} of {counted(self.users, 'user')}:"
            f" {self.queries_per_session:.2f} queries and {self.minutes:.2f} minutes on average"
        )
        lengths = ", ".join(f"{name} {value:.2f}" for name, value in self.quantiles.items())
        notes = (about, method_note(f"minutes at quantiles{kind}: {lengths}"), *self.notes)
        return table_of(self.columns(), notes=notes)


def assign_sessions(log: Log, *, by: str = AUTO, silence: float = SILENCE) -> Log:
    """The log with a session for each query and event: as the log names it, or the user and a number, such as `3f2a-1`.

    by: `silence`, `continuity` (a query without a word of the query before also begins a session), `given`, the
        sessions that the log names in its queries or in their events, or `auto`: given if the row of every query names
        one, or else by silence.
    silence: the minutes of silence that end a session.

    >>> from cranfield.online.logs import simulate_log
    >>> log = assign_sessions(simulate_log(users=20, days=1, seed=2), by="silence")
    >>> log.engine.fetch(log.queries.sort("time").head(1))["session"][0].as_py()
    'u7-1'
    """
    chosen = choose_sessions(log, by, silence)
    log, by = chosen.log, chosen.by
    if by == "given":
        return log
    activity = log.engine.keep(
        _numbered(log, by, silence, EVENTS + tuple(name for name in (*QUERIES, *log.segments) if name not in EVENTS))
    )
    name = nw.concat_str(nw.col("user"), nw.col("number").cast(nw.String), separator="-").alias("session")
    activity = activity.with_columns(name)
    return replace(
        log,
        queries=activity.filter(nw.col("kind") == 0).select(*QUERIES, *log.segments),
        events=activity.filter(nw.col("kind") == 1).select(*EVENTS),
    )


def session_rows(log: Log, *, by: str = AUTO, silence: float = SILENCE) -> Any:
    """A lazy frame with a row per session: user, session, start, end (microseconds), queries, clicks, events.

    by: as for `assign_sessions`.
    """
    chosen = choose_sessions(log, by, silence)
    by = chosen.by
    rows = _session_rows(chosen.log, by, silence)
    if by == "silence":
        number = nw.col("start").rank("ordinal").over("user")
        rows = rows.with_columns(number.cast(nw.Int64).alias("session"))
    if by != "given":
        rows = rows.with_columns(nw.col("session").cast(nw.String))
    return rows.select("user", "session", "start", "end", "queries", "clicks", "events")


def _session_rows(log: Log, by: str, silence: float) -> Any:
    """The sessions as `session_rows` has them, but by silence, a session is identified by its start."""
    clicked = (nw.col("action") == "click").fill_null(False).cast(nw.Int64).alias("clicked")
    log = replace(log, events=log.events.with_columns(clicked))  # a number is cheaper to sort than the text
    if by == "silence":
        return _by_silence(log, round(silence * MINUTE))
    if by == "given":
        rows = _activity(log, ("user", "session", "time", "clicked")).filter(~nw.col("session").is_null())
    else:
        rows = _numbered(log, by, silence, ("user", "time", "clicked", "query_id")).rename({"number": "session"})
    return rows.group_by("user", "session").agg(*_counts())


def _counts() -> tuple[Any, ...]:
    """What is counted in the activity of a session."""
    return (
        nw.col("time").min().alias("start"),
        nw.col("time").max().alias("end"),
        (nw.col("kind") == 0).cast(nw.Int64).sum().cast(nw.Int64).alias("queries"),
        nw.col("clicked").sum().fill_null(0).cast(nw.Int64).alias("clicks"),
        (nw.col("kind") == 1).cast(nw.Int64).sum().cast(nw.Int64).alias("events"),
    )


def _by_silence(log: Log, silence: int) -> Any:
    """Sessions from what each user did in every interval of time that is as long as the silence."""
    interval = (nw.col("time") + EARLIEST // silence * silence) // silence
    activity = _activity(log, ("user", "time", "clicked")).with_columns(interval=interval)
    stretches = activity.group_by("user", "interval").agg(*_counts()).drop("interval")
    marked = mark_sessions(stretches, silence, log.engine)
    sums = [nw.col(name).sum().cast(nw.Int64) for name in ("queries", "clicks", "events")]
    parts = parts_of_sessions(marked, log.engine).group_by("user", SESSION)
    joined = parts.agg(nw.col("start").min(), nw.col("end").max(), *sums)
    names = joined.collect_schema().names()
    return nw.concat([whole_sessions(marked).select(*names), joined], how="vertical")


@operation
def summarise_sessions(
    log: Log,
    *,
    by: Annotated[
        str,
        about(
            "How sessions end: {names}. auto: as the log names them if it does so for every query, or by silence.",
            choices=WAYS,
            spelled="--sessions HOW",
        ),
    ] = AUTO,
    silence: Silence = SILENCE,
    least: Annotated[
        int, about("Leave out rows of the table with fewer than N sessions, so that they show no single user.", least=1)
    ] = 1,
    rows: Any = None,
) -> SessionSummary:
    """Count the sessions of a log.

    rows: the sessions, if `session_rows` has been called and kept.

    >>> from cranfield.online.logs import simulate_log
    >>> log = simulate_log(users=20, days=7, seed=2)
    >>> summarise_sessions(log, by="given").sessions, int(log.truth.counts["sessions"].sum())
    (80, 80)
    """
    chosen = choose_sessions(log, by, silence)
    log, by, engine = chosen.log, chosen.by, log.engine
    kept = engine.keep(_session_rows(number_users(log), by, silence)) if rows is None else rows
    length = nw.col("end") - nw.col("start")  # whole numbers have the same sum in any order
    kept = kept.with_columns(
        length=length,
        minutes=length.cast(nw.Float64) / MINUTE,
        group=nw.when(nw.col("queries") < MOST_QUERIES).then(nw.col("queries")).otherwise(MOST_QUERIES),
    )
    crossing = (nw.col("start") // DAY != nw.col("end") // DAY).cast(nw.Int64)
    groups = engine.fetch(
        kept.group_by("group")
        .agg(
            nw.len().alias("sessions"), nw.col("queries").sum(), nw.col("clicks").sum(),
            nw.col("events").sum(), nw.col("length").sum(), crossing.sum().alias("crossing"),
        )
        .sort("group")
    ).to_pydict()  # fmt: skip
    arrays = {name: np.array(values) for name, values in groups.items()}
    total = int(arrays["sessions"].sum()) if len(arrays["sessions"]) else 0
    if not total:
        what = "names no sessions; find them by silence"
        what = what if by == "given" else "has no queries and events with a user and a time"
        raise DataError(log.origin or "the log", None, what)
    users = engine.fetch(kept.select(nw.col("user").n_unique().alias("users")))["users"][0].as_py()
    at = engine.quantiles(kept, "minutes", QUANTILES).to_pylist()[0]
    names = [f"{group}" if group < MOST_QUERIES else f"{MOST_QUERIES} or more" for group in arrays["group"]]
    minutes = arrays["length"] / MINUTE
    distribution = {
        "queries": np.array(names, dtype=object),
        "sessions": arrays["sessions"].astype(np.int64),
        "share": arrays["sessions"] / total,
        "clicks per session": arrays["clicks"] / arrays["sessions"],
        "minutes": minutes / arrays["sessions"],
    }
    large = distribution["sessions"] >= least
    hidden: tuple[str, ...] = ()
    if number := int((~large).sum()):
        verb = "is" if number == 1 else "are"
        hidden = (f"{counted(number, 'row')} with fewer than {counted(least, 'session')} {verb} left out",)
        distribution = {name: column[large] for name, column in distribution.items()}
    within = (int(arrays["queries"].sum()), int(arrays["events"].sum()))
    notes = (*hidden, chosen.note, *_notes(log, by, within), *log.notes)
    return SessionSummary(
        by, silence, total, int(users), float(arrays["queries"].sum() / total), float(minutes.sum() / total),
        {f"{p:g}": float(at[f"q{i}"]) for i, p in enumerate(QUANTILES)}, engine.exact_quantiles,
        int(arrays["crossing"].sum()), distribution, notes,
    )  # fmt: skip


def _notes(log: Log, by: str, within: tuple[int, int]) -> tuple[str, ...]:
    """How many queries and events belong to no session; `within` are those that do."""
    totals = (log.engine.count(frame) for frame in (log.queries, log.events))
    counts = [total - count for total, count in zip(totals, within, strict=True)]
    if not any(counts):
        return ()
    what = f"{counted(counts[0], 'query', 'queries')} and {counted(counts[1], 'event')}"
    missing = "a user, a time or a session" if by == "given" else "a user or a time"
    return (f"{what} without {missing} belong to no session",)


def _activity(log: Log, names: tuple[str, ...]) -> Any:
    """Queries (kind 0) and events (kind 1) with a user and a time, in one frame; what a table lacks is null."""
    types = {**log.queries.collect_schema(), **log.events.collect_schema()}
    parts = []
    for kind, frame in enumerate((log.queries, log.events)):
        there = frame.collect_schema().names()
        columns = [nw.col(name) if name in there else nw.lit(None).cast(types[name]).alias(name) for name in names]
        known = frame.filter(~nw.col("user").is_null(), ~nw.col("time").is_null())
        parts.append(known.select(*columns, nw.lit(kind).alias("kind")))
    return nw.concat(parts, how="vertical")


def _numbered(log: Log, by: str, silence: float, names: tuple[str, ...]) -> Any:
    """The activity of a log with the number of the session of its user, from 1."""
    if by == "continuity":
        log = replace(log, queries=_with_breaks(log))
        names = (*names, "break")
    activity, order = _activity(log, names), ORDER[by]
    gap = nw.col("time") - nw.col("time").shift(1).over("user", order_by=order)
    begins = gap.is_null() | (gap > round(silence * MINUTE))
    if by == "continuity":
        begins = begins | nw.col("break").fill_null(False)
    marked = activity.with_columns(begins.cast(nw.Int64).alias("begins"))
    # Of rows with the same time, the one that begins a session counts first, so that all of them are in that session
    marked = marked.with_columns((1 - nw.col("begins")).alias("goes_on"))
    return marked.with_columns(nw.col("begins").cum_sum().over("user", order_by=(*order, "goes_on")).alias("number"))


def _with_breaks(log: Log) -> Any:
    """The queries with a column `break`: the query has no word in common with the query before."""
    engine = log.engine
    before = nw.col("text").shift(1).over("user", order_by=("time", "query_id")).alias("before")
    shares = engine.dialect.share_a_word(engine.quote("text"), engine.quote("before"))
    return engine.select(log.queries.with_columns(before), {"break": f"NOT coalesce({shares}, TRUE)"}, add=True)
