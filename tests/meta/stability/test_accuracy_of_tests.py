"""Tests of tests: against scipy experiment by experiment, against the known power of t, and in plain cases."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from cranfield import Scores, UsageError
from cranfield.comparison.data import Matrix
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.meta.stability.accuracy_of_tests import OUTCOMES, accuracy_of_tests, equal_systems, p_values, two_halves

RNG = np.random.default_rng(8)
EASE = RNG.beta(2, 3, (44, 1))
BETTER = np.array([0, 0.02, 0.1, 0.3])
SCORES = Scores.from_matrix(np.clip(EASE + BETTER + RNG.normal(0, 0.1, (44, 4)), 0, 1), measure="AP")


def within(share: float, expected: float, experiments: int) -> bool:
    """Is the share within four standard errors?"""
    return abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / experiments)


@pytest.mark.parametrize("truth", ["swap", "shift"])
def test_rates_are_those_of_scipy_experiment_by_experiment(truth: str) -> None:
    result = accuracy_of_tests(SCORES, tests="t", truth=truth, simulations=150, seed=5)
    rng = np.random.default_rng([5, 0, 0])  # the first batch of the first measure
    values = SCORES.values[0]
    equal = equal_systems(values, rng, 150, 44, truth)
    first, second = two_halves(values, rng, 150)
    assert result.type_1[0, 0] == np.mean(stats.ttest_rel(equal[..., 0], equal[..., 1], axis=1).pvalue <= 0.05)
    moved = stats.ttest_rel(equal[..., 0] + 0.05, equal[..., 1], axis=1)
    assert result.power[0, 0] == np.mean(moved.pvalue <= 0.05)

    here, there = (stats.ttest_rel(half[..., 0], half[..., 1], axis=1) for half in (first, second))
    found = here.pvalue <= 0.05
    same = np.sign(here.statistic) == np.sign(there.statistic)
    assert result.significant[0, 0] == found.mean()
    again = there.pvalue <= 0.05
    expected = [(found & case).sum() / found.sum() for case in (same & again, same & ~again, ~same & ~again)]
    assert result.outcomes[:3, 0, 0] == pytest.approx(expected)
    assert result.outcomes[:, 0, 0].sum() == pytest.approx(1)


def test_the_power_of_t_on_normal_scores_is_that_of_the_noncentral_t() -> None:
    n, deviation, experiments = 30, 0.15, 2_000
    values = np.random.default_rng(1).normal(0.5, deviation / math.sqrt(2), (5_000, 2))
    result = accuracy_of_tests(
        Scores.from_matrix(values, measure="AP"), tests="t", truth="shift", size=n, difference=0.06,
        simulations=experiments,
    )  # fmt: skip
    away = 0.06 / (np.diff(values).std() / math.sqrt(n))
    limit = stats.t.ppf(0.975, n - 1)
    power = stats.nct.sf(limit, n - 1, away) + stats.nct.cdf(-limit, n - 1, away)
    assert within(float(result.power[0, 0]), float(power), experiments)
    assert within(float(result.type_1[0, 0]), 0.05, experiments)


def test_systems_that_are_swapped_at_random_are_found_different_no_more_often_than_alpha() -> None:
    tests = ["t", "randomisation", "wilcoxon", "sign"]
    result = accuracy_of_tests(SCORES, tests=tests, simulations=1_000, resamples=399, alpha=0.1)
    assert within(float(result.type_1[0, 1]), 0.1, 1_000)
    assert (result.type_1 < 0.1 + 4 * math.sqrt(0.1 * 0.9 / 1_000)).all()


def test_a_difference_of_means_is_no_difference_of_medians() -> None:
    """Nine differences of 0.02 and one of -0.18 have mean 0: t is right to find nothing, and the sign test is not."""
    difference = np.tile([0.02] * 9 + [-0.18], 5) + np.random.default_rng(0).normal(0, 0.002, 50)
    values = np.stack([0.5 + difference, np.full(50, 0.5)], axis=1)
    shifted = accuracy_of_tests(Scores.from_matrix(values), tests=["t", "sign"], truth="shift", simulations=400)
    assert shifted.type_1[0, 0] < 0.2
    assert shifted.type_1[0, 1] > 0.9


def test_halves_of_the_topics_agree_on_a_clear_difference() -> None:
    values = np.stack([EASE[:, 0] + 0.2, EASE[:, 0]], axis=1) + RNG.normal(0, 0.01, (44, 2))
    result = accuracy_of_tests(Scores.from_matrix(values), tests="t", simulations=50)
    assert result.significant.tolist() == [[1.0]]
    assert dict(zip(OUTCOMES, result.outcomes[:, 0, 0].tolist(), strict=True)) == {
        "success": 1, "lack of power": 0, "minor conflict": 0, "major conflict": 0,
    }  # fmt: skip


@pytest.mark.parametrize("test", sorted(TESTS))
def test_an_experiment_does_not_depend_on_the_others(test: str) -> None:
    data = np.random.default_rng(3).beta(2, 3, (6, 25, 2))
    chosen, settings = TESTS.find(test), TestSettings(resamples=199)
    pair = np.array([0]), np.array([1])
    alone = [chosen.run(Matrix.of(experiment), *pair, settings).p[0] for experiment in data]
    assert p_values(chosen, data, settings) == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("test", sorted(TESTS))
def test_every_test_of_the_registry_can_be_tested_and_the_seed_decides(test: str) -> None:
    options = {"simulations": 12, "resamples": 99, "size": 15}
    results = [accuracy_of_tests(SCORES, tests=test, seed=seed, **options) for seed in (1, 1, 2)]  # type: ignore[arg-type]
    assert results[0].to_json() == results[1].to_json()
    assert 0 <= results[0].power[0, 0] <= 1


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    accuracy_of_tests(
        SCORES, tests=["t", "sign"], simulations=450, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(i, 6) for i in range(1, 7)]


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(UsageError, match="truth == 'known', must be one of 'swap', 'shift'"):
        accuracy_of_tests(SCORES, truth="known")
    with pytest.raises(UsageError, match="3 topics, must be 4 or more"):
        accuracy_of_tests(Scores.from_matrix(np.ones((3, 2)) / [2, 3]))
    with pytest.raises(UsageError, match="tests is empty"):
        accuracy_of_tests(SCORES, tests=[])


def test_a_model_draws_both_systems_from_one_distribution_with_the_correlation_of_the_pair() -> None:
    rng = np.random.default_rng(2)
    normal = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 4_000)
    values = np.stack([stats.beta.ppf(stats.norm.cdf(normal[:, 0]), 2, 3), 0.5 + 0.1 * normal[:, 1]])
    drawn = equal_systems(values, np.random.default_rng(3), 400, 50, "model")
    for experiment in range(2):  # each system is the first of about half of the pairs
        of_beta = drawn[drawn.std(axis=(1, 2)) > 0.15]
        assert len(of_beta) > 100
        assert stats.kstest(of_beta[..., experiment].ravel(), stats.beta(2, 3).cdf).pvalue > 1e-4
    r = stats.spearmanr(of_beta[..., 0].ravel(), of_beta[..., 1].ravel()).statistic
    assert r == pytest.approx(stats.spearmanr(*values).statistic, abs=0.03)


def test_systems_of_a_model_are_found_different_as_often_as_alpha() -> None:
    result = accuracy_of_tests(SCORES, tests=["t", "randomisation"], truth="model", simulations=1_000, resamples=399)
    assert within(float(result.type_1[0, 0]), 0.05, 1_000)
    assert within(float(result.type_1[0, 1]), 0.05, 1_000)


def test_agreement_counts_equal_decisions() -> None:
    result = accuracy_of_tests(SCORES, tests=["t", "wilcoxon"], simulations=150, seed=5)
    rng = np.random.default_rng([5, 0, 0])
    values = SCORES.values[0]
    equal_systems(values, rng, 150, 44, "swap")
    half, _ = two_halves(values, rng, 150)
    by_t = stats.ttest_rel(half[..., 0], half[..., 1], axis=1).pvalue <= 0.05
    by_rank = np.array([stats.wilcoxon(*pair.T, method="exact").pvalue <= 0.05 for pair in half])
    assert result.agreement[0, 0, 1] == result.agreement[0, 1, 0] == np.mean(by_t == by_rank)
    assert result.agreement[0].diagonal().tolist() == [1, 1]
    assert result.agreements()["agreement"].tolist() == [result.agreement[0, 0, 1]]


def test_the_best_test_is_the_most_powerful_one_that_keeps_its_type_1_error() -> None:
    result = accuracy_of_tests(SCORES, tests=["sign", "t"], simulations=300)
    best = result.best()
    assert best["best test"].tolist() == ["t"]
    assert best["power"].tolist() == [result.power[0].max()]
    wrong = dataclasses.replace(result, type_1=np.array([[0.05, 0.2]]))
    assert wrong.best()["best test"].tolist() == ["sign"]
    assert dataclasses.replace(result, type_1=np.array([[0.3, 0.2]])).best()["best test"].tolist() == ["none"]
