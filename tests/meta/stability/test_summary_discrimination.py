"""Summaries that are not means: each pair as the test of two samples has it, and a literal bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cranfield import Scores, UsageError
from cranfield.comparison import unpaired_bootstrap
from cranfield.meta.stability.discrimination import SUMMARIES, discriminative_power, summary_hits
from cranfield.scores.summary import statistic

RNG = np.random.default_rng(5)
VALUES = np.clip(RNG.beta(2, 3, (16, 1)) + np.array([0, 0.05, 0.2]) + RNG.normal(0, 0.1, (16, 3)), 0, 1)
FIRST, SECOND = np.array([0, 0, 1]), np.array([1, 2, 2])


@pytest.mark.parametrize("summary", SUMMARIES)
def test_hits_are_those_of_a_literal_bootstrap_with_the_same_draws(summary: str) -> None:
    difference, hits = summary_hits(VALUES, FIRST, SECOND, summary, worst=None, resamples=300, seed=3)
    drawn = np.random.default_rng(3).integers(32, size=(2, 300, 16))
    for pair, (i, j) in enumerate(zip(FIRST, SECOND, strict=True)):
        x, y = VALUES[:, i].tolist(), VALUES[:, j].tolist()

        def of(scores: list[float]) -> float:
            return float(statistic(np.array(scores), summary))

        assert difference[pair] == pytest.approx(of(x) - of(y))
        both = x + y
        count = 0
        for one, other in zip(*drawn, strict=True):
            gap = of([both[k] for k in one]) - of([both[k] for k in other])
            count += abs(gap) >= abs(of(x) - of(y)) - 1e-10
        assert hits[pair] == count


@pytest.mark.parametrize("summary", ["mean", "gmean", "median"])
def test_p_values_are_near_those_of_the_test_of_two_samples(summary: str) -> None:
    scores = Scores.from_matrix(VALUES, ["a", "b", "c"], measure="AP")
    if summary == "mean":
        _, hits = summary_hits(VALUES, FIRST, SECOND, "mean", worst=None, resamples=4_000, seed=0)
        p = (1 + hits) / 4_001
    else:
        p = discriminative_power(scores, statistic=summary, resamples=4_000).p[0]
    for pair, (i, j) in enumerate(zip(FIRST, SECOND, strict=True)):
        other = unpaired_bootstrap(VALUES[:, i], VALUES[:, j], summary=summary, resamples=4_000, seed=1).p
        assert abs(p[pair] - other) < 4 * math.sqrt(2 * max(other * (1 - other), 1e-3) / 4_000)


def test_discriminative_power_by_the_geometric_mean() -> None:
    scores = Scores.from_matrix(VALUES, ["a", "b", "c"], measure="AP")
    power = discriminative_power(scores, statistic="gmean", alpha=0.1)
    assert power.test == "unpaired-bootstrap"
    means = np.exp(np.log(np.maximum(VALUES, 1e-5)).mean(axis=0))
    assert power.difference[0] == pytest.approx(means[FIRST] - means[SECOND])
    assert power.delta[0] == pytest.approx(np.abs(power.difference[0][power.differ[0]]).min())
    assert "systems are compared by the geometric mean of their scores" in power.notes


def test_a_test_of_means_does_not_compare_medians() -> None:
    scores = Scores.from_matrix(VALUES, ["a", "b", "c"], measure="AP")
    with pytest.raises(UsageError, match="test == 't' compares means"):
        discriminative_power(scores, statistic="median", test="t")
    with pytest.raises(UsageError, match="worst == 3, must be left out unless statistic is 'area'"):
        discriminative_power(scores, worst=3)
    with pytest.raises(UsageError, match="worst == 17, must be from 2 to 16"):
        discriminative_power(scores, statistic="area", worst=17)
