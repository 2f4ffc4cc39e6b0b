"""Predicted rewards by context and action, each from the rows of other users: for the direct and the DR estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cranfield.frames import need
from cranfield.online.policies.logged_rows import LoggedRows
from cranfield.text import counted


@dataclass(frozen=True, eq=False)
class Fitted:
    """Sums for the direct and the DR estimate, and how far direct may be off where an action never happened."""

    frame: Any
    below: float
    """How much direct is too high if all that never happened has the lowest reward."""
    above: float
    notes: tuple[str, ...]


def cross_fitted(
    engine: Any, weighed: Any, policy: Any, logged: LoggedRows, path: str, shrink: float, by_row: bool
) -> Fitted:
    r"""The sums of each row, or of each user and context, with those of the direct and the DR estimate.

    .. math:: \hat q_{-g}(x, a) = \frac{\sum_{i \notin g} r_i + s\, m_{-g}}{n_{-g} + s}, \qquad
        \text{DR} = \frac1n \sum_i \sum_a \pi(a | x_i)\, \hat q_{-g}(x_i, a) + w_i\,(r_i - \hat q_{-g}(x_i, a_i))

    The prediction for a row of the cluster g is made from the rows of all others: the sums over x and a, and the mean m
    of all rewards, less what g itself contributed. No row has a part in its own prediction, so that DR is unbiased
    however few rows a context and action have, and its terms vary as much as they do. Nothing is drawn at random, and
    the order of rows does not matter. `by_row` leaves out the row only: for rows that are independent, and for
    clusters that are contexts, which without their own rows would have no predictions.

    The direct estimate has plain means, which are not shrunk. It is then a DR estimate with the share of an action in
    the rows of its context for the propensity, so it varies as :math:`\sum_a \pi \hat q_{-g} + \hat w (r - \hat
    q_{-g})` does. Where an action never happened in its context, it takes the mean of all rewards, and the
    interval is as wide as the lowest and the highest reward make it. DR is near to direct where rows are many, so that
    its interval has the larger of both variances: they differ if an action happened less often than its propensity.
    """
    nw = need("narwhals", "off_policy")
    col, key = nw.col, ["_context", "_action"]
    weighed = engine.keep(weighed)
    pairs = engine.keep(weighed.group_by(*key).agg(col("n").sum().alias("_n"), col("reward").sum().alias("_sum")))
    total = engine.fetch(pairs.select(col("_n").sum(), col("_sum").sum())).to_pylist()[0]
    rows, rewards = total["_n"], total["_sum"]
    mean = rewards / rows
    contexts, mass, unseen = _contexts(engine, policy, pairs, shrink, mean, rows)
    cells = engine.keep(
        pairs.join(policy, on=key, how="left")
        .with_columns(col("_probability").fill_null(0.0))
        .join(contexts, on="_context", how="inner")
    )
    sums = [name for name in weighed.collect_schema().names() if not name.startswith("_")]
    own = weighed.with_columns((rows - col("n")).alias("_others"), (rewards - col("reward")).alias("_earned"))
    if not by_row:
        others = weighed.group_by("_cluster").agg(
            (rows - col("n").sum()).alias("_others"), (rewards - col("reward").sum()).alias("_earned")
        )
        own = weighed.group_by("_cluster", *key).agg(*(col(name).sum() for name in sums))
        own = own.join(engine.keep(others), on="_cluster", how="left")
    safe = nw.when(col("_others") > 0).then(col("_others")).otherwise(nw.lit(1.0))
    mean_of_others = nw.when(col("_others") > 0).then(col("_earned") / safe).otherwise(nw.lit(mean))
    own = own.join(cells, on=key, how="left").with_columns(mean_of_others.alias("_mean"))
    size = col("_n") - col("n") + shrink
    some = nw.when(size > 0).then(size).otherwise(nw.lit(1.0))
    left = (col("_sum") - col("reward") + shrink * col("_mean")) / some
    own = own.with_columns(nw.when(size > 0).then(left).otherwise(col("_mean")).alias("_model"))
    whole = (col("_sum") + shrink * col("_mean")) / (col("_n") + shrink)
    error = col("reward") - col("n") * col("_model")
    own = own.with_columns(
        (col("_of_sums") + col("_of_mean") * col("_mean")).alias("_of_all"),
        (col("_probability") * (col("_model") - whole)).alias("_less"),
        (col("_rows") * col("_probability") / col("_n") * error).alias("_by_share"),
        (col("weighted") - col("weight") * col("_model")).alias("_by_weight"),
    )
    if not by_row:
        added = [*sums, "_less", "_by_share", "_by_weight"]
        own = own.group_by("_cluster", "_context").agg(
            *(col(name).sum() for name in added), *(col(name).max() for name in ("_of_all", "_plain"))
        )
    expected = col("n") * (col("_of_all") + col("_less"))
    columns = {
        "direct": col("n") * col("_plain"),
        "direct_influence": expected + col("_by_share") + mass * (col("reward") - mean * col("n")),
        "corrected": expected + col("_by_weight"),
    }
    keys = [name for name in weighed.collect_schema().names() if name == "_cluster"]
    notes = []
    if unseen:
        notes.append(
            f"{path}: {mass:.1%} of what the new policy would do never happened in its context in the log "
            f"({counted(unseen, 'row')}). There direct takes the mean of all rewards, and its interval allows for all "
            f"from {logged.lowest:.4g} to {logged.highest:.4g}; no weight makes up for what the logged policy cannot do"
        )
    frame = own.select(*keys, *sums, *(value.alias(name) for name, value in columns.items()))
    return Fitted(frame, mass * (mean - logged.lowest), mass * (logged.highest - mean), tuple(notes))


def _contexts(engine: Any, policy: Any, pairs: Any, shrink: float, mean: float, rows: float) -> tuple[Any, float, int]:
    """The predictions of the new policy by context, the share of its decisions without rows, and the rows concerned.

    `_of_sums` + `_of_mean` · m is the prediction with the means shrunk towards m; `_plain` that of plain means.
    """
    nw = need("narwhals", "off_policy")
    col, chance = nw.col, nw.col("_probability")
    seen = ~col("_n").is_null()
    size = nw.when(seen).then(col("_n") + shrink).otherwise(nw.lit(1.0))

    plain = col("_sum") / nw.when(seen).then(col("_n")).otherwise(nw.lit(1.0))
    choices = policy.join(pairs, on=["_context", "_action"], how="left").with_columns(
        (chance * nw.when(seen).then(col("_sum") / size).otherwise(nw.lit(0.0))).alias("_of_sums"),
        (chance * nw.when(seen).then(shrink / size).otherwise(nw.lit(1.0))).alias("_of_mean"),
        (chance * nw.when(seen).then(plain).otherwise(nw.lit(0.0))).alias("_plain"),
        (chance * nw.when(seen).then(nw.lit(0.0)).otherwise(nw.lit(1.0))).alias("_mass"),
    )
    names = ("_of_sums", "_of_mean", "_plain", "_mass")
    predicted = choices.group_by("_context").agg(*(col(name).sum() for name in names))
    contexts = engine.keep(
        pairs.group_by("_context")
        .agg(col("_n").sum().alias("_rows"))
        .join(predicted, on="_context", how="inner")
        .with_columns(col("_plain") + mean * col("_mass"))
    )
    lacking = nw.when(col("_mass") > 1e-12).then(col("_rows")).otherwise(nw.lit(0.0))
    row = engine.fetch(
        contexts.select((col("_rows") * col("_mass")).sum().alias("mass"), lacking.sum().alias("rows"))
    ).to_pylist()[0]
    return contexts.drop("_mass"), row["mass"] / rows, round(row["rows"])
