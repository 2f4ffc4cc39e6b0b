"""The rows of a log for off-policy estimates, joined with the table of a new policy; which rows cannot be used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.collection.column_names import find_columns, no_column
from cranfield.errors import DataError, UsageError
from cranfield.notes import caution_note
from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import indicator, nw
from cranfield.online.moments import fetched
from cranfield.text import counted

ROLES = {
    "reward": ("reward", "click", "clicks", "value"),
    "propensity": ("propensity", "pscore", "logging_probability", "propensity_score"),
    "context": ("context", "query_id", "query", "topic", "qid"),
    "action": ("action", "list", "ranking", "doc", "doc_id", "item", "item_id"),
    "user": ("user", "user_id", "client_id", "session", "session_id"),
    "model": ("model", "predicted", "prediction"),
}
"""Usual names of columns, by role."""
BAD = ("error", "skip")


@dataclass(frozen=True, eq=False)
class LoggedRows:
    """Rows that can be used, with the names of their columns by role."""

    frame: Any
    """A lazy frame with `reward` and `propensity` as numbers, and the other columns as they were."""
    names: Mapping[str, str]
    """{role: column}"""
    every: tuple[str, ...]
    """All columns."""
    origin: str
    notes: tuple[str, ...]
    lowest: float
    highest: float
    """The range of rewards, with 0: what a decision that was never logged may be worth."""


def logged_rows(frame: Any, columns: Mapping[str, str] | None, origin: str, bad: str) -> LoggedRows:
    """Find the columns of a log, and count rows whose propensity or reward cannot be used.

    A propensity must be above 0 and at most 1, a reward must be a number. `bad="skip"` leaves other rows out, and a
    note counts them; `bad="error"` raises an error.
    """
    check.one_of("off_policy", BAD, bad=bad)
    every = tuple(frame.collect_schema().names())
    names = {role: every[at] for role, at in find_columns(every, ROLES).items()}
    for role, name in (columns or {}).items():
        if role not in ROLES:
            raise check.nearest(role, tuple(ROLES), "role of a column")
        if name not in every:
            raise check.nearest(name, every, "column")
        names[role] = name
    for role in ("reward", "propensity"):
        if role not in names:
            raise DataError(origin, None, no_column(role, every, ROLES[role]))
    schema = frame.collect_schema()
    for role in ("reward", "propensity"):
        dtype = schema[names[role]]
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise DataError(origin, None, f"column {names[role]!r} holds {dtype}, must hold numbers: the {role}")
    frame = frame.with_columns(
        nw.col(names["reward"]).cast(nw.Float64).alias("_reward"),
        nw.col(names["propensity"]).cast(nw.Float64).alias("_propensity"),
    )
    reward, propensity = nw.col("_reward"), nw.col("_propensity")
    missing = propensity.is_null() | ~propensity.is_finite()
    no_reward = reward.is_null() | ~reward.is_finite()
    problems = {
        "without a propensity": missing,
        "with a propensity of 0 or below": ~missing & (propensity <= 0),
        "with a propensity above 1": ~missing & (propensity > 1),
        "without a reward": no_reward,
    }
    counts = frame.select(
        nw.len().alias("rows"),
        *(indicator(wrong).sum().alias(f"p{i}") for i, wrong in enumerate(problems.values())),
        nw.when(~no_reward).then(reward).min().alias("lowest"),
        nw.when(~no_reward).then(reward).max().alias("highest"),
    )
    row = fetched(counts).to_pylist()[0]
    if not row["rows"]:
        raise DataError(origin, None, "has no rows")
    numbers = {name: int(row[f"p{i}"] or 0) for i, name in enumerate(problems)}
    named = [f"{counted(number, 'row')} {name}" for name, number in numbers.items() if number]
    if named and bad == "error":
        raise DataError(
            origin, None,
            f"{', '.join(named)} of {row['rows']:,}; the logged policy must have had a chance to do what it did, so a "
            "propensity is above 0 and at most 1. Mend the log, or leave these rows out: bad=\"skip\"",
        )  # fmt: skip
    notes = []
    if named:
        notes.append(f"left out: {', '.join(named)} of {row['rows']:,}")
        usable = nw.lit(True)
        for wrong in problems.values():
            usable = usable & ~wrong.fill_null(True)
        frame = frame.filter(usable)
        if not fetched(frame.select(n=nw.len()))["n"][0].as_py():
            raise DataError(origin, None, f"{', '.join(named)} of {row['rows']:,}, so no row is left to estimate from")
    lowest, highest = min(row["lowest"], 0.0), max(row["highest"], 0.0)
    return LoggedRows(frame, names, every, origin, tuple(notes), lowest, highest)


def cluster_column(rows: LoggedRows, cluster: str | None) -> str | None:
    """The column of what is independent: the one that is named, else users, else contexts; None: each row by itself."""
    if cluster == "row":
        return None
    if cluster is not None:
        if cluster not in rows.every:
            raise check.nearest(cluster, (*rows.every, "row"), "column")
        return cluster
    return rows.names.get("user") or rows.names.get("context")


def target_column(rows: LoggedRows, policy: str) -> Any:
    """A check that a column holds probabilities of a new policy; returns the column as an expression."""
    dtype = rows.frame.collect_schema()[policy]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise DataError(
            rows.origin, None, f"column {policy!r} holds {dtype}, must hold probabilities of the new policy"
        )
    target = nw.col(policy).cast(nw.Float64)
    wrong = target.is_null() | ~target.is_finite() | (target < 0) | (target > 1)
    if number := fetched(rows.frame.select(n=indicator(wrong).sum()))["n"][0].as_py():
        cases = counted(int(number), "row")
        raise DataError(
            rows.origin, None, f"column {policy!r}: {cases} without a probability between 0 and 1 of the new policy"
        )
    return target


def prediction_column(rows: LoggedRows, column: str) -> Any:
    """A check that a column holds predicted rewards; returns the column as an expression."""
    if not rows.frame.collect_schema()[column].is_numeric():
        raise DataError(rows.origin, None, f"column {column!r} must hold numbers: predicted rewards")
    predicted = nw.col(column).cast(nw.Float64)
    wrong = predicted.is_null() | ~predicted.is_finite()
    if number := fetched(rows.frame.select(n=indicator(wrong).sum()))["n"][0].as_py():
        cases = counted(int(number), "row")
        raise DataError(rows.origin, None, f"column {column!r}: {cases} without a predicted reward")
    return predicted


def policy_or_column(policy: str, rows: LoggedRows) -> bool:
    """Whether a policy is a column of the log (True) or a file (False)."""
    if policy in rows.every:
        return True
    if os.path.exists(policy):
        return False
    raise UsageError(
        f"no policy {policy!r}: neither a column of the log ({', '.join(rows.every)}) nor a file with context, action "
        "and probability"
    )


COLUMNS = {
    "context": ROLES["context"],
    "action": ROLES["action"],
    "probability": ("probability", "prob", "target", "p"),
}


def joined_policy(engine: Engine, logged: LoggedRows, path: str) -> tuple[Any, Any, list[str]]:
    """The logged rows with the new policy's probability, the policy, and notes.

    Adds `_context` and `_action` as text, and `_target`: the probability of the logged action, 0 if the table lacks it.
    """
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
    lost = engine.row(
        matched.filter(unknown).select(nw.len().alias("rows"), nw.col("_context").n_unique().alias("contexts"))
    )
    if not lost["rows"]:
        return matched, policy, notes
    notes.append(
        caution_note(
            f"{path}: {counted(lost['rows'], 'row')} left out, of {counted(lost['contexts'], 'context')} for which the "
            "new policy has no probabilities"
        )
    )
    left = engine.keep(matched.filter(~unknown))
    if not engine.count(left):
        raise DataError(path, None, f"no context of {logged.origin} is in it, so there is nothing to evaluate")
    return left, policy, notes


def _policy(engine: Engine, path: str) -> Any:
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


def _checked(engine: Engine, policy: Any, path: str) -> list[str]:
    """Raise an error for probabilities outside 0 to 1, and for an action that a context has twice; note odd sums."""
    chance = nw.col("_probability")
    wrong = chance.is_null() | ~chance.is_finite() | (chance < 0) | (chance > 1)
    bad = engine.count(policy.filter(wrong.fill_null(True)))
    if bad:
        raise DataError(path, None, f"{counted(bad, 'row')} without a probability between 0 and 1")
    twice = policy.group_by("_context", "_action").agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    first = engine.fetch(twice.sort("_context", "_action").head(1)).to_pylist()
    if first:
        raise DataError(path, None, f"action {first[0]['_action']!r} of context {first[0]['_context']!r} appears twice")
    sums = policy.group_by("_context").agg(chance.sum().alias("total"))
    odd = engine.row(
        sums.filter((nw.col("total") < 1 - 1e-6) | (nw.col("total") > 1 + 1e-6)).select(
            nw.len().alias("contexts"), nw.col("total").max().alias("most")
        )
    )
    if odd["contexts"] and odd["most"] > 1 + 1e-6:
        raise DataError(path, None, f"the probabilities of a context add up to {odd['most']:.6g}, must be at most 1")
    if odd["contexts"]:
        return [f"{path}: probabilities of {counted(odd['contexts'], 'context')} add up to less than 1"]
    return []
