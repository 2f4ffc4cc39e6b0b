"""The one-way analysis and the residuals: scipy, statsmodels, and arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from cranfield.comparison.anova.anova import anova, one_way, two_way
from cranfield.comparison.anova.residuals import residuals
from cranfield.comparison.methods.tukey import tukey
from cranfield.errors import UsageError
from cranfield.report.figures import describe_residuals
from tests.comparison.anova.test_anova import grid, long_frame


@pytest.fixture
def values() -> np.ndarray:
    return np.asarray(np.random.default_rng(4).beta(2, 3, (12, 5)))


def test_the_one_way_analysis_is_that_of_scipy(values: np.ndarray) -> None:
    ours = anova(values, "AP", one_way=True)
    theirs = stats.f_oneway(*values.T)
    assert (ours["system"].f, ours["system"].p) == pytest.approx(tuple(theirs))
    assert ours["error"].df == 12 * 5 - 5
    assert [row.source for row in ours.sources] == ["system", "error", "total"]
    assert ours["system"].f == pytest.approx(one_way(values, "AP")["system"].f)
    assert any("topics are not in the model" in note for note in ours.notes)


def test_tukeys_test_after_the_one_way_analysis_is_that_of_statsmodels(values: np.ndarray) -> None:
    ours = tukey(anova(values, "AP", one_way=True), factor="system")
    theirs = pairwise_tukeyhsd(values.T.ravel(), np.repeat(np.arange(5), 12))
    assert np.sort(ours.p) == pytest.approx(np.sort(theirs.pvalues), abs=1e-4)


def test_one_way_with_two_factors_of_systems_is_that_of_statsmodels() -> None:
    values, table = grid(np.random.default_rng(2))
    ours = anova({r: values[:, i].tolist() for i, r in enumerate(table["run"])}, "AP", factors=table, one_way=True)
    fit = smf.ols("value ~ C(stemmer) + C(model)", long_frame(values, table)).fit()
    assert ours["error"].ss == pytest.approx(fit.ssr)
    assert ours["error"].df == fit.df_resid


def test_one_way_refuses_what_needs_topics(values: np.ndarray) -> None:
    with pytest.raises(UsageError, match="topic"):
        anova(values, "AP", one_way=True, interactions=["topic:system"])


def test_residuals_are_scores_less_the_mean_of_topic_and_system(values: np.ndarray) -> None:
    every = residuals(two_way(values, "AP")).every()
    by_hand = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    assert every["residual"] == pytest.approx(by_hand.ravel())
    assert every["fitted"] == pytest.approx((values - by_hand).ravel())
    assert every["score"] == pytest.approx(values.ravel())
    assert every["topic"][:6].tolist() == ["1", "1", "1", "1", "1", "2"]
    assert every["system"][:3].tolist() == ["run1", "run2", "run3"]


def test_residuals_of_unbalanced_scores_are_those_of_statsmodels(values: np.ndarray) -> None:
    values[2, 3] = values[5, 0] = np.nan
    result = anova(values, "AP")
    table = {"run": [str(i) for i in range(5)], "system": [str(i) for i in range(5)]}
    frame = long_frame(values, table)
    fit = smf.ols("value ~ C(topic) + C(system)", frame).fit()
    assert np.sort(residuals(result).every()["residual"]) == pytest.approx(np.sort(fit.resid.to_numpy()), abs=1e-9)


def test_the_assumptions_are_tested_as_scipy_does(values: np.ndarray) -> None:
    result = residuals(two_way(values, "AP"))
    left = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    levene = stats.levene(*left.T, center="median")
    assert f"F = {levene.statistic:.3f}, p = {levene.pvalue:.4f}" in result.notes[1]
    shapiro = stats.shapiro(left.ravel())
    assert f"W = {shapiro.statistic:.3f}" in result.notes[0]
    assert result.spread == pytest.approx(left.std(axis=0, ddof=1))
    assert result.mean == pytest.approx(values.mean(axis=0))
    assert np.abs(result.largest) == pytest.approx(np.abs(left).max(axis=0))


def test_unequal_spread_is_named() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0.5, [0.01, 0.01, 0.3], (40, 3))
    assert "do not vary alike at all levels of system" in residuals(anova(values, "AP", one_way=True)).notes[1]


def test_normal_quantiles_are_bloms() -> None:
    # Five scores without ties: (i - 0.375) / 5.25 under the normal distribution, by scipy.
    result = residuals(one_way({"a": [0.1, 0.4], "b": [0.2, 0.3, 0.9]}))
    every = result.every()
    order = np.argsort(every["residual"])
    assert every["normal quantile"][order] == pytest.approx(stats.norm.ppf((np.arange(1, 6) - 0.375) / 5.25))


def test_a_nested_factor_has_no_residuals_of_its_own(values: np.ndarray) -> None:
    runs = {f"run{i + 1}": values[:, i].tolist() for i in range(5)}
    systems = {"system": {"run1": "a", "run2": "a", "run3": "b", "run4": "b", "run5": "b"}}
    with pytest.raises(UsageError, match="run is nested in system"):
        residuals(anova(runs, "AP", factors=systems), "run")


def test_the_figures_hold_every_score(values: np.ndarray) -> None:
    result = residuals(two_way(values, "AP"))
    fitted, normal = describe_residuals(result), describe_residuals(result, against="normal")
    assert len(fitted.columns()["residual"]) == values.size
    spread = result.every()["residual"].std(ddof=1)
    line = normal.also["front"]
    assert line["y"] == pytest.approx(spread * line["x"])
    fitted.draw()
    normal.draw()
    assert result.plot().title == fitted.title
