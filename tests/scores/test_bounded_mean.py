"""The interval of a mean of bounded scores: beside Clopper and Pearson, and beside random weights."""

import numpy as np
import pytest
from scipy.stats import binomtest

from cranfield.scores.bounded_mean import bounded_intervals, bounded_p, few_carry
from cranfield.scores.mean_intervals import range_tail


@pytest.mark.parametrize("ones", [0, 1, 7, 20])
def test_scores_of_0_and_1_have_the_interval_of_clopper_and_pearson(ones: int) -> None:
    scores = (np.arange(20) < ones).astype(float)[None]
    low, high = bounded_intervals(scores, np.zeros(1), np.ones(1), 0.9)
    expected = binomtest(ones, 20).proportion_ci(0.9)
    assert (low.item(), high.item()) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_ends_are_quantiles_of_randomly_weighted_means_and_agree_with_p() -> None:
    rng = np.random.default_rng(0)
    scores = np.array([[0.0, 0.0, 0.0, 0.3, np.nan, -0.1, 0.3, 0.7]])
    low, high = bounded_intervals(scores, -np.ones(1), np.ones(1), 0.8)
    weights = rng.dirichlet(np.ones(8), 100_000)
    known = weights[:, :7] @ scores[0, [0, 1, 2, 3, 5, 6, 7]]
    assert high.item() == pytest.approx(np.quantile(known + weights[:, 7], 0.9), abs=0.004)
    assert low.item() == pytest.approx(np.quantile(known - weights[:, 7], 0.1), abs=0.004)
    assert bounded_p(scores, -np.ones(1), np.ones(1), high.item()).item() == pytest.approx(0.2, abs=1e-6)


def test_one_row_has_the_interval_that_it_has_among_many() -> None:
    scores = np.where(np.random.default_rng(1).random((30, 12)) < 0.7, 0, 0.4)
    many = bounded_intervals(scores, -np.ones(30), np.ones(30), 0.95)
    alone = bounded_intervals(scores[4:5], -np.ones(1), np.ones(1), 0.95)
    assert [end[4] for end in many] == pytest.approx([end[0] for end in alone], abs=1e-8)


def test_few_topics_carry_scores_that_are_mostly_0_but_not_normal_ones() -> None:
    rng = np.random.default_rng(2)
    assert not few_carry(rng.normal(size=(20, 30))).any()
    assert few_carry(np.where(np.arange(30) < 4, rng.random((20, 30)), 0)).all()


def test_the_bound_of_the_gate_is_near_the_exact_one() -> None:
    # The gate takes a saddlepoint approximation of the same interval, which takes time n instead of n².
    rng = np.random.default_rng(2)
    for topics in (6, 25, 80):
        scores = 0.02 + np.where(rng.random(topics) < 0.1, rng.normal(0, 0.2, topics), 0)
        p, low = range_tail(scores, -1.0, 0.05)
        exact, _ = bounded_intervals(scores[None], -np.ones(1), np.ones(1), 0.9)
        assert low == pytest.approx(exact.item(), abs=0.003)
        assert p == pytest.approx(one_sided_p(scores), abs=0.01)


def one_sided_p(scores: np.ndarray) -> float:
    """By random weights: how often is the weighted mean of the scores and of -1 below 0?"""
    weights = np.random.default_rng(3).dirichlet(np.ones(len(scores) + 1), 40_000)
    return float((weights @ np.append(scores, -1.0) <= 0).mean())
