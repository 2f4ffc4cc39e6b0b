"""Online measures of a log, against a slow and literal version, on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

from cranfield.errors import UsageError
from cranfield.online.engines import open_engine
from cranfield.online.log_measures import ONLINE_MEASURES, measure_log, parse_online
from cranfield.online.logs import read_log
from cranfield.online.logs.sessions import assign_sessions
from tests.online.log_measures.literal_measures import DAY, LITERAL, Literal, literal_estimate, wilson_of_users
from tests.online.log_measures.small_logs import Rows, log_of, random_rows


@pytest.fixture(scope="module")
def rows() -> Rows:
    return random_rows(seed=5, users=40)


@pytest.fixture(scope="module")
def log(rows: Rows) -> Any:
    return log_of(rows, open_engine("duckdb"))


def check_against_literal(measured: Any, literal: Literal) -> None:
    for m, name in enumerate(measured.measures):
        value, error = literal_estimate(literal, name)
        assert measured.value[m, 0] == pytest.approx(value, rel=1e-9), name
        assert measured.error[m, 0] == pytest.approx(error, rel=1e-7), name


def test_every_measure_has_a_literal_version() -> None:
    assert {type(parse_online(name)) for name in LITERAL} == {type(parse_online(name)) for name in ONLINE_MEASURES}


def test_values_and_errors_are_those_of_the_literal_version(log: Any, rows: Rows) -> None:
    check_against_literal(measure_log(log, list(LITERAL)), Literal(rows))


def test_measures_alone_are_the_same_as_together(log: Any) -> None:
    together = measure_log(log, list(LITERAL))
    for m, name in enumerate(together.measures):
        alone = measure_log(log, [name])
        assert alone.value[0, 0] == pytest.approx(together.value[m, 0], rel=1e-12), name
        assert alone.low[0, 0] == pytest.approx(together.low[m, 0], rel=1e-9), name


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_numbers(rows: Rows, spark: Any) -> None:
    check_against_literal(measure_log(log_of(rows, open_engine(spark)), list(LITERAL)), Literal(rows))


def test_a_shorter_silence_makes_more_sessions(log: Any, rows: Rows) -> None:
    names = [
        "queries-per-session",
        "sessions-per-user",
        "absence-time",
        "session-length",
        "reformulation(similarity=0.2)",
    ]
    check_against_literal(measure_log(log, names, silence=4), Literal(rows, gap_minutes=4))


def test_sessions_of_the_log_are_used_if_every_query_has_one() -> None:
    rows = random_rows(seed=6, users=40, sessions=True)
    names = ["queries-per-session", "session-length", "good-abandonment", "absence-time", "total-time", "activation"]
    measured = measure_log(log_of(rows, open_engine("duckdb")), names)
    check_against_literal(measured, Literal(rows, named=True))
    assert "sessions: as the log names them" in measured.notes


def test_sessions_by_continuity_are_those_of_assign_sessions(log: Any) -> None:
    names = ["queries-per-session", "session-length", "sessions-per-user"]
    assigned = measure_log(assign_sessions(log, by="continuity"), names)
    measured = measure_log(log, names, sessions="continuity")
    assert measured.value == pytest.approx(assigned.value, rel=1e-12)
    assert measured.value[0, 0] < measure_log(log, names).value[0, 0]


def test_sessions_by_silence_are_those_of_assign_sessions(log: Any) -> None:
    names = ["queries-per-session", "session-length", "sessions-per-user", "absence-time"]
    assigned = measure_log(assign_sessions(log, by="silence", silence=10), names)
    measured = measure_log(log, names, sessions="silence", silence=10)
    assert measured.value == pytest.approx(assigned.value, rel=1e-12)


def test_a_log_that_names_some_sessions_is_split_by_silence_and_says_so(rows: Rows) -> None:
    queries = [{**row, "session": "s" if i == 0 else None} for i, row in enumerate(rows.queries)]
    measured = measure_log(log_of(Rows(queries, rows.shown, rows.events), open_engine("duckdb")), ["session-length"])
    check_against_literal(measured, Literal(rows))
    without = f"{len(queries) - 1:,} of {len(queries):,} queries name none"
    assert any(without in note for note in measured.notes)


def test_by_arm_every_user_counts_in_the_arm_of_the_queries(log: Any, rows: Rows) -> None:
    literal = Literal(rows)
    arms = {query["user"]: query["arm"] for query in rows.queries}
    measured = measure_log(log, list(LITERAL), by="arm")
    assert measured.groups == (("A",), ("B",))
    for g, arm in enumerate("AB"):
        users = sorted(user for user in literal.by_user if arms[user] == arm)
        assert measured.users[g] == len(users)
        for m, name in enumerate(measured.measures):
            value, error = literal_estimate(literal, name, users)
            assert measured.value[m, g] == pytest.approx(value, rel=1e-9), name
            assert measured.error[m, g] == pytest.approx(error, rel=1e-7), name


def test_by_day_queries_count_on_the_day_on_which_they_were_asked(log: Any, rows: Rows) -> None:
    measured = measure_log(log, ["abandonment", "clicks-per-query"], by="day", least=1)
    literal = Literal(rows)
    days = sorted({row["time"] // DAY for row in rows.queries})
    dates = [str(np.datetime64(day, "D")) for day in days]
    assert [group[0] for group in measured.groups if group[0] in dates] == dates
    for day, date in zip(days, dates, strict=True):
        asked = [query for query in rows.queries if query["time"] // DAY == day]
        g = measured.groups.index((date,))
        assert measured.value[0, g] == pytest.approx(np.mean([not literal.clicks(query) for query in asked]))
        assert measured.value[1, g] == pytest.approx(np.mean([len(literal.clicks(query)) for query in asked]))


def test_by_segment_queries_without_a_value_are_a_group_of_the_users_other_value(log: Any, rows: Rows) -> None:
    """A query without a device counts for the user's first device in the alphabet, and for "(none)" without any."""
    known: dict[str, str] = {}
    for query in rows.queries:
        if query["device"] is not None:
            known[query["user"]] = min(query["device"], known.get(query["user"], "~"))
    groups: dict[str, list[bool]] = {}
    literal = Literal(rows)
    for query in rows.queries:
        device = query["device"] or known.get(query["user"], "(none)")
        groups.setdefault(device, []).append(not literal.clicks(query))
    measured = measure_log(log, ["abandonment"], by="device", least=1)
    shown = {group[0]: measured.value[0, g] for g, group in enumerate(measured.groups)}
    assert {name: shown[name] for name in groups} == pytest.approx({name: np.mean(v) for name, v in groups.items()})


def test_groups_with_few_users_are_not_shown(log: Any) -> None:
    everything = measure_log(log, ["abandonment"], by=["day", "device"], least=1)
    shown = measure_log(log, ["abandonment"], by=["day", "device"], least=12)
    enough = [group for group, n in zip(everything.groups, everything.users, strict=True) if n >= 12]
    assert list(shown.groups) == enough
    left_out = len(everything.groups) - len(enough)
    assert left_out
    assert any(note.startswith(f"{left_out} groups with fewer than 12 users") for note in shown.notes)


def test_a_small_log_is_refused_with_the_way_out(log: Any) -> None:
    with pytest.raises(UsageError, match="fewer than 1000 users; to measure it anyway: least=1"):
        measure_log(log, ["CTR"], least=1000)
    with pytest.raises(UsageError, match="every group has fewer than 1000 users"):
        measure_log(log, ["CTR"], by="arm", least=1000)


def test_an_unknown_column_is_refused_with_a_suggestion(log: Any) -> None:
    with pytest.raises(UsageError, match="no column of the log 'devise'; did you mean 'device'"):
        measure_log(log, ["CTR"], by="devise")


def test_a_measure_of_what_the_log_does_not_record_is_undefined(rows: Rows) -> None:
    events = [{**row, "dwell": None} for row in rows.events if row["action"] == "click"]
    queries = [{**row, "text": None} for row in rows.queries]
    log = log_of(Rows(queries, rows.shown, events), open_engine("duckdb"))
    names = ["hover", "conversion", "session-success", "reformulation", "abandonment", "dwell", "referral(action=send)"]
    measured = measure_log(log, names)
    assert np.isnan(measured.value[:, 0]).tolist() == [True, True, True, True, False, True, True]
    assert "hover: no event has the action 'hover', so it is undefined" in measured.notes
    assert "reformulation: no query has a text, so it is undefined" in measured.notes
    assert "session-success: no click has a dwell time, so it is undefined" in measured.notes
    assert "referral(action=send): no event has the action 'send', so it is undefined" in measured.notes


def test_the_interval_of_a_share_is_wilsons_with_the_effective_number_of_rows(log: Any, rows: Rows) -> None:
    measured = measure_log(log, ["CTR"], level=0.9)
    literal = Literal(rows)
    sums = {user: np.zeros(2) for user in literal.by_user}
    for row, above, below in LITERAL["CTR"](literal):
        sums[row["user"]] += (above, below)
    expected = wilson_of_users(np.array(list(sums.values())), 0.9)
    assert (measured.low[0, 0], measured.high[0, 0]) == pytest.approx(expected)


def test_intervals_cover_the_truth_although_queries_of_a_user_are_alike() -> None:
    """60 samples of 60 users from a population in which some users always click and some never do.

    An interval over queries would cover far less often: a user's queries all have the same value.
    """
    rng = np.random.default_rng(3)
    covered = 0
    engine = open_engine("duckdb")
    for _ in range(60):
        rows = Rows([], [], [])
        for u in range(60):
            clicker = rng.random() < 0.5
            for q in range(int(rng.integers(1, 20))):
                query = f"u{u}q{q}"
                rows.queries.append(
                    {
                        "query_id": query,
                        "user": f"u{u}",
                        "session": None,
                        "time": q,
                        "text": None,
                        "arm": None,
                        "device": None,
                    }
                )
                if clicker:
                    event = dict.fromkeys(("session", "doc", "position", "value", "dwell"))
                    rows.events.append({**event, "query_id": query, "user": f"u{u}", "time": q, "action": "click"})
        measured = measure_log(log_of(rows, engine), ["abandonment"])
        covered += bool(measured.low[0, 0] <= 0.5 <= measured.high[0, 0])
    assert 52 <= covered <= 60  # binomial(60, 0.95): below 52 with probability 0.4%


def test_a_share_of_all_users_has_an_interval(log: Any) -> None:
    measured = measure_log(log, ["active-users(days=90)"])
    assert measured.value[0, 0] == 1
    # Wilson's interval of 40 users of 40
    assert measured.low[0, 0] == pytest.approx(40 / (40 + 1.959964**2))
    assert measured.high[0, 0] == 1


def test_the_table_has_a_row_per_measure_or_a_row_per_group(log: Any) -> None:
    assert [column.header for column in measure_log(log, ["CTR"]).table().columns] == [
        "measure",
        "value",
        "unit",
        "users",
    ]
    table = measure_log(log, ["CTR", "abandonment"], by="arm").table()
    assert [column.header for column in table.columns] == ["arm", "users", "CTR", "abandonment"]
    assert measure_log(log, ["CTR"], by="arm").columns()["arm"].tolist() == ["A", "B"]


def priced(values: list[float | None]) -> Any:
    """A log with a user per value, each with a query and a conversion of that value."""
    queries = {"query_id": list("abcd"), "user": list("abcd"), "time": [1_700_000_000] * 4}
    events = {**queries, "action": ["conversion"] * 4, "value": pyarrow.array(values, pyarrow.float64())}
    return read_log(pyarrow.table(queries), events=pyarrow.table(events), hashed=False)


@pytest.mark.parametrize(
    ("values", "revenue", "note"),
    [
        ([1.0, 2.0, None, 6.0], 9 / 4, ""),
        ([1.0, 2.0, np.nan, 6.0], 9 / 4, ""),  # frames write missing numbers so
        ([1.0, 2.0, np.inf, 6.0], 9 / 3, "users with a number that is infinite are left out: revenue 1"),
        ([None] * 4, np.nan, "revenue: no conversion has a value, so it is undefined"),
        ([1e308] * 4, np.nan, "revenue: its numbers are too large, so it is undefined"),
    ],
)
def test_revenue_of_missing_infinite_and_huge_values(values: list[float | None], revenue: float, note: str) -> None:
    measured = measure_log(priced(values), ["revenue"], least=1)
    assert measured.value[0, 0] == pytest.approx(revenue, nan_ok=True)
    assert not note or note in measured.notes
