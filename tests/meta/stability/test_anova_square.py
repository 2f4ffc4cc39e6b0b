"""The four analyses of variance of pairs: formulas by hand with scipy and statsmodels, brute force, and error rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.methods.anova_bootstrap import each_and_together
from cranfield.comparison.pair_tests import TestSettings
from cranfield.meta.stability.anova_square import anova_square, verdicts
from cranfield.scores.scores import Scores


@pytest.fixture
def values() -> np.ndarray:
    """topics × systems."""
    rng = np.random.default_rng(7)
    return np.asarray(rng.normal(0.4, 0.1, (30, 1)) + rng.normal(np.linspace(0, 0.1, 5), 0.08, (30, 5)))


def mean_square(values: np.ndarray) -> tuple[float, int]:
    left = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    df = (values.shape[0] - 1) * (values.shape[1] - 1)
    return float((left**2).sum()) / df, df


def by_hand(values: np.ndarray) -> list[list[bool]]:
    """Tukey's HSD and Benjamini & Hochberg's procedure on t with the pooled error, at 5 %."""
    error, df = mean_square(values)
    first, second = np.triu_indices(values.shape[1], 1)
    d = np.abs(values.mean(axis=0)[first] - values.mean(axis=0)[second])
    n, m = values.shape
    tukey = stats.studentized_range.sf(d / np.sqrt(error / n), m, df) <= 0.05
    t = 2 * stats.t.sf(d / np.sqrt(2 * error / n), df)
    return [tukey.tolist(), multipletests(t, 0.05, method="fdr_bh")[0].tolist()]


def test_the_classical_analyses_are_those_of_scipy_and_statsmodels(values: np.ndarray) -> None:
    ours = verdicts(values, TestSettings("two-sided", 0.05, 100, 1))
    assert (ours[0] != 0).tolist() == by_hand(values)


def test_the_range_of_resampled_normal_errors_is_nearly_tukeys(values: np.ndarray) -> None:
    matrix = Matrix(values, tuple(map(str, range(30))), tuple("abcde"))
    first, second = all_pairs(5)
    each, together = each_and_together(matrix, first, second, TestSettings("two-sided", 0.05, 20_000, 3))
    error, df = mean_square(values)
    d = np.abs(values.mean(axis=0)[first] - values.mean(axis=0)[second])
    tukey = stats.studentized_range.sf(d / np.sqrt(error / 30), 5, df)
    assert together == pytest.approx(tukey, abs=0.02)  # normal errors; the bootstrap does not studentise
    assert each == pytest.approx(2 * stats.t.sf(d / np.sqrt(2 * error / 30), df), abs=0.02)
    assert (together >= each).all()


def test_stability_is_that_of_a_loop_over_the_same_halves(values: np.ndarray) -> None:
    square = anova_square(Scores.from_matrix(values, measure="AP"), splits=4, resamples=50, seed=9)
    rng = np.random.default_rng([9, 0])
    rng.integers(2**63)
    counts = np.zeros((2, 3))
    for _ in range(4):
        order = rng.permutation(30)
        halves = [values[part] for part in (order[:15], order[15:])]
        for control in range(2):
            one, two = (by_hand(half)[control] for half in halves)
            signs = [
                [np.sign(half.mean(axis=0)[i] - half.mean(axis=0)[j]) for i in range(5) for j in range(i + 1, 5)]
                for half in halves
            ]
            for a, b, x, y in zip(one, two, *signs, strict=True):
                counts[control] += [a and b and x == y, a and b and x != y, a or b]
    assert square.both[0, 0] == pytest.approx(counts[:, 0] / counts[:, 2])
    assert square.opposite[0, 0] == pytest.approx(counts[:, 1] / counts[:, 2])
    assert square.one[0] == pytest.approx(1 - square.both[0] - square.opposite[0])
    assert square.found[0, 0].tolist() == [sum(each) for each in by_hand(values)]


def test_no_analysis_finds_differences_between_equal_systems_more_often_than_alpha() -> None:
    rng = np.random.default_rng(11)
    trials = 400
    alarms = np.zeros((2, 2))
    for trial in range(trials):
        data = rng.beta(1, 2, (25, 1)) + rng.normal(0, 0.1, (25, 6))
        alarms += (verdicts(data, TestSettings("two-sided", 0.05, 400, trial)) != 0).any(axis=2)
    # If no systems differ, every discovery is false, so both kinds of control hold any alarm to 5 %.
    assert (alarms / trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)).all()


def test_false_discovery_finds_no_fewer_pairs_than_family_wise(values: np.ndarray) -> None:
    square = anova_square(Scores.from_matrix(values, measure="AP"), splits=3, resamples=500)
    assert (square.found[..., 1] >= square.found[..., 0]).all()
    assert (square.half[..., 1] >= square.half[..., 0]).all()
