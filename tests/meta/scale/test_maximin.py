"""Abelson and Tukey's steps: by hand, by optimisation, and against random distances in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from cranfield.errors import UsageError
from cranfield.meta import scale
from cranfield.meta.scale.maximin import guaranteed, least_agreement, maximin_steps


def test_three_values_by_hand() -> None:
    # j = 0..3: roots 0, √(2/3), √(2/3), 0, so steps −√(2/3), 0, √(2/3): equally spaced.
    assert maximin_steps(3).tolist() == pytest.approx([0, 0.5, 1])
    # 0, 1/2, 1 against 0, 0, 1: r = 0.5 / √(0.5 · 2/3) = √0.75
    assert least_agreement(np.array([0, 0.5, 1])) == pytest.approx(0.75)
    assert least_agreement(np.array([2.0, 7.0])) == pytest.approx(1.0)


@pytest.mark.parametrize("count", [2, 3, 4, 6, 11])
def test_the_guarantee_is_the_lowest_squared_correlation_with_a_single_jump(count: int) -> None:
    steps = maximin_steps(count)
    jumps = [np.arange(count) >= k for k in range(1, count)]
    r2 = [np.corrcoef(steps, jump)[0, 1] ** 2 for jump in jumps]
    assert r2 == pytest.approx([r2[0]] * len(r2))  # the same for all, as the best numbers must
    assert least_agreement(steps) == pytest.approx(min(r2))
    other = np.sort(np.random.default_rng(count).random(count))
    assert least_agreement(other) == pytest.approx(min(np.corrcoef(other, jump)[0, 1] ** 2 for jump in jumps))


@pytest.mark.parametrize("count", [4, 5, 7])
def test_no_other_numbers_guarantee_more(count: int) -> None:
    def loss(gaps: np.ndarray) -> float:
        return -least_agreement(np.concatenate([[0], np.cumsum(np.abs(gaps) + 1e-9)]))

    rng = np.random.default_rng(0)
    best = max(
        -minimize(loss, rng.random(count - 1), method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9}).fun
        for _ in range(4)
    )
    assert best <= least_agreement(maximin_steps(count)) + 1e-9
    assert best == pytest.approx(least_agreement(maximin_steps(count)), abs=0.01)


def test_random_distances_in_the_same_order_correlate_at_least_as_much() -> None:
    rng = np.random.default_rng(1)
    steps = maximin_steps(6)
    for _ in range(500):
        truth = np.cumsum(rng.exponential(size=6) ** 4)
        assert np.corrcoef(steps, truth)[0, 1] ** 2 >= least_agreement(steps) - 1e-12


def test_measures_side_by_side() -> None:
    table = guaranteed(scale(["P", "RR"], 4))
    assert table.own[0] == pytest.approx(table.equal[0])  # P is equally spaced
    assert (table.own <= table.maximin + 1e-12).all()
    assert (table.equal <= table.maximin + 1e-12).all()
    assert table.count.tolist() == [5, 5]
    # RR of four documents: 0, 1/4, 1/3, 1/2, 1
    jumps = [np.arange(5) >= k for k in range(1, 5)]
    values = np.array([0, 1 / 4, 1 / 3, 1 / 2, 1])
    assert table.own[1] == pytest.approx(min(np.corrcoef(values, jump)[0, 1] ** 2 for jump in jumps))


def test_one_value_has_no_steps() -> None:
    with pytest.raises(UsageError, match="2 or more"):
        maximin_steps(1)
