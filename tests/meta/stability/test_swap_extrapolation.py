"""Extrapolated swap rates: curves that are known, numpy's weighted fit, and sets that are as large as the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cranfield.errors import UsageError
from cranfield.meta.stability.swap import swap_rates
from cranfield.meta.stability.swap_extrapolation import extrapolate_swaps
from cranfield.scores.scores import Scores

close = pytest.approx


def made(topics: int = 80) -> Scores:
    rng = np.random.default_rng(4)
    values = np.linspace(0.2, 0.4, 10)[:, None] + rng.normal(0, 0.2, (10, topics))
    return Scores(["AP"], [f"r{i}" for i in range(10)], [str(t) for t in range(topics)], [values])


def test_a_known_curve_is_found() -> None:
    observed = swap_rates(made(), replacement=False, sizes=[10, 20, 30], resamples=50)
    n = np.array([10, 20, 30])
    counts = np.full_like(observed.counts, 1_000_000)
    swaps = np.round(counts * (0.4 * np.exp(-0.05 * n))[None, :, None]).astype(np.int64)  # a = 0.4, b = 0.05
    result = extrapolate_swaps(replace(observed, counts=counts, swaps=swaps), 60)
    assert result.factor == close(np.full((1, 21), 0.4), rel=1e-4)
    assert result.decay == close(np.full((1, 21), 0.05), rel=1e-4)
    assert result.fit == close(np.full((1, 21), 1.0), abs=1e-6)
    assert result.rates == close(np.full((1, 21), 0.4 * np.exp(-3)), rel=1e-3)  # 0.0199, below 5%
    assert result.required.tolist() == [0]


def test_the_fit_is_that_of_numpy() -> None:
    observed = swap_rates(made(), replacement=False, sizes=[5, 10, 20, 30, 40], resamples=300)
    result = extrapolate_swaps(observed, 80)
    for i in np.flatnonzero(~np.isnan(result.factor[0])).tolist():
        swaps, counts = observed.swaps[0, :, i], observed.counts[0, :, i]
        used = (swaps > 0) & (counts >= 100)
        n = np.array(observed.sizes)[used]
        slope, start = np.polyfit(n, np.log(swaps[used] / counts[used]), 1, w=np.sqrt(swaps[used]))
        assert (result.factor[0, i], result.decay[0, i]) == close((np.exp(start), -slope), rel=1e-9)


def test_it_comes_near_to_what_sets_of_that_size_need() -> None:
    """Sets of 10 to 25 of 80 topics, extrapolated to 40, against disjoint sets of 40."""
    scores = made()
    fitted = extrapolate_swaps(swap_rates(scores, replacement=False, sizes=[10, 15, 20, 25]), 40)
    true = swap_rates(scores, replacement=False, sizes=40)
    assert fitted.required[0] == close(true.required[0, 0], abs=0.02)  # two bins
    assert fitted.required[0] < fitted.swaps.required[0, -1]
    assert len(fitted.plot().columns()["rate"]) > 0
    assert "extrapolated from sets of 10, 15, 20, 25 topics" in fitted.table().text()


def test_wrong_calls_say_what_to_do() -> None:
    two = swap_rates(made(), replacement=False, sizes=[10, 20], resamples=50)
    with pytest.raises(UsageError, match="2 sizes, a curve needs 3"):
        extrapolate_swaps(two, 80)
    three = swap_rates(made(), replacement=False, sizes=[10, 20, 30], resamples=50)
    with pytest.raises(UsageError, match="topics == 30, must be above 30"):
        extrapolate_swaps(three, 30)
