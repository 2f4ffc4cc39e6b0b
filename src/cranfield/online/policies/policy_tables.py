"""A new policy as a table of context, action and probability, joined with the logged rows."""

from __future__ import annotations

from typing import Any

from cranfield.collection.column_names import find_columns, no_column
from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.online.policies.logged_rows import ROLES, LoggedRows
from cranfield.text import counted

COLUMNS = {
    "context": ROLES["context"],
    "action": ROLES["action"],
    "probability": ("probability", "prob", "target", "p"),
}


def joined_policy(engine: Any, logged: LoggedRows, path: str, shrink: float) -> tuple[Any, list[str]]:
    """The logged rows with the new policy's probability and with predicted rewards, and notes on missing support.

    Adds `_target` (the probability of the logged action, 0 if the table lacks it), `_model` (the predicted reward of
    the logged action) and `_expected` (the predicted reward under the new policy). A prediction is the mean reward of
    the action in its context, shrunk towards the overall mean by `shrink` rows. `_direct_by_model` and
    `_corrected_by_model` are the row's influence on the direct and the doubly robust estimate through the predictions.
    """
    nw = need("narwhals", "off_policy")
    for role in ("context", "action"):
        if role not in logged.names:
            raise DataError(logged.origin, None, no_column(role, logged.every, ROLES[role]))
    policy = engine.keep(_policy(engine, path))
    frame = logged.frame.with_columns(
        nw.col(logged.names["context"]).cast(nw.String).alias("_context"),
        nw.col(logged.names["action"]).cast(nw.String).alias("_action"),
    )
    notes = [*_checked(engine, policy, path)]
    known = policy.select("_context").unique().with_columns(nw.lit(1).alias("_known"))
    matched = frame.join(known, on="_context", how="left")
    lost = engine.fetch(
        matched.filter(nw.col("_known").is_null()).select(
            nw.len().alias("rows"), nw.col("_context").n_unique().alias("contexts")
        )
    ).to_pylist()[0]
    if lost["rows"]:
        notes.append(
            f"{path}: {counted(lost['rows'], 'row')} left out, of {counted(lost['contexts'], 'context')} for which the "
            "new policy has no probabilities"
        )
    frame = engine.keep(matched.filter(~nw.col("_known").is_null()).drop("_known"))
    total = engine.fetch(frame.select(nw.len().alias("rows"), nw.col("_reward").mean().alias("mean"))).to_pylist()[0]
    if not total["rows"]:
        raise DataError(path, None, f"no context of {logged.origin} is in it, so there is nothing to evaluate")
    frame = engine.keep(
        frame.join(policy.rename({"_probability": "_target"}), on=["_context", "_action"], how="left")
        .with_columns(nw.col("_target").fill_null(0.0))
        .with_columns((nw.col("_target") / nw.col("_propensity")).alias("_weight"))
    )
    pairs = engine.keep(
        frame.group_by("_context", "_action")
        .agg(
            nw.len().cast(nw.Float64).alias("_n"),
            nw.col("_reward").sum().alias("_sum"),
            nw.col("_weight").sum().alias("_weights"),
        )
        .with_columns(((nw.col("_sum") + shrink * total["mean"]) / (nw.col("_n") + shrink)).alias("_model"))
        .select("_context", "_action", "_n", "_weights", "_model")
    )
    rows_of_context = frame.group_by("_context").agg(nw.len().cast(nw.Float64).alias("_rows"))
    choices = engine.keep(
        policy.join(pairs, on=["_context", "_action"], how="left")
        .join(rows_of_context, on="_context", how="left")
        .with_columns(
            nw.col("_model").is_null().alias("_unseen"),
            nw.col("_model").fill_null(total["mean"]),
            *(nw.col(name).fill_null(0.0) for name in ("_n", "_weights", "_rows")),
        )
        .with_columns((nw.col("_rows") * nw.col("_probability")).alias("_expected_rows"))
    )
    unseen = nw.when(nw.col("_unseen")).then(nw.col("_probability")).otherwise(nw.lit(0.0))
    contexts = engine.keep(
        choices.with_columns((nw.col("_probability") * nw.col("_model")).alias("_part"), unseen.alias("_mass"))
        .group_by("_context")
        .agg(nw.col("_part").sum().alias("_expected"), nw.col("_mass").sum())
    )
    by_pair, overall = _model_influences(engine, choices, shrink)
    frame = (
        frame.join(pairs.select("_context", "_action", "_model"), on=["_context", "_action"], how="left")
        .join(contexts, on="_context", how="left")
        .join(by_pair, on=["_context", "_action"], how="left")
    )
    from_mean = nw.col("_reward") - total["mean"]
    error = nw.col("_reward") - nw.col("_model")
    frame = frame.with_columns(
        *(
            (nw.col(name).fill_null(0.0) * error + of_mean / total["rows"] * from_mean).alias(name)
            for name, of_mean in overall.items()
        )
    )
    support = engine.fetch(
        frame.select(nw.col("_mass").mean().alias("mass"), (nw.col("_mass") > 1e-12).cast(nw.Int64).sum().alias("rows"))
    ).to_pylist()[0]
    if support["rows"]:
        notes.append(
            f"{path}: {support['mass']:.1%} of what the new policy would do never happened in its context in the log "
            f"({counted(int(support['rows']), 'row')}); no weight can make up for it"
        )
    return engine.keep(frame), notes


def _model_influences(engine: Any, choices: Any, shrink: float) -> tuple[Any, dict[str, float]]:
    """How the direct and the doubly robust estimate change with the rewards that the predictions are made of.

    Both are functions of the rows, so a row has an influence on them: its derivative if the row counted a little more.
    The prediction q̂ = (Σr + s·m) / (n + s) of a pair has the derivative (r − q̂) / (n + s), and s / (n + s) times that
    of the overall mean m. The direct estimate contains q̂ as often as the new policy would choose the action in the
    logged contexts, the doubly robust one so often less the sum of weights. Returns these factors for every pair, and
    those of the overall mean.
    """
    nw = need("narwhals", "off_policy")
    size = nw.col("_n") + shrink
    contained = {
        "_direct_by_model": nw.col("_expected_rows"),
        "_corrected_by_model": nw.col("_expected_rows") - nw.col("_weights"),
    }
    seen = choices.filter(nw.col("_n") > 0)
    of_pairs = engine.keep(
        seen.select("_context", "_action", *((times / size).alias(name) for name, times in contained.items()))
    )
    part = nw.when(nw.col("_n") > 0).then(shrink / nw.when(nw.col("_n") > 0).then(size).otherwise(1.0)).otherwise(1.0)
    sums = choices.select(*((times * part).sum().alias(name) for name, times in contained.items()))
    return of_pairs, {name: float(value) for name, value in engine.fetch(sums).to_pylist()[0].items()}


def _policy(engine: Any, path: str) -> Any:
    nw = need("narwhals", "off_policy")
    table = engine.read(path)
    names = table.collect_schema().names()
    at = find_columns(names, COLUMNS)
    for role, words in COLUMNS.items():
        if role not in at:
            raise DataError(path, None, no_column(role, names, words))
    return table.select(
        nw.col(names[at["context"]]).cast(nw.String).alias("_context"),
        nw.col(names[at["action"]]).cast(nw.String).alias("_action"),
        nw.col(names[at["probability"]]).cast(nw.Float64).alias("_probability"),
    )


def _checked(engine: Any, policy: Any, path: str) -> list[str]:
    """Complain about probabilities that are none, and about an action that a context has twice; note odd sums."""
    nw = need("narwhals", "off_policy")
    chance = nw.col("_probability")
    wrong = chance.is_null() | ~chance.is_finite() | (chance < 0) | (chance > 1)
    bad = engine.fetch(policy.filter(wrong.fill_null(True)).select(nw.len().alias("rows"))).to_pylist()[0]["rows"]
    if bad:
        raise DataError(path, None, f"{counted(bad, 'row')} without a probability between 0 and 1")
    twice = policy.group_by("_context", "_action").agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    first = engine.fetch(twice.sort("_context", "_action").head(1)).to_pylist()
    if first:
        raise DataError(path, None, f"action {first[0]['_action']!r} of context {first[0]['_context']!r} appears twice")
    sums = policy.group_by("_context").agg(chance.sum().alias("total"))
    odd = engine.fetch(
        sums.filter((nw.col("total") < 1 - 1e-6) | (nw.col("total") > 1 + 1e-6)).select(
            nw.len().alias("contexts"), nw.col("total").max().alias("most")
        )
    ).to_pylist()[0]
    if odd["contexts"] and odd["most"] > 1 + 1e-6:
        raise DataError(path, None, f"the probabilities of a context add up to {odd['most']:.6g}, must be at most 1")
    if odd["contexts"]:
        return [f"{path}: probabilities of {counted(odd['contexts'], 'context')} add up to less than 1"]
    return []
