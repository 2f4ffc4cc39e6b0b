"""RBP's persistence and ERR's stopping probabilities, from where readers made their last click."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, stdtrit

from cranfield.frames import need
from cranfield.measures.first import ERR
from cranfield.measures.gain import number
from cranfield.measures.ranked import RBP
from cranfield.online.calibration.calibrated import Calibrated, Estimated, ratio_of_sums, rounded
from cranfield.online.calibration.viewed_lists import ViewedLists
from cranfield.online.moments import moments
from cranfield.types import Array


def calibrate_RBP(viewed: ViewedLists, level: float) -> Calibrated:
    r"""The persistence p of RBP: readers go on with probability p, and click what they see with probability c.

    .. math:: P(L, k) \propto p^{L-1} c^k (1 - c)^{L-k}\, T(n - L), \quad T(0) = 1,\;
        T(m) = 1 - p + p (1 - c)\, T(m - 1)

    A list of n documents has its last click at rank L and k clicks; T is the probability of no click further down, as
    the reader stopped or did not click. p and c are those of maximum likelihood for lists with a click. If everything
    that is seen is clicked, p is Σ(L − 1) / (Σ(L − 1) + lists with L < n). The interval is over users (sandwich), on
    the scale of log-odds.
    """
    nw = need("narwhals", "calibrate")
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


def silence(p: float, c: float, deepest: int) -> Array:
    """The probability of no click in the next 0, 1, 2, ... documents, for a reader of the one above them."""
    values = np.ones(deepest + 1)
    for m in range(1, deepest + 1):
        values[m] = 1 - p + p * (1 - c) * values[m - 1]
    return values


def log_likelihoods(place: Array, kinds: Array) -> Array:
    """kinds: the log-probability of a list with this last click, number of clicks and length, if it has a click."""
    p, c = expit(place)
    last, clicks, length = kinds[0].astype(int), kinds[1].astype(int), kinds[2].astype(int)
    none = silence(p, c, int(length.max()))
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
    found = minimize(
        lambda place: -float(weight @ log_likelihoods(place, kinds)),
        np.array([1.0, 0.5]),
        jac=lambda place: -gradients(place, kinds) @ weight,
        bounds=[(-EDGE, EDGE)] * 2,
    )
    place, step = np.asarray(found.x), 1e-3
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
    table = {_grade(one): rounded(one.value) for one in estimates}
    return Calibrated(ERR(probability=table), tuple(estimates), level, viewed.notes)


def by_grade(viewed: ViewedLists, parameter: str, above: str, below: str | None, level: float) -> list[Estimated]:
    """For every grade: Σ above / Σ below over the documents that were seen; without `below`, over their number."""
    nw = need("narwhals", "calibrate")
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
