"""Power by simulation: against exact power, and p-values against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield.comparison.power.designs import P_VALUES, simulated_power
from cranfield.comparison.power.topic_set_size import achieved_power
from cranfield.errors import UsageError


def test_the_simulated_power_of_t_is_near_the_exact_power() -> None:
    exact = achieved_power(difference=0.05, size=40, variance=0.0225).power
    simulated = simulated_power(difference=0.05, topics=40, variance=0.0225, test="t")
    assert abs(simulated.power - exact) < 4 * simulated.standard_error


def test_the_simulated_power_of_the_sign_test_is_near_the_binomial_power() -> None:
    """A normal difference of mean 0.5 and variance 1 is above 0 with probability Φ(0.5)."""
    n = 30
    reject = [k for k in range(n + 1) if stats.binomtest(k, n).pvalue <= 0.05]
    exact = stats.binom.pmf(reject, n, stats.norm.cdf(0.5)).sum()
    simulated = simulated_power(difference=0.5, topics=n, variance=1.0, test="sign")
    assert abs(simulated.power - exact) < 4 * simulated.standard_error


def test_p_values_of_the_simulation_agree_with_scipy() -> None:
    rng = np.random.default_rng(5)
    rows = np.round(rng.normal(0.1, 0.3, (50, 20)), 1)  # ties and zeros
    for row, sign, wilcoxon, t in zip(rows, *(P_VALUES[name](rows) for name in ("sign", "wilcoxon", "t")), strict=True):
        above, below = int((row > 0).sum()), int((row < 0).sum())
        assert sign == pytest.approx(stats.binomtest(above, above + below).pvalue)
        assert wilcoxon == pytest.approx(stats.wilcoxon(row, correction=False, method="asymptotic").pvalue)
        assert t == pytest.approx(stats.ttest_1samp(row, 0).pvalue)
    flat = np.array([[0.0] * 5, [1.0] * 5])
    assert P_VALUES["t"](flat).tolist() == [1.0, 0.0]
    assert P_VALUES["sign"](flat).tolist() == [1.0, 2 * 0.5**5]
    assert P_VALUES["wilcoxon"](flat)[0] == 1.0


def test_simulation_keeps_the_shape_of_the_observed_differences() -> None:
    """Two values, one rare and large: shifted by more than the common one all differences are of one sign."""
    x = np.array([0.0] * 9 + [1.0])  # centred: −0.1 nine times, 0.9 once
    result = simulated_power(x, np.zeros(10), difference=0.11, topics=12, test="sign", simulations=200)
    assert result.power == 1.0
    assert result.drawn_from == "differences as on 10 topics"
    again = simulated_power(x, np.zeros(10), difference=0.05, topics=12, test="sign", simulations=200, seed=7)
    assert again == simulated_power(x, np.zeros(10), difference=0.05, topics=12, test="sign", simulations=200, seed=7)


def test_simulation_needs_scores_or_a_variance() -> None:
    with pytest.raises(UsageError, match="either scores of two systems, or variance="):
        simulated_power(difference=0.1, topics=10)
    with pytest.raises(UsageError, match="no variance to draw from"):
        simulated_power([0.1, 0.2], [0.1, 0.2], difference=0.1, topics=10)
    with pytest.raises(UsageError, match="simulations == 0"):
        simulated_power(difference=0.1, topics=10, variance=1.0, simulations=0)
