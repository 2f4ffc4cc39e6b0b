"""Always-valid intervals: duality, the best mixture, and coverage under continuous peeking."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from cranfield.online.experiments.repeated_looks import always_valid_half_width, always_valid_p, mixing_variance


def test_the_likelihood_ratio_is_an_integral_over_the_mixture() -> None:
    # Λ = ∫ N(Δ; θ, V) N(θ; 0, τ²) dθ / N(Δ; 0, V), by numerical integration.
    difference, v, tau2 = 0.31, 0.012, 0.05

    def normal(x: float, variance: float) -> float:
        return math.exp(-x * x / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    mixed = quad(lambda theta: normal(difference - theta, v) * normal(theta, tau2), -3, 3, points=[0, difference])[0]
    assert always_valid_p(difference, v, tau2) == pytest.approx(normal(difference, v) / mixed)


def test_the_interval_excludes_zero_exactly_if_p_is_below_alpha() -> None:
    for v in (0.001, 0.02, 0.5):
        half = always_valid_half_width(v, 0.03, 0.05)
        assert always_valid_p(half, v, 0.03) == pytest.approx(0.05)
        assert always_valid_p(1.01 * half, v, 0.03) < 0.05 < always_valid_p(0.99 * half, v, 0.03)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_mixture_makes_the_interval_narrowest_where_it_is_tuned(alpha: float) -> None:
    variance = 0.02
    best = minimize_scalar(
        lambda log_mixing: always_valid_half_width(variance, math.exp(log_mixing), alpha), (-8, 0), tol=1e-12
    )
    assert mixing_variance(variance, 5_000, tuned_for=5_000, alpha=alpha) == pytest.approx(math.exp(best.x), rel=1e-4)
    # With a tenth of the users the variance is ten times as large, and the mixture the same.
    assert mixing_variance(10 * variance, 500, tuned_for=5_000, alpha=alpha) == pytest.approx(
        math.exp(best.x), rel=1e-4
    )


def test_all_intervals_cover_the_truth_together_under_continuous_peeking() -> None:
    """Users arrive one by one in each arm, skewed values, a look after each from 50 on, up to 2,000."""
    rng = np.random.default_rng(3)
    runs, n, alpha, effect = 600, 2_000, 0.1, 0.2
    counts = np.arange(1, n + 1)
    control = rng.exponential(1.0, (runs, n))
    treated = rng.exponential(1.0, (runs, n)) + effect
    difference = treated.cumsum(axis=1) / counts - control.cumsum(axis=1) / counts
    variance = np.zeros((runs, n))
    for values in (control, treated):
        mean = values.cumsum(axis=1) / counts
        with np.errstate(divide="ignore", invalid="ignore"):
            variance += ((values**2).cumsum(axis=1) - counts * mean**2) / (counts - 1) / counts
    missed = usual = 0
    for run in range(runs):
        looks = range(50, n, 5)
        halves = [
            always_valid_half_width(v, mixing_variance(v, 2 * (k + 1), tuned_for=1_000, alpha=alpha), alpha)
            for k in looks
            if (v := float(variance[run, k]))
        ]
        off = np.abs(difference[run, 50:n:5] - effect)
        missed += bool((off > halves).any())
        usual += bool((off > 1.645 * np.sqrt(variance[run, 50:n:5])).any())
    assert missed / runs <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
    assert usual / runs > 0.4  # ordinary 90% intervals, looked at as often, miss it in half of the runs


def test_without_variance_there_is_certainty() -> None:
    assert always_valid_p(0.0, 0.0, 0.1) == 1
    assert always_valid_p(0.5, 0.0, 0.1) == 0
    assert math.isnan(always_valid_p(0.1, math.nan, 0.1))
