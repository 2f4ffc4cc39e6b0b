"""`read_log`: a log from files, tables or frames, with everything that was assumed in its notes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import available_timezones

from cranfield import check
from cranfield.errors import DataError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.dialect import TIME_KINDS
from cranfield.online.engines.engine import open_engine
from cranfield.online.expressions import nw
from cranfield.online.logs.column_map import (
    EVENT_NAMES,
    QUERY_NAMES,
    ColumnMap,
    action_counts,
    action_notes,
    read_column_map,
    with_usual_actions,
)
from cranfield.online.logs.log import (
    EVENTS,
    KEYS,
    PAGE_SIZE,
    QUERIES,
    SHOWN,
    USER_NUMBER,
    Log,
    WholeQueries,
    whole_queries,
)
from cranfield.online.logs.log_tables import BulkFiles, find_log, split_bulk
from cranfield.online.logs.log_traps import Finding
from cranfield.online.logs.raw_log import RawLog, RawOptions, RawTable, forms_text, read_raw, time_forms
from cranfield.text import counted, listed, printable

UNITS = TIME_KINDS[:4]
FIRST_TIME, LAST_TIME = -1_262_304_000_000_000, 3_155_760_000_000_000
"""1930 and 2070, in microseconds since 1970: the clicks of a query are sorted by a number that holds no other times."""
WHERE = "cranfield log check shows where"
"""The way out of errors that count rows."""


def read_log(
    source: Any,
    *,
    events: Any = None,
    columns: Any = None,
    engine: Any = None,
    zone: str | None = None,
    first_position: int | None = None,
    salt: str | None = None,
    hashed: bool = True,
    texts: bool = True,
    skip: bool = False,
    application: str | None = None,
) -> Log:
    """Read a log.

    source: the queries (or impressions), or a directory or database that holds queries and events: anything that
        `Engine.read` reads.
    events: the events (or clicks), if `source` does not hold them.
    columns: the column map: a TOML file, text such as `query_id=qid,events.time=when`, or a mapping. Other columns are
        found by their usual names, which the notes tell. A file `columns.toml` in the directory is used by default.
    engine: what `open_engine` takes.
    zone: the time zone of times without one, such as `Europe/Berlin`.
    first_position: the position of the first document, 0 or 1; default: 1.
    salt: users are hashed with this salt; default: the environment variable CRANFIELD_SALT, or else a new one.
    hashed: False keeps the users as they are.
    texts: False leaves out the texts of queries.
    skip: leave out rows that cannot be read, take numbers that cannot be read as missing, and count both in the notes;
        otherwise they are an error.
    application: read only the rows that this application wrote, in a log that several applications write into.
    """
    raw, first = open_raw(source, events, columns, engine, zone, first_position, RawOptions(
        salt=salt, hashed=hashed, texts=texts, skip=skip, application=application,
    ))  # fmt: skip
    notes = [*raw.notes]
    for name, table in (("queries", raw.queries), ("events", raw.events)):
        if table is not None:
            notes += _check_table(raw, name, table, zone or raw.columns.zone, first, skip)
    notes += _action_notes(raw)
    if raw.rejected:
        notes.append(f"{counted(len(raw.rejected), 'row')} left out: {_places(raw.rejected)}")
    return build_log(raw, first, notes)


def open_raw(
    source: Any,
    events: Any,
    columns: Any,
    engine: Any,
    zone: str | None,
    first_position: int | None,
    options: RawOptions,
) -> tuple[RawLog, int]:
    """Find and read the tables of a log; also return the position of the first document."""
    queries, events, beside = find_log(source, events)
    named: ColumnMap = read_column_map(beside if columns is None else columns)
    zone = zone or named.zone
    if zone is not None and zone not in available_timezones():
        raise check.nearest(zone, sorted(available_timezones()), "time zone")
    first = named.first_position if first_position is None else first_position
    if first not in (None, 0, 1):
        raise check.wrong("read_log", "first_position", first, "0 or 1")
    opened = open_engine(engine)
    queries, events, exports = split_bulk(queries, events, opened.scratch)
    with exports.named():
        raw = read_raw(opened, queries, events, named, replace(options, zone=zone))
    raw = replace(raw, queries=_of_export(raw.queries, exports), events=_of_export(raw.events, exports))
    need_columns(raw)
    note = (method_note(f"columns as in {beside}"),) if beside and columns is None else ()
    raw = replace(raw, notes=(*note, *exports.notes, *raw.notes), exports=exports)
    if options.application is not None:
        _check_application(raw, options.application)
    return raw, 1 if first is None else first


def _of_export(table: Any, exports: BulkFiles) -> Any:
    """A table that is called like the export from which it was copied."""
    return None if table is None else replace(table, origin=exports.origin(table.origin))


def _check_application(raw: RawLog, application: str) -> None:
    """Raise an error if the log has no query and no event of an application."""
    tables = [table for table in (raw.queries, raw.events) if table is not None]
    sizes = [raw.engine.count(table.frame) for table in tables]
    if not sizes[0]:
        raise DataError(raw.queries.origin, None, f"no query of the application {application!r}")


def need_columns(raw: RawLog) -> None:
    """Raise an error if a table lacks a column without which it cannot be used."""
    tables = [("", raw.queries, QUERY_NAMES, ("query_id", "user", "time"))]
    if raw.events is not None:
        own = () if "query_id" in raw.events.paths else ("user",)
        tables.append(("events.", raw.events, EVENT_NAMES, ("time", *own)))
    for prefix, table, names, roles in tables:
        lacking = [role for role in roles if role not in table.paths]
        if lacking:
            _check_readable(raw, table)
            free = [name for name in table.columns if name not in table.paths.values()]
            example = {f"{prefix}{role}": _likely(names[role], free) for role in lacking}
            missing = f"no columns for {listed(lacking)}" if len(lacking) > 1 else f"no column for the {lacking[0]}"
            usual = f"expected one called {listed(names[lacking[0]], most=6)}; or " if len(lacking) == 1 else ""
            raise DataError(
                table.origin, None,
                f"{missing} among {listed(table.columns, most=12)}; {usual}name {'one' if usual else 'them'}, such as "
                f"columns={example}",
            )  # fmt: skip


def _likely(usual: Sequence[str], columns: Sequence[str]) -> str:
    """The first column whose name shares a word with the usual names; "COLUMN" if there is none.

    >>> _likely(("user_id", "visitor"), ["revenue", "Id", "visitor.key"]), _likely(("user_id",), ["revenue", "Id"])
    ('visitor.key', 'COLUMN')
    """
    words = {word for name in usual for word in name.split("_")} - {"id", "at", "event"}
    return next((name for name in columns if words & set(re.split(r"[^a-z]+", name.lower()))), "COLUMN")


def _check_readable(raw: RawLog, table: RawTable) -> None:
    """Raise an error if no row can be read, so that columns are not to be found."""
    bad = nw.col("_unreadable").fill_null(False).cast(nw.Int64).sum()
    row = raw.engine.row(table.frame.select(nw.len().alias("rows"), bad.alias("bad")))
    if row["rows"] and row["bad"] == row["rows"]:
        every = "its only row" if row["rows"] == 1 else f"none of its {row['rows']:,} rows"
        cannot = "cannot be read" if row["rows"] == 1 else "can be read"
        raise DataError(table.origin, None, f"{every} {cannot}: expected JSON objects, one per line, in UTF-8")


def build_log(raw: RawLog, first: int, notes: list[str]) -> Log:
    """The three frames of a log."""
    engine, table = raw.engine, raw.queries
    rows = table.frame.filter(~nw.col("_unreadable"))
    place = (nw.col("position") + (1 - first)).alias("position")
    if "documents" in table.paths:
        queries = rows
        shown = engine.explode(table.lists, "documents", "doc", "position")
    elif "doc" in table.paths:
        with_position = rows.with_columns(place) if "position" in table.paths else rows
        shown = with_position.filter(~nw.col("doc").is_null())
        groups = rows.filter(~nw.col("query_id").is_null()).group_by(*KEYS)
        names = [name for name in (*QUERIES, *raw.segments) if name not in KEYS]
        queries = engine.keep(groups.agg(*(nw.col(name).min() for name in names)))
        if "position" not in table.paths:
            notes.append(caution_note("no column for positions: documents are shown at unknown positions"))
    else:
        queries = rows
        shown = rows.filter(nw.col("doc") != nw.col("doc"))
        notes.append("no column for the documents shown: the log has queries and events only")
    further = [PAGE_SIZE] if "documents" in table.paths else []
    further += [name for name in (USER_NUMBER,) if name in queries.columns]
    whole = whole_queries(engine, queries.select(*QUERIES, *raw.segments, *further))
    notes += whole.notes(raw.events is None or "user" in raw.events.paths)
    shown = whole.documents(shown.select(*SHOWN, "user")).select(*SHOWN)
    events = _events(raw, rows, whole, place, notes)
    return Log(engine, whole.queries, shown, events, raw.segments, table.origin, tuple(notes))


def _events(raw: RawLog, rows: Any, whole: WholeQueries, place: Any, notes: list[str]) -> Any:
    queries = whole.queries

    if raw.events is None:
        if "clicked" not in raw.queries.paths:
            raise DataError(raw.queries.origin, None, "no events: give a table of events or clicks as events=")
        notes.append(f"events are the rows with a click in column {raw.queries.paths['clicked']}")
        clicked = rows.filter(nw.col("clicked") > 0).with_columns(place)
        empty = rows.select("propensity").collect_schema()["propensity"]
        unknown = [nw.lit(None).cast(empty).alias(name) for name in ("value", "dwell")]
        return whole.with_ids(clicked.with_columns(nw.lit("click").alias("action"), *unknown).select(*EVENTS))
    events = raw.events.frame.filter(~nw.col("_unreadable")).with_columns(place)
    further = [name for name in (USER_NUMBER,) if all(name in frame.columns for frame in (queries, events))]
    if "action" not in raw.events.paths:
        events = events.with_columns(action=nw.lit("click"))
        notes.append(caution_note("no column for the action: all events are read as clicks"))
    else:
        events = with_usual_actions(events, raw.columns.actions)
    if "user" not in raw.events.paths:
        events = events.join(whole.single_users, on="query_id", how="left")
        events = events.with_columns(user=nw.col("_user"), session=nw.coalesce("session", "_session"))
        notes.append("no column for the users of events: an event has the user of its query")
    return whole.with_ids(events.select(*EVENTS, *further))


def _check_table(raw: RawLog, name: str, table: RawTable, zone: str | None, first: int, skip: bool) -> list[str]:
    """Raise an error for what cannot be used as it is; return notes on what was assumed."""
    # One scan for all checks, as the table may be read from its file again
    too_low = (nw.col("position") < first).cast(nw.Int64).sum() if "position" in table.paths else nw.len() * 0
    far = ((nw.col("time") < FIRST_TIME) | (nw.col("time") > LAST_TIME)).cast(nw.Int64).sum()
    groups = table.frame.group_by("time_kind", "_unreadable").agg(
        nw.len().alias("rows"), too_low.alias("too_low"), far.alias("far"),
        nw.col("cell").count().alias("cells"), nw.col("cell").min().alias("cell"),
    )  # fmt: skip
    counts = raw.engine.fetch(groups).to_pylist()
    rows = {(row["time_kind"], row["_unreadable"]): row["rows"] for row in counts}
    unreadable = sum(count for (_, bad), count in rows.items() if bad)
    notes = []
    if unreadable and not skip:
        raise DataError(table.origin, None, f"{counted(unreadable, 'row')} cannot be read; to leave them out: skip=")
    if unreadable:
        notes.append(f"{name}: {counted(unreadable, 'row')} left out, which cannot be read")
    kinds = {kind: count for (kind, bad), count in rows.items() if not bad}
    if kinds.get("no zone") and zone is None:
        raise DataError(
            table.origin, None, f"{counted(kinds['no zone'], 'time')} without a time zone; name the zone: zone="
        )
    if kinds.get("no zone"):
        notes.append(f"{name}: {counted(kinds['no zone'], 'time')} without a time zone, read as {zone}")
    bad = kinds.get("unreadable", 0) + (kinds.get("missing", 0) if name == "queries" else 0)
    if bad:
        raise DataError(table.origin, None, f"{counted(bad, 'time')} missing or unreadable; {WHERE}")
    if out := sum(int(row["far"] or 0) for row in counts):
        raise DataError(table.origin, None, f"{counted(out, 'time')} before 1930 or after 2070; {WHERE}")
    units = [unit for unit in UNITS if kinds.get(unit)]
    if len(units) > 1:
        many = ", ".join(f"{kinds[unit]:,} in {unit}" for unit in units)
        raise DataError(table.origin, None, f"times are numbers of different units: {many}; {WHERE}")
    forms = time_forms({kind: count for kind, count in kinds.items() if kind})
    if len(forms) > 1:
        notes.append(f"{name}: times have {len(forms)} forms: {forms_text(forms)}")
    elif units:
        notes.append(method_note(f"{name}: times are {units[0]} since 1970"))
    if below := sum(int(row["too_low"] or 0) for row in counts):
        mixed = two_starts(raw)
        way_out = f"{mixed.examples[0]}; {mixed.remedy}" if mixed else "if the first position is 0: first_position=0"
        raise DataError(table.origin, None, f"{counted(below, 'position')} below {first}; {way_out}")
    if cells := sum(row["cells"] for row in counts):
        example = min(row["cell"] for row in counts if row["cells"])
        number = f"{counted(cells, 'number')} cannot be read, such as {printable(example)}"
        if not skip:
            raise DataError(table.origin, None, f"{number}; {WHERE}; to take them as missing: skip=")
        notes.append(f"{name}: {number}: taken as missing")
    return notes


def _action_notes(raw: RawLog) -> list[str]:
    """Which actions have another name here, and which are not known."""
    if raw.events is None or "action" not in raw.events.paths:
        return []
    return action_notes(action_counts(raw.engine, raw.events.frame), raw.columns.actions)


def _places(rejected: tuple[tuple[str, int, str], ...]) -> str:
    return listed([f"{os.path.basename(path)}:{line}" for path, line, _ in rejected], most=3)


ASKER = "asker"
"""The user of a query, or empty text without one: nulls do not join."""
QUERY_KEY = ("query_id", ASKER)


def query_rows_by_asker(raw: RawLog) -> Any:
    """The rows of queries or impressions that have an id, with their `asker`."""
    rows = raw.queries.frame.filter(~nw.col("_unreadable"), ~nw.col("query_id").is_null())
    return rows.with_columns(nw.col("user").fill_null("").alias(ASKER))


def joined_events(raw: RawLog, first: int) -> Any:
    """The events with what is known of their query: `askers`, `query_time`, `query_user`, `known`, and `shown_at`.

    An event belongs to the query of its own user, or else to that of the only user with the same id; `askers` counts
    the users with this id. `shown_at` is the position at which the document was shown in one of the lists of the query:
    that of the event if it was there. It is 0 if the document was not shown, and null if the query has no list.
    """
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
    engine = raw.engine
    single = nw.col("known") == 1
    repeated = queries.filter(~single).select(*QUERY_KEY)
    lists = rows.select(*QUERY_KEY, "documents").join(repeated, on=[*QUERY_KEY], how="anti")
    alone = joined.filter(single.fill_null(True)).join(lists, on=[*QUERY_KEY], how="left")
    place = engine.dialect.place(engine.quote("documents"), engine.quote("doc"))
    alone = engine.select(alone, {"shown_at": place}, add=True).drop("documents")
    if not engine.count(repeated):
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
    assert raw.events is not None
    rows = raw.events.frame.filter(~nw.col("_unreadable"), ~nw.col("position").is_null())
    zeros = (nw.col("position") == 0).cast(nw.Int64).sum().alias("zeros")
    parts = rows.group_by("application").agg(nw.len().alias("rows"), nw.col("position").min().alias("lowest"), zeros)
    applications: list[dict[str, Any]] = raw.engine.fetch(parts.sort("application")).to_pylist()
    return applications


def _name(part: dict[str, Any]) -> str:
    return "events without an application" if part["application"] is None else printable(part["application"])


def _as_listed_from_one(raw: RawLog) -> int:
    """The clicks whose position is that of their document in the list of the query, counted from 1."""
    events = joined_events(raw, 1)
    same = (nw.col("action") == "click") & (nw.col("position") == nw.col("shown_at")) & (nw.col("shown_at") > 0)
    return raw.engine.count(events.filter(same))
