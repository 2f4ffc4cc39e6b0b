"""Online measures of a log, also ready-made sets, with intervals over users: overall, or by day, arm and segment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines.engine import Engine
from cranfield.online.few_users import LEVELS, Measured, Part, user_intervals
from cranfield.online.log_measures.document_level import not_on_shown
from cranfield.online.log_measures.log_rows import OF_TIME, LogRows, check_by, doubtful_rows, sum_names
from cranfield.online.log_measures.oec import OEC
from cranfield.online.log_measures.online_measure import Evidence, OnlineMeasure, parse_online_many
from cranfield.online.logs.local_time import UTC_ZONE
from cranfield.online.logs.log import Log
from cranfield.online.logs.sessions import AUTO, SILENCE, SessionRule, Silence, session_note
from cranfield.online.moments import Estimates, Moments, moments_of_sets
from cranfield.record import Record, estimates, labels, table_of
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Array


@dataclass(frozen=True)
class SetPart:
    """A part of a set: the measures for it, or why a log does not have it."""

    name: str
    measures: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class MetricSet:
    """A set of measures."""

    name: str
    parts: tuple[SetPart, ...]
    source: str

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of all parts, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.measures))

    def parts_of(self, measure: str) -> str:
        """The parts that a measure stands for."""
        return ", ".join(part.name for part in self.parts if measure in part.measures)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a log cannot say."""
        return tuple(f"{self.name}: {part.name}: {part.missing}" for part in self.parts if part.missing)


SETS = {
    "pulse": MetricSet(
        "PULSE",
        (
            SetPart("Page views", ("page-views",)),
            SetPart("Uptime", (), "not in a log of queries and events; the monitoring of the service has it"),
            SetPart("Latency", (), "not in a log of queries and events; the monitoring of the service has it"),
            SetPart("Seven-day active users", ("active-users",)),
            SetPart("Earnings", ("revenue",)),
        ),
        "Ferro & Maistro 2024, §6.5; Rodden, Hutchinson & Fu, CHI 2010, doi:10.1145/1753326.1753687",
    ),
    "heart": MetricSet(
        "HEART",
        (
            SetPart("Happiness", (), "users have to be asked; with some answers, log satisfaction predicts the others"),
            SetPart("Engagement", ("sessions-per-day", "queries-per-day")),
            SetPart("Adoption", ("adoption",)),
            SetPart("Retention", ("retention",)),
            SetPart("Task success", ("session-success",)),
        ),
        "Ferro & Maistro 2024, §6.5; Rodden, Hutchinson & Fu, CHI 2010, doi:10.1145/1753326.1753687",
    ),
    "pirate": MetricSet(
        "PIRATE",
        (
            SetPart("Acquisition", ("adoption",), "a log says how many users are new, but not where they come from"),
            SetPart("Activation", ("activation",)),
            SetPart("Retention", ("retention",)),
            SetPart("Referral", ("referral",)),
            SetPart("Revenue", ("conversion", "revenue")),
        ),
        "Ferro & Maistro 2024, §6.5; McClure, Startup Metrics for Pirates, 2007",
    ),
}
"""The sets by name."""


def metric_set(name: str) -> MetricSet:
    """The set of a name.

    >>> metric_set("pulse").measures
    ('page-views', 'active-users', 'revenue')
    """
    if name.casefold() not in SETS:
        raise check.nearest(name, tuple(SETS), "set of measures")
    return SETS[name.casefold()]


DEFAULT = (
    "CTR", "CTR@5", "satisfied-clicks", "dwell", "click-rank", "click-RR", "time-to-first-click", "abandonment",
    "good-abandonment", "queries-per-session", "session-length", "session-success", "reformulation",
    "sessions-per-user", "absence-time", "conversion", "revenue", "repetition",
)  # fmt: skip
"""The measures of a log if none are named."""
LARGE = 0.1
"""A user with this share of a sum is worth a note."""
LEAST = 10
"""Groups with fewer users are not shown: their numbers could say something about a single user."""


@dataclass(frozen=True, eq=False, repr=False)
class LogMeasures(Record):
    """The values of online measures in each group, with intervals."""

    figure = "log_measure_figure"
    facts = ("by", "level", "least")

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
    """measures × groups: standard errors over users, by the delta method."""
    low: Array
    high: Array
    level: float
    least: int
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The `by` columns, measure, value, low, high, error, unit, users; and part, for a ready-made set."""
        m, g = (axis.ravel() for axis in np.indices(self.value.shape))
        part = {"part": labels(self.parts)[m]} if any(self.parts) else {}
        numbers = {name: getattr(self, name).ravel() for name in ("value", "low", "high", "error")}
        of_measure = {**part, "measure": labels(self.measures)[m], **numbers, "unit": labels(self.units)[m]}
        return {**{name: values[g] for name, values in self._keys().items()}, **of_measure, "users": self.users[g]}

    def _keys(self) -> dict[str, NDArray[Any]]:
        """The `by` columns, with a row per group."""
        return {name: labels(group[i] for group in self.groups) for i, name in enumerate(self.by)}

    def table(self) -> Table:
        """A row per measure; with groups, a row per group and a column per measure."""
        if not self.by:
            shown = self.columns()
            shown["value"] = estimates(*(shown.pop(name) for name in ("value", "low", "high")))
            shown = {name: shown[name] for name in ("part", "measure", "value", "unit", "users") if name in shown}
        else:
            shown = {**self._keys(), "users": self.users}
            for m, name in enumerate(self.measures):
                shown[name] = estimates(self.value[m], self.low[m], self.high[m])
        return table_of(
            shown, kinds=dict.fromkeys(self.measures, "number"), caption="Online measures", notes=self.notes
        )


@operation
def measure_log(
    log: Log,
    measures: Iterable[str | OnlineMeasure] | None = None,
    *,
    by: str | Sequence[str] | None = None,
    oec: OEC | None = None,
    metric_set: MetricSet | None = None,
    level: Annotated[
        float, about("Confidence level of the intervals.", spelled="--level L", rare=True, **LEVELS)
    ] = 0.95,
    least: Annotated[
        int,
        about("Leave out groups with fewer than N users, so that they show no single user.", least=1, solves="least="),
    ] = LEAST,
    sessions: SessionRule = AUTO,
    silence: Silence = SILENCE,
    timezone: Annotated[
        str,
        about(
            "The time zone of days and hours, such as Europe/Berlin, with its daylight saving time.",
            spelled="--timezone ZONE",
        ),
    ] = UTC_ZONE,
) -> LogMeasures:
    r"""Online measures of a log, with intervals that respect that the queries of one user belong together.

    .. math:: R = \frac{\sum_u a_u}{\sum_u b_u}, \quad
        \text{var}(R) \approx \frac{s_a^2 - 2 R s_{ab} + R^2 s_b^2}{n\, \bar b^2}

    a and b are a user's sums above and below the line, n is the number of users. A share has Wilson's interval with the
    effective number of rows (`share_ends`), another positive measure an interval on a logarithmic scale
    (`positive_ends`), a weighted sum Student's. If single users might weigh much, the variance is the jackknife's, with
    Satterthwaite's degrees of freedom instead of n − 1 (`Influence`). A measure that is the same for all users has no
    interval, unless it is a share.

    measures: names such as `CTR@5`; default: `DEFAULT`, or those of the `oec` and the `metric_set`.
    by: `day`, `hour` (of the day), `arm`, or columns of the queries; a row for every combination that occurs.
    oec: also compute this weighted sum of measures.
    sessions: as `by` of `assign_sessions`.

    Reference: Deng, Knoblich & Lu, KDD 2018, doi:10.1145/3219819.3219919

    >>> from cranfield.online.log_measures import measure_log
    >>> from cranfield.online.logs import simulate_log
    >>> measured = measure_log(simulate_log(users=50, days=3, seed=1), ["CTR@3", "abandonment"])
    >>> measured.measures, bool((measured.low < measured.value).all())
    (('CTR@3', 'abandonment'), True)
    """
    names = list(measures or ())
    names += [*(metric_set.measures if metric_set else ()), *(oec.measures if oec else ())]
    chosen = parse_online_many(names or DEFAULT)
    rows = LogRows(log, chosen, check_by(by), sessions, silence, names_users=False, timezone=timezone)
    estimates, missing, infinite = _estimates(log.engine, rows, oec, level)
    users = next(iter(estimates.values())).n
    if not len(users):
        raise UsageError("measure_log: the log has no queries and no events")
    kept = users >= least
    groups = [_group(rows.by, group) for group in next(iter(estimates.values())).groups]
    notes = [*_interval_notes(level, users[kept], rows), *_small_groups(groups, kept, least, rows.by)]
    notes += doubtful_rows(rows)
    notes += not_on_shown(log, rows.clicks_on_shown) if "expected" in rows.needs else []
    if infinite:
        users_of = ", ".join(f"{name} {count:,}" for name, count in infinite.items())
        notes.append(caution_note(f"users with a number that is infinite are left out: {users_of}"))
    notes += [caution_note(f"{name}: {reason}, so it is undefined") for name, reason in missing.items()]
    notes += list(dict.fromkeys(filter(None, (measure.note() for measure in chosen))))
    notes += [*(oec.notes() if oec else ()), *(metric_set.notes if metric_set else ())]
    value = np.array([each.value[kept] for each in estimates.values()])
    error = np.array([each.error[kept] for each in estimates.values()])
    for m, name in enumerate(estimates):
        if name in missing:
            value[m] = error[m] = np.nan
    empty = [name for name, row in zip(estimates, value, strict=True) if name not in missing and np.isnan(row).any()]
    if empty:
        notes.append(caution_note(f"undefined where nothing counts below the line: {listed(empty)}"))
    low, high = (np.array([getattr(each, end)[kept] for each in estimates.values()]) for end in ("low", "high"))
    low[np.isnan(value)] = high[np.isnan(value)] = np.nan
    described = {str(measure): measure for measure in chosen}
    without = [
        name for name, ends, row in zip(estimates, low, value, strict=True) if (np.isnan(ends) > np.isnan(row)).any()
    ]
    if without:
        notes.append(f"no interval where all users are alike, or one user has everything: {listed(without)}")
    doubtful = np.array([each.doubtful[kept] for each in estimates.values()]) & ~np.isnan(low)
    notes += _doubtful_notes(list(estimates), doubtful)
    notes += _largest_users(estimates, kept)
    notes += log.notes
    return LogMeasures(
        tuple(estimates), tuple(described[name].unit if name in described else "weighted sum" for name in estimates),
        tuple(described[name].better if name in described else "higher" for name in estimates),
        tuple(metric_set.parts_of(name) if metric_set else "" for name in estimates), rows.by,
        tuple(group for group, keep in zip(groups, kept, strict=True) if keep), users[kept], value, error, low, high,
        level, least, tuple(notes),
    )  # fmt: skip


def _estimates(
    engine: Engine, rows: LogRows, oec: OEC | None, level: float
) -> tuple[dict[str, Measured], dict[str, str], dict[str, int]]:
    """The estimate of every measure and of the OEC, by name; why some measures are undefined; users left out."""
    sets: dict[str, Sequence[str]] = {str(measure): sum_names(measure) for measure in rows.measures}
    every = dict(sets)
    if oec is not None:
        every[oec.name] = [name for measure in oec.measures for name in sum_names(measure)]
    by_group = moments_of_sets(rows.per_user, every, rows.by)
    estimates = {name: by_group[name].ratio(*sums) for name, sums in sets.items()}
    parts = {name: [Part(1.0, *sums)] for name, sums in sets.items()}
    missing = without_evidence(rows)
    if oec is not None:
        estimates[oec.name], parts[oec.name] = _oec(oec, by_group[oec.name])
        absent = [str(measure) for measure in oec.measures if str(measure) in missing]
        if absent:
            missing[oec.name] = f"its measure {listed(absent)} is undefined"
    for name in sets:
        known = by_group[name].mean[by_group[name].n > 0]
        if name not in missing and not np.isfinite(known).all():
            missing[name] = "its numbers are too large"
    infinite = {name: int(by_group[name].missing.sum()) for name in sets}
    kinds = {str(measure): "share" if measure.is_share else "positive" for measure in rows.measures}
    defined = {name: parts[name] for name in parts if name not in missing}
    measured = user_intervals(engine, rows.per_user, by_group, estimates, defined, kinds, rows.by, level)
    return measured, missing, {name: count for name, count in infinite.items() if count}


def _doubtful_notes(names: Sequence[str], doubtful: NDArray[np.bool_]) -> list[str]:
    """Which intervals are from too few users."""
    which = [name for name, row in zip(names, doubtful, strict=True) if row.any()]
    if not which:
        return []
    said = listed(which) if len(which) < len(names) or len(names) == 1 else "all measures"
    return [caution_note(f"caution: few users carry {said}, so the interval may be too narrow; measure more users")]


def _largest_users(estimates: Mapping[str, Measured], kept: NDArray[Any]) -> list[str]:
    """Measures of which one user has a tenth of a sum or more, and more than five users of the same size would have."""
    shares = {}
    for name, each in estimates.items():
        own = np.where(kept & (each.largest > 5 / np.maximum(each.n, 1)), each.largest, 0.0)
        if len(own) and own.max() >= LARGE:
            shares[name] = float(own.max())
    if not shares:
        return []
    which = listed((f"{name} {share:.0%}" for name, share in shares.items()), most=6)
    return [f"the largest user's share of a sum: {which}; if it is a robot, leave it out"]


def _oec(oec: OEC, moments: Moments) -> tuple[Estimates, list[Part]]:
    """The OEC in each group, with the covariances of all its parts, and the parts with their weights."""
    whole = moments.pooled()
    above, below = whole.mean[0, 0::2], whole.mean[0, 1::2]
    with np.errstate(divide="ignore", invalid="ignore"):
        overall = np.asarray(above / np.where(below == 0, np.nan, below))
    value, by_numerator, by_denominator = oec.combined(moments.mean[:, 0::2], moments.mean[:, 1::2], overall)
    gradient = np.empty_like(moments.mean)
    gradient[:, 0::2], gradient[:, 1::2] = by_numerator, by_denominator
    weights = by_numerator[0] * moments.mean[0, 1::2]
    parts = [
        Part(float(weight), *sum_names(measure)) for weight, measure in zip(weights, oec.measures, strict=True)
    ]  # fmt: skip
    return moments.linear(value, gradient), parts


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


def _interval_notes(level: float, users: NDArray[np.int64], rows: LogRows) -> list[str]:
    share = f"{100 * level:g}%"
    notes = [method_note(f"{share} intervals over users")]
    if "sessions" in rows.needs:
        notes.append(_session_note(rows))
        if rows.sessions_by == "given" and (without := rows.passed.unnamed[0]):
            notes.append(
                caution_note(
                    f"{counted(without, 'query', 'queries')} without a session: left out of measures of sessions"
                )
            )
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
    forms: dict[str, Callable[[Any], str]] = {"day": day_text, "hour": lambda hour: f"{int(hour):02d}"}
    return tuple(forms.get(name, str)(value) for name, value in zip(by, group, strict=True))


def day_text(day: int) -> str:
    """The date of a day that is counted from 1970-01-01.

    >>> day_text(20_000)
    '2024-10-04'
    """
    return datetime.fromtimestamp(int(day) * 86_400, UTC).date().isoformat()
