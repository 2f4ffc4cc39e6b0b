"""Tests of two and of all pairs of systems."""

from __future__ import annotations

from bench.coverage.case import Case


def cases() -> list[Case]:
    return []
