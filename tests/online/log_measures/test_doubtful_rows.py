"""Rows that make measures doubtful are counted in the notes of the measures."""

from __future__ import annotations

from typing import Any

import pytest

from cranfield.online.engines import open_engine
from cranfield.online.log_measures import measure_log, parse_online_many
from cranfield.online.log_measures.log_rows import LogRows, doubtful_rows
from tests.online.log_measures.small_logs import Rows, log_of, random_rows

STRAYS = "events of queries that are not in the log, or that another user asked, count for no query"
NOBODY = "queries and events without a user count as those of one user"
NAMELESS = "queries without an id are left out of measures of queries"


def odd_log() -> Rows:
    """Two events of an unknown query an hour apart, one event of another user, a query without an id, one without a
    user."""
    rows = random_rows(seed=3, users=20)
    first = next(row for row in rows.events if row["query_id"])
    asker = first["user"]
    stranger = next(row["user"] for row in rows.queries if row["user"] != asker)
    rows.events += [{**first, "query_id": "nowhere", "time": first["time"] + hours * 3_600_000_000} for hours in (0, 1)]
    rows.events.append({**first, "user": stranger})
    rows.queries.append({**rows.queries[0], "query_id": None})
    rows.queries.append({**rows.queries[0], "query_id": "q-nobody", "user": None})
    return rows


@pytest.mark.parametrize("measures", [["click-RR"], ["click-RR", "session-length"]])
def test_stray_events_and_missing_ids_are_counted(measures: list[str]) -> None:
    notes = measure_log(log_of(odd_log(), open_engine("duckdb")), measures).notes
    assert {f"{STRAYS}: 3", f"{NOBODY}: 1", f"{NAMELESS}: 1"} <= set(notes)


def test_a_query_without_an_id_counts_for_no_query_whatever_else_is_measured() -> None:
    log = log_of(odd_log(), open_engine("duckdb"))
    alone, beside = (measure_log(log, names).value[0, 0] for names in (["click-RR"], ["click-RR", "session-length"]))
    assert alone == pytest.approx(beside, rel=1e-12)  # sums in another order


def test_a_good_log_has_no_such_notes() -> None:
    notes = measure_log(log_of(random_rows(seed=3, users=20), open_engine("duckdb")), ["CTR", "session-length"]).notes
    assert not [note for note in notes if note.startswith((STRAYS, NOBODY, NAMELESS)) or "bots" in note]


def test_users_with_too_many_actions_are_counted() -> None:
    rows = random_rows(seed=3, users=20)
    actions = [row["user"] for row in (*rows.queries, *rows.events)]
    most = max(actions.count(user) for user in set(actions))
    same = sum(actions.count(user) == most for user in set(actions))
    measured = LogRows(log_of(rows, open_engine("duckdb")), parse_online_many(["CTR"]))
    expected = f"users with {most} queries and events or more, perhaps bots, are in these numbers: {same}"
    assert doubtful_rows(measured, bot_events=most) == [expected]
    assert doubtful_rows(measured, bot_events=most + 1) == []


def test_a_measure_without_a_value_says_why() -> None:
    log = log_of(random_rows(seed=3, users=20), open_engine("duckdb"))
    measured = measure_log(log, ["CTR", "retention(days=5000)"])
    assert "undefined where nothing counts below the line: retention(days=5000)" in measured.notes


@pytest.mark.xdist_group("spark")
def test_spark_counts_the_same(spark: Any) -> None:
    names = ["click-RR", "session-length"]
    duckdb, on_spark = (measure_log(log_of(odd_log(), open_engine(name)), names) for name in ("duckdb", spark))
    assert duckdb.notes == on_spark.notes
    assert duckdb.value == pytest.approx(on_spark.value)


def test_an_event_called_query_does_not_count_as_a_query() -> None:
    rows = random_rows(seed=3, users=20)
    event = next(row for row in rows.events if row["query_id"])
    rows.events.append({**event, "action": "query"})
    measured = measure_log(log_of(rows, open_engine("duckdb")), ["queries-per-session", "sessions-per-user"])
    per_session, sessions = measured.value[:, 0]
    assert per_session * sessions * measured.users[0] == pytest.approx(len(rows.queries))  # not one more
