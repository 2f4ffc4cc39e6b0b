r"""Intervals of a mean over topics that hold for few topics, many zeros and scores near an end of the range.

Student's interval is too short, and on the wrong side, if most topics score the same: a system that finds the answer on
all of 25 topics would get [1, 1]. For a measure with a range, the interval here is that of the Bayesian bootstrap with
half a topic more at the end of the range: the high end is the quantile of :math:`\sum_i D_i x_i`, in which the weights
D are Dirichlet with 1 for every topic and 1/2 for a topic at the highest possible score; the low end has that half
topic at the lowest one. With a whole topic, it would be Gaffke's interval, which is Clopper and Pearson's if scores are
0 or 1; with half of one it lies between theirs and that of Jeffreys.

With exponential variables E, :math:`\Pr(\sum D_i x_i > c) = \Pr(\sum E_i (x_i - c) > 0)`, whose saddlepoint
approximation needs one number A above the largest score:

.. math:: w_i = \frac{a_i}{A - x_i}, \quad c = \frac{\sum w_i x_i}{\sum w_i}, \quad
          r^2 = 2 \sum a_i \log\frac{A - x_i}{A - c}, \quad u^2 = \sum w_i^2 (x_i - c)^2 / a_i, \quad
          \Pr \approx 1 - \Phi\Big(r + \frac{1}{r} \log\frac{u}{r}\Big).

References: Gaffke, Three Test Statistics for a Nonparametric One-sided Hypothesis on the Mean of a Nonnegative
Variable, Mathematical Methods of Statistics 14(4), 2005; Rubin, The Bayesian Bootstrap, Annals of Statistics 9(1),
1981; Lugannani & Rice, Advances in Applied Probability 12(2), 1980, and Barndorff-Nielsen, Biometrika 73(2), 1986 (the
approximation); Hall, On the Removal of Skewness by Transformation, JRSS B 54(1), 1992 (measures without a range)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from cranfield.notes import caution_note
from cranfield.scores.t_and_normal import normal_quantile, normal_tail, t_quantile, t_tail
from cranfield.text import counted
from cranfield.types import Array

EXTRA = 0.5
"""The weight of the topic at the end of the range."""
FEW = 5
"""Without a range, an interval needs this many topics that do not share the most frequent score."""
UNEVEN = 8
"""Without a range, an interval needs this many topics times the square of the skewness of the scores."""
SHORT = 20
"""Without a range, fewer topics than this may miss the rare high scores, and look as if they were not skew."""
_STEPS = 32
"""Halvings of the bracket of log A: its width of about 60 falls to 1e-8."""
_BLOCK = 1_000_000
"""Scores in memory at a time; does not change the result."""


def range_interval(values: Array, low: float, high: float, level: float) -> tuple[Array, Array]:
    """The interval of the mean of each row, whose scores lie between `low` and `high`; NaN for fewer than two topics.

    >>> low, high = range_interval(np.ones((1, 25)), 0, 1, 0.95)
    >>> round(low.item(), 4), high.item()
    (0.9021, 1.0)
    """
    rows = values.reshape(-1, values.shape[-1])
    z = float(normal_quantile((1 - level) / 2))
    ends = np.empty((2, len(rows)))
    for block in np.array_split(np.arange(len(rows)), max(1, rows.size // _BLOCK)):
        ends[0, block] = 0.0 - _high_end(-rows[block], -low, z)
        ends[1, block] = _high_end(rows[block], high, z)
    return ends[0].reshape(values.shape[:-1]), ends[1].reshape(values.shape[:-1])


def _high_end(rows: Array, bound: float, z: float, extra: float = EXTRA) -> Array:
    """The c at which the approximation of the tail is that of z."""
    counted = ~np.isnan(rows)
    n = counted.sum(axis=1)
    below = np.where(counted, bound - rows, 0.0)  # the distance from the bound
    scale = below.max(axis=1, initial=0.0)
    inside = (n > 1) & (scale > 0)
    ends = np.where(n > 1, float(bound), np.nan)
    if not inside.any():
        return ends
    away = np.concatenate([below[inside] / scale[inside, None], np.zeros((int(inside.sum()), 1))], axis=1)
    weight = np.concatenate([counted[inside], np.full((len(away), 1), extra)], axis=1)
    small, large = np.full(len(away), -40.0), np.log(1e6 * n[inside])
    for _ in range(_STEPS):
        middle = (small + large) / 2
        too_far = _root(away, weight, np.exp(middle)[:, None])[0] > z
        small, large = np.where(too_far, middle, small), np.where(too_far, large, middle)
    ends[inside] = bound - scale[inside] * _root(away, weight, np.exp(large)[:, None])[1]
    return ends


def range_tail(values: Array, worst: float, alpha: float) -> tuple[float, float]:
    """Gaffke's test of a mean of 0 or below, with a whole topic at `worst` (below 0): p, and the bound of the mean.

    >>> p, low = range_tail(np.full(50, 0.01), -0.99, 0.05)  # (1 - 0.01)**50 = 0.605
    >>> round(p, 3), round(low, 4)
    (0.606, -0.0485)
    """
    low = -float(_high_end(-values[None], -worst, float(normal_quantile(alpha)), 1.0)[0])
    points = np.append(values, worst)
    if points.max() <= 0:
        return 1.0, low
    return (_tail_above_0(-points) if points.mean() > 0 else 1 - _tail_above_0(points)), low


def _tail_above_0(points: Array) -> float:
    """The probability that the mean of the points with uniform weights is above 0; without weights it is below."""
    top = float(points.max())
    scale = top - float(points.min())
    away, weight = ((top - points) / scale)[None], np.ones((1, len(points)))
    small, large, z = -40.0, math.log(1e6 * len(points)), np.zeros(1)
    for _ in range(_STEPS):
        middle = (small + large) / 2
        z, c = _root(away, weight, np.array([[math.exp(middle)]]))
        small, large = (middle, large) if c[0] < top / scale else (small, middle)
    return float(normal_tail(z[0]))


def _root(away: Array, weight: Array, a: Array) -> tuple[Array, Array]:
    """The standard normal quantile for A = bound + a, and how far c is below the bound. The distances are 0 to 1."""
    distance = away + a
    share = weight / distance
    total = share.sum(axis=1)
    c = (share * away).sum(axis=1) / total
    from_c = away - c[:, None]
    r = np.sqrt(np.maximum(2 * (weight * np.log1p(from_c / (c[:, None] + a))).sum(axis=1), 0.0))
    u = np.sqrt((share * from_c**2 / distance).sum(axis=1))
    far = r > 1e-3
    return np.where(far, r + np.log(np.where(far, u / np.where(far, r, 1.0), 1.0)) / np.where(far, r, 1.0), r), c


def skew_interval(values: Array, level: float) -> tuple[Array, Array]:
    r"""Student's interval, with each end moved outwards as far as the skewness of the scores asks for.

    With :math:`g(T) = T + \gamma (2 T^2 + 1) / (6 \sqrt n) + \gamma^2 T^3 / (27 n)`, which Hall gives, the ends are
    those T at which g is ± t; the interval is never shorter on a side than Student's. NaN for fewer than two topics,
    and for topics that all score the same: nothing is known about the others then.

    >>> low, high = skew_interval(np.array([[0.0, 0.0, 1.0, 9.0]]), 0.95)
    >>> round(low.item(), 3), round(high.item(), 3)  # Student's is [-4.436, 9.436]
    (-4.436, 30.64)
    """
    n = (~np.isnan(values)).sum(axis=-1)
    size = np.maximum(n, 1)
    mean = np.nansum(values, axis=-1) / size
    away = values - mean[..., None]
    squares = np.nansum(away**2, axis=-1)
    spread = np.sqrt(squares / np.maximum(n - 1, 1))
    some = (n > 1) & (spread > 1e-12 * np.maximum(np.abs(mean), 1e-300))
    skewness = np.divide(np.nansum(away**3, axis=-1) / size, spread**3, out=np.zeros_like(mean), where=some)
    t = t_quantile((1 - level) / 2, np.maximum(n - 1, 1))
    error = np.where(some, spread, np.nan) / np.sqrt(size)
    g = skewness / np.sqrt(size)
    ends = []
    for y in (t, -t):
        steep = np.abs(g) > 1e-6
        root = np.divide(3 * (np.cbrt(1 + g * (y - g / 6)) - 1), g, out=np.array(y), where=steep)
        ends.append(mean - error * (np.maximum(root, t) if y is t else np.minimum(root, -t)))
    return ends[0], ends[1]


def skew_tail(values: Array, alpha: float) -> tuple[float, float]:
    """The test of a mean of 0 or below by t corrected for skewness, never below that of t: p, and the mean's bound."""
    low = float(skew_interval(values[None], 1 - 2 * alpha)[0][0])
    n, mean, spread = len(values), float(values.mean()), float(values.std(ddof=1))
    if math.isnan(low):  # every topic has the same value
        return (0.0 if mean > 0 else 1.0), mean
    t = mean / (spread / math.sqrt(n))
    g = float(((values - mean) ** 3).mean()) / spread**3 / math.sqrt(n)
    corrected = t + g * (2 * t**2 + 1) / 6 + g**2 * t**3 / 27
    return float(t_tail(min(t, corrected), n - 1)), low


def mean_interval_of(measure: str, values: Array, level: float) -> tuple[Array, Array]:
    """The interval of the mean of each row of scores by a measure: by its range, or by skewness if it has none."""
    ends = score_range(measure, values)
    return skew_interval(values, level) if ends is None else range_interval(values, *ends, level)


def score_range(measure: str, values: Array) -> tuple[float, float] | None:
    """The range of the measure; None if it is not finite, or if scores lie outside of it, such as standardised ones.

    The range of a name that is not a measure is 0 to 1, if all scores are in it.

    >>> score_range("my own", np.array([0.2, 1.0])), score_range("DCG", np.array([0.2]))
    ((0.0, 1.0), None)
    """
    from cranfield.measures.property_tables import range_of

    low, high = range_of(measure) or (0.0, 1.0)
    slack = 1e-9 * (high - low)
    inside = np.isfinite(slack) and not ((values < low - slack) | (values > high + slack)).any()
    return (low, high) if inside else None


def how_of(measures: Iterable[tuple[str, Array]]) -> str:
    """How the intervals of these measures are computed, in words."""
    ranges = {measure: score_range(measure, values) for measure, values in measures}
    without = [measure for measure, ends in ranges.items() if ends is None]
    skew = "by Student's t corrected for skewness"
    if len(without) == len(ranges):
        return skew
    usual = "within the range of the measure"
    return f"{usual}; of {', '.join(without)}, {skew}" if without else usual


def cautions(measure: str, runs: Sequence[str], values: Array) -> list[str]:
    """What to say about the intervals of runs (runs × topics) by a measure without a range."""
    if score_range(measure, values) is not None:
        return []
    rows = zip(runs, values, strict=True)
    notes = [note for run, row in rows for note in cautions_of(row[~np.isnan(row)], f"{measure} of {run}")]
    if not notes and 1 < values.shape[-1] < SHORT:
        topics = counted(values.shape[-1], "topic")
        return [
            caution_note(
                f"caution: {topics} are few for {measure}, whose scores have no bounds; intervals may be too short"
            )
        ]
    return notes


def cautions_of(values: Array, what: str, verb: str = "score") -> list[str]:
    """What to say about an interval by skewness."""
    n = len(values)
    if n < 2:
        return []
    others = n - int(np.unique(values, return_counts=True)[1].max())
    topics = counted(n, "topic")
    if not others:
        return [f"{what} has no interval: all {topics} {verb} the same"]
    if others < min(FEW, n - 1):
        return [
            caution_note(f"caution: the interval of {what} may be too short: {n - others} of {topics} {verb} the same")
        ]
    if n < UNEVEN * _skewness(values) ** 2:
        return [
            caution_note(
                f"caution: the interval of {what} may be too short: {topics}, of which a few {verb} far from the rest"
            )
        ]
    return []


def _skewness(values: Array) -> float:
    away = values - values.mean()
    return float((away**3).mean() / (away**2).mean() ** 1.5)
