"""The groups of sessions, users and queries that a log cuts: no group may lose what the whole log has."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from cranfield.online.engines import Engine, open_engine
from cranfield.online.log_measures import measure_log, per_user
from tests.online.log_measures.literal_measures import LITERAL
from tests.online.log_measures.small_logs import MINUTE, Row, Rows, log_of, random_rows

MIDNIGHT = 20_000 * 24 * 60 * MINUTE  # 2024-10-04T00:00:00Z
FIRST, SECOND = "2024-10-03", "2024-10-04"


def query(number: int, user: str, minute: int, arm: str | None = "A", device: str = "desk") -> Row:
    time = MIDNIGHT + minute * MINUTE
    return {
        "query_id": f"q{number}", "user": user, "session": None, "time": time, "text": "t", "arm": arm, "device": device
    }  # fmt: skip


def event(asked: str | None, user: str, minute: int, action: str = "click", value: float | None = None) -> Row:
    row = {"query_id": asked, "user": user, "session": None, "time": MIDNIGHT + minute * MINUTE, "action": action}
    return row | {"doc": "d", "position": 1, "value": value, "dwell": None}


def measured(engine: Engine, rows: Rows, names: list[str], by: list[str], **options: Any) -> dict[Any, list[float]]:
    """{group: the values of the measures}."""
    result = measure_log(log_of(rows, engine), names, by=by, least=1, sessions="silence", **options)
    return dict(zip(result.groups, result.value.T.tolist(), strict=True))


def totals(engine: Engine, rows: Rows, names: list[str], by: list[str]) -> dict[str, list[float]]:
    """The sums above and below the line over all users and groups."""
    users = per_user(log_of(rows, engine), names, by=by, sessions="silence")
    table = engine.fetch(users.frame).to_pylist()
    return {name: [sum(row[column] for row in table) for column in users.sums[name]] for name in names}


def across_midnight() -> Rows:
    """User a has one session: 23:55 in arm B on a phone, 00:05 in A at a desk; user b has a query at 00:10 in B."""
    queries = [query(1, "a", -5, "B", "phone"), query(2, "a", 5, "A", "desk"), query(3, "b", 10, "B", "desk")]
    return Rows(queries, [], [event("q1", "a", -4), event("q2", "a", 6)])


def check_across_midnight(engine: Engine) -> None:
    names = ["queries-per-session", "clicks-per-session", "session-length", "sessions-per-user"]
    # The session of a has 2 queries and 2 clicks from 23:55 to 00:06: 660 s. It begins on the first day, in arm B
    whole, single = [2, 2, 660, 1], [1, 0, 0, 1]
    nan = float("nan")
    nothing = pytest.approx([nan, nan, nan, 0], nan_ok=True)  # a is there, but has no session there
    by_arm = {(FIRST, "B"): whole, (SECOND, "A"): nothing, (SECOND, "B"): single}
    assert measured(engine, across_midnight(), names, ["day", "arm"]) == by_arm
    by_both = {(FIRST, "phone", "B"): whole, (SECOND, "desk", "A"): nothing, (SECOND, "desk", "B"): single}
    assert measured(engine, across_midnight(), names, ["day", "device", "arm"]) == by_both
    # Without days, the first arm in the alphabet, with a device that the user had in this arm
    by_arms = {("A", "desk"): whole, ("B", "desk"): single, ("B", "phone"): nothing}
    assert measured(engine, across_midnight(), names, ["arm", "device"]) == by_arms
    by_hour = {(FIRST, "23"): whole, (SECOND, "00"): [1, 0, 0, 0.5]}  # two users at 00, one session
    assert measured(engine, across_midnight(), names, ["day", "hour"]) == by_hour
    assert measured(engine, across_midnight(), names, ["hour"]) == {("23",): whole, ("00",): [1, 0, 0, 0.5]}


def test_a_session_across_midnight_is_in_a_group_of_its_user(duck: Engine) -> None:
    check_across_midnight(duck)


def test_a_session_across_local_midnight_is_in_the_hour_at_which_it_begins(duck: Engine) -> None:
    rows = across_midnight()
    for row in (*rows.queries, *rows.events):
        row["time"] += 4 * 60 * MINUTE  # 04:00 UTC is midnight in New York, in October
    found = measured(duck, rows, ["session-length"], ["day", "hour"], timezone="America/New_York")
    assert found == {(FIRST, "23"): [660], (SECOND, "00"): [0]}


def without_query() -> Rows:
    """User a buys for 5 on the first day, and for 7 and 11 on the second; no purchase names a query."""
    bought = [event(None, "a", minute, "conversion", value) for minute, value in ((-90, 5.0), (60, 7.0), (600, 11.0))]
    return Rows([query(1, "a", -100)], [], bought)


def check_without_query(engine: Engine) -> None:
    assert measured(engine, without_query(), ["revenue"], ["day"]) == {(FIRST,): [5], (SECOND,): [18]}
    by_hour = {("22",): [5], ("01",): [7], ("10",): [11]}
    assert measured(engine, without_query(), ["revenue"], ["hour"]) == by_hour


def test_events_without_a_query_count_on_their_own_day(duck: Engine) -> None:
    check_without_query(duck)


def test_events_without_a_query_and_a_session_count_on_their_own_day(duck: Engine) -> None:
    rows = without_query()
    rows.queries[0]["session"] = "s"
    result = measure_log(log_of(rows, duck), ["revenue"], by="day", least=1, sessions="given")
    assert dict(zip(result.groups, result.value[0].tolist(), strict=True)) == {(FIRST,): 5, (SECOND,): 18}


def late_purchase() -> Rows:
    """User a asks q1 in arm B, buys for 5 an hour later, and asks q2 in arm A."""
    return Rows([query(1, "a", 0, "B"), query(2, "a", 200, "A")], [], [event("q1", "a", 60, "conversion", 5.0)])


@pytest.mark.parametrize("names", [["revenue"], ["revenue", "session-length"]])
def test_a_late_event_counts_in_the_arm_of_its_query(duck: Engine, names: list[str]) -> None:
    found = measured(duck, late_purchase(), names, ["arm"])
    assert {group: values[0] for group, values in found.items()} == {("A",): 0, ("B",): 5}


def two_arms(seed: int) -> Rows:
    """A random log in which users change arms and devices, and a tenth of the events come hours before their query."""
    rows = random_rows(seed, users=40)
    rng = np.random.default_rng(seed)
    for row in rows.queries:
        row["arm"] = str(rng.choice(["A", "B", "C"])) if rng.random() < 0.9 else None
    for row in rows.events:
        row["time"] -= int(rng.random() < 0.1) * int(rng.integers(1, 400)) * MINUTE
    return rows


GROUPS = (
    ["day"],
    ["hour"],
    ["arm"],
    ["day", "arm"],
    ["hour", "arm"],
    ["arm", "device"],
    ["device", "hour", "day", "arm"],
)
PER_USER = {"queries-per-user", "queries-per-day", "page-views", "revenue"}
PER_USER |= {"sessions-per-user", "sessions-per-day", "total-time"}
"""A user counts below the line in every group, so that only the sums above it add up."""
OF_USERS = {"conversion", "referral", "active-users(days=2)", "adoption(days=2)", "retention(days=1)"}
"""Shares of users, who may be in several groups: no sums add up."""


@cache
def whole_log(seed: int) -> dict[str, list[float]]:
    with open_engine("duckdb") as engine:
        return totals(engine, two_arms(seed), list(LITERAL), [])


@pytest.mark.parametrize("by", GROUPS, ids=",".join)
@pytest.mark.parametrize("seed", [1, 2])
def test_groups_add_up_to_the_whole_log(duck: Engine, by: list[str], seed: int) -> None:
    whole, groups = whole_log(seed), totals(duck, two_arms(seed), list(LITERAL), by)
    for name in LITERAL.keys() - OF_USERS:
        sums = slice(1) if name in PER_USER else slice(2)
        assert groups[name][sums] == pytest.approx(whole[name][sums]), name


@pytest.mark.parametrize("by", [["day", "arm"], ["hour"], ["arm", "device"]], ids=",".join)
def test_a_measure_does_not_depend_on_the_others(duck: Engine, by: list[str]) -> None:
    rows = two_arms(3)
    together = totals(duck, rows, list(LITERAL), by)
    for name in ("revenue", "page-views", "abandonment", "sessions-per-user", "session-length", "query-similarity"):
        assert totals(duck, rows, [name], by)[name] == pytest.approx(together[name]), name


@pytest.mark.xdist_group("spark")
def test_spark_finds_the_same_groups(spark: Engine) -> None:
    check_across_midnight(open_engine(spark))
    check_without_query(open_engine(spark))
