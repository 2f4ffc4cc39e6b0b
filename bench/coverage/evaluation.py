"""Intervals of mean scores (eval --ci), of geometric means, and of mean differences."""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from bench.coverage.generators import DIFFERENCES, SCORES, Draw, average_precision

from cranfield import comparison
from cranfield.scores.scores import Scores
from cranfield.scores.summary import GMEAN_FLOOR

SIZES = (5, 10, 25, 50)


def sometimes_zero(rng: np.random.Generator, n: int) -> np.ndarray:
    """One topic of ten fails completely."""
    return np.where(rng.random(n) < 0.1, 0.0, average_precision(rng, n))


def _log_mean(draw: Draw) -> float:
    values = draw(np.random.default_rng(0), 1_000_000)
    return float(np.exp(np.log(np.maximum(values, GMEAN_FLOOR)).mean()))


GAINS: dict[str, tuple[Draw, float]] = {
    "discounted gains": (lambda rng, n: rng.gamma(2.0, 2.0, n), 4.0),
    "discounted gains, half of them 0": (lambda rng, n: rng.gamma(2.0, 2.0, n) * (rng.random(n) < 0.5), 2.0),
    "discounted gains, 90 % of them 0": (lambda rng, n: rng.gamma(2.0, 2.0, n) * (rng.random(n) < 0.1), 0.4),
    "log-normal": (lambda rng, n: rng.lognormal(0, 1, n), float(np.exp(0.5))),
}
"""Scores without an upper end."""


def cases() -> list[Case]:
    small = {("weak system", 10): 200, ("success", 25): 200}
    bounded = [
        Case("interval of a mean", name, f"{topics} topics", partial(mean, "AP", draw, truth, topics),
             trials=600, small=small.get((name, topics), 0))
        for name, (draw, truth) in SCORES.items()
        for topics in SIZES
    ]  # fmt: skip
    geometric = [
        Case("interval of a geometric mean", name, f"{topics} topics", partial(gmean, draw, _log_mean(draw), topics),
             trials=600, small=200 if topics == 10 else 0)
        for name, draw in {"average precision": average_precision, "a tenth scores 0": sometimes_zero}.items()
        for topics in (10, 25, 50)
    ]  # fmt: skip
    unbounded = [
        Case("interval of a mean without a range", name, f"{topics} topics", partial(mean, "DCG", draw, truth, topics))
        for name, (draw, truth) in GAINS.items()
        for topics in (10, 25, 50)
    ]
    differences = [
        Case("interval of a mean difference", name, f"{topics} topics", partial(difference, draw, topics),
             small=200 if (name, topics) == ("sparse", 10) else 0)
        for name, draw in DIFFERENCES.items()
        for topics in (10, 25, 50)
    ]  # fmt: skip
    return bounded + geometric + unbounded + differences


def mean(measure: str, draw: Draw, truth: float, topics: int, rng: np.random.Generator) -> Outcome:
    scores = Scores.from_matrix(draw(rng, topics)[:, None], runs=["a"], measure=measure)
    summary = scores.summary()
    (estimate,) = summary
    return covers(truth, estimate.low, estimate.high, said=bool(summary.notes))


def gmean(draw: Draw, truth: float, topics: int, rng: np.random.Generator) -> Outcome:
    (estimate,) = Scores.from_matrix(draw(rng, topics)[:, None], runs=["a"], measure="AP").summary("gmean")
    return covers(truth, estimate.low, estimate.high)


def difference(draw: Draw, topics: int, rng: np.random.Generator) -> Outcome:
    found = comparison.difference_interval(draw(rng, topics), np.zeros(topics), measure="AP")
    return covers(0.0, found.interval.low, found.interval.high, said=bool(found.notes))
