"""Queries that are cut by silence or share an id, and logs so orderly that less has to be sorted and counted."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from cranfield.online.engines import Engine, open_engine
from cranfield.online.log_measures import measure_log, parse_online
from cranfield.online.log_measures.log_rows import LogRows
from cranfield.online.log_measures.log_signals import FIRST_CLICK, FIRST_RANKED
from cranfield.online.log_measures.log_stretches import NextQueries
from cranfield.online.logs import read_log
from tests.online.log_measures.literal_measures import LITERAL, Literal
from tests.online.log_measures.small_logs import MINUTE, Rows, log_of, random_rows
from tests.online.log_measures.test_measured_log import check_against_literal

SECOND = 1_000_000
NOON = 1_700_000_000 * SECOND


def orderly_rows(seed: int) -> Rows:
    """A log in which every event has a query and a rank, silence falls between queries, and no times are equal."""
    rows = random_rows(seed, users=40)
    asked = {}
    for number, query in enumerate(rows.queries):
        query["time"] += number
        asked[query["query_id"]] = query["time"]
    rows.events = [row for row in rows.events if row["query_id"] and row["time"] < asked[row["query_id"]] + 20 * MINUTE]
    for number, row in enumerate(rows.events):
        row["time"] += len(rows.queries) + number
        row["position"] = row["position"] or 1
    return rows


@pytest.mark.parametrize("seed", [5, 6])
def test_an_orderly_log_has_the_literal_values(duck: Engine, seed: int) -> None:
    rows = orderly_rows(seed)
    log = log_of(rows, duck)
    check_against_literal(measure_log(log, list(LITERAL), sessions="silence"), Literal(rows))
    names = ("query-similarity", "click-rank", "time-to-first-click")
    passed = LogRows(log, tuple(map(parse_online, names)), sessions_by="silence")
    assert NextQueries(passed.passed, passed.stretches).unsorted_users is None
    assert list(passed.passed._derived([FIRST_RANKED, FIRST_CLICK])) == [FIRST_CLICK]


def test_two_queries_at_the_same_time_are_in_the_order_of_their_ids(duck: Engine) -> None:
    rows = orderly_rows(7)
    rows.events = []
    first, second = rows.queries[:2]
    second |= {"user": first["user"], "time": first["time"]}
    log = log_of(rows, duck)
    check_against_literal(measure_log(log, ["query-similarity"], sessions="silence"), Literal(rows))


def shared_id(engine: Engine) -> Any:
    """Users a and b have a query q1 each, with three documents and with one; a clicks at rank 1."""
    queries = {
        "query_id": ["q1", "q1"],
        "user": ["a", "b"],
        "time": [1_700_000_000, 1_700_000_001],
        "documents": [["d1", "d2", "d3"], ["d1"]],
    }
    events = {"query_id": ["q1"], "user": ["a"], "time": [1_700_000_005], "action": ["click"], "position": [1]}
    return read_log(pyarrow.table(queries), events=pyarrow.table(events), engine=engine, hashed=False)


def check_shared_id(engine: Engine) -> None:
    measured = measure_log(shared_id(engine), ["CTR@2", "abandonment", "clicks-per-query"], least=1)
    # One click on 2 + 1 documents down to rank 2; two queries, one of them with a click
    assert measured.value[:, 0] == pytest.approx([1 / 3, 1 / 2, 1 / 2])


def test_two_users_with_one_query_id_have_their_own_lists_and_clicks(duck: Engine) -> None:
    check_shared_id(duck)


def cut_query(engine: Engine) -> Any:
    """User a asks q1 in arm A and q2 in arm B, and points at a result of q2 two hours after; b and c have one query."""
    asked = {"q1": ("a", "A", 0), "q2": ("a", "B", 60), "q3": ("b", "A", 0), "q4": ("c", "B", 0)}
    rows = Rows([], [], [])
    for query, (user, arm, minute) in asked.items():
        time = NOON + minute * MINUTE
        columns = {"query_id": query, "user": user, "session": None, "time": time, "text": query, "arm": arm}
        rows.queries.append(columns | {"device": None})
    event = {"query_id": "q2", "user": "a", "session": None, "doc": "d", "position": 1, "value": None, "dwell": None}
    rows.events = [
        event | {"time": NOON + 61 * MINUTE, "action": "click"},
        event | {"time": NOON + 181 * MINUTE, "action": "hover"},
    ]
    return log_of(rows, engine)


def check_cut_query(engine: Engine) -> None:
    names = ["abandonment", "good-abandonment(rule=last)"]
    measured = measure_log(cut_query(engine), names, by="arm", least=1, sessions="silence")
    assert measured.groups == (("A",), ("B",))
    # A: q1 and q3, without clicks, each the last of its session; B: q2 with a click, q4 without
    assert measured.value[0].tolist() == [1, 1 / 2]
    assert measured.value[1].tolist() == [1, 1 / 2]


def test_a_query_that_silence_cuts_counts_in_the_arm_in_which_it_was_asked(duck: Engine) -> None:
    check_cut_query(duck)


def test_a_query_without_a_user_is_cut_by_silence_like_others(duck: Engine) -> None:
    query = {"query_id": "q1", "user": None, "session": None, "time": NOON, "text": "q1", "arm": "A", "device": None}
    event = {"query_id": "q1", "user": None, "session": None, "doc": "d", "position": 1, "value": None, "dwell": None}
    clicks = [event | {"time": NOON + minute * MINUTE, "action": "click"} for minute in (1, 120, 121)]
    measures = (parse_online("queries-per-session"), parse_online("clicks-per-session"))
    sessions = LogRows(log_of(Rows([query], [], clicks), duck), measures, sessions_by="silence").sessions
    found = duck.fetch(sessions.sort("start").select("n query", "n click", "session time")).to_pylist()
    # The query with the click after a minute; two hours later, two clicks within a minute
    assert [tuple(row.values()) for row in found] == [(1, 1, MINUTE), (0, 2, MINUTE)]


def check_nobody(engine: Engine) -> None:
    """Three queries in one session each, one of them without a user, with two clicks, the second in a new session."""
    rows = Rows([], [], [])
    for query, user in (("q1", None), ("q2", "b"), ("q3", "c")):
        columns = {"query_id": query, "user": user, "session": None, "time": NOON, "text": query}
        rows.queries.append(columns | {"arm": "A", "device": None})
    event = {"query_id": "q1", "user": None, "session": None, "doc": "d", "position": 1, "value": None, "dwell": None}
    rows.events.extend(event | {"time": NOON + minutes * MINUTE, "action": "click"} for minutes in (1, 120))
    names = ["abandonment", "clicks-per-query", "sessions-per-user", "clicks-per-session"]
    result = measure_log(log_of(rows, engine), names, least=1, sessions="silence")
    assert result.value[:, 0].tolist() == pytest.approx([2 / 3, 2 / 3, 4 / 3, 2 / 4])
    assert result.users.tolist() == [3]


def test_queries_and_clicks_without_a_user_count_as_those_of_one_user(duck: Engine) -> None:
    check_nobody(duck)


@pytest.mark.xdist_group("spark")
def test_spark_reads_cut_and_shared_queries_alike(spark: Engine) -> None:
    check_shared_id(open_engine(spark))
    check_cut_query(open_engine(spark))
    check_nobody(open_engine(spark))
