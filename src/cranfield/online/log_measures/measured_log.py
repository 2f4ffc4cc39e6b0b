"""Online measures of a log, with intervals over users: overall, or by day, arm and segment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.errors import UsageError
from cranfield.online.log_measures.local_time import UTC as UTC_ZONE
from cranfield.online.log_measures.log_rows import OF_TIME, LogRows, check_by, sum_names
from cranfield.online.log_measures.metric_sets import MetricSet
from cranfield.online.log_measures.odd_rows import odd_rows
from cranfield.online.log_measures.oec import OEC
from cranfield.online.log_measures.online_measure import Evidence, OnlineMeasure, parse_online_many
from cranfield.online.log_measures.shown_documents import not_on_shown
from cranfield.online.logs.log import Log
from cranfield.online.logs.named_sessions import AUTO, session_note
from cranfield.online.logs.sessions import SILENCE
from cranfield.online.moments import Estimates, Moments, moments_of_sets
from cranfield.record import Record
from cranfield.table import Cell, Column, Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array

DEFAULT = (
    "CTR", "CTR@5", "satisfied-clicks", "dwell", "click-rank", "click-RR", "time-to-first-click", "abandonment",
    "good-abandonment", "queries-per-session", "session-length", "session-success", "reformulation",
    "sessions-per-user", "absence-time", "conversion", "revenue", "repetition",
)  # fmt: skip
"""The measures of a log if none are named."""
LEAST = 10
"""Groups with fewer users are not shown: their numbers could say something about a single user."""


@dataclass(frozen=True, eq=False, repr=False)
class LogMeasures(Record):
    """The values of online measures in each group, with intervals."""

    facts = ("by", "confidence", "least")

    measures: tuple[str, ...]
    units: tuple[str, ...]
    better: tuple[str, ...]
    parts: tuple[str, ...]
    """The part of a ready-made set that each measure stands for; empty without a set."""
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """The values of the `by` columns."""
    users: NDArray[np.int64]
    """The number of users of each group."""
    value: Array
    """measures × groups; NaN is undefined."""
    error: Array
    """measures × groups: standard errors over users."""
    low: Array
    high: Array
    confidence: float
    least: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The `by` columns, measure, value, low, high, error, unit, users; and part, for a ready-made set."""
        m, g = (axis.ravel() for axis in np.indices(self.value.shape))
        keys = {name: _texts(group[i] for group in self.groups)[g] for i, name in enumerate(self.by)}
        part = {"part": _texts(self.parts)[m]} if any(self.parts) else {}
        numbers = {name: getattr(self, name).ravel() for name in ("value", "low", "high", "error")}
        return {
            **keys,
            **part,
            "measure": _texts(self.measures)[m],
            **numbers,
            "unit": _texts(self.units)[m],
            "users": self.users[g],
        }

    def table(self) -> Table:
        """A row per measure; with groups, a row per group and a column per measure."""
        if not self.by:
            return self._by_measure()
        heads = [Column(name) for name in self.by]
        heads += [Column("users", "count")]
        heads += [Column(name, "number") for name in self.measures]
        rows: list[tuple[Cell, ...]] = []
        for g, group in enumerate(self.groups):
            rows.append((*group, int(self.users[g]), *(self._cell(m, g) for m in range(len(self.measures)))))
        return Table(tuple(heads), tuple(rows), "Online measures", self.notes)

    def _by_measure(self) -> Table:
        part = [Column("part")] if any(self.parts) else []
        heads = (*part, Column("measure"), Column("value", "number"), Column("unit"), Column("users", "count"))
        rows: list[tuple[Cell, ...]] = []
        for m, name in enumerate(self.measures):
            first = (self.parts[m],) if part else ()
            rows.append((*first, name, self._cell(m, 0), self.units[m], int(self.users[0])))
        return Table(heads, tuple(rows), "Online measures", self.notes)

    def _cell(self, m: int, g: int) -> Estimate:
        low, value, high = (float(array[m, g]) for array in (self.low, self.value, self.high))
        return Estimate(self.measures[m], "", value, low, high, int(self.users[g]), 0, 0)


def measure_log(
    log: Log,
    measures: Iterable[str | OnlineMeasure] | None = None,
    *,
    by: str | Sequence[str] | None = None,
    oec: OEC | None = None,
    metric_set: MetricSet | None = None,
    confidence: float = 0.95,
    least: int = LEAST,
    sessions: str = "auto",
    silence: float = SILENCE,
    timezone: str = UTC_ZONE,
) -> LogMeasures:
    r"""Online measures of a log, with intervals that respect that the queries of one user belong together.

    .. math:: R = \frac{\sum_u a_u}{\sum_u b_u}, \quad
        \text{var}(R) \approx \frac{s_a^2 - 2 R s_{ab} + R^2 s_b^2}{n\, \bar b^2}

    a and b are a user's sums above and below the line, n is the number of users; the interval is Student's with n − 1
    degrees of freedom.

    measures: names such as `CTR@5`; default: `DEFAULT`, or those of the `oec` and the `metric_set`.
    by: `day`, `hour` (of the day), `arm`, or columns of the queries; a row for every combination that occurs.
    oec: also compute this weighted sum of measures.
    least: groups with fewer users are left out.
    sessions: `auto` (those that the log names, if it does so for every query, or else by silence), `silence`,
        `continuity` or `given`; see `assign_sessions`.
    silence: the minutes of silence that end a session.
    timezone: the time zone of days and hours, such as `Europe/Berlin`, with its daylight saving time.

    Reference: Deng, Knoblich & Lu, KDD 2018, doi:10.1145/3219819.3219919

    >>> from cranfield.online.log_measures import measure_log
    >>> from cranfield.online.logs import simulate_log
    >>> measured = measure_log(simulate_log(users=50, days=3, seed=1), ["CTR@3", "abandonment"])
    >>> measured.measures, bool((measured.low < measured.value).all())
    (('CTR@3', 'abandonment'), True)
    """
    check.between("measure_log", low=0.5, high=0.9999, confidence=confidence)
    check.whole("measure_log", least=least)
    names = list(measures or ())
    names += [*(metric_set.measures if metric_set else ()), *(oec.measures if oec else ())]
    chosen = parse_online_many(names or DEFAULT)
    rows = LogRows(log, chosen, check_by(by), sessions, silence, names_users=False, timezone=timezone)
    estimates, missing, infinite = _estimates(rows, oec)
    users = next(iter(estimates.values())).n
    if not len(users):
        raise UsageError("measure_log: the log has no queries and no events")
    kept = users >= least
    groups = [_group(rows.by, group) for group in next(iter(estimates.values())).groups]
    notes = [*_interval_notes(confidence, users[kept], rows), *_small_groups(groups, kept, least, rows.by)]
    notes += odd_rows(rows)
    notes += not_on_shown(log, rows.clicks_on_shown) if "expected" in rows.needs else []
    if infinite:
        users_of = ", ".join(f"{name} {count:,}" for name, count in infinite.items())
        notes.append(f"users with a number that is infinite are left out: {users_of}")
    notes += [f"{name}: {reason}, so it is undefined" for name, reason in missing.items()]
    notes += list(dict.fromkeys(filter(None, (measure.note() for measure in chosen))))
    notes += [*(oec.notes() if oec else ()), *(metric_set.notes if metric_set else ())]
    value = np.array([each.value[kept] for each in estimates.values()])
    error = np.array([each.error[kept] for each in estimates.values()])
    for m, name in enumerate(estimates):
        if name in missing:
            value[m] = error[m] = np.nan
    empty = [name for name, row in zip(estimates, value, strict=True) if name not in missing and np.isnan(row).any()]
    if empty:
        notes.append(f"undefined where nothing counts below the line: {listed(empty)}")
    reach = student(confidence, users[kept]) * error
    described = {str(measure): measure for measure in chosen}
    constant = [name for name, row in zip(estimates, error, strict=True) if len(row) and (row == 0).any()]
    if constant:
        notes.append(f"all users are alike in {listed(constant)}: an interval without width says nothing")
    notes += log.notes
    return LogMeasures(
        tuple(estimates),
        tuple(described[name].unit if name in described else "weighted sum" for name in estimates),
        tuple(described[name].better if name in described else "higher" for name in estimates),
        tuple(metric_set.parts_of(name) if metric_set else "" for name in estimates),
        rows.by,
        tuple(group for group, keep in zip(groups, kept, strict=True) if keep),
        users[kept],
        value,
        error,
        value - reach,
        value + reach,
        confidence,
        least,
        tuple(notes),
    )


def _estimates(rows: LogRows, oec: OEC | None) -> tuple[dict[str, Estimates], dict[str, str], dict[str, int]]:
    """The estimate of every measure and of the OEC, by name; why some measures are undefined; users left out."""
    sets: dict[str, Sequence[str]] = {str(measure): sum_names(measure) for measure in rows.measures}
    parts = {}
    if oec is not None:
        columns = [name for measure in oec.measures for name in sum_names(measure)]
        parts = {"oec": columns}
    by_group = moments_of_sets(rows.per_user, {**sets, **parts}, rows.by)
    estimates = {name: by_group[name].ratio(*sums) for name, sums in sets.items()}
    missing = without_evidence(rows)
    if oec is not None:
        estimates[oec.name] = _oec(oec, by_group["oec"])
        absent = [str(measure) for measure in oec.measures if str(measure) in missing]
        if absent:
            missing[oec.name] = f"its measure {listed(absent)} is undefined"
    for name in sets:
        known = by_group[name].mean[by_group[name].n > 0]
        if name not in missing and not np.isfinite(known).all():
            missing[name] = "its numbers are too large"
    infinite = {name: int(by_group[name].missing.sum()) for name in sets}
    return estimates, missing, {name: count for name, count in infinite.items() if count}


def _oec(oec: OEC, moments: Moments) -> Estimates:
    """The OEC in each group, with the covariances of all its parts."""
    whole = moments.pooled()
    above, below = whole.mean[0, 0::2], whole.mean[0, 1::2]
    with np.errstate(divide="ignore", invalid="ignore"):
        overall = np.asarray(above / np.where(below == 0, np.nan, below))
    value, by_numerator, by_denominator = oec.combined(moments.mean[:, 0::2], moments.mean[:, 1::2], overall)
    gradient = np.empty_like(moments.mean)
    gradient[:, 0::2], gradient[:, 1::2] = by_numerator, by_denominator
    return moments.linear(value, gradient)


def without_evidence(rows: LogRows) -> dict[str, str]:
    """Measures for which the log has no evidence at all, and what it lacks."""
    evidence = {str(measure): measure.evidence() for measure in rows.measures}
    if not any(evidence.values()):
        return {}
    totals = rows.passed.totals

    def absent(each: Evidence) -> bool:
        return not totals[each.signal.name if each.signal else "text"]

    reasons = {name: [each.missing for each in entries if absent(each)] for name, entries in evidence.items()}
    return {name: missing[0] for name, missing in reasons.items() if missing}


def _interval_notes(confidence: float, users: NDArray[np.int64], rows: LogRows) -> list[str]:
    share = f"{100 * confidence:g}%"
    notes = [f"{share} intervals over users, by the delta method"]
    if "sessions" in rows.needs:
        notes.append(_session_note(rows))
        if rows.sessions_by == "given" and (without := rows.passed.unnamed[0]):
            notes.append(f"{counted(without, 'query', 'queries')} without a session: left out of measures of sessions")
    times = [f"{name}s" for name in OF_TIME if name in rows.by]
    if times:
        notes.append(f"{' and '.join(times)}: {rows.timezone}")
    return notes


def _session_note(rows: LogRows) -> str:
    if rows.sessions_by != "continuity" and rows.passed.named:
        return session_note("given", rows.silence)
    if rows.sessions_by == "continuity":
        return session_note("continuity", rows.silence)
    without, queries = rows.passed.unnamed if rows.sessions_by == AUTO else (0, 0)
    return session_note("silence", rows.silence, without if without < queries else 0, queries)


def _small_groups(groups: Sequence[tuple[str, ...]], kept: NDArray[Any], least: int, by: Sequence[str]) -> list[str]:
    small = [" ".join(group) for group, keep in zip(groups, kept.tolist(), strict=True) if not keep]
    if not small:
        return []
    if not by:
        raise UsageError(f"the log has fewer than {least} users; to measure it anyway: least=1")
    if len(small) == len(groups):
        raise UsageError(f"every group has fewer than {least} users; to show them anyway: least=1")
    return [f"{counted(len(small), 'group')} with fewer than {least} users not shown: {listed(small)}"]


def _group(by: Sequence[str], group: Sequence[Any]) -> tuple[str, ...]:
    """The values of a group as text; a day is written as a date, an hour as two digits."""
    return tuple(_value_text(name, value) for name, value in zip(by, group, strict=True))


def _value_text(name: str, value: Any) -> str:
    if name == "day":
        return day_text(value)
    return f"{int(value):02d}" if name == "hour" else str(value)


def day_text(day: int) -> str:
    """The date of a day that is counted from 1970-01-01.

    >>> day_text(20_000)
    '2024-10-04'
    """
    return datetime.fromtimestamp(int(day) * 86_400, UTC).date().isoformat()


def student(confidence: float, users: NDArray[np.int64]) -> Array:
    """The quantile of Student's distribution for an interval over a number of users."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.maximum(users - 1, 1), (1 + confidence) / 2), dtype=np.float64)


def _texts(values: Iterable[str]) -> NDArray[Any]:
    return np.array(list(values), dtype=object)
