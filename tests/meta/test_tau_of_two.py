"""Kendall's τ_b of two rankings, without looking at all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from cranfield.meta.agreement.coefficients import tau_b
from cranfield.meta.complete_scores import levels_of, tau_b_of_two


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("systems", [2, 3, 7, 64, 65, 200])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_it_is_that_of_all_pairs_and_of_scipy(systems: int, levels: int) -> None:
    rng = np.random.default_rng([systems, levels])
    first, second = (levels_of(rng.integers(0, levels, (6, systems)).astype(float)) for _ in range(2))
    found = tau_b_of_two(first, second)
    np.testing.assert_array_equal(found, tau_b(np.stack([first, second], axis=1))[:, 0, 1])
    by_scipy = [kendalltau(one, other).statistic for one, other in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, by_scipy)
