"""Group-sequential boundaries: recursive integration by Simpson's rule, scipy's multivariate normal, simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from cranfield.errors import UsageError
from cranfield.online.experiments.repeated_looks import DESIGNS, boundaries, crossing, repeated_p

# Jennison & Turnbull, Group Sequential Methods, 2000: Tables 2.1 (Pocock) and 2.3 (O'Brien–Fleming), two-sided α.
POCOCK = {(2, 0.05): 2.178, (3, 0.05): 2.289, (4, 0.05): 2.361, (5, 0.05): 2.413, (10, 0.05): 2.555, (5, 0.01): 2.986}
OBRIEN_FLEMING = {
    (2, 0.05): 1.977, (3, 0.05): 2.004, (4, 0.05): 2.024, (5, 0.05): 2.040, (10, 0.05): 2.087, (4, 0.01): 2.609,
}  # fmt: skip


def literal_crossing(z: list[float], t: list[float]) -> list[float]:
    """The probability to leave ±z for the first time at each look, by the recursion of Armitage, McPherson & Rowe.

    The density of the sum at look k, for those that have not left before, is the integral over the sums at look k - 1
    that are inside of that density times the normal density of the step; Simpson's rule on 401 points.
    """
    simpson = np.array([1, *([4, 2] * 199), 4, 1]) / 3
    points, mass, before, crossed = np.zeros(1), np.ones(1), 0.0, []
    for limit, time in zip(z, t, strict=True):
        grid = np.linspace(-limit * np.sqrt(time), limit * np.sqrt(time), 401)
        steps = (grid[:, None] - points) / np.sqrt(time - before)
        density = np.exp(-(steps**2) / 2) / np.sqrt(2 * np.pi * (time - before)) @ mass
        inside = simpson * (grid[1] - grid[0]) * density
        crossed.append(float(mass.sum() - inside.sum()))
        points, mass, before = grid, inside, time
    return crossed


def literal_constant(looks: int, alpha: float, design: str) -> float:
    """The C of a design with equal looks, by bisection."""
    t = [k / looks for k in range(1, looks + 1)]
    low, high = 1.0, 6.0
    for _ in range(22):
        middle = (low + high) / 2
        z = [middle if design == "pocock" else middle / np.sqrt(time) for time in t]
        low, high = (middle, high) if sum(literal_crossing(z, t)) > alpha else (low, middle)
    return (low + high) / 2


@pytest.mark.parametrize(
    ("design", "looks", "alpha"),
    [("pocock", 2, 0.05), ("pocock", 5, 0.05), ("pocock", 5, 0.01),
     ("obrien-fleming", 3, 0.05), ("obrien-fleming", 5, 0.05), ("obrien-fleming", 4, 0.01)],
)  # fmt: skip
def test_constants_are_those_of_an_integration_from_scratch(design: str, looks: int, alpha: float) -> None:
    constant = literal_constant(looks, alpha, design)
    published = (POCOCK if design == "pocock" else OBRIEN_FLEMING)[looks, alpha]
    assert constant == pytest.approx(published, abs=6e-4)  # the tables have three decimals
    assert boundaries(looks, design, alpha=alpha).z[-1] == pytest.approx(constant, abs=1e-5)


def test_every_published_constant_crosses_with_its_alpha() -> None:
    for design, table in (("pocock", POCOCK), ("obrien-fleming", OBRIEN_FLEMING)):
        for (looks, alpha), constant in table.items():
            t = [k / looks for k in range(1, looks + 1)]
            z = [constant if design == "pocock" else constant / np.sqrt(time) for time in t]
            # half a unit of the third decimal changes the probability by less than 1/300 of itself
            assert sum(literal_crossing(z, t)) == pytest.approx(alpha, rel=4e-3), (design, looks, alpha)


@pytest.mark.parametrize("design", ["lan-demets-of", "lan-demets-pocock"])
def test_spending_spends_what_its_function_says(design: str) -> None:
    from scipy.stats import norm

    t = [0.1, 0.35, 0.5, 0.9, 1.0]
    found = boundaries(t, design, alpha=0.05)
    spent = {
        "lan-demets-of": [4 * norm.sf(norm.isf(0.05 / 4) / np.sqrt(time)) for time in t],
        "lan-demets-pocock": [0.05 * np.log(1 + (np.e - 1) * time) for time in t],
    }[design]
    assert np.cumsum(literal_crossing(np.minimum(found.z, 12).tolist(), t)) == pytest.approx(spent, abs=1e-7)


@pytest.mark.parametrize(("looks", "alpha"), POCOCK)
def test_pocock_constants_are_those_of_jennison_and_turnbull(looks: int, alpha: float) -> None:
    assert boundaries(looks, "pocock", alpha=alpha).z == pytest.approx([POCOCK[looks, alpha]] * looks, abs=6e-4)


@pytest.mark.parametrize(("looks", "alpha"), OBRIEN_FLEMING)
def test_obrien_fleming_constants_are_those_of_jennison_and_turnbull(looks: int, alpha: float) -> None:
    constant = OBRIEN_FLEMING[looks, alpha]
    expected = [constant * np.sqrt(looks / k) for k in range(1, looks + 1)]
    assert boundaries(looks, "obrien-fleming", alpha=alpha).z == pytest.approx(expected, rel=3e-4)


def test_spending_boundaries_are_those_of_the_lan_demets_program() -> None:
    # Five equal looks, two-sided α = 0.05, to three decimals: Reboussin, DeMets, Kim & Lan, Computations for Group
    # Sequential Boundaries Using the Lan-DeMets Spending Function Method, Controlled Clinical Trials 21(3), 2000.
    assert boundaries(5, "lan-demets-of").z == pytest.approx([4.877, 3.357, 2.680, 2.290, 2.031], abs=6e-4)
    assert boundaries(5, "lan-demets-pocock").z == pytest.approx([2.438, 2.427, 2.410, 2.397, 2.386], abs=6e-4)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_probability_of_crossing_is_that_of_the_multivariate_normal(design: str) -> None:
    t = np.array([0.15, 0.4, 0.7, 1.0])
    found = boundaries(t.tolist(), design, alpha=0.04)
    cov = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    for k in range(1, 5):
        z = np.minimum(found.z[:k], 12)
        inside = multivariate_normal.cdf(
            z, cov=cov[:k, :k], lower_limit=-z, maxpts=2_000_000, abseps=1e-7, releps=1e-7, rng=1
        )
        assert found.spent[k - 1] == pytest.approx(1 - inside, abs=2e-5)
    assert found.spent[-1] == pytest.approx(0.04, abs=1e-8)


def test_an_earlier_look_does_not_change_with_later_ones_when_error_is_spent() -> None:
    long, short = boundaries([0.2, 0.5, 1.0], "lan-demets-of"), boundaries([0.2, 0.5], "lan-demets-of")
    assert short.z == pytest.approx(long.z[:2])


def test_one_look_is_the_usual_test() -> None:
    for design in DESIGNS:
        assert boundaries(1, design).z == pytest.approx([1.959964], abs=1e-5)


def test_many_looks_keep_their_accuracy() -> None:
    found = boundaries(50, "obrien-fleming")
    assert crossing(found.z, found.fraction).sum() == pytest.approx(0.05, abs=1e-8)
    # As the looks become dense, C tends to the level that |Brownian motion| crosses with probability 0.05, 2.2414.
    assert 2.1 < found.z[-1] < 2.2414


@pytest.mark.parametrize("design", DESIGNS)
def test_a_repeated_p_value_is_alpha_on_the_boundary(design: str) -> None:
    for look in (1, 2, 4):
        at = float(boundaries(4, design, alpha=0.03).z[look - 1])
        assert repeated_p(at, 4, design, look) == pytest.approx(0.03, rel=1e-5)
        assert repeated_p(-at * 0.9, 4, design, look) > 0.03
    assert repeated_p(0.0, 4, design, 1) == 1.0


def test_rejection_over_all_looks_is_alpha_in_a_simulation() -> None:
    rng = np.random.default_rng(5)
    z = np.cumsum(rng.normal(size=(20_000, 5)), axis=1) / np.sqrt(np.arange(1, 6))
    error = np.sqrt(0.05 * 0.95 / 20_000)
    for design in DESIGNS:
        rate = (np.abs(z) >= boundaries(5, design).z).any(axis=1).mean()
        assert abs(rate - 0.05) < 3.5 * error, design
    # The usual critical value at every look would be wrong 14% of the time.
    assert (np.abs(z) >= 1.96).any(axis=1).mean() > 0.13


def test_fractions_must_rise() -> None:
    with pytest.raises(UsageError, match="must be above 0, at most 1, and rise"):
        boundaries([0.5, 0.2])
    with pytest.raises(UsageError, match="look == 9, must be between 1 and 4"):
        repeated_p(1.0, 4, "pocock", 9)
