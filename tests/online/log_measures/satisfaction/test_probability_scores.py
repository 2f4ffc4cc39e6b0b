"""Brier score, its decomposition, reliability and area under the curve."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.online.log_measures.satisfaction import area_under_curve, brier_score, reliability_curve
from cranfield.online.log_measures.satisfaction.logistic_fit import wilson


def test_the_parts_add_up_to_the_brier_score() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(float)
    curve = reliability_curve(p, y)
    assert curve.brier == pytest.approx(brier_score(p, y))
    total = curve.reliability - curve.resolution + curve.uncertainty + curve.within
    assert curve.brier == pytest.approx(total)
    # within bins, by its definition: the variance of predictions minus twice their covariance with labels
    edges = np.quantile(p, np.linspace(0, 1, 11)[1:-1], method="higher")
    number = np.searchsorted(edges, p, side="right")
    within = sum(
        ((p[number == k] - p[number == k].mean()) ** 2).sum()
        - 2 * ((p[number == k] - p[number == k].mean()) * (y[number == k] - y[number == k].mean())).sum()
        for k in range(10)
    )
    assert curve.within == pytest.approx(within / 500)


def test_the_decomposition_by_hand() -> None:
    """Predictions .2 .2 .8 .8, labels 0 1 1 1: bins of .5 and 1; the mean is .75."""
    curve = reliability_curve(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0, 1, 1, 1]), bins=2)
    assert curve.reliability == pytest.approx((0.3**2 + 0.2**2) / 2)
    assert curve.resolution == pytest.approx(0.25**2)
    assert curve.uncertainty == pytest.approx(0.75 * 0.25)
    assert curve.brier == pytest.approx((0.04 + 0.64 + 0.04 + 0.04) / 4)


def test_bins_hold_equal_numbers_and_equal_predictions_share_one() -> None:
    assert reliability_curve(np.linspace(0, 1, 100), np.arange(100) % 2).n.tolist() == [10] * 10
    assert reliability_curve(np.full(50, 0.3), np.arange(50) % 2).n.tolist() == [50]


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = np.random.default_rng(1)
    p, y = rng.integers(0, 10, 60) / 10, rng.integers(0, 2, 60)
    pairs = [(a > b) + (a == b) / 2 for a in p[y == 1] for b in p[y == 0]]
    assert area_under_curve(p, y) == pytest.approx(np.mean(pairs))
    assert np.isnan(area_under_curve(p, np.ones(60)))


def test_wilsons_interval_is_that_of_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    low, high = wilson(np.array([0.3]), np.array([50]))
    assert (low[0], high[0]) == pytest.approx(proportion_confint(15, 50, method="wilson"))
