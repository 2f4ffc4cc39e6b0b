"""Sessions of a log: all queries, lists and clicks of it, in the format of sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.answers.sessions import Click, Query
from cranfield.answers.sessions.log_sessions import sessions_of_log
from cranfield.errors import DataError
from cranfield.online.logs import read_log, simulate_log

QUERIES = [
    {"query_id": "q1", "user": "u", "time": 1000.0, "text": "cats", "docs": ["d1", "d2", "d3"]},
    {"query_id": "q2", "user": "u", "time": 1060.0, "text": "cat food", "docs": ["d2", "d4", "d2"]},
    {"query_id": "q3", "user": "u", "time": 1000.0 + 7200, "text": "dogs", "docs": ["d6"]},
]
CLICKS = [
    {"query_id": "q1", "user": "u", "time": 1012.5, "doc": "d3", "dwell": 20},
    {"query_id": "q1", "user": "u", "time": 1040.0, "doc": "d9"},
    {"query_id": "q2", "user": "u", "time": 1070.0, "doc": "d4"},
]


def written(folder: Path) -> Path:
    for name, rows in (("queries", QUERIES), ("clicks", CLICKS)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def test_queries_lists_and_clicks_of_a_log(tmp_path: Path) -> None:
    folder = written(tmp_path)
    log = read_log(folder / "queries.jsonl", events=folder / "clicks.jsonl", hashed=False)
    sessions = sessions_of_log(log)
    first = Query(("d1", "d2", "d3"), (Click(3, 12.5, 32.5),), "cats", 0.0)
    second = Query(("d2", "d4"), (Click(2, 70.0),), "cat food", 60.0)
    assert [session.queries for session in sessions.sessions] == [(first, second), (Query(("d6",), (), "dogs", 0.0),)]
    assert [session.name for session in sessions.sessions] == ["u-1", "u-2"]
    assert "1 × click on a document that its list does not show, left out: session u-1" in sessions.notes
    assert "1 × document that appears twice in one list, the second left out: session u-1" in sessions.notes
    with pytest.raises(DataError, match="no queries with a session"):
        sessions_of_log(log, by="given")


def test_a_simulated_log_has_as_many_sessions_queries_and_clicks() -> None:
    log = simulate_log(users=30, days=3, seed=4)
    sessions = sessions_of_log(log, by="given").sessions
    count = log.engine.fetch
    assert sum(len(session.queries) for session in sessions) == count(log.queries).num_rows
    clicked = [action for action in count(log.events)["action"].to_pylist() if action == "click"]
    assert sum(len(query.clicks) for session in sessions for query in session.queries) == len(clicked)
    assert len(sessions) == int(log.truth.counts["sessions"].sum())
