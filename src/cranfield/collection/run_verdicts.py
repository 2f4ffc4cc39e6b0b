"""Which of many runs are accepted, and why the others are not: a row per file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cranfield.collection.lint_findings import Finding
from cranfield.table import Column, Table
from cranfield.text import counted, cut

LONGEST_REASON = 120
MOST_REASONS = 3


@dataclass(frozen=True)
class Verdict:
    """A file of a run: is it accepted, and if not, why."""

    path: str
    accepted: bool
    errors: int
    warnings: int
    why: str
    """The first error of each kind, or of an accepted run the first warnings."""


def verdicts(
    paths: Sequence[str], findings: Iterable[Finding], *, strict: bool = False, lowest: str = "warning"
) -> list[Verdict]:
    """A verdict for each file: it is accepted if it has no error, and with `strict` no warning.

    Findings below the severity `lowest` are counted and not named, except warnings for which a run is rejected.

    >>> verdicts(["a.run"], [Finding("a.run", 3, "error", "nan", "the score is 'x'")])[0].why
    "line 3: the score is 'x'"
    """
    by_path: dict[str, list[Finding]] = {path: [] for path in paths}
    for finding in findings:
        if finding.path in by_path and finding.severity != "info":
            by_path[finding.path].append(finding)
    out = []
    for path, of_file in by_path.items():
        counts = Counter(finding.severity for finding in of_file)
        accepted = not counts["error"] and not (strict and counts["warning"])
        named = [one for one in of_file if one.severity == "error"] if lowest == "error" and accepted else of_file
        out.append(Verdict(path, accepted, counts["error"], counts["warning"], _why(named)))
    return out


def _why(findings: list[Finding]) -> str:
    """The first finding of each kind, of errors if there are any."""
    worst = [one for one in findings if one.severity == "error"] or findings
    kinds: dict[str, list[Finding]] = {}
    for finding in worst:
        kinds.setdefault(finding.code, []).append(finding)
    reasons = []
    for first, *more in list(kinds.values())[:MOST_REASONS]:
        place = f"line {first.line}: " if first.line else ""
        others = f" (and {len(more):,} more)" if more else ""
        reasons.append(f"{place}{cut(first.message, LONGEST_REASON)}{others}")
    if len(kinds) > MOST_REASONS:
        reasons.append(counted(len(kinds) - MOST_REASONS, "more kind"))
    return "; ".join(reasons)


def verdict_table(rows: Sequence[Verdict]) -> Table:
    """Rejected runs first; files are named by as little of their paths as tells them apart."""
    names = _short_names([row.path for row in rows])
    columns = (Column("run"), Column("verdict"), Column("errors", "count"), Column("warnings", "count"), Column("why"))
    order = sorted(range(len(rows)), key=lambda at: rows[at].accepted)
    cells = [
        (names[at], "accepted" if rows[at].accepted else "rejected", rows[at].errors, rows[at].warnings, rows[at].why)
        for at in order
    ]
    rejected = sum(not row.accepted for row in rows)
    note = f"{counted(len(rows), 'run')}: {len(rows) - rejected:,} accepted, {rejected:,} rejected"
    return Table(columns, tuple(cells), notes=(note,))


def _short_names(paths: Sequence[str]) -> list[str]:
    """The paths without the folder that all of them are in."""
    folders = {os.path.dirname(path) for path in paths}
    if len(folders) > 1:
        try:
            common = os.path.commonpath(folders)
        except ValueError:  # some are absolute
            return list(paths)
        return [os.path.relpath(path, common) if common else path for path in paths]
    return [os.path.basename(path) for path in paths]
