"""What a linter says of a file: one finding at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or that one should know."""

    path: str
    line: int | None
    severity: str
    """`error`: cannot be scored; `warning`: scores may not mean what they seem to; `info`: good to know."""
    code: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.severity}: {self.message} [{self.code}]"


def some(items: Sequence[str], most: int = 5) -> str:
    """A few of many, for a message.

    >>> some(["1", "2", "3"], most=2)
    '1, 2 and 1 more'
    """
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"


def counted(count: int, one: str, several: str = "") -> str:
    """A number of things.

    >>> counted(1, "topic"), counted(1200, "topic")
    ('1 topic', '1,200 topics')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"
