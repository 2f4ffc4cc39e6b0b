"""Friedman's test and Kruskal and Wallis's, and the pairs after them: scipy, R's published examples, formulas."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.friedman_and_kruskal import friedman, kruskal_wallis
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.errors import UsageError

TIMES = """
    5.40 5.50 5.55 5.85 5.70 5.75 5.20 5.60 5.50 5.55 5.50 5.40 5.90 5.85 5.70 5.45 5.55 5.60 5.40 5.40 5.35 5.45
    5.50 5.35 5.25 5.15 5.00 5.85 5.80 5.70 5.25 5.20 5.10 5.65 5.55 5.45 5.60 5.35 5.45 5.05 5.00 4.95 5.50 5.50
    5.40 5.45 5.55 5.50 5.55 5.55 5.35 5.45 5.50 5.55 5.50 5.45 5.25 5.65 5.60 5.40 5.70 5.65 5.55 6.30 6.30 6.25
"""
ROUNDING = np.array([float(x) for x in TIMES.split()]).reshape(22, 3)
"""RoundingTimes of R's ?friedman.test (Hollander & Wolfe 1973, p. 140)."""

MUCOCILIARY = {
    "normal": [2.9, 3.0, 2.5, 2.6, 3.2],
    "obstructive": [3.8, 2.7, 4.0, 2.4],
    "asbestosis": [2.8, 3.4, 3.7, 2.2, 2.0],
}
"""Of R's ?kruskal.test (Hollander & Wolfe 1973, p. 116)."""


def test_rounding_times_as_r_prints_them() -> None:
    result = friedman(ROUNDING)
    # R: Friedman chi-squared = 11.143, df = 2, p-value = 0.003805
    assert (round(result.statistic, 3), result.df, round(result.p_value, 6)) == (11.143, 2, 0.003805)


def test_mucociliary_efficiency_as_r_prints_it() -> None:
    result = kruskal_wallis(MUCOCILIARY)
    # R: Kruskal-Wallis chi-squared = 0.77143, df = 2, p-value = 0.68
    assert (round(result.statistic, 5), result.df, round(result.p_value, 2)) == (0.77143, 2, 0.68)


@pytest.mark.parametrize("ties", [False, True])
def test_both_tests_agree_with_scipy(scores: np.ndarray, ties: bool) -> None:
    scores = scores.round(1) if ties else scores
    theirs = stats.friedmanchisquare(*scores.T)
    ours = friedman(scores)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    theirs = stats.kruskal(*scores.T)
    ours = kruskal_wallis(scores)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (len(np.unique(scores)) < scores.size) == ties


def test_f_follows_iman_and_davenports_formula(scores: np.ndarray) -> None:
    result = friedman(scores)
    n, k = scores.shape
    # It is the two-way analysis of variance of the ranks.
    ranks = stats.rankdata(scores, axis=1)
    means = ranks.mean(axis=0)
    between = n * ((means - (k + 1) / 2) ** 2).sum() / (k - 1)
    within = ((ranks - means) ** 2).sum() / ((n - 1) * (k - 1))
    assert result.f == pytest.approx(between / within)
    assert result.f_p == pytest.approx(stats.f.sf(between / within, k - 1, (k - 1) * (n - 1)))
    assert result.effect == pytest.approx(result.statistic / (n * (k - 1)))  # Kendall's W


def test_pairs_follow_nemenyis_formula(scores: np.ndarray) -> None:
    result = friedman(scores)
    n, k = scores.shape
    # Demšar, JMLR 7, 2006: CD = q_α √(k(k + 1) / 6n), q_0.05 for 5 classifiers 2.728 (his Table 5a).
    assert round(result.critical, 3) == round(2.728 * math.sqrt(k * (k + 1) / (6 * n)), 3)
    ranks = stats.rankdata(scores, axis=1).mean(axis=0)
    q = np.abs(ranks[result.first] - ranks[result.second]) / math.sqrt(k * (k + 1) / (12 * n))
    assert result.p == pytest.approx(stats.studentized_range.sf(q, k, np.inf), abs=1e-7)
    assert result.differ.tolist() == (np.abs(result.difference) > result.critical).tolist()
    assert 0 < result.differ.sum() < len(result.p)


def test_tukey_kramer_on_mean_ranks() -> None:
    result = kruskal_wallis(MUCOCILIARY)
    values = np.concatenate(list(MUCOCILIARY.values()))
    ranks = np.split(stats.rankdata(values), [5, 9])
    means = np.array([sample.mean() for sample in ranks])
    n = np.array([5, 4, 5])
    variance = 14 * 15 / 12  # no ties
    first, second = np.triu_indices(3, 1)
    z = (means[first] - means[second]) / np.sqrt(variance * (1 / n[first] + 1 / n[second]))
    assert result.z == pytest.approx(z)
    assert result.p == pytest.approx(stats.studentized_range.sf(math.sqrt(2) * np.abs(z), 3, np.inf), abs=1e-7)
    dunn = kruskal_wallis(MUCOCILIARY, posthoc="dunn")
    assert dunn.p == pytest.approx(np.minimum(1, 3 * 2 * stats.norm.sf(np.abs(z))))


def test_only_the_order_of_scores_matters(scores: np.ndarray) -> None:
    for test in (friedman, kruskal_wallis):
        assert test(np.exp(5 * scores)).p.tolist() == test(scores).p.tolist()


@pytest.mark.parametrize("test", [friedman, kruskal_wallis])
def test_a_true_null_hypothesis_is_rejected_at_alpha(test: Any) -> None:
    rng = np.random.default_rng(8)
    experiments = [test(rng.random((25, 4))) for _ in range(400)]
    # 400 trials at 0.05: 20, standard error 4.36; χ² and the normal pairs are a little cautious.
    assert 7 <= sum(experiment.p_value <= 0.05 for experiment in experiments) <= 31
    assert 5 <= sum(bool(experiment.differ.any()) for experiment in experiments) <= 31


@pytest.mark.parametrize(("name", "function"), [("friedman", friedman), ("kruskal-wallis", kruskal_wallis)])
def test_the_engines_agree_with_the_functions(scores: np.ndarray, name: str, function: Any) -> None:
    test = TESTS.find(name)
    assert test.simultaneous
    assert not test.interval_scale
    first, second = np.triu_indices(5, 1)
    result = test.run(Matrix.of(scores), first, second, TestSettings())
    assert result.p == pytest.approx(function(scores).p, abs=1e-12)
    assert np.isnan(result.low).all()
    assert "χ²(4)" in result.notes[0]


def test_kruskal_wallis_uses_all_scores_of_each_system(scores: np.ndarray) -> None:
    scores[0, 0] = scores[3, 2] = np.nan
    theirs = stats.kruskal(*scores.T, nan_policy="omit")
    assert kruskal_wallis(scores).p_value == pytest.approx(theirs.pvalue)
    result = TESTS.find("kw").run(Matrix.of(scores), np.array([0, 1]), np.array([1, 3]), TestSettings())
    assert result.n.tolist() == [len(scores) - 1, len(scores)]


def test_friedman_leaves_out_topics_without_a_score(scores: np.ndarray) -> None:
    whole = friedman(scores[1:])
    scores[0, 0] = np.nan
    result = friedman(scores)
    assert result.statistic == pytest.approx(whole.statistic, rel=1e-12)
    assert "1 of 30 topics left out" in result.notes[0]


def test_every_input_format_gives_the_same_result(scores: np.ndarray) -> None:
    result = friedman(scores, "AP")
    assert json.loads(json.dumps(result.to_dict()))["pairs"][0]["p"] == result.p[0]
    assert "Friedman test" in str(result)
    assert result.to_pandas()["p"].tolist() == result.p.tolist()
    assert "tabular" in result.to_latex()
    assert "<table>" in result._repr_html_()


@pytest.mark.parametrize("test", [friedman, kruskal_wallis])
def test_identical_systems_have_p_1(test: Any) -> None:
    column = np.random.default_rng(0).random((6, 1)) if test is friedman else np.full((6, 1), 0.4)
    result = test(np.repeat(column, 3, axis=1))
    assert (result.statistic, result.p_value) == (0.0, 1.0)
    assert result.p.tolist() == [1.0, 1.0, 1.0]
    assert "p = 1" in result.notes[-1]


def test_f_is_infinite_if_all_topics_rank_systems_alike() -> None:
    result = friedman(np.random.default_rng(0).random((6, 1)) + np.array([0.0, 1.0, 2.0]))
    assert (result.f, result.f_p, result.effect) == (math.inf, 0.0, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman([[0.1, 0.2]]), "1 topic"),
        (lambda: friedman([[0.1], [0.2]]), "1 system"),
        (lambda: kruskal_wallis([[0.1], [0.2]]), "1 system"),
        (lambda: kruskal_wallis({"a": [0.1], "b": []}), "b has no score"),
        (lambda: kruskal_wallis({"a": [0.1], "b": [0.2]}), "2 scores"),
        (lambda: kruskal_wallis(MUCOCILIARY, posthoc="holm"), "must be one of 'tukey', 'dunn'"),
        (lambda: friedman(np.eye(3), alpha=0), "alpha == 0"),
    ],
)
def test_bad_input_raises_an_error(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert message in str(error.value)


@pytest.fixture
def scores() -> np.ndarray:
    """Five systems on 30 topics."""
    rng = np.random.default_rng(9)
    return rng.normal(0.5, 0.15, (30, 5)) + rng.normal(0, 0.1, (30, 1)) + np.array([0, 0.02, 0.05, 0.1, 0.2])
