"""RBP's persistence and ERR's stopping probabilities, from where readers made their last click."""

from __future__ import annotations

from typing import Any

from cranfield.frames import need
from cranfield.measures.first import ERR
from cranfield.measures.gain import number
from cranfield.measures.ranked import RBP
from cranfield.online.calibration.calibrated import Calibrated, Estimated, ratio_of_sums, rounded
from cranfield.online.calibration.viewed_lists import ViewedLists
from cranfield.online.moments import moments
from cranfield.types import Array


def calibrate_RBP(viewed: ViewedLists, level: float) -> Calibrated:
    r"""The persistence p of RBP: readers stop at their last click at rank L with probability 1 − p at each rank.

    .. math:: \hat p = \frac{\sum (L - 1)}{\sum (L - 1) + \text{lists with } L < \text{length}}

    This is the maximum likelihood estimate of a geometric distribution that is cut at the end of the list: who clicks
    on the last document may have wanted to go on.
    """
    nw = need("narwhals", "calibrate")
    lists = viewed.documents.filter(nw.col("stop") == 1.0).select(
        "user",
        (nw.col("last") - 1).cast(nw.Float64).alias("went_on"),
        nw.when(nw.col("last") < nw.col("length")).then(1.0).otherwise(0.0).alias("stopped"),
    )
    sums = moments(
        lists.with_columns((nw.col("went_on") + nw.col("stopped")).alias("steps"))
        .group_by("user")
        .agg(nw.col("went_on").sum(), nw.col("steps").sum()),
        ["went_on", "steps"],
    )
    p = ratio_of_sums(sums, "p", "", "went_on", "steps", level, most=1.0)
    return Calibrated(RBP(p=min(rounded(p.value), 0.9999)), (p,), level, viewed.notes)


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
