"""Intervals of mean scores (eval --ci)."""

from __future__ import annotations

from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from bench.coverage.generators import SCORES, Draw

from cranfield import comparison


def cases() -> list[Case]:
    return [
        Case("interval of a mean", name, f"{topics} topics", partial(mean, draw, truth, topics), small=0)
        for name, (draw, truth) in SCORES.items()
        for topics in (10, 25, 50)
    ]


def mean(draw: Draw, truth: float, topics: int, rng: np.random.Generator) -> Outcome:
    found = comparison.mean_interval(draw(rng, topics), resamples=2000)
    return covers(truth, found.interval.low, found.interval.high)
