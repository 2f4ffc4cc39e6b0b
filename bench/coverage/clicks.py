"""Click models."""

from __future__ import annotations

from bench.coverage.case import Case


def cases() -> list[Case]:
    return []
