"""Bootstrap analysis of variance: a slow version, the normal theory, and bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from cranfield.comparison.anova.anova import anova, two_way
from cranfield.comparison.compare import compare
from cranfield.comparison.data import Matrix
from cranfield.comparison.methods.anova_bootstrap import bootstrap_anova
from cranfield.comparison.pair_tests import TESTS, TestSettings
from cranfield.errors import UsageError


def slowly(scores: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """p of all pairs, by loops: residuals are added to the fitted scores and the means are computed again."""
    topics, systems = scores.shape
    fitted = scores.mean(axis=1, keepdims=True) + scores.mean(axis=0) - scores.mean()
    residuals = (scores - fitted) * math.sqrt(scores.size / ((topics - 1) * (systems - 1)))
    rng = np.random.default_rng(seed)
    observed = scores.mean(axis=0)
    pairs = [(u, v) for u in range(systems) for v in range(u + 1, systems)]
    hits = np.zeros(len(pairs))
    for picks in rng.integers(0, scores.size, (resamples, scores.size), dtype=np.int32):
        again = fitted + residuals.ravel()[picks].reshape(systems, topics).T
        mean = again.mean(axis=0)
        for i, (u, v) in enumerate(pairs):
            d = observed[u] - observed[v]
            hits[i] += abs(mean[u] - mean[v] - d) >= abs(d) * (1 - 1e-9)
    return np.asarray((1 + hits) / (1 + resamples))


def test_a_loop_in_python_counts_the_same(scores: np.ndarray) -> None:
    assert bootstrap_anova(scores, resamples=300, seed=3).p.tolist() == slowly(scores, 300, 3).tolist()


def test_normal_errors_give_what_the_normal_theory_does(scores: np.ndarray) -> None:
    result = bootstrap_anova(scores, resamples=4000)
    error = two_way(scores)["error"]
    t = result.difference / math.sqrt(2 * error.ms / len(scores))
    # 4,000 resamples: standard error of p at most 0.008.
    assert result.p == pytest.approx(2 * stats.t.sf(np.abs(t), error.df), abs=0.03)
    half = stats.t.isf(0.025, error.df) * math.sqrt(2 * error.ms / len(scores))
    assert (result.high - result.low) / 2 == pytest.approx(np.full(len(result.p), half), rel=0.08)
    assert (result.error, result.df) == (pytest.approx(error.ms), error.df)


def test_shards_remove_the_interaction_from_the_error(scores: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    taste = rng.normal(0, 0.2, scores.shape)  # the interaction of systems and topics
    parts = {f"s{i}": scores + taste + rng.normal(0, 0.05, scores.shape) for i in range(4)}
    result = bootstrap_anova(parts, shards=True, resamples=500)
    full = anova(parts, across="shard", interactions="topic:system")
    # Shards are not a term of the model, so their sum of squares is in the error.
    ss, df = (sum(getattr(full[name], what) for name in ("error", "shard")) for what in ("ss", "df"))
    assert result.df == df
    assert result.error == pytest.approx(ss / df)
    whole = bootstrap_anova(np.mean(list(parts.values()), axis=0), resamples=500)
    assert (result.high - result.low).mean() < 0.6 * (whole.high - whole.low).mean()
    assert result.differ.sum() >= whole.differ.sum()


def test_benjamini_and_hochberg_control_false_discoveries(scores: np.ndarray) -> None:
    result = bootstrap_anova(scores, resamples=500)
    assert result.adjusted == pytest.approx(multipletests(result.p, method="fdr_bh")[1])
    assert bootstrap_anova(scores, resamples=500, correction="none").adjusted.tolist() == result.p.tolist()


def test_a_true_null_hypothesis_is_rejected_at_alpha() -> None:
    rng = np.random.default_rng(2)
    p = [bootstrap_anova(rng.exponential(size=(20, 3)), resamples=199, seed=i).p[0] for i in range(400)]
    # 400 trials at 0.05: 20, standard error 4.36.
    assert 9 <= sum(value <= 0.05 for value in p) <= 31


def test_the_engine_agrees_with_the_function(scores: np.ndarray) -> None:
    first, second = np.triu_indices(scores.shape[1], 1)
    test = TESTS.find("banova")
    assert test.resampling
    result = test.run(Matrix.of(scores), first, second, TestSettings(resamples=200, seed=5))
    expected = bootstrap_anova(scores, resamples=200, seed=5)
    assert result.p.tolist() == expected.p.tolist()
    assert result.low == pytest.approx(expected.low, rel=1e-12)  # the means are summed in another order
    greater = test.run(Matrix.of(scores), first, second, TestSettings(alternative="greater", resamples=200, seed=5))
    less = test.run(Matrix.of(scores), first, second, TestSettings(alternative="less", resamples=200, seed=5))
    # Every resample counts in one of the two directions (there are no ties).
    assert greater.p + less.p == pytest.approx(np.full(len(first), (200 + 2) / 201))


def test_a_seed_fixes_the_result_and_progress_is_reported(scores: np.ndarray) -> None:
    steps: list[tuple[int, int]] = []
    result = bootstrap_anova(scores, resamples=150, progress=lambda done, total: steps.append((done, total)))
    assert result.p.tolist() == bootstrap_anova(scores, resamples=150).p.tolist()
    assert result.p.tolist() != bootstrap_anova(scores, resamples=150, seed=1).p.tolist()
    assert steps[-1] == (150, 150)


def test_every_input_format_gives_the_same_result(scores: np.ndarray) -> None:
    result = bootstrap_anova(scores, "AP", resamples=100)
    assert str(result).startswith("AP: ")
    assert result.to_pandas()["adjusted"].tolist() == result.adjusted.tolist()
    assert "tabular" in result.to_latex()
    assert "<table>" in result._repr_html_()


def test_identical_systems_do_not_differ(scores: np.ndarray) -> None:
    result = bootstrap_anova(np.repeat(scores[:, :1], 3, axis=1), resamples=100)
    assert result.p.tolist() == [1.0, 1.0, 1.0]


def test_topics_missing_from_a_shard_are_left_out(scores: np.ndarray) -> None:
    hole = scores.copy()
    hole[2, 1] = np.nan
    result = bootstrap_anova({"a": scores, "b": hole}, shards=True, resamples=50)
    assert result.topics == len(scores) - 1
    assert f"1 of {len(scores)} topics left out: a score is missing somewhere (3)" in result.notes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_anova([[0.1, 0.2]]), "1 topic"),
        (lambda: bootstrap_anova([[0.1], [0.2]]), "1 system"),
        (lambda: bootstrap_anova(np.eye(3), resamples=0), "resamples == 0"),
        (lambda: bootstrap_anova(np.eye(3), alpha=1), "alpha == 1"),
        (lambda: bootstrap_anova(np.eye(3), correction="bonferoni"), "bonferroni"),
        (lambda: bootstrap_anova(np.eye(3), shards=True), "2 or more shards"),
        (lambda: bootstrap_anova({"a": np.eye(3), "b": np.eye(3)[:, :2]}, shards=True), "other systems"),
    ],
)
def test_bad_input_raises_an_error(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert message in str(error.value)


@pytest.fixture
def scores() -> np.ndarray:
    rng = np.random.default_rng(11)
    return rng.normal(0.3, 0.1, (25, 5)) + rng.normal(0, 0.2, (25, 1)) + np.array([0, 0.02, 0.03, 0.08, 0.12])


def test_an_interrupted_test_keeps_the_finished_resamples(scores: np.ndarray) -> None:
    def progress(done: int, total: int) -> None:
        raise KeyboardInterrupt

    kept = bootstrap_anova(np.tile(scores, (40, 1)), resamples=200_000, progress=progress)
    assert 100 <= kept.resamples < 200_000
    assert f"interrupted after {kept.resamples:,} of 200,000 resamples" in kept.notes
    again = bootstrap_anova(np.tile(scores, (40, 1)), resamples=kept.resamples)
    assert kept.p.tolist() == again.p.tolist()
    assert kept.low == pytest.approx(again.low, rel=1e-12)  # products of matrices of other sizes


def test_more_resamples_than_memory_holds_raise_an_error(scores: np.ndarray) -> None:
    with pytest.raises(UsageError, match=r"resamples == 100000000, must be at most [\d,]+ for \d systems"):
        bootstrap_anova(scores, resamples=100_000_000)
    with pytest.raises(UsageError, match="seed == -1, must be a whole number"):
        bootstrap_anova(scores, seed=-1)


def test_compare_finds_the_pairs_that_the_function_finds_with_many_systems() -> None:
    """With Holm's correction of 120 pairs and 1,000 resamples no p could be small enough: 120/1001 is above 0.05."""
    rng = np.random.default_rng(3)
    scores = rng.beta(2, 4, 20)[:, None] + np.linspace(0, 0.4, 16) + rng.normal(0, 0.05, (20, 16))
    result = compare(scores, test="bootstrap-anova", resamples=1_000)
    assert result.correction == "benjamini-hochberg"
    found = sum(bool(row["significant"]) for row in result.rows())
    assert found == int(bootstrap_anova(scores, resamples=1_000).differ.sum())
    assert found > 60
