"""Relative differences and CUPED as other programs compute them: tea-tasting beside ours, GrowthBook written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import tea_tasting as tt
from scipy import stats

from cranfield.errors import UsageError
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.arm_effects import ArmEffect
from tests.online.experiments.data import users

MEAN = {"metrics": "revenue", "covariates": ["revenue_before"]}
RATIO = {"metrics": "clicks/impressions", "covariates": ["clicks_before/impressions_before"]}


def effect(frame: pd.DataFrame, name: str, **settings: Any) -> ArmEffect:
    return analyse(frame, relative=name, cuped=name, **settings).rows[0].effect


def their_metric(metrics: str, covariates: list[str] | None = None) -> Any:
    if metrics == "revenue":
        return tt.Mean("revenue", "revenue_before" if covariates else None)
    return tt.RatioOfMeans("clicks", "impressions", *(covariates[0].split("/") if covariates else ()))


@pytest.mark.peers
@pytest.mark.parametrize("arms", ["AB", "ABC"])
@pytest.mark.parametrize("settings", [MEAN, RATIO, {"metrics": "revenue"}, {"metrics": "clicks/impressions"}], ids=str)
def test_all_figures_are_those_of_tea_tasting(settings: dict[str, Any], arms: str) -> None:
    frame = users(600, effect=0.5, arms=arms)
    analysed = analyse(frame, relative="tea-tasting", cuped="tea-tasting", **settings)
    metric = their_metric(**settings)
    for row in analysed.rows:
        pair = frame[frame["arm"].isin(["A", row.arm])]
        theirs = tt.Experiment({"m": metric}, variant="arm").analyze(pair, control="A")["m"]
        ours = row.effect
        assert (ours.control, ours.treatment) == pytest.approx((theirs.control, theirs.treatment))
        assert (ours.difference, ours.low, ours.high, ours.p) == pytest.approx(
            (theirs.effect_size, theirs.effect_size_ci_lower, theirs.effect_size_ci_upper, theirs.pvalue)
        )
        assert (ours.relative, ours.relative_low, ours.relative_high) == pytest.approx(
            (theirs.rel_effect_size, theirs.rel_effect_size_ci_lower, theirs.rel_effect_size_ci_upper)
        )


def growthbook(a: pd.DataFrame, b: pd.DataFrame, post: list[str], pre: list[str]) -> dict[str, float]:
    """GrowthBook's frequentist relative effect, from the users themselves: means or ratios, with CUPED if `pre`.

    What a user adds to a value is linear around the means (the delta method); the sums of these are averaged.
    """

    def value(users: pd.DataFrame, columns: list[str]) -> tuple[float, np.ndarray]:
        if len(columns) == 1:
            return users[columns[0]].mean(), users[columns[0]].to_numpy()
        ratio = users[columns[0]].mean() / users[columns[1]].mean()
        return ratio, (users[columns[0]] - ratio * users[columns[1]]).to_numpy() / users[columns[1]].mean()

    (first, of_first), (second, of_second) = value(a, post), value(b, post)
    shift, of_pre = 0.0, (np.zeros(len(a)), np.zeros(len(b)))
    if pre:
        (before_a, pre_a), (before_b, pre_b) = value(a, pre), value(b, pre)
        if len(post) == 1:  # a mean: over all users of both arms
            both = np.cov(np.concatenate([of_first, of_second]), np.concatenate([pre_a, pre_b]))
            theta = both[0, 1] / both[1, 1]
        else:  # a ratio: the sums of the two arms
            theta = (np.cov(of_first, pre_a)[0, 1] + np.cov(of_second, pre_b)[0, 1]) / (
                pre_a.var(ddof=1) + pre_b.var(ddof=1)
            )
        shift, of_pre = theta * (before_b - before_a), (theta * pre_a, theta * pre_b)
    change = second - first - shift
    times = second / first if len(post) == 1 else 1 + change / first
    variances = [np.var(of_first - of_pre[0], ddof=1) / len(a), np.var(of_second - of_pre[1], ddof=1) / len(b)]
    variance = (np.var(times * of_first - of_pre[0], ddof=1) / len(a) + variances[1]) / first**2
    df = sum(variances) ** 2 / (variances[0] ** 2 / (len(a) - 1) + variances[1] ** 2 / (len(b) - 1))
    relative, half = change / first, stats.t.ppf(0.975, df) * np.sqrt(variance)
    return {
        "relative": relative, "relative_low": relative - half, "relative_high": relative + half,
        "relative_p": 2 * stats.t.sf(abs(relative) / np.sqrt(variance), df),
    }  # fmt: skip


@pytest.mark.parametrize("settings", [MEAN, RATIO, {"metrics": "revenue"}, {"metrics": "clicks/impressions"}], ids=str)
def test_relative_effects_are_those_of_growthbook(settings: dict[str, Any]) -> None:
    frame = users(600, effect=0.5)
    a, b = (frame[frame["arm"] == arm] for arm in "AB")
    pre = settings["covariates"][0].split("/") if "covariates" in settings else []
    expected = growthbook(a, b, settings["metrics"].split("/"), pre)
    ours = effect(frame, "growthbook", **settings)
    assert {name: getattr(ours, name) for name in expected} == pytest.approx(expected)


def test_the_programs_differ_from_our_default_where_covariates_adjust_the_control() -> None:
    """GrowthBook divides by the control as it was, tea-tasting and we by the adjusted one."""
    frame = users(600, effect=0.5)
    ours = analyse(frame, **MEAN).rows[0].effect
    theirs = effect(frame, "growthbook", **MEAN)
    raw = frame.loc[frame["arm"] == "A", "revenue"].mean()
    assert theirs.relative == pytest.approx(theirs.difference / raw)
    assert ours.relative == pytest.approx(ours.difference / ours.control)
    assert abs(ours.control - raw) > 1e-3


def test_the_bootstrap_has_no_formula_of_other_programs() -> None:
    with pytest.raises(UsageError, match="relative == 'growthbook' is a formula"):
        analyse(users(100), "revenue", unit="user", method="bootstrap", relative="growthbook")


def test_the_p_of_a_relative_difference_belongs_to_its_interval() -> None:
    """At the level p, the interval of the relative difference just touches 0."""
    frame = users(400, effect=0.25, seed=5)
    for relative in ("fieller", "delta", "tea-tasting", "growthbook"):
        for metric in ("revenue", "share(bought)"):
            p = analyse(frame, metric, relative=relative).rows[0].effect.relative_p
            at_p = analyse(frame, metric, relative=relative, alpha=p).rows[0].effect
            nearest = min(abs(at_p.relative_low), abs(at_p.relative_high))
            assert nearest == pytest.approx(0, abs=1e-9), (relative, metric)
