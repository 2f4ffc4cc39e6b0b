"""Variances for planning experiments: arithmetic, identities, and scores without variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield.comparison.power.designs import estimated_variance, pooled_variance
from cranfield.comparison.power.topic_set_size import achieved_power, topic_set_size
from cranfield.errors import UsageError
from tests.comparison.power.test_power import matrix


def test_variances_by_hand() -> None:
    """Systems' means 0.3 and 0.5, topics' 0.25 and 0.55, all 0.4.

    One-way: deviations ±0.1 and ±0.2, (2 · 0.01 + 2 · 0.04) / (2 · 1) = 0.05. Two-way: 0.2 − 0.3 − 0.25 + 0.4 = 0.05,
    ±0.05 four times, 4 · 0.0025 / (1 · 1) = 0.01.
    """
    scores = [[0.2, 0.3], [0.4, 0.7]]
    assert estimated_variance(scores, model="one-way").value == pytest.approx(0.05)
    assert estimated_variance(scores, model="two-way").value == pytest.approx(0.01)


def test_the_variance_of_differences_is_that_of_all_pairs_on_average() -> None:
    scores = matrix()
    pairs = [np.var(scores[:, i] - scores[:, j], ddof=1) for i in range(5) for j in range(i)]
    two_way = estimated_variance(scores)
    assert two_way.differences().value == pytest.approx(np.mean(pairs))
    assert two_way.differences().differences() == two_way.differences()
    assert estimated_variance(scores, model="one-way").differences().value > np.mean(pairs)  # a bound


def test_pooling_weighs_by_topics() -> None:
    small, large = matrix(10, 3, 1), matrix(40, 6, 2)
    a, b = (estimated_variance(scores, model="one-way").value for scores in (small, large))
    pooled = pooled_variance({"small": small, "large": large}, model="one-way")
    assert pooled.value == pytest.approx((9 * a + 39 * b) / 48)
    assert "2 collections (3 systems on 10 topics; 6 systems on 40 topics)" in str(pooled)
    assert "10 topics are few" in " ".join(pooled.notes)
    with pytest.raises(UsageError, match="no collections"):
        pooled_variance([])


def test_undefined_topics_are_left_out_with_a_note() -> None:
    scores = matrix()
    holed = scores.copy()
    holed[3, 1] = np.nan
    answer = topic_set_size(holed, difference=0.05)
    assert answer.ground.value == pytest.approx(2 * estimated_variance(np.delete(scores, 3, axis=0)).value)
    assert any("1 of 30 topics left out" in note for note in answer.notes)


def test_the_power_of_the_worst_and_the_best_tenth_of_pairs_is_printed() -> None:
    scores = np.random.default_rng(4).normal(0, 1, (40, 12)) * np.linspace(0.05, 0.5, 12)
    pairs = [np.var(scores[:, i] - scores[:, j], ddof=1) for i in range(12) for j in range(i)]
    answer = topic_set_size(scores, difference=0.1)
    expected = [
        achieved_power(difference=0.1, size=answer.topics, variance=float(np.quantile(pairs, q))).power
        for q in (0.9, 0.1)
    ]
    assert answer.range == pytest.approx(tuple(expected))
    assert any(f"the power is {answer.range[0]:.3f} or less" in note for note in answer.notes)
    # Two systems have one variance, which is s² · 39 / χ² with probability 0.8.
    low, high = estimated_variance(scores[:, :2]).range
    half = np.var(scores[:, 0] - scores[:, 1], ddof=1) / 2
    assert (low, high) == pytest.approx(tuple(half * 39 / stats.chi2(39).ppf([0.9, 0.1])))


def test_a_variance_that_is_given_has_no_range() -> None:
    assert topic_set_size(difference=0.1, variance=0.05).notes == ()


@pytest.mark.parametrize("scores", [[[0.1, 0.1], [0.3, 0.3], [0.7, 0.7]], [[0.1, 0.2], [0.3, 0.4], [0.7, 0.8]]])
def test_systems_that_vary_in_the_same_way_raise_an_error(scores: Any) -> None:
    with pytest.raises(UsageError, match="all systems vary in the same way over topics"):
        topic_set_size(scores, difference=0.1)


def test_one_system_has_a_variance_of_scores_only() -> None:
    single_system = matrix(30, 1)
    assert estimated_variance(single_system, model="one-way").value == pytest.approx(np.var(single_system, ddof=1))
    with pytest.raises(UsageError, match="1 system, the two-way model needs 2 or more"):
        topic_set_size(single_system, difference=0.1)
    assert topic_set_size(single_system, difference=0.1, test="unpaired").topics > 2
    bound = estimated_variance(single_system, model="one-way")
    assert "at most, estimated from 1 system on 30 topics" in str(topic_set_size(variance=bound, difference=0.1))
