"""`analyse_log`: compare the arms of an experiment in online measures of a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cranfield.errors import UsageError
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.ab_record import Analysis
from cranfield.online.experiments.experiment_metrics import Metric
from cranfield.online.log_measures.log_rows import NONE
from cranfield.online.log_measures.user_sums import per_user
from cranfield.online.logs.log import Log


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
    groups = tuple(dict.fromkeys(segments))
    sums = per_user(
        log, [measures] if isinstance(measures, str) else measures, by=("arm", *groups, *(["day"] if by_day else [])),
        timezone=timezone,
    )  # fmt: skip
    metrics = [Metric("ratio", *columns, name=name) for name, columns in sums.sums.items()]
    import narwhals as nw

    arm = nw.col("arm")
    users = sums.frame.with_columns(nw.when(arm != NONE).then(arm).alias("arm"))
    for name in ("arm", "unit", "day", "engine", "covariates", "caps"):
        if name in options:
            raise UsageError(f"analyse_log: {name} is for tables; a log names its users, arms and days itself")
    return analyse(
        users, metrics, arm="arm", unit="user", segments=groups, day="day" if by_day else None, shares=shares,
        engine=log.engine, **options,
    )  # fmt: skip
