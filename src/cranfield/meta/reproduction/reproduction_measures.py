"""How close a second experiment comes to the first: documents, scores, effects and significance.

A *replication* uses the same collection and can be compared topic by topic; a *reproduction* uses another one, so that
only effects and distributions can be compared. (These are the terms of Breuer et al. 2020; the ACM's current terms,
which the repro_eval tool follows, are the other way round.)

References: Breuer et al., SIGIR 2020, 349-358, doi:10.1145/3397271.3401036; overview: Ferro & Maistro 2024 §8
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.data import paired, sample
from cranfield.comparison.differences import noise
from cranfield.frames import need

UNIONS = ("rank", "id")
"""How to number the documents of two lists: those of the first list, then those only in the second; or by id."""


def tau_union(original: Sequence[Any], again: Sequence[Any], *, union: str = "rank") -> float:
    r"""Kendall's τ of two ranked lists that may hold different documents.

    Number the documents of both lists: those of the first list in its order, then those that only the second has, in
    its order. Each list then is a list of numbers, and τ is computed from the two lists of numbers. Lists of different
    lengths are compared down to the end of the shorter one. `union="id"` numbers documents in the order of their ids,
    as the repro_eval tool does; the result then depends on the ids. NaN below two ranks.

    (1, 2, 3) against (1, 2, 4), and against (1, 4, 2), where one of three pairs is reversed:

    >>> tau_union(["d1", "d2", "d3"], ["d1", "d2", "d4"]), round(tau_union(["d1", "d2", "d3"], ["d1", "d4", "d2"]), 4)
    (1.0, 0.3333)
    """
    check.one_of("tau_union", UNIONS, union=union)
    n = min(len(original), len(again))
    if n < 2:
        return float("nan")
    first, second = list(original[:n]), list(again[:n])
    documents = dict.fromkeys([*first, *second])
    number = {doc: i for i, doc in enumerate(sorted(documents) if union == "id" else documents)}
    x, y = ([number[doc] for doc in docs] for docs in (first, second))
    return float(need("scipy.stats", "tau_union").kendalltau(x, y).statistic)


def rmse(original: Any, again: Any) -> float:
    r"""The root mean square difference of two runs' scores, :math:`\sqrt{\frac1n \sum_t (x_t - x'_t)^2}`.

    Both are arrays of one length or {topic: score}; topics without a value are left out.

    >>> round(rmse([0.2, 0.4], [0.3, 0.4]), 4)
    0.0707
    """
    return float(np.sqrt(np.mean(paired(original, again).difference ** 2)))


def nrmse(original: Any, again: Any) -> float:
    r"""`rmse` as a share of the largest possible value, for measures between 0 and 1.

    .. math:: \sqrt{\sum_t (x_t - x'_t)^2 / \sum_t \max(x_t, 1 - x_t)^2}

    NaN if a score is not between 0 and 1. Reference: Maistro, Breuer, Schaer & Ferro, IPM 60(3), 2023

    >>> round(nrmse([0.0, 1.0], [1.0, 1.0]), 4), nrmse([3.0], [2.0])
    (0.7071, nan)
    """
    pair = paired(original, again)
    if min(pair.x.min(), pair.y.min()) < 0 or max(pair.x.max(), pair.y.max()) > 1:
        return float("nan")
    most = np.maximum(pair.x, 1 - pair.x)
    return float(np.sqrt((pair.difference**2).sum() / (most**2).sum()))


def effect_ratio(baseline: Any, advanced: Any, baseline_again: Any, advanced_again: Any) -> float:
    r"""The improvement over the baseline in the second experiment, divided by that in the first.

    .. math:: ER = \frac{\frac1{n'} \sum_t (a'_t - b'_t)}{\frac1n \sum_t (a_t - b_t)}

    1: the effect is equally large; between 0 and 1 smaller, above 1 larger; 0 or below: no effect. NaN if the first
    experiment has no effect. The two experiments may have different topics.

    >>> round(effect_ratio([0.2, 0.3], [0.4, 0.5], [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]), 4)
    0.5
    """
    first = paired(advanced, baseline)
    before = float(first.difference.mean())
    after = float(paired(advanced_again, baseline_again).difference.mean())
    return after / before if abs(before) > noise(first.x, first.y) else float("nan")


def delta_ri(baseline: Any, advanced: Any, baseline_again: Any, advanced_again: Any) -> float:
    r"""The relative improvement in the first experiment minus that in the second.

    .. math:: \Delta RI = RI - RI', \qquad RI = \frac{\bar a - \bar b}{\bar b}

    0: both improve equally over their baselines; above 0: the second improves less. NaN if a baseline scores 0.

    >>> round(delta_ri([0.2, 0.2], [0.3, 0.3], [0.4, 0.4], [0.5, 0.5]), 4)
    0.25
    """
    return _relative_improvement(baseline, advanced) - _relative_improvement(baseline_again, advanced_again)


def _relative_improvement(baseline: Any, advanced: Any) -> float:
    pair = paired(advanced, baseline)
    base = float(pair.y.mean())
    return (float(pair.x.mean()) - base) / base if base else float("nan")


def p_value(original: Any, again: Any, *, same_topics: bool) -> float:
    """Do the scores of two runs differ? Student's t: paired on the same topics, else unpaired with pooled variance.

    A small p shows that they do, so that the second is not a replication; a large p shows little (Breuer et al. 2020).

    >>> round(p_value([0.2, 0.4, 0.3], [0.3, 0.6, 0.3], same_topics=True), 4)
    0.2254
    """
    from cranfield.comparison.methods.t import paired_t, unpaired_t

    result = paired_t(original, again) if same_topics else unpaired_t(original, again, equal_variance=True)
    return result.p


def mean_of(values: Any) -> float:
    """The mean of the defined values; NaN if there are none."""
    numbers = sample(values)
    defined = numbers[~np.isnan(numbers)]
    return float(defined.mean()) if len(defined) else float("nan")
