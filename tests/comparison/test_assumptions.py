"""Assumptions of tests, against scipy's tests and the scales that measures declare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cranfield.comparison.assumptions import (
    check_matrices,
    check_paired,
    check_unpaired,
    few_topics,
    interval_scale,
    normality,
    same_variance,
    shapiro_wilk,
)
from cranfield.comparison.compare import compare
from cranfield.comparison.data import Matrix, all_pairs
from cranfield.comparison.methods.wilcoxon_and_sign import RANKS_DIFFERENCES


@pytest.mark.parametrize("n", [3, 4, 5, 6, 11, 12, 50, 1000])
def test_shapiro_wilk_agrees_with_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = np.concatenate([rng.normal(size=(4, n)), rng.exponential(size=(4, n)) ** 2])
    w, p = shapiro_wilk(rows)
    witness = [stats.shapiro(row) for row in rows]
    # scipy's constants are in single precision
    assert w == pytest.approx([result.statistic for result in witness], abs=1e-7)
    assert p == pytest.approx([result.pvalue for result in witness], abs=1e-6)


def test_shapiro_wilk_is_undefined_for_constant_and_tiny_samples() -> None:
    rows = np.array([[0.1, 0.5, 0.2, math.nan], [0.3, 0.3, 0.3, 0.3], [0.1, 0.2, math.nan, math.nan]])
    w, p = shapiro_wilk(rows)
    assert w[0] == pytest.approx(stats.shapiro([0.1, 0.5, 0.2]).statistic)
    assert np.isnan(p).tolist() == [False, True, True]
    assert normality(rows[1]).holds is None


def test_brown_forsythe_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    for scale in (1.0, 4.0):
        x, y = rng.normal(size=20), rng.normal(0, scale, 13)
        result, witness = same_variance(x, y), stats.levene(x, y, center="median")
        assert f"F = {witness.statistic:.3f}, p = {witness.pvalue:.4f}" in result.says
        assert result.holds is bool(witness.pvalue >= 0.05)
    assert same_variance(np.array([0.1, 0.1]), np.array([0.2, 0.2])).holds is None


def test_fewer_than_25_topics_are_a_caution() -> None:
    assert few_topics(24).holds is False
    assert few_topics(25).holds is True
    assert few_topics(1).says.startswith("1 topic is few: the minimum is 25")


@pytest.mark.parametrize(("zeros", "holds"), [(15, True), (16, False)])
def test_many_zeros_are_more_than_half(zeros: int, holds: bool) -> None:
    x = np.where(np.arange(30) < zeros, 0.0, 0.1 + np.arange(30) / 100)
    by_name = {assumption.name: assumption.holds for assumption in check_paired(x)}
    assert by_name["zeros"] is holds
    matrix = Matrix.of(np.stack([x, np.zeros(30)], axis=1))
    by_name = {
        assumption.name: assumption.holds for assumption in check_matrices([(matrix, np.array([0]), np.array([1]))])
    }
    assert by_name["zeros"] is holds


@pytest.mark.parametrize(
    ("measure", "holds"),
    [
        # Ferro & Maistro 2024 §7.7.2: precision, RBP with p = 1/2 are on an interval scale; AP, DCG, ERR not; recall
        # for a single topic, because its step is 1/R
        ("P@10", True), ("R@10", False), ("RBP(p=0.5)", True), ("RBP(p=0.8)", False),
        ("AP", False), ("nDCG@10", False), ("ERR", False),
        # graded RBP: for one p that depends on the gains, here 1/3; and a name that is not a measure
        ("RBP(p=0.5, gain={1: 1, 2: 2})", False), ("my own score", None),
    ],
)  # fmt: skip
def test_scales_as_measures_declare_them(measure: str, holds: bool | None) -> None:
    assert interval_scale(measure).holds is holds


def test_each_test_states_why_it_needs_an_interval_scale() -> None:
    assert interval_scale("AP").says == "means need an interval scale; AP is not on one"
    assert interval_scale("AP", RANKS_DIFFERENCES).says.startswith("ranks of differences need an interval scale")
    assert "Ferro & Maistro" in interval_scale("AP").source  # not in the line, but below it for those who ask


def test_checking_all_pairs_at_once_equals_checking_each() -> None:
    rng = np.random.default_rng(6)
    values = np.round(np.clip(rng.exponential(0.1, (30, 8)), 0, 0.9), 1)
    values[:, 1] = values[:, 0]
    first, second = np.triu_indices(8, 1)
    checked = {assumption.name: assumption for assumption in check_matrices([(Matrix.of(values, "AP"), first, second)])}
    one_by_one = [check_paired(np.round(values[:, a] - values[:, b], 6)) for a, b in zip(first, second, strict=True)]
    by_name = [{assumption.name: assumption.holds for assumption in checks} for checks in one_by_one]
    zeros = sum(checks["zeros"] is False for checks in by_name)
    crooked = sum(checks["normality"] is False for checks in by_name)
    assert zeros > 0
    assert f"in {zeros} of 28 pairs" in checked["zeros"].says
    assert f"in {crooked} of 27 pairs" in checked["normality"].says
    assert checked["normality"].holds is False
    assert checked["scale"].holds is False
    ordinal = check_matrices([(Matrix.of(values, "AP"), first, second)], normal=False, needs=None)
    assert [assumption.name for assumption in ordinal] == ["topics", "zeros"]
    ranks = check_matrices([(Matrix.of(values, "AP"), first, second)], normal=False, needs=RANKS_DIFFERENCES)
    assert [assumption.name for assumption in ranks] == ["topics", "zeros", "scale"]
    assert "ranks of differences" in ranks[-1].says


def test_normal_differences_raise_no_doubt() -> None:
    values = np.random.default_rng(2).normal(size=(40, 30))
    first, second = np.arange(0, 30, 2), np.arange(1, 30, 2)
    checked = {assumption.name: assumption for assumption in check_matrices([(Matrix.of(values), first, second)])}
    assert all(assumption.holds for assumption in checked.values())


def test_unpaired_samples_are_checked_for_normality_and_equal_variance() -> None:
    x, y = np.arange(30.0), np.arange(30.0) ** 3
    checked = check_unpaired(x, y, "AP", equal_variance=True)
    names = [assumption.name for assumption in checked]
    assert names == ["topics", "normality", "normality", "equal variance", "scale"]
    assert [assumption.holds for assumption in checked] == [True, True, False, False, False]


def test_pairs_that_vary_more_than_a_pooled_error_allows_are_counted() -> None:
    rng = np.random.default_rng(5)
    values = np.hstack([rng.normal(0, 1, (50, 1)) + rng.normal(0, 0.01, (50, 8)), rng.normal(0, 1, (50, 2))])
    notes = " ".join(compare(values, test="tukey").notes)
    assert "in 17 of 45 pairs differences vary more than a pooled error allows" in notes  # 8 × 2 + 1
    assert "use max-t" in notes
    assert "pooled error" not in " ".join(compare(values, test="max-t").notes)
    assert "pooled error" not in " ".join(compare(rng.normal(0, 1, (50, 10)), test="tukey").notes)


def test_skewed_pairs_are_counted_as_by_scipy() -> None:
    rng = np.random.default_rng(6)
    values = rng.exponential(1, (25, 6)) * np.geomspace(0.1, 1, 6)
    first, second = all_pairs(6)
    skew = stats.skew(values[:, first] - values[:, second], axis=0)
    count = int((np.abs(skew) > 1.96 * np.sqrt(6 * 23 / (26 * 28))).sum())
    notes = " ".join(compare(values, test="max-t").notes)
    assert count > 3
    assert f"differences are skewed in {count} of 15 pairs" in notes
    assert "are skewed" not in " ".join(compare(rng.normal(0, 1, (25, 6)), test="max-t").notes)
