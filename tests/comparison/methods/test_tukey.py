"""Tukey's HSD and Scheffé's test: studentized range, R's examples, statsmodels, Ferro & Maistro 2024 (9)–(11)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from cranfield.comparison.anova.anova import anova, one_way, two_way
from cranfield.comparison.data import Matrix
from cranfield.comparison.distributions import range_quantile, range_sf
from cranfield.comparison.methods.tukey import scheffe, tukey
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.errors import UsageError

BREAKS = """
26 30 54 25 70 52 51 26 67 18 21 29 17 12 18 35 30 36 36 21 24 18 10 43 28 15 26
27 14 29 19 29 31 41 20 44 42 26 19 16 39 28 21 39 29 20 21 24 17 13 15 15 16 28
"""
WARPBREAKS = {
    "breaks": [float(x) for x in BREAKS.split()],
    "wool": ["A"] * 27 + ["B"] * 27,
    "tension": (["L"] * 9 + ["M"] * 9 + ["H"] * 9) * 2,
}
"""R's warpbreaks (Tippett 1950)."""


# -- the distribution


@pytest.mark.parametrize(("k", "df"), [(2, 1), (3, 2), (3, 20), (10, 9), (20, 100), (129, 6272), (129, 50)])
def test_the_studentized_range_agrees_with_scipy(k: int, df: float) -> None:
    q = np.array([0.05, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0])
    assert range_sf(q, k, df) == pytest.approx(stats.studentized_range.sf(q, k, df), abs=1e-8)


def test_the_studentized_range_of_a_known_deviation() -> None:
    # scipy treats 100,000 degrees of freedom and more as infinite.
    q = np.array([0.5, 2.0, 3.5, 5.0])
    assert range_sf(q, 5, math.inf) == pytest.approx(stats.studentized_range.sf(q, 5, np.inf), abs=1e-8)


def test_with_two_means_tukey_is_a_t_test() -> None:
    # The range of two normal values is √2 |z|, so Q_2 is √2 |t|: exact in the tails as well.
    t = np.array([0.1, 1.0, 3.0, 10.0, 40.0])
    assert range_sf(math.sqrt(2) * t, 2, 7) == pytest.approx(2 * stats.t.sf(t, 7), rel=1e-7)


def test_interpolated_values_are_accurate() -> None:
    q = np.abs(np.random.default_rng(0).normal(0, 6, 5000))
    single = np.concatenate([range_sf(q[i : i + 1000], 30, 290) for i in range(0, 5000, 1000)])
    assert range_sf(q, 30, 290) == pytest.approx(single, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("alpha", "k", "df", "printed"), [(0.05, 3, 20, 3.58), (0.05, 10, 9, 5.74), (0.01, 5, 30, 5.05)]
)
def test_critical_values_of_printed_tables(alpha: float, k: int, df: int, printed: float) -> None:
    # Tables of the studentized range in textbooks, such as Montgomery's, two decimals.
    assert round(range_quantile(alpha, k, df), 2) == printed
    assert float(range_sf(np.array([range_quantile(alpha, k, df)]), k, df)[0]) == pytest.approx(alpha, rel=1e-9)


# -- published examples


def test_warpbreaks_as_r_prints_them() -> None:
    result = anova(WARPBREAKS, value="breaks")
    # R: summary(fm1 <- aov(breaks ~ wool + tension, data = warpbreaks))
    assert (round(result["wool"].f, 3), round(result["wool"].p, 5)) == (3.339, 0.07361)
    assert (round(result["tension"].f, 3), round(result["tension"].p, 5)) == (7.537, 0.00138)
    pairs = tukey(result, factor="tension").columns()
    # R: TukeyHSD(fm1, "tension", ordered = FALSE): M-L, H-L, H-M; ours are the other way round.
    printed = {
        ("L", "M"): (10.0, 0.6465793, 19.35342, 0.0336262),
        ("L", "H"): (14.722222, 5.3688015, 24.07564, 0.0011218),
        ("M", "H"): (4.722222, -4.6311985, 14.07564, 0.4474210),
    }
    for i, pair in enumerate(zip(pairs["first"], pairs["second"], strict=True)):
        ours = [pairs[name][i] for name in ("difference", "low", "high", "p")]
        assert ours == pytest.approx(printed[pair], rel=1e-6, abs=5e-8), pair


def test_half_width_of_table_1_of_ferro_and_maistro_2024() -> None:
    # §4.2.6: 129 systems, 50 topics, MS of the error 85.3502 / 6272: half-width 0.0515 by (11).
    half = range_quantile(0.05, 129, 6272) * math.sqrt(85.3502 / 6272 / 50) / 2
    assert round(half, 4) == 0.0515


# -- other tools


def test_one_way_tukey_agrees_with_statsmodels_and_scipy() -> None:
    rng = np.random.default_rng(2)
    groups = {name: rng.normal(i / 4, 1, n) for i, (name, n) in enumerate({"a": 8, "b": 8, "c": 8, "d": 8}.items())}
    result = tukey(one_way(groups))
    theirs = pairwise_tukeyhsd(np.concatenate(list(groups.values())), np.repeat(list(groups), 8))
    assert result.p == pytest.approx(theirs.pvalues, abs=1e-6)
    assert np.stack([-result.high, -result.low], axis=1) == pytest.approx(theirs.confint, abs=1e-5)
    assert result.p == pytest.approx(stats.tukey_hsd(*groups.values()).pvalue[np.triu_indices(4, 1)], abs=1e-6)


def test_groups_of_different_sizes_are_tukey_kramer() -> None:
    rng = np.random.default_rng(3)
    groups = {"a": rng.normal(0, 1, 5), "b": rng.normal(1, 1, 9), "c": rng.normal(0, 1, 7)}
    result = tukey(one_way(groups))
    assert result.p == pytest.approx(stats.tukey_hsd(*groups.values()).pvalue[np.triu_indices(3, 1)], abs=1e-6)
    assert math.isnan(result.critical)
    assert "standard errors differ between pairs, so there is no single half-width" in result.notes


def test_tukey_follows_equations_9_to_11_of_ferro_and_maistro_2024(scores: np.ndarray) -> None:
    analysis = two_way(scores)
    result = tukey(analysis)
    topics, systems = scores.shape
    unit = math.sqrt(analysis["error"].ms / topics)
    mean = scores.mean(axis=0)
    statistic = np.array([(mean[u] - mean[v]) / unit for u in range(systems) for v in range(u + 1, systems)])
    assert result.statistic == pytest.approx(statistic)
    assert result.p == pytest.approx(
        stats.studentized_range.sf(np.abs(statistic), systems, analysis["error"].df), abs=1e-6
    )
    limit = stats.studentized_range.isf(0.05, systems, analysis["error"].df)
    assert result.half_width == pytest.approx(limit * unit / 2, rel=1e-6)
    assert result.differ.tolist() == (np.abs(statistic) > limit).tolist()


def test_intervals_overlap_exactly_if_two_systems_do_not_differ(scores: np.ndarray) -> None:
    result = tukey(scores)
    span = result.intervals()
    apart = (span.low[result.first] > span.high[result.second]) | (span.low[result.second] > span.high[result.first])
    assert result.differ.tolist() == apart.tolist()
    assert 0 < result.differ.sum() < len(result)  # otherwise the test could not fail


def test_scheffe_is_stricter_than_tukey_and_follows_its_formula(scores: np.ndarray) -> None:
    analysis = two_way(scores)
    result, hsd = scheffe(analysis), tukey(analysis)
    k, df = scores.shape[1], analysis["error"].df
    f = result.difference**2 / (analysis["error"].ms * 2 / len(scores)) / (k - 1)
    assert result.p == pytest.approx(stats.f.sf(f, k - 1, df))
    assert (result.p >= hsd.p - 1e-12).all()
    assert result.critical == pytest.approx(
        math.sqrt((k - 1) * stats.f.isf(0.05, k - 1, df) * analysis["error"].ms * 2 / len(scores))
    )


def test_levels_of_components_and_of_their_combinations(scores: np.ndarray) -> None:
    table = {"run": [f"run{i + 1}" for i in range(6)], "stemmer": ["no", "yes"] * 3, "model": list("aabbcc")}
    analysis = anova(scores, factors=table, interactions="stemmer:model")
    result = tukey(analysis, factor="model")
    assert result.levels == ("a", "b", "c")
    assert result.critical == pytest.approx(
        stats.studentized_range.isf(0.05, 3, analysis["error"].df)
        * math.sqrt(analysis["error"].ms / (2 * len(scores))),
        rel=1e-6,
    )
    both = tukey(analysis, factor="stemmer:model")
    # All combinations are all runs, and the interaction is in the model: as if runs were the factor.
    assert sorted(both.p) == pytest.approx(sorted(tukey(scores).p))


def test_systems_are_tested_against_seeds() -> None:
    rng = np.random.default_rng(5)
    table = {"run": [f"run{i + 1}" for i in range(6)], "system": list("aabbcc")}
    analysis = anova(rng.random((10, 6)) + rng.normal(0, 0.5, 6), factors=table)
    result = tukey(analysis)
    assert result.df == 3
    assert result.critical == pytest.approx(
        range_quantile(0.05, 3, 3) * math.sqrt(analysis["run(system)"].ms / 20), rel=1e-9
    )


# -- as compare calls it


@pytest.mark.parametrize("name", ["tukey", "HSD", "tukey_hsd"])
def test_the_engine_agrees_with_the_function(scores: np.ndarray, name: str) -> None:
    test = TESTS.find(name)
    assert test.simultaneous
    assert test.complete
    first, second = np.triu_indices(scores.shape[1], 1)
    result = test.run(Matrix.of(scores), first, second, TestSettings())
    expected = tukey(scores)
    # The function fits the model and the engine averages columns, so the last bits may differ.
    assert result.p == pytest.approx(expected.p, rel=1e-9)
    assert result.critical == pytest.approx(expected.critical, rel=1e-12)
    assert result.low == pytest.approx(expected.low, rel=1e-12)
    assert result.n.tolist() == [len(scores)] * len(first)


def test_a_baseline_is_still_one_of_all_systems(scores: np.ndarray) -> None:
    against = np.arange(1, 6), np.zeros(5, dtype=np.int64)
    result = TESTS.find("scheffe").run(Matrix.of(scores), *against, TestSettings())
    assert result.p == pytest.approx(scheffe(scores).p[:5])


def test_tukey_rejects_any_true_null_hypothesis_at_alpha() -> None:
    rng = np.random.default_rng(6)
    false = [tukey(rng.normal(size=(12, 6))).differ.any() for _ in range(400)]
    # The family-wise rate: 400 trials at 0.05 are 20, standard error 4.36.
    assert 9 <= sum(false) <= 31


# -- bad input


def test_identical_systems_do_not_differ() -> None:
    result = tukey(np.repeat(np.random.default_rng(0).random((5, 1)), 3, axis=1))
    assert result.p.tolist() == [1.0, 1.0, 1.0]
    assert result.statistic.tolist() == [0.0, 0.0, 0.0]


def test_two_identical_systems_among_others(scores: np.ndarray) -> None:
    scores[:, 1] = scores[:, 0]
    assert tukey(scores).p[0] == 1.0


@pytest.mark.parametrize("call", [tukey, scheffe])
def test_differences_without_error_variance(call: Any) -> None:
    result = call(np.arange(4)[:, None] * 0.1 + np.arange(3) * 0.2)
    assert result.p.tolist() == [0.0, 0.0, 0.0]
    assert any("there is no error variance" in note for note in result.notes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tukey(np.eye(3), alpha=1.5), "alpha == 1.5, must be above 0 and below 1"),
        (lambda: tukey(np.eye(3), factor="stemer"), "no factor 'stemer'"),
        (lambda: tukey([[0.1, 0.2]]), "1 topic"),
        (lambda: range_sf(np.array([1.0]), 1, 5), "k == 1"),
        (lambda: range_quantile(0.05, 3, 0), "df == 0"),
        (
            lambda: TESTS.find("tukey").run(
                Matrix.of(np.eye(3)), np.array([0]), np.array([1]), TestSettings(alternative="less")
            ),
            "is two-sided",
        ),
    ],
)
def test_bad_input_raises_an_error(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert message in str(error.value)


@pytest.fixture
def scores() -> np.ndarray:
    """Six systems on 20 topics: some pairs differ, some do not."""
    rng = np.random.default_rng(7)
    return rng.normal(0.3, 0.1, (20, 6)) + rng.normal(0, 0.2, (20, 1)) + np.array([0, 0.02, 0.05, 0.1, 0.12, 0.2])
