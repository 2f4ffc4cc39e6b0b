r"""Is a mean above 0, although few topics changed? One-sided tests that hold for rare and for skewed differences.

A t test of differences that are nearly all 0 finds a tiny error, and none if all are: it then shows what the topics
cannot show, because topics that lose much may be rare and not among them. With fewer than `FEW` changed topics, the
mean is therefore bounded by Gaffke's interval: the quantile of :math:`\sum_i D_i y_i`, in which the weights D are
uniform on all topics and one more, which has the worst possible value. If no topic changed, this is Clopper and
Pearson's bound of the share of topics that change, times the worst loss. With more changed topics, the test is
Student's t, corrected for skewness by Hall's transformation (`scores.mean_intervals`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cranfield.scores.mean_intervals import FEW, range_tail, score_range, skew_tail
from cranfield.scores.t_and_normal import normal_quantile
from cranfield.types import Array


@dataclass(frozen=True)
class MeanAbove:
    """A test of the hypothesis that a mean is 0 or below."""

    p: float
    low: float
    """The one-sided bound of the mean."""
    few: bool
    """Whether too few topics changed for a t test."""
    topics: int | None
    """About how many topics like these would be enough; None if the mean is not above 0."""


def worst_change(measure: str, x: Array, y: Array) -> float:
    """The largest possible difference between two scores; of a measure without a range, the largest score.

    >>> worst_change("AP", np.array([0.2]), np.array([0.3])), worst_change("DCG", np.array([2.0]), np.array([7.0]))
    (1.0, 7.0)
    """
    both = np.concatenate([x, y])
    ends = score_range(measure, both)
    return float(np.abs(both).max()) if ends is None else ends[1] - ends[0]


def few_changed(changed: int, n: int) -> bool:
    """Whether too few of the topics changed for a t test of their differences."""
    return changed < min(FEW, n)


def mean_above(y: Array, changed: int, worst: float, alpha: float) -> MeanAbove:
    """Test whether the mean of `y` is above 0; `changed` topics differ, and a topic cannot be below `worst`.

    >>> round(mean_above(np.full(50, 0.01), 0, -0.99, 0.05).p, 3), mean_above(np.full(50, 0.01), 0, -0.99, 0.05).topics
    (0.605, 299)
    """
    n, mean = len(y), float(y.mean())
    few = few_changed(changed, n)
    p, low = range_tail(y, worst, alpha) if few else skew_tail(y, alpha)
    if mean <= 0:
        return MeanAbove(p, low, few, None)
    share = mean / (mean - worst)
    if not changed and np.ptp(y) <= 1e-12 * mean:  # then both are exact
        p, low = (1 - share) ** n, mean - (mean - worst) * (1 - alpha ** (1 / n))
    if not changed:
        return MeanAbove(p, low, few, math.ceil(math.log(alpha) / math.log1p(-share)))
    by_error = (float(normal_quantile(alpha)) * float(y.std(ddof=1)) / mean) ** 2
    return MeanAbove(p, low, few, max(n + 1, math.ceil(FEW * n / changed), math.ceil(by_error)))
