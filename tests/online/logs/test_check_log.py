"""`check_log`: every trap is planted in a small log, and must be counted and placed."""

import json
from pathlib import Path
from typing import Any

import pytest

from cranfield.errors import DataError, UsageError
from cranfield.online.engines import Engine
from cranfield.online.logs import read_log, write_demo
from cranfield.online.logs.check_log import check_log
from cranfield.online.logs.log_traps import CheckReport

NOON = "2026-03-02T12:00:{:02d}Z"


def query(number: int, second: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "query_id": f"q{number}",
        "client_id": f"u{number}",
        "timestamp": NOON.format(second),
        "user_query": "red shoes",
        "query_response_hit_ids": ["a", "b", "c"],
        **more,
    }


def event(number: int, second: int = 5, doc: str = "b", position: int | None = 2, **more: Any) -> dict[str, Any]:
    return {
        "query_id": f"q{number}",
        "client_id": f"u{number}",
        "timestamp": NOON.format(second),
        "action_name": "click",
        "event_attributes": {"object": {"object_id": doc}, "position": {"ordinal": position}},
        **more,
    }


def write_ubi(folder: Path, queries: list[Any], events: list[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in (("queries", queries), ("events", events)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"ubi_{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def found(report: CheckReport, problem: str) -> tuple[int, str, str]:
    """The count, the level and the first example of a problem."""
    finding = next((finding for finding in report.findings if finding.problem == problem), None)
    assert finding is not None, [finding.problem for finding in report.findings]
    return finding.count, finding.level, next(iter(finding.examples), "")


def problems(report: CheckReport) -> dict[str, int]:
    return {finding.problem: finding.count for finding in report.findings}


def test_a_good_log_has_no_problems(tmp_path: Path) -> None:
    report = check_log(write_ubi(tmp_path / "log", [query(1), query(2)], [event(1), event(2)]), salt="s")
    assert report.findings == ()
    assert not report.wrong
    assert report.verdict == "no problems in 2 queries, 6 documents shown and 2 events"


GOOD_QUERIES = [query(1), query(2)]
GOOD_EVENTS = [event(1), event(2)]
# Each case: queries, events, what is found, how often, its level, and an example
CASES: dict[str, tuple[list[Any], list[Any], str, int, str, str]] = {
    "broken rows": (
        [query(1), "{broken", query(2)], GOOD_EVENTS,
        "rows of queries that cannot be read", 1, "error", "ubi_queries.jsonl:2",
    ),
    "blank lines are counted as lines": (
        [query(1), "", "", "{broken", query(2)], GOOD_EVENTS,
        "rows of queries that cannot be read", 1, "error", "ubi_queries.jsonl:4",
    ),
    "null query ids": (
        [*GOOD_QUERIES, query(3, query_id=None)], GOOD_EVENTS,
        "queries without an id", 1, "error", "ubi_queries.jsonl:3: text red shoes",
    ),
    "null users": (
        [*GOOD_QUERIES, query(3, client_id="")], GOOD_EVENTS,
        "queries without a user", 1, "error", "ubi_queries.jsonl:3: query_id q3",
    ),
    "repeated query ids": (
        [*GOOD_QUERIES, query(1)], GOOD_EVENTS,
        "rows with the user and the id of another query", 1, "note", "ubi_queries.jsonl:3: query_id q1, rows 2",
    ),
    "repeated documents": (
        [query(1), query(2, query_response_hit_ids=["a", "b", "a", "a"])], GOOD_EVENTS,
        "lists with repeated documents", 1, "error", "ubi_queries.jsonl:2: query_id q2, repeated 2",
    ),
    "times without a zone": (
        [query(1), query(2, timestamp="2026-03-02T12:00:00")], GOOD_EVENTS,
        "times of queries without a time zone", 1, "error",
        "ubi_queries.jsonl:2: query_id q2, time 2026-03-02T12:00:00.000+00:00",
    ),
    "unreadable times": (
        GOOD_QUERIES, [event(1), event(2, timestamp="noon")],
        "times of events that cannot be read", 1, "error", "ubi_events.jsonl:2: query_id q2, time noon",
    ),
    "numbers that are text": (
        GOOD_QUERIES, [event(1), event(2, position="second")],
        "numbers of events that cannot be read", 1, "error", "ubi_events.jsonl:2: query_id q2, position second",
    ),
    "infinite numbers": (
        GOOD_QUERIES, [event(1), event(2, value="inf", action_name="conversion")],
        "numbers of events that cannot be read", 1, "error", "ubi_events.jsonl:2: query_id q2, value inf",
    ),
    "conversions without a value": (
        GOOD_QUERIES, [event(1, value=3, action_name="conversion"), event(2, value="NaN", action_name="conversion")],
        "conversions without a value", 1, "note", "ubi_events.jsonl:2: query_id q2",
    ),
    "missing times": (
        [query(1), query(2, timestamp=None)], GOOD_EVENTS,
        "times of queries that are missing", 1, "error", "ubi_queries.jsonl:2: query_id q2",
    ),
    "clocks that begin in 1970": (
        GOOD_QUERIES, [event(1), event(2, timestamp="1970-01-01T00:00:00Z")],
        "times of events before 1995 or in the future", 1, "error",
        "ubi_events.jsonl:2: query_id q2, time 1970-01-01T00:00:00.000+00:00",
    ),
    "units of time": (
        [query(1, timestamp=1772452800), query(2, timestamp=1772452800000), query(3, timestamp=1772452801)],
        GOOD_EVENTS,
        "times of queries in another unit than most", 1, "error", "1 in milliseconds, 2 in seconds",
    ),
    "positions from 0": (
        GOOD_QUERIES, [event(1, doc="a", position=0), event(2, action_name="hover")],
        "positions of clicks that are 0", 1, "error", "ubi_events.jsonl:1: query_id q1, doc a, position 0",
    ),
    "missing positions": (
        GOOD_QUERIES, [event(1), event(2, position=None)],
        "positions of clicks that are missing", 1, "warning", "ubi_events.jsonl:2: query_id q2, doc b",
    ),
    "documents that were not shown": (
        GOOD_QUERIES, [event(1), event(2, doc="z")],
        "clicks on documents that were not shown", 1, "error", "ubi_events.jsonl:2: query_id q2, doc z",
    ),
    "documents shown elsewhere": (
        GOOD_QUERIES, [event(1), event(2, position=3)],
        "clicks at another position than their document was shown", 1, "error",
        "ubi_events.jsonl:2: query_id q2, doc b, position 3, shown_at 2",
    ),
    "events before their query": (
        [query(1, second=9), query(2)], GOOD_EVENTS,
        "events before their query", 1, "error",
        "ubi_events.jsonl:1: time 2026-03-02T12:00:05.000+00:00, query_time 2026-03-02T12:00:09.000+00:00",
    ),
    "duplicated events": (
        GOOD_QUERIES, [event(1), event(1), event(1), event(2)],
        "events that are there twice", 2, "error",
        "ubi_events.jsonl:3: query_id q1, action click, time 2026-03-02T12:00:05.000+00:00, rows 3",
    ),
    "clocks out of order": (
        GOOD_QUERIES, [event(1, second=9), event(2), event(1, second=7, doc="a", position=1)],
        "events that go back in time: clocks out of order", 1, "warning",
        "ubi_events.jsonl:3: time 2026-03-02T12:00:07.000+00:00, time_before 2026-03-02T12:00:09.000+00:00",
    ),
    "unknown queries": (
        GOOD_QUERIES, [event(1), event(7)],
        "events of queries that are not in the log", 1, "error", "ubi_events.jsonl:2: query_id q7, action click",
    ),
    "events without a query": (
        GOOD_QUERIES, [event(1), event(2, query_id=None)],
        "events without a query id", 1, "note", "ubi_events.jsonl:2: action click, time 2026-03-02T12:00:05.000+00:00",
    ),
    "unknown actions": (
        GOOD_QUERIES, [event(1), event(2, action_name="wiggle")],
        "events of unknown actions", 1, "warning", "ubi_events.jsonl:2: action wiggle",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_trap_is_counted_and_placed(tmp_path: Path, case: str) -> None:
    queries, events, problem, count, level, example = CASES[case]
    report = check_log(write_ubi(tmp_path / "log", queries, events), salt="s")
    assert found(report, problem) == (count, level, example)
    assert report.wrong == any(finding.level == "error" for finding in report.findings)
    if level == "error" and case != "clocks that begin in 1970":  # which are also before their query
        others = {finding.problem for finding in report.findings if finding.level == "error"} - {problem}
        assert not others


def test_empty_tables_are_found(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("query_id,user,time,text\n")
    (tmp_path / "events.csv").write_text("query_id,user,time,action\n")
    report = check_log(tmp_path)
    assert [(finding.problem, finding.level) for finding in report.findings] == [
        ("a table of queries without a row", "error"),
        ("a table of events without a row", "warning"),
    ]
    assert report.wrong


def test_events_of_another_user_are_found(tmp_path: Path) -> None:
    report = check_log(write_ubi(tmp_path / "log", GOOD_QUERIES, [event(1), event(2, client_id="u9")]), salt="s")
    assert found(report, "events of another user than their query")[0] == 1


def test_times_are_read_in_a_zone_that_is_named(tmp_path: Path) -> None:
    local = [query(1, timestamp="2026-10-25T02:30:00"), query(2)]
    log = write_ubi(tmp_path / "log", local, [event(2)])
    report = check_log(log, zone="Europe/Berlin", salt="s")
    assert found(report, "times of queries without a time zone, read as Europe/Berlin")[:2] == (1, "note")
    assert found(report, "times in the hour that clocks show twice in autumn")[:2] == (1, "warning")
    with pytest.raises(UsageError, match="did you mean 'Europe/Berlin'"):
        check_log(log, zone="Europe/Berlim")


def test_times_that_a_zone_has_twice_or_never_are_found_in_a_log_of_that_hour(tmp_path: Path) -> None:
    # Clocks in Berlin go from 03:00 back to 02:00 on 25 October, and from 02:00 on to 03:00 on 29 March
    for folder, day, finding in (
        ("autumn", "2026-10-25", ("times in the hour that clocks show twice in autumn", "warning")),
        ("spring", "2026-03-29", ("times in the hour that clocks skip in spring", "error")),
    ):
        log = write_ubi(
            tmp_path / folder,
            [query(1, timestamp=f"{day}T02:30:00"), query(2, timestamp=f"{day}T03:00:00")],
            [event(1, timestamp=f"{day}T02:30:09")],
        )
        assert found(check_log(log, zone="Europe/Berlin", salt="s"), finding[0])[:2] == (2, finding[1])


def test_a_click_after_the_clocks_changed_makes_a_session_across_the_change(tmp_path: Path) -> None:
    log = write_ubi(
        tmp_path / "log", [query(1, timestamp="2026-03-29T00:55:00Z")], [event(1, timestamp="2026-03-29T01:05:00Z")]
    )
    assert problems(check_log(log, zone="Europe/Berlin", salt="s")) == {
        "sessions across a change of the clocks (Europe/Berlin)": 1
    }


def test_impressions_that_go_back_in_time_are_counted_once_per_list(tmp_path: Path) -> None:
    times = {"q1": "12:00", "q2": "11:00"}
    rows = [f"{name},u,2026-03-02T{time}:00Z,d{place},{place}\n" for name, time in times.items() for place in (1, 2)]
    (tmp_path / "impressions.csv").write_text("query_id,user,time,doc,position\n" + "".join(rows))
    (tmp_path / "clicks.csv").write_text("query_id,user,time,doc,position\n")
    count, level, example = found(check_log(tmp_path, salt="s"), "queries that go back in time: clocks out of order")
    assert (count, level) == (1, "warning")
    assert example.startswith("impressions.csv:4: time 2026-03-02T11:00:00")


def test_sessions_across_midnight_and_clock_changes_are_counted(tmp_path: Path) -> None:
    # In Berlin, clocks change at 01:00 UTC on 29 March, and midnight is at 23:00 UTC before that
    over_change = [
        query(1, timestamp="2026-03-29T00:55:00Z"),
        query(3, timestamp="2026-03-29T01:05:00Z", client_id="u1"),
    ]
    over_midnight = [
        query(2, timestamp="2026-03-27T22:55:00Z"),
        query(4, timestamp="2026-03-27T23:05:00Z", client_id="u2"),
    ]
    later = [query(5, timestamp="2026-03-30T12:00:00Z")]
    log = write_ubi(
        tmp_path / "log", [*over_change, *over_midnight, *later], [event(5, timestamp="2026-03-30T12:00:05Z")]
    )
    report = check_log(log, zone="Europe/Berlin", salt="s")
    assert problems(report) == {
        "sessions across midnight (Europe/Berlin)": 1,
        "sessions across a change of the clocks (Europe/Berlin)": 1,
    }
    assert not report.wrong
    assert problems(check_log(log, salt="s")) == {}  # no session crosses midnight in UTC


@pytest.mark.parametrize("name", ["open", "product_click"])
def test_clicks_with_another_name_are_checked_as_clicks(tmp_path: Path, name: str) -> None:
    rows = [event(1, position=0, action_name=name), event(2, position=None, action_name=name)]
    folder = write_ubi(tmp_path / "log", [query(1), query(2)], rows)
    report = check_log(folder, columns={"actions": {"click": "open"}}, salt="s")
    assert found(report, "positions of clicks that are 0")[0] == 1
    assert found(report, "positions of clicks that are missing")[0] == 1


def test_bots_are_users_with_many_events(tmp_path: Path) -> None:
    many = [event(1, second=second) for second in range(5, 25)]
    log = write_ubi(tmp_path / "log", GOOD_QUERIES, [*many, event(2)])
    report = check_log(log, bot_events=20, salt="s")
    count, level, example = found(report, "users with 20 queries and events or more (bots)")
    assert (count, level) == (1, "error")
    assert example.endswith(": 21")  # 20 events and a query
    assert "bots" not in str(problems(check_log(log, bot_events=22, salt="s")))


def test_arms_and_their_users_are_checked(tmp_path: Path) -> None:
    columns = {"arm": "query_attributes.arm"}

    def arms(of_user: dict[int, str]) -> list[dict[str, Any]]:
        return [query(n, query_attributes={"arm": arm}) for n, arm in of_user.items()]

    equal = arms({n: "AB"[n % 2] for n in range(100)})
    log = write_ubi(tmp_path / "log", equal, [event(1)])
    assert problems(check_log(log, columns=columns, salt="s")) == {}
    other = query(500, client_id="u1", query_attributes={"arm": "A"})
    report = check_log(write_ubi(tmp_path / "log", [*equal, other], [event(1)]), columns=columns, salt="s")
    assert found(report, "users in two arms or more")[0] == 1
    uneven = arms({n: "A" if n < 80 else "B" for n in range(100)})
    log = write_ubi(tmp_path / "log", uneven, [event(1)])
    # χ² = (30² + 30²) / 50 = 36 with one degree of freedom: p = 2e-9
    count, level, example = found(
        check_log(log, columns=columns, salt="s"), "arms with another share of users than planned"
    )
    assert (count, level, example) == (2, "error", "users: A 80, B 20 (p = 2e-09 under equal shares)")
    assert problems(check_log(log, columns=columns, shares={"A": 0.8, "B": 0.2}, salt="s")) == {}
    with pytest.raises(UsageError, match="shares name the arms A, C, but the log has A, B"):
        check_log(log, columns=columns, shares={"A": 0.8, "C": 0.2}, salt="s")


IMPRESSIONS = """qid,uid,ts,doc_id,rank
q1,u1,2026-03-02 12:00:00Z,a,1
q1,u1,2026-03-02 12:00:00Z,b,2
q2,u2,2026-03-02 12:00:00Z,a,1
q2,u2,2026-03-02 12:00:00Z,"b
b",2
"""


def tables(folder: Path, impressions: str, clicks: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "impressions.csv").write_text(impressions)
    (folder / "clicks.csv").write_text(clicks)
    return folder


CLICKS = "qid,ts,doc_id,rank\nq1,2026-03-02 12:00:05Z,b,2\n"


def test_tables_with_other_names_are_checked_and_the_names_are_told(tmp_path: Path) -> None:
    report = check_log(tables(tmp_path / "log", IMPRESSIONS, CLICKS), salt="s")
    assert report.findings == ()
    assert (report.queries, report.shown, report.events) == (2, 4, 1)
    assert (
        "queries: columns found by their names:"
        " query_id is qid, user is uid, time is ts, position is rank, doc is doc_id" in report.notes
    )
    assert "no column for the action: all events are read as clicks" in report.notes


def test_lines_are_right_after_quoted_line_breaks_and_short_rows(tmp_path: Path) -> None:
    # Line 6 ends the cell that line 5 begins; line 7 is short; line 9 repeats a document and a position
    wrong = IMPRESSIONS + "q3,u3\nq3,u3,2026-03-02 12:00:00Z,a,1\nq3,u3,2026-03-02 12:00:00Z,a,1\n"
    report = check_log(tables(tmp_path / "log", wrong, CLICKS), salt="s")
    short = found(report, "rows with more or fewer cells than the header")
    assert short[:2] == (1, "error")
    assert short[2].startswith("impressions.csv:7: Expected Number of Columns: 5 Found: 2")
    assert found(report, "documents shown twice in a list") == (
        1,
        "error",
        "impressions.csv:9: query_id q3, doc a, rows 2",
    )
    assert found(report, "positions that are taken twice in a list")[0] == 1


def test_positions_from_0_are_found_in_tables(tmp_path: Path) -> None:
    shifted = IMPRESSIONS.replace(",1\n", ",0\n").replace(",2\n", ",1\n")
    log = tables(tmp_path / "log", shifted, CLICKS.replace(",2\n", ",1\n"))
    assert found(check_log(log, salt="s"), "positions of documents shown that are 0")[0] == 2
    assert check_log(log, first_position=0, salt="s").findings == ()


@pytest.mark.xdist_group("spark")
def test_spark_finds_what_duckdb_finds(tmp_path: Path, spark: Engine) -> None:
    queries = [
        query(1),
        "{broken",
        query(2, query_response_hit_ids=["a", "a"]),
        query(3, timestamp="2026-03-02T12:00:00"),
    ]
    events = [event(1), event(1), event(1, doc="z"), event(3, second=0, timestamp="2026-03-02T11:00:00+00:00")]
    log = write_ubi(tmp_path / "log", queries, events)
    ours, theirs = check_log(log, salt="s"), check_log(log, salt="s", engine=spark)
    assert problems(ours) == problems(theirs)
    assert len(ours.findings) == 6


def test_the_simulated_log_is_good_in_every_layout(tmp_path: Path) -> None:
    for layout, files in (
        ("ubi", "jsonl"),
        ("ubi", "csv"),
        ("tables", "csv"),
        ("tables", "parquet"),
        ("ubi", "parquet"),
    ):
        folder = tmp_path / f"{layout}-{files}"
        write_demo(folder, layout=layout, files=files, users=60, days=3, seed=4)
        report = check_log(folder, salt="s")
        assert not report.wrong, report


def test_a_log_that_is_not_utf_8_says_so(tmp_path: Path) -> None:
    lines = tmp_path / "queries.jsonl"
    lines.write_bytes(b'{"query_id": "q\xff", "user": "u", "time": "2026-01-01T00:00:00Z"}\n' * 2)
    with pytest.raises(DataError, match=r"queries.jsonl: none of its 2 rows can be read: .* in UTF-8"):
        check_log(str(lines), salt="s")
    table = tmp_path / "impressions.csv"
    table.write_bytes(b"query_id,user,time,position,doc,clicked\nq1,u\xff,2026-01-01T00:00:00Z,1,d1,1\n")
    assert found(check_log(str(table), salt="s"), "rows that are not UTF-8")[:2] == (1, "error")
    with pytest.raises(DataError, match=r"impressions.csv:2: Invalid unicode .* not utf-8 encoded; to leave out"):
        read_log(str(table), salt="s")


def test_positions_from_0_do_not_make_clicks_on_documents_that_were_not_shown(tmp_path: Path) -> None:
    shown = "query_id,user,time,position,doc\nq1,u1,2026-03-02T12:00:00Z,0,a\nq1,u1,2026-03-02T12:00:00Z,1,b\n"
    clicks = "query_id,user,time,doc,position\nq1,u1,2026-03-02T12:00:05Z,a,0\nq1,u1,2026-03-02T12:00:06Z,c,2\n"
    report = check_log(tables(tmp_path / "log", shown, clicks), salt="s")
    assert found(report, "positions of documents shown that are 0")[0] == 1
    assert found(report, "clicks on documents that were not shown") == (1, "error", "clicks.csv:3: query_id q1, doc c")
