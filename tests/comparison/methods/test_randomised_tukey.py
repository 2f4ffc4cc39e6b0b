"""Randomised Tukey HSD against the papers' pseudo-code, other tests, and a true null hypothesis."""

import json
import math

import numpy as np
import pytest

from cranfield import UsageError
from cranfield.comparison import (
    paired_bootstrap,
    permutation,
    randomisation,
    randomised_tukey,
    unpaired_bootstrap,
)
from tests.comparison.simulated import X, Y, run, scores, within_binomial_error
from tests.oracles import resample as oracle


@pytest.mark.parametrize("m", [2, 3, 6])
def test_randomised_tukey_follows_sakais_figure_15(m):
    u = np.random.default_rng(m).integers(0, 6, (7, m)) / 10
    result = randomised_tukey(u, resamples=300, seed=4, asl="share")
    for (first, second), p in oracle.randomised_tukey_asl(u.tolist(), 300, 4).items():
        assert result.p[first, second] == result.p[second, first] == p


def test_the_smallest_significant_difference_is_above_the_critical_difference():
    u = scores(30, 6, seed=3, spread=0.3)
    result = randomised_tukey(u, resamples=199)
    asl = oracle.randomised_tukey_asl(u.tolist(), 199, 0)
    gaps = np.abs(result.means[:, None] - result.means[None, :])
    delta = oracle.tukey_delta(u.tolist(), asl, 0.05)
    assert result.differ()[gaps >= delta - 1e-12].all()
    assert delta > result.critical == result.critical_at(0.95)


def test_randomised_tukey_keeps_the_family_wise_error():
    """Some pair of six systems that do not differ is called different in a share α of experiments."""
    rng = np.random.default_rng(5)
    wrong = []
    for seed in range(600):
        values = rng.beta(2, 4, (12, 6)) + rng.random((12, 1))
        wrong.append(randomised_tukey(values, resamples=199, seed=seed, threads=1).differ().any())
    assert within_binomial_error(wrong)


@pytest.mark.parametrize("seed", range(5))
def test_the_bootstrap_finds_what_randomised_tukey_finds(seed):
    """Sakai's remark that the first is a subset of the second, on simulated systems."""
    values = scores(50, 20, seed, spread=0.25)
    tukey, bootstrap = (run(name, values, resamples=2000).p <= 0.05 for name in ("randomised-tukey", "bootstrap"))
    assert 0 < tukey.sum() < bootstrap.sum() < len(tukey)
    assert not (tukey & ~bootstrap).any()


def test_randomised_tukey_of_two_systems_is_the_randomisation_test():
    values = scores(12, 2, 3)
    exact = randomisation(values[:, 0], values[:, 1]).p
    p = randomised_tukey(values, resamples=40_000).p[0, 1]
    assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 40_000))


def test_the_interval_contains_0_exactly_if_p_is_above_alpha():
    result = run("randomised-tukey", scores(20, 15, spread=0.4), resamples=999, alpha=0.1)
    assert 0 < (result.p <= 0.1).sum() < len(result.p)
    np.testing.assert_array_equal(result.p <= 0.1, (result.low > 0) | (result.high < 0))
    np.testing.assert_array_equal(result.p <= 0.1, np.abs(result.statistic) > result.critical)


def test_randomised_tukey_leaves_out_incomplete_topics_with_a_note():
    values = scores(10, 3)
    values[2, 1] = np.nan
    result = randomised_tukey(values, resamples=100)
    assert result.n == 9
    assert "1 of 10 topics left out" in str(result)
    np.testing.assert_array_equal(result.p, randomised_tukey(np.delete(values, 2, axis=0), resamples=100).p)


def test_identical_systems_have_p_1():
    result = randomised_tukey(np.tile(X, (3, 1)).T, resamples=50)
    assert (result.p == 1).all()
    assert not result.differ().any()
    assert "all systems have the same score" in str(result)


def test_one_system_raises_an_error():
    with pytest.raises(UsageError, match="1 system"):
        randomised_tukey([[0.1], [0.2]])


def test_records_have_every_output_format():
    result = randomised_tukey({"a": X, "b": Y, "c": [0.1] * 8}, resamples=99)
    assert list(result.to_pandas().columns) == ["first", "second", "difference", "low", "high", "p"]
    assert json.loads(result.to_json())["resamples"] == 99
    assert "a − c" in str(result)
    assert result.to_latex()
    assert result._repr_html_()
    assert result.differ(0.5).shape == (3, 3)
    for result in (paired_bootstrap(X, Y), unpaired_bootstrap(X, Y), permutation(X, Y)):
        assert result.measure == "score"
        json.loads(result.to_json())


def test_more_resamples_than_memory_holds_raise_an_error():
    with pytest.raises(UsageError, match="resamples == 99999999999999, must be at most 50,000,000"):
        randomised_tukey([[0.1, 0.2], [0.3, 0.5]], resamples=99_999_999_999_999)
