"""Rows of a log that make measures doubtful, counted while it is measured: bots, stray events, missing ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.online.log_measures.expressions import col, indicator, where
from cranfield.online.log_measures.log_rows import LogRows
from cranfield.online.log_measures.log_signals import ACTIONS, QUERIES
from cranfield.online.logs.check_log import BOT_EVENTS


def odd_rows(rows: LogRows, bot_events: int = BOT_EVENTS, leave_out: Sequence[str] = ()) -> list[str]:
    """Notes on users with too many actions to be people, on events without their query, and on missing ids.

    leave_out: what is not to be told: `bots`, `strays`, `nobody` or `nameless`.

    `check_log` looks for everything that can be wrong in a log; these can be counted without another scan of it.
    """
    actions = col(ACTIONS.name)
    strays = rows.whole.select(
        strays=where(~col("query_id").is_null() & (col(QUERIES.name) == 0), actions).sum(),
        nameless=where(col("query_id").is_null(), col(QUERIES.name)).sum(),
        nobody=where(col("user").is_null(), actions).sum(),
    )
    users = rows.whole.filter(~col("user").is_null()).group_by("user").agg(actions.sum())
    bots = users.select(bots=indicator(actions >= bot_events).sum())
    fetch = rows.log.engine.fetch
    numbers: dict[str, Any] = {**fetch(strays).to_pylist()[0], **fetch(bots).to_pylist()[0]}
    kinds = {
        "bots": f"users with {bot_events:,} queries and events or more, perhaps bots, are in these numbers",
        "strays": "events of queries that are not in the log, or that another user asked, count for no query",
        "nobody": "queries and events without a user count as those of one user",
        "nameless": "queries without an id are left out of measures of queries",
    }
    return [
        f"{meaning}: {int(numbers[kind]):,}"
        for kind, meaning in kinds.items()
        if kind not in leave_out and numbers[kind]
    ]
