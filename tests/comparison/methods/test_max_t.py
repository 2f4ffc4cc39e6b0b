"""Tests for the max-t test of all pairs: a literal version, exact enumeration, two systems, missing scores."""

from itertools import product

import numpy as np
import pytest

from cranfield import comparison
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.methods.max_t import max_t_of_pairs
from cranfield.comparison.registry import TestSettings


def scores(seed: int, topics: int, systems: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, (topics, systems)) * np.linspace(0.2, 2, systems)


def literal_t(z: np.ndarray) -> np.ndarray:
    """Return |t| of each column."""
    with np.errstate(divide="ignore"):
        return np.abs(z.mean(axis=0)) / (z.std(axis=0, ddof=1) / np.sqrt(len(z)))


def test_p_counts_the_largest_t_of_all_pairs_over_all_signs() -> None:
    values = scores(1, 8, 4)
    values[:, 0] += 1.5
    first, second = all_pairs(4)
    z = values[:, first] - values[:, second]
    largest = np.array([literal_t(z * np.array(signs)[:, None]).max() for signs in product((1, -1), repeat=8)])
    tests = max_t_of_pairs(Matrix.of(values), first, second, TestSettings())
    assert tests.exact
    np.testing.assert_allclose(tests.p, [(largest >= t * (1 - 1e-9)).mean() for t in literal_t(z)])
    # The interval contains 0 exactly if p is above α, and its half-width is a critical t times the standard error.
    assert ((tests.low > 0) | (tests.high < 0)).tolist() == (tests.p <= 0.05).tolist()
    half = (tests.high - tests.low) / 2 / (z.std(axis=0, ddof=1) / np.sqrt(8))
    np.testing.assert_allclose(half, np.sort(largest)[::-1][int(0.05 * 256) - 1])


def test_two_systems_are_compared_as_by_the_randomisation_test() -> None:
    # The sum of squares does not change with signs, so t and the sum of differences have the same order.
    for topics in (6, 10, 13):
        values = scores(topics, topics, 2)
        found = comparison.compare(values, test="max-t")
        assert found.families[0].tests.p == pytest.approx(comparison.randomisation(values[:, 0], values[:, 1]).p)


def test_drawn_signs_come_close_to_all_signs() -> None:
    values = scores(3, 12, 5)
    values[:, 4] += 2
    first, second = all_pairs(5)
    exact = max_t_of_pairs(Matrix.of(values), first, second, TestSettings(resamples=10_000))
    drawn = max_t_of_pairs(Matrix.of(values), first, second, TestSettings(resamples=2_000))
    assert exact.exact
    assert not drawn.exact
    np.testing.assert_allclose(drawn.p, exact.p, atol=4 * 0.5 / np.sqrt(2_000))


def test_pairs_without_variance_have_a_p_value_and_no_interval() -> None:
    values = scores(5, 10, 3)
    values[:, 1] = values[:, 0]  # no difference
    values[:, 2] = values[:, 0] + 0.5  # the same difference on every topic
    tests = max_t_of_pairs(Matrix.of(values), *all_pairs(3), TestSettings())
    assert tests.p.tolist() == [1.0, 2 / 2**10, 2 / 2**10]  # only the observed signs and their opposites reach it
    assert np.isnan(tests.low).all()
    assert "the difference is the same on every topic in 3 pairs: no interval" in tests.notes


def test_missing_topics_are_left_out_of_the_pairs_that_miss_them() -> None:
    values = scores(7, 9, 3)
    values[0, 2] = np.nan
    first, second = all_pairs(3)
    tests = max_t_of_pairs(Matrix.of(values), first, second, TestSettings())
    assert tests.n.tolist() == [9, 8, 8]
    z = np.nan_to_num(values[:, first] - values[:, second])
    u = np.array([np.abs((z * np.array(s)[:, None]).sum(axis=0)) for s in product((1, -1), repeat=9)])
    u = u / np.sqrt((z**2).sum(axis=0))
    np.testing.assert_allclose(tests.p, [(u.max(axis=1) >= v - 1e-9).mean() for v in u[0]])
