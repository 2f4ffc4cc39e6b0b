"""Effect sizes against their definitions, scipy's noncentral distributions, loops over all pairs, and simulation."""

from __future__ import annotations

import math
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from cranfield import UsageError
from cranfield.comparison.data import Matrix
from cranfield.comparison.distributions import noncentrality
from cranfield.comparison.effects import (
    PAIRED_EFFECTS,
    UNPAIRED_EFFECTS,
    bias_correction,
    in_words,
    omega_squared,
    paired_effect,
    paired_effects,
    unpaired_effect,
)

X = [0.41, 0.62, 0.13, 0.75, 0.50, 0.66, 0.21, 0.90]
Y = [0.35, 0.60, 0.20, 0.55, 0.41, 0.50, 0.22, 0.71]
D = [a - b for a, b in zip(X, Y, strict=True)]


def test_values_follow_their_definition() -> None:
    d, s_x, s_y = mean(D), stdev(X), stdev(Y)
    expected = {
        "d_z": d / stdev(D),
        "d_av": d / ((s_x + s_y) / 2),
        "smd": d / math.sqrt((s_x**2 + s_y**2) / 2),
        "glass": d / s_y,
        "hedges": d / ((s_x + s_y) / 2) * bias_correction(7).item(),
        "cliff": sum((a > b) - (a < b) for a in X for b in Y) / 64,
    }
    assert set(expected) == set(PAIRED_EFFECTS)
    for kind, value in expected.items():
        assert paired_effect(X, Y, kind=kind).value == pytest.approx(value), kind
    y = Y[:5]
    gap, s_y = mean(X) - mean(y), stdev(y)
    pooled = math.sqrt((7 * s_x**2 + 4 * s_y**2) / 11)
    expected = {
        "d": gap / pooled,
        "hedges": gap / pooled * bias_correction(11).item(),
        "smd": gap / math.sqrt((s_x**2 + s_y**2) / 2),
        "glass": gap / s_y,
        "cliff": sum((a > b) - (a < b) for a in X for b in y) / 40,
    }
    assert set(expected) == set(UNPAIRED_EFFECTS)
    for kind, value in expected.items():
        assert unpaired_effect(X, y, kind=kind).value == pytest.approx(value), kind


def test_hedges_correction_is_near_its_well_known_approximation() -> None:
    # 1 - 3/(4 df - 1), Hedges 1981
    for df in (5, 10, 50):
        assert bias_correction(df) == pytest.approx(1 - 3 / (4 * df - 1), abs=2e-3)
    assert math.isnan(bias_correction(1))


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_intervals_of_d_end_where_the_noncentral_t_says(level: float) -> None:
    result = paired_effect(X, Y, level=level)
    t = result.value * math.sqrt(8)
    assert stats.nct.cdf(t, 7, result.low * math.sqrt(8)) == pytest.approx((1 + level) / 2)
    assert stats.nct.cdf(t, 7, result.high * math.sqrt(8)) == pytest.approx((1 - level) / 2)
    result = unpaired_effect(X, Y[:5], level=level)
    root = math.sqrt(1 / 8 + 1 / 5)
    assert stats.nct.cdf(result.value / root, 11, result.low / root) == pytest.approx((1 + level) / 2)
    assert stats.nct.cdf(result.value / root, 11, result.high / root) == pytest.approx((1 - level) / 2)


@settings(max_examples=150, deadline=None)
@example(1.6e-111, 1, 0.005)
@example(-7.5, 1, 0.005)
@given(st.floats(-60, 60), st.integers(1, 500), st.sampled_from([0.005, 0.025, 0.5, 0.975, 0.995]))
def test_noncentrality_inverts_the_distribution(t: float, df: int, probability: float) -> None:
    centre = noncentrality(t, df, probability).item()
    seen = t if abs(t) > 1e-20 else 0.0  # scipy's own function is undefined for some t next to 0
    assert stats.nct.cdf(seen, df, centre) == pytest.approx(probability, abs=1e-8)


def test_noncentrality_of_infinite_and_undefined_t() -> None:
    assert noncentrality(np.array([math.inf, -math.inf]), 5, 0.5).tolist() == [math.inf, -math.inf]
    assert math.isnan(noncentrality(math.nan, 5, 0.5))


@pytest.mark.parametrize("kind", PAIRED_EFFECTS)
def test_effects_of_all_pairs_at_once_equal_those_of_each(kind: str) -> None:
    rng = np.random.default_rng(2)
    values = np.round(np.clip(rng.random((20, 1)) + rng.normal(0, 0.2, (20, 5)), 0, 1), 2)
    values[2, 0] = values[4, 1] = math.nan
    values[:, 4] = values[:, 3]
    first, second = np.triu_indices(5, 1)
    result = paired_effects(Matrix.of(values), first, second, kind)
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        single = paired_effect(values[:, a], values[:, b], kind=kind)
        assert tuple(part[i] for part in result) == pytest.approx((single.value, single.low, single.high), rel=1e-7), (
            a,
            b,
        )
    assert [part[-1] for part in result] == [0, 0, 0]  # the same system twice


@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=8),
    st.lists(st.integers(0, 5), min_size=2, max_size=8),
)
def test_cliffs_delta_and_its_interval_by_the_dominance_matrix(x: list[int], y: list[int]) -> None:
    signs = np.sign(np.subtract.outer(np.array(x, dtype=float), np.array(y, dtype=float)))
    n, m = signs.shape
    delta = signs.mean()
    result = unpaired_effect(x, y, kind="cliff")
    assert result.value == pytest.approx(delta)
    assert -1 <= result.low <= result.value <= result.high <= 1
    if abs(delta) == 1:
        return
    # Cliff's unbiased variance, and no less than (1 - δ²)/(nm - 1)
    rows, columns = signs.mean(axis=1), signs.mean(axis=0)
    variance = m**2 * ((rows - delta) ** 2).sum() + n**2 * ((columns - delta) ** 2).sum() - ((signs - delta) ** 2).sum()
    variance = max(variance / (n * m * (n - 1) * (m - 1)), (1 - delta**2) / (n * m - 1))
    z = stats.norm.ppf(0.975)
    root = z * math.sqrt(variance * ((1 - delta**2) ** 2 + z**2 * variance))
    below = 1 - delta**2 + z**2 * variance
    assert result.low == pytest.approx(max((delta - delta**3 - root) / below, -1))
    assert result.high == pytest.approx(min((delta - delta**3 + root) / below, 1))


def test_intervals_of_matched_samples_have_their_level() -> None:
    # 3,000 experiments of 40 topics with a true d_z of 0.5 (differences normal, mean 0.5, variance 1)
    rng = np.random.default_rng(9)
    topic = rng.normal(size=(40, 1))
    values = topic + rng.normal(0, math.sqrt(0.5), (40, 6000))
    first, second = np.arange(0, 6000, 2), np.arange(1, 6000, 2)
    values[:, first] += 0.5
    _, low, high = paired_effects(Matrix.of(values), first, second, "d_z")
    share = ((low <= 0.5) & (high >= 0.5)).mean()
    assert share == pytest.approx(0.95, abs=3.5 * math.sqrt(0.05 * 0.95 / 3000))
    # Cliff's δ: fresh topics each time; x - y' is normal with mean 0.5 and variance 3 for two different topics
    values = rng.normal(size=(40, 3000)).repeat(2, axis=1) + rng.normal(0, math.sqrt(0.5), (40, 6000))
    values[:, first] += 0.5
    delta = 2 * stats.norm.cdf(0.5 / math.sqrt(3)) - 1
    _, low, high = paired_effects(Matrix.of(values), first, second, "cliff")
    assert ((low <= delta) & (high >= delta)).mean() == pytest.approx(0.95, abs=0.02)  # asymptotic, n = 40


def test_bonetts_interval_has_its_level_if_variances_differ() -> None:
    # means 2√2.5 apart, variances 1 and 4, so the true standardised difference is 2; 3,000 experiments of 40 and 25
    rng = np.random.default_rng(12)
    held = 0
    for _ in range(3000):
        result = unpaired_effect(rng.normal(2 * math.sqrt(2.5), 1, 40), rng.normal(0, 2, 25), kind="smd")
        held += result.low <= 2 <= result.high
    assert held / 3000 == pytest.approx(0.95, abs=0.013)  # 3 standard errors; the interval is asymptotic


def test_omega_squared_of_table_1_of_ferro_and_maistro_2024() -> None:
    assert omega_squared(251.9463, 49, 6450).value == pytest.approx(0.6559, abs=5e-5)  # topics
    assert omega_squared(34.4635, 128, 6450).value == pytest.approx(0.3991, abs=5e-5)  # systems
    assert omega_squared(0.5, 3, 100).value == 0  # negative counts as 0
    result = omega_squared(5.0, 3, 40, df_error=36)
    for end, probability in ((result.low, 0.975), (result.high, 0.025)):
        assert stats.ncf.cdf(5.0, 3, 36, 40 * end / (1 - end)) == pytest.approx(probability, abs=1e-6)
    assert omega_squared(1.0, 3, 40, df_error=36).low == 0


def test_sizes_in_words() -> None:
    assert [in_words(d) for d in (0.19, 0.2, 0.5, -0.8)] == ["negligible", "small", "medium", "large"]  # Cohen 1988
    deltas = [in_words(d, "cliff") for d in (0.146, 0.147, -0.33, 0.474)]  # Romano et al. 2006
    assert deltas == ["negligible", "small", "medium", "large"]
    shares = [in_words(w, "omega") for w in (-0.2, 0.01, 0.06, 0.14)]  # Ferro & Maistro 2024 §4.2.3
    assert shares == ["negligible", "small", "medium", "large"]
    assert in_words(math.nan) == ""


def test_without_variance_an_effect_is_0_or_infinite() -> None:
    same, up = [0.1, 0.5, 0.3], [0.2, 0.6, 0.4]
    for kind in PAIRED_EFFECTS:
        assert paired_effect(same, same, kind=kind).value == 0
    assert paired_effect(up, same).value == math.inf
    steady = paired_effect(up, same, kind="d_av")
    assert (steady.value, steady.low, steady.high) == pytest.approx((0.1 / stdev(same),) * 3)
    for kind in UNPAIRED_EFFECTS:
        assert unpaired_effect([0.1] * 3, [0.1] * 7, kind=kind).value == 0
    assert unpaired_effect([0.1] * 3, [0.2] * 7).value == -math.inf
    assert unpaired_effect([0.1] * 3, [0.2] * 7, kind="cliff").value == -1


def test_bad_input_raises_an_error() -> None:
    with pytest.raises(UsageError, match="1 topic, an effect size needs 2 or more"):
        paired_effect([0.1], [0.2])
    with pytest.raises(UsageError, match="kind == 'cohen'"):
        paired_effect(X, Y, kind="cohen")
    with pytest.raises(UsageError, match="level == 95"):
        unpaired_effect(X, Y, level=95)
    with pytest.raises(UsageError, match="n == 0"):
        omega_squared(3.0, 2, 0)
