"""The traps of logs that show only in several rows: duplicates, users in two arms, bots, clocks that go back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.errors import UsageError
from cranfield.online.engines.dialect import TIME_KINDS
from cranfield.online.logs.daylight import SECOND, seconds_ahead
from cranfield.online.logs.findings import EXAMPLES, Finding, example_of
from cranfield.online.logs.log import Log
from cranfield.online.logs.raw_log import RawLog

EVENT_KEY = ("query_id", "user", "time", "action", "doc", "position")
"""Two events are duplicates if they have these in common."""
CLOCK_REMEDY = "rows of one user in a file are not in the order of time; sessions are found by time, not by rows"
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
        users = rows.group_by("query_id").agg(nw.col("user").n_unique().alias("users"), *_place())
        several = users.filter(nw.col("users") > 1)
        findings.append(_groups(raw, several, "queries with rows of different users", ("query_id", "users")))
        if "position" in table.paths:
            places = rows.filter(~nw.col("position").is_null()).group_by("query_id", "position")
            problem = "positions that are taken twice in a list"
            findings.append(_repeats(raw, places, problem, ("query_id", "position")))
    else:
        findings.append(_repeats(raw, rows.group_by("query_id"), "queries with an id that another has", ("query_id",)))
    if "arm" in table.paths:
        named = rows.filter(~nw.col("user").is_null(), ~nw.col("arm").is_null())
        arms = engine.keep(
            named.group_by("user").agg(nw.col("arm").n_unique().alias("arms"), nw.col("arm").min(), *_place())
        )
        findings.append(_groups(raw, arms.filter(nw.col("arms") > 1), "users in two arms or more", ("user", "arms")))
        findings.append(_balance(raw, arms.filter(nw.col("arms") == 1), shares, alpha))
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
    """Times that are numbers of different units."""
    import narwhals as nw

    findings = []
    for name, table in (("queries", raw.queries), ("events", raw.events)):
        if table is None:
            continue
        kinds = raw.engine.fetch(table.frame.group_by("time_kind").agg(nw.len().alias("rows"))).to_pylist()
        units = {row["time_kind"]: row["rows"] for row in kinds if row["time_kind"] in TIME_KINDS[:4]}
        odd = sum(units.values()) - max(units.values(), default=0)
        shown = ", ".join(f"{rows:,} in {unit}" for unit, rows in sorted(units.items()))
        findings.append(Finding(f"times of {name} in another unit than most", "error", odd, (shown,)))
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
