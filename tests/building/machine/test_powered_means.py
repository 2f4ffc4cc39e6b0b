"""Prediction-powered means: the formulas by hand, beside ppi-python, at their limits, and their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from cranfield.building.machine.powered_means import powered_means
from cranfield.errors import UsageError
from cranfield.types import Array


def drawn(rows: int, n: int, others: int, correlation: float, seed: int = 0) -> tuple[Array, Array, Array]:
    """Scores with human judgments, with machine judgments on the same topics, and on other topics; the mean is 0."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(rows, n + others))
    machine = truth + rng.normal(size=truth.shape) * math.sqrt(1 / correlation**2 - 1) + 0.3  # and too lenient
    return truth[:, :n], machine[:, :n], machine[:, n:]


def test_a_case_by_hand() -> None:
    """y − f = −.1, 0, .1, so the rectifier has mean 0 and variance .01; f̃ has mean .55 and variance .13/3."""
    y, f, others = np.array([[0.2, 0.4, 0.9]]), np.array([[0.3, 0.4, 0.8]]), np.array([[0.5, 0.3, 0.6, 0.8]])
    means = powered_means(y, f, others, tuning=1.0)
    a, b = 0.01 / 3, (0.13 / 3) / 4
    assert means.estimate.item() == pytest.approx(0.55)
    assert means.error.item() == pytest.approx(math.sqrt(a + b))
    assert means.freedom.item() == pytest.approx((a + b) ** 2 / (a**2 / 2 + b**2 / 3))  # Welch and Satterthwaite
    # cov(y, f) with 1/n is (.3·.2 + .1·.1 + .4·.3)/3 = .19/3; all seven f have mean 3.7/7 and Σf² = .09+.16+.64+1.34
    variance = (0.09 + 0.16 + 0.64 + 0.25 + 0.09 + 0.36 + 0.64 - 3.7**2 / 7) / 6
    tuned = powered_means(y, f, others)
    assert tuned.tuning.item() == pytest.approx((0.19 / 3) / ((1 + 3 / 4) * variance))


@pytest.mark.peers
@pytest.mark.parametrize("tuning", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("correlation", [0.2, 0.9])
def test_the_normal_interval_is_that_of_ppi_python(tuning: float | None, correlation: float) -> None:
    from ppi_py import ppi_mean_ci

    y, f, others = drawn(4, 25, 80, correlation)
    means = powered_means(y, f, others, tuning=tuning, interval="normal", level=0.9)
    for row in range(4):
        low, high = ppi_mean_ci(y[row], f[row], others[row], alpha=0.1, lam=tuning)
        assert (means.low[row], means.high[row]) == pytest.approx((float(low[0]), float(high[0])), rel=1e-10)


def test_lambda_0_is_the_classical_interval() -> None:
    means = powered_means(*drawn(5, 12, 40, 0.8), tuning=0.0)
    assert means.low.tolist() == pytest.approx(means.classical_low.tolist())
    assert means.high.tolist() == pytest.approx(means.classical_high.tolist())
    assert means.effective.tolist() == pytest.approx([12] * 5)


def test_a_perfect_machine_gives_the_interval_of_all_topics() -> None:
    """With y = f and equal variances on both sets of topics, λ = N / (n + N) up to the n − 1 of sample variances."""
    scores = np.tile([0.1, 0.3, 0.5, 0.9], 500)[None]  # each part has the same mean and variance
    y, others = scores[:, :400], scores[:, 400:]
    means = powered_means(y, y, others, interval="normal")
    assert means.tuning.item() == pytest.approx(1600 / 2000, rel=1e-3)
    assert means.estimate.item() == pytest.approx(scores.mean())
    whole = scores.std() / math.sqrt(2000)
    assert means.error.item() == pytest.approx(whole, rel=1e-3)
    assert means.effective.item() == pytest.approx(2000, rel=1e-2)


def test_machine_scores_that_do_not_vary_or_mislead_are_not_used() -> None:
    y, f, others = drawn(1, 20, 60, 0.9)
    constant = powered_means(y, np.ones_like(f), np.ones_like(others))
    contrary = powered_means(y, -f, -others)
    for means in (constant, contrary):
        assert means.tuning.item() == 0
        assert means.low.item() == pytest.approx(means.classical_low.item())


def test_without_further_topics_the_interval_is_classical() -> None:
    y, f, _ = drawn(2, 20, 5, 0.9)
    means = powered_means(y, f, np.empty((2, 0)))
    assert means.low.tolist() == pytest.approx(means.classical_low.tolist())


def test_undefined_scores_are_left_out_of_their_row_only() -> None:
    y, f, others = drawn(2, 20, 30, 0.9)
    y[0, 3] = f[0, 4] = others[0, 0] = np.nan
    means = powered_means(y, f, others)
    keep = [i for i in range(20) if i not in (3, 4)]
    alone = powered_means(y[:1, keep], f[:1, keep], others[:1, 1:])
    assert means.topics.tolist() == [18, 20]
    assert means.others.tolist() == [29, 30]
    assert means.low[0] == pytest.approx(alone.low[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tuning": 1.5}, "tuning == 1.5, must be between 0 and 1"),
        ({"level": 1.0}, "level == 1.0, must be above 0 and below 1"),
        ({"interval": "z"}, "interval == 'z', must be one of 't', 'normal'"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        powered_means(*drawn(1, 5, 5, 0.9), **options)  # type: ignore[arg-type]


def test_one_topic_with_both_judgments_is_too_few() -> None:
    with pytest.raises(UsageError, match="1 topics with both judgments, an interval needs 2 or more"):
        powered_means(*drawn(1, 1, 5, 0.9))


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 15), st.integers(2, 30), st.integers(0, 1000), st.floats(-3, 3), st.floats(0.1, 10))
def test_moving_and_stretching_scores_moves_and_stretches_the_interval(
    n: int, others: int, seed: int, shift: float, factor: float
) -> None:
    parts = drawn(1, n, others, 0.7, seed)
    before, after = powered_means(*parts), powered_means(*(shift + factor * part for part in parts))
    assert after.low.item() == pytest.approx(shift + factor * before.low.item(), abs=1e-9)
    assert after.high.item() == pytest.approx(shift + factor * before.high.item(), abs=1e-9)


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_intervals_cover_the_true_mean_as_often_as_they_say(n: int, correlation: float) -> None:
    """4,000 experiments, true mean 0: the share has a standard error of .0034."""
    means = powered_means(*drawn(4_000, n, 200, correlation, seed=n))
    covered = ((means.low <= 0) & (means.high >= 0)).mean()
    assert 0.94 < covered < 0.975  # the jackknife is a little wide
    if n == 30 and correlation == 0.9:
        ratio = (means.high - means.low).mean() / (means.classical_high - means.classical_low).mean()
        # √(1 − ρ² N / (n + N)) = √(1 − .81 · 200/230)
        assert ratio == pytest.approx(math.sqrt(1 - 0.81 * 200 / 230), abs=0.07)


def test_the_variance_is_that_of_a_literal_jackknife_with_lambda_tuned_again() -> None:
    y, f, others = drawn(1, 9, 30, 0.8)
    left_out = [powered_means(np.delete(y, i, 1), np.delete(f, i, 1), others).estimate.item() for i in range(9)]
    jackknife = 8 / 9 * ((np.array(left_out) - np.mean(left_out)) ** 2).sum()
    means = powered_means(y, f, others)
    assert 0 < means.tuning.item() < 1
    expected = jackknife + means.tuning.item() ** 2 * others.var(ddof=1) / 30
    assert means.error.item() ** 2 == pytest.approx(expected)


def test_few_topics_that_differ_get_the_interval_of_clopper_and_pearson() -> None:
    """Two of 20 human topics score 1: λ is 0, and the machine, which says nothing, does not make it narrower."""
    y = np.array([[1.0] * 2 + [0.0] * 18])
    limits = np.zeros(1), np.ones(1)
    means = powered_means(y, np.zeros((1, 20)), np.zeros((1, 50)), limits=limits)
    expected = binomtest(2, 20).proportion_ci()
    assert (means.low.item(), means.high.item()) == pytest.approx((expected.low, expected.high))
    assert means.bounded.item()
    assert means.tuning.item() == 0
    nothing = powered_means(0 * y, 0 * y, np.zeros((1, 50)), limits=(-limits[1], limits[1]))
    assert nothing.high.item() == pytest.approx(0.168433, abs=1e-6)  # 1 − .025^(1/20)
    unknown = powered_means(0 * y, 0 * y, np.zeros((1, 50)))
    assert math.isnan(unknown.low.item())
    assert math.isnan(unknown.p.item())


def test_rare_changes_that_only_the_machine_has_seen_make_the_interval_wide() -> None:
    y = np.linspace(-0.01, 0.01, 20)[None]
    others = np.tile(np.concatenate([np.linspace(-0.01, 0.01, 19), [0.8]]), 10)[None]
    means = powered_means(y, y, others, limits=(-np.ones(1), np.ones(1)))
    assert means.bounded.item()
    assert means.high.item() > 0.15


def test_p_values_of_no_difference_are_uniform() -> None:
    p = powered_means(*drawn(4_000, 20, 100, 0.8, seed=5)).p
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.012)
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=0.03)
