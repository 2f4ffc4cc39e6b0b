"""Sessions of a log of live traffic: its queries, their lists and clicks, in the plain format of sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from cranfield.answers.sessions.session_files import REPEATED, Click, Faults, Sessions, made_query, made_session
from cranfield.errors import DataError
from cranfield.online.expressions import nw
from cranfield.online.logs import Log
from cranfield.online.logs.sessions import SILENCE, assign_sessions
from cranfield.text import counted

SECOND = 1_000_000
"""Microseconds, in which a log counts time."""


def sessions_of_log(log: Log, *, by: str = "auto", silence: float = SILENCE) -> Sessions:
    """The sessions of a log with all their queries, lists and clicks; times are seconds from the first query.

    by and silence say how sessions end, see `cranfield.online.logs.sessions.assign_sessions`. Sessions of a log have no
    topic: `with_topics` adds them, and clicks can be scored without.

    >>> from cranfield.online.logs import simulate_log
    >>> sessions = sessions_of_log(simulate_log(users=20, days=1, seed=2), by="silence")
    >>> sessions.sessions[0].queries[0].time
    0.0
    """
    assigned = assign_sessions(log, by=by, silence=silence)
    fetch, known = log.engine.fetch, ~nw.col("session").is_null() & ~nw.col("time").is_null()
    order = ("user", "session", "time", "query_id")
    queries = fetch(assigned.queries.filter(known).select(*order, "text").sort(*order)).to_pylist()
    if not queries:
        raise DataError(log.origin or "the log", None, "has no queries with a session and a time")
    lost = fetch(assigned.queries.filter(~known).select(nw.len().alias("lost")))["lost"][0].as_py()
    shown = _slices(
        fetch(log.shown.select("query_id", "position", "doc").sort("query_id", "position", "doc")), ("doc",)
    )
    clicked = assigned.events.filter(nw.col("action") == "click").sort("query_id", "time", "position", "doc")
    clicks = _slices(
        fetch(clicked.select("query_id", "time", "doc", "position", "dwell")), ("time", "doc", "position", "dwell")
    )
    faults = Faults()
    users = {(row["user"], row["session"]) for row in queries}
    shared = {name for name, count in Counter(session for _, session in users).items() if count > 1}
    made = []
    for (user, name), rows in groupby(queries, key=lambda row: (row["user"], row["session"])):
        title = f"{user}-{name}" if name in shared else str(name)
        parts = list(rows)
        begin = parts[0]["time"]
        made.append(
            made_session(
                title, None, [_query(row, begin, shown, clicks, f"session {title}", faults) for row in parts],
                f"session {title}", faults,
            )
        )  # fmt: skip
    notes = [*faults.notes(), *log.notes]
    if lost:
        notes.append(f"{counted(lost, 'query', 'queries')} without a session or a time, left out")
    return Sessions(tuple(made), tuple(notes), log.origin or "the log")


def _slices(table: Any, names: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a table by query, which must be sorted by it."""
    ids = np.array(table["query_id"].to_pylist(), dtype=object)
    columns = [table[name].to_pylist() for name in names]
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1]))) if len(ids) else np.zeros(0, dtype=int)
    ends = np.append(starts[1:], len(ids))
    return {
        ids[begin]: list(zip(*(column[begin:end] for column in columns), strict=True))
        for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)
    }


def _query(row: Any, begin: int, shown: Any, clicks: Any, place: str, faults: Faults) -> Any:
    names = [doc for (doc,) in shown.get(row["query_id"], ())]
    documents = list(dict.fromkeys(names))
    for _ in range(len(names) - len(documents)):
        faults.add(REPEATED, place)
    at = {doc: rank for rank, doc in enumerate(documents, 1)}
    made = []
    for time, doc, position, dwell in clicks.get(row["query_id"], ()):
        rank = at.get(doc, 0) if doc is not None else at.get(names[position - 1], 0) if _within(position, names) else 0
        seconds = None if time is None else (time - begin) / SECOND
        made.append(Click(rank, seconds, None if seconds is None or dwell is None else seconds + dwell))
    return made_query(documents, made, row["text"] or "", (row["time"] - begin) / SECOND, place, faults)


def _within(position: int | None, names: Sequence[str]) -> bool:
    return position is not None and 1 <= position <= len(names)
