"""Data like people's, with a known truth: scores of topics, and differences between two systems on topics.

Every generator takes random numbers and a size. Differences have mean 0; `SCORES` gives the mean of each generator of
scores beside it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Draw = Callable[[np.random.Generator, int], Array]


def normal(rng: np.random.Generator, n: int) -> Array:
    return rng.normal(0, 0.1, n)


def skewed(rng: np.random.Generator, n: int) -> Array:
    """Most topics lose a little, few gain much."""
    return 0.1 * (rng.exponential(1.0, n) - 1)


def zero_heavy(rng: np.random.Generator, n: int) -> Array:
    """Two topics of three are the same for both systems."""
    return np.where(rng.random(n) < 2 / 3, 0, rng.choice([-0.5, -0.25, 0.25, 0.5], n))


def sparse(rng: np.random.Generator, n: int) -> Array:
    """One topic of twenty changes, by much and in either direction."""
    return np.where(rng.random(n) < 0.95, 0, rng.choice([-0.5, 0.5], n))


def tied(rng: np.random.Generator, n: int) -> Array:
    """Differences of P@10: multiples of a tenth."""
    return np.round(rng.normal(0, 0.15, n), 1)


DIFFERENCES: dict[str, Draw] = {
    "normal": normal,
    "skewed": skewed,
    "zero-heavy": zero_heavy,
    "sparse": sparse,
    "tied": tied,
}


def average_precision(rng: np.random.Generator, n: int) -> Array:
    return rng.beta(1.2, 2.8, n)


def weak_system(rng: np.random.Generator, n: int) -> Array:
    """Half of the topics score 0, the others little: mean 0.075."""
    return np.where(rng.random(n) < 0.5, 0, rng.beta(1.2, 6.8, n))


def strong_system(rng: np.random.Generator, n: int) -> Array:
    """Many topics score 1: mean 0.925."""
    return 1 - weak_system(rng, n)


def success(rng: np.random.Generator, n: int) -> Array:
    """0 or 1, mostly 1."""
    return (rng.random(n) < 0.97).astype(float)


def reciprocal_rank(rng: np.random.Generator, n: int) -> Array:
    """1, 1/2, 1/3 ... and 0 for topics without a relevant document in ten."""
    ranks = rng.geometric(0.3, n)
    return np.where(ranks <= 10, 1 / ranks, 0.0)


SCORES: dict[str, tuple[Draw, float]] = {
    "average precision": (average_precision, 0.3),
    "weak system": (weak_system, 0.075),
    "strong system": (strong_system, 0.925),
    "success": (success, 0.97),
    "reciprocal rank": (reciprocal_rank, float(sum(0.3 * 0.7 ** (k - 1) / k for k in range(1, 11)))),
}
