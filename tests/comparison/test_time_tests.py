"""Times on a logarithmic scale, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield import UsageError
from cranfield.comparison.time_tests import compare_times
from cranfield.scores.efficiency import front_stability
from cranfield.scores.scores import Scores

RNG = np.random.default_rng(6)
SECONDS = np.exp(RNG.normal(-2, 1, (1, 15)) + np.array([[0.0], [0.3], [-0.2]]) + RNG.normal(0, 0.4, (3, 15)))
TIMES = {
    run: dict(zip(map(str, range(15)), row.tolist(), strict=True)) for run, row in zip("abc", SECONDS, strict=True)
}


def test_ratios_intervals_and_p_values_are_those_of_the_paired_t_test_of_logarithms() -> None:
    result = compare_times(TIMES, correction="none")
    for k in range(3):
        slower, faster = (SECONDS["abc".index(names[k])] for names in (result.slower, result.faster))
        expected = stats.ttest_rel(np.log(slower), np.log(faster))
        interval = expected.confidence_interval(0.95)
        assert result.ratio[k] == pytest.approx(stats.gmean(slower / faster))
        assert result.ratio[k] >= 1
        assert result.p[k] == pytest.approx(expected.pvalue)
        assert (result.low[k], result.high[k]) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_topics_without_a_time_of_every_run_are_left_out() -> None:
    fewer = {**TIMES, "a": {topic: value for topic, value in TIMES["a"].items() if topic != "3"}}
    result = compare_times(fewer)
    assert result.topics == 14
    assert "1 topic without a time of every run left out: 3" in result.notes


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"a": {"1": 1.0, "2": 1.0}}, "1 run with times, must be 2 or more"),
        ({"a": {"1": 1.0, "2": 1.0}, "b": {"1": 1.0}}, "1 topic, must be 2 or more"),
        ({"a": {"1": 1.0, "2": 0.0}, "b": {"1": 1.0, "2": 1.0}}, "'a' has a time of 0 s on topic '2', must be above 0"),
    ],
)
def test_times_that_cannot_be_compared_are_refused(times: dict[str, dict[str, float]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare_times(times)


def test_intervals_over_topics_are_the_percentile_bootstrap_with_the_same_draws() -> None:
    values = np.clip(0.4 + RNG.normal(0, 0.2, (15, 3)), 0, 1)
    scores = Scores.from_matrix(values, list("abc"), list(map(str, range(15))), measure="AP")
    result = front_stability(scores, TIMES, time="median", resamples=300, seed=9)
    rng = np.random.default_rng(9)
    drawn = np.concatenate([rng.integers(15, size=(200, 15)), rng.integers(15, size=(100, 15))])
    means = np.array([values[topics].mean(axis=0) for topics in drawn])
    medians = np.array([np.median(SECONDS[:, topics], axis=1) for topics in drawn])
    assert result.effectiveness_low[0] == pytest.approx(np.quantile(means, 0.025, axis=0))
    assert result.seconds_high == pytest.approx(np.quantile(medians, 0.975, axis=0))
    beaten = [
        [any((m[o] >= m[r] and c[o] <= c[r]) and (m[o] > m[r] or c[o] < c[r]) for o in range(3)) for r in range(3)]
        for m, c in zip(means, medians, strict=True)
    ]
    assert result.share[0] == pytest.approx(1 - np.mean(beaten, axis=0))


def test_a_run_without_times_is_refused() -> None:
    scores = Scores.from_matrix([[0.1, 0.2], [0.2, 0.3]], ["a", "z"], ["1", "2"], measure="AP")
    with pytest.raises(UsageError, match="on 0 of 2 topics, must be 2 or more"):
        front_stability(scores, TIMES)


def test_intervals_of_several_pairs_hold_together_and_the_note_says_so() -> None:
    result = compare_times(TIMES)
    assert "at level 0.95, for all 3 pairs together" in result.notes[0]
    slower, faster = (np.log(SECONDS["abc".index(runs[0])]) for runs in (result.slower, result.faster))
    difference = slower - faster
    half = stats.t.ppf(1 - 0.05 / 3 / 2, 14) * difference.std(ddof=1) / np.sqrt(15)  # Bonferroni over three pairs
    assert result.low[0] == pytest.approx(np.exp(difference.mean() - half))
    assert result.high[0] == pytest.approx(np.exp(difference.mean() + half))
