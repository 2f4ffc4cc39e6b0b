"""Documents on result pages: how many were shown, and how many clicks their ranks let expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.online.log_measures.expressions import col, indicator
from cranfield.online.logs.log import Log


def rank_rates(log: Log) -> Any:
    """The rate of clicks at each rank: clicks at the rank divided by documents shown there."""
    import narwhals as nw

    shown = log.shown.group_by("position").agg(nw.len().alias("impressions"))
    clicks = log.events.filter(col("action") == "click").group_by("position").agg(nw.len().alias("clicks"))
    rates = shown.join(clicks, on="position", how="left")
    return log.engine.keep(rates.select("position", rate=col("clicks").fill_null(0) / col("impressions")))


def add_shown(queries: Any, log: Log, cutoffs: Sequence[int] = (), *, expected: bool = False) -> Any:
    """Queries with the number of documents `shown`, of those down to each cutoff, and the `expected` clicks."""
    import narwhals as nw

    shown = log.shown
    sums = [nw.len().alias("shown")]
    sums += [indicator(col("position") <= k).sum().alias(f"shown @{k}") for k in cutoffs]
    if expected:
        shown = shown.join(rank_rates(log), on="position", how="left")
        sums.append(col("rate").sum().alias("expected"))
    names = ["shown", *(f"shown @{k}" for k in cutoffs), *(["expected"] if expected else [])]
    rows = queries.join(shown.group_by("query_id").agg(*sums), on="query_id", how="left")
    return rows.with_columns(*(col(name).fill_null(0) for name in names))
