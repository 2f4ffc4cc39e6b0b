"""A/A splits: the rate of rejection is α if the analysis is right, and is not if it is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cranfield.errors import UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.random_splits import aa_splits
from cranfield.online.experiments.user_buckets import bucket_sums
from tests.online.experiments.data import users

RUNS = 400


def agrees(hits: int, runs: int, alpha: float) -> bool:
    """Is this many hits of a valid test plausible?"""
    return bool(stats.binomtest(hits, runs, alpha).pvalue > 0.001)


@pytest.mark.parametrize(
    "options",
    [{}, {"covariates": ["revenue=revenue_before", "clicks/impressions=clicks_before/impressions_before"]}],
    ids=["plain", "CUPED"],
)
def test_without_an_effect_p_values_are_uniform(duck: Engine, options: dict[str, Any]) -> None:
    """1,000 experiments of 200 users each, as segments of one table, so that one scan analyses all of them."""
    frame = many_experiments(1_000, 200)
    metrics = ["revenue", "clicks/impressions", "share(bought)"]
    result = analyse(frame, metrics, segments=["experiment"], engine=duck, **options).by_segment
    assert result is not None
    columns = result.columns()
    for metric in metrics:
        p = columns["p"][columns["metric"] == metric]
        assert len(p) == 1_000
        assert agrees(int((p < 0.05).sum()), 1_000, 0.05), metric  # 25 to 75 hits or so
        assert agrees(int((p < 0.2).sum()), 1_000, 0.2), metric
        assert stats.kstest(p, "uniform").pvalue > 0.001, metric


def test_always_valid_intervals_hold_while_users_arrive(duck: Engine) -> None:
    """800 experiments, looked at eight times: the share with an interval without the truth stays below α."""
    frame = many_experiments(800, 240)
    arrived = np.arange(len(frame)) // 800  # users of each experiment, in the order of their arrival
    missed, usual = np.zeros(800, dtype=bool), np.zeros(800, dtype=bool)
    for count in range(30, 241, 30):
        part = frame[arrived < count]
        for design, hits in (("always-valid", missed), ("once", usual)):
            looked = analyse(
                part, "revenue", segments=["experiment"], engine=duck, alpha=0.1, sequential=design,
                **({"tuned_for": 120} if design == "always-valid" else {}),
            ).by_segment  # fmt: skip
            assert looked is not None
            columns = looked.columns()
            outside = (columns["low"] > 0) | (columns["high"] < 0)
            np.logical_or.at(hits, [int(name[1:]) for name in columns["value"]], outside)
    assert missed.sum() <= stats.binom.ppf(0.999, 800, 0.1)
    assert missed.sum() > 0.02 * 800  # not so wide that they say nothing
    assert usual.mean() > 0.2  # ordinary intervals, looked at as often


def many_experiments(experiments: int, size: int) -> pd.DataFrame:
    """Users of many experiments without an effect, which take turns."""
    frame = users(experiments * size, seed=11)
    frame["experiment"] = [f"e{i % experiments}" for i in range(len(frame))]
    return frame


@pytest.mark.parametrize(
    "options",
    [{"caps": {"revenue": "p99"}}, {"method": "bootstrap", "unit": "user", "resamples": 200}],
    ids=["capped", "bootstrap"],
)
def test_without_an_effect_a_share_alpha_of_analyses_is_significant(duck: Engine, options: dict[str, object]) -> None:
    """What has no segments; tools/aa_simulation.py does the same with more runs."""
    metrics = ["revenue", "clicks/impressions", "share(bought)", "median(latency)"]
    runs = 20
    hits = np.zeros(len(metrics), dtype=int)
    for seed in range(runs):
        result = analyse(users(400, seed=1_000 + seed), metrics, engine=duck, **options)  # type: ignore[arg-type]
        hits += np.array([row.effect.p < 0.2 for row in result.rows])
    assert all(agrees(int(hit), runs, 0.2) for hit in hits), dict(zip(metrics, hits.tolist(), strict=True))


def test_splits_of_real_data_are_uniform() -> None:
    frame = users(3_000)
    result = aa_splits(frame, ["revenue", "clicks/impressions", "share(bought)"], unit="user", splits=RUNS)
    assert (result.chance > 0.001).all()
    assert (result.uniform > 0.001).all()
    assert result.verdict.startswith("A/A splits are significant about as often as they should be")
    histogram = result.histogram()
    assert histogram["share"][:20].sum() == pytest.approx(1)
    expected = np.histogram(result.p[0], np.linspace(0, 1, 21))[0] / RUNS
    assert histogram["share"][:20] == pytest.approx(expected)


def test_a_split_is_welchs_test_of_its_users() -> None:
    """The p-value from sums per bucket is that of scipy on the rows of the two halves."""
    from cranfield.online.engines.dialect import bucket

    frame = users(500)
    result = aa_splits(frame, "revenue", unit="user", splits=3, buckets=100, seed=4)
    at = np.array([bucket(user, "buckets/4") % 100 for user in frame["user"]])
    weights = np.random.default_rng(4).permuted(np.broadcast_to(np.arange(100) < 50, (3, 100)), axis=1)
    for split in range(3):
        first = weights[split][at]
        expected = stats.ttest_ind(frame["revenue"][first], frame["revenue"][~first], equal_var=False)
        assert result.p[0, split] == pytest.approx(expected.pvalue)


def test_rows_of_users_are_not_independent() -> None:
    """Ten rows per user with a common level: an analysis by row rejects far too often, one by user does not."""
    rng = np.random.default_rng(0)
    level = np.repeat(rng.normal(0, 1, 400), 10)
    frame = pd.DataFrame({"user": np.repeat(np.arange(400), 10), "x": level + rng.normal(0, 1, 4_000)})
    by_user = aa_splits(frame, "x", unit="user", splits=RUNS)
    by_row = aa_splits(frame, "x", unit="user", splits=RUNS, by_row=True)
    assert agrees(int((by_user.p < 0.05).sum()), RUNS, 0.05)
    assert by_row.rejected[0] > 0.2
    assert "too often or too seldom" in by_row.verdict
    assert any("treats each row as a unit (10.0 rows per user)" in note for note in by_row.notes)


def test_sums_per_bucket_are_those_of_a_loop(duck: Engine) -> None:
    frame = users(300)
    frame["_unit"], frame["_arm"] = frame["user"], frame["arm"]
    sums = bucket_sums(duck, duck.read(frame), {"r": ("clicks", "impressions")}, groups=["A", "B"], buckets=7)["r"]
    both = frame[["clicks", "impressions"]].to_numpy(dtype=float) - sums.shift
    assert sums.n.sum() == 300
    for g, arm in enumerate("AB"):
        own = both[frame["arm"] == arm]
        assert sums.first[g].sum(axis=0) == pytest.approx(own.sum(axis=0))
        assert sums.second[g].sum(axis=0) == pytest.approx(own.T @ own)
        moments = sums.moments(np.ones((1, 7)), g)
        assert moments.cov[0] == pytest.approx(np.cov(own.T))


def test_the_same_seed_gives_the_same_splits_and_too_few_users_are_refused() -> None:
    frame = users(200)
    first, second = (aa_splits(frame, "revenue", unit="user", splits=20, seed=7) for _ in range(2))
    assert first.p.tolist() == second.p.tolist()
    assert first.p.tolist() != aa_splits(frame, "revenue", unit="user", splits=20, seed=8).p.tolist()
    with pytest.raises(UsageError, match="10 users, must be 20 or more"):
        aa_splits(frame.head(10), "revenue", unit="user")
    with pytest.raises(UsageError, match="no column 'usr'; did you mean 'user'"):
        aa_splits(frame, "revenue", unit="usr")
