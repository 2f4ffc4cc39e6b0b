"""A log as three lazy frames, whatever it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cranfield.online.engines.engine import Engine

QUERIES = ("query_id", "user", "session", "time", "text", "arm")
"""The columns of `Log.queries`, before its segments."""
SHOWN = ("query_id", "position", "doc", "propensity")
EVENTS = ("query_id", "user", "session", "time", "action", "doc", "position", "value", "dwell")


@dataclass(frozen=True, eq=False)
class Log:
    """Queries, the documents shown for them, and what users did with them. Times are whole microseconds, in UTC.

    The frames are lazy (`narwhals.LazyFrame`); `engine.fetch` computes a small result.
    """

    engine: Engine
    queries: Any
    """A row per query: `query_id`, `user`, `session`, `time`, `text`, `arm`, and the segments as text."""
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
