"""A log as three lazy frames, whatever it was read from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cranfield.online.engines.engine import Engine

QUERIES = ("query_id", "user", "session", "time", "text", "arm")
"""The columns of `Log.queries`, before its segments."""
PAGE_SIZE = "_page_size"
"""A further column of `Log.queries` if the log has a list of documents per query: the length of the list."""
USER_NUMBER = "_user_number"
"""A further column of `Log.queries` and `Log.events`, perhaps: a number of 64 bits per user (see `number_users`)."""
SHOWN = ("query_id", "position", "doc", "propensity")
EVENTS = ("query_id", "user", "session", "time", "action", "doc", "position", "value", "dwell")


@dataclass(frozen=True, eq=False)
class Log:
    """Queries, the documents shown for them, and what users did with them. Times are whole microseconds, in UTC.

    The frames are lazy (`narwhals.LazyFrame`); `engine.fetch` computes a small result.
    """

    engine: Engine
    queries: Any
    """A row per query: `query_id`, `user`, `session`, `time`, `text`, `arm`, and the segments as text; perhaps also
    `PAGE_SIZE`, so that documents can be counted without their rows."""
    shown: Any
    """A row per document shown: `query_id`, `position` (from 1), `doc`, `propensity`."""
    events: Any
    """A row per event: `query_id`, `user`, `session`, `time`, `action` ("click", "hover", "conversion", …), `doc`,
    `position`, `value` (such as revenue) and `dwell` (seconds)."""
    segments: tuple[str, ...] = ()
    """The names of the columns of `queries` that hold segments, such as `device`."""
    origin: str = ""
    """Where the log was read from."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading, such as the unit of times."""
    truth: Any = None
    """What is known of a simulated log (`DemoTruth`)."""


def number_users(log: Log) -> Log:
    """The log with numbers as users: they are cheaper to group and to sort, and no digest has to be computed.

    A number has as many bits as a digest. It stays within the engine, and is another one on every engine.
    """
    import narwhals as nw

    frames = (log.queries, log.events)
    if all(USER_NUMBER in frame.collect_schema().names() for frame in frames):
        queries, events = (frame.with_columns(user=nw.col(USER_NUMBER)) for frame in frames)
    else:
        key = log.engine.dialect.key(log.engine.quote("user"))
        queries, events = (log.engine.select(frame, {"user": key}, add=True) for frame in frames)
    return replace(log, queries=queries, events=events)
