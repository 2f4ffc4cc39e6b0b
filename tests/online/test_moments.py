"""Moments of groups, against numpy over the rows."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pytest

from cranfield.errors import UsageError
from cranfield.online import moments as moments_module
from cranfield.online.moments import moments, moments_of_sets


def rows(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "arm": rng.choice(["A", "B", "C"], n),
            "far": rng.normal(1e9, 1, n),  # squares of these differ in the last digit of a float only
            "y": rng.exponential(3, n),
            "clicked": rng.random(n) < 0.3,
            "count": rng.integers(0, 9, n),
        }
    )
    frame.loc[3:9, "y"] = np.nan
    frame.loc[12, "y"] = np.inf
    return frame


NAMES = ["far", "y", "clicked", "count"]


@pytest.mark.parametrize("lazy", [True, False], ids=["duckdb", "pandas"])
def test_moments_are_those_of_numpy_and_incomplete_rows_are_counted(lazy: bool) -> None:
    frame = rows()
    found = moments(duckdb.from_df(frame) if lazy else frame, NAMES, ["arm"])
    complete = frame[np.isfinite(frame["y"])]
    assert found.groups == (("A",), ("B",), ("C",))
    assert found.missing.sum() == 8
    for arm in "ABC":
        own = complete.loc[complete["arm"] == arm, NAMES].astype(float).to_numpy()
        i = found.group(arm)
        assert found.n[i] == len(own)
        assert found.mean[i] == pytest.approx(own.mean(axis=0), rel=1e-14)
        assert found.cov[i] == pytest.approx(np.cov(own.T), rel=1e-6, abs=1e-9)


def test_first_rows_that_are_far_from_the_others_cost_no_digits() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([np.zeros(1_500), rng.normal(1e9, 1, 5_000)])
    arm = np.repeat(["A", "B"], [1_500, 5_000])
    found = moments(duckdb.from_df(pd.DataFrame({"arm": arm, "x": values})), ["x"], ["arm"])
    assert found.cov[1, 0, 0] == pytest.approx(values[1_500:].var(ddof=1), rel=1e-6)
    assert found.cov[0, 0, 0] == 0


def test_a_constant_column_has_no_variance() -> None:
    frame = pd.DataFrame({"arm": ["A", "B"] * 1_000, "x": 0.1, "y": np.arange(2_000) % 3})
    assert moments(duckdb.from_df(frame), ["x", "y"], ["arm"]).cov[:, 0, 0].tolist() == [0, 0]


def test_each_set_of_columns_has_its_own_complete_rows() -> None:
    frame = rows()
    found = moments_of_sets(duckdb.from_df(frame), {"a": ("y",), "b": ("far", "count")}, ["arm"])
    assert found["a"].n.sum() == 492
    assert found["b"].n.sum() == 500
    assert found["b"].cov[0, 0, 1] == pytest.approx(frame[frame["arm"] == "A"][["far", "count"]].cov().iloc[0, 1])


def test_pooled_groups_have_the_moments_of_all_rows() -> None:
    frame = rows()
    frame["day"] = np.arange(len(frame)) % 4
    pooled = moments(duckdb.from_df(frame), ["y", "count"], ["arm", "day"]).pooled(["day"])
    whole = moments(duckdb.from_df(frame), ["y", "count"], ["day"])
    assert set(pooled.groups) == set(whole.groups)
    for group in whole.groups:
        i, j = pooled.group(group), whole.group(group)
        assert pooled.n[i] == whole.n[j]
        assert pooled.mean[i] == pytest.approx(whole.mean[j])
        assert pooled.cov[i] == pytest.approx(whole.cov[j])


def test_a_ratio_has_the_variance_of_the_delta_method() -> None:
    # Users with (clicks, shown) = (1, 2), (0, 2), (3, 4), (2, 4): ratio 6 / 12. Residuals y − R x are 0, −1, 1, 0,
    # with variance 2 / 3; the mean of shown is 3, so the squared error is 2 / 3 / 4 / 9.
    frame = duckdb.sql("SELECT * FROM (VALUES (1, 2), (0, 2), (3, 4), (2, 4)) AS t(clicks, shown)")
    ratio = moments(frame, ["clicks", "shown"]).ratio("clicks", "shown")
    assert ratio.value.tolist() == [0.5]
    assert ratio.error[0] == pytest.approx(np.sqrt(2 / 3 / 4 / 9))


def test_the_difference_of_groups_adds_their_variances() -> None:
    # A: 1, 3 (mean 2, variance 2, squared error 1); B: 4, 8 (mean 6, variance 8, squared error 4).
    frame = duckdb.sql("SELECT * FROM (VALUES ('A', 1), ('A', 3), ('B', 4), ('B', 8)) AS t(arm, x)")
    difference, error = moments(frame, ["x"], ["arm"]).means("x").difference("B", "A")
    assert (difference, error) == (4, pytest.approx(np.sqrt(5)))


def test_empty_groups_and_single_rows_have_no_variance() -> None:
    frame = duckdb.sql("SELECT * FROM (VALUES ('A', 1.0), ('B', NULL), (NULL, 2.0), (NULL, 4.0)) AS t(arm, x)")
    found = moments(frame, ["x"], ["arm"])
    assert found.groups == (("A",), ("B",), (None,))
    assert found.n.tolist() == [1, 0, 2]
    assert found.mean[:, 0] == pytest.approx([1, np.nan, 3], nan_ok=True)
    assert found.cov[:, 0, 0] == pytest.approx([np.nan, np.nan, 2], nan_ok=True)


def test_wrong_columns_are_named() -> None:
    frame = duckdb.sql("SELECT 'A' AS arm, 1.0 AS revenue")
    with pytest.raises(UsageError, match="no column 'revenu'; did you mean 'revenue'"):
        moments(frame, ["revenu"])
    with pytest.raises(UsageError, match="column 'arm' holds String, must hold numbers"):
        moments(frame, ["arm"])


def test_a_group_of_zeros_has_mean_and_variance_0_beside_groups_that_shift_the_sums() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random(15_000) < 0.95, 0, rng.exponential(20, 15_000))
    frame = pd.DataFrame({"log": np.repeat(np.arange(500), 30), "x": values, "one": 1.0})
    found = moments_of_sets(frame, {"all": ["x", "one"]}, ["log"])["all"]
    zero = (values.reshape(500, 30) == 0).all(axis=1)
    assert zero.sum() > 50
    assert not found.mean[zero, 0].any()
    assert not found.cov[zero].any()


def test_a_column_with_one_value_needs_no_second_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variance is 0 whatever the shift, although its mean is infinitely many standard deviations away from it."""
    scans: list[Any] = []
    fetched = moments_module.fetched
    monkeypatch.setattr(moments_module, "fetched", lambda frame: scans.append(frame) or fetched(frame))
    found = moments(pyarrow.table({"one": [3, 3, 3], "x": [1, 2, 6]}), ["one", "x"])
    assert len(scans) == 1
    assert found.mean.tolist() == [[3, 3]]
    assert found.cov.tolist() == [[[0, 0], [0, 7]]]  # (4 + 1 + 9) / 2
