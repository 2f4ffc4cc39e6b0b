"""`check_log` counts what a log lacks, and what two programs write into it in different ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cranfield.errors import DataError
from cranfield.online.engines import Engine
from cranfield.online.log_measures import measure_log
from cranfield.online.logs import read_log
from cranfield.online.logs.check_log import check_log
from cranfield.online.logs.read_log import TWO_STARTS
from tests.online.logs.test_check_log import event, found, problems, query, write_ubi

NOON = 1_772_452_800_000
"""2026-03-02T12:00:00Z in milliseconds."""


def two_programs(folder: Path) -> Path:
    """An application that counts positions from 0 and writes times as numbers, and one that does neither."""
    shop: dict[str, Any] = {"application": "shop"}
    blog: dict[str, Any] = {"application": "blog"}
    queries = [
        query(1, **shop),
        query(2, **shop, query_response_hit_ids=[]),
        query(3, **blog, query_response_hit_ids=None),
    ]
    events = [
        event(1, doc="a", position=1, **shop, session_id="s1"),
        event(1, position=None, **shop, session_id="s1", action_name="hover"),
        event(3, doc="b", position=1, **blog, timestamp=NOON + 5000, session_id="s3"),
        event(3, doc="a", position=0, **blog, timestamp=NOON + 6000, session_id=None, action_name="impression"),
        event(3, doc="b", position=1, **blog, timestamp=NOON + 7000, session_id=None, action_name="Impression"),
    ]
    return write_ubi(folder, queries, events)


def check_counts(folder: Path, engine: Any) -> None:
    report = check_log(folder, salt="s", engine=engine)
    counts = problems(report)
    assert counts["events without a position"] == 1
    assert counts["events without a session"] == 2
    assert counts["queries without a list of documents"] == 1
    assert counts["queries whose lists are all empty"] == 1
    assert counts["times of events in another form than most"] == 2
    assert report.actions == {"Impression": 1, "click": 2, "hover": 1, "impression": 1}
    assert "events by action: click 2, Impression 1, hover 1, impression 1" in str(report)
    forms = "3 times in milliseconds since 1970, 2 times as a date"
    assert found(report, "times of events in another form than most")[1:] == ("warning", forms)


def test_what_is_missing_is_counted(tmp_path: Path, duck: Engine) -> None:
    check_counts(two_programs(tmp_path / "log"), duck)


@pytest.mark.xdist_group("spark")
def test_spark_counts_what_is_missing(tmp_path: Path, spark: Engine) -> None:
    check_counts(two_programs(tmp_path / "log"), spark)


def test_positions_from_0_in_one_application_are_no_reason_to_shift_all(tmp_path: Path, duck: Engine) -> None:
    folder = two_programs(tmp_path / "log")
    report = check_log(folder, salt="s")
    assert found(report, TWO_STARTS) == (1, "error", "blog from 0 (3 positions), shop from 1 (1 position)")
    assert not any("first_position=0" in finding.remedy for finding in report.findings)
    assert TWO_STARTS in problems(check_log(folder, salt="s", first_position=0))
    with pytest.raises(DataError, match=r"wrong to shift all .*; read each application by itself: application="):
        read_log(folder, engine=duck, salt="s")
    shop = read_log(folder, engine=duck, salt="s", application="shop")
    blog = read_log(folder, engine=duck, salt="s", application="blog", first_position=0)
    ranks = [measure_log(log, ["click-rank"], least=1).value[0, 0] for log in (shop, blog)]
    assert ranks == [1, 2]
    with pytest.raises(DataError, match="no query of the application 'news'"):
        read_log(folder, engine=duck, application="news")


def test_positions_from_0_show_in_the_lists_too(tmp_path: Path) -> None:
    queries = [query(1), query(2)]
    from_zero, from_one = event(1, doc="a", position=0), event(2)
    mixed = check_log(write_ubi(tmp_path / "log", queries, [from_zero, from_one]), salt="s")
    assert found(mixed, TWO_STARTS)[2] == "1 position 0, and 1 click where their list has them from 1"
    alike = check_log(write_ubi(tmp_path / "log", queries, [from_zero, event(2, position=1)]), salt="s")
    assert TWO_STARTS not in problems(alike)


def test_two_forms_of_times_are_told_as_two(tmp_path: Path, duck: Engine) -> None:
    events = [event(1), event(2, timestamp=NOON + 1000), event(2, timestamp=NOON + 2000)]
    log = read_log(write_ubi(tmp_path / "log", [query(1), query(2)], events), engine=duck, salt="s")
    forms = "2 times in milliseconds since 1970, 1 time as a date"
    assert f"events: times have 2 forms: {forms}" in log.notes
