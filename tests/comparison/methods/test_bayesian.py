"""Bayesian comparisons against the t distribution, baycomp's numbers, and a loop that mirrors the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield import UsageError
from cranfield.comparison.methods.bayesian import bayesian_signed_rank, bayesian_t
from cranfield.comparison.methods.t import paired_t

# Student's sleep data, as R ships it
X = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
Y = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_t_posterior_by_the_t_distribution() -> None:
    d = np.subtract(X, Y)
    result = bayesian_t(X, Y, rope=1.0)
    posterior = stats.t(9, d.mean(), d.std(ddof=1) / np.sqrt(10))
    assert result.less == pytest.approx(posterior.cdf(-1.0))
    assert result.greater == pytest.approx(posterior.sf(1.0))
    assert result.less + result.equal + result.greater == pytest.approx(1)
    assert (result.interval.low, result.interval.high) == pytest.approx(posterior.interval(0.95))


def test_without_a_rope_the_t_posterior_is_the_one_sided_p() -> None:
    result = bayesian_t(X, Y, rope=0)
    assert result.equal == pytest.approx(0, abs=1e-12)
    assert result.greater == pytest.approx(paired_t(X, Y, alternative="less").p)


def test_correlated_t_agrees_with_baycomp() -> None:
    # baycomp 1.0.3: CorrelatedTTest.probs(Y, X, rope=0.5, runs=1) has correlation 1/10; p(left), p(rope), p(right)
    result = bayesian_t(X, Y, rope=0.5, correlation=0.1)
    assert result.less == pytest.approx(0.9558411788912899)
    assert result.equal == pytest.approx(0.04162296820771072)
    assert result.greater == pytest.approx(0.0025358529009993427)


def test_signed_rank_follows_its_definition() -> None:
    rope, prior, draws = 0.7, 0.5, 300
    z = [0.0, *np.subtract(X, Y).round(9).tolist()]
    wins = {"less": 0, "equal": 0, "greater": 0}
    for w in np.random.default_rng(4).dirichlet([prior, *[1.0] * 10], draws):
        theta = {"equal": 0.0, "greater": 0.0, "less": 0.0}
        for i, a in enumerate(z):
            for j, b in enumerate(z):
                where = "greater" if a + b > 2 * rope + 1e-9 else "less" if a + b < -2 * rope - 1e-9 else "equal"
                theta[where] += w[i] * w[j]
        wins[max(theta, key=lambda name: theta[name])] += 1
    result = bayesian_signed_rank(X, Y, rope=rope, prior=prior, resamples=draws, seed=4)
    assert (result.less, result.equal, result.greater) == pytest.approx(tuple(n / draws for n in wins.values()))
    assert 0 < result.equal < 1


def test_signed_rank_agrees_with_baycomp() -> None:
    # baycomp 1.0.3: SignedRankTest.probs(X, Y, rope=0.67, nsamples=200000, random_state=1): 0, 0.012775, 0.987225
    result = bayesian_signed_rank(X, Y, rope=0.67, resamples=50_000)
    error = 4 * np.sqrt(0.0128 * 0.9872 * (1 / 50_000 + 1 / 200_000))
    assert result.equal == pytest.approx(0.012775, abs=error)
    assert result.less == pytest.approx(0.987225, abs=error)


def test_identical_systems_are_practically_equal() -> None:
    for posterior in (bayesian_t(X, X, rope=0.01), bayesian_signed_rank(X, X, rope=0.01, resamples=100)):
        assert (posterior.less, posterior.equal, posterior.greater) == (0, 1, 0)
    steady = bayesian_t([0.4, 0.6, 0.3], [0.2, 0.4, 0.1], rope=0.1)
    assert steady.greater == 1
    assert "the posterior is a point" in steady.notes[0]


def test_swapping_the_systems_swaps_the_result() -> None:
    posterior, swapped = bayesian_signed_rank(X, Y, rope=1, seed=3), bayesian_signed_rank(Y, X, rope=1, seed=3)
    assert (posterior.less, posterior.equal, posterior.greater) == (swapped.greater, swapped.equal, swapped.less)


def test_output_as_a_sentence_and_as_data() -> None:
    result = bayesian_t(X, Y, rope=1.0, systems=("old", "new"), measure="AP")
    assert "new better" in str(result)
    assert result.to_dict()["systems"] == ["old", "new"]
    assert result.to_pandas().loc[0, "less"] == pytest.approx(result.less)


def test_bad_input_raises_an_error() -> None:
    with pytest.raises(UsageError, match="rope == -1"):
        bayesian_t(X, Y, rope=-1)
    with pytest.raises(UsageError, match="correlation == 1"):
        bayesian_t(X, Y, correlation=1)
    with pytest.raises(UsageError, match="resamples == 0"):
        bayesian_signed_rank(X, Y, resamples=0)
    with pytest.raises(UsageError, match="prior == 0"):
        bayesian_signed_rank(X, Y, prior=0)
    with pytest.raises(UsageError, match="1 topic, a Bayesian t comparison needs 2 or more"):
        bayesian_t([0.1], [0.2])
