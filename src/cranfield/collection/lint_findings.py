"""What a linter says of a file: one finding at a time."""

from __future__ import annotations

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
