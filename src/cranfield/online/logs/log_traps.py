"""The traps of logs: those that a single row shows, those that show in several rows, and the findings about them."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.online.engines.dialect import TIME_KINDS
from cranfield.online.expressions import nw
from cranfield.online.logs.column_map import KNOWN, names_of
from cranfield.online.logs.local_time import SECOND, seconds_ahead
from cranfield.online.logs.log import KEYS, Log
from cranfield.online.logs.raw_log import RawLog, RawTable, forms_text, time_forms, time_kinds
from cranfield.record import Record, columns_of, table_of
from cranfield.table import Table
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
        examples = [next(iter(finding.examples), "") for finding in self.findings]
        columns = columns_of(self.findings, Finding, "level", "problem", "count")
        return {**columns, "example": np.array(examples, dtype=object)}

    def table(self) -> Table:
        """A row per finding, with the first example; what to do is in the notes."""
        remedies = [f"{finding.problem}: {finding.remedy}" for finding in self.findings if finding.remedy]
        by_name = sorted(self.actions.items(), key=lambda action: (-action[1], action[0]))
        actions = listed([f"{printable(name)} {rows:,}" for name, rows in by_name], most=MOST_ACTIONS)
        about = [f"events by action: {actions}"] if len(by_name) > 1 else []
        return table_of(self.columns(), notes=(self.verdict, *about, *remedies, *self.notes))

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


EARLIEST = 788_918_400_000_000
"""1995-01-01 in microseconds: a time before it is a fault of a clock, or 0 where a time is missing."""
AHEAD = 86_400_000_000
"""How far in the future a time may be: a day."""
FROM_ZERO = "positions count from 1; if they begin with 0 here: first_position=0"


@dataclass(frozen=True)
class Trap:
    """A condition that a row of a table should not meet."""

    problem: str
    condition: Any
    shows: tuple[str, ...] = ()
    """The columns that examples show."""
    level: str = "error"
    remedy: str = ""


def query_rows(raw: RawLog) -> Any:
    """The rows of queries or impressions, with the size of each list, and how many of its documents are repeated."""
    if "documents" not in raw.queries.paths:
        return raw.queries.frame
    sql, documents = raw.engine.dialect, raw.engine.quote("documents")
    size = f"CASE WHEN {documents} IS NOT NULL THEN {sql.length(documents)} END"
    return raw.engine.select(raw.queries.frame, {"repeated": sql.repeats(documents), "size": size}, add=True)


def query_traps(raw: RawLog, zone: str | None, first: int) -> list[Trap]:
    """The conditions on rows of queries or impressions."""
    table, ok = raw.queries, ~nw.col("_unreadable")
    traps = [
        Trap("rows of queries that cannot be read", nw.col("_unreadable")),
        Trap("queries without an id", ok & nw.col("query_id").is_null(), ("text",)),
        Trap("queries without a user", ok & nw.col("user").is_null(), ("query_id",)),
        *_time_traps("queries", zone),
    ]
    if "session" in table.paths:
        traps.append(Trap("queries without a session", ok & nw.col("session").is_null(), ("query_id",), "note"))
    if "documents" in table.paths:
        traps.append(Trap("lists with repeated documents", nw.col("repeated") > 0, ("query_id", "repeated")))
        traps.append(Trap("rows of queries with an empty list", ok & (nw.col("size") == 0), ("query_id",), "note"))
    if "doc" in table.paths:
        traps += _position_traps("documents shown", table, first, ok)
        traps.append(Trap("rows of impressions without a document", ok & nw.col("doc").is_null(), ("query_id",)))
    if "propensity" in table.paths:
        outside = (nw.col("propensity") <= 0) | (nw.col("propensity") > 1)
        traps.append(Trap("propensities that are not above 0 and at most 1", outside, ("query_id", "propensity")))
    return traps


def event_traps(raw: RawLog, zone: str | None, first: int) -> list[Trap]:
    """The conditions on rows of events or clicks."""
    table, ok = raw.events, ~nw.col("_unreadable")
    assert table is not None
    traps = [
        Trap("rows of events that cannot be read", nw.col("_unreadable")),
        *_time_traps("events", zone),
        Trap("events without a query id", ok & nw.col("query_id").is_null(), ("action", "time"), "note"),
    ]
    if "user" in table.paths:
        traps.append(Trap("events without a user", ok & nw.col("user").is_null(), ("query_id", "action")))
    if "session" in table.paths:
        traps.append(Trap("events without a session", ok & nw.col("session").is_null(), ("query_id", "action"), "note"))
    nowhere = ok & nw.col("position").is_null() & ~_wrong_number()
    traps.append(Trap("events without a position", nowhere, ("query_id", "action"), "note"))
    click = ok
    if "action" in table.paths:
        traps.append(Trap("events without an action", ok & nw.col("action").is_null(), ("query_id",)))
        click = ok & nw.col("action").str.to_lowercase().is_in(names_of("click", raw.columns.actions))
    if "doc" in table.paths:
        traps.append(Trap("clicks without a document", click & nw.col("doc").is_null(), ("query_id",)))
    traps += _position_traps("clicks", table, first, click)
    if "value" in table.paths and "action" in table.paths:
        bought = ok & nw.col("action").str.to_lowercase().is_in(names_of("conversion", raw.columns.actions))
        unpriced = bought & nw.col("value").is_null() & ~_wrong_number()
        traps.append(
            Trap("conversions without a value", unpriced, ("query_id",), "note", "they add nothing to revenue")
        )
    if "dwell" in table.paths:
        traps.append(Trap("dwell times below 0", nw.col("dwell") < 0, ("query_id", "dwell")))
    return traps


def _time_traps(name: str, zone: str | None) -> list[Trap]:
    kind, ok = nw.col("time_kind"), ~nw.col("_unreadable")
    shows = ("query_id", "time")
    local = ok & (kind == "no zone")
    late = int(clock.time() * 1e6) + AHEAD
    traps = [
        Trap(f"times of {name} that are missing", ok & (kind == "missing"), ("query_id",)),
        Trap(f"times of {name} that cannot be read", ok & (kind == "unreadable"), ("query_id", "cell")),
        Trap(f"numbers of {name} that cannot be read", ok & _wrong_number(), ("query_id", "cell")),
        Trap(
            f"times of {name} before 1995 or in the future",
            ok & ((nw.col("time") < EARLIEST) | (nw.col("time") > late)), shows,
        ),
    ]  # fmt: skip
    if zone is None:
        remedy = "name the zone that they are in: zone="
        traps.append(Trap(f"times of {name} without a time zone", local, shows, "error", remedy))
    else:
        traps.append(Trap(f"times of {name} without a time zone, read as {zone}", local, shows, "note"))
    return traps


def _wrong_number() -> Any:
    return ~nw.col("cell").is_null() & (nw.col("time_kind") != "unreadable")


def _position_traps(name: str, table: RawTable, first: int, ok: Any) -> list[Trap]:
    if "position" not in table.paths:
        return [Trap(f"positions of {name} that are missing", ok, ("query_id",), "warning")]
    shows = ("query_id", "doc", "position")
    place = nw.col("position")
    traps = [
        Trap(
            f"positions of {name} that are missing",
            ok & place.is_null() & ~_wrong_number(),
            ("query_id", "doc"),
            "warning",
        ),
        Trap(f"positions of {name} below 0", ok & (place < 0), shows),
    ]
    if first == 1:
        traps.append(Trap(f"positions of {name} that are 0", ok & (place == 0), shows, "error", FROM_ZERO))
    return traps


def joined_traps(raw: RawLog) -> list[Trap]:
    """The conditions on events and their queries."""
    known, several = ~nw.col("known").is_null(), nw.col("known").is_null() & (nw.col("askers") > 1)
    click = known & (nw.col("action") == "click") & ~nw.col("doc").is_null()
    other = (nw.col("position") != nw.col("shown_at")) & (nw.col("position") > 0)
    traps = [
        Trap(
            "events of queries that are not in the log",
            ~nw.col("query_id").is_null() & nw.col("askers").is_null(), ("query_id", "action"),
        ),
        Trap(
            "events without a user, of query ids that several users have",
            several & nw.col("user").is_null(), ("query_id", "action"), "error",
            "nobody knows whose they are, so that they count for no query",
        ),
        Trap("events before their query", known & (nw.col("time") < nw.col("query_time")), ("time", "query_time")),
        Trap("clicks on documents that were not shown", click & (nw.col("shown_at") == 0), ("query_id", "doc")),
        Trap(
            "clicks at another position than their document was shown",
            click & (nw.col("shown_at") > 0) & other, ("query_id", "doc", "position", "shown_at"),
        ),
        Trap(
            "events of unknown actions", ~nw.col("action").is_in(KNOWN), ("action",), "warning",
            "they are kept; to read them as clicks, hovers or conversions, name them under [actions] in the column map",
        ),
    ]  # fmt: skip
    assert raw.events is not None
    if "user" in raw.events.paths:
        differs = known & (nw.col("user") != nw.col("asker")) & (nw.col("asker") != "")
        differs = differs.fill_null(False) | (several & ~nw.col("user").is_null())
        traps.append(Trap("events of another user than their query", differs, ("query_id", "user", "query_user")))
    return traps


EVENT_KEY = ("query_id", "user", "time", "action", "doc", "position")
"""Two events are duplicates if they have these in common."""
CLOCK_REMEDY = "rows of one user in a file are not in the order of time; sessions are found by time, not by rows"
ALL_LISTS = "all their documents count as shown, at the positions of their lists"
TWO_FORMS = "each is read as what it is; two programs seem to write this log"
BOT_REMEDY = "leave them out before any analysis, or raise the limit: bot_events="


def grouped_query_traps(raw: RawLog, shares: Mapping[str, float] | None, alpha: float) -> list[Finding]:
    """What shows only in several rows of queries: repeated ids, repeated documents, users and arms."""
    table, engine = raw.queries, raw.engine
    rows = table.frame.filter(~nw.col("_unreadable"), ~nw.col("query_id").is_null())
    findings = []
    if "doc" in table.paths:
        pairs = rows.filter(~nw.col("doc").is_null()).group_by("query_id", "doc")
        findings.append(_repeats(raw, pairs, "documents shown twice in a list", ("query_id", "doc")))
        if "position" in table.paths:
            places = rows.filter(~nw.col("position").is_null()).group_by("query_id", "position")
            problem = "positions that are taken twice in a list"
            findings.append(_repeats(raw, places, problem, ("query_id", "position")))
    else:
        again = _repeats(raw, rows.group_by(*KEYS), "rows with the user and the id of another query", ("query_id",))
        findings.append(replace(again, level="note"))
    users = rows.group_by("query_id").agg(nw.col("user").n_unique().alias("users"), *_place())
    several = _groups(raw, users.filter(nw.col("users") > 1), "query ids of several users", ("query_id", "users"))
    findings.append(replace(several, level="warning"))
    if "documents" in table.paths:
        findings += _list_traps(raw, rows)
    if "arm" in table.paths:
        named = rows.filter(~nw.col("user").is_null(), ~nw.col("arm").is_null())
        arms = engine.keep(
            named.group_by("user").agg(nw.col("arm").n_unique().alias("arms"), nw.col("arm").min(), *_place())
        )
        findings.append(_groups(raw, arms.filter(nw.col("arms") > 1), "users in two arms or more", ("user", "arms")))
        findings.append(_balance(raw, arms.filter(nw.col("arms") == 1), shares, alpha))
    return findings


def _list_traps(raw: RawLog, rows: Any) -> list[Finding]:
    """Queries without a list, with empty lists only, and with several lists that differ."""
    sql, documents = raw.engine.dialect, raw.engine.quote("documents")
    key = f"CASE WHEN {sql.length(documents)} > 0 THEN {sql.key(sql.joined(documents))} END"
    listed = raw.engine.select(rows, {"_size": f"CASE WHEN {documents} IS NOT NULL THEN {sql.length(documents)} END",
                                      "_list": key}, add=True)  # fmt: skip
    queries = listed.group_by(*KEYS).agg(
        nw.col("_size").max().alias("size"), (nw.col("_list").min() != nw.col("_list").max()).alias("differ"), *_place()
    )
    queries = raw.engine.keep(queries)
    kinds: list[tuple[str, Any, str, str]] = [
        ("queries without a list of documents", nw.col("size").is_null(), "note", ""),
        ("queries whose lists are all empty", nw.col("size") == 0, "note", ""),
        ("queries with several lists that differ", nw.col("differ"), "warning", ALL_LISTS),
    ]
    findings = []
    for problem, met, level, remedy in kinds:
        finding = _groups(raw, queries.filter(met), problem, ("query_id",))
        findings.append(replace(finding, level=level, remedy=remedy))
    return findings


def _place() -> list[Any]:
    return [nw.col("_file").min(), nw.col("_row").min()]


def _repeats(raw: RawLog, groups: Any, problem: str, shows: tuple[str, ...]) -> Finding:
    """How many rows of groups are more than one."""
    counts = groups.agg(nw.len().alias("rows"), nw.col("_file").max(), nw.col("_row").max())
    repeated = counts.filter(nw.col("rows") > 1).with_columns(extra=nw.col("rows") - 1)
    return _groups(raw, repeated, problem, (*shows, "rows"), "extra")


def _groups(raw: RawLog, frame: Any, problem: str, shows: tuple[str, ...], counted_by: str = "") -> Finding:
    amount = nw.col(counted_by).sum() if counted_by else nw.len()
    kept = raw.engine.keep(frame.select("_file", "_row", *shows, *([counted_by] if counted_by else [])))
    count = raw.engine.fetch(kept.select(amount.alias("rows")))["rows"][0].as_py() or 0
    first = raw.engine.fetch(kept.sort("_file", "_row").head(EXAMPLES).select("_file", "_row", *shows)).to_pylist()
    return Finding(problem, "error", count, tuple(map(example_of, first)))


def _balance(raw: RawLog, arms: Any, shares: Mapping[str, float] | None, alpha: float) -> Finding:
    """Whether the arms have the users that they should have: the χ² test of a sample ratio mismatch."""
    from scipy.stats import chisquare

    counts = raw.engine.fetch(arms.group_by("arm").agg(nw.len().alias("users")).sort("arm")).to_pydict()
    users = np.array(counts["users"], dtype=float)
    problem = "arms with another share of users than planned"
    if len(users) < 2:
        return Finding(problem, "error", 0)
    if shares is not None and set(shares) != set(counts["arm"]):
        raise UsageError(f"shares name the arms {', '.join(shares)}, but the log has {', '.join(counts['arm'])}")
    planned = np.array([1.0 if shares is None else shares[arm] for arm in counts["arm"]])
    p = float(chisquare(users, planned / planned.sum() * users.sum()).pvalue)
    shown = ", ".join(f"{arm} {n:,.0f}" for arm, n in zip(counts["arm"], users, strict=True))
    wrong = p < alpha
    plan = "equal shares" if shares is None else "the planned shares"
    return Finding(
        problem, "error", len(users) if wrong else 0, (f"users: {shown} (p = {p:.2g} under {plan})",),
        "find out why before any analysis; if the shares are planned, name them: shares=",
    )  # fmt: skip


def grouped_event_traps(raw: RawLog) -> list[Finding]:
    """What shows only in several rows of events: duplicates, and times that go back."""
    assert raw.events is not None
    rows = raw.events.frame.filter(~nw.col("_unreadable"))
    findings = [_repeats(raw, rows.group_by(*EVENT_KEY), "events that are there twice", ("query_id", "action", "time"))]
    for name, table in (("queries", raw.queries), ("events", raw.events)):
        if raw.engine.name == "spark":
            continue  # rows are not numbered
        known = table.frame.filter(~nw.col("_unreadable"), ~nw.col("user").is_null(), ~nw.col("time").is_null())
        before = nw.col("time").shift(1).over("_file", "user", order_by="_row").alias("time_before")
        back = known.with_columns(before).filter(nw.col("time") < nw.col("time_before"))
        finding = _groups(raw, back, f"{name} that go back in time: clocks out of order", ("time", "time_before"))
        findings.append(Finding(finding.problem, "warning", finding.count, finding.examples, CLOCK_REMEDY))
    return findings


def unit_traps(raw: RawLog) -> list[Finding]:
    """Times that are numbers of different units, and times that are numbers in some rows and dates in others."""
    findings = []
    for name, table in (("queries", raw.queries), ("events", raw.events)):
        if table is None:
            continue
        kinds = time_kinds(raw, table)
        units = {kind: rows for kind, rows in kinds.items() if kind in TIME_KINDS[:4]}
        odd = sum(units.values()) - max(units.values(), default=0)
        shown = ", ".join(f"{rows:,} in {unit}" for unit, rows in sorted(units.items()))
        findings.append(Finding(f"times of {name} in another unit than most", "error", odd, (shown,)))
        forms = time_forms(kinds)
        fewer = sum(rows for rows, _ in forms) - max((rows for rows, _ in forms), default=0)
        findings.append(
            Finding(f"times of {name} in another form than most", "warning", fewer, (forms_text(forms),), TWO_FORMS)
        )
    return findings


def bot_traps(log: Log, most: int) -> list[Finding]:
    """Users with too many queries and events to be people."""
    parts = [frame.select("user").filter(~nw.col("user").is_null()) for frame in (log.queries, log.events)]
    users = nw.concat(parts, how="vertical").group_by("user").agg(nw.len().alias("rows"))
    bots = log.engine.fetch(users.filter(nw.col("rows") >= most).sort("rows", "user", descending=True).head(1000))
    rows = bots.to_pylist()
    examples = tuple(f"user {row['user']}: {row['rows']:,}" for row in rows[:EXAMPLES])
    return [Finding(f"users with {most:,} queries and events or more (bots)", "error", len(rows), examples, BOT_REMEDY)]


def ambiguous_times(raw: RawLog, changes: list[tuple[int, int]]) -> list[Finding]:
    """Times without a zone in an hour that the clocks of the zone show twice."""
    count = 0
    for at, by in changes:
        if by >= 0:
            continue
        width = -by * 1_000_000
        near = (nw.col("time") >= at - width) & (nw.col("time") < at + width) & (nw.col("time_kind") == "no zone")
        for table in (raw.queries, raw.events):
            if table is not None:
                count += raw.engine.count(table.frame.filter(near))
    remedy = "write times in UTC, or with their offset"
    return [Finding("times in the hour that clocks show twice in autumn", "warning", count, (), remedy)]


def skipped_times(raw: RawLog, changes: list[tuple[int, int]], zone: str | None) -> list[Finding]:
    """Times without a zone in an hour that the clocks of the zone never show."""
    count = 0
    for at, by in changes:
        if by <= 0 or zone is None:
            continue
        first = at + seconds_ahead(zone, at // SECOND - 1) * SECOND
        wall = nw.col("wall_time")
        within = (wall >= first) & (wall < first + by * SECOND) & (nw.col("time_kind") == "no zone")
        for table in (raw.queries, raw.events):
            if table is not None:
                count += raw.engine.count(table.frame.filter(within))
    remedy = f"no clock in {zone} shows them; they are read as an hour later: write times in UTC, or with their offset"
    return [Finding("times in the hour that clocks skip in spring", "error", count, (), remedy)]
