"""Best scores over the years: by hand, and the trend by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield.comparison.yearly_best import yearly_best
from cranfield.errors import UsageError

ROWS = [
    (2000, "a", 0.30, ""), (2000, "b", 0.20, ""),
    (2001, "base", 0.22, ""), (2001, "c", 0.28, "base"),
    (2003, "d", 0.31, "old"), (2003, "old", 0.30, ""),
    (2006, "e", 0.29, "weak"), (2006, "weak", 0.15, ""),
]  # fmt: skip


def test_the_best_of_each_year_and_before_it() -> None:
    result = yearly_best(ROWS)
    assert result.year.tolist() == [2000, 2001, 2003, 2006]
    assert result.best.tolist() == ["a", "c", "d", "e"]
    assert result.score.tolist() == [0.30, 0.28, 0.31, 0.29]
    assert result.before[1:].tolist() == [0.30, 0.30, 0.31]
    assert result.baseline[1:].tolist() == [0.22, 0.30, 0.15]
    # base (0.22 < 0.30) and weak (0.15 < 0.31) are below an earlier best, old (0.30 = 0.30) is not
    assert result.weak == pytest.approx(2 / 3)
    assert result.later == pytest.approx(0.29 - 0.28)  # 2006 against 2001
    assert result.notes[0] == "the best of 1 of 3 later years is above all earlier ones"


def test_the_trend_is_that_of_scipy() -> None:
    result = yearly_best(ROWS)
    line = stats.linregress([2000, 2001, 2003, 2006], [0.30, 0.28, 0.31, 0.29])
    assert (result.slope, result.p) == pytest.approx((line.slope, line.pvalue))
    half = stats.t.ppf(0.975, 2) * line.stderr
    assert (result.low, result.high) == pytest.approx((line.slope - half, line.slope + half))


def test_the_interval_of_a_trend_that_is_not_there_contains_0_in_95_percent() -> None:
    rng = np.random.default_rng(0)
    trials = 1000
    inside = 0
    for _ in range(trials):
        result = yearly_best([(2000 + i, "s", float(x)) for i, x in enumerate(rng.normal(0.3, 0.02, 8))])
        inside += result.low <= 0 <= result.high
    assert abs(inside / trials - 0.95) < 3 * np.sqrt(0.95 * 0.05 / trials)


def test_a_baseline_without_a_score_and_one_year_are_errors() -> None:
    with pytest.raises(UsageError, match="baseline 'x' of 2001 has no score"):
        yearly_best([(2000, "a", 0.1, ""), (2001, "b", 0.2, "x")])
    with pytest.raises(UsageError, match="1 year in the table"):
        yearly_best([(2000, "a", 0.1), (2000, "b", 0.2)])
