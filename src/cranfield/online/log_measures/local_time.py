"""Days and hours as the clocks of a time zone show them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from cranfield.check import nearest
from cranfield.online.log_measures.expressions import lit, where
from cranfield.online.logs.daylight import SECOND, clock_changes, seconds_ahead

if TYPE_CHECKING:
    import narwhals as nw

UTC = "UTC"
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


def check_timezone(name: str) -> None:
    """Complain about a name that is not in the IANA database of time zones."""
    if name != UTC and name not in available_timezones():
        raise nearest(name, sorted(available_timezones()), "time zone")


def local_time(time: nw.Expr, zone: str, start: int, end: int) -> nw.Expr:
    """A time in microseconds, moved so that its days and hours are those of the zone.

    start, end: no time is before or after these. Clocks change between them at known times, so the expression is the
    same on every engine.
    """
    if zone == UTC:
        return time
    moved = time + seconds_ahead(zone, start // SECOND) * SECOND
    for at, seconds in clock_changes(zone, start, end):
        moved = moved + where(time >= at, lit(seconds * SECOND), lit(0))
    return moved


def local_micros(time: int, zone: str) -> int:
    """As `local_time`, for one time."""
    return time + seconds_ahead(zone, time // SECOND) * SECOND
