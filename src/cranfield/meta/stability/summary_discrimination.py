"""Do two systems differ in a summary of topics that is not a mean, such as the geometric mean or the median?

The paired bootstrap needs a mean difference. Other summaries are compared by the bootstrap of two samples, which draws
the scores of both systems from all scores of the pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.comparison.data import Matrix
from cranfield.comparison.pair_tests import PairTest, PairTests, TestSettings
from cranfield.comparison.resampling import TIE
from cranfield.errors import UsageError
from cranfield.meta.meta_record import report
from cranfield.scores.summary import GMEAN_FLOOR, statistic
from cranfield.types import Array, Index64, Progress

SUMMARIES = ("mean", "gmean", "median", "area")
PLURALS = {"mean": "means", "gmean": "geometric means", "median": "medians", "area": "areas"}
SUMMARY_NAMES = {
    "gmean": "systems are compared by the geometric mean of their scores",
    "median": "systems are compared by the median of their scores",
    "area": "systems are compared by the area under the mean of the x worst topics",
}
UNPAIRED = "unpaired-bootstrap"
_BLOCK = 2_000_000
"""The number of scores in memory at once; it does not change results."""


def summary_test(summary: str, worst: int | None = None) -> PairTest:
    """The test of a summary. It is not a test of `compare`: it does not use that both systems have the same topics."""

    def engine(matrix: Matrix, first: Index64, second: Index64, settings: TestSettings) -> PairTests:
        draws: dict[str, Any] = {"resamples": settings.resamples, "seed": settings.seed, "progress": settings.progress}
        difference, hits = summary_hits(matrix.values, first, second, summary, worst=worst, **draws)
        none = np.full(len(first), np.nan)
        p = (1 + hits) / (1 + settings.resamples)
        return PairTests(difference, p, none, none, np.full(len(first), matrix.n), resamples=settings.resamples)

    return PairTest(UNPAIRED, engine, "difference", "Sakai, SIGIR 2006", resampling=True)


def summary_hits(
    values: Array,
    first: Index64,
    second: Index64,
    summary: str,
    *,
    worst: int | None,
    resamples: int,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Array, Index64]:
    r"""For each pair of systems, the difference of summaries, and in how many resamples it is at least as large.

    .. math:: \hat d = M(x) - M(y), \qquad \text{hits} = |\{b : |M(x^{*b}) - M(y^{*b})| \ge |\hat d|\}|

    x* and y* are drawn with replacement from the 2n scores of both systems. `values` is topics × systems. All pairs
    share the same draws.

    Reference: Sakai, SIGIR 2006 (Sakai 2014 Fig. 13-14)

    >>> values = np.array([[0.1, 0.5], [0.2, 0.7], [0.3, 0.9]])
    >>> difference, hits = summary_hits(values, [0], [1], "median", worst=None, resamples=1000, seed=0)
    >>> difference.round(2).tolist(), bool(0 < hits[0] < 1000)
    ([-0.5], True)
    """
    n = len(values)
    of_system = statistic(values.T, summary, worst=worst)
    difference = of_system[first] - of_system[second]
    least = np.abs(difference) - TIE * np.maximum(1.0, np.abs(difference))
    rng = np.random.default_rng(seed)
    drawn = rng.integers(2 * n, size=(2, resamples, n))
    hits = np.zeros(len(first), dtype=np.int64)
    step = max(1, _BLOCK // (2 * resamples * n)) if summary in ("median", "area") else max(1, _BLOCK // resamples)
    for begin in range(0, len(first), step):
        block = slice(begin, min(begin + step, len(first)))
        if summary in ("mean", "gmean"):
            differences = _differences_of_means(values, first[block], second[block], drawn, summary)
        else:
            pooled = np.concatenate([values[:, first[block]], values[:, second[block]]])  # 2n × pairs
            x, y = (statistic(np.moveaxis(pooled[one], 1, 2), summary, worst=worst) for one in drawn)
            differences = x - y
        hits[block] = (np.abs(differences) >= least[block]).sum(axis=0)
        report(progress, block.stop, len(first))
    return np.asarray(difference), hits


def check_area(statistic: str, worst: int | None, topics: int) -> None:
    """Refuse an area of fewer than two topics, or of more than there are."""
    if statistic != "area":
        return
    if worst is None and topics < 8:
        raise UsageError(f"discriminative_power: a quarter of {topics} topics is less than 2; give worst=2 or more")
    if worst is not None and not 2 <= worst <= topics:
        raise UsageError(f"discriminative_power: worst == {worst}, must be from 2 to {topics}, the number of topics")


def _differences_of_means(values: Array, first: Index64, second: Index64, drawn: Index64, summary: str) -> Array:
    """resamples × pairs. A mean is a matrix product: how often each topic was drawn, times the scores."""
    n = len(values)
    scores = np.log(np.maximum(values, GMEAN_FLOOR)) if summary == "gmean" else values
    samples = []
    for one in drawn:
        row = np.arange(len(one))[:, None] * (2 * n)
        times = np.bincount((one + row).ravel(), minlength=len(one) * 2 * n).reshape(len(one), 2 * n) / n
        mean = (times[:, :n] @ scores)[:, first] + (times[:, n:] @ scores)[:, second]
        samples.append(np.exp(mean) if summary == "gmean" else mean)
    return np.asarray(samples[0] - samples[1])
