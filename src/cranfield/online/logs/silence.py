"""Sessions by silence, from stretches of activity instead of single events.

A stretch is something that a user did without a longer silence in it, from its `start` to its `end`: all events of half
an hour, or a query with its events. Stretches are far fewer than events, and most of them are a whole session. Only the
others have to be sorted a second time, to find the session to which they belong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.online.engines.engine import Engine

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
    import narwhals as nw

    alone = marked.filter(nw.col(FIRST) & nw.col(LAST)).drop(FIRST, LAST)
    return alone.with_columns(nw.col("start").alias(SESSION))


def parts_of_sessions(marked: Any, engine: Engine) -> Any:
    """The stretches of sessions with several ones, with the column `session`."""
    import narwhals as nw

    # Stretches that start together are peers, so that each of them counts for the others
    session = f"MAX(CASE WHEN {engine.quote(FIRST)} THEN {engine.quote('start')} END) OVER ({_order(engine)})"
    parts = marked.filter(~(nw.col(FIRST) & nw.col(LAST)))
    return engine.select(parts, {SESSION: session}, add=True).drop(FIRST, LAST)


def _order(engine: Engine) -> str:
    return f"PARTITION BY {engine.quote('user')} ORDER BY {engine.quote('start')}"
