"""`check_log`: look for the traps of logs, count them, and show where they are.

The engine counts all conditions of a table in one scan; only the examples of what it finds come to Python.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from cranfield.declared.operation import about, operation
from cranfield.online.engines.table_source import lines_of_rows
from cranfield.online.expressions import nw
from cranfield.online.logs import log_traps
from cranfield.online.logs.column_map import action_counts
from cranfield.online.logs.local_time import clock_changes
from cranfield.online.logs.log import Log
from cranfield.online.logs.log_traps import AHEAD, EXAMPLES, LEVELS, CheckReport, Finding, Trap, example_of
from cranfield.online.logs.raw_log import RawLog, RawOptions
from cranfield.online.logs.read_log import FIRST_TIME, LAST_TIME, build_log, joined_events, open_raw, two_starts
from cranfield.online.logs.sessions import SILENCE, RareSilence, session_rows

BOT_EVENTS = 100_000
MIDNIGHT = "they are one session; numbers by day count them on the day they begin"
CLOCKS = "sessions are found in UTC, which has no such changes"
UNBALANCED = 0.001
"""The significance level at which arms are called unbalanced."""


@operation
def check_log(
    source: Any,
    *,
    events: Any = None,
    columns: Any = None,
    engine: Any = None,
    zone: str | None = None,
    first_position: int | None = None,
    salt: str | None = None,
    bot_events: Annotated[
        int, about("Report users with N queries and events or more as bots.", least=1, solves="bot_events=")
    ] = BOT_EVENTS,
    silence: RareSilence = SILENCE,
    shares: Mapping[str, float] | None = None,
    application: str | None = None,
) -> CheckReport:
    """Check a log for everything that would make its numbers wrong.

    source, events, columns, engine, zone, first_position, salt, application: as for `read_log`.
    shares: the share of users that each arm should have; default: equal shares.

    Places are `file:line` for text files and `file:row` for Parquet. Spark does not number rows, so there they are
    the file alone, and rows that go back in time are not looked for.
    """
    reading = RawOptions(salt=salt, numbered=True, skip=True, application=application)
    raw, first = open_raw(source, events, columns, engine, zone, first_position, reading)
    zone = zone or raw.columns.zone
    log = build_log(raw, first, notes := list(raw.notes))
    findings = [
        *_rejected(raw),
        *_counted(raw, log_traps.query_rows(raw), log_traps.query_traps(raw, zone, first)),
        *log_traps.grouped_query_traps(raw, shares, UNBALANCED),
    ]
    if raw.events is not None:
        mixed = two_starts(raw)
        findings += [mixed] if mixed else []
        of_events = _counted(raw, raw.events.frame, log_traps.event_traps(raw, zone, first))
        findings += [_unshifted(finding) for finding in of_events] if mixed else of_events
        findings += _counted(raw, joined_events(raw, first), log_traps.joined_traps(raw))
        findings += log_traps.grouped_event_traps(raw)
    findings += log_traps.unit_traps(raw)
    findings += log_traps.bot_traps(log, bot_events)
    findings += _session_traps(raw, log, zone, silence)
    sizes = [raw.engine.count(frame) for frame in (log.queries, log.shown, log.events)]
    tables = (("queries", raw.queries, sizes[0], "error"), ("events", raw.events, sizes[2], "warning"))
    for name, table, rows, level in tables:
        if table is not None and not rows:
            findings.append(Finding(f"a table of {name} without a row", level, 1, (table.origin,)))
    counted_findings = [finding for finding in findings if finding.count]
    counted_findings.sort(key=lambda finding: LEVELS.index(finding.level))
    placed = _with_lines(raw, counted_findings)
    actions = action_counts(raw.engine, raw.events.frame) if raw.events and "action" in raw.events.paths else {}
    return CheckReport(sizes[0], sizes[1], sizes[2], tuple(placed), tuple(notes), actions)


def _unshifted(finding: Finding) -> Finding:
    """A finding that does not advise to shift all positions."""
    return replace(finding, remedy="") if finding.remedy == log_traps.FROM_ZERO else finding


def _rejected(raw: RawLog) -> list[Finding]:
    """Rows that are not UTF-8, and rows with more or fewer cells than the header."""
    encoded = [rejected for rejected in raw.rejected if "utf-8" in rejected[2].lower()]
    others = [rejected for rejected in raw.rejected if rejected not in encoded]
    findings = []
    for problem, rows in (
        ("rows that are not UTF-8", encoded),
        ("rows with more or fewer cells than the header", others),
    ):
        examples = tuple(f"{path}\0{row}\0{what}" for path, row, what in rows[:EXAMPLES])
        findings.append(Finding(problem, "error", len(rows), examples))
    return findings


def _counted(raw: RawLog, frame: Any, conditions: list[Trap]) -> list[Finding]:
    """Count all conditions in one scan, then fetch examples of those that are met."""
    sums = [
        trap.condition.fill_null(False).cast(nw.Int64).sum().alias(f"n{number}")
        for number, trap in enumerate(conditions)
    ]
    counts = raw.engine.fetch(frame.select(*sums)).to_pylist()[0]
    findings = []
    for number, trap in enumerate(conditions):
        if count := counts[f"n{number}"] or 0:
            rows = frame.filter(trap.condition.fill_null(False)).select("_file", "_row", *trap.shows)
            first = raw.engine.fetch(rows.sort("_file", "_row").head(EXAMPLES)).to_pylist()
            findings.append(Finding(trap.problem, trap.level, count, tuple(map(example_of, first)), trap.remedy))
    return findings


def _with_lines(raw: RawLog, findings: list[Finding]) -> list[Finding]:
    """Replace the numbers of rows in examples by lines of the files."""
    rows: dict[str, set[int]] = defaultdict(set)
    for finding in findings:
        for example in finding.examples:
            path, row, *_ = [*example.split("\0"), "", ""]
            if row:
                rows[path].add(int(row))
    rejected: dict[str, list[int]] = defaultdict(list)
    for file, number, _ in raw.rejected:
        rejected[file].append(number)
    lines = {
        path: lines_of_rows(path, wanted, rejected[path]) if os.path.isfile(path) else {row: row for row in wanted}
        for path, wanted in rows.items()
    }
    lines |= {path: {**lines.get(path, {}), **lines_of_rows(path, wrong)} for path, wrong in rejected.items()}

    def placed(example: str) -> str:
        if "\0" not in example:
            return example
        path, row, values = example.split("\0")
        path, line = raw.exports.place(path, lines[path][int(row)] if row else None)
        at = f"{os.path.basename(path)}:{line}" if line else os.path.basename(path)
        return ": ".join(filter(None, [at.strip(":"), values]))

    return [replace(finding, examples=tuple(map(placed, finding.examples))) for finding in findings]


def _session_traps(raw: RawLog, log: Log, zone: str | None, silence: float) -> list[Finding]:
    """Sessions across midnight, and across a change of the clocks."""
    engine = raw.engine
    local = zone or "UTC"
    spans = [
        engine.fetch(frame.select(low=nw.col("time").min(), high=nw.col("time").max())).to_pylist()[0]
        for frame in (log.queries, log.events)
    ]
    if spans[0]["low"] is None:
        return []
    rows = engine.keep(session_rows(log, silence=silence))
    known = [max(FIRST_TIME, min(time, LAST_TIME)) for span in spans for time in span.values() if time is not None]
    low = min(known) - AHEAD
    changes = clock_changes(local, low, max(known) + AHEAD)
    days = [_local_day(nw.col(name), local, changes, low) for name in ("start", "end")]
    midnight = (days[0] != days[1]).cast(nw.Int64).sum().alias("midnight")
    over = [
        ((nw.col("start") < at) & (nw.col("end") >= at)).cast(nw.Int64).sum().alias(f"change{n}")
        for n, (at, _) in enumerate(changes)
    ]
    counts = engine.fetch(rows.select(midnight, *over)).to_pylist()[0]
    crossing = sum(counts[f"change{n}"] or 0 for n in range(len(changes)))
    findings = [
        Finding(f"sessions across midnight ({local})", "note", counts["midnight"] or 0, (), MIDNIGHT),
        Finding(f"sessions across a change of the clocks ({local})", "note", crossing, (), CLOCKS),
    ]
    return findings + log_traps.ambiguous_times(raw, changes) + log_traps.skipped_times(raw, changes, zone)


def _local_day(time: Any, zone: str, changes: list[tuple[int, int]], low: int) -> Any:
    """The day of a time in a zone, whose offset is known from its changes."""
    ahead = datetime.fromtimestamp(low / 1e6, UTC).astimezone(ZoneInfo(zone)).utcoffset()
    offset = nw.lit(0 if ahead is None else int(ahead.total_seconds()) * 1_000_000)
    for at, by in changes:
        offset = offset + nw.when(time >= at).then(nw.lit(by * 1_000_000)).otherwise(nw.lit(0))
    return (time + offset) // 86_400_000_000
