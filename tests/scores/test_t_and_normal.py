"""Student's t and the normal distribution, against closed forms and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from cranfield.scores.t_and_normal import normal_quantile, normal_tail, t_quantile, t_tail

DF = [0.3, 0.5, 0.9, 1, 1.5, 2, 2.7, 3, 5, 7.77, 10, 19, 39.9, 40, 40.1, 49, 99.5, 300, 1e3, 12345.6, 1e5, 1e8, 1e12]
T = [1e-5, 0.01, 0.3, 0.7, 0.99, 1, 1.01, 1.3, 1.6, 1.7, 1.73, 1.74, 1.8, 2, 2.5, 3, 4, 6, 10, 25, 37, 100, 1e5]
TAIL = [1e-100, 1e-50, 1e-20, 1e-10, 1e-5, 1e-3, 0.005, 0.01, 0.025, 0.0416, 0.05, 0.1, 0.2, 0.3, 0.45, 0.49, 0.4999]


def beside(values: list[float], others: list[float]) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.meshgrid(values, others)
    return first.ravel(), second.ravel()


def test_the_tail_agrees_with_scipy_in_the_centre_and_far_out() -> None:
    t, df = beside(T, DF)
    expected = special.stdtr(df, -t)
    shown = expected > 1e-300
    np.testing.assert_allclose(t_tail(t, df)[shown], expected[shown], rtol=1e-12)
    np.testing.assert_allclose(t_tail(-t, df), special.stdtr(df, t), rtol=1e-12)  # scipy is 2.6e-13 off at (1e-5, 1)


def test_one_number_and_many_numbers_give_the_same_tail() -> None:
    t, df = beside(T, DF)
    alone = [t_tail(*pair).item() for pair in zip(t, df, strict=True)]
    np.testing.assert_allclose(alone, t_tail(t, df), rtol=1e-15)


@pytest.mark.parametrize("t", [0.2, 1.0, 1.9, 30.0, 1e6, 1e100, 1e200])
def test_the_tail_has_the_closed_forms_of_one_and_two_degrees_of_freedom(t: float) -> None:
    """1: the Cauchy distribution, arctan(1/t)/π. 2: (1 − t/√(t² + 2))/2, here without its cancellation."""
    assert t_tail(t, 1).item() == pytest.approx(math.atan(1 / t) / math.pi, rel=3e-14)
    root = math.hypot(t, math.sqrt(2))
    assert t_tail(t, 2).item() == pytest.approx(1 / (root * (root + t)) if t < 1e150 else 0.5 / t / t, rel=1e-13)


def test_with_many_degrees_of_freedom_t_is_normal() -> None:
    z = np.array([0.1, 1.0, 1.7, 1.8, 5.0, 20.0, 37.0])
    for df in (1e18, 1e40, np.inf):
        np.testing.assert_allclose(t_tail(z, df), special.ndtr(-z), rtol=1e-12)
        np.testing.assert_allclose(t_tail(z[:5], df), special.ndtr(-z[:5]), rtol=1e-14)
    np.testing.assert_allclose(t_quantile(TAIL, np.inf), -special.ndtri(TAIL), rtol=1e-13)


def test_the_quantile_agrees_with_scipy() -> None:
    tail, df = beside(TAIL, [n for n in DF if n >= 1])
    expected = stats.t.isf(tail, df)
    # scipy's own quantile is wrong far out (df = 2.7, tail = 1e-100), so compare where its tail confirms it.
    sure = np.isclose(special.stdtr(df, -expected), tail, rtol=1e-11)
    assert sure.mean() > 0.9
    np.testing.assert_allclose(t_quantile(tail, df)[sure], expected[sure], rtol=1e-11)


def test_the_quantile_undoes_the_tail() -> None:
    tail, df = beside([*TAIL, 0.5 - 1e-9], DF)
    t = t_quantile(tail, df)
    finite = t < 1e290
    np.testing.assert_allclose(t_tail(t, df)[finite], tail[finite], rtol=1e-12)
    assert np.isinf(t[~finite]).all()
    assert (df[~finite] < 0.5).all()


def test_lower_quantiles_are_negative_and_the_median_is_zero() -> None:
    assert t_quantile([0.975, 0.5, 0.025], 7).round(4).tolist() == [-2.3646, 0.0, 2.3646]  # tables of Student's t


def test_a_quantile_near_the_median_keeps_its_digits() -> None:
    """With one degree of freedom, t = tan(π (1/2 − tail))."""
    gap = 2.0**-30
    assert t_quantile(0.5 - gap, 1).item() == pytest.approx(math.tan(math.pi * gap), rel=1e-14)


def test_a_few_quantiles_and_many_agree() -> None:
    df = np.linspace(1.5, 80, 300)
    np.testing.assert_allclose(t_quantile(0.025, df), [t_quantile(0.025, n).item() for n in df], rtol=1e-15)


def test_ends_and_undefined_values() -> None:
    assert t_tail([np.inf, -np.inf, 0.0], 3).tolist() == [0.0, 1.0, 0.5]
    assert t_quantile([0.0, 1.0], 3).tolist() == [np.inf, -np.inf]
    undefined = [t_tail(1.0, 0), t_tail(1.0, -2), t_tail(np.nan, 3), t_tail(1.0, np.nan)]
    undefined += [t_quantile(0.1, 0), t_quantile(np.nan, 3), t_quantile(1.5, 3), t_quantile(0.1, np.nan)]
    assert all(np.isnan(value) for value in undefined)
    assert t_tail(np.zeros((0,)), 3).shape == (0,)
    assert t_tail(np.zeros((2, 3)), 3).shape == (2, 3)


def test_the_normal_distribution_agrees_with_scipy() -> None:
    z = np.linspace(-37, 37, 999)
    np.testing.assert_allclose(normal_tail(z), special.ndtr(-z), rtol=5e-13)
    tail = np.array([1e-300, 1e-20, 0.001, 0.025, 0.3, 0.7, 0.999])
    np.testing.assert_allclose(normal_quantile(tail), -special.ndtri(tail), rtol=1e-13)
    assert np.isnan(normal_tail(np.nan))
    assert normal_tail([np.inf, -np.inf]).tolist() == [0.0, 1.0]
