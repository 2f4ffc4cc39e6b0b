"""What is wrong with a log: findings, with counts and examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.record import Record
from cranfield.table import Column, Table
from cranfield.text import counted, listed, printable

LEVELS = ("error", "warning", "note")
EXAMPLES = 3
"""The examples that a finding has at most."""
MOST_ACTIONS = 20
"""The actions that the table counts by name."""


@dataclass(frozen=True)
class Finding:
    """Something that a check found."""

    problem: str
    """What it is, such as `clicks on documents that were not shown`."""
    level: str
    """`error`: results would be wrong; `warning`: look at it; `note`: good to know."""
    count: int
    examples: tuple[str, ...] = ()
    """Places and values of the first few."""
    remedy: str = ""
    """What to do about it."""


@dataclass(frozen=True, repr=False)
class CheckReport(Record):
    """The findings of `check_log`, errors first."""

    facts: ClassVar[tuple[str, ...]] = ("queries", "shown", "events", "wrong", "findings", "actions")

    queries: int
    shown: int
    events: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    actions: Mapping[str, int] = field(default_factory=dict)
    """How many events each action has, by the names of the log."""

    @property
    def wrong(self) -> bool:
        """Is there an error among the findings?"""
        return any(finding.level == "error" for finding in self.findings)

    def columns(self) -> dict[str, NDArray[Any]]:
        """A row per finding."""
        rows = self.findings
        texts = {
            "level": [finding.level for finding in rows],
            "problem": [finding.problem for finding in rows],
        }
        columns: dict[str, NDArray[Any]] = {name: np.array(values, dtype=object) for name, values in texts.items()}
        columns["count"] = np.array([finding.count for finding in rows], dtype=np.int64)
        columns["example"] = np.array([next(iter(finding.examples), "") for finding in rows], dtype=object)
        return columns

    def table(self) -> Table:
        """A row per finding, with the first example; what to do is in the notes."""
        columns = tuple(Column(name, "count" if name == "count" else "text") for name in self.columns())
        rows = tuple(zip(*(column.tolist() for column in self.columns().values()), strict=True))
        remedies = [f"{finding.problem}: {finding.remedy}" for finding in self.findings if finding.remedy]
        by_name = sorted(self.actions.items(), key=lambda action: (-action[1], action[0]))
        actions = listed([f"{printable(name)} {rows:,}" for name, rows in by_name], most=MOST_ACTIONS)
        about = [f"events by action: {actions}"] if len(by_name) > 1 else []
        return Table(columns, rows, notes=(self.verdict, *about, *remedies, *self.notes))

    @property
    def verdict(self) -> str:
        """One sentence on the log."""
        size = (
            f"{counted(self.queries, 'query', 'queries')}, {counted(self.shown, 'document')} shown"
            f" and {counted(self.events, 'event')}"
        )
        errors = sum(finding.level == "error" for finding in self.findings)
        warnings = sum(finding.level == "warning" for finding in self.findings)
        if not errors and not warnings:
            return f"no problems in {size}"
        kinds = [counted(n, noun) for n, noun in ((errors, "error"), (warnings, "warning")) if n]
        return f"{' and '.join(kinds)} in {size}"


def example_of(row: Mapping[str, Any]) -> str:
    """A place and the values there; the place is turned into a line later."""
    shown = {name: _shown(name, value) for name, value in row.items() if name not in ("_file", "_row")}
    values = ", ".join(text if name == "cell" else f"{name} {text}" for name, text in shown.items())
    return f"{row['_file']}\0{'' if row['_row'] is None else row['_row']}\0{values}"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "missing"
    if name in ("time", "query_time", "time_before"):
        try:
            return datetime.fromtimestamp(value / 1e6, UTC).isoformat(timespec="milliseconds")
        except (ValueError, OverflowError, OSError):
            return str(value)
    return printable(str(value))
