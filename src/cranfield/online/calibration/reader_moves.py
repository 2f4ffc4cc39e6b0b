"""How readers move in lists: what they saw, where they stopped (RBP, ERR), and where they clicked next (MP)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, stdtrit

from cranfield.errors import DataError
from cranfield.frames import need
from cranfield.measures.gain import number
from cranfield.measures.ranked_lists.first import ERR
from cranfield.measures.ranked_lists.ranked import RBP
from cranfield.measures.readers.markov import MP, invariant_distribution
from cranfield.notes import caution_note, method_note
from cranfield.online.calibration.calibrated import Calibrated, Estimated, ratio_of_sums, rounded
from cranfield.online.expressions import nw
from cranfield.online.logs.log import CLICK, Log, grades_table, queries_by_topic, shown_with_clicks
from cranfield.online.moments import moments
from cranfield.text import counted
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class ViewedLists:
    """The lists of queries with at least one click, read down to the last click.

    Readers are taken to go down the list and to have looked at every document down to their last click; what they did
    below it the log does not say.
    """

    log: Log
    documents: Any
    """A row per document down to the last click: `query_id`, `user`, `topic`, `position`, `doc`, `clicked`, `last`
    (the position of the last click), `length` (of the list), `stop` (1 at the last click, else 0), and `grade` if there
    are judgments; documents without a judgment are then left out."""
    seen: Any
    """The same, with the documents that have no judgment: how long readers take does not depend on judgments."""
    grades: tuple[float, ...]
    """The grades of documents that were seen; empty without judgments."""
    notes: tuple[str, ...]


def viewed_lists(
    log: Log, qrels: Mapping[str, Mapping[str, float]] | None = None, topics: Mapping[str, str] | None = None
) -> ViewedLists:
    """The documents that readers saw, and how many queries and documents tell nothing."""
    engine = log.engine
    queries = engine.keep(queries_by_topic(log, topics))
    notes = []
    if topics is not None and (lost := log.engine.count(log.queries) - log.engine.count(queries)):
        notes.append(caution_note(f"{counted(lost, 'query', 'queries')} left out, with texts that no topic has"))
    shown = engine.keep(shown_with_clicks(log, queries).filter(~nw.col("position").is_null()))
    depths = engine.keep(
        shown.with_columns((nw.col("position") * nw.col("clicked")).alias("_at"))
        .group_by("query_id")
        .agg(nw.col("position").max().alias("length"), nw.col("_at").max().cast(nw.Int64).alias("last"))
    )
    silent = nw.when(nw.col("last") == 0).then(nw.lit(1)).otherwise(nw.lit(0))
    facts = engine.row(depths.select(nw.len().alias("lists"), silent.sum().alias("silent")))
    origin = log.origin or "log"
    if not facts["lists"]:
        raise DataError(origin, None, "no documents were shown for these queries, so that there is nothing to learn")
    if facts["silent"] == facts["lists"]:
        raise DataError(origin, None, f"none of the {facts['lists']:,} lists has a click, so nothing can be learned")
    notes.insert(0, f"{counted(facts['lists'] - facts['silent'], 'list')} with clicks, read down to the last click")
    if facts["silent"]:
        notes.append(f"{counted(facts['silent'], 'list')} without clicks left out: how far they were read is unknown")
    seen = (
        shown.join(depths.filter(nw.col("last") > 0), on="query_id", how="inner")
        .filter(nw.col("position") <= nw.col("last"))
        .with_columns(nw.when(nw.col("position") == nw.col("last")).then(1.0).otherwise(0.0).alias("stop"))
    )
    if qrels is None:
        kept = engine.keep(seen)
        return ViewedLists(log, kept, kept, (), tuple(notes))
    seen = engine.keep(seen.join(grades_table(log, qrels), on=["topic", "doc"], how="left"))
    unjudged = nw.when(nw.col("grade").is_null()).then(nw.lit(1)).otherwise(nw.lit(0))
    counts = engine.row(seen.select(nw.len().alias("seen"), unjudged.sum().alias("unjudged")))
    if counts["unjudged"] == counts["seen"]:
        raise DataError(
            origin, None,
            f"none of the {counts['seen']:,} documents that were seen is judged; are the topics of the judgments those "
            "of the log? Give the texts of the topics: topics=",
        )  # fmt: skip
    if counts["unjudged"]:
        share = counts["unjudged"] / counts["seen"]
        notes.append(
            caution_note(f"{counted(counts['unjudged'], 'document')} seen without a judgment left out ({share:.1%})")
        )
    judged = engine.keep(seen.filter(~nw.col("grade").is_null()))
    grades = engine.fetch(judged.select("grade").unique().sort("grade")).column("grade").to_pylist()
    return ViewedLists(log, judged, seen, tuple(map(float, grades)), tuple(notes))


def calibrate_RBP(viewed: ViewedLists, level: float) -> Calibrated:
    r"""The persistence p of RBP: readers go on with probability p, and click what they see with probability c.

    .. math:: P(L, k) \propto p^{L-1} c^k (1 - c)^{L-k}\, T(n - L), \quad T(0) = 1,\;
        T(m) = 1 - p + p (1 - c)\, T(m - 1)

    A list of n documents has its last click at rank L and k clicks; T is the probability of no click further down, as
    the reader stopped or did not click. p and c are those of maximum likelihood for lists with a click. If everything
    that is seen is clicked, p is Σ(L − 1) / (Σ(L − 1) + lists with L < n). The interval is over users (sandwich), on
    the scale of log-odds.
    """
    keys = ["last", "clicks", "length"]
    lists = viewed.log.engine.keep(
        viewed.documents.group_by("query_id", "user", "last", "length").agg(
            nw.col("clicked").sum().cast(nw.Int64).alias("clicks")
        )
    )
    table = viewed.log.engine.fetch(lists.group_by(*keys).agg(nw.len().alias("lists")).sort(*keys))
    kinds = np.array([table[name].to_pylist() for name in (*keys, "lists")], dtype=np.float64)
    place, information = most_likely(kinds)
    scores = gradients(place, kinds)
    pyarrow = need("pyarrow", "calibrate")
    columns = {name: np.array(table[name].to_pylist(), dtype=np.int64) for name in keys}
    of_kind = viewed.log.engine.read(pyarrow.table({**columns, "of_p": scores[0], "of_c": scores[1]}))
    sums = moments(lists.join(of_kind, on=keys).group_by("user").agg(nw.col("of_p").sum(), nw.col("of_c").sum()),
                   ["of_p", "of_c"])  # fmt: skip
    users = int(sums.n[0])
    p = float(expit(place[0]))
    low = high = np.nan
    if users > 1:
        inverse = np.linalg.pinv(information)
        middle = users * (sums.cov[0] + np.outer(sums.mean[0], sums.mean[0]))
        spread = float(np.sqrt(max((inverse @ middle @ inverse)[0, 0] * users / (users - 1), 0.0)))
        reach = float(stdtrit(users - 1, (1 + level) / 2)) * spread
        low, high = float(expit(place[0] - reach)), float(expit(place[0] + reach))
    seen = int((kinds[0] * kinds[3]).sum())
    notes = (*viewed.notes, f"readers click on {expit(place[1]):.1%} of what they see, at all ranks alike")
    return Calibrated(RBP(p=min(rounded(p), 0.9999)), (Estimated("p", "", p, low, high, seen),), level, notes)


EDGE = 12.0
"""The largest log-odds of p and c: 1 − 6e-6."""


def no_click_below(p: float, c: float, deepest: int) -> Array:
    """The probability of no click in the next 0, 1, 2, ... documents, for a reader of the one above them."""
    values = np.ones(deepest + 1)
    for m in range(1, deepest + 1):
        values[m] = 1 - p + p * (1 - c) * values[m - 1]
    return values


def log_likelihoods(place: Array, kinds: Array) -> Array:
    """kinds: the log-probability of a list with this last click, number of clicks and length, if it has a click."""
    p, c = expit(place)
    last, clicks, length = kinds[0].astype(int), kinds[1].astype(int), kinds[2].astype(int)
    none = no_click_below(p, c, int(length.max()))
    some = 1 - (1 - c) * none[length - 1]
    return np.asarray(
        (last - 1) * np.log(p) + clicks * np.log(c) + (last - clicks) * np.log1p(-c) + np.log(none[length - last])
        - np.log(some)
    )  # fmt: skip


def gradients(place: Array, kinds: Array, step: float = 1e-4) -> Array:
    """2 × kinds: the derivatives of log-probabilities with respect to the log-odds of p and of c."""
    moves = step * np.eye(2)
    differences = [log_likelihoods(place + move, kinds) - log_likelihoods(place - move, kinds) for move in moves]
    return np.stack(differences) / (2 * step)


def most_likely(kinds: Array) -> tuple[Array, Array]:
    """The log-odds of p and c of maximum likelihood, and the information matrix there."""
    from scipy.optimize import minimize

    weight = kinds[3] / kinds[3].sum()
    optimum = minimize(
        lambda place: -float(weight @ log_likelihoods(place, kinds)),
        np.array([1.0, 0.5]),
        jac=lambda place: -gradients(place, kinds) @ weight,
        bounds=[(-EDGE, EDGE)] * 2,
    )
    place, step = np.asarray(optimum.x), 1e-3
    rows = [
        (gradients(place - move, kinds) - gradients(place + move, kinds)) @ kinds[3] / (2 * step)
        for move in step * np.eye(2)
    ]
    return place, np.stack(rows)


def calibrate_ERR(viewed: ViewedLists, level: float) -> Calibrated:
    r"""ERR's probabilities of stopping: of the documents of a grade that were seen, the share of last clicks.

    .. math:: \hat R_g = \frac{\text{last clicks on documents of grade } g}{\text{documents of grade } g \text{ seen}}

    This is the maximum likelihood estimate under the cascade that ERR assumes, for lists with a click.
    """
    estimates = by_grade(viewed, "probability", "stop", None, level)
    table = {_grade(estimate): rounded(estimate.value) for estimate in estimates}
    return Calibrated(ERR(probability=table), tuple(estimates), level, viewed.notes)


def by_grade(viewed: ViewedLists, parameter: str, above: str, below: str | None, level: float) -> list[Estimated]:
    """For every grade: Σ above / Σ below over the documents that were seen; without `below`, over their number."""
    columns: dict[str, Any] = {}
    for i, grade in enumerate(viewed.grades):
        mine = nw.col("grade") == grade
        columns[f"above{i}"] = nw.when(mine).then(nw.col(above)).otherwise(0.0)
        columns[f"below{i}"] = nw.when(mine).then(1.0 if below is None else nw.col(below)).otherwise(0.0)
    per_user = viewed.documents.select("user", *(value.alias(name) for name, value in columns.items()))
    sums = moments(per_user.group_by("user").agg(*(nw.col(name).sum() for name in columns)), list(columns))
    return [
        ratio_of_sums(sums, parameter, f"grade {number(grade)}", f"above{i}", f"below{i}", level, most=1.0)
        for i, grade in enumerate(viewed.grades)
        if _total(sums.mean, sums.column(f"below{i}")) > 0
    ]


def _total(mean: Array, column: int) -> float:
    return float(mean[0, column])


def _grade(estimate: Estimated) -> float:
    return float(estimate.of.removeprefix("grade "))


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
    notes = [method_note(f"{counted(total, 'move')} between successive clicks, down to rank {deepest}")]
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
    clicks = log.events.filter((nw.col("action") == CLICK) & ~nw.col("query_id").is_null())
    clicks = log.engine.keep(clicks.select("query_id", "time", "doc", "position", "dwell"))
    if log.engine.count(clicks.filter(nw.col("position").is_null() & ~nw.col("doc").is_null())):
        places = log.shown.filter(~nw.col("doc").is_null()).group_by("query_id", "doc")
        clicks = clicks.join(
            places.agg(nw.col("position").min().alias("_place")), on=["query_id", "doc"], how="left"
        ).with_columns(nw.coalesce(nw.col("position"), nw.col("_place")).alias("position"))
        clicks = log.engine.keep(clicks)
    notes = []
    if nowhere := log.engine.count(clicks.filter(nw.col("position").is_null())):
        notes.append(caution_note(f"{counted(nowhere, 'click')} without a position left out"))
    if deeper := log.engine.count(clicks.filter(nw.col("position") > depth)):
        notes.append(caution_note(f"{counted(deeper, 'click')} below rank {depth} left out"))
    inside = (nw.col("position") >= 1) & (nw.col("position") <= depth)
    return log.engine.keep(clicks.filter(inside).select("query_id", "time", "position", "dwell")), notes


def _moves(log: Log, clicks: Any, depth: int, restart: bool) -> Array:
    """Counts of moves from rank (row) to rank (column)."""
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
