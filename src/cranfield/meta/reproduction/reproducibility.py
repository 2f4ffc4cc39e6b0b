"""How close a second experiment comes to the first: documents, scores, effects, and significance.

Ferro & Maistro 2024 §8 tell of it.

A *replication* is on the same collection and can be compared topic by topic; a *reproduction* is on another one, where
only effects and distributions can. (These are the words of Breuer et al. 2020; the ACM's terms of today, which the
repro_eval tool follows, have them the other way round.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.comparison.data import paired, sample
from cranfield.comparison.differences import noise
from cranfield.frames import need
from cranfield.types import Array

UNIONS = ("rank", "id")
"""How the documents of two lists are numbered: the first list's in its order, then the others in theirs; or by id."""


def tau_union(original: Sequence[Any], again: Sequence[Any], *, union: str = "rank") -> float:
    r"""Kendall's τ of two ranked lists that need not hold the same documents.

    The documents of both lists are numbered: those of the first list in its order, then those that only the second has,
    in its order. Each list is then a list of numbers, rank by rank, and τ is that of the two lists of numbers. Lists of
    different lengths are compared as far as the shorter one goes. `union="id"` numbers documents in the order of their
    ids, as the repro_eval tool does; the answer then depends on what documents are called. NaN below two ranks.

    Reference: Breuer et al., SIGIR 2020, 349-358, doi:10.1145/3397271.3401036

    (1, 2, 3) against (1, 2, 4), and against (1, 4, 2), where one of three pairs is turned:

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
    x, y = ([number[doc] for doc in one] for one in (first, second))
    return float(need("scipy.stats", "tau_union").kendalltau(x, y).statistic)


def rmse(original: Any, again: Any) -> float:
    r"""How far apart the scores of two runs are on the same topics, :math:`\sqrt{\frac1n \sum_t (x_t - x'_t)^2}`.

    Both are arrays of one length or {topic: score}; topics without a value are left out.
    Reference: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036

    >>> round(rmse([0.2, 0.4], [0.3, 0.4]), 4)
    0.0707
    """
    return float(np.sqrt(np.mean(paired(original, again).difference ** 2)))


def nrmse(original: Any, again: Any) -> float:
    r"""`rmse` as a share of the largest that was possible, for measures between 0 and 1.

    .. math:: \sqrt{\sum_t (x_t - x'_t)^2 / \sum_t \max(x_t, 1 - x_t)^2}

    NaN where a score is not between 0 and 1. Reference: Maistro, Breuer, Schaer & Ferro, IPM 60(3), 2023

    >>> round(nrmse([0.0, 1.0], [1.0, 1.0]), 4), nrmse([3.0], [2.0])
    (0.7071, nan)
    """
    pair = paired(original, again)
    if min(pair.x.min(), pair.y.min()) < 0 or max(pair.x.max(), pair.y.max()) > 1:
        return float("nan")
    most = np.maximum(pair.x, 1 - pair.x)
    return float(np.sqrt((pair.difference**2).sum() / (most**2).sum()))


def effect_ratio(baseline: Any, advanced: Any, baseline_again: Any, advanced_again: Any) -> float:
    r"""The improvement over the baseline in the second experiment, as a share of that in the first.

    .. math:: ER = \frac{\frac1{n'} \sum_t (a'_t - b'_t)}{\frac1n \sum_t (a_t - b_t)}

    1: the effect is as large; between 0 and 1 smaller, above 1 larger; 0 or below: there is none. NaN where the first
    experiment had no effect. The two experiments may have different topics.
    Reference: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036

    >>> round(effect_ratio([0.2, 0.3], [0.4, 0.5], [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]), 4)
    0.5
    """
    first = paired(advanced, baseline)
    before = float(first.difference.mean())
    after = float(paired(advanced_again, baseline_again).difference.mean())
    return after / before if abs(before) > noise(first.x, first.y) else float("nan")


def delta_ri(baseline: Any, advanced: Any, baseline_again: Any, advanced_again: Any) -> float:
    r"""The relative improvement in the first experiment less that in the second.

    .. math:: \Delta RI = RI - RI', \qquad RI = \frac{\bar a - \bar b}{\bar b}

    0: both improve as much over their baselines; above 0: the second improves less. NaN where a baseline scores 0.
    Reference: Breuer et al., SIGIR 2020, doi:10.1145/3397271.3401036

    >>> round(delta_ri([0.2, 0.2], [0.3, 0.3], [0.4, 0.4], [0.5, 0.5]), 4)
    0.25
    """
    return _relative_improvement(baseline, advanced) - _relative_improvement(baseline_again, advanced_again)


def _relative_improvement(baseline: Any, advanced: Any) -> float:
    pair = paired(advanced, baseline)
    below = float(pair.y.mean())
    return (float(pair.x.mean()) - below) / below if below else float("nan")


def p_value(original: Any, again: Any, *, same_topics: bool) -> float:
    """Do the scores of two runs differ? Student's t: paired on the same topics, else unpaired with pooled variance.

    A small p says that they do, so that the second is no replication; a large one says little (Breuer et al. 2020).

    >>> round(p_value([0.2, 0.4, 0.3], [0.3, 0.6, 0.3], same_topics=True), 4)
    0.2254
    """
    from cranfield.comparison.methods.t import paired_t, unpaired_t

    if same_topics:
        return paired_t(original, again).p
    return unpaired_t(original, again, equal_variance=True).p


def mean_of(values: Any) -> float:
    """The mean over the entries that have a value; NaN where none has."""
    numbers: Array = sample(values)
    there: NDArray[np.bool_] = ~np.isnan(numbers)
    return float(numbers[there].mean()) if there.any() else float("nan")
