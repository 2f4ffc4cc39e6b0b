"""Tests for the max-t test of all pairs: a literal version over all signs, missing scores, no variance."""

from itertools import product

import numpy as np
from scipy import stats

from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.methods.simultaneous_resampling import max_t_of_pairs
from cranfield.comparison.pair_tests import TestSettings


def scores(seed: int, topics: int, systems: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, (topics, systems)) * np.linspace(0.2, 2, systems)


def literal_h(z: np.ndarray) -> np.ndarray:
    """Return |h| of each column: Student's t by scipy, with the polynomial of Hall (1992)."""
    n, skew = len(z), stats.skew(z, axis=0)
    t = stats.ttest_1samp(z, 0, axis=0).statistic
    return np.abs(t + skew * t**2 / (3 * np.sqrt(n)) + skew**2 * t**3 / (27 * n) + skew / (6 * np.sqrt(n)))


def test_p_counts_the_largest_corrected_t_of_all_pairs_over_all_signs() -> None:
    values = scores(1, 8, 4)
    values[:, 0] += 1.5
    first, second = all_pairs(4)
    z = values[:, first] - values[:, second]
    largest = np.array([literal_h(z * np.array(signs)[:, None]).max() for signs in product((1, -1), repeat=8)])
    tests = max_t_of_pairs(Matrix.of(values), first, second, TestSettings())
    assert tests.exact
    np.testing.assert_allclose(tests.p, [(largest >= h * (1 - 1e-9)).mean() for h in literal_h(z)])
    # At the ends of an interval, the corrected t is the critical one, of differences minus their means.
    z0 = z - z.mean(axis=0)
    centred = np.array([literal_h(z0 * np.array(signs)[:, None]).max() for signs in product((1, -1), repeat=8)])
    critical = max(np.sort(part)[::-1][int(0.05 * 256) - 1] for part in (largest, centred))
    assert (tests.p <= 0.05).any()
    assert (tests.p[(tests.low > 0) | (tests.high < 0)] <= 0.05).all()
    np.testing.assert_allclose(literal_h(z - tests.low), critical)
    np.testing.assert_allclose(literal_h(z - tests.high), critical)


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
    z = values[:, first] - values[:, second]

    def bounded(signs: np.ndarray) -> list[float]:
        found = []
        for column in (z * signs[:, None]).T:
            kept = column[~np.isnan(column)]
            h = literal_h(kept[:, None])[0]
            found.append(np.sqrt(len(kept)) * h / np.sqrt(len(kept) - 1 + h * h))
        return found

    largest = np.array([max(bounded(np.array(signs))) for signs in product((1, -1), repeat=9)])
    np.testing.assert_allclose(tests.p, [(largest >= v - 1e-9).mean() for v in bounded(np.ones(9))])
