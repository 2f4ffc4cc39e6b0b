"""Student's t against scipy, R's published examples and simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cranfield import Scores, UsageError
from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.t import one_sample_t, paired_t, t_of_pairs, unpaired_t, welch_of_pairs
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.comparison.test_result import ALTERNATIVES

# Student's sleep data, as R ships it: extra hours of sleep of ten patients with two drugs
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

RNG = np.random.default_rng(7)
MATRIX = np.clip(RNG.beta(1, 2, (30, 1)) + RNG.normal(0, 0.15, (30, 6)), 0, 1)
FIRST, SECOND = np.triu_indices(6, 1)


def test_paired_t_on_the_sleep_data_as_r_prints_it() -> None:
    # R's example(t.test), paired: t = -4.0621, df = 9, p-value = 0.002833, interval -2.4598858 -0.7001142
    result = paired_t(SLEEP_1, SLEEP_2)
    assert result.statistic == pytest.approx(-4.0621, abs=5e-5)
    assert result.df == (9,)
    assert result.p == pytest.approx(0.002833, abs=5e-7)
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)
    assert result.estimate == pytest.approx(-1.58)


def test_welch_on_the_sleep_data_as_r_prints_it() -> None:
    # R's example(t.test): t = -1.8608, df = 17.776, p-value = 0.07939, interval -3.3654832 0.2054832
    result = unpaired_t(SLEEP_1, SLEEP_2)
    assert result.statistic == pytest.approx(-1.8608, abs=5e-5)
    assert result.df[0] == pytest.approx(17.776, abs=5e-4)
    assert result.p == pytest.approx(0.07939, abs=5e-6)
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-7)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_t_tests_agree_with_scipy(alternative: str, level: float) -> None:
    x, y, z = MATRIX[:, 0], MATRIX[:, 1], MATRIX[:17, 2]
    for result, witness in [
        (
            one_sample_t(x, 0.4, alternative=alternative, level=level),
            stats.ttest_1samp(x, 0.4, alternative=alternative),
        ),
        (paired_t(x, y, alternative=alternative, level=level), stats.ttest_rel(x, y, alternative=alternative)),
        (
            unpaired_t(x, z, alternative=alternative, level=level),
            stats.ttest_ind(x, z, equal_var=False, alternative=alternative),
        ),
        (
            unpaired_t(x, z, equal_variance=True, alternative=alternative, level=level),
            stats.ttest_ind(x, z, alternative=alternative),
        ),
    ]:
        assert result.statistic == pytest.approx(witness.statistic, rel=1e-10)
        assert result.p == pytest.approx(witness.pvalue, rel=1e-9)
        assert result.df[0] == pytest.approx(witness.df, rel=1e-12)
        span = witness.confidence_interval(level)
        assert result.interval is not None
        assert (result.interval.low, result.interval.high) == pytest.approx((span.low, span.high), rel=1e-8)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_testing_all_pairs_at_once_equals_testing_each(alternative: str) -> None:
    values = MATRIX.copy()
    values[3, 0] = values[5, 1] = math.nan
    matrix = Matrix.of(values)
    result = t_of_pairs(matrix, FIRST, SECOND, TestSettings(alternative=alternative))
    welch = welch_of_pairs(matrix, FIRST, SECOND, TestSettings(alternative=alternative))
    for i, (a, b) in enumerate(zip(FIRST, SECOND, strict=True)):
        single = paired_t(values[:, a], values[:, b], alternative=alternative)
        assert single.interval is not None
        ours = (result.statistic[i], result.p[i], result.low[i], result.high[i], result.n[i])
        assert ours == pytest.approx(
            (single.statistic, single.p, single.interval.low, single.interval.high, single.n[0]), rel=1e-9
        )
        two = unpaired_t(values[:, a], values[:, b], alternative=alternative)
        assert (welch.statistic[i], welch.p[i]) == pytest.approx((two.statistic, two.p), rel=1e-9)


def test_names_and_aliases_of_the_tests() -> None:
    assert {TESTS.find(name).name for name in ("t", "paired-t", "Student", "t-test", "paired_t")} == {"t"}
    assert TESTS.find("unpaired-t").name == "welch"


def test_every_input_format_gives_the_same_result() -> None:
    x, y = dict(zip("abcdefghij", SLEEP_1, strict=True)), dict(zip("jihgfedcba", SLEEP_2[::-1], strict=True))
    expected = paired_t(SLEEP_1, SLEEP_2).p
    both = np.stack([SLEEP_1, SLEEP_2], axis=1)
    scores = Scores.from_matrix(both, runs=["one", "two"], measure="AP")
    frame = pd.DataFrame({"one": SLEEP_1, "two": SLEEP_2})
    for result in (
        paired_t(x, y),
        paired_t(pd.Series(x), pd.Series(y)),
        paired_t(scores),
        paired_t(frame),
        paired_t({"one": x, "two": y}),
        paired_t(both),
    ):
        assert result.p == pytest.approx(expected, rel=1e-12)
    assert paired_t(scores).systems == ("one", "two")
    assert paired_t(scores, systems=("two", "one")).statistic > 0
    assert unpaired_t(scores).p == pytest.approx(unpaired_t(SLEEP_1, SLEEP_2).p, rel=1e-12)
    assert one_sample_t(scores, system="two").p == pytest.approx(one_sample_t(SLEEP_2).p, rel=1e-12)


def test_identical_systems_have_p_1_and_effect_0() -> None:
    for alternative in ALTERNATIVES:
        result = paired_t([0.1, 0.5, 0.3], [0.1, 0.5, 0.3], alternative=alternative)
        assert (result.statistic, result.p) == (0, 1)
        assert result.effect is not None
        assert result.effect.value == 0
        assert "the systems have the same score on every topic: p = 1" in result.notes
    assert unpaired_t([0.1] * 3, [0.1] * 7).p == 1
    assert one_sample_t([0.5, 0.5], 0.5).p == 1


def test_a_constant_difference_gives_the_limit_of_p() -> None:
    # 0.1 + 0.2 - 0.2 and 0.3 + 0.2 - 0.3 differ in their last bits, which is not a variance
    y = np.array([0.1, 0.3, 0.7, 0.15])
    result = paired_t(y + 0.2, y)
    assert (result.statistic, result.p) == (math.inf, 0)
    assert paired_t(y + 0.2, y, alternative="less").p == 1
    assert "t is infinite and p is its limit" in result.notes[0]
    assert unpaired_t([0.1] * 3, [0.2] * 7).statistic == -math.inf
    both = t_of_pairs(Matrix.of(np.stack([y + 0.2, y, y], axis=1)), np.array([0, 1]), np.array([1, 2]), TestSettings())
    assert both.statistic.tolist() == [math.inf, 0]
    assert both.p.tolist() == [0, 1]
    assert len(both.notes) == 2


def test_pairs_without_two_topics_in_common_are_not_tested() -> None:
    values = MATRIX[:, :3].copy()
    values[1:, 0] = math.nan
    result = t_of_pairs(Matrix.of(values), np.array([0, 1]), np.array([1, 2]), TestSettings())
    assert np.isnan(result.p).tolist() == [True, False]
    assert result.notes == ("1 of 2 pairs were not tested: fewer than 2 topics in common",)


def test_bad_input_raises_an_error() -> None:
    with pytest.raises(UsageError, match="1 topic, a paired t test needs 2 or more"):
        paired_t([0.1], [0.2])
    with pytest.raises(UsageError, match="1 topic, a paired t test needs 2 or more"):
        t_of_pairs(Matrix.of(MATRIX[:1]), FIRST, SECOND, TestSettings())
    with pytest.raises(UsageError, match="level == 1"):
        paired_t([0.1, 0.2], [0.2, 0.1], level=1)
    with pytest.raises(UsageError, match="alternative == 'larger'"):
        paired_t([0.1, 0.2], [0.2, 0.1], alternative="larger")
    with pytest.raises(UsageError, match="x has no scores"):
        unpaired_t([math.nan, math.nan], [0.2, 0.1])
    with pytest.raises(UsageError, match="mu == nan"):
        one_sample_t([0.1, 0.2], math.nan)


def test_under_the_null_t_rejects_at_alpha() -> None:
    # 4,000 experiments of 15 topics; the standard error of a share of 0.05 is 0.0034
    rng = np.random.default_rng(11)
    values = rng.normal(size=(15, 1)) + rng.normal(size=(15, 8000))
    first, second = np.arange(0, 8000, 2), np.arange(1, 8000, 2)
    for test in (t_of_pairs, welch_of_pairs):
        data = values if test is t_of_pairs else rng.normal(size=(15, 8000))
        share = (test(Matrix.of(data), first, second, TestSettings()).p <= 0.05).mean()
        assert share == pytest.approx(0.05, abs=3.5 * 0.0034)


def test_cautions_name_few_topics_and_the_scale() -> None:
    by_name = {assumption.name: assumption for assumption in paired_t(SLEEP_1, SLEEP_2, measure="AP").assumptions}
    assert by_name["topics"].holds is False
    assert by_name["scale"].holds is False
    assert "interval scale" in str(paired_t(SLEEP_1, SLEEP_2, measure="AP"))
    # Shapiro-Wilk of the ten differences: W = 0.83, p = 0.033, by scipy below
    assert by_name["normality"].holds is False
    assert stats.shapiro(np.subtract(SLEEP_1, SLEEP_2)).pvalue == pytest.approx(0.0334, abs=1e-4)
