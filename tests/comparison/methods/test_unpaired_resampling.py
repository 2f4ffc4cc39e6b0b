"""Resampling tests of independent samples, against the papers' pseudo-code, scipy, and a true null hypothesis."""

import math
from statistics import geometric_mean, median

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield import UsageError, _core
from cranfield.comparison import permutation, unpaired_bootstrap
from tests.comparison.simulated import scores, within_binomial_error
from tests.oracles import resample as oracle


@pytest.mark.parametrize("summary", ["mean", "gmean", "median"])
def test_unpaired_bootstrap_follows_sakais_figures_13_and_14(summary):
    x, y = [0.1, 0.3, 0.4, 0.4], [0.2, 0.1, 0.1, 0.2, 0.3]
    of = {"mean": oracle.mean, "gmean": geometric_mean, "median": median}[summary]
    result = unpaired_bootstrap(x, y, summary=summary, resamples=400, seed=5, asl="share")
    assert result.p == oracle.unpaired_bootstrap_asl(x, y, of, 400, 5)
    assert result.statistic == pytest.approx(of(x) - of(y))


@pytest.mark.parametrize("summary", ["mean", "median", "gmean"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_permutation_agrees_with_scipy(summary, alternative):
    x, y = [0.11, 0.31, 0.47, 0.42], [0.23, 0.05, 0.13, 0.29, 0.37]
    of = {"mean": np.mean, "median": np.median, "gmean": stats.gmean}[summary]
    theirs = stats.permutation_test(
        (x, y), lambda a, b, axis: of(a, axis=axis) - of(b, axis=axis), alternative=alternative, n_resamples=np.inf,
        vectorized=True,
    )  # fmt: skip
    result = permutation(x, y, summary=summary, alternative=alternative)
    assert result.exact
    # scipy doubles the smaller tail; we count |difference|. The two agree one-sided.
    if alternative != "two-sided":
        assert result.p == pytest.approx(theirs.pvalue)
    else:
        far = np.abs(theirs.null_distribution) >= abs(theirs.statistic) - 1e-12
        assert result.p == pytest.approx(far.mean())


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_by_default_divisions_are_compared_by_welchs_t(alternative):
    x, y = [0.11, 0.31, 0.47, 0.42], [0.23, 0.05, 0.13, 0.29, 0.37, 0.3, 0.28]

    def welch(a, b, axis):
        return stats.ttest_ind(a, b, axis=axis, equal_var=False).statistic

    theirs = stats.permutation_test((x, y), welch, n_resamples=np.inf, vectorized=True)
    null, t = theirs.null_distribution, theirs.statistic
    reached = np.abs(null) >= abs(t) - 1e-9 if alternative == "two-sided" else null >= t - 1e-9
    result = permutation(x, y, alternative=alternative)
    assert result.statistic == pytest.approx(t)
    assert result.p == pytest.approx(reached.mean())


def test_drawn_divisions_and_resamples_have_welchs_t():
    x, y = scores(30, 1, 1)[:, 0], scores(12, 1, 2)[:, 0] * 1.6
    dealt = stats.permutation_test(
        (x, y), lambda a, b, axis: stats.ttest_ind(a, b, axis=axis, equal_var=False).statistic, n_resamples=4000, rng=1
    )
    far = (np.abs(dealt.null_distribution) >= abs(dealt.statistic)).mean()
    assert permutation(x, y, resamples=4000).p == pytest.approx(far, abs=5 * math.sqrt(far * (1 - far) / 2000))
    rng = np.random.default_rng(3)
    a = rng.choice(x - x.mean(), (4000, len(x)))
    b = rng.choice(y - y.mean(), (4000, len(y)))
    drawn = np.abs(stats.ttest_ind(a, b, axis=1, equal_var=False).statistic)
    far = (drawn >= abs(dealt.statistic)).mean()
    result = unpaired_bootstrap(x, y, resamples=4000)
    assert result.p == pytest.approx(far, abs=5 * math.sqrt(far * (1 - far) / 2000))
    half = np.quantile(drawn, 0.95) * math.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y))
    assert result.interval.high - result.estimate == pytest.approx(half, rel=0.06)


def test_monte_carlo_permutation_agrees_with_exact_permutation():
    x, y = scores(14, 1, 1)[:, 0], scores(13, 1, 2)[:, 0] + 0.1
    exact = stats.permutation_test(
        (x[:9], y[:9]), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), n_resamples=np.inf
    ).pvalue
    assert permutation(x[:9], y[:9]).p == pytest.approx(exact)
    result = permutation(x, y, resamples=20_000)  # 27 over 14 is 20 million
    theirs = stats.permutation_test(
        (x, y), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), n_resamples=20_000, rng=1
    ).pvalue
    assert not result.exact
    assert result.p == pytest.approx(theirs, abs=5 * math.sqrt(2 * theirs * (1 - theirs) / 20_000))


@pytest.mark.parametrize("function", [unpaired_bootstrap, permutation])
def test_threads_do_not_change_the_result(function):
    x, y = scores(30, 2).T
    assert function(x, y, threads=1, resamples=900).to_dict() == function(x, y, threads=4, resamples=900).to_dict()


def test_every_topic_is_drawn_equally_often():
    """Chi-square of the core's own draws: the mean of one-hot scores shows which score was drawn."""
    one_hot = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    drawn = _core.two_sample_differences(one_hot, 1, "pool", "mean", 0, 0, 35_000, 1)
    # x* is the marked score in one of seven resamples.
    hits = int((drawn > 0.5).sum())
    assert stats.binomtest(hits, 35_000, 1 / 7).pvalue > 0.001
    dealt = _core.two_sample_differences(np.arange(7.0), 1, "deal", "mean", 0, 0, 35_000, 1)
    # x − mean(rest) = x − (21 − x)/6, so x = (6 d + 21) / 7.
    entries = np.rint((6 * dealt + 21) / 7).astype(int)
    assert stats.chisquare(np.bincount(entries, minlength=7)).pvalue > 0.001


@pytest.mark.parametrize("function", [unpaired_bootstrap, permutation])
def test_a_test_of_two_samples_rejects_a_true_null_at_alpha(function):
    rng = np.random.default_rng(7)
    p = [
        function(rng.normal(size=25), rng.normal(size=30), resamples=199, seed=i, threads=1).p for i in range(300)
    ]  # fmt: skip
    assert within_binomial_error(np.array(p) <= 0.05)


def test_the_interval_agrees_with_scipys_percentile_bootstrap():
    x, y = scores(40, 2, 4).T
    theirs = stats.bootstrap(
        (x, y), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    result = unpaired_bootstrap(x, y, summary="mean", resamples=20_000).interval
    assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


@pytest.mark.parametrize("function", [unpaired_bootstrap, permutation])
def test_constant_scores_have_p_1(function):
    result = function([0.3] * 12, [0.3] * 14)
    assert (result.statistic, result.p) == (0, 1)
    assert "all scores are the same" in str(result)


@pytest.mark.parametrize("test", [unpaired_bootstrap, permutation])
def test_scores_hold_both_samples_or_two_collections_hold_one_each(test):
    x, y = [0.1, 0.3, 0.4, 0.2], [0.2, 0.0, 0.05, 0.1]
    together = cf.Scores.from_matrix(np.stack([x, y], axis=1), runs=["a", "b"], measure="AP")
    old = cf.Scores.from_matrix(np.stack([x, y], axis=1), runs=["a", "b"], measure="AP")
    new = cf.Scores.from_matrix(np.array([y]).T, runs=["b"], topics=["n1", "n2", "n3", "n4"], measure="AP")
    plain = test(x, y, resamples=500)
    assert test(together, systems=("a", "b"), resamples=500).p == plain.p
    apart = test(old, new, systems=("a", "b"), resamples=500)
    assert (apart.p, apart.measure, apart.systems) == (plain.p, "AP", ("a", "b"))
    with pytest.raises(UsageError, match="there are 2 systems; choose one"):
        test(old, new)


def test_areas_of_the_worst_topics_need_a_quarter_of_two() -> None:
    with pytest.raises(UsageError, match="8"):
        unpaired_bootstrap([0.1, 0.2, 0.3], np.arange(12) / 12, summary="area")
    # Systems whose worst topics differ, although their means do not.
    even, uneven = np.full(40, 0.5), np.r_[np.zeros(10), np.full(30, 2 / 3)]
    assert unpaired_bootstrap(even, uneven, summary="area", resamples=500).p < 0.05 < unpaired_bootstrap(even, uneven).p
    assert permutation(even, uneven, summary="area", resamples=500).p < 0.05
