"""Events beside their queries; and where positions begin, if one part of a log counts from 0 and another from 1."""

from __future__ import annotations

from typing import Any

from cranfield.online.logs.column_map import with_usual_actions
from cranfield.online.logs.log_traps import Finding
from cranfield.online.logs.raw_log import RawLog
from cranfield.text import counted, listed, printable

ASKER = "asker"
"""The user of a query, or empty text without one: nulls do not join."""
QUERY_KEY = ("query_id", ASKER)


def query_rows_by_asker(raw: RawLog) -> Any:
    """The rows of queries or impressions that have an id, with their `asker`."""
    import narwhals as nw

    rows = raw.queries.frame.filter(~nw.col("_unreadable"), ~nw.col("query_id").is_null())
    return rows.with_columns(nw.col("user").fill_null("").alias(ASKER))


def joined_events(raw: RawLog, first: int) -> Any:
    """The events with what is known of their query: `askers`, `query_time`, `query_user`, `known`, and `shown_at`.

    An event belongs to the query of its own user, or else to that of the only user with the same id; `askers` counts
    the users with this id. `shown_at` is the position at which the document was shown in one of the lists of the query:
    that of the event if it was there. It is 0 if the document was not shown, and null if the query has no list.
    """
    import narwhals as nw

    assert raw.events is not None
    engine, rows = raw.engine, query_rows_by_asker(raw)
    events = with_usual_actions(raw.events.frame.filter(~nw.col("_unreadable")), raw.columns.actions)
    if "action" not in raw.events.paths:
        events = events.with_columns(action=nw.lit("click"))
    about = [nw.col("time").min().alias("query_time"), nw.col("user").min().alias("query_user")]
    queries = engine.keep(rows.group_by(*QUERY_KEY).agg(*about, nw.len().alias("known")))
    joined = _with_asker(raw, events, queries).join(queries, on=[*QUERY_KEY], how="left")
    joined = joined.with_columns(position=nw.col("position") + (1 - first))
    if "documents" in raw.queries.paths:
        return _in_lists(raw, joined, rows, queries)
    if "doc" in raw.queries.paths:
        places = rows.filter(~nw.col("doc").is_null())
        places = places.select(*QUERY_KEY, "doc", (nw.col("position") + (1 - first)).alias("place"))
        return _at_places(joined, places, ~nw.col("known").is_null())
    return joined.with_columns(shown_at=nw.lit(None).cast(nw.Int64))


def _with_asker(raw: RawLog, events: Any, queries: Any) -> Any:
    """The events with the user of the query that they belong to; null if there is none."""
    import narwhals as nw

    others = queries.group_by("query_id").agg(nw.col(ASKER).min().alias("_other"), nw.len().alias("askers"))
    only = nw.when(nw.col("askers") == 1).then(nw.col("_other"))
    others = others.with_columns(only.alias("_other"))
    events = events.join(others, on="query_id", how="left")
    if raw.events is None or "user" not in raw.events.paths:
        return events.rename({"_other": ASKER})
    own = queries.select("query_id", nw.col(ASKER).alias("_own"), nw.col(ASKER).alias("_user"))
    events = events.with_columns(nw.col("user").fill_null("").alias("_user"))
    events = events.join(own, on=["query_id", "_user"], how="left")
    return events.with_columns(nw.coalesce("_own", "_other").alias(ASKER)).drop("_own", "_other", "_user")


def _in_lists(raw: RawLog, joined: Any, rows: Any, queries: Any) -> Any:
    """`shown_at`, from lists of documents; those of queries with one row need not be taken apart."""
    import narwhals as nw

    engine = raw.engine
    single = nw.col("known") == 1
    repeated = queries.filter(~single).select(*QUERY_KEY)
    lists = rows.select(*QUERY_KEY, "documents").join(repeated, on=[*QUERY_KEY], how="anti")
    alone = joined.filter(single.fill_null(True)).join(lists, on=[*QUERY_KEY], how="left")
    place = engine.dialect.place(engine.quote("documents"), engine.quote("doc"))
    alone = engine.select(alone, {"shown_at": place}, add=True).drop("documents")
    if not engine.fetch(repeated.select(nw.len().alias("n")))["n"][0].as_py():
        return alone
    several = rows.select(*QUERY_KEY, "documents").join(repeated, on=[*QUERY_KEY], how="semi")
    several = engine.keep(several.filter(~nw.col("documents").is_null()))
    listed = several.select(*QUERY_KEY).unique().with_columns(listed=nw.lit(1))
    others = joined.filter(~single).join(listed, on=[*QUERY_KEY], how="left")
    places = engine.explode(several, "documents", "doc", "place")
    placed = _at_places(others, places, ~nw.col("listed").is_null()).drop("listed")
    return nw.concat([alone.select(*placed.columns), placed], how="vertical")


def _at_places(joined: Any, places: Any, has_list: Any) -> Any:
    """`shown_at`, from a row for each document and place."""
    import narwhals as nw

    key = [*QUERY_KEY, "doc"]
    first = places.group_by(*key).agg(nw.col("place").min().alias("_place"), nw.len().alias("_times"))
    same = places.select(*key, nw.col("place").alias("position"), nw.lit(1).alias("_same")).unique()
    joined = joined.join(first, on=key, how="left").join(same, on=[*key, "position"], how="left")
    # 0 is for documents that were not shown; a place before the first is a finding of its own
    place = nw.when(nw.col("_place") >= 1).then(nw.col("_place"))
    place = nw.when(~nw.col("_same").is_null() & (nw.col("position") >= 1)).then(nw.col("position")).otherwise(place)
    nowhere = nw.when(has_list).then(nw.lit(0))
    shown_at = nw.when(nw.col("_times").is_null()).then(nowhere).otherwise(place).cast(nw.Int64)
    return joined.with_columns(shown_at=shown_at).drop("_place", "_times", "_same")


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
