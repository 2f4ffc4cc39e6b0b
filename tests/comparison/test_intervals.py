"""Intervals of summaries against scipy.stats.bootstrap on the same draws, the t distribution, and coverage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from cranfield import Scores, UsageError
from cranfield.comparison.intervals import difference_interval, mean_interval

RNG = np.random.default_rng(1)
X, Y = RNG.beta(1, 3, 23), RNG.beta(1, 4, 23)

SUMMARIES: dict[str, Callable[..., np.ndarray]] = {
    "mean": np.mean,
    "median": np.median,
    "std": lambda rows, axis: np.std(rows, axis=axis, ddof=1),
}


def ends(result: object) -> tuple[float, float]:
    interval = result.interval  # type: ignore[attr-defined]
    return interval.low, interval.high


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("summary", SUMMARIES)
def test_one_sample_agrees_with_scipy_draw_by_draw(summary: str, method: str) -> None:
    of, how = SUMMARIES[summary], {"percentile": "percentile", "bca": "BCa"}[method]
    rng = np.random.default_rng(5)
    witness = stats.bootstrap((X,), of, n_resamples=2000, method=how, random_state=rng).confidence_interval
    result = mean_interval(X, summary=summary, method=method, resamples=2000, seed=5)
    assert ends(result) == pytest.approx((witness.low, witness.high), rel=1e-9)
    own = mean_interval(X, summary=lambda rows: of(rows, axis=-1), method=method, resamples=2000, seed=5)
    assert ends(own) == pytest.approx(ends(result), rel=1e-9)


@pytest.mark.parametrize("matched", [True, False])
def test_differences_agree_with_scipy_draw_by_draw(matched: bool) -> None:
    y = Y if matched else Y[:9]
    witness = stats.bootstrap(
        (X, y),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        n_resamples=2000,
        method="BCa",
        paired=matched,
        random_state=np.random.default_rng(3),
    ).confidence_interval
    result = difference_interval(X, y, matched=matched, method="bca", resamples=2000, seed=3)
    assert ends(result) == pytest.approx((witness.low, witness.high), rel=1e-9)
    assert result.value == pytest.approx(X.mean() - y.mean())


def test_t_intervals_agree_with_scipy() -> None:
    assert ends(mean_interval(X, method="t")) == pytest.approx(stats.ttest_1samp(X, 0).confidence_interval())
    assert ends(difference_interval(X, Y, method="t")) == pytest.approx(stats.ttest_rel(X, Y).confidence_interval())
    result = difference_interval(X, Y[:9], matched=False, method="t")
    assert ends(result) == pytest.approx(stats.ttest_ind(X, Y[:9], equal_var=False).confidence_interval())


def test_percentiles_are_those_of_the_summary_of_scores() -> None:
    scores = Scores.from_matrix(X[:, None], runs=["a"], measure="AP")
    estimate = scores.summary(level=0.9, method="bootstrap", resamples=1000, seed=4)["AP", "a"]
    result = mean_interval(scores, method="percentile", level=0.9, resamples=1000, seed=4)
    assert ends(result) == pytest.approx((estimate.low, estimate.high))
    assert (result.measure, result.systems) == ("AP", ("a",))


def test_the_same_seed_gives_the_same_interval() -> None:
    assert mean_interval(X, method="bca", seed=1) == mean_interval(X, method="bca", seed=1)
    assert mean_interval(X, method="bca", seed=1) != mean_interval(X, method="bca", seed=2)


def test_bca_intervals_of_skewed_scores_have_nearly_their_level() -> None:
    # 400 samples of 30 from an exponential distribution with mean 1; BCa falls a little short in small samples
    rng = np.random.default_rng(8)
    held = [
        low <= 1 <= high
        for low, high in (
            ends(mean_interval(rng.exponential(size=30), method="bca", resamples=600, seed=i)) for i in range(400)
        )
    ]
    assert np.mean(held) == pytest.approx(0.93, abs=0.04)


def test_constant_scores_do_not_have_a_point_for_an_interval() -> None:
    low, high = ends(mean_interval([0.1, 0.1, 0.1]))
    assert 0 < low < 0.1 < high < 1
    for method in ("t", "skew", "percentile", "bca"):
        result = difference_interval([0.3, 0.4, 0.7], [0.2, 0.3, 0.6], method=method)
        assert np.isnan(ends(result)).all()
        assert result.notes[0].startswith("no interval: ")


def test_output_as_a_sentence_and_as_data() -> None:
    result = mean_interval([0.2, 0.4, 0.6], method="bca", measure="AP", resamples=100, seed=3)
    assert str(result).startswith("AP, x: mean = 0.4000 [")
    assert str(result).endswith("n = 3, B = 100, seed 3")
    assert result.to_dict()["interval"]["method"] == "bootstrap BCa"
    assert result.to_pandas().loc[0, "value"] == pytest.approx(0.4)


def test_bad_input_raises_an_error() -> None:
    with pytest.raises(UsageError, match="1 topic, an interval needs 2 or more"):
        mean_interval([0.2])
    with pytest.raises(UsageError, match="summary == 'max'"):
        mean_interval(X, summary="max")
    with pytest.raises(UsageError, match="resamples == 0"):
        mean_interval(X, resamples=0)
    with pytest.raises(UsageError, match="method == 't' works only for the mean; for median"):
        mean_interval(X, summary="median", method="t")
    with pytest.raises(UsageError, match="method == 't' works only for the mean"):
        difference_interval(X, Y, summary="gmean", method="t")
    with pytest.raises(UsageError, match="a number per row"):
        mean_interval(X, summary=np.median)
    with pytest.raises(UsageError, match="is undefined for"):
        mean_interval(X, summary=lambda rows: np.full(len(rows), math.nan))
