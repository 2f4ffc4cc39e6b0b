"""Sample-ratio mismatch, against scipy and enumeration."""

from __future__ import annotations

import math
from itertools import product

import pytest
from scipy import stats

from cranfield.errors import UsageError
from cranfield.online.experiments.ratio_mismatch import sample_ratio


def test_two_small_arms_get_the_exact_binomial_test() -> None:
    result = sample_ratio({"A": 12, "B": 30})
    # Σ over k with P(k) ≤ P(12) of C(42, k) / 2^42: symmetric, so twice the lower tail.
    tail = 2 * sum(math.comb(42, k) for k in range(13)) / 2**42
    assert (result.test, result.p) == ("binomial", pytest.approx(tail))


def test_several_small_arms_get_the_exact_multinomial_test() -> None:
    counts, shares = (5, 1, 3), (0.2, 0.3, 0.5)

    def chance(x: tuple[int, ...]) -> float:
        ways = math.factorial(9) / math.prod(map(math.factorial, x))
        return ways * math.prod(p**k for p, k in zip(shares, x, strict=True))

    outcomes = [x for x in product(range(10), repeat=3) if sum(x) == 9]
    expected = sum(chance(x) for x in outcomes if chance(x) <= chance(counts) * (1 + 1e-9))
    result = sample_ratio(dict(zip("ABC", counts, strict=True)), dict(zip("ABC", shares, strict=True)))
    assert (result.test, result.p) == ("multinomial", pytest.approx(expected))


def test_large_arms_get_the_chi_squared_test() -> None:
    users = {"A": 450_500, "B": 49_000, "C": 500_500}
    result = sample_ratio(users, {"A": 9, "B": 1, "C": 10})
    expected = stats.chisquare(list(users.values()), [450_000, 50_000, 500_000])
    assert (result.test, result.p) == ("chi-squared", pytest.approx(expected.pvalue))
    assert result.mismatch
    assert result.sentence().startswith("SAMPLE-RATIO MISMATCH: users are A 450,500, B 49,000, C 500,500, expected")


def test_the_exact_and_the_approximate_test_agree_where_they_meet() -> None:
    exact, approximate = sample_ratio({"A": 4_900, "B": 5_100}), sample_ratio({"A": 4_900, "B": 5_101})
    assert (exact.test, approximate.test) == ("binomial", "chi-squared")
    assert exact.p == pytest.approx(approximate.p, rel=0.06)


def test_rejections_are_as_frequent_as_alpha_allows() -> None:
    import numpy as np

    rng = np.random.default_rng(4)
    hits = sum(
        sample_ratio({"A": int(x), "B": 2_000 - int(x)}, alpha=0.05).mismatch for x in rng.binomial(2_000, 0.5, 2_000)
    )
    assert hits / 2_000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)
    assert hits / 2_000 >= 0.03


def test_shares_must_name_the_arms() -> None:
    with pytest.raises(UsageError, match="shares are for 'A', 'X', but the arms are 'A', 'B'"):
        sample_ratio({"A": 10, "B": 12}, {"A": 1, "X": 1})


def test_the_sentence_names_the_limit_and_the_statistic() -> None:
    """A p between .001 and .05 is no mismatch only because the limit is .001; scipy has the same χ² and p."""
    from scipy import stats

    ratio = sample_ratio({"A": 51_310, "B": 50_470})
    assert ratio.statistic == pytest.approx(stats.chisquare([51_310, 50_470]).statistic)
    assert ratio.p == pytest.approx(stats.chisquare([51_310, 50_470]).pvalue)
    assert ratio.sentence().endswith(
        f"(χ²(1) = {ratio.statistic:.4g}, p = {ratio.p:.4f} by a chi-squared test): no mismatch at the limit 0.001"
    )
    assert (ratio.to_dict()["statistic"], ratio.to_dict()["alpha"]) == (ratio.statistic, 0.001)
    loose = sample_ratio({"A": 51_310, "B": 50_470}, alpha=0.05)
    assert "below the limit 0.05" in loose.sentence()
