"""Findings of the linter."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.collection.source import shown_path

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """A fault of a file, or something to know about it."""

    path: str
    line: int | None
    severity: str
    """`error`: cannot be scored; `warning`: scores may be misleading; `info`: good to know."""
    code: str
    message: str

    def __str__(self) -> str:
        path = shown_path(self.path)
        place = f"{path}:{self.line}" if self.line else path
        return f"{place}: {self.severity}: {self.message} [{self.code}]"
