"""Intervals of means against beta distributions, simulated weights, and scipy's t."""

import numpy as np
import pytest
import scipy.stats

from cranfield import Scores
from cranfield.scores.mean_intervals import range_interval, skew_interval


@pytest.mark.parametrize(("n", "k"), [(5, 0), (5, 2), (25, 1), (25, 25), (100, 33)])
def test_the_interval_of_shares_has_the_ends_of_beta_distributions(n: int, k: int) -> None:
    """The weights of the topics that score 1 sum to a beta variable, with half a topic on the other side."""
    low, high = range_interval(np.repeat([1.0, 0.0], [k, n - k])[None], 0, 1, 0.95)
    expected_low = scipy.stats.beta(k, n - k + 0.5).ppf(0.025) if k else 0.0
    expected_high = scipy.stats.beta(k + 0.5, n - k).ppf(0.975) if k < n else 1.0
    assert (low[0], high[0]) == pytest.approx((expected_low, expected_high), abs=0.15 / (n + 1))


def test_the_interval_is_that_of_simulated_weights() -> None:
    """40,000 draws: the error of a quantile is about 1 % of the width."""
    rng = np.random.default_rng(3)
    x = np.array([0.0, 0.1, 0.1, 0.25, 0.4, 0.9])
    weights = rng.dirichlet([1, 1, 1, 1, 1, 1, 0.5], size=40_000)
    low, high = range_interval(x[None], -1, 2, 0.9)
    assert low[0] == pytest.approx(np.quantile(weights @ np.append(x, -1), 0.05), abs=0.015)
    assert high[0] == pytest.approx(np.quantile(weights @ np.append(x, 2), 0.95), abs=0.015)


def test_a_change_of_units_changes_the_ends_with_it() -> None:
    x = np.array([[0.2, 0.3, 0.9, np.nan, 0.0]])
    low, high = range_interval(x, 0, 1, 0.95)
    assert np.array(range_interval(5 - 10 * x, -5, 5, 0.95)) == pytest.approx(np.array([5 - 10 * high, 5 - 10 * low]))


def test_topics_that_all_score_1_do_not_give_a_point() -> None:
    scores = Scores.from_matrix(np.ones((25, 1)), runs=["a"], measure="Success@5").summary()["Success@5", "a"]
    assert scores.low < 0.91
    assert scores.high == 1


def test_symmetric_scores_without_a_range_have_students_interval() -> None:
    x = np.array([-3.0, -1.0, 0.0, 1.0, 3.0]) + 7
    low, high = skew_interval(x[None], 0.95)
    assert (low[0], high[0]) == pytest.approx(scipy.stats.ttest_1samp(x, 0).confidence_interval(), rel=1e-9)


def test_halls_transformation_of_an_end_is_students_quantile() -> None:
    """g(T) = T + γ(2T² + 1)/(6√n) + γ²T³/(27n), with T from the high end, is −t."""
    x = np.array([0.0, 0.2, 0.3, 1.0, 4.0, 11.0])
    n, spread = len(x), x.std(ddof=1)
    gamma = ((x - x.mean()) ** 3).mean() / spread**3
    t = (x.mean() - skew_interval(x[None], 0.95)[1][0]) / (spread / np.sqrt(n))
    transformed = t + gamma * (2 * t**2 + 1) / (6 * np.sqrt(n)) + gamma**2 * t**3 / (27 * n)
    assert transformed == pytest.approx(scipy.stats.t(n - 1).ppf(0.025), rel=1e-9)


def test_a_measure_without_a_range_says_what_its_interval_lacks() -> None:
    def notes(*scores: float) -> str:
        return "".join(Scores.from_matrix(np.array(scores)[:, None], runs=["a"], measure="DCG").summary().notes)

    assert notes(*[2.0] * 30) == "DCG of a has no interval: all 30 topics score the same"
    assert "28 of 30 topics score the same" in notes(*[0.0] * 28, 3.0, 4.0)
    assert notes(*np.linspace(1, 5, 30)) == ""
