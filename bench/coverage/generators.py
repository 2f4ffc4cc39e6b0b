"""Data like people's, with a known truth: scores of topics, and differences between two systems on topics.

Every generator takes random numbers and a size. Differences have mean 0; `SCORES` gives the mean of each generator of
scores beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Users:
    """Users of live traffic: what each adds above and below the line of a measure."""

    draw: Callable[[np.random.Generator, int], tuple[Array, Array]]
    truth: float
    """The expected sum above the line over that below it."""
    most: float = np.inf
    """The largest value that the measure can have."""
    below: bool = True
    """Is the measure a ratio of sums, rather than a mean over users?"""
    users: tuple[int, ...] = (10, 30, 100, 500)
    arms: tuple[tuple[int, int], ...] = ((30, 30), (100, 100), (500, 500))


def _clicks(rng: np.random.Generator, shown: Array, rate: float, alike: float) -> tuple[Array, Array]:
    """Clicks on what was shown; the rates of users have a beta distribution, the less alike the smaller `alike`."""
    return rng.binomial(shown.astype(int), rng.beta(rate * alike, (1 - rate) * alike, len(shown))).astype(float), shown


def rare_clicks(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    return _clicks(rng, rng.poisson(8, n) + 1.0, 0.05, 20)


def rare_clicks_of_few(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Most users never click."""
    return _clicks(rng, rng.poisson(8, n) + 1.0, 0.05, 1)


def heavy_users(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Few users make most of the traffic."""
    return _clicks(rng, np.ceil(rng.lognormal(1.5, 1.5, n)), 0.3, 5)


def whales(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Traffic with a tail so heavy that it has no variance."""
    return _clicks(rng, np.minimum(np.ceil(3 * (1 + rng.pareto(1.2, n))), 1e6), 0.3, 5)


def _ones(values: Array) -> tuple[Array, Array]:
    return values.astype(float), np.ones(len(values))


USERS: dict[str, Users] = {
    "CTR 0.05": Users(rare_clicks, 0.05, 1, users=(10, 20, 50, 500)),
    "CTR 0.05, most users never click": Users(rare_clicks_of_few, 0.05, 1, users=(10, 20, 50, 500)),
    "heavy users, clicks": Users(heavy_users, 0.3, 1),
    "very heavy users, clicks": Users(whales, 0.3, 1),
    "95 % zeros": Users(
        lambda rng, n: _ones(np.where(rng.random(n) < 0.95, 0, rng.exponential(20, n))), 1.0, below=False,
        users=(30, 100, 500), arms=((100, 100), (500, 500), (90, 10), (900, 100), (4_500, 500)),
    ),
    "skewed values": Users(
        lambda rng, n: _ones(rng.lognormal(3, 1, n)), float(np.exp(3.5)), below=False,
        arms=((20, 20), (200, 200), (900, 100)),
    ),
    "normal values": Users(
        lambda rng, n: _ones(rng.normal(50, 10, n)), 50.0, below=False, arms=((10, 10), (100, 20), (900, 100))
    ),
}  # fmt: skip
"""Kinds of users."""
