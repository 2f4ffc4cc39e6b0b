"""Markov Precision's moves, from the order of clicks."""

from __future__ import annotations

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
    log: Log, level: float, *, depth: int = 10, timed: bool = False, prior: float = 1.0, seed: int = 0
) -> Calibrated:
    r"""How often readers are at each rank, from moves between successive clicks of a query.

    The moves from a rank are multinomial. Their prior is `prior` imaginary moves from each rank, spread evenly over all
    other ranks, so that the chain can always come back; the estimate is the invariant distribution π of the mean. The
    interval comes from draws of the Dirichlet posterior of the moves; it does not know that moves of a user are alike.
    With `timed`, the mean dwell time of clicks at each rank is `seconds`: π̃_i ∝ π_i · seconds.
    """
    nw = need("narwhals", "calibrate")
    engine = log.engine
    clicks = log.events.filter(
        (nw.col("action") == CLICK) & ~nw.col("position").is_null() & ~nw.col("query_id").is_null()
    )
    clicks = clicks.filter((nw.col("position") >= 1) & (nw.col("position") <= depth)).select(
        "query_id", "time", "position", "dwell"
    )
    before = nw.col("position").shift(1).over("query_id", order_by=["time", "position"]).alias("before")
    pairs = clicks.with_columns(before).filter(~nw.col("before").is_null() & (nw.col("before") != nw.col("position")))
    counts = engine.fetch(pairs.group_by("before", "position").agg(nw.len().alias("moves")))
    moves = np.zeros((depth, depth))
    for row in counts.to_pylist():
        moves[int(row["before"]) - 1, int(row["position"]) - 1] = row["moves"]
    total = int(moves.sum())
    if not total:
        raise DataError(
            log.origin or "log", None,
            f"no query has clicks at two positions down to {depth}, so that no moves between ranks can be counted",
        )  # fmt: skip
    used = np.flatnonzero(moves.sum(axis=0) + moves.sum(axis=1) > 0)
    deepest = int(used.max()) + 1
    moves = moves[:deepest, :deepest]
    weights = _with_prior(moves, prior)
    visits = invariant_distribution(weights)
    low, high = _interval(moves, prior, level, seed)
    at = moves.sum(axis=1)
    estimates = [
        Estimated("visits", f"rank {r + 1}", float(visits[r]), float(low[r]), float(high[r]), int(at[r]))
        for r in range(deepest)
    ]
    notes = [
        f"{counted(total, 'move')} between successive clicks at different ranks of a query, down to rank {deepest}"
    ]
    if prior:
        notes.append(f"prior: {prior:g} imaginary moves from each rank, to all other ranks alike")
    settings: dict[str, object] = {"visits": [rounded(share) for share in visits]}
    if timed:
        seconds, counted_clicks = _seconds(log, clicks, deepest)
        settings["seconds"] = [rounded(each) for each in seconds]
        estimates += [
            Estimated("seconds", f"rank {r + 1}", float(seconds[r]), np.nan, np.nan, int(counted_clicks[r]))
            for r in range(deepest)
        ]
    return Calibrated(MP(**settings), tuple(estimates), level, tuple(notes), moves=weights)  # type: ignore[arg-type]


def _with_prior(moves: Array, prior: float) -> Array:
    n = len(moves)
    even = (np.ones((n, n)) - np.eye(n)) / max(n - 1, 1)
    return np.asarray(moves + prior * even)


def _interval(moves: Array, prior: float, level: float, seed: int) -> tuple[Array, Array]:
    """Ends of intervals of the visits, from draws of the posterior of the moves."""
    rng = np.random.default_rng(seed)
    alpha = _with_prior(moves, max(prior, 1e-3))
    n = len(alpha)
    draws = np.stack([rng.gamma(np.where(row > 0, row, 1e-9), size=(DRAWS, n)) for row in alpha], axis=1)
    draws *= 1.0 - np.eye(n)
    draws /= draws.sum(axis=2, keepdims=True)
    systems = np.eye(n) - draws + np.ones((n, n))
    shares = np.linalg.solve(np.swapaxes(systems, 1, 2), np.ones((DRAWS, n, 1)))[..., 0]
    tail = (1 - level) / 2
    low, high = np.quantile(shares, [tail, 1 - tail], axis=0)
    return low, high


def _seconds(log: Log, clicks: object, ranks: int) -> tuple[Array, Array]:
    """The mean dwell time of clicks at each rank, and the number of clicks with one."""
    nw = need("narwhals", "calibrate")
    table = log.engine.fetch(
        clicks.filter(~nw.col("dwell").is_null())  # type: ignore[attr-defined]
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
