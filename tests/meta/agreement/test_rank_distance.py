"""d_rank: the paired t statistic of two systems, and a general optimiser for more."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ttest_rel

from cranfield.errors import UsageError
from cranfield.meta.agreement.correlation import rank_distances
from cranfield.scores.scores import Scores


def made(values: np.ndarray) -> Scores:
    measures, runs, topics = values.shape
    return Scores([f"m{i}" for i in range(measures)], [f"r{i}" for i in range(runs)], map(str, range(topics)), values)


def test_for_two_systems_it_is_the_paired_t_statistic() -> None:
    rng = np.random.default_rng(0)
    first = np.sort(rng.random((2, 20)), axis=0)  # r1 is better on every topic
    values = np.stack([first, first[::-1]])
    result = rank_distances(made(values), shrink=0)
    assert result.values[0, 1] == pytest.approx(abs(ttest_rel(first[0], first[1]).statistic))
    assert result.values[0, 0] == 0


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_distance_to_the_nearest_means_with_the_ranking(seed: int) -> None:
    values = np.random.default_rng(seed).random((2, 5, 20))
    means = values[0].mean(axis=1)
    inverse = np.linalg.inv(np.cov(values[0]) / 20)
    order = np.argsort(-values[1].mean(axis=1))
    ranked = [{"type": "ineq", "fun": lambda mu, i=i: mu[order[i]] - mu[order[i + 1]]} for i in range(4)]
    start = np.empty(5)
    start[order] = np.sort(means)[::-1]
    best = minimize(
        lambda mu: (means - mu) @ inverse @ (means - mu), start, constraints=ranked, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1_000},
    )  # fmt: skip
    assert rank_distances(made(values), shrink=0).values[0, 1] ** 2 == pytest.approx(best.fun, rel=1e-5)


def test_it_is_0_exactly_if_the_rankings_agree() -> None:
    base = np.random.default_rng(1).random((6, 10))
    result = rank_distances(made(np.stack([base, 3 * base + 1, -base])))
    assert result.values[0, 1] == result.values[1, 0] == 0
    assert result.values[0, 2] > 0


def test_it_does_not_depend_on_the_unit_of_the_scores() -> None:
    values = np.random.default_rng(2).random((2, 6, 15))
    scaled = values * np.array([1_000.0, 1.0])[:, None, None]
    assert rank_distances(made(scaled)).values == pytest.approx(rank_distances(made(values)).values)


def test_a_swap_that_topics_do_not_support_is_nearer_than_one_they_do() -> None:
    rng = np.random.default_rng(3)
    topics = rng.random(30)
    # a and b nearly the same everywhere, c far below on every topic.
    scores = np.stack([topics + 0.01 + rng.normal(0, 0.05, 30), topics + rng.normal(0, 0.05, 30), topics - 0.5])
    swapped_close, swapped_far = scores[[1, 0, 2]], scores[[0, 2, 1]]
    result = rank_distances(made(np.stack([scores, swapped_close, swapped_far])), shrink=0)
    assert result.values[0, 1] < result.values[0, 2]


def test_more_systems_than_topics_need_the_shrinkage() -> None:
    values = np.random.default_rng(4).random((2, 12, 6))
    result = rank_distances(made(values))
    assert np.isfinite(result.values).all()
    assert (result.shrinkage > 0).all()
    assert "12 systems, 6 topics; covariances shrunk by" in result.notes[-1]


def test_scores_without_variance_in_the_wrong_order_are_infinitely_far() -> None:
    constant = np.repeat([[0.3], [0.2], [0.1]], 5, axis=1)
    result = rank_distances(made(np.stack([constant, constant[::-1]])))
    assert math.isinf(result.values[0, 1])


def test_table_and_columns_leave_out_the_diagonal() -> None:
    result = rank_distances(made(np.random.default_rng(5).random((3, 4, 9))))
    assert len(result.columns()["d_rank"]) == 6
    assert result.table().rows[1][2] is None
    assert "scores by" in str(result)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="1 topic"):
        rank_distances(made(np.random.default_rng(0).random((2, 3, 1))))
    with pytest.raises(UsageError, match="shrink == 2"):
        rank_distances(made(np.random.default_rng(0).random((2, 3, 4))), shrink=2)
