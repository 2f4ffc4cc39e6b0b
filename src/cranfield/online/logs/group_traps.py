"""The traps of logs that show only in several rows: duplicates, users in two arms, bots, clocks that go back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.online.engines.dialect import TIME_KINDS
from cranfield.online.logs.daylight import SECOND, seconds_ahead
from cranfield.online.logs.findings import EXAMPLES, Finding, example_of
from cranfield.online.logs.log import Log
from cranfield.online.logs.raw_log import RawLog
from cranfield.online.logs.time_forms import forms_text, time_forms, time_kinds
from cranfield.online.logs.whole_queries import KEYS

EVENT_KEY = ("query_id", "user", "time", "action", "doc", "position")
"""Two events are duplicates if they have these in common."""
CLOCK_REMEDY = "rows of one user in a file are not in the order of time; sessions are found by time, not by rows"
ALL_LISTS = "all their documents count as shown, at the positions of their lists"
TWO_FORMS = "each is read as what it is; two programs seem to write this log"
BOT_REMEDY = "leave them out before any analysis, or raise the limit: bot_events="


def size_of(frame: Any) -> Any:
    """The number of rows of a frame."""
    import narwhals as nw

    return frame.select(nw.len().alias("rows"))


def grouped_query_traps(raw: RawLog, shares: Mapping[str, float] | None, alpha: float) -> list[Finding]:
    """What shows only in several rows of queries: repeated ids, repeated documents, users and arms."""
    import narwhals as nw

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
    import narwhals as nw

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
    import narwhals as nw

    return [nw.col("_file").min(), nw.col("_row").min()]


def _repeats(raw: RawLog, groups: Any, problem: str, shows: tuple[str, ...]) -> Finding:
    """How many rows of groups are more than one."""
    import narwhals as nw

    counts = groups.agg(nw.len().alias("rows"), nw.col("_file").max(), nw.col("_row").max())
    repeated = counts.filter(nw.col("rows") > 1).with_columns(extra=nw.col("rows") - 1)
    return _groups(raw, repeated, problem, (*shows, "rows"), "extra")


def _groups(raw: RawLog, frame: Any, problem: str, shows: tuple[str, ...], counted_by: str = "") -> Finding:
    import narwhals as nw

    amount = nw.col(counted_by).sum() if counted_by else nw.len()
    kept = raw.engine.keep(frame.select("_file", "_row", *shows, *([counted_by] if counted_by else [])))
    count = raw.engine.fetch(kept.select(amount.alias("rows")))["rows"][0].as_py() or 0
    first = raw.engine.fetch(kept.sort("_file", "_row").head(EXAMPLES).select("_file", "_row", *shows)).to_pylist()
    return Finding(problem, "error", count, tuple(map(example_of, first)))


def _balance(raw: RawLog, arms: Any, shares: Mapping[str, float] | None, alpha: float) -> Finding:
    """Whether the arms have the users that they should have: the χ² test of a sample ratio mismatch."""
    import narwhals as nw
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
    import narwhals as nw

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
    import narwhals as nw

    parts = [frame.select("user").filter(~nw.col("user").is_null()) for frame in (log.queries, log.events)]
    users = nw.concat(parts, how="vertical").group_by("user").agg(nw.len().alias("rows"))
    bots = log.engine.fetch(users.filter(nw.col("rows") >= most).sort("rows", "user", descending=True).head(1000))
    rows = bots.to_pylist()
    examples = tuple(f"user {row['user']}: {row['rows']:,}" for row in rows[:EXAMPLES])
    return [Finding(f"users with {most:,} queries and events or more (bots)", "error", len(rows), examples, BOT_REMEDY)]


def ambiguous_times(raw: RawLog, changes: list[tuple[int, int]]) -> list[Finding]:
    """Times without a zone in an hour that the clocks of the zone show twice."""
    import narwhals as nw

    count = 0
    for at, by in changes:
        if by >= 0:
            continue
        width = -by * 1_000_000
        near = (nw.col("time") >= at - width) & (nw.col("time") < at + width) & (nw.col("time_kind") == "no zone")
        for table in (raw.queries, raw.events):
            if table is not None:
                count += raw.engine.fetch(size_of(table.frame.filter(near)))["rows"][0].as_py()
    remedy = "write times in UTC, or with their offset"
    return [Finding("times in the hour that clocks show twice in autumn", "warning", count, (), remedy)]


def skipped_times(raw: RawLog, changes: list[tuple[int, int]], zone: str | None) -> list[Finding]:
    """Times without a zone in an hour that the clocks of the zone never show."""
    import narwhals as nw

    count = 0
    for at, by in changes:
        if by <= 0 or zone is None:
            continue
        first = at + seconds_ahead(zone, at // SECOND - 1) * SECOND
        wall = nw.col("wall_time")
        within = (wall >= first) & (wall < first + by * SECOND) & (nw.col("time_kind") == "no zone")
        for table in (raw.queries, raw.events):
            if table is not None:
                count += raw.engine.fetch(size_of(table.frame.filter(within)))["rows"][0].as_py()
    remedy = f"no clock in {zone} shows them; they are read as an hour later: write times in UTC, or with their offset"
    return [Finding("times in the hour that clocks skip in spring", "error", count, (), remedy)]
