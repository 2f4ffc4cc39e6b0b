"""A table with one row per user for the analysis of experiments, from a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.online.log_measures.local_time import UTC
from cranfield.online.log_measures.log_rows import LogRows, check_by, sum_names
from cranfield.online.log_measures.online_measure import OnlineMeasure, parse_online_many
from cranfield.online.logs.log import Log
from cranfield.online.logs.sessions import SILENCE


@dataclass(frozen=True, eq=False)
class UserSums:
    """A lazy frame with a row per user and group, and the columns of each measure in it."""

    frame: Any
    """The columns `user`, those of the groups, and two per measure; kept by the engine."""
    sums: dict[str, tuple[str, str]]
    """{measure: (column above the line, column below the line)}. The value is the ratio of the sums over users."""

    def ratio(self, measure: str) -> str:
        """A measure as `ab analyse` names a ratio of two columns: `above/below`."""
        return "/".join(self.sums[measure])


def per_user(
    log: Log,
    measures: Iterable[str | OnlineMeasure],
    *,
    by: str | Sequence[str] | None = "arm",
    sessions: str = "auto",
    silence: float = SILENCE,
    timezone: str = UTC,
) -> UserSums:
    """The sums of each user above and below the line of each measure, with a row per user and arm.

    timezone: that of days and hours, if `by` has them.
    A user in two arms has two rows. An event without a query counts for the arm of the user's queries.

    >>> from cranfield.online.logs import simulate_log
    >>> users = per_user(simulate_log(users=20, days=2, seed=1), ["CTR@5", "revenue"])
    >>> users.sums["CTR@5"]
    ('CTR_5_numerator', 'CTR_5_denominator')
    >>> users.frame.collect_schema().names()[:2]
    ['user', 'arm']
    """
    rows = LogRows(log, parse_online_many(measures), check_by(by), sessions, silence, timezone=timezone)
    return UserSums(rows.per_user, {str(measure): sum_names(measure) for measure in rows.measures})
