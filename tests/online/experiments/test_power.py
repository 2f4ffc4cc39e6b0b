"""Power and duration, beside statsmodels and by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import NormalIndPower, TTestIndPower

from cranfield.errors import UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.experiment_power import Design, ab_power, detectable, power_of, users_needed
from tests.online.experiments.data import users


@pytest.mark.peers
@pytest.mark.parametrize(("shares", "power", "alpha"), [((1, 1), 0.8, 0.05), ((9, 1), 0.9, 0.01), ((1, 3), 0.5, 0.1)])
def test_users_are_those_of_statsmodels(shares: tuple[float, float], power: float, alpha: float) -> None:
    design, ratio = Design(shares, alpha, power), shares[1] / shares[0]
    first = NormalIndPower().solve_power(0.05, power=power, alpha=alpha, ratio=ratio)
    assert users_needed(0.1, 2.0, design) == pytest.approx(first * (1 + ratio), rel=1e-6, abs=1)
    assert users_needed(-0.1, 2.0, design) == users_needed(0.1, 2.0, design)
    student = TTestIndPower().solve_power(0.05, power=power, alpha=alpha, ratio=ratio)
    assert users_needed(0.1, 2.0, design) == pytest.approx(student * (1 + ratio), rel=2e-3)
    least = NormalIndPower().solve_power(None, nobs1=1_000, power=power, alpha=alpha, ratio=ratio)
    assert detectable(2.0, 1_000 * (1 + ratio), design) == pytest.approx(2.0 * least, rel=1e-5)
    reached = NormalIndPower().power(0.08, 1_000, alpha, ratio)
    assert power_of(0.16, 2.0, 1_000 * (1 + ratio), design) == pytest.approx(reached)


def test_several_arms_divide_alpha_and_the_smallest_arm_counts() -> None:
    design = Design((2, 1, 1), alpha=0.06)
    assert design.each_alpha == pytest.approx(0.03)
    # Control has half of the users, the arm a quarter: 1 / 0.5 + 1 / 0.25 = 6.
    assert design.factor == pytest.approx(6)
    assert users_needed(0.1, 1.0, design) == pytest.approx(users_needed(0.1, 1.0, Design((2, 1), 0.03)) * 4 / 3, abs=2)


def test_means_variances_and_covariates_come_from_the_table() -> None:
    frame = users(2_000)
    plain = ab_power(frame, ["revenue", "clicks/impressions"], users=5_000)
    assert plain.mean[0] == pytest.approx(frame["revenue"].mean())
    assert plain.sd[0] == pytest.approx(frame["revenue"].std())
    ratio = frame["clicks"].sum() / frame["impressions"].sum()
    residual = (frame["clicks"] - ratio * frame["impressions"]) / frame["impressions"].mean()
    assert plain.sd[1] == pytest.approx(residual.std())
    assert plain.relative[0] == pytest.approx(detectable(frame["revenue"].std(), 5_000) / frame["revenue"].mean())
    adjusted = ab_power(frame, "revenue", covariates=["revenue_before"], users=5_000)
    r2 = frame["revenue"].corr(frame["revenue_before"]) ** 2
    assert adjusted.removed[0] == pytest.approx(r2)
    assert adjusted.sd[0] == pytest.approx(frame["revenue"].std() * np.sqrt(1 - r2))


def test_days_count_the_users_seen_so_far_and_what_they_did() -> None:
    rng = np.random.default_rng(0)
    rows = [(f"u{u}", day, rng.exponential()) for u in range(120) for day in range(9) if rng.random() < 0.3]
    frame = pd.DataFrame(rows, columns=["user", "day", "revenue"])
    result = ab_power(frame, "revenue", unit="user", day="day", effect=0.2, exposure=0.5)
    assert result.days.tolist() == list(range(1, 10))
    for days in (1, 4, 9):
        totals = frame[frame["day"] < days].groupby("user")["revenue"].sum()
        assert result.users[days - 1] == round(len(totals) / 2)
        assert result.mean[days - 1] == pytest.approx(totals.mean())
        assert result.sd[days - 1] == pytest.approx(totals.std())
    enough = [d for d, r in zip(result.days, result.relative, strict=True) if r <= 0.2]
    assert not enough
    assert "9 days of past traffic have too few" in result.answers()[0]
    easy = ab_power(frame, "revenue", unit="user", day="day", effect=float(result.relative[2]) * 1.001, exposure=0.5)
    assert "is found after 3 days; run 1 week, so that each day of the week counts alike" in easy.answers()[0]


def test_the_power_is_reached_in_a_simulation(duck: Engine) -> None:
    """Experiments with the effect and the number of users that the formula gives are significant 80% of the time."""
    n = users_needed(0.35, 1.0)  # 257
    rng = np.random.default_rng(2)
    treated = np.arange(n) % 2 == 1
    hits = 0
    for _ in range(120):
        frame = pd.DataFrame({"arm": np.where(treated, "B", "A"), "x": rng.normal(0.35 * treated, 1.0)})
        hits += analyse(frame, "x", engine=duck).rows[0].effect.p < 0.05
    assert abs(hits / 120 - 0.8) < 3.5 * np.sqrt(0.16 / 120)


def test_wrong_designs_are_refused() -> None:
    frame = users(50)
    with pytest.raises(UsageError, match=r"p90\(latency\) is a quantile; power is for means, shares and ratios"):
        ab_power(frame, "p90(latency)")
    with pytest.raises(UsageError, match="days need unit="):
        ab_power(frame, "revenue", day="country")
    with pytest.raises(UsageError, match="exposure == 0, must be above 0 and at most 1"):
        ab_power(frame, "revenue", exposure=0)
    with pytest.raises(UsageError, match="two or more numbers, the control first"):
        ab_power(frame, "revenue", shares=[1])
    with pytest.raises(UsageError, match="effect == 0, must be"):
        users_needed(0, 1.0)
