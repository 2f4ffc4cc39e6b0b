r"""Are two systems practically equal? Two one-sided tests against a margin, that hold although few topics changed.

A t test of differences that are nearly all 0 finds a tiny error, and none if all are: it then shows what the topics
cannot show, because topics that lose much may be rare and not among them. With fewer than `FEW` changed topics, the
mean is therefore bounded by Gaffke's interval: the quantile of :math:`\sum_i D_i y_i`, in which the weights D are
uniform on all topics and one more, which has the worst possible value. If no topic changed, this is Clopper and
Pearson's bound of the share of topics that change, times the worst loss. With more changed topics, the test is
Student's t, corrected for skewness by Hall's transformation (`scores.mean_intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.comparison.data import paired, unpaired
from cranfield.comparison.methods.t import paired_t, unpaired_t
from cranfield.comparison.test_result import Interval, TestResult, check_alpha
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.scores.mean_intervals import FEW, range_tail, score_range, skew_tail
from cranfield.scores.t_and_normal import normal_quantile
from cranfield.text import counted
from cranfield.types import Array


def tost(
    x: Any,
    y: Any = None,
    *,
    margin: float | tuple[float, float],
    matched: bool = True,
    equal_variance: bool = False,
    systems: Sequence[str] | None = None,
    measure: Any = None,
    level: float = 0.95,
) -> TestResult:
    r"""Is the difference between two systems within a margin? A small p shows that they are practically equal.

    .. math:: p = \max\big(\Pr(T \ge t_{-\Delta}),\; \Pr(T \le t_{\Delta})\big), \qquad
              t_{\pm\Delta} = \frac{\bar d \mp \Delta}{s_d/\sqrt n}

    `margin` is Δ, or (low, high), in the units of the measure; choose it before looking at the data. A test of
    difference that finds nothing does not show that systems are equal; this test does. The statistic is that of the
    test with the larger p. The interval has level 2·level − 1: equivalence holds at α = 1 − level exactly if the
    interval lies within the margin. With `matched=False` the samples are independent and the tests are Welch's, or
    Student's with `equal_variance`.

    On shared topics, p is corrected for skewness: it is not below that of t. If fewer than 5 topics differ, a t test
    would claim too much, because topics that differ may be rare: the difference is then bounded by the share of topics
    that may differ, times the range of the measure (`mean_above`), and a note estimates how many topics would
    do. The statistic is that of t.
    Reference: Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15(6), 1987

    >>> result = tost([0.41, 0.52, 0.63, 0.55], [0.40, 0.53, 0.61, 0.56], margin=0.05)
    >>> round(result.statistic, 3), round(result.p, 4), str(result.interval)
    (-6.333, 0.0061, '[-0.0152, 0.0213] (90% t)')
    """
    check_alpha("tost", level, "level")
    if level <= 0.5:
        raise UsageError(f"tost: level == {level!r}, must be above 0.5, because the interval has level 2·level − 1")
    low, high = _bounds(margin)
    pair = (paired if matched else unpaired)(x, y, systems=systems, measure=measure)

    def t_test(shift: float, alternative: str, level: float) -> TestResult:
        shifted = pair.x - shift
        options: dict[str, Any] = {"measure": pair.measure, "alternative": alternative, "level": level}
        if matched:
            return paired_t(shifted, pair.y, **options)
        return unpaired_t(shifted, pair.y, equal_variance=equal_variance, **options)

    above, below = t_test(low, "greater", level), t_test(high, "less", level)
    difference = t_test(0.0, "two-sided", 2 * level - 1)
    notes: tuple[str, ...] = ()
    if matched:
        d, alpha = pair.difference, 1 - level
        changed, most = int((d != 0).sum()), worst_change(pair.measure, pair.x, pair.y)
        most = max(most, -low, high)  # no difference is beyond the range, nor is the margin
        over, under = (
            mean_above(d - low, changed, -most - low, alpha),
            mean_above(high - d, changed, high - most, alpha),
        )
        above, below = replace(above, p=over.p), replace(below, p=under.p)
        method = "range" if over.few else "t"
        ends = Interval(low + over.low, high - under.low, 2 * level - 1, method)
        difference = replace(difference, interval=ends)
        if over.few:
            notes = (_few(changed, len(d), max(over.p, under.p) <= alpha, over.topics, under.topics),)
    larger_p = above if above.p >= below.p else below
    within = "within" if larger_p.p <= 1 - level else "not shown to be within"
    note = (
        f"{within} [{low:g}, {high:g}] at α = {1 - level:.3g}: "
        f"above {low:g} with p = {above.p:.4f}, below {high:g} with p = {below.p:.4f}"
    )
    return replace(
        difference,
        test=f"equivalence ({'paired' if matched else 'unpaired'} TOST)",
        statistic=larger_p.statistic,
        p=larger_p.p,
        alternative=f"within [{low:g}, {high:g}]",
        notes=(*pair.notes, *(other for other in difference.notes if "p = 1" not in other), *notes, note),
        systems=pair.names,
    )


def _few(changed: int, n: int, shown: bool, *needed: int | None) -> str:
    note = caution_note(
        f"{changed} of {counted(n, 'topic')} differ, which are few for t: p bounds the topics that may differ"
    )
    enough = [topics for topics in needed if topics is not None]
    more = f"; about {max(enough):,} topics like these would do" if len(enough) == 2 and not shown else ""
    return note + more


def _bounds(margin: Any) -> tuple[float, float]:
    if np.ndim(margin) == 0:
        check.finite("tost", margin=margin)
        check.positive("tost", margin=margin)
        return -float(margin), float(margin)
    ends = tuple(margin)
    if len(ends) != 2 or not all(np.isfinite(ends)) or not ends[0] < ends[1]:
        raise UsageError(f"tost: margin == {margin!r}, must be a number above 0, or (low, high) with low < high")
    return float(ends[0]), float(ends[1])


# -- is a mean above 0?


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
