"""Tests of two systems, of all pairs of systems, and of two samples of topics; means of an analysis of variance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from bench.coverage.case import Case, Outcome, covers
from bench.coverage.generators import DIFFERENCES, Array, Draw

from cranfield import comparison
from cranfield.comparison.anova.anova import two_way
from cranfield.meta.stability.swap import swap_rates
from cranfield.scores.scores import Scores

Systems = Callable[[np.random.Generator, int], Array]
RESAMPLES = 399
"""Fewer than by default: p has steps of 0.0025, of which α = 0.05 is one, so the level does not depend on it."""


def alike(rng: np.random.Generator, topics: int, systems: int = 10) -> Array:
    """Topics and noise, all normal."""
    return rng.normal(0, 1, (topics, 1)) + rng.normal(0, 0.5, (topics, systems))


def near_identical(same: int, others: int, rng: np.random.Generator, topics: int) -> Array:
    """Versions of one system, and others that have nothing in common with it but the mean."""
    versions = rng.normal(0.4, 0.2, (topics, 1)) + rng.normal(0, 0.01, (topics, same))
    return np.hstack([versions, rng.normal(0.4, 0.2, (topics, others))])


def skewed(rng: np.random.Generator, topics: int, systems: int = 25) -> Array:
    """Systems gain much on few topics and lose a little on most, and some do so ten times as much as others."""
    return rng.beta(1.2, 2.8, (topics, 1)) + (rng.exponential(1, (topics, systems)) - 1) * np.geomspace(
        0.02, 0.2, systems
    )


def average_precision(rng: np.random.Generator, topics: int, systems: int = 25) -> Array:
    """Scores between 0 and 1 that follow the difficulty of topics, with the same mean and other spreads."""
    hard = rng.normal(-1, 1, (topics, 1))
    noise = rng.normal(0, 1, (topics, systems)) * np.geomspace(0.1, 1, systems)
    return 1 / (1 + np.exp(-hard - noise)) - _means(systems)


@cache
def _means(systems: int) -> Array:
    """The means of scores of average precision, from a large sample."""
    rng = np.random.default_rng(0)
    hard = rng.normal(-1, 1, 400_000)
    noise = rng.normal(0, 1, 400_000)
    return np.array([(1 / (1 + np.exp(-hard - spread * noise))).mean() for spread in np.geomspace(0.1, 1, systems)])


def zero_heavy(rng: np.random.Generator, topics: int, systems: int = 25) -> Array:
    """Four topics of five score the same for all systems."""
    changed = np.where(rng.random((topics, systems)) < 0.2, rng.choice([-0.6, -0.3, 0.3, 0.6], (topics, systems)), 0)
    return rng.beta(1.2, 2.8, (topics, 1)) + changed


SYSTEMS: dict[str, Systems] = {
    "10 systems alike": alike,
    "8 near-identical and 2 other systems": partial(near_identical, 8, 2),
    "28 near-identical and 2 other systems": partial(near_identical, 28, 2),
    "25 systems, average precision": average_precision,
    "25 systems, skewed": skewed,
    "25 systems, zero-heavy": zero_heavy,
}
PAIRED = ("t", "randomisation", "bootstrap")
ALL_PAIRS = {"max-t": (10, 25, 50), "t": (10, 25, 50), "tukey": (50,), "randomised-tukey": (50,)}
SMALL = {
    ("max-t", "8 near-identical and 2 other systems", 25): 80,
    ("tukey", "28 near-identical and 2 other systems", 50): 60,
    ("t", "25 systems, skewed", 25): 150,
}


def cases() -> list[Case]:
    two = [
        Case(f"{test} of two systems", name, f"{topics} topics", partial(pair, test, draw, topics), trials=500)
        for test in PAIRED
        for name, draw in DIFFERENCES.items()
        for topics in (10, 50)
    ]
    pairs = [
        Case(
            f"{test}{' with Holm' if test == 't' else ''}, any of all pairs", name, f"{topics} topics",
            partial(family, test, draw, topics), trials=250, small=SMALL.get((test, name, topics), 0),
        )
        for test, sizes in ALL_PAIRS.items()
        for name, draw in SYSTEMS.items()
        for topics in sizes
    ]  # fmt: skip
    intervals = [
        Case("max-t, all intervals", name, f"{topics} topics", partial(together, draw, topics), trials=200)
        for name, draw in SYSTEMS.items()
        for topics in (10, 50)
    ]
    unpaired = [
        Case(
            f"unpaired {test.__name__.removeprefix('unpaired_')}", name, f"{n} and {m} topics",
            partial(samples, test, draw, n, m, spread), trials=500, small=100 if spread > 2 and n == 15 else 0,
        )
        for test in (comparison.unpaired_bootstrap, comparison.permutation, comparison.unpaired_t)
        for name, draw, spread in (
            ("normal", DIFFERENCES["normal"], 1.0),
            ("normal, small sample varies 3 times as much", DIFFERENCES["normal"], 3.0),
            ("skewed", DIFFERENCES["skewed"], 1.0),
            ("zero-heavy, small sample varies twice as much", DIFFERENCES["zero-heavy"], 2.0),
        )
        for n, m in ((15, 60), (40, 40))
    ]  # fmt: skip
    means = [
        Case("anova --means", name, f"{topics} topics", partial(level_means, draw, topics), trials=300)
        for name, draw in (
            ("10 systems alike", alike),
            ("8 near-identical and 2 other systems", partial(near_identical, 8, 2)),
        )
        for topics in (10, 50)
    ]
    swaps = [
        Case("meta swap, required difference", name, f"{topics} topics", partial(swap, draw, topics), trials=20)
        for name, draw in (
            ("10 systems alike", alike),
            ("8 near-identical and 2 other systems", partial(near_identical, 8, 2)),
        )
        for topics in (20, 50)
    ]
    return [*two, *pairs, *intervals, *unpaired, *means, *swaps]


def pair(test: str, draw: Draw, topics: int, rng: np.random.Generator) -> Outcome:
    """Test two systems that do not differ."""
    scores = np.stack([draw(rng, topics), np.zeros(topics)], axis=1)
    found = comparison.compare(scores, test=test, resamples=RESAMPLES)
    doubts = {assumption.name for assumption in found.assumptions if assumption.holds is False}
    return Outcome(not found.families[0].adjusted[0] <= 0.05, bool(doubts & {"topics", "normality"}))


def family(test: str, draw: Systems, topics: int, rng: np.random.Generator) -> Outcome:
    """Test all pairs of systems that do not differ."""
    found = comparison.compare(draw(rng, topics), test=test, resamples=RESAMPLES)
    return Outcome(not (found.families[0].adjusted <= 0.05).any(), _cautions(found))


def together(draw: Systems, topics: int, rng: np.random.Generator) -> Outcome:
    """Compare systems of which each second one is better, and look at all intervals."""
    scores = draw(rng, topics)
    truth = 0.1 * (np.arange(scores.shape[1]) % 2)
    found = comparison.compare(scores + truth, test="max-t", resamples=RESAMPLES)
    family = found.families[0]
    true = truth[family.first] - truth[family.second]
    defined = ~np.isnan(family.tests.low)
    inside = (family.tests.low <= true + 1e-9) & (true - 1e-9 <= family.tests.high)
    return Outcome(bool(inside[defined].all()) if defined.any() else None, _cautions(found))


def _cautions(found: comparison.Comparison) -> bool:
    """Does the result caution that its p-values may be too small?"""
    return any(note.startswith("caution:") and "max-t" in note for note in found.notes)


def samples(
    test: Callable[..., comparison.TestResult], draw: Draw, n: int, m: int, spread: float, rng: np.random.Generator
) -> Outcome:
    settings = {} if test is comparison.unpaired_t else {"resamples": RESAMPLES}
    return Outcome(test(spread * draw(rng, n), draw(rng, m), **settings).p > 0.05)


def level_means(draw: Systems, topics: int, rng: np.random.Generator) -> list[Outcome]:
    """The mean of a system, on these topics: all systems share the topics' difficulty."""
    scores = draw(rng, topics)
    means = two_way(scores).means("system")
    difficulty = scores.mean()
    return [covers(difficulty, low, high) for low, high in zip(means.low, means.high, strict=True)]


def swap(draw: Systems, topics: int, rng: np.random.Generator) -> Outcome:
    """The interval is of what more pairs of topic sets would give: ten times as many stand for all."""
    scores = Scores.from_matrix(0.2 * draw(rng, topics) + np.linspace(0, 0.2, 10))
    most = swap_rates(scores, resamples=10_000, seed=1).required[0, 0]
    low, high = swap_rates(scores).interval[:, 0, 0]
    return Outcome(bool(low <= most <= high))
