"""Dates and numbers as the pages of a campaign show them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from cranfield.building.campaign.campaign_store import Event
from cranfield.text import listed


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


def p_value(value: float) -> str:
    """A p-value for a table, which is never 0.

    >>> p_value(0.0312), p_value(0.00000002)
    ('0.0312', '< 0.0001')
    """
    return "< 0.0001" if value < 0.0001 else number(value)


def signed(value: float) -> str:
    """A difference for a table, with a real minus sign.

    >>> signed(0.125), signed(-0.5), signed(0.0)
    ('+0.1250', '−0.5000', '0.0000')
    """
    if math.isnan(value):
        return "–"
    return f"{value:+.4f}".replace("-", "−") if abs(value) >= 0.00005 else "0.0000"


def event_text(event: Event) -> str:
    """What a line of the log says, for people.

    >>> event_text(Event(1, 0.0, "red", "submit", {"counts": True, "digest": "0123456789abcdef", "tag": "red-1"}))
    'tag: red-1, counts: yes, digest: 0123456789ab'
    """
    shown = {
        name: {True: "yes", False: "no"}[value] if isinstance(value, bool) else listed(value) if isinstance(value, list)
        else value[:12] if name == "digest" else value
        for name, value in event.data.items()
        if value is not None
    }  # fmt: skip
    names = sorted(shown, key=lambda name: (name == "digest", name != "tag", name))
    return ", ".join(f"{name}: {shown[name]}" for name in names)
