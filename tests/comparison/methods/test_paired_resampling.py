"""Resampling tests against the papers' pseudo-code, brute force, scipy, and simulation under the null hypothesis."""

import json
import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from cranfield import UsageError, _core
from cranfield.comparison import (
    bootstrap_shift,
    paired_bootstrap,
    permutation,
    randomisation,
    randomised_tukey,
    unpaired_bootstrap,
)
from cranfield.comparison.data import all_pairs
from cranfield.comparison.methods import paired_resampling
from cranfield.comparison.pair_tests import TESTS
from tests.comparison.simulated import X, Y, run, scores, within_binomial_error
from tests.oracles import resample as oracle

ENGINES = ("bootstrap", "randomisation", "randomised-tukey")


# The papers' pseudo-code, on the same random numbers: counts must be equal, not close.


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
@pytest.mark.parametrize("n", [2, 3, 8, 25])
def test_paired_bootstrap_follows_sakais_figures_11_and_12(n, seed):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 6, (2, n)) / 10  # ties, zeros, and at n = 2 resamples without variance
    assert paired_bootstrap(x, y, resamples=300, seed=seed, asl="share").p == oracle.paired_bootstrap_asl(
        (x - y).tolist(), 300, seed
    )


def test_the_bootstrap_sample_of_the_paper():
    """Sakai 2014 §4.2: w = (0.2, 0.0, 0.1, 0.4, 0.0) and integers (1, 3, 1, 2, 4) give (0.2, 0.1, 0.2, 0.0, 0.4)."""
    w = [0.2, 0.0, 0.1, 0.4, 0.0]
    drawn = [w[i - 1] for i in (1, 3, 1, 2, 4)]
    assert drawn == [0.2, 0.1, 0.2, 0.0, 0.4]
    # The ratio the core compares, S1² / (n S2), is a function of t: t² = r (n − 1) / (1 − r).
    ratio = sum(drawn) ** 2 / (5 * sum(value**2 for value in drawn))
    assert math.sqrt(ratio * 4 / (1 - ratio)) == pytest.approx(oracle.studentised(drawn))


def test_the_half_width_of_the_bootstrap_interval_is_the_borderline_of_sakais_figure_3():
    """Sakai 2013 Fig. 3 takes the Bα-th largest |t(w*)|; with B + 1 for B, p ≤ α exactly above it (199: the 10th)."""
    z = np.array(X) - np.array(Y)
    borderline, delta = oracle.bootstrap_delta(z.tolist(), 199, 3, 0.05)
    interval = paired_bootstrap(X, Y, resamples=199, seed=3).interval
    assert (interval.high - interval.low) / 2 == pytest.approx(borderline * z.std(ddof=1) / math.sqrt(8))
    assert delta > 0


@pytest.mark.parametrize("n", [21, 64, 65, 130])
def test_randomisation_flips_as_the_python_version_does(n):
    x, y = np.random.default_rng(n).integers(0, 40, (2, n)) / 40
    keep = x != y  # topics without a difference are not flipped
    p = randomisation(x, y, resamples=200, seed=9, asl="share").p
    assert p == oracle.randomisation_asl((x - y)[keep].tolist(), 200, 9)


# Exact tests.


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_randomisation_agrees_with_brute_force_and_scipy(alternative):
    z = np.array(X) - np.array(Y)
    sums = np.array([np.dot(signs, z) for signs in product((1, -1), repeat=8)])
    reached = {
        "two-sided": np.abs(sums) >= abs(z.sum()) - 1e-9,
        "greater": sums >= z.sum() - 1e-9,
        "less": sums <= z.sum() + 1e-9,
    }[alternative]
    result = randomisation(X, Y, alternative=alternative)
    assert result.exact
    assert result.resamples is None
    assert result.p == reached.mean()
    theirs = stats.permutation_test(
        (X, Y), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", alternative=alternative,
        n_resamples=np.inf, vectorized=True,
    )  # fmt: skip
    assert result.p == pytest.approx(theirs.pvalue)


def test_p_is_exact_for_all_pairs_if_that_is_cheap():
    values = scores(8, 5)
    result = run("randomisation", values)
    first, second = all_pairs(5)
    assert result.exact
    for p, i, j in zip(result.p, first, second, strict=True):
        assert p == randomisation(values[:, i], values[:, j]).p


def test_monte_carlo_randomisation_agrees_with_exact_arithmetic():
    """30 whole-number differences: the distribution of their signed sum by convolution."""
    z = np.random.default_rng(1).integers(-4, 7, 30)
    z = z[z != 0]
    reach = int(np.abs(z).sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for difference in z:
        chances = (np.roll(chances, difference) + np.roll(chances, -difference)) / 2
    exact = chances[np.abs(np.arange(-reach, reach + 1)) >= abs(z.sum())].sum()
    result = randomisation(z.astype(float), np.zeros(len(z)), resamples=50_000)
    assert not result.exact
    assert result.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 50_000))


# Same seed, same answer.


@pytest.mark.parametrize("name", ENGINES)
def test_threads_do_not_change_the_result(name):
    values = scores(30, 9)
    one_thread, three_threads = (run(name, values, resamples=700, seed=8, threads=threads) for threads in (1, 3))
    for field in ("statistic", "p", "low", "high"):
        np.testing.assert_array_equal(getattr(one_thread, field), getattr(three_threads, field))
    assert (run(name, values, resamples=700, seed=9).p != one_thread.p).any()


def nothing_kept(pairs):
    return np.zeros((pairs, 0)), np.zeros(pairs, dtype=np.int64), np.zeros(pairs)


def test_blocks_of_resamples_do_not_change_the_result():
    """Resample b depends on the seed and b only, not on the block it is drawn in."""
    values = scores(13, 6)
    first, second = all_pairs(6)
    centred, largest = np.ascontiguousarray((values - values.mean(axis=0)).T), values.max(axis=0)
    limits = np.full(len(first), 0.02)

    def counts(begin, end):
        result = [
            _core.bootstrap_counts(centred, largest, first, second, limits, True, 3, begin, end, 2, *nothing_kept(15)),
            _core.flip_counts(centred, first, second, 20 * limits, True, False, 3, begin, end, 2),
        ]
        return np.stack(result)

    whole = counts(0, 101)
    assert whole.min() > 0
    assert whole.max() < 101
    np.testing.assert_array_equal(whole, counts(0, 7) + counts(7, 64) + counts(64, 101))


# Under the null hypothesis.


@pytest.mark.parametrize("name", ["bootstrap", "randomisation"])
def test_a_test_of_pairs_rejects_a_true_null_at_alpha(name):
    """2,000 disjoint pairs of systems, skewed scores, 40 topics."""
    values = np.random.default_rng(12).beta(2, 4, (40, 4000))
    first = np.arange(0, 4000, 2)
    result = run(name, values, first, first + 1, resamples=999)
    assert within_binomial_error(result.p <= 0.05)
    assert within_binomial_error((result.low > 0) | (result.high < 0))


# Known properties of the tests.


def test_bootstrap_randomisation_and_t_differ_little():
    """Sakai 2014 §4.5, after Smucker, Allan & Carterette 2007."""
    values = scores(50, 12, spread=0.15)
    first, second = all_pairs(12)
    t = stats.ttest_rel(values[:, first], values[:, second]).pvalue
    for name in ("bootstrap", "randomisation"):
        result = run(name, values, resamples=10_000)
        assert np.abs(result.p - t).max() < 0.03
    np.testing.assert_allclose(
        run("bootstrap", values, resamples=10).statistic, stats.ttest_rel(values[:, first], values[:, second]).statistic
    )


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_bootstrap_interval_contains_0_exactly_if_p_is_above_alpha(alternative):
    result = run("bootstrap", scores(20, 25, spread=0.3), resamples=999, alternative=alternative, alpha=0.1)
    assert 0 < (result.p <= 0.1).sum() < len(result.p)
    np.testing.assert_array_equal(result.p <= 0.1, (result.low > 0) | (result.high < 0))


@pytest.mark.parametrize("function", [paired_bootstrap, randomisation, unpaired_bootstrap, permutation])
def test_one_sided_tests_find_differences_in_one_direction_only(function):
    x, y = scores(30, 2, 6).T
    up, down = (function(x + 0.1, y, alternative=way) for way in ("greater", "less"))
    assert up.p < 0.2 < 0.8 < down.p
    assert function(y, x + 0.1, alternative="less").p == pytest.approx(up.p, abs=0.02)
    assert up.interval.high == math.inf
    assert down.interval.low == -math.inf


def test_the_interval_of_the_randomisation_test_is_students_t():
    theirs = stats.ttest_rel(X, Y).confidence_interval(0.9)
    result = randomisation(X, Y, level=0.9).interval
    assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high))
    assert result.method == "t"


# Topics without a score.


@pytest.mark.parametrize("name", ["bootstrap", "randomisation"])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_a_pair_is_compared_on_the_topics_both_systems_have(name, alternative):
    values = scores(40, 4)
    values[3, 0] = values[[5, 6], 2] = np.nan
    result = run(name, values, resamples=300, alternative=alternative)
    function = TESTS[name].function
    assert result.n.tolist() == [39, 37, 39, 38, 40, 38]
    for at, (i, j) in enumerate(zip(*all_pairs(4), strict=True)):
        alone = function(values[:, i], values[:, j], resamples=300, alternative=alternative)
        assert result.p[at] == alone.p
        assert result.statistic[at] == pytest.approx(alone.statistic)
        assert (result.low[at], result.high[at]) == pytest.approx((alone.interval.low, alone.interval.high))


@pytest.mark.parametrize("name", ["bootstrap", "randomisation"])
def test_a_pair_with_one_common_topic_is_not_tested_with_a_note(name):
    values = scores(6, 3)
    values[1:, 0] = np.nan
    result = run(name, values, resamples=50)
    assert np.isnan(result.p).tolist() == [True, True, False]
    assert any("2 of 3 pairs" in note for note in result.notes)


# Degenerate and bad input.


@pytest.mark.parametrize("function", [paired_bootstrap, randomisation])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_identical_systems_have_p_1_and_effect_0(function, alternative):
    result = function(X, X, alternative=alternative)
    assert (result.statistic, result.p, result.effect.value) == (0, 1, 0)
    assert "the systems have the same score on every topic" in str(result)
    json.loads(result.to_json())


def test_a_constant_difference_has_the_smallest_p_that_b_allows():
    """0.3 − 0.2 and 0.9 − 0.8 differ in their last bits, which is not variance."""
    x = np.array(X)
    result = paired_bootstrap(x + 0.1, x, resamples=999)
    assert (result.statistic, result.p) == (math.inf, 0.001)
    assert (result.interval.low, result.interval.high) == pytest.approx((0.1, 0.1))
    assert randomisation(x + 0.1, x).p == 2 / 2**8


@pytest.mark.parametrize("function", [paired_bootstrap, randomisation])
def test_one_topic_raises_an_error(function):
    with pytest.raises(UsageError, match=r"1 topic, a .* test needs 2 or more"):
        function([0.4], [0.3])


BAD = [
    ({"resamples": 0}, "resamples == 0, must be a whole number, 1 or more"),
    ({"resamples": 1.5}, "resamples == 1.5"),
    ({"seed": -1}, "seed == -1, must be a whole number, 0 or more"),
    ({"seed": 2**64}, "below 2"),
    ({"threads": 0}, "threads == 0"),
    ({"level": 1}, "level == 1, must be above 0 and below 1"),
    ({"asl": "book"}, "asl == 'book', must be one of 'plus-one', 'share'"),
]


@pytest.mark.parametrize(("bad", "says"), BAD, ids=[str(bad) for bad, _ in BAD])
def test_bad_options_raise_an_error(bad, says):
    for function in (paired_bootstrap, randomisation, unpaired_bootstrap, permutation):
        with pytest.raises(UsageError, match=says.replace("(", r"\(")):
            function(X, Y, **bad)
    with pytest.raises(UsageError, match=says):
        randomised_tukey(np.stack([X, Y], axis=1), **bad)


def test_an_unknown_summary_or_alternative_is_named():
    with pytest.raises(UsageError, match="summary == 'max'"):
        unpaired_bootstrap(X, Y, summary="max")
    with pytest.raises(UsageError, match="alternative == 'more'"):
        paired_bootstrap(X, Y, alternative="more")
    with pytest.raises(UsageError, match="two-sided"):
        run("randomised-tukey", scores(5, 3), alternative="less")


def test_too_few_resamples_give_an_infinite_interval_with_a_note():
    result = paired_bootstrap(X, Y, resamples=10)
    assert (result.interval.low, result.interval.high) == (-math.inf, math.inf)
    assert "too few for intervals at level 0.95" in str(result)


def test_p_is_never_0_except_as_a_share():
    x = np.arange(30.0) / 30 + 0.5
    y = x - 0.5 + np.tile([0.001, -0.001], 15)
    assert paired_bootstrap(x, y, resamples=99).p == 0.01
    assert paired_bootstrap(x, y, resamples=99, asl="share").p == 0


# Ctrl-C, progress, names.


def stop_at(least):
    def progress(done, total):
        if done >= least:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("name", ENGINES)
def test_an_interrupted_test_keeps_the_finished_resamples(name):
    values = scores(1000, 60)
    kept = run(name, values, resamples=30_000, progress=stop_at(100))
    assert 100 <= kept.resamples < 30_000
    assert f"interrupted after {kept.resamples:,} of 30,000 resamples" in kept.notes
    np.testing.assert_array_equal(kept.p, run(name, values, resamples=kept.resamples).p)


def test_an_early_interrupt_stops_the_test():
    values = scores(2000, 3)
    with pytest.raises(KeyboardInterrupt):
        run("bootstrap", values, resamples=1000, progress=stop_at(1))


def test_testing_pairs_in_parts_does_not_change_the_result(monkeypatch):
    values = scores(20, 9)
    values[2, 0] = values[1:, 1] = np.nan
    whole = run("bootstrap", values, resamples=300)
    monkeypatch.setattr(paired_resampling, "MOST_HELD", 10 * 30)  # ten pairs at once: 2 × 15 values of each are kept
    seen = []
    parts = run("bootstrap", values, resamples=300, progress=lambda done, total: seen.append((done, total)))
    for field in ("statistic", "p", "low", "high", "n"):
        np.testing.assert_array_equal(getattr(whole, field), getattr(parts, field))
    assert parts.notes == whole.notes
    assert seen[-1] == (1200, 1200)  # 36 pairs in four parts
    with pytest.raises(KeyboardInterrupt):
        run("bootstrap", values, resamples=300, progress=stop_at(400))


def test_intervals_use_fewer_resamples_if_memory_is_short_with_a_note(monkeypatch):
    values = scores(50, 4)
    monkeypatch.setattr(paired_resampling, "MOST_HELD", 1000)
    monkeypatch.setattr(paired_resampling, "ENOUGH", 1400)  # a block has 1,304 resamples
    some, few = (run("bootstrap", values, resamples=b) for b in (6000, 1304))
    assert "intervals are based on the first 1,304 resamples" in some.notes
    for field in ("statistic", "low", "high"):
        np.testing.assert_array_equal(getattr(some, field), getattr(few, field))
    monkeypatch.undo()
    np.testing.assert_array_equal(some.p, run("bootstrap", values, resamples=6000).p)


@pytest.mark.parametrize("name", ENGINES)
def test_progress_reaches_its_end(name):
    seen = []
    run(name, scores(30, 5), resamples=3000, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_spellings_and_aliases_are_known():
    for name, other in [
        ("randomisation", "randomization"), ("randomisation", "Permutation"), ("bootstrap", "paired bootstrap"),
        ("randomised-tukey", "randomized_tukey"), ("randomised-tukey", "tukey-randomised"),
    ]:  # fmt: skip
        assert TESTS.find(other).name == name


def test_the_core_refuses_what_would_read_past_its_arrays():
    grid, limits = np.zeros((2, 3)), np.zeros(1)
    zero, two = np.array([0]), np.array([2])
    for first, second, limit in [(zero, two, limits), (-1 - zero, zero, limits), (zero, zero, np.zeros(2))]:
        with pytest.raises(ValueError, match="pair"):
            _core.flip_counts(grid, first, second, limit, True, False, 0, 0, 8, 1)
    with pytest.raises(ValueError, match="62 topics"):
        _core.flip_counts(np.zeros((2, 63)), zero, zero, limits, True, True, 0, 0, 8, 1)
    for kept, sizes in [(np.zeros((2, 4)), zero), (np.zeros((1, 4)), zero + 4), (np.zeros((1, 4)), zero - 1)]:
        with pytest.raises(ValueError, match=r"pair|row"):
            _core.bootstrap_counts(grid, np.zeros(2), zero, zero, limits, True, 0, 0, 8, 1, kept, sizes, limits)
    with pytest.raises(ValueError, match="no resamples"):
        _core.permuted_ranges(grid, 0, 8, 8, 1)
    with pytest.raises(ValueError, match="each sample"):
        _core.two_sample_differences(np.zeros(3), 3, "pool", "mean", 0, 0, 8, 1)


# -- the shift test


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_shift_test_approaches_the_count_of_all_resamples(alternative):
    """All 5⁵ resamples one by one (Savoy 1997; Smucker et al. 2007): means of w = z − z̄ that reach the mean of z."""
    x, y = np.array([0.5, 0.7, 0.3, 0.6, 0.4]), np.array([0.4, 0.5, 0.35, 0.45, 0.5])
    z = x - y
    w = z - z.mean()
    means = np.array([np.mean([w[i] for i in drawn]) for drawn in product(range(5), repeat=5)])
    reach = {
        "two-sided": np.abs(means) >= abs(z.mean()) - 1e-12,
        "greater": means >= z.mean() - 1e-12,
        "less": means <= z.mean() + 1e-12,
    }[alternative]
    result = bootstrap_shift(x, y, resamples=20_000, seed=4, alternative=alternative, asl="share")
    error = math.sqrt(reach.mean() * (1 - reach.mean()) / 20_000)
    assert result.p == pytest.approx(reach.mean(), abs=4 * error)
    assert result.statistic == pytest.approx(z.mean())


def test_the_shift_test_of_all_pairs_agrees_with_that_of_one():
    values = scores(30, 4)
    tests = run("bootstrap-shift", values, resamples=500, seed=7)
    first, second = all_pairs(4)
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        assert tests.p[i] == bootstrap_shift(values[:, a], values[:, b], resamples=500, seed=7).p


def test_the_shift_test_says_1_if_nothing_differs():
    assert bootstrap_shift(X, X, resamples=100).p == 1
