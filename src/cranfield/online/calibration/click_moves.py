"""Markov Precision's moves, from the order of clicks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.measures.markov import MP
from cranfield.measures.transition_files import invariant_distribution
from cranfield.online.calibration.calibrated import Calibrated, Estimated, rounded
from cranfield.online.impressions import CLICK
from cranfield.online.logs.log import Log
from cranfield.text import counted
from cranfield.types import Array

DRAWS = 2_000
"""Draws from the posterior of the moves, for the intervals of visits."""


def calibrate_MP(
    log: Log, level: float, *, depth: int = 10, timed: bool = False, restart: bool = True, seed: int = 0
) -> Calibrated:
    r"""How often readers are at each rank, from moves between successive clicks.

    With `restart`, the last click of a query is followed by the first click of some query: readers come back with
    another one. Then every click counts, and the invariant distribution is the share of clicks at each rank. Without,
    only moves within queries count. Since most of these go down, one imaginary move from each rank to all other ranks
    alike lets the chain come back, and the result depends on it.

    The interval comes from draws of the Dirichlet posterior of the moves from each rank; it does not know that the
    moves of a user are alike. With `timed`, the mean dwell time of clicks at each rank is `seconds`, and the measure
    uses π̃_i ∝ π_i · seconds.
    """
    clicks, left_out = _placed_clicks(log, depth)
    moves = _moves(log, clicks, depth, restart)
    used = np.flatnonzero(moves.sum(axis=0) + moves.sum(axis=1) > 0)
    if len(used) < 2:
        where = "clicks at two positions" if restart else "a query has clicks at two positions"
        raise DataError(log.origin or "log", None, f"no moves between ranks down to {depth}: {where} are needed")
    deepest = int(used.max()) + 1
    moves = moves[:deepest, :deepest]
    total = round(float(moves.sum()))
    weights = moves if restart else _with_prior(moves)
    visits = invariant_distribution(weights, log.origin or "log")
    low, high = _interval(weights, level, seed)
    at = moves.sum(axis=1)
    estimates = [
        Estimated("visits", f"rank {r + 1}", float(visits[r]), float(low[r]), float(high[r]), round(float(at[r])))
        for r in range(deepest)
    ]
    notes = [f"{counted(total, 'move')} between successive clicks, down to rank {deepest}"]
    if restart:
        notes.append("after the last click of a query, readers go on with the first click of another query")
    else:
        notes.append("only moves within queries; one imaginary move from each rank, to all other ranks alike")
    notes += left_out
    settings: dict[str, object] = {"visits": [rounded(share) for share in visits]}
    if timed:
        seconds, counted_clicks = _seconds(log, clicks, deepest)
        settings["seconds"] = [rounded(each) for each in seconds]
        estimates += [
            Estimated("seconds", f"rank {r + 1}", float(seconds[r]), np.nan, np.nan, int(counted_clicks[r]))
            for r in range(deepest)
        ]
    return Calibrated(MP(**settings), tuple(estimates), level, tuple(notes), moves=weights)  # type: ignore[arg-type]


def _placed_clicks(log: Log, depth: int) -> tuple[Any, list[str]]:
    """Clicks with their time and position, down to rank `depth`, and how many were left out.

    A click that names its document and no position has the position at which the document was shown.
    """
    nw = need("narwhals", "calibrate")
    clicks = log.events.filter((nw.col("action") == CLICK) & ~nw.col("query_id").is_null())
    clicks = log.engine.keep(clicks.select("query_id", "time", "doc", "position", "dwell"))
    if _count(log, clicks.filter(nw.col("position").is_null() & ~nw.col("doc").is_null())):
        places = log.shown.filter(~nw.col("doc").is_null()).group_by("query_id", "doc")
        clicks = clicks.join(
            places.agg(nw.col("position").min().alias("_place")), on=["query_id", "doc"], how="left"
        ).with_columns(nw.coalesce(nw.col("position"), nw.col("_place")).alias("position"))
        clicks = log.engine.keep(clicks)
    notes = []
    if nowhere := _count(log, clicks.filter(nw.col("position").is_null())):
        notes.append(f"{counted(nowhere, 'click')} without a position left out")
    if deeper := _count(log, clicks.filter(nw.col("position") > depth)):
        notes.append(f"{counted(deeper, 'click')} below rank {depth} left out")
    inside = (nw.col("position") >= 1) & (nw.col("position") <= depth)
    return log.engine.keep(clicks.filter(inside).select("query_id", "time", "position", "dwell")), notes


def _count(log: Log, rows: Any) -> int:
    nw = need("narwhals", "calibrate")
    return int(log.engine.fetch(rows.select(nw.len().alias("n"))).to_pylist()[0]["n"])


def _moves(log: Log, clicks: Any, depth: int, restart: bool) -> Array:
    """Counts of moves from rank (row) to rank (column)."""
    nw = need("narwhals", "calibrate")
    in_order = ["time", "position"]
    before = nw.col("position").shift(1).over("query_id", order_by=in_order).alias("before")
    after = nw.col("position").shift(-1).over("query_id", order_by=in_order).alias("after")
    rows = log.engine.keep(clicks.with_columns(before, after))
    moves = np.zeros((depth, depth))
    inside = rows.filter(~nw.col("before").is_null() & (nw.col("before") != nw.col("position")))
    for row in log.engine.fetch(inside.group_by("before", "position").agg(nw.len().alias("n"))).to_pylist():
        moves[int(row["before"]) - 1, int(row["position"]) - 1] = row["n"]
    if restart:
        ends = [np.zeros(depth), np.zeros(depth)]
        for end, column in zip(ends, ("before", "after"), strict=True):
            alone = rows.filter(nw.col(column).is_null()).group_by("position").agg(nw.len().alias("n"))
            for row in log.engine.fetch(alone).to_pylist():
                end[int(row["position"]) - 1] = row["n"]
        first, last = ends
        if first.sum():
            moves += np.outer(last, first / first.sum())
    return moves


def _with_prior(moves: Array) -> Array:
    n = len(moves)
    return np.asarray(moves + (np.ones((n, n)) - np.eye(n)) / max(n - 1, 1))


def _interval(weights: Array, level: float, seed: int) -> tuple[Array, Array]:
    """Ends of intervals of the visits, from draws of the posterior of the moves."""
    rng = np.random.default_rng(seed)
    n = len(weights)
    draws = np.stack([rng.gamma(np.where(row > 0, row, 1e-6), size=(DRAWS, n)) for row in weights], axis=1)
    draws = np.maximum(draws, 1e-300)
    draws /= draws.sum(axis=2, keepdims=True)
    systems = np.eye(n) - draws + np.ones((n, n))
    shares = np.linalg.solve(np.swapaxes(systems, 1, 2), np.ones((DRAWS, n, 1)))[..., 0]
    tail = (1 - level) / 2
    low, high = np.quantile(shares, [tail, 1 - tail], axis=0)
    return low, high


def _seconds(log: Log, clicks: Any, ranks: int) -> tuple[Array, Array]:
    """The mean dwell time of clicks at each rank, and the number of clicks with one."""
    nw = need("narwhals", "calibrate")
    table = log.engine.fetch(
        clicks.filter(~nw.col("dwell").is_null())
        .group_by("position")
        .agg(nw.col("dwell").mean().alias("seconds"), nw.len().alias("n"))
    )
    seconds, n = np.full(ranks, np.nan), np.zeros(ranks)
    for row in table.to_pylist():
        if row["position"] <= ranks:
            seconds[int(row["position"]) - 1], n[int(row["position"]) - 1] = row["seconds"], row["n"]
    if not (seconds > 0).all():
        missing = int(np.flatnonzero(~(seconds > 0))[0]) + 1
        raise DataError(log.origin or "log", None, f"no click at rank {missing} has a dwell time, so no time is known")
    return seconds, n
