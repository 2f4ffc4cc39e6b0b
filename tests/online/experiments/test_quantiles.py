"""Quantiles of arms: intervals and p from order statistics, also of values with ties."""

import itertools
import math

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom, norm

from cranfield.online.experiments import arm_estimates
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.arm_estimates import QuantileArm, difference_ends, quantile_effect
from cranfield.types import Array


def literal_z(values: Array, candidate: float, q: float) -> float:
    """z against a candidate for the quantile, from the definition: too many users below it, or too few up to it."""
    n, below, upto = len(values), int((values < candidate).sum()), int((values <= candidate).sum())
    too_many = binom.sf(below, n, q) + binom.pmf(below, n, q) / 2
    too_few = binom.cdf(upto, n, q) - binom.pmf(upto, n, q) / 2
    return float(max(0.0, norm.isf(too_many), norm.isf(too_few)))


@pytest.mark.parametrize("q", [0.5, 0.25])
@pytest.mark.parametrize("step", [1.0, 0.001])
def test_the_interval_of_a_difference_has_all_pairs_of_possible_quantiles(q: float, step: float) -> None:
    rng = np.random.default_rng(3)
    first, second = (np.round(rng.normal(shift, 2, 25) / step) * step for shift in (0.0, 1.0))
    against = [[(v, literal_z(arm, v, q)) for v in np.unique(arm)] for arm in (first, second)]
    pairs = [(v - u, zu**2 + zv**2) for (u, zu), (v, zv) in itertools.product(*against)]
    inside = [difference for difference, square in pairs if square <= norm.isf(0.025) ** 2]
    arms = QuantileArm.of(first, q), QuantileArm.of(second, q)
    assert difference_ends(*arms, norm.isf(0.025)) == pytest.approx((min(inside), max(inside)))
    both = np.unique(np.concatenate([first, second]))
    square = min(literal_z(first, v, q) ** 2 + literal_z(second, v, q) ** 2 for v in both)
    effect = quantile_effect(*arms, alpha=0.05)
    assert effect.p == pytest.approx(2 * norm.sf(math.sqrt(square)))
    assert (effect.p < 0.05) == (not effect.low <= 0 <= effect.high)


def test_values_around_the_quantile_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    table = pyarrow.table({"arm": np.repeat(["A", "B"], [4_000, 3_000]), "x": np.round(rng.lognormal(3, 1, 7_000), 1)})
    every = analyse(table, ["median(x)", "p99(x)"]).rows
    monkeypatch.setattr(arm_estimates, "FEW", 0)
    for row, whole in zip(analyse(table, ["median(x)", "p99(x)"]).rows, every, strict=True):
        assert str(row.effect) == str(whole.effect)


def test_a_relative_difference_of_medians_has_the_ratios_of_possible_quantiles() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.lognormal(3, 0.3, 400), 1.2 * rng.lognormal(3, 0.3, 400)
    effect = quantile_effect(QuantileArm.of(first, 0.5), QuantileArm.of(second, 0.5), alpha=0.05)
    logs = quantile_effect(QuantileArm.of(np.log(first), 0.5), QuantileArm.of(np.log(second), 0.5), alpha=0.05)
    # the median of logarithms is the logarithm of the median, but for the interpolation
    assert math.log1p(effect.relative_low) == pytest.approx(logs.low, abs=1e-9)
    assert math.log1p(effect.relative_high) == pytest.approx(logs.high, abs=1e-9)
    opposite = quantile_effect(QuantileArm.of(-first, 0.5), QuantileArm.of(-second, 0.5), alpha=0.05)
    assert (opposite.relative_low, opposite.relative_high) == pytest.approx(
        (-effect.relative_high, -effect.relative_low)
    )


def test_a_quantile_beyond_the_data_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    table = pyarrow.table({"arm": np.repeat(["A", "B"], 200), "x": rng.exponential(1, 400)})
    result = analyse(table, "p99(x)")
    assert math.isnan(result.rows[0].effect.low)
    assert math.isnan(result.rows[0].effect.p)
    assert any("p99(x) needs 299 users or more in each arm" in note for note in result.notes)
