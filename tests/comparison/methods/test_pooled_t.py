"""t tests with the pooled error of an analysis of variance: statsmodels, and how many discoveries are false."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols

from cranfield.comparison import anova, compare, pooled_t, tukey, two_way
from cranfield.comparison.pair_tests import TESTS
from cranfield.errors import UsageError


def matrix(seed: int, topics: int = 12, systems: int = 5, spread: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.beta(2, 4, topics)[:, None] + rng.normal(0, spread, systems) + rng.normal(0, 0.08, (topics, systems))


def columns_of(scores: np.ndarray) -> dict[str, np.ndarray]:
    topics, systems = scores.shape
    names = [f"run{i + 1}" for i in range(systems)]
    return {
        "score": scores.ravel(), "topic": np.repeat([f"t{i}" for i in range(topics)], systems),
        "system": np.tile(names, topics),
    }  # fmt: skip


@pytest.mark.parametrize(("correction", "theirs"), [("bh", "fdr_bh"), ("holm", "holm"), ("none", None)])
def test_every_pair_has_the_p_of_statsmodels(correction, theirs):
    """`t_test_pairwise` of the two-way model: the same t, degrees of freedom and corrected p."""
    scores = matrix(0)
    fit = ols("score ~ C(topic) + C(system)", pd.DataFrame(columns_of(scores))).fit()
    table = fit.t_test_pairwise("C(system)", method=theirs or "holm").result_frame
    expected = table[f"pvalue-{theirs}" if theirs else "P>|t|"].to_numpy()
    result = pooled_t(scores, correction=correction)
    assert result.df == int(fit.df_resid)
    assert result.p == pytest.approx(expected)
    assert -result.statistic == pytest.approx(table["t"].to_numpy())
    by_compare = compare(scores, test="pooled-t", correction=correction, direction="given")
    assert [row["p adjusted"] for row in by_compare.rows()] == pytest.approx(expected)


def test_compare_controls_false_discoveries_by_default():
    scores = matrix(1)
    assert compare(scores, test="anova").correction == "benjamini-hochberg"
    rows = compare(scores, test="pooled-t", direction="given").rows()
    assert [row["p adjusted"] for row in rows] == pytest.approx(pooled_t(scores).p)


def test_it_takes_any_factor_of_an_analysis():
    """Shards as replicates, with the interaction of topics and systems (Faggioli & Ferro 2021), against statsmodels."""
    rng = np.random.default_rng(4)
    parts = {shard: matrix(2) + rng.normal(0, 0.05, (12, 5)) for shard in "abc"}
    analysis = anova(parts, across="shard", interactions=["topic:system"])
    table = {
        name: np.concatenate([columns_of(part)[name] for part in parts.values()]) for name in columns_of(parts["a"])
    }
    table["shard"] = np.repeat(list("abc"), 60)
    coding = "C(topic, Sum) * C(system, Sum) + C(shard, Sum)"
    fit = ols(f"score ~ {coding}", pd.DataFrame(table)).fit()
    result = pooled_t(analysis, correction="none")
    assert result.df == int(fit.df_resid)
    # With effects that sum to 0, the effects of the systems are the first four coefficients of that name.
    effects = [name for name in fit.params.index if name.startswith("C(system, Sum)")]
    contrast = np.zeros((1, len(fit.params)))
    contrast[0, [list(fit.params.index).index(name) for name in effects[:2]]] = 1, -1
    assert result.p[0] == pytest.approx(float(fit.t_test(contrast).pvalue))


@pytest.mark.parametrize("seed", range(6))
def test_intervals_of_means_overlap_exactly_if_systems_do_not_differ(seed):
    result = pooled_t(matrix(seed, systems=12))
    apart = np.abs(result.difference) > 2 * result.half_width
    assert apart.tolist() == result.differ.tolist()
    assert pooled_t(matrix(seed), correction="holm").critical != pooled_t(matrix(seed)).critical


def test_it_finds_more_pairs_than_tukey_and_keeps_the_share_of_false_ones():
    """200 experiments with 8 systems, of which 4 are equal: the mean share of false discoveries is at most 5%."""
    rng = np.random.default_rng(7)
    effects = np.array([0, 0, 0, 0, 0.05, 0.1, 0.15, 0.2])
    shares, found = [], np.zeros(2)
    for _ in range(200):
        scores = rng.beta(2, 4, 20)[:, None] + effects + rng.normal(0, 0.1, (20, 8))
        result = pooled_t(scores)
        equal = effects[result.first] == effects[result.second]
        shares.append((result.differ & equal).sum() / max(result.differ.sum(), 1))
        found += result.differ.sum(), tukey(scores).differ.sum()
    assert np.mean(shares) < 0.05
    assert found[0] > found[1]


def test_equal_systems_and_no_error():
    same = pooled_t(np.tile([[0.2], [0.5], [0.4]], (1, 3)))
    assert same.p.tolist() == [1, 1, 1]
    exact = pooled_t([[0.2, 0.3, 0.3], [0.5, 0.6, 0.6]])
    assert exact.p.round(6).tolist() == [0, 0, 1]


def test_an_unknown_correction_is_refused():
    with pytest.raises(UsageError, match="holm"):
        pooled_t(two_way(matrix(0)), correction="hollm")


def test_every_test_has_one_default_correction():
    """`compare` and the function of the test must agree: bootstrap ANOVA had Holm's here and Benjamini's there."""
    import inspect

    for test in TESTS.values():
        parameters = inspect.signature(test.function).parameters if test.function else {}
        if "correction" in parameters:
            assert parameters["correction"].default == test.correction, test.name
