"""When a time zone changes its clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

SECOND = 1_000_000


def clock_changes(zone: str, start: int, end: int) -> list[tuple[int, int]]:
    """The changes of a zone between two times in microseconds: the time of each, and by how many seconds clocks move.

    >>> from datetime import datetime, timezone
    >>> at = [int(datetime(2026, month, 1, tzinfo=timezone.utc).timestamp()) * 10**6 for month in (3, 11)]
    >>> [(str(datetime.fromtimestamp(t // 10**6, timezone.utc)), by) for t, by in clock_changes("Europe/Berlin", *at)]
    [('2026-03-29 01:00:00+00:00', 3600), ('2026-10-25 01:00:00+00:00', -3600)]
    """
    place = ZoneInfo(zone)

    def offset(seconds: int) -> int:
        ahead = datetime.fromtimestamp(seconds, UTC).astimezone(place).utcoffset() or timedelta()
        return int(ahead.total_seconds())

    changes = []
    low, last = start // SECOND, end // SECOND
    while low < last:
        high = min(low + 86_400, last)
        if offset(low) != offset(high):
            before, after = low, high
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (middle, after) if offset(middle) == offset(low) else (before, middle)
            changes.append((after * SECOND, offset(high) - offset(low)))
        low = high
    return changes
