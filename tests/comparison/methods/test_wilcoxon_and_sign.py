"""Rank tests against scipy, all arrangements counted one by one, R's published examples and simulation."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cranfield import UsageError
from cranfield.comparison.data import Matrix
from cranfield.comparison.distributions import mean_ranks
from cranfield.comparison.methods.wilcoxon_and_sign import (
    rank_sum,
    sign_of_pairs,
    sign_test,
    wilcoxon,
    wilcoxon_of_pairs,
)
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.comparison.test_result import ALTERNATIVES

# Hollander & Wolfe's depression scores, in R's example(wilcox.test)
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]

RNG = np.random.default_rng(5)
MATRIX = np.clip(RNG.beta(1, 2, (40, 1)) + RNG.normal(0, 0.15, (40, 5)), 0, 1)
FIRST, SECOND = np.triu_indices(5, 1)

tenths = st.lists(st.integers(-4, 4), min_size=1, max_size=9).map(lambda x: np.array(x) / 10)


def p_of(statistics: list[float], seen: float, alternative: str) -> float:
    """The p-value when all these values of a statistic are equally likely."""
    above = sum(s >= seen - 1e-9 for s in statistics) / len(statistics)
    below = sum(s <= seen + 1e-9 for s in statistics) / len(statistics)
    return {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}[alternative]


def test_wilcoxon_on_the_depression_scores_as_r_prints_it() -> None:
    # R: V = 40, p-value = 0.01953 (greater). V is the sum of positive ranks; of 45 in all, so W = 40 - 5
    result = wilcoxon(BEFORE, AFTER, alternative="greater")
    assert result.statistic == 35
    assert result.p == pytest.approx(0.01953, abs=5e-6)
    # Hollander & Wolfe, examples 3.3 and 3.4, for after - before: estimate -0.46, interval (-0.786, -0.010)
    both = wilcoxon(BEFORE, AFTER)
    assert both.estimate == pytest.approx(0.46)
    assert both.interval is not None
    assert (both.interval.low, both.interval.high) == pytest.approx((0.010, 0.786))


def test_rank_sum_on_the_permeability_constants_as_r_prints_it() -> None:
    # R's example(wilcox.test): W = 35, p-value = 0.1272 (greater)
    term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    result = rank_sum(term, early, alternative="greater")
    assert result.statistic == 35
    assert result.p == pytest.approx(0.1272, abs=5e-5)
    assert result.effect is not None
    assert result.effect.value == pytest.approx(2 * 35 / 50 - 1)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
@settings(max_examples=30, deadline=None)
@given(d=tenths)
def test_exact_wilcoxon_counts_all_signs(zeros: str, alternative: str, d: np.ndarray) -> None:
    ranks = stats.rankdata(np.abs(d[d != 0]) if zeros == "wilcox" else np.abs(d))
    ranks = ranks if zeros == "wilcox" else ranks[d != 0]
    all_sums = [float(np.dot(signs, ranks)) for signs in product((-1, 1), repeat=len(ranks))]
    seen = float(np.dot(np.sign(d[d != 0]), ranks))
    result = wilcoxon(d + 0.5, np.full(len(d), 0.5), zeros=zeros, alternative=alternative)
    assert result.statistic == pytest.approx(seen)
    assert result.p == pytest.approx(p_of(all_sums, seen, alternative) if len(ranks) else 1.0)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@settings(max_examples=30, deadline=None)
@given(x=tenths.filter(lambda a: len(a) <= 5), y=tenths.filter(lambda a: len(a) <= 5))
def test_exact_rank_sum_counts_all_choices(alternative: str, x: np.ndarray, y: np.ndarray) -> None:
    ranks = stats.rankdata(np.concatenate([x, y]))
    all_sums = [float(sum(chosen)) for chosen in combinations(ranks.tolist(), len(x))]
    result = rank_sum(x, y, alternative=alternative)
    assert result.p == pytest.approx(p_of(all_sums, float(ranks[: len(x)].sum()), alternative))
    assert result.statistic == pytest.approx(sum((a > b) + 0.5 * (a == b) for a in x.tolist() for b in y.tolist()))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_agrees_with_scipy(alternative: str) -> None:
    x, y = MATRIX[:, 0] + 0.001, MATRIX[:, 1]
    exact = stats.wilcoxon(x, y, alternative=alternative, method="exact")
    assert wilcoxon(x, y, alternative=alternative).p == pytest.approx(exact.pvalue, rel=1e-9)
    rounded, other = np.round(x, 1), np.round(y, 1)
    keep = np.abs(rounded - other) > 0.01
    # scipy's continuity correction is 0.5 of the sum of positive ranks, which is 1 of W
    normal = stats.wilcoxon(
        np.round(rounded - other, 1)[keep], alternative=alternative, method="asymptotic", correction=True
    )
    result = wilcoxon(rounded, other, alternative=alternative, method="normal")
    assert result.p == pytest.approx(normal.pvalue, rel=1e-9)
    pratt = stats.wilcoxon(
        np.round(rounded - other, 1), alternative=alternative, method="asymptotic", zero_method="pratt"
    )
    result = wilcoxon(rounded, other, alternative=alternative, method="normal", zeros="pratt", continuity=0)
    assert result.p == pytest.approx(pratt.pvalue, rel=1e-9)
    untied = np.random.default_rng(8).normal(size=(2, 40))  # scipy's exact distribution does not support ties
    for a, b, method in ((untied[0], untied[1, :25], "exact"), (rounded, other[:25], "asymptotic")):
        u = stats.mannwhitneyu(a, b, alternative=alternative, method=method)
        ours = rank_sum(a, b, alternative=alternative, method="exact" if method == "exact" else "normal")
        assert (ours.statistic, ours.p) == pytest.approx((u.statistic, u.pvalue), rel=1e-9)


def test_the_normal_approximation_of_the_course_notes() -> None:
    # (14)-(17) literally: signed ranks, W, sigma = sqrt(n(n+1)(2n+1)/6), z = (W - 0.5)/sigma
    d = sorted(np.subtract(BEFORE, AFTER).tolist(), key=abs)
    w = sum(rank if difference > 0 else -rank for rank, difference in enumerate(d, start=1))
    n = len(d)
    z = (w - 0.5) / math.sqrt(n * (n + 1) * (2 * n + 1) / 6)
    result = wilcoxon(BEFORE, AFTER, method="normal", continuity=0.5, alternative="greater")
    assert result.statistic == w
    assert result.p == pytest.approx(float(stats.norm.sf(z)))


def test_differences_that_are_equal_but_for_rounding_are_tied() -> None:
    x, y = np.array([0.3, 0.4, 0.9, 0.2]), np.array([0.2, 0.3, 0.4, 0.5])
    # differences 0.1, 0.1 (in binary they differ), 0.5, -0.3: ranks 1.5, 1.5, 4, -3
    assert (x - y)[0] != (x - y)[1]
    assert wilcoxon(x, y).statistic == 1.5 + 1.5 + 4 - 3


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sign_test_is_binomial(alternative: str) -> None:
    x, y = MATRIX[:, 0], MATRIX[:, 2]
    wins, losses = int((x > y).sum()), int((x < y).sum())
    witness = stats.binomtest(wins, wins + losses, alternative=alternative)
    result = sign_test(x, y, alternative=alternative)
    assert result.p == pytest.approx(witness.pvalue)
    span = witness.proportion_ci()
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx((span.low, span.high))


def test_sign_test_with_a_margin_and_split_ties() -> None:
    x, y = [0.50, 0.45, 0.40, 0.90, 0.30, 0.1], [0.45, 0.40, 0.20, 0.20, 0.20, 0.9]
    # differences 0.05, 0.05, 0.2, 0.7, 0.1, -0.8: with a margin of 0.05 the first two are ties
    result = sign_test(x, y, margin=0.05)
    assert result.statistic == 3
    assert "3 wins, 2 ties, 1 losses" in result.notes
    assert result.p == pytest.approx(2 * (4 + 1) / 2**4)
    split = sign_test(x, y, margin=0.05, ties="split")  # 4 of 6
    assert split.p == pytest.approx(2 * (15 + 6 + 1) / 2**6)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_testing_all_pairs_at_once_equals_testing_each(alternative: str) -> None:
    for values in (MATRIX.copy(), np.round(MATRIX, 1)):
        values[3, 0] = math.nan
        matrix = Matrix.of(values)
        result = wilcoxon_of_pairs(matrix, FIRST, SECOND, TestSettings(alternative=alternative))
        signs = sign_of_pairs(matrix, FIRST, SECOND, TestSettings(alternative=alternative))
        assert result.exact
        for i, (a, b) in enumerate(zip(FIRST, SECOND, strict=True)):
            single = wilcoxon(values[:, a], values[:, b], alternative=alternative)
            assert (result.statistic[i], result.p[i], result.n[i]) == pytest.approx(
                (single.statistic, single.p, single.n[0])
            )
            two = sign_test(values[:, a], values[:, b], alternative=alternative)
            assert (signs.statistic[i], signs.p[i]) == pytest.approx((two.statistic, two.p))


def test_many_topics_use_the_normal_approximation() -> None:
    values = np.random.default_rng(1).random((150, 2))
    result = wilcoxon_of_pairs(Matrix.of(values), np.array([0]), np.array([1]), TestSettings())
    assert not result.exact
    assert result.p[0] == pytest.approx(wilcoxon(values).p, rel=1e-12)
    # the normal approximation ignores the kurtosis of W, -2 Σr⁴ / (Σr²)²: the next term of the Edgeworth series
    ranks = np.arange(1.0, 151)
    z = (abs(result.statistic[0]) - 1) / math.sqrt((ranks**2).sum())
    kurtosis = -2 * (ranks**4).sum() / (ranks**2).sum() ** 2
    missed = 2 * stats.norm.pdf(z) * kurtosis / 24 * (z**3 - 3 * z)
    assert abs(missed) > 1e-4
    assert result.p[0] + missed == pytest.approx(wilcoxon(values, method="exact").p, abs=3e-5)
    assert "the others use the normal approximation" in result.notes[0]


def test_identical_systems_have_p_1() -> None:
    same = [0.1, 0.5, 0.3]
    assert (wilcoxon(same, same).p, wilcoxon(same, same, method="normal").p) == (1, 1)
    assert (sign_test(same, same).p, rank_sum([0.1, 0.1], [0.1, 0.1, 0.1]).p) == (1, 1)
    matrix = Matrix.of(np.stack([same, same], axis=1))
    for test in (wilcoxon_of_pairs, sign_of_pairs):
        result = test(matrix, np.array([0]), np.array([1]), TestSettings(alternative="less"))
        assert result.p.tolist() == [1]
        assert result.notes == ("the scores are the same on every topic in 1 pair: p = 1",)


def test_under_the_null_rank_tests_reject_at_most_at_alpha() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20, 1)) + rng.normal(size=(20, 6000))
    first, second = np.arange(0, 6000, 2), np.arange(1, 6000, 2)
    wilcoxon_p = wilcoxon_of_pairs(Matrix.of(values), first, second, TestSettings()).p
    sign_p = sign_of_pairs(Matrix.of(values), first, second, TestSettings()).p
    # exact tests are discrete: the levels they can have below 0.05 are 0.0484 and, 5 of 20 or fewer, 0.0414
    assert 2 * stats.binom.cdf(5, 20, 0.5) == pytest.approx(0.0414, abs=5e-5)
    for p, reached in ((wilcoxon_p, 0.0484), (sign_p, 0.0414)):
        assert (p <= 0.05).mean() == pytest.approx(reached, abs=3.5 * math.sqrt(0.05 * 0.95 / 3000))


def test_mean_ranks_agree_with_scipy() -> None:
    rows = np.random.default_rng(2).integers(0, 5, (20, 9)).astype(float)
    assert np.array_equal(mean_ranks(rows), stats.rankdata(rows, axis=1))


def test_which_tests_need_an_interval_scale() -> None:
    assert TESTS.find("wilcoxon").interval_scale
    assert not TESTS.find("sign").interval_scale
    assert [assumption.name for assumption in wilcoxon(BEFORE, AFTER, measure="AP").assumptions][-1] == "scale"
    assert "scale" not in [assumption.name for assumption in sign_test(BEFORE, AFTER, measure="AP").assumptions]


def test_bad_input_raises_an_error() -> None:
    with pytest.raises(UsageError, match="zeros == 'none'"):
        wilcoxon(BEFORE, AFTER, zeros="none")
    with pytest.raises(UsageError, match="margin == -1"):
        sign_test(BEFORE, AFTER, margin=-1)
    with pytest.raises(UsageError, match="ties == 'keep'"):
        sign_test(BEFORE, AFTER, ties="keep")
    with pytest.raises(UsageError, match="no topic has a score"):
        wilcoxon([math.nan], [0.3])


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_an_interval_of_too_few_topics_is_infinite(alternative: str) -> None:
    # the widest interval leaves out 2 of 2ⁿ signs, or 1 of them if one-sided: 2/32 and 1/16 are above 0.05
    n = 5 if alternative == "two-sided" else 4
    x = np.array([0.1, 0.4, 0.2, 0.9, 0.6, 0.7])
    few = wilcoxon(x[:n], np.zeros(n), alternative=alternative).interval
    enough = wilcoxon(x[: n + 1], np.zeros(n + 1), alternative=alternative).interval
    assert few is not None
    assert enough is not None
    assert (few.low, few.high) == (-math.inf, math.inf)
    finite = {"two-sided": (0.1, 0.9), "greater": (0.1, math.inf), "less": (-math.inf, 0.9)}[alternative]
    assert (enough.low, enough.high) == finite
    two = rank_sum([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]).interval  # 2 of 20 ways to choose ranks
    assert two is not None
    assert (two.low, two.high) == (-math.inf, math.inf)


# -- rules for zeros, the continuity correction, and margins


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_every_rule_for_zeros_is_that_of_scipy(zeros: str, corrected: bool, alternative: str) -> None:
    """scipy's sum of positive ranks moves by 1/2 where W moves by 1, so its continuity correction is our 1."""
    values = np.random.default_rng(3).integers(0, 7, (40, 5)) / 10  # ties, and differences of 0
    options = {"zeros": zeros, "method": "normal", "continuity": float(corrected)}
    tests = wilcoxon_of_pairs(Matrix.of(values), FIRST, SECOND, TestSettings(alternative, **options))  # type: ignore[arg-type]
    for i, (a, b) in enumerate(zip(FIRST, SECOND, strict=True)):
        d = np.round(values[:, a] - values[:, b], 1)
        expected = stats.wilcoxon(
            d, zero_method=zeros, correction=corrected, alternative=alternative, method="approx"
        ).pvalue
        one = wilcoxon(values[:, a], values[:, b], alternative=alternative, **options)  # type: ignore[arg-type]
        assert tests.p[i] == pytest.approx(expected)
        assert one.p == pytest.approx(expected)


@given(d=tenths, alternative=st.sampled_from(ALTERNATIVES))
@settings(max_examples=60, deadline=None)
def test_zsplit_counts_the_signs_of_zeros_too(d: np.ndarray, alternative: str) -> None:
    """All 2ⁿ signs one by one; half of the ranks of zeros is added to the observed sum of positive ranks."""
    ranks = stats.rankdata(np.abs(d))
    seen = ranks[d > 0].sum() + ranks[d == 0].sum() / 2
    sums = [float(np.dot(signs, ranks)) for signs in product([0, 1], repeat=len(d))]
    expected = p_of(sums, seen, alternative) if d.any() else 1.0
    assert wilcoxon(d, np.zeros(len(d)), zeros="zsplit", alternative=alternative).p == pytest.approx(expected)
    matrix = Matrix.of(np.stack([d, np.zeros(len(d))], axis=1))
    tests = wilcoxon_of_pairs(matrix, np.array([0]), np.array([1]), TestSettings(alternative, zeros="zsplit"))
    assert tests.p[0] == pytest.approx(expected)


def test_a_margin_makes_small_differences_ties_in_every_pair() -> None:
    # Differences 0.3, 0.05, -0.05, 0.2, -0.1, 0.4 with a margin of 0.05: 3 wins, 1 loss, so p = 2 · (4 + 1) / 2⁴
    x, y = [0.8, 0.35, 0.25, 0.7, 0.2, 0.9], [0.5, 0.3, 0.3, 0.5, 0.3, 0.5]
    tests = sign_of_pairs(Matrix.of(np.stack([x, y], axis=1)), np.array([0]), np.array([1]), TestSettings(margin=0.05))
    assert (tests.statistic[0], tests.p[0]) == (3, 0.625)
    assert sign_test(x, y, margin=0.05).p == 0.625
    assert any("up to 0.05 count as ties" in note for note in tests.notes)


@pytest.mark.parametrize("wrong", [{"margin": -1.0}, {"margin": math.nan}])
def test_a_margin_that_is_no_distance_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="sign: margin"):
        TESTS.find("sign").run(Matrix.of(MATRIX), FIRST, SECOND, TestSettings(**wrong))  # type: ignore[arg-type]
