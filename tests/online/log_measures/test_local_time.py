"""Days and hours of a time zone: those of the standard library, on both engines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cranfield.errors import UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.log_analysis import analyse_log
from cranfield.online.log_measures import measure_log
from tests.online.made_logs import made_log

HOUR = 3_600_000_000


def asked_every_hour(engine: Engine) -> tuple[Any, list[int]]:
    """Queries at half past every third hour, around both changes of the clocks of 2026 in Berlin and New York."""
    days = [(2026, 3, 7), (2026, 3, 28), (2026, 10, 24), (2026, 10, 31)]
    begins = [round(datetime(*day, tzinfo=UTC).timestamp() * 1e6) for day in days]
    times = [begin + hour * HOUR + HOUR // 2 for begin in begins for hour in range(0, 60, 3)]
    made = [{"user": f"u{i}", "text": "q", "docs": ["a"], "time": time} for i, time in enumerate(times)]
    return made_log(engine, made), times


def check(engine: Engine, zone: str) -> None:
    log, times = asked_every_hour(engine)
    local = [datetime.fromtimestamp(time / 1e6, UTC).astimezone(ZoneInfo(zone)) for time in times]
    measured = measure_log(log, ["queries-per-user"], by=["day", "hour"], least=1, timezone=zone)
    groups = [f"{time:%Y-%m-%d} {time:%H}" for time in local]
    expected = {group: groups.count(group) for group in groups}
    assert {" ".join(group): int(n) for group, n in zip(measured.groups, measured.users, strict=True)} == expected
    assert f"days and hours: {zone}" in measured.notes


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"])
def test_days_and_hours_are_those_of_the_zone(duck: Engine, zone: str) -> None:
    check(duck, zone)


@pytest.mark.xdist_group("spark")
def test_spark_has_the_same_days_and_hours(spark: Engine) -> None:
    check(spark, "Europe/Berlin")


def test_the_days_of_a_log_are_counted_in_the_zone(duck: Engine) -> None:
    # from 22:30 to 23:30 UTC: one day there, two days in Berlin, where the second query is asked at half past midnight
    begin = round(datetime(2026, 7, 1, 21, 30, tzinfo=UTC).timestamp() * 1e6)
    made = [{"user": f"u{i}", "text": "q", "docs": ["a"], "time": begin + i * HOUR} for i in range(2)]
    log = made_log(duck, made)
    for zone, days in (("UTC", 1), ("Europe/Berlin", 2)):
        measured = measure_log(log, ["queries-per-day"], least=1, timezone=zone)
        assert measured.value[0, 0] == pytest.approx(1 / days)


def test_an_unknown_zone_is_an_error(duck: Engine) -> None:
    log, _ = asked_every_hour(duck)
    with pytest.raises(UsageError, match="no time zone 'Europe/Berln'; did you mean 'Europe/Berlin'"):
        measure_log(log, ["CTR"], by="day", timezone="Europe/Berln")
    with pytest.raises(UsageError, match="no time zone"):
        analyse_log(log, "CTR", by_day=True, timezone="Moon")
