"""Days and hours as the clocks of a time zone show them, and when the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

from cranfield.check import nearest
from cranfield.online.expressions import lit, nw, where

SECOND = 1_000_000


def seconds_ahead(zone: str, seconds: int) -> int:
    """How many seconds the clocks of a zone are ahead of UTC at a time, in seconds since 1970.

    >>> seconds_ahead("Europe/Berlin", 0), seconds_ahead("America/New_York", 0)
    (3600, -18000)
    """
    ahead = datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(zone)).utcoffset() or timedelta()
    return int(ahead.total_seconds())


def clock_changes(zone: str, start: int, end: int) -> list[tuple[int, int]]:
    """The changes of a zone between two times in microseconds: the time of each, and by how many seconds clocks move.

    >>> from datetime import datetime, timezone
    >>> at = [int(datetime(2026, month, 1, tzinfo=timezone.utc).timestamp()) * 10**6 for month in (3, 11)]
    >>> [(str(datetime.fromtimestamp(t // 10**6, timezone.utc)), by) for t, by in clock_changes("Europe/Berlin", *at)]
    [('2026-03-29 01:00:00+00:00', 3600), ('2026-10-25 01:00:00+00:00', -3600)]
    """
    changes = []
    low, last = start // SECOND, end // SECOND
    while low < last:
        high = min(low + 86_400, last)
        if seconds_ahead(zone, low) != seconds_ahead(zone, high):
            before, after = low, high
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (
                    (middle, after) if seconds_ahead(zone, middle) == seconds_ahead(zone, low) else (before, middle)
                )
            changes.append((after * SECOND, seconds_ahead(zone, high) - seconds_ahead(zone, low)))
        low = high
    return changes


UTC_ZONE = "UTC"
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


def check_timezone(name: str) -> None:
    """Complain about a name that is not in the IANA database of time zones."""
    if name != UTC_ZONE and name not in available_timezones():
        raise nearest(name, sorted(available_timezones()), "time zone")


def local_time(time: nw.Expr, zone: str, start: int, end: int) -> nw.Expr:
    """A time in microseconds, moved so that its days and hours are those of the zone.

    start, end: no time is before or after these. Clocks change between them at known times, so the expression is the
    same on every engine.
    """
    if zone == UTC_ZONE:
        return time
    moved = time + seconds_ahead(zone, start // SECOND) * SECOND
    for at, seconds in clock_changes(zone, start, end):
        moved = moved + where(time >= at, lit(seconds * SECOND), lit(0))
    return moved


def local_micros(time: int, zone: str) -> int:
    """As `local_time`, for one time."""
    return time + seconds_ahead(zone, time // SECOND) * SECOND
