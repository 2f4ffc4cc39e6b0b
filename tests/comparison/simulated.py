"""Simulated scores, and a shortcut to test all their pairs."""

import math

import numpy as np

from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.pair_tests import TESTS, TestSettings

X = [0.5, 0.7, 0.3, 0.6, 0.4, 0.9, 0.2, 0.8]
Y = [0.4, 0.5, 0.3, 0.3, 0.3, 0.4, 0.4, 0.7]


def scores(n, m, seed=0, spread=0.0):
    """Beta-distributed scores, slightly correlated by topic; the means are spread over `spread`."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.beta(2, 3, (n, m)) * 0.8 + rng.beta(2, 3, (n, 1)) * 0.2 + np.linspace(0, spread, m), 0, 1)


def run(name, values, first=None, second=None, **settings):
    matrix = Matrix.of(values)
    if first is None:
        first, second = all_pairs(len(matrix.systems))
    return TESTS[name].run(matrix, first, second, TestSettings(**settings))


def within_binomial_error(rejected, alpha=0.05):
    share, error = np.mean(rejected), math.sqrt(alpha * (1 - alpha) / len(rejected))
    return abs(share - alpha) < 3.5 * error
