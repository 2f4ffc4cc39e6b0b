"""Corrections for many tests, against statsmodels, their definitions, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from cranfield import UsageError
from cranfield.comparison.corrections import (
    CORRECTIONS,
    adjust,
    benjamini_hochberg,
    bonferroni,
    family_wise_error,
    holm,
)

STATSMODELS = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "sidak": "sidak",
    "holm-sidak": "holm-sidak",
    "hochberg": "simes-hochberg",
    "hommel": "hommel",
    "benjamini-hochberg": "fdr_bh",
    "benjamini-yekutieli": "fdr_by",
}
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(probabilities)
def test_step_by_step_corrections_never_find_less_than_bonferroni(values: list[float]) -> None:
    most = bonferroni(values)
    for name in ("holm", "hochberg", "hommel"):
        assert (adjust(values, name) <= most + 1e-12).all(), name


def test_every_correction_is_compared_with_statsmodels() -> None:
    assert set(STATSMODELS) | {"none"} == set(CORRECTIONS)


@pytest.mark.parametrize("name", STATSMODELS)
@settings(max_examples=12, deadline=None)  # statsmodels takes a tenth of a second for Holm's
@given(p=probabilities)
def test_agrees_with_statsmodels(name: str, p: list[float]) -> None:
    p = [value if value < 1 else 0.75 for value in p]  # at p = 1 statsmodels' Šidák takes the logarithm of 0
    assert adjust(p, name) == pytest.approx(multipletests(p, method=STATSMODELS[name])[1], abs=1e-12)


@given(p=probabilities)
def test_holm_step_by_step(p: list[float]) -> None:
    # reject the smallest at α/c, the next at α/(c - 1), ... until one is not rejected
    alpha, c = 0.05, len(p)
    rejected = np.zeros(c, dtype=bool)
    for step, i in enumerate(np.argsort(p, kind="stable").tolist()):
        if p[i] * (c - step) > alpha:
            break
        rejected[i] = True
    assert np.array_equal(holm(p) <= alpha, rejected)


@given(p=probabilities)
def test_benjamini_hochberg_step_by_step(p: list[float]) -> None:
    # reject the k smallest for the largest k with p(k) ≤ αk/c
    alpha, c = 0.05, len(p)
    ordered = sorted(p)
    k = max((i for i in range(1, c + 1) if ordered[i - 1] * c / i <= alpha), default=0)
    assert np.array_equal(benjamini_hochberg(p) <= alpha, np.array(p) <= (ordered[k - 1] if k else -1))


@given(p=probabilities)
def test_adjusted_p_values_are_not_smaller_and_keep_their_order(p: list[float]) -> None:
    for name in CORRECTIONS:
        adjusted = adjust(p, name)
        assert (adjusted >= np.array(p) - 1e-15).all()
        assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= -1e-15).all()
    assert (adjust(p, "holm") <= bonferroni(p) + 1e-15).all()


def test_nan_does_not_count_as_a_test() -> None:
    p = [0.01, math.nan, 0.04]
    for name in CORRECTIONS:
        adjusted = adjust(p, name)
        assert math.isnan(adjusted[1])
        assert adjusted[[0, 2]] == pytest.approx(adjust([0.01, 0.04], name))
    assert np.isnan(adjust([math.nan], "holm")).all()
    assert adjust([], "holm").shape == (0,)
    assert adjust([[0.01, 0.04]], "bonferroni").tolist() == [[0.02, 0.08]]


def test_family_wise_error_of_ferro_and_maistro_2024() -> None:
    # 1 - (1 - α)^c: 1 - 0.95^8256 for the 8,256 pairs of TREC 8
    assert family_wise_error(0.05, 1) == pytest.approx(0.05)
    assert family_wise_error(0.05, 3) == pytest.approx(1 - 0.95**3)
    assert family_wise_error(0.05, 8256) == pytest.approx(1)
    assert family_wise_error(1e-12, 10) == pytest.approx(1e-11)


def test_aliases_are_known_and_bad_input_raises_an_error() -> None:
    assert {CORRECTIONS.find(name).name for name in ("BH", "fdr", "Benjamini_Hochberg")} == {"benjamini-hochberg"}
    assert CORRECTIONS.find("Šidák".replace("á", "a")).name == "sidak"
    with pytest.raises(UsageError, match="did you mean 'bonferroni'"):
        adjust([0.1], "bonferoni")
    with pytest.raises(UsageError, match=r"p == 1\.2, must be between 0 and 1"):
        adjust([0.1, 1.2], "holm")
    with pytest.raises(UsageError, match="alpha == 0"):
        family_wise_error(0, 3)


def test_under_the_null_the_error_rate_is_alpha() -> None:
    # 2,000 families of 20 independent true hypotheses: any rejection is a false one, and then all discoveries are
    p = np.random.default_rng(4).random((2000, 20))
    error = 3.5 * math.sqrt(0.05 * 0.95 / 2000)
    for name in ("bonferroni", "holm", "sidak", "benjamini-hochberg"):
        share = np.mean([(adjust(row, name) <= 0.05).any() for row in p])
        expected = 1 - (1 - 0.05 / 20) ** 20 if name in ("bonferroni", "holm") else 0.05
        assert share == pytest.approx(expected, abs=error), name


def test_false_discoveries_among_independent_tests() -> None:
    # 15 of 20 hypotheses are true: the expected share of false discoveries is 0.05 · 15/20
    rng = np.random.default_rng(6)
    z = rng.normal(size=(2000, 20))
    z[:, 15:] += 3
    from scipy.stats import norm

    shares = []
    for row in norm.sf(z):
        result = adjust(row, "bh") <= 0.05
        shares.append(result[:15].sum() / max(result.sum(), 1))
    assert np.mean(shares) == pytest.approx(0.0375, abs=4 * np.std(shares) / math.sqrt(2000))
