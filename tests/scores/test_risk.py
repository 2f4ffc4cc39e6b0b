"""Risk against a baseline, compared with arithmetic by hand and with loops over the definitions."""

from __future__ import annotations

import math
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import Scores, UsageError

MATRIX = [[0.4, 0.5, 0.0], [0.4, 0.2, 0.3], [0.1, 0.9, 0.1]]  # a row per topic: base, new, odd
SCORES = Scores.from_matrix(MATRIX, runs=["base", "new", "odd"], measure="AP")


def test_urisk_counts_losses_more() -> None:
    # new - base: +0.1, -0.2, +0.8; with alpha 1 the loss counts twice: (0.1 - 0.4 + 0.8) / 3
    risk = SCORES.risk("URisk", "base").to_dict()
    assert risk["new"]["AP"] == pytest.approx(0.5 / 3)
    assert risk["base"]["AP"] == 0.0
    assert SCORES.risk("URisk", "base", alpha=0).to_dict()["new"]["AP"] == pytest.approx(0.7 / 3)


def test_trisk_is_the_t_statistic_of_the_weighed_differences() -> None:
    weighed = [0.1, -0.4, 0.8]
    expected = mean(weighed) / (stdev(weighed) / math.sqrt(3))
    risk = SCORES.risk("TRisk", "base").to_dict()
    assert risk["new"]["AP"] == pytest.approx(expected)
    assert math.isnan(risk["base"]["AP"])  # all differences are 0


matrices = st.integers(2, 4).flatmap(
    lambda runs: st.lists(st.lists(st.floats(0, 1), min_size=runs, max_size=runs), min_size=1, max_size=5)
)


@given(matrices, st.floats(0, 5))
def test_georisk_follows_its_definition(matrix: list[list[float]], alpha: float) -> None:
    runs, topics = len(matrix[0]), len(matrix)
    risks = Scores.from_matrix(matrix).risk("GeoRisk", alpha=alpha).values[0]
    total = sum(map(sum, matrix))
    if total == 0:
        assert np.isnan(risks).all()
        return
    for i in range(runs):
        z = 0.0
        for row in matrix:
            expected = sum(r[i] for r in matrix) * sum(row) / total
            if expected > 0:
                part = (row[i] - expected) / math.sqrt(expected)
                z += part if part > 0 else (1 + alpha) * part
        effect = sum(r[i] for r in matrix) / topics
        assert risks[i] == pytest.approx(math.sqrt(effect * NormalDist().cdf(z / topics)), abs=1e-9)


def test_topics_without_a_value_are_left_out() -> None:
    scores = Scores.from_matrix([[0.4, 0.5], [math.nan, 0.9], [0.4, 0.2]], runs=["a", "b"], measure="AP")
    assert scores.risk("URisk", "a").to_dict()["b"]["AP"] == pytest.approx((0.1 - 0.4) / 2)


def test_bad_calls_are_reported() -> None:
    with pytest.raises(UsageError, match="needs baseline="):
        SCORES.risk("URisk")
    with pytest.raises(UsageError, match="bse"):
        SCORES.risk("URisk", "bse")
    with pytest.raises(UsageError, match="alpha == -1"):
        SCORES.risk("GeoRisk", alpha=-1)
    with pytest.raises(UsageError, match="kind == 'Risk'"):
        SCORES.risk("Risk")
    with pytest.raises(UsageError, match="below 0"):
        Scores.from_matrix([[-1.0, 2.0]]).risk("GeoRisk")
