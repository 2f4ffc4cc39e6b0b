"""One test for many runs, against scipy and statsmodels, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield import Scores, UsageError
from cranfield.comparison import apply_test
from cranfield.comparison.apply_test import SAMPLE_TESTS
from cranfield.comparison.corrections import holm

RNG = np.random.default_rng(11)
VALUES = np.clip(RNG.beta(2, 3, (30, 1)) + RNG.normal(0, 0.1, (30, 3)), 0, 1)
RUNS = ["a", "b", "c"]
SCORES = Scores.from_matrix(VALUES, runs=RUNS, measure="AP")
OTHER = Scores.from_matrix(RNG.beta(2, 4, (22, 3)), runs=["c", "b", "d"], measure="AP")
PAIRS = [(0, 1), (0, 2), (1, 2)]
NEEDED: dict[str, dict[str, Any]] = {
    "one-sample-t": {"value": 0.4}, "tost": {"margin": 0.05}, "unpaired-tost": {"margin": 0.05},
}  # fmt: skip


def test_every_run_against_a_number_as_scipy() -> None:
    applied = apply_test(SCORES, test="one-sample-t", value=0.4, alternative="greater")
    expected = stats.ttest_1samp(VALUES, 0.4, alternative="greater")
    columns = applied.columns()
    assert columns["system"].tolist() == RUNS
    assert columns["t"] == pytest.approx(expected.statistic)
    assert columns["p"] == pytest.approx(expected.pvalue)
    assert columns["p adjusted"] == pytest.approx(holm(expected.pvalue))


@pytest.mark.parametrize(
    ("test", "function"),
    [
        ("unpaired-t", lambda x, y: stats.ttest_ind(x, y, equal_var=False)),
        ("rank-sum", lambda x, y: stats.mannwhitneyu(x, y, method="exact")),
    ],
)
def test_unmatched_pairs_as_scipy(test: str, function: Any) -> None:
    applied = apply_test(SCORES, test=test)
    assert applied.p == pytest.approx([function(VALUES[:, a], VALUES[:, b]).pvalue for a, b in PAIRS], rel=1e-6)
    assert "the systems share their topics; a paired test would be more powerful" in applied.notes


def test_equivalence_of_every_pair_by_two_t_tests_of_scipy() -> None:
    applied = apply_test(SCORES, test="tost", margin=0.06, correction="none")
    expected = [
        max(
            stats.ttest_1samp(VALUES[:, a] - VALUES[:, b], -0.06, alternative="greater").pvalue,
            stats.ttest_1samp(VALUES[:, a] - VALUES[:, b], 0.06, alternative="less").pvalue,
        )
        for a, b in PAIRS
    ]
    assert all(ours >= theirs * (1 - 1e-9) for ours, theirs in zip(applied.p, expected, strict=True))
    assert applied.p == pytest.approx(expected, abs=0.02)  # ours correct for skewness
    assert applied.columns()["equivalent"].tolist() == [p <= 0.05 for p in applied.p]


def test_bayesian_probabilities_are_those_of_the_posterior_t() -> None:
    columns = apply_test(SCORES, test="bayesian-t", rope=0.02, baseline="a").columns()
    for i, run in enumerate((1, 2)):
        d = VALUES[:, run] - VALUES[:, 0]
        posterior = stats.t(29, d.mean(), d.std(ddof=1) / np.sqrt(30))
        assert columns["lower"][i] == pytest.approx(posterior.cdf(-0.02))
        assert columns["higher"][i] == pytest.approx(posterior.sf(0.02))
    assert "p" not in columns


def test_two_collections_compare_each_run_with_itself() -> None:
    applied = apply_test({"old": SCORES, "new": OTHER}, test="unpaired-t")
    columns = applied.columns()
    assert columns["system"].tolist() == ["b", "c"]
    assert (columns["collection"][0], columns["other collection"][0]) == ("old", "new")
    assert columns["n"].tolist() == [30, 30]
    assert columns["n other"].tolist() == [22, 22]
    new = OTHER.values[0]
    expected = [stats.ttest_ind(VALUES[:, i], new[j], equal_var=False).pvalue for i, j in ((1, 1), (2, 0))]
    assert applied.p == pytest.approx(expected)


@pytest.mark.parametrize("test", SAMPLE_TESTS)
def test_every_test_prints_and_becomes_json(test: str) -> None:
    applied = apply_test(SCORES, test=test, resamples=200, **NEEDED.get(test, {}))
    assert len(json.loads(applied.to_json())["rows"]) == 3
    assert "AP" in str(applied)
    again = apply_test(SCORES, test=test, resamples=200, **NEEDED.get(test, {}))
    assert again.to_json() == applied.to_json()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"test": "tost"}, "tost needs the largest difference that does not matter: margin="),
        ({"test": "one-sample-t"}, "one-sample-t compares means with a number; give it: value="),
        ({"test": "unpaired-t", "margin": 0.1}, "margin == 0.1 is a setting of tost, unpaired-tost"),
        ({"test": "tost", "margin": 0.1, "alternative": "less"}, "alternative == 'less' is not a setting of tost"),
        ({"test": "bayesian-t", "correction": "holm"}, "has no p-values"),
        ({"test": "one-sample-t", "value": 0.1, "baseline": "a"}, "compares runs with a number"),
        ({"test": "unpared-t"}, "did you mean 'unpaired-t'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        apply_test(SCORES, **wrong)


def test_collections_need_a_test_that_does_not_match_topics_and_a_common_run() -> None:
    with pytest.raises(UsageError, match="tost cannot compare two collections; use unpaired-t"):
        apply_test({"old": SCORES, "new": OTHER}, test="tost", margin=0.1)
    with pytest.raises(UsageError, match="AP: the two collections have no run in common"):
        apply_test({"old": SCORES.select(runs=["a"]), "new": OTHER}, test="unpaired-t")
