"""Small logs for tests, made of lists of dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cranfield.online.engines import Engine
from cranfield.online.logs.log import Log

QUERIES = pa.schema(
    [("query_id", pa.string()), ("user", pa.string()), ("session", pa.string()), ("time", pa.int64()),
     ("text", pa.string()), ("arm", pa.string())]
)  # fmt: skip
SHOWN = pa.schema(
    [("query_id", pa.string()), ("position", pa.int64()), ("doc", pa.string()), ("propensity", pa.float64())]
)
EVENTS = pa.schema(
    [("query_id", pa.string()), ("user", pa.string()), ("session", pa.string()), ("time", pa.int64()),
     ("action", pa.string()), ("doc", pa.string()), ("position", pa.int64()), ("value", pa.float64()),
     ("dwell", pa.float64())]
)  # fmt: skip


def made_log(engine: Engine, impressions: Sequence[dict[str, Any]]) -> Log:
    """A log of impressions: {"user", "text", "docs", "clicks": [(position, seconds after the query, dwell), ...]}."""
    queries, shown, events = [], [], []
    for number, one in enumerate(impressions):
        query = f"q{number}"
        time = one.get("time", number * 3_600_000_000)
        queries.append({"query_id": query, "user": one["user"], "session": query, "time": time, "text": one["text"]})
        shown += [{"query_id": query, "position": i, "doc": doc} for i, doc in enumerate(one["docs"], 1)]
        for position, seconds, dwell in one.get("clicks", ()):
            events.append(
                {
                    "query_id": query,
                    "user": one["user"],
                    "session": query,
                    "time": time + round(seconds * 1e6),
                    "action": "click",
                    "doc": one["docs"][position - 1],
                    "position": position,
                    "dwell": dwell,
                }
            )
    tables = [
        pa.Table.from_pylist(rows, schema) for rows, schema in ((queries, QUERIES), (shown, SHOWN), (events, EVENTS))
    ]
    return Log(engine, *map(engine.read, tables))
