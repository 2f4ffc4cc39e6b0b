"""Which column of a log holds what, and what its actions are called: a column map, or the usual names."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cranfield import check
from cranfield.collection.doors import reads
from cranfield.collection.source import read_bytes
from cranfield.errors import DataError, UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import nw
from cranfield.text import counted, listed

QUERY_NAMES = {
    "query_id": ("query_id", "qid", "impression_id", "search_id", "serp_id", "request_id"),
    "user": ("user", "user_id", "client_id", "uid", "visitor_id", "cookie"),
    "session": ("session", "session_id", "sid"),
    "time": ("time", "timestamp", "ts", "datetime", "event_time", "created_at"),
    "text": ("text", "user_query", "query_text", "query", "q", "keywords"),
    "arm": ("arm", "variant", "treatment", "experiment_arm"),
    "documents": (
        "documents", "docs", "query_response_hit_ids", "query_response_object_ids", "hits", "results", "doc_ids",
    ),
    "position": ("position", "rank", "pos"),
    "doc": ("doc", "doc_id", "document_id", "docid", "docno", "object_id", "item_id", "product_id", "url"),
    "propensity": ("propensity", "pscore", "propensity_score", "action_prob"),
    "clicked": ("clicked", "click", "is_click"),
    "application": ("application",),
}  # fmt: skip
"""The usual names of the columns of queries or impressions, by role."""
EVENT_NAMES = {
    "query_id": QUERY_NAMES["query_id"],
    "user": QUERY_NAMES["user"],
    "session": QUERY_NAMES["session"],
    "time": ("time", "timestamp", "ts", "datetime", "event_time", "click_time", "created_at"),
    "action": ("action", "action_name", "event", "event_type", "event_name", "type"),
    "doc": (*QUERY_NAMES["doc"], "event_attributes.object.object_id"),
    "position": (*QUERY_NAMES["position"], "event_attributes.position.ordinal"),
    "value": ("value", "revenue", "amount", "event_attributes.value", "event_attributes.revenue"),
    "dwell": ("dwell", "dwell_seconds", "dwell_time", "event_attributes.dwell", "event_attributes.dwell_time"),
    "application": QUERY_NAMES["application"],
}
"""The usual names of the columns of events or clicks, by role."""
UBI = ("query_response_hit_ids", "query_response_object_ids", "action_name", "event_attributes")
"""Columns by which a table of User Behavior Insights is recognised."""
TABLES = {"queries": "queries", "impressions": "queries", "events": "events", "clicks": "events"}
"""The tables of a column map, and what they are called here."""
ACTIONS = 'a table of actions, such as click = "product_click"'
SETTINGS = ("zone", "first_position", "actions")


@dataclass(frozen=True)
class ColumnMap:
    """The columns of a log that were named, and settings of the file that named them."""

    queries: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, str] = field(default_factory=dict)
    segments: Mapping[str, str] = field(default_factory=dict)
    """The columns of queries that hold segments, by the names they get."""
    zone: str | None = None
    first_position: int | None = None
    actions: Mapping[str, str] = field(default_factory=dict)
    """What the actions of this log are called here, such as `product_click`: `click`."""
    origin: str = ""


def read_column_map(columns: Any) -> ColumnMap:
    """A column map from a TOML file, from text such as `query_id=qid,events.time=when`, or from a mapping.

    A role without a table is a column of queries and of events.

    >>> read_column_map("query_id=qid,events.time=when").events
    {'query_id': 'qid', 'time': 'when'}
    >>> read_column_map({"query_ids": "qid"})
    Traceback (most recent call last):
    cranfield.errors.UsageError: no column of queries 'query_ids'; did you mean 'query_id'?
    """
    if columns is None:
        return ColumnMap()
    if isinstance(columns, ColumnMap):
        return columns
    if isinstance(columns, os.PathLike) or (isinstance(columns, str) and "=" not in columns):
        return _read_toml(os.fspath(columns))
    if isinstance(columns, str):
        pairs = [entry.partition("=") for entry in columns.split(",") if entry.strip()]
        if wrong := next((key for key, sign, name in pairs if not sign or not name.strip()), None):
            raise check.wrong("", "columns", wrong, "a file, or entries such as query_id=qid,time=ts")
        columns = {key.strip(): name.strip() for key, _, name in pairs}
    return _map_of(columns, "")


@reads
def _read_toml(path: str) -> ColumnMap:
    try:
        return _map_of(tomllib.loads(read_bytes(path).decode("utf-8")), path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, None, f"is not valid TOML: {error}") from None
    except UsageError as error:
        raise DataError(path, None, str(error)) from None


def _map_of(columns: Mapping[str, Any], origin: str) -> ColumnMap:
    tables: dict[str, dict[str, str]] = {"queries": {}, "events": {}, "segments": {}}
    settings: dict[str, Any] = {}
    for key, value in _flat(columns):
        table, _, role = key.rpartition(".")
        if not table and key in SETTINGS:
            settings[key] = value
        elif table == "actions":
            settings.setdefault("actions", {})[role] = value
        elif table in ("segments", "queries.segments", "impressions.segments"):
            tables["segments"][role] = str(value)
        elif table and table not in TABLES:
            raise check.nearest(table, tuple(TABLES), "table in the column map")
        else:
            targets = [TABLES[table]] if table else ["queries", "events"]
            known = {"queries": QUERY_NAMES, "events": EVENT_NAMES}
            fitting = [name for name in targets if role in known[name]]
            if not fitting:
                names = tuple(dict.fromkeys(role for name in targets for role in known[name]))
                raise check.nearest(role, names, f"column of {targets[0]}")
            for name in fitting:
                tables[name][role] = str(value)
    named = settings.pop("actions", {})
    if not isinstance(named, Mapping):
        raise check.wrong("", "actions", named, ACTIONS)
    actions = {name: kind for kind, names in named.items() for name in _as_list(names)}
    zone, first = settings.get("zone"), settings.get("first_position")
    if not isinstance(zone, str | None):
        raise check.wrong("", "zone", zone, "a time zone such as Europe/Berlin")
    if first is not None and (isinstance(first, bool) or not isinstance(first, int)):
        raise check.wrong("", "first_position", first, "a whole number, 0 or 1")
    return ColumnMap(tables["queries"], tables["events"], tables["segments"], zone, first, actions, origin)


def _as_list(value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(name, str) for name in values):
        raise check.wrong("", "actions", value, ACTIONS)
    return list(values)


def _flat(columns: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """The entries of nested tables, with their paths."""
    entries: list[tuple[str, Any]] = []
    for key, value in columns.items():
        if isinstance(value, Mapping):
            entries += _flat(value, f"{prefix}{key}.")
        elif key == "segments" and not isinstance(value, str):
            if not isinstance(value, list | tuple):
                raise check.wrong("", "segments", value, "a list of columns, or a table of names and columns")
            entries += [(f"{prefix}segments.{name}", name) for name in value]
        else:
            entries.append((f"{prefix}{key}", value))
    return entries


MOST_ACTIONS = 1000
"""The different actions that are looked at, for notes."""

KNOWN = (
    "click", "hover", "conversion", "add_to_cart", "impression", "search", "view", "scroll", "dwell", "like", "share",
    "login", "logout", "page_exit",
)  # fmt: skip
"""The actions that are known; only clicks, hovers and conversions count in measures."""
SYNONYMS = {
    "purchase": "conversion", "buy": "conversion", "order": "conversion", "checkout": "conversion",
    "item_click": "click", "product_click": "click", "result_click": "click", "click_through": "click",
    "item_hover": "hover", "product_hover": "hover", "mouseover": "hover",
}  # fmt: skip
"""Other names of actions that logs use."""


def names_of(kind: str, named: Mapping[str, str]) -> list[str]:
    """What logs call an action, in lower case; `named` are further synonyms.

    >>> names_of("hover", {"Point_At": "hover"})
    ['hover', 'item_hover', 'product_hover', 'mouseover', 'point_at']
    """
    return [kind, *(name for name, meaning in _synonyms(named).items() if meaning == kind and name != kind)]


def _synonyms(named: Mapping[str, str]) -> dict[str, str]:
    return SYNONYMS | {name.lower(): kind for name, kind in named.items()}


def with_usual_actions(events: Any, named: Mapping[str, str]) -> Any:
    """The events with their actions in lower case and by their usual names; `named` are further synonyms."""
    synonyms = _synonyms(named)
    if wrong := [kind for kind in named.values() if kind not in KNOWN]:
        raise UsageError(f"no action {listed(map(repr, wrong))} in the column map; there are {', '.join(KNOWN)}")
    low = nw.col("action").str.to_lowercase()
    action = low
    for kind in dict.fromkeys(synonyms.values()):
        names = [name for name, meaning in synonyms.items() if meaning == kind]
        action = nw.when(low.is_in(names)).then(nw.lit(kind)).otherwise(action)
    return events.with_columns(action=action)


def action_counts(engine: Engine, events: Any) -> dict[str, int]:
    """How many events each action of a log has, by the names of the log; events without an action are left out."""
    named = events.filter(~nw.col("_unreadable"), ~nw.col("action").is_null())
    counts = engine.fetch(named.group_by("action").agg(nw.len().alias("rows")).sort("action").head(MOST_ACTIONS))
    return dict(zip(counts["action"].to_pylist(), counts["rows"].to_pylist(), strict=True))


def action_notes(counts: Mapping[str, int], named: Mapping[str, str]) -> list[str]:
    """Which actions of a log have another usual name, and which are not known.

    >>> action_notes({"buy": 2, "click": 7, "open": 3}, {})[0]
    'events: actions read as conversion: buy'
    >>> action_notes({"buy": 2, "click": 7, "open": 3}, {})[1]  # doctest: +ELLIPSIS
    "events: 3 events of unknown actions ('open') count as no click, hover or conversion; ..."
    """
    synonyms = _synonyms(named)
    renamed = [method_note(f"{synonyms[name.lower()]}: {name}") for name in counts if name.lower() in synonyms]
    unknown = [name for name in counts if name.lower() not in synonyms and name.lower() not in KNOWN]
    notes = [method_note(f"events: actions read as {listed(renamed)}")] if renamed else []
    if unknown:
        many = counted(sum(counts[name] for name in unknown), "event")
        notes.append(
            caution_note(
                f"events: {many} of unknown actions ({listed(map(repr, unknown), most=3)}) count as no click, hover or "
                "conversion; the column map can say what they are, under [actions]"
            )
        )
    return notes
