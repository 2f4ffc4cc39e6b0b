"""Machine judges with some human labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from bench.coverage.generators import SCORES

from cranfield.building.machine.powered_intervals import powered_intervals
from cranfield.scores import Scores

Array = np.ndarray
Rng = np.random.Generator
Draw = Callable[[Rng, int], Array]
MACHINE_TOPICS = 150
"""Topics with machine judgments only."""


def cases() -> list[Case]:
    made = []
    for (name, (draw, truth)), topics in ((item, topics) for item in MEANS.items() for topics in (10, 20, 50)):
        trial = partial(mean, draw, truth, topics)
        small = 60 if (name, topics) == ("80 % zeros", 10) else 0
        made.append(Case("ppi, mean of a run", name, f"{topics} human topics", trial, trials=300, small=small))
    for (name, pair), topics in ((item, topics) for item in PAIRS.items() for topics in (10, 20, 50)):
        trial = partial(difference, pair, topics)
        small = 60 if (name, topics) in SMALL else 0
        made.append(Case("ppi, difference of two runs", name, f"{topics} human topics", trial, trials=300, small=small))
    return made


SMALL = {("15 % lose their score", 10), ("one topic of twenty gains .5", 20)}


def mean(draw: Draw, truth: float, topics: int, rng: Rng) -> Outcome:
    scores = draw(rng, topics + MACHINE_TOPICS)
    means = powered_intervals(*judged(rng, scores[None], topics)).means
    return covers(truth, means.low[0], means.high[0], said=bool(means.unlimited[0]))


def difference(pair: Callable[[Rng, int], tuple[Array, Array, float]], topics: int, rng: Rng) -> Outcome:
    first, second, truth = pair(rng, topics + MACHINE_TOPICS)
    means = powered_intervals(*judged(rng, np.stack([first, second]), topics), baseline="0").means
    return covers(-truth, means.low[0], means.high[0], said=bool(means.unlimited[0]))


def judged(rng: Rng, scores: Array, topics: int) -> tuple[Scores, Scores]:
    """The machine is right on four topics of five, and takes the scores of another topic for the rest."""
    size = scores.shape[1]
    machine = np.where(rng.random(size) < 0.8, scores, scores[:, rng.permutation(size)])
    runs, names = [str(run) for run in range(len(scores))], [str(topic) for topic in range(size)]
    human = Scores.from_matrix(scores[:, :topics].T, runs, names[:topics], measure="AP")
    return human, Scores.from_matrix(machine.T, runs, names, measure="AP")


def zeros(rng: Rng, n: int, share: float = 0.8) -> Array:
    return np.where(rng.random(n) < share, 0, rng.beta(1.2, 2.8, n))


def nearly_zeros(rng: Rng, n: int) -> Array:
    return np.where(rng.random(n) < 0.8, 0.01 * rng.random(n), rng.beta(1.2, 2.8, n))


MEANS: dict[str, tuple[Draw, float]] = {
    **SCORES,
    "80 % zeros": (zeros, 0.06),
    "95 % zeros": (partial(zeros, share=0.95), 0.015),
    "80 % nearly zero": (nearly_zeros, 0.064),
}


def average_precisions(rng: Rng, n: int) -> tuple[Array, Array, float]:
    return rng.beta(1.5, 2.8, n), rng.beta(1.2, 2.8, n), 1.5 / 4.3 - 0.3


def close_runs(rng: Rng, n: int) -> tuple[Array, Array, float]:
    """Half of the topics change a little, and a few lose much."""
    base = rng.beta(2, 3, n)
    lost = np.where(rng.random(n) < 0.1, 0.5 * base, np.where(rng.random(n) < 0.5, 0.02 * base, 0))
    return base, base - lost, 0.1 * 0.2 + 0.9 * 0.5 * 0.008


def weak_runs(rng: Rng, n: int) -> tuple[Array, Array, float]:
    return zeros(rng, n, 0.8), zeros(rng, n, 0.9), 0.03


def weaker_runs(rng: Rng, n: int) -> tuple[Array, Array, float]:
    """What one run loses, the other does not gain: of the topics with a score, half are lost."""
    base = zeros(rng, n, 0.7)
    return base, np.where(rng.random(n) < 0.5, base, 0), 0.045


def rare_gains(rng: Rng, n: int) -> tuple[Array, Array, float]:
    base = 0.5 * rng.random(n)
    return base + 0.5 * (rng.random(n) < 0.05), base, 0.025


def rare_changes(rng: Rng, n: int) -> tuple[Array, Array, float]:
    base = 0.25 + 0.5 * rng.random(n)
    return base + np.where(rng.random(n) < 0.1, rng.choice([-0.25, 0.25], n), 0), base, 0.0


PAIRS = {
    "average precision": average_precisions,
    "half change little, one of ten much": close_runs,
    "80 and 90 % zeros": weak_runs,
    "15 % lose their score": weaker_runs,
    "one topic of twenty gains .5": rare_gains,
    "one topic of ten changes either way": rare_changes,
}
