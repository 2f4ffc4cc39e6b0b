"""Estimates that few users carry: the influence of users is what leaving each of them out changes."""

import numpy as np
import pyarrow
import pytest
from scipy import stats

from cranfield.online.engines import open_engine
from cranfield.online.few_users import Part, carried, influences, positive_ends, share_ends
from cranfield.online.moments import moments_of_sets


def test_influences_are_the_changes_without_each_user() -> None:
    rng = np.random.default_rng(0)
    n = 40
    table = pyarrow.table(
        {"arm": np.repeat(["A", "B"], n), "a": rng.poisson(3, 2 * n), "b": np.ceil(rng.lognormal(2, 1, 2 * n)),
         "c": rng.exponential(1, 2 * n)}
    )  # fmt: skip
    parts = {"sum": [Part(2.0, "a", "b"), Part(-1.0, "c")]}
    with open_engine("duckdb") as engine:
        frame = engine.read(table)
        moments = moments_of_sets(frame, {"sum": ("a", "b", "c")}, ["arm"])
        found = influences(engine, frame, parts, moments, ["arm"])["sum"]
    for g, arm in enumerate("AB"):
        a, b, c = (np.array(table[name].to_pylist())[np.array(table["arm"].to_pylist()) == arm] for name in "abc")
        without = [
            2 * np.delete(a, u).sum() / np.delete(b, u).sum() - np.delete(c, u).mean() for u in range(n)
        ]  # fmt: skip
        change = np.array(without) - (2 * a.sum() / b.sum() - c.mean())
        assert found.variance[g] == pytest.approx((n - 1) / n * (change**2).sum())
        kurtosis = stats.kurtosis(np.concatenate([change, -change]), fisher=False)  # around 0
        assert found.df[g] == pytest.approx(min(n - 1, 2 * n / (kurtosis - (n - 3) / (n - 1))))
        assert found.third[g] == pytest.approx(-(change**3).sum())  # with the sign of the users, not of their absence


def test_one_heavy_user_is_noticed_and_many_light_ones_are_not() -> None:
    rng = np.random.default_rng(1)
    light = rng.poisson(5, 20_000) + 1.0
    heavy = light.copy()
    heavy[0] = 5_000.0
    for below, expected in ((light, False), (heavy, True)):
        table = pyarrow.table({"a": rng.binomial(below.astype(int), 0.3), "b": below})
        moments = moments_of_sets(table, {"r": ("a", "b")})["r"]
        error = moments.ratio("a", "b").error
        assert carried(moments, [Part(1.0, "a", "b")], error).tolist() == [expected]


def test_a_share_without_clicks_has_an_interval_with_two_degrees_of_freedom() -> None:
    zero, rows = np.zeros(1), np.array([50.0])
    low, high = share_ends(zero, zero, np.array([9.0]), rows, lambda df: stats.t.ppf(0.975, df))
    q = stats.t.ppf(0.975, 2)
    assert (low[0], high[0]) == pytest.approx((0.0, q**2 / (50 + q**2)))


def test_the_interval_of_a_positive_number_is_symmetric_on_the_logarithmic_scale_without_skewness() -> None:
    value, variance, none = np.array([4.0]), np.array([0.25]), np.zeros(1)
    low, high = positive_ends(value, variance, np.array([30.0]), none, lambda df: stats.t.ppf(0.975, df))
    assert np.log(high / value) == pytest.approx(stats.t.ppf(0.975, 30) * 0.125)
    assert low * high == pytest.approx(value**2)
    skewed = positive_ends(value, variance, np.array([30.0]), variance**1.5, lambda df: stats.t.ppf(0.975, df))
    assert skewed[1] > high
    assert skewed[0] > low
