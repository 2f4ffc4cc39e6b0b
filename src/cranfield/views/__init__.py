"""Views: other readings of a list, on which any measure can be computed."""

from __future__ import annotations

from cranfield.errors import UsageError
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Condensed, Unjudged
from cranfield.views.view import View

__all__ = ["Condensed", "Ties", "Unjudged", "View", "parse_view"]


def parse_view(text: str) -> View:
    """A view from its name: `condensed`, `best`, `worst`, `ties`, `ties=best`, `ties=worst`.

    >>> parse_view("ties=best")
    Ties(reading='best')
    """
    key, _, value = text.strip().partition("=")
    if key == "condensed" and not value:
        return Condensed()
    if key in ("best", "worst") and not value:
        return Unjudged(key)
    if key == "ties":
        return Ties(value or "expected")
    raise UsageError(f"view {text!r} is not known; there are condensed, best, worst, ties, ties=best, ties=worst")
