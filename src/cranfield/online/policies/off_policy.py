"""Off-policy estimates from logged propensities: IPS, clipped IPS, SNIPS, direct and doubly robust (cross-fitted)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import caution_note, method_note
from cranfield.online.engines import open_engine
from cranfield.online.engines.engine import Engine
from cranfield.online.expressions import indicator, nw
from cranfield.online.few_users import LEVELS
from cranfield.online.moments import Moments, moments
from cranfield.online.policies.logged_rows import (
    LoggedRows,
    cluster_column,
    joined_policy,
    logged_rows,
    policy_or_column,
    prediction_column,
    target_column,
)
from cranfield.online.policies.policy_estimates import (
    ESTIMATORS,
    Estimate,
    Logged,
    OffPolicy,
    estimates_of,
    logged_value,
    verdict,
)
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
    engine: Engine, weighed: Any, policy: Any, logged: LoggedRows, path: str, shrink: float, by_row: bool
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
    col, key = nw.col, ["_context", "_action"]
    weighed = engine.keep(weighed)
    pairs = engine.keep(weighed.group_by(*key).agg(col("n").sum().alias("_n"), col("reward").sum().alias("_sum")))
    total = engine.row(pairs.select(col("_n").sum(), col("_sum").sum()))
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
            caution_note(
                f"{path}: {mass:.1%} of what the new policy would do never happened in its context in the log "
                f"({counted(unseen, 'row')}). There direct takes the mean of all rewards, and its interval "
                "allows for all "
                f"from {logged.lowest:.4g} to {logged.highest:.4g}; no weight makes up for what the logged "
                "policy cannot do"
            )
        )
    frame = own.select(*keys, *sums, *(value.alias(name) for name, value in columns.items()))
    return Fitted(frame, mass * (mean - logged.lowest), mass * (logged.highest - mean), tuple(notes))


def _contexts(
    engine: Engine, policy: Any, pairs: Any, shrink: float, mean: float, rows: float
) -> tuple[Any, float, int]:
    """The predictions of the new policy by context, the share of its decisions without rows, and the rows concerned.

    `_of_sums` + `_of_mean` · m is the prediction with the means shrunk towards m; `_plain` that of plain means.
    """
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
    row = engine.row(contexts.select((col("_rows") * col("_mass")).sum().alias("mass"), lacking.sum().alias("rows")))
    return contexts.drop("_mass"), row["mass"] / rows, round(row["rows"])


LEAST_ESS = 100.0
"""The smallest effective sample size for which an estimate is given by default."""
CLIP = 10.0
"""The largest weight of the clipped estimate by default."""


Clip = Annotated[float, about("The largest weight of the clipped estimate.", above=0, spelled="--clip W", rare=True)]
LeastESS = Annotated[
    float, about("Refuse estimates with a smaller effective sample size.", least=0, spelled="--least-ess N")
]
Shrink = Annotated[
    float, about("Shrink predicted rewards to their mean by N observations.", least=0, spelled="--shrink N", rare=True)
]
PolicyLevel = Annotated[float, about("Confidence level of the intervals.", spelled="--level L", rare=True, **LEVELS)]


@operation
def off_policy(
    rows: Any,
    policies: str | Sequence[str],
    *,
    columns: Mapping[str, str] | None = None,
    cluster: Annotated[
        str | None,
        about("What is independent: a column, or row; default: users, else contexts.", spelled="--cluster COLUMN"),
    ] = None,
    engine: Any = None,
    clip: Clip = CLIP,
    least_ess: LeastESS = LEAST_ESS,
    shrink: Shrink = 1.0,
    level: PolicyLevel = 0.95,
    bad: Annotated[
        str,
        about(
            "Rows with a wrong propensity or no reward: {names}.",
            choices=("error", "skip"),
            spelled="--bad RULE",
            solves="bad=",
        ),
    ] = "error",
) -> OffPolicy:
    r"""What new policies would be worth, from rows of context, action, reward and propensity that a policy logged.

    .. math:: \text{IPS} = \frac1n \sum_i w_i r_i, \quad \text{SNIPS} = \frac{\sum_i w_i r_i}{\sum_i w_i}, \quad
        \text{DR} = \frac1n \sum_i \hat q(x_i, \pi) + w_i\,(r_i - \hat q(x_i, a_i)), \quad
        w_i = \frac{\pi(a_i | x_i)}{p_i}

    rows: a table (file, directory, frame, table of a database) with a row per decision: `reward`, `propensity` (the
        probability p with which the logging policy did what it did: showed an item, or a whole list), and, as needed,
        `context` (the query), `action` (the item or list) and `user`. Other names of columns: `columns={"reward":
        "bought"}`.
    policies: each is either a column of the table, the probability π that the new policy does the same; or a file with
        a row per `context`, `action` and `probability`. With a file, the reward of an action is predicted by its mean
        in this context: for DR from the rows of other users (of other rows, if rows or contexts are clusters), shrunk
        towards the overall mean by `shrink` rows; for the direct estimate from all rows, not shrunk. With a column NEW,
        give the predictions: a column `model` for the logged action, and a column NEW_model for the new policy; they
        are taken as given, so that the direct estimate then has no interval.
    cluster: the column of what is independent, for the intervals; default: users, else contexts. `row`: each row.
    clip: the largest weight of the clipped estimate. Its interval allows for what was cut: rewards from the lowest to
        the highest in the log, or 0.
    least_ess: a policy whose weights have a smaller effective sample size, (Σw)² / Σw², is refused, whether weights are
        cut or not. Only the direct estimate, which has no weights, is given then.
    bad: `error`, or `skip` to leave out rows with a propensity that is missing, 0 or above 1, or without a reward.

    References: Horvitz & Thompson 1952; Swaminathan & Joachims, NIPS 2015; Dudík, Langford & Li, ICML 2011; Kish 1965

    >>> import pyarrow
    >>> table = pyarrow.table({"reward": [1, 0, 0, 1], "propensity": [0.5] * 4, "new": [1.0, 0.0, 1.0, 1.0]})
    >>> result = off_policy(table, "new", least_ess=0)
    >>> [(each.estimator, round(each.value, 4), each.effective_n) for each in result.estimates]
    [('IPS', 1.0, 3.0), ('clipped', 1.0, 3.0), ('SNIPS', 0.6667, 3.0)]
    """
    wanted = [policies] if isinstance(policies, str) else list(policies)
    if not wanted:
        raise UsageError("off_policy: no policy; name a column with the probabilities of a new policy, or a file")
    opened = open_engine(engine)
    origin = os.fspath(rows) if isinstance(rows, (str, os.PathLike)) else "rows"
    logged = logged_rows(opened.read(rows), columns, origin, bad)
    independent = cluster_column(logged, cluster)
    notes = list(logged.notes)
    estimates: list[Estimate] = []
    verdicts = []
    logged_on: list[Logged] = []
    count = clusters = 0
    for policy in wanted:
        name = policy if policy in logged.every else os.path.splitext(os.path.basename(policy))[0]
        table, off = None, {}
        if policy_or_column(policy, logged):
            frame, modelled, about = _with_column(logged, policy)
        else:
            frame, table, about = joined_policy(opened, logged, policy)
            modelled = True
        weighed = _weighed(frame, logged, independent, clip)
        extremes = _extremes(opened, weighed, clip)
        if table is not None:
            by_row = independent is None or independent == logged.names["context"]
            fitted = cross_fitted(opened, weighed, table, logged, policy, shrink, by_row)
            weighed, off = fitted.frame, {"direct": (fitted.below, fitted.above)}
            about += fitted.notes
        sums = _sums(opened, weighed)
        of_policy = estimates_of(name, sums, "reward", level, least_ess, off=off)
        estimates += of_policy
        verdicts.append(verdict(name, of_policy, least_ess, level))
        clusters, count = int(sums.n[0]), round(float(sums.n[0] * sums.mean[0, sums.column("n")]))
        logged_on.append(Logged(name, *logged_value(sums, "reward", level), count))
        notes += [*about, *_notes_on_weights(name, sums, extremes, count, clip, level)]
        if table is None and modelled:
            notes.append(
                caution_note(
                    f"{name}: predictions are taken as given, so direct has no interval; that of DR holds if they were "
                    "fitted to other data"
                )
            )
        elif not modelled:
            notes.append(f"{name}: no predictions (columns model and {name}_model), so no direct and no DR estimate")
    used = {estimate.estimator for estimate in estimates}
    notes += [method_note(f"{name}: {text}") for name, text in ESTIMATORS.items() if name in used]
    unit = independent or "row"
    notes.append(
        method_note(
            f"{level:.0%} intervals by {counted(clusters, 'cluster')} ({unit}), {count:,} rows; delta method, t"
        )
    )
    return OffPolicy(
        tuple(estimates), tuple(logged_on), clusters, unit, level, clip, least_ess, tuple(verdicts),
        tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _with_column(logged: LoggedRows, policy: str) -> tuple[Any, bool, list[str]]:
    """The rows with the probability of the new policy, and with predictions if the table has them."""
    frame = logged.frame.with_columns(target_column(logged, policy).alias("_target"))
    predicted, expected = logged.names.get("model"), f"{policy}_model"
    modelled = predicted is not None and expected in logged.every
    if predicted is not None and modelled:
        frame = frame.with_columns(
            prediction_column(logged, predicted).alias("_model"), prediction_column(logged, expected).alias("_expected")
        )
    return frame, modelled, []


def _weighed(frame: Any, logged: LoggedRows, cluster: str | None, clip: float) -> Any:
    """The numbers of each row whose sums the estimators need, and what they are summed by.

    What weights above the limit lack of a mean weight of 1 was worth something between the lowest and the highest
    reward: the ends of the clipped estimate.
    """
    frame = frame.with_columns((nw.col("_target") / nw.col("_propensity")).alias("_weight"))
    frame = frame.with_columns(
        nw.when(nw.col("_weight") > clip).then(nw.lit(clip)).otherwise(nw.col("_weight")).alias("_clipped")
    )
    reward, weight, clipped = nw.col("_reward"), nw.col("_weight"), nw.col("_clipped")
    columns = {
        "n": (reward * 0.0 + 1.0),
        "reward": reward,
        "weight": weight,
        "square": weight * weight,
        "weighted": weight * reward,
        "clipped_weighted": clipped * reward,
        "clipped_high": clipped * (reward - logged.highest) + logged.highest,
    }
    if logged.lowest < 0:
        columns["clipped_low"] = clipped * (reward - logged.lowest) + logged.lowest
    names = frame.collect_schema().names()
    if "_expected" in names:
        columns["direct"] = nw.col("_expected")
        columns["corrected"] = nw.col("_expected") + weight * (reward - nw.col("_model"))
    keys = [nw.col(name) for name in ("_context", "_action") if name in names]
    if cluster is not None:
        keys.append(nw.col(cluster).alias("_cluster"))
    return frame.select(*keys, *(value.alias(name) for name, value in columns.items()))


def _extremes(engine: Engine, weighed: Any, clip: float) -> dict[str, float]:
    """The largest weight and how many are cut."""
    cut = indicator(nw.col("weight") > clip)
    extremes = engine.row(weighed.select(nw.col("weight").max().alias("largest"), cut.sum().alias("cut")))
    return {name: float(value) for name, value in extremes.items()}


def _sums(engine: Engine, weighed: Any) -> Moments:
    """Means and covariances of the sums per cluster."""
    every = weighed.collect_schema().names()
    names = [name for name in every if not name.startswith("_")]
    if "_cluster" in every:
        weighed = engine.keep(weighed.group_by("_cluster").agg(*(nw.col(name).sum() for name in names)))
    return moments(weighed, names)


def _notes_on_weights(
    name: str, sums: Moments, extremes: Mapping[str, float], rows: int, clip: float, level: float
) -> list[str]:
    """How the weights look: their largest, how many are clipped, and whether their mean is 1 as it should be."""
    notes = [f"{name}: the largest weight is {extremes['largest']:,.4g}"]
    if extremes["cut"]:
        notes.append(
            caution_note(
                f"{name}: {counted(int(extremes['cut']), 'weight')} of {rows:,} above {clip:g} cut for `clipped`"
            )
        )
    mean, low, high = logged_value(sums, "weight", level)
    if not low <= 1 <= high and abs(mean - 1) > 1e-9:
        notes.append(
            caution_note(
                f"{name}: the mean weight is {mean:.4g} ({low:.4g} to {high:.4g}) and should be 1: either the "
                "propensities "
                "are wrong, or the new policy does things that the logged one never does; IPS is then biased"
            )
        )
    return notes
