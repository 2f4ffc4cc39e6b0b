"""Two one-sided tests against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from cranfield import UsageError
from cranfield.comparison.methods.equivalence import tost

RNG = np.random.default_rng(2)
X = RNG.beta(2, 3, 40)
Y = np.clip(X + RNG.normal(0.01, 0.05, 40), 0, 1)


@pytest.mark.parametrize("margin", [0.01, 0.03, (-0.05, 0.01)])
def test_agrees_with_statsmodels(margin: float | tuple[float, float]) -> None:
    low, high = margin if isinstance(margin, tuple) else (-margin, margin)
    theirs = ttost_paired(X, Y, low, high)[0]
    assert theirs * (1 - 1e-9) <= tost(X, Y, margin=margin).p < 1.3 * theirs + 1e-9  # ours corrects for skewness
    even = np.concatenate([X - Y, Y - X])  # symmetric
    assert tost(even, 0 * even, margin=margin).p == pytest.approx(ttost_paired(even, 0 * even, low, high)[0], rel=1e-6)
    y = Y[:25]
    for equal, usevar in ((True, "pooled"), (False, "unequal")):
        result = tost(X, y, margin=margin, matched=False, equal_variance=equal)
        assert result.p == pytest.approx(ttost_ind(X, y, low, high, usevar=usevar)[0], rel=1e-9)


def test_equivalent_exactly_if_the_interval_is_within_the_margin() -> None:
    for margin in np.linspace(0.005, 0.06, 23).tolist():
        result = tost(X, Y, margin=margin)
        assert result.interval is not None
        assert result.interval.level == pytest.approx(0.9)
        assert (result.p <= 0.05) == (-margin <= result.interval.low and result.interval.high <= margin)


def test_equal_scores_show_as_much_as_the_number_of_topics_allows() -> None:
    """A share .01 of topics with a difference of 1 is missed by n topics with probability .99^n."""
    result = tost(X, X, margin=0.01)
    assert result.p == pytest.approx(0.99**40)
    assert "about 299 topics like these would do" in result.notes[-2]
    many = np.resize(X, 299)
    result = tost(many, many, margin=0.01)
    assert result.p == pytest.approx(0.99**299)
    assert result.notes[-1].startswith("within [-0.01, 0.01] at α = 0.05")


def test_systems_farther_apart_than_the_margin_are_not_equivalent() -> None:
    result = tost(X + 0.2, X, margin=0.1)
    assert result.p == 1
    assert result.notes[-1].startswith("not shown to be within")


def test_at_the_margin_the_error_rate_is_alpha() -> None:
    # the true mean difference is the margin itself; 600 experiments, standard error 0.0089
    rng = np.random.default_rng(7)
    p = [tost(rng.normal(0.5, 1, 30), np.zeros(30), margin=(-5, 0.5)).p for _ in range(600)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=3.5 * 0.0089)


def test_bad_input_raises_an_error() -> None:
    with pytest.raises(UsageError, match="margin == 0, must be above 0"):
        tost(X, Y, margin=0)
    with pytest.raises(UsageError, match=r"margin == \(0.1, -0.1\)"):
        tost(X, Y, margin=(0.1, -0.1))
    with pytest.raises(UsageError, match=r"level == 0.4, must be above 0.5"):
        tost(X, Y, margin=0.1, level=0.4)
    with pytest.raises(UsageError, match="1 topic"):
        tost([0.1], [0.2], margin=0.1)
