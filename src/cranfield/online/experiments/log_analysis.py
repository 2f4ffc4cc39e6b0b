"""Experiments from a log: compare its arms in online measures, plan an experiment, and check the set-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.experiments.effects_in_parts import novelty_effects
from cranfield.online.experiments.experiment_metrics import MomentMetric, Ratio, Term, WeightedSum
from cranfield.online.experiments.experiment_power import ABPower, ab_power
from cranfield.online.experiments.random_splits import AASplits, aa_splits
from cranfield.online.expressions import nw
from cranfield.online.log_measures.log_rows import NONE, LogRows, doubtful_rows, sum_names
from cranfield.online.log_measures.measured_log import without_evidence
from cranfield.online.log_measures.oec import OEC
from cranfield.online.log_measures.online_measure import OnlineMeasure, parse_online_many
from cranfield.online.logs.local_time import check_timezone
from cranfield.online.logs.log import Log
from cranfield.online.moments import moments
from cranfield.text import counted, listed


@dataclass(frozen=True, eq=False)
class LogMetrics:
    """What is compared, and the sums of users that it is computed from."""

    measures: tuple[OnlineMeasure, ...]
    """All that have to be added up, the parts of the weighted sum too."""
    metrics: tuple[MomentMetric, ...]
    """What is compared, and decides in this order: the weighted sum first."""
    rows: LogRows
    oec: OEC | None

    @property
    def notes(self) -> list[str]:
        """What the weighted sum is, and which measures the log has no evidence for."""
        notes = list(self.oec.notes()) if self.oec else []
        absent = without_evidence(self.rows).items()
        return notes + [caution_note(f"caution: {name}: {reason}, so it says nothing") for name, reason in absent]


def log_metrics(
    log: Log, measures: Iterable[Any] | str, oec: OEC | None = None, by: Sequence[str] = (), timezone: str = "UTC"
) -> LogMetrics:
    """The metrics of measures and of a weighted sum, with a row per user and value of `by`."""
    names = [measures] if isinstance(measures, str) else list(measures)
    shown = parse_online_many(names) if names else ()
    if not shown and oec is None:
        raise UsageError("no measure and no OEC; name one, such as CTR@5")
    every = tuple(dict.fromkeys((*shown, *(oec.measures if oec else ()))))
    rows = LogRows(log, every, tuple(by), timezone=timezone)
    metrics = [Ratio(*sum_names(measure), name=str(measure)) for measure in shown]
    return LogMetrics(every, (*([oec_metric(oec, rows)] if oec else ()), *metrics), rows, oec)


def oec_metric(oec: OEC, rows: LogRows) -> WeightedSum:
    """The weighted sum as a metric; measures without `low` and `high` are divided by their value over the whole log.

    These values are taken as known: they are computed once, whatever part of the log is compared.
    """
    columns = [sum_names(part.measure) for part in oec.parts]
    whole = moments(rows.per_user, dict.fromkeys(name for pair in columns for name in pair))
    terms = []
    for part, (above, below) in zip(oec.parts, columns, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = float(whole.mean[0, whole.column(above)] / whole.mean[0, whole.column(below)])
        zero, unit = part.scale(overall)
        if not np.isfinite(unit) or unit == 0:
            raise UsageError(
                f"{oec.name}: {part.measure} is {overall:g} over the whole log, so nothing can be divided by it; give "
                "low and high for it"
            )
        terms.append(Term(above, below, part.weight / unit, zero))
    return WeightedSum(oec.name, tuple(terms))


def analyse_log(
    log: Log,
    measures: Iterable[Any] | str = (),
    *,
    oec: OEC | None = None,
    segments: Iterable[str] = (),
    by_day: bool = False,
    timezone: str = "UTC",
    shares: Mapping[str, float] | None = None,
    **options: Any,
) -> Analysis:
    """Compare the arms that the queries of a log name, in online measures such as `CTR@5`.

    Every measure is a ratio of two sums over users, so it is compared as `analyse` compares ratios: users are the
    units, and a user with queries in two arms is left out.

    oec: a weighted sum of measures (`read_oec`), which decides; `measures` are then compared beside it.
    segments: columns of the queries, such as the country.
    by_day: also show the effects by days since a user's first query.
    timezone: the time zone of days.
    options: those of `analyse` (control, lower, alpha, correction, relative, method, sequential, ...).

    >>> from cranfield.online.logs import simulate_log
    >>> result = analyse_log(simulate_log(users=200, days=2, seed=1), ["CTR@5"])
    >>> result.metrics, result.control
    (('CTR@5',), 'A')
    """
    _refuse("analyse_log", options, ("arm", "unit", "day", "engine", "covariates", "caps", "cuped"))
    check_timezone(timezone)
    groups = tuple(dict.fromkeys(segments))
    chosen = log_metrics(log, measures, oec, ("arm",))
    rows, metrics = chosen.rows, chosen.metrics
    # Shares of users have a row per user and arm: a user who comes on two days, or with two devices, counts once
    users, notes = _with_segments(log, _named_arms(rows.per_user), groups)
    result = analyse(
        users, metrics, arm="arm", unit="user", segments=groups, shares=shares, engine=log.engine, **options
    )
    if by_day:
        days = _named_arms(LogRows(log, chosen.measures, ("arm", "day"), timezone=timezone).per_user)
        effects = novelty_effects(
            log.engine, days, metrics, arm="arm", unit="user", day="day", arms=(result.control, *result.arms),
            alpha=result.alpha,
        )  # fmt: skip
        result = replace(result, by_day=effects)
    notes += chosen.notes
    notes += doubtful_rows(rows, leave_out=("nobody",))  # who is left out here, and counted already
    return replace(result, remarks=(*result.remarks, *notes, *log.notes))


def power_from_log(
    log: Log,
    measures: Iterable[Any] | str = (),
    *,
    oec: OEC | None = None,
    by_day: bool = False,
    timezone: str = "UTC",
    **options: Any,
) -> ABPower:
    """What an experiment can find in online measures, from a log of past traffic; its arms do not matter.

    by_day: a row for each number of days; only for measures that are sums over queries or sessions, because a user
        who comes on two days is one user.
    options: those of `ab_power` (effect, users, exposure, shares, alpha, power).
    """
    _refuse("power_from_log", options, ("unit", "day", "covariates", "engine"))
    check_timezone(timezone)
    chosen = log_metrics(log, measures, oec, ("day",) if by_day else (), timezone)
    of_users = [str(measure) for measure in chosen.measures if measure.rows == "users"]
    if by_day and of_users:
        verb = "is" if len(of_users) == 1 else "are"
        raise UsageError(
            f"{listed(of_users)} {verb} of whole users, who come on several days: leave out results by day"
        )
    day = "day" if by_day else None
    result = ab_power(chosen.rows.per_user, chosen.metrics, unit="user", day=day, engine=log.engine, **options)
    return replace(result, remarks=(*result.remarks, *chosen.notes, *doubtful_rows(chosen.rows), *log.notes))


def aa_from_log(log: Log, measures: Iterable[Any] | str = (), *, oec: OEC | None = None, **options: Any) -> AASplits:
    """A/A splits of the users of a log, in online measures.

    options: those of `aa_splits` (splits, alpha, seed, buckets, progress).
    """
    _refuse("aa_from_log", options, ("unit", "covariates", "by_row", "engine"))
    chosen = log_metrics(log, measures, oec)
    result = aa_splits(chosen.rows.per_user, chosen.metrics, unit="user", engine=log.engine, **options)
    return replace(result, remarks=(*result.remarks, *chosen.notes, *doubtful_rows(chosen.rows), *log.notes))


def _refuse(caller: str, options: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if name in options:
            raise UsageError(f"{caller}: {name} is for tables; a log names its users, arms and days itself")


def _named_arms(users: Any) -> Any:
    """Sums of users, without an arm where the log names none."""
    arm = nw.col("arm")
    return users.with_columns(nw.when(arm != NONE).then(arm).alias("arm"))


def _with_segments(log: Log, users: Any, segments: tuple[str, ...]) -> tuple[Any, list[str]]:
    """Sums of users with the user's segments; of several values, the first in the alphabet. Also a note on these."""
    for name in segments:
        if name not in log.segments:
            raise nearest(name, log.segments, "column of the log")
    if not segments:
        return users, []
    lowest = [nw.col(name).min().fill_null(NONE) for name in segments]
    highest = [nw.col(name).max().alias(f"last {name}") for name in segments]
    known = log.queries.filter(~nw.col("user").is_null())
    of_user = log.engine.keep(known.group_by("user").agg(*lowest, *highest))
    differ = nw.any_horizontal(*(nw.col(name) < nw.col(f"last {name}") for name in segments), ignore_nulls=True)
    several = log.engine.count(of_user.filter(differ))
    notes = [f"{counted(several, 'user')} with several values of a segment: the first in the alphabet counts"]
    joined = users.join(of_user.select("user", *segments), on="user", how="left")
    return joined, notes if several else []
