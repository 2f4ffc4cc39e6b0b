"""The traps of logs that a single row shows, as conditions that an engine counts."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import Any

from cranfield.online.logs.actions import KNOWN, names_of
from cranfield.online.logs.raw_log import RawLog, RawTable

EARLIEST = 788_918_400_000_000
"""1995-01-01 in microseconds: a time before it is a fault of a clock, or 0 where a time is missing."""
AHEAD = 86_400_000_000
"""How far in the future a time may be: a day."""
FROM_ZERO = "positions count from 1; if they begin with 0 here: first_position=0"


@dataclass(frozen=True)
class Trap:
    """A condition that a row of a table should not meet."""

    problem: str
    condition: Any
    shows: tuple[str, ...] = ()
    """The columns that examples show."""
    level: str = "error"
    remedy: str = ""


def query_rows(raw: RawLog) -> Any:
    """The rows of queries or impressions, with the size of each list, and how many of its documents are repeated."""
    if "documents" not in raw.queries.paths:
        return raw.queries.frame
    sql, documents = raw.engine.dialect, raw.engine.quote("documents")
    size = f"CASE WHEN {documents} IS NOT NULL THEN {sql.length(documents)} END"
    return raw.engine.select(raw.queries.frame, {"repeated": sql.repeats(documents), "size": size}, add=True)


def query_traps(raw: RawLog, zone: str | None, first: int) -> list[Trap]:
    """The conditions on rows of queries or impressions."""
    import narwhals as nw

    table, ok = raw.queries, ~nw.col("_unreadable")
    traps = [
        Trap("rows of queries that cannot be read", nw.col("_unreadable")),
        Trap("queries without an id", ok & nw.col("query_id").is_null(), ("text",)),
        Trap("queries without a user", ok & nw.col("user").is_null(), ("query_id",)),
        *_time_traps("queries", zone),
    ]
    if "session" in table.paths:
        traps.append(Trap("queries without a session", ok & nw.col("session").is_null(), ("query_id",), "note"))
    if "documents" in table.paths:
        traps.append(Trap("lists with repeated documents", nw.col("repeated") > 0, ("query_id", "repeated")))
        traps.append(Trap("rows of queries with an empty list", ok & (nw.col("size") == 0), ("query_id",), "note"))
    if "doc" in table.paths:
        traps += _position_traps("documents shown", table, first, ok)
        traps.append(Trap("rows of impressions without a document", ok & nw.col("doc").is_null(), ("query_id",)))
    if "propensity" in table.paths:
        outside = (nw.col("propensity") <= 0) | (nw.col("propensity") > 1)
        traps.append(Trap("propensities that are not above 0 and at most 1", outside, ("query_id", "propensity")))
    return traps


def event_traps(raw: RawLog, zone: str | None, first: int) -> list[Trap]:
    """The conditions on rows of events or clicks."""
    import narwhals as nw

    table, ok = raw.events, ~nw.col("_unreadable")
    assert table is not None
    traps = [
        Trap("rows of events that cannot be read", nw.col("_unreadable")),
        *_time_traps("events", zone),
        Trap("events without a query id", ok & nw.col("query_id").is_null(), ("action", "time"), "note"),
    ]
    if "user" in table.paths:
        traps.append(Trap("events without a user", ok & nw.col("user").is_null(), ("query_id", "action")))
    if "session" in table.paths:
        traps.append(Trap("events without a session", ok & nw.col("session").is_null(), ("query_id", "action"), "note"))
    nowhere = ok & nw.col("position").is_null() & ~_wrong_number()
    traps.append(Trap("events without a position", nowhere, ("query_id", "action"), "note"))
    click = ok
    if "action" in table.paths:
        traps.append(Trap("events without an action", ok & nw.col("action").is_null(), ("query_id",)))
        click = ok & nw.col("action").str.to_lowercase().is_in(names_of("click", raw.columns.actions))
    if "doc" in table.paths:
        traps.append(Trap("clicks without a document", click & nw.col("doc").is_null(), ("query_id",)))
    traps += _position_traps("clicks", table, first, click)
    if "value" in table.paths and "action" in table.paths:
        bought = ok & nw.col("action").str.to_lowercase().is_in(names_of("conversion", raw.columns.actions))
        unpriced = bought & nw.col("value").is_null() & ~_wrong_number()
        traps.append(
            Trap("conversions without a value", unpriced, ("query_id",), "note", "they add nothing to revenue")
        )
    if "dwell" in table.paths:
        traps.append(Trap("dwell times below 0", nw.col("dwell") < 0, ("query_id", "dwell")))
    return traps


def _time_traps(name: str, zone: str | None) -> list[Trap]:
    import narwhals as nw

    kind, ok = nw.col("time_kind"), ~nw.col("_unreadable")
    shows = ("query_id", "time")
    local = ok & (kind == "no zone")
    late = int(clock.time() * 1e6) + AHEAD
    traps = [
        Trap(f"times of {name} that are missing", ok & (kind == "missing"), ("query_id",)),
        Trap(f"times of {name} that cannot be read", ok & (kind == "unreadable"), ("query_id", "cell")),
        Trap(f"numbers of {name} that cannot be read", ok & _wrong_number(), ("query_id", "cell")),
        Trap(
            f"times of {name} before 1995 or in the future",
            ok & ((nw.col("time") < EARLIEST) | (nw.col("time") > late)), shows,
        ),
    ]  # fmt: skip
    if zone is None:
        remedy = "name the zone that they are in: zone="
        traps.append(Trap(f"times of {name} without a time zone", local, shows, "error", remedy))
    else:
        traps.append(Trap(f"times of {name} without a time zone, read as {zone}", local, shows, "note"))
    return traps


def _wrong_number() -> Any:
    import narwhals as nw

    return ~nw.col("cell").is_null() & (nw.col("time_kind") != "unreadable")


def _position_traps(name: str, table: RawTable, first: int, ok: Any) -> list[Trap]:
    import narwhals as nw

    if "position" not in table.paths:
        return [Trap(f"positions of {name} that are missing", ok, ("query_id",), "warning")]
    shows = ("query_id", "doc", "position")
    place = nw.col("position")
    traps = [
        Trap(
            f"positions of {name} that are missing",
            ok & place.is_null() & ~_wrong_number(),
            ("query_id", "doc"),
            "warning",
        ),
        Trap(f"positions of {name} below 0", ok & (place < 0), shows),
    ]
    if first == 1:
        traps.append(Trap(f"positions of {name} that are 0", ok & (place == 0), shows, "error", FROM_ZERO))
    return traps


def joined_traps(raw: RawLog) -> list[Trap]:
    """The conditions on events and their queries."""
    import narwhals as nw

    known, several = ~nw.col("known").is_null(), nw.col("known").is_null() & (nw.col("askers") > 1)
    click = known & (nw.col("action") == "click") & ~nw.col("doc").is_null()
    other = (nw.col("position") != nw.col("shown_at")) & (nw.col("position") > 0)
    traps = [
        Trap(
            "events of queries that are not in the log",
            ~nw.col("query_id").is_null() & nw.col("askers").is_null(), ("query_id", "action"),
        ),
        Trap(
            "events without a user, of query ids that several users have",
            several & nw.col("user").is_null(), ("query_id", "action"), "error",
            "nobody knows whose they are, so that they count for no query",
        ),
        Trap("events before their query", known & (nw.col("time") < nw.col("query_time")), ("time", "query_time")),
        Trap("clicks on documents that were not shown", click & (nw.col("shown_at") == 0), ("query_id", "doc")),
        Trap(
            "clicks at another position than their document was shown",
            click & (nw.col("shown_at") > 0) & other, ("query_id", "doc", "position", "shown_at"),
        ),
        Trap(
            "events of unknown actions", ~nw.col("action").is_in(KNOWN), ("action",), "warning",
            "they are kept; to read them as clicks, hovers or conversions, name them under [actions] in the column map",
        ),
    ]  # fmt: skip
    assert raw.events is not None
    if "user" in raw.events.paths:
        differs = known & (nw.col("user") != nw.col("asker")) & (nw.col("asker") != "")
        differs = differs.fill_null(False) | (several & ~nw.col("user").is_null())
        traps.append(Trap("events of another user than their query", differs, ("query_id", "user", "query_user")))
    return traps
