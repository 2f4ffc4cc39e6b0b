"""Where positions begin: logs of several programs may count from 0 in one part and from 1 in another."""

from __future__ import annotations

from typing import Any

from cranfield.online.logs.findings import Finding
from cranfield.online.logs.joined_events import joined_events
from cranfield.online.logs.raw_log import RawLog
from cranfield.text import counted, listed, printable

TWO_STARTS = "positions that begin with 0 in one part of the log and with 1 in another"


def two_starts(raw: RawLog) -> Finding | None:
    """A finding if some positions of events count from 0 and others from 1, so that no shift of all is right."""
    if raw.events is None or "position" not in raw.events.paths:
        return None
    parts = _parts(raw)
    zeros = sum(part["zeros"] or 0 for part in parts)
    if not zeros:
        return None
    from_zero = [part for part in parts if part["zeros"]]
    from_one = [part for part in parts if not part["zeros"] and part["lowest"] == 1]
    shown = [f"{_name(part)} from 0 ({counted(part['rows'], 'position')})" for part in from_zero]
    shown += [f"{_name(part)} from 1 ({counted(part['rows'], 'position')})" for part in from_one]
    way_out = "read each application by itself: application="
    if not from_one:
        listed_at = _as_listed_from_one(raw)
        if not listed_at:
            return None
        shown = [f"{counted(zeros, 'position')} 0, and {counted(listed_at, 'click')} where their list has them from 1"]
        way_out = "separate the two parts of the log"
    remedy = f"it is wrong to shift all of them, so that no first position fits the whole log; {way_out}"
    return Finding(TWO_STARTS, "error", zeros, (listed(shown),), remedy)


def _parts(raw: RawLog) -> list[dict[str, Any]]:
    """The lowest position of each application, and how many of its positions are 0."""
    import narwhals as nw

    assert raw.events is not None
    rows = raw.events.frame.filter(~nw.col("_unreadable"), ~nw.col("position").is_null())
    zeros = (nw.col("position") == 0).cast(nw.Int64).sum().alias("zeros")
    parts = rows.group_by("application").agg(nw.len().alias("rows"), nw.col("position").min().alias("lowest"), zeros)
    found: list[dict[str, Any]] = raw.engine.fetch(parts.sort("application")).to_pylist()
    return found


def _name(part: dict[str, Any]) -> str:
    return "events without an application" if part["application"] is None else printable(part["application"])


def _as_listed_from_one(raw: RawLog) -> int:
    """The clicks whose position is that of their document in the list of the query, counted from 1."""
    import narwhals as nw

    events = joined_events(raw, 1)
    same = (nw.col("action") == "click") & (nw.col("position") == nw.col("shown_at")) & (nw.col("shown_at") > 0)
    return int(raw.engine.fetch(events.filter(same).select(nw.len().alias("n")))["n"][0].as_py())
