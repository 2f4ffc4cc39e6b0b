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


def joined_policy(engine: Any, logged: LoggedRows, path: str) -> tuple[Any, Any, list[str]]:
    """The logged rows with the new policy's probability, the policy, and notes.

    Adds `_context` and `_action` as text, and `_target`: the probability of the logged action, 0 if the table lacks it.
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
    matched = engine.keep(
        frame.join(known, on="_context", how="left")
        .join(policy.rename({"_probability": "_target"}), on=["_context", "_action"], how="left")
        .with_columns(nw.col("_target").fill_null(0.0))
    )
    unknown = nw.col("_known").is_null()
    lost = engine.fetch(
        matched.filter(unknown).select(nw.len().alias("rows"), nw.col("_context").n_unique().alias("contexts"))
    ).to_pylist()[0]
    if not lost["rows"]:
        return matched, policy, notes
    notes.append(
        f"{path}: {counted(lost['rows'], 'row')} left out, of {counted(lost['contexts'], 'context')} for which the "
        "new policy has no probabilities"
    )
    left = engine.keep(matched.filter(~unknown))
    if not engine.fetch(left.select(nw.len().alias("rows"))).to_pylist()[0]["rows"]:
        raise DataError(path, None, f"no context of {logged.origin} is in it, so there is nothing to evaluate")
    return left, policy, notes


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
