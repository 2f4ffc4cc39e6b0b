"""`analyse_log`: compare the arms of an experiment in online measures of a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cranfield.check import nearest
from cranfield.errors import UsageError
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.experiments.novelty_effects import novelty_effects
from cranfield.online.log_measures.local_time import check_timezone
from cranfield.online.log_measures.log_rows import NONE, LogRows, sum_names
from cranfield.online.log_measures.measured_log import without_evidence
from cranfield.online.log_measures.odd_rows import odd_rows
from cranfield.online.log_measures.online_measure import parse_online_many
from cranfield.online.logs.log import Log
from cranfield.text import counted


def analyse_log(
    log: Log,
    measures: Iterable[Any] | str,
    *,
    segments: Iterable[str] = (),
    by_day: bool = False,
    timezone: str = "UTC",
    shares: Mapping[str, float] | None = None,
    **options: Any,
) -> Analysis:
    """Compare the arms that the queries of a log name, in online measures such as `CTR@5`.

    Every measure is a ratio of two sums over users, so it is compared as `analyse` compares ratios: users are the
    units, and a user with queries in two arms is left out.

    segments: columns of the queries, such as the country.
    by_day: also show the effects by days since a user's first query.
    timezone: the time zone of days.
    options: those of `analyse` (control, lower, alpha, correction, relative, method, sequential, ...).

    >>> from cranfield.online.logs import simulate_log
    >>> result = analyse_log(simulate_log(users=200, days=2, seed=1), ["CTR@5"])
    >>> result.metrics, result.control
    (('CTR@5',), 'A')
    """
    for name in ("arm", "unit", "day", "engine", "covariates", "caps"):
        if name in options:
            raise UsageError(f"analyse_log: {name} is for tables; a log names its users, arms and days itself")
    check_timezone(timezone)
    chosen = parse_online_many([measures] if isinstance(measures, str) else measures)
    metrics = [Metric("ratio", *sum_names(measure), name=str(measure)) for measure in chosen]
    groups = tuple(dict.fromkeys(segments))
    rows = LogRows(log, chosen, ("arm",))
    # Shares of users have a row per user and arm: a user who comes on two days, or with two devices, counts once
    users, notes = _with_segments(log, _named_arms(rows.per_user), groups)
    result = analyse(
        users, metrics, arm="arm", unit="user", segments=groups, shares=shares, engine=log.engine, **options
    )
    if by_day:
        days = _named_arms(LogRows(log, chosen, ("arm", "day"), timezone=timezone).per_user)
        effects = novelty_effects(
            log.engine, days, metrics, arm="arm", unit="user", day="day", arms=(result.control, *result.arms),
            alpha=result.alpha,
        )  # fmt: skip
        result = replace(result, by_day=effects)
    notes += [f"caution: {name}: {reason}, so it says nothing" for name, reason in without_evidence(rows).items()]
    notes += odd_rows(rows, leave_out=("nobody",))  # who is left out here, and counted already
    return replace(result, remarks=(*result.remarks, *notes, *log.notes))


def _named_arms(users: Any) -> Any:
    """Sums of users, without an arm where the log names none."""
    import narwhals as nw

    arm = nw.col("arm")
    return users.with_columns(nw.when(arm != NONE).then(arm).alias("arm"))


def _with_segments(log: Log, users: Any, segments: tuple[str, ...]) -> tuple[Any, list[str]]:
    """Sums of users with the user's segments; of several values, the first in the alphabet. Also a note on these."""
    import narwhals as nw

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
    several = log.engine.fetch(of_user.filter(differ).select(nw.len().alias("n")))["n"][0].as_py()
    notes = [f"{counted(several, 'user')} with several values of a segment: the first in the alphabet counts"]
    joined = users.join(of_user.select("user", *segments), on="user", how="left")
    return joined, notes if several else []
