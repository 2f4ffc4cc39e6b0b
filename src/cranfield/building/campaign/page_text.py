"""Dates and numbers as the pages of a campaign show them."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def when(seconds: float) -> str:
    """A time for people.

    >>> when(0.0)
    '1970-01-01 00:00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def number(value: float, digits: int = 4) -> str:
    """A score for a table; a dash if it is undefined.

    >>> number(0.25), number(float("nan"))
    ('0.2500', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def signed(value: float) -> str:
    """A difference for a table, with a real minus sign.

    >>> signed(0.125), signed(-0.5), signed(0.0)
    ('+0.1250', '−0.5000', '0.0000')
    """
    if math.isnan(value):
        return "–"
    return f"{value:+.4f}".replace("-", "−") if abs(value) >= 0.00005 else "0.0000"
