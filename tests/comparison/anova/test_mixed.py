"""Mixed models: the mixed linear model of statsmodels, and the analysis of variance where they must agree."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from cranfield.comparison.anova.anova import anova, two_way
from cranfield.comparison.anova.mixed import Component, FixedTest, MixedAnova, mixed
from cranfield.comparison.methods.tukey import scheffe, tukey
from cranfield.errors import UsageError


def scores(missing: int = 0, topics: int = 12, systems: int = 4, spread: float = 0.15) -> np.ndarray:
    rng = np.random.default_rng(5)
    values = rng.normal(0.4, 0.08, (topics, systems)) + rng.normal(0, spread, (topics, 1)) + 0.03 * np.arange(systems)
    values.ravel()[rng.permutation(values.size)[:missing]] = math.nan
    return values


def shards(missing: int = 0) -> pd.DataFrame:
    """Topics × systems × 3 shards, where systems do better on some topics than on others."""
    rng = np.random.default_rng(2)
    effect = rng.normal(0, 0.2, (10, 1, 1)) + rng.normal(0, 0.1, (10, 4, 1)) + np.array([0, 0.05, 0.1, 0.3])[:, None]
    values = rng.normal(0.5, 0.05, (10, 4, 3)) + effect
    rows = [
        {"value": x, "topic": f"t{t}", "system": f"s{s}", "shard": f"p{k}"} for (t, s, k), x in np.ndenumerate(values)
    ]
    return pd.DataFrame(rows).drop(rng.permutation(len(rows))[:missing]).reset_index(drop=True)


def statsmodels_fit(frame: pd.DataFrame, formula: str, **options: Any) -> Any:
    return smf.mixedlm(formula, frame, groups="topic", **options).fit(reml=True, method="bfgs")


def long_frame(values: np.ndarray) -> pd.DataFrame:
    rows = [
        {"value": x, "topic": f"t{t:02}", "system": f"run{s + 1}"}
        for (t, s), x in np.ndenumerate(values)
        if not math.isnan(x)
    ]
    return pd.DataFrame(rows)


def test_of(result: MixedAnova, source: str) -> FixedTest:
    row = result[source]
    assert isinstance(row, FixedTest)
    return row


def variance_of(result: MixedAnova, source: str) -> float:
    row = result[source]
    assert isinstance(row, Component)
    return row.variance


test_of.__test__ = False  # type: ignore[attr-defined]


# -- balanced scores: the analysis of variance


def test_balanced_scores_have_the_f_test_of_the_two_way_analysis() -> None:
    ours, theirs = test_of(mixed(scores()), "system"), two_way(scores())["system"]
    assert (ours.f, ours.p) == pytest.approx((theirs.f, theirs.p), rel=1e-9)
    assert (ours.df, ours.df_error) == (3, 33)


def test_balanced_scores_have_the_components_of_the_expected_mean_squares() -> None:
    # E(MS topic) = σ² + k σ²_topic; E(MS error) = σ².
    result, table = mixed(scores()), two_way(scores())
    assert variance_of(result, "error") == pytest.approx(table["error"].ms, rel=1e-9)
    assert variance_of(result, "topic") == pytest.approx((table["topic"].ms - table["error"].ms) / 4, rel=1e-9)


@pytest.mark.parametrize("test", [tukey, scheffe])
def test_balanced_scores_have_the_pairs_of_the_two_way_analysis(test: Any) -> None:
    ours, theirs = test(mixed(scores())), test(two_way(scores()))
    np.testing.assert_allclose(ours.p, theirs.p, rtol=1e-7)
    np.testing.assert_allclose(ours.low, theirs.low, rtol=1e-7)
    assert (ours.df, ours.critical) == (33, pytest.approx(theirs.critical))


def test_balanced_scores_with_repetitions_test_systems_against_their_interaction_with_topics() -> None:
    # Balanced: F = MS system / MS topic:system, with 3 and 27 degrees of freedom.
    columns = shards().to_dict("list")
    options: dict[str, Any] = {"factors": ["topic", "system"], "interactions": ["topic:system"], "value": "value"}
    table, result = anova(columns, **options), mixed(columns, **options)
    ours, f = test_of(result, "system"), table["system"].ms / table["topic:system"].ms
    assert (ours.f, ours.df, ours.df_error) == (pytest.approx(f, rel=1e-8), 3, 27)
    assert ours.p == pytest.approx(stats.f.sf(f, 3, 27), rel=1e-7)
    between = (table["topic:system"].ms - table["error"].ms) / 3
    assert variance_of(result, "topic:system") == pytest.approx(between, rel=1e-8)


def test_the_interval_of_a_mean_holds_for_other_topics() -> None:
    # Balanced: the variance of a mean over n topics is (σ²_topic + σ²) / n; t with n − 1 degrees of freedom.
    result = mixed(scores())
    means = result.means("system")
    error = math.sqrt((variance_of(result, "topic") + variance_of(result, "error")) / 12)
    np.testing.assert_allclose(means.mean, scores().mean(axis=0))
    np.testing.assert_allclose(means.high - means.mean, stats.t.ppf(0.975, 11) * error)
    assert (
        means.high - means.low > two_way(scores()).means("system").high - two_way(scores()).means("system").low
    ).all()


# -- missing scores: statsmodels


def test_missing_scores_as_in_statsmodels() -> None:
    values = scores(missing=9)
    result, theirs = mixed(values), statsmodels_fit(long_frame(values), "value ~ 0 + C(system)")
    assert variance_of(result, "topic") == pytest.approx(float(theirs.cov_re.iloc[0, 0]), rel=1e-4)
    assert variance_of(result, "error") == pytest.approx(theirs.scale, rel=1e-4)
    np.testing.assert_allclose(result.means("system").mean, theirs.fe_params, rtol=1e-6)
    # Wald's F with the covariance (X' V⁻¹ X)⁻¹ for the variances that statsmodels estimates.
    frame = long_frame(values)
    x, z = (pd.get_dummies(frame[name]).to_numpy(dtype=float) for name in ("system", "topic"))
    v = float(theirs.cov_re.iloc[0, 0]) * z @ z.T + theirs.scale * np.eye(len(frame))
    beta, covariance = theirs.fe_params.to_numpy(), np.linalg.inv(x.T @ np.linalg.solve(v, x))
    contrast = np.hstack([np.eye(3), -np.ones((3, 1))])
    wald = contrast @ beta @ np.linalg.solve(contrast @ covariance @ contrast.T, contrast @ beta)
    ours = test_of(result, "system")
    assert (ours.f, ours.df, ours.df_error) == (pytest.approx(wald / 3, rel=1e-5), 3, 48 - 9 - 12 - 3)
    pairs = tukey(result)
    error = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert pairs.statistic[0] == pytest.approx((beta[0] - beta[1]) / error * math.sqrt(2), rel=1e-5)


@pytest.mark.filterwarnings("ignore:The MLE may be on the boundary")
def test_missing_repetitions_as_in_statsmodels() -> None:
    frame = shards(missing=25)
    options: dict[str, Any] = {"factors": ["topic", "system"], "interactions": ["topic:system"], "value": "value"}
    result = mixed(frame.to_dict("list"), **options)
    theirs = statsmodels_fit(frame, "value ~ 0 + C(system)", re_formula="1", vc_formula={"system": "0 + C(system)"})
    assert variance_of(result, "topic") == pytest.approx(float(theirs.cov_re.iloc[0, 0]), rel=1e-3)
    assert variance_of(result, "topic:system") == pytest.approx(float(theirs.vcomp[0]), rel=1e-3)
    assert variance_of(result, "error") == pytest.approx(theirs.scale, rel=1e-3)
    np.testing.assert_allclose(result.means("system").mean, theirs.fe_params[:4], rtol=1e-4)


def test_two_fixed_factors_as_in_statsmodels() -> None:
    values = scores(missing=7, systems=6)
    table = {"run": [f"r{i}" for i in range(6)], "stemmer": ["no", "yes"] * 3, "model": list("aabbcc")}
    data = {run: values[:, i] for i, run in enumerate(table["run"])}
    result = mixed(data, factors=table, interactions=["stemmer:model"])
    frame = long_frame(values)
    number = frame["system"].str[3:].astype(int) - 1
    frame["stemmer"], frame["model"] = (np.array(table[name])[number] for name in ("stemmer", "model"))
    full = statsmodels_fit(frame, "value ~ C(stemmer) * C(model)")
    names = [name for name in full.fe_params.index if ":" in name]
    beta, covariance = full.fe_params[names], full.cov_params().loc[names, names]
    assert test_of(result, "stemmer:model").f == pytest.approx(beta @ np.linalg.solve(covariance, beta) / 2, rel=1e-3)
    assert variance_of(result, "topic") == pytest.approx(float(full.cov_re.iloc[0, 0]), rel=1e-3)
    assert [test.source for test in result.tests] == ["stemmer", "model", "stemmer:model"]


def test_the_likelihood_is_highest_at_the_estimates() -> None:
    # Brute force: the restricted likelihood with dense matrices, Patterson & Thompson 1971.
    values = scores(missing=9)
    frame, result = long_frame(values), mixed(values)
    x, z = (pd.get_dummies(frame[name]).to_numpy(dtype=float) for name in ("system", "topic"))
    y = frame["value"].to_numpy()

    def likelihood(topic: float, error: float) -> float:
        v = topic * z @ z.T + error * np.eye(len(y))
        inverse = np.linalg.inv(v)
        fixed = x.T @ inverse @ x
        left = y - x @ np.linalg.solve(fixed, x.T @ inverse @ y)
        return -0.5 * float(np.linalg.slogdet(v)[1] + np.linalg.slogdet(fixed)[1] + left @ inverse @ left)

    topic, error = variance_of(result, "topic"), variance_of(result, "error")
    best = likelihood(topic, error)
    for factor in (0.9, 0.999, 1.001, 1.1):
        assert likelihood(topic * factor, error) < best
        assert likelihood(topic, error * factor) < best


# -- edges


def test_a_component_that_would_be_negative_is_0() -> None:
    # Topics vary less than the error: each has the same mean.
    values = scores(spread=0.0)
    values -= values.mean(axis=1, keepdims=True)
    result = mixed(values)
    assert variance_of(result, "topic") == 0.0
    # Then the scores are those of independent samples: the one-way analysis.
    f = stats.f_oneway(*values.T).statistic
    assert test_of(result, "system").f == pytest.approx(f, rel=1e-9)
    assert "estimated as 0" in result.notes[0]


def test_runs_of_a_system_are_a_random_term() -> None:
    runs = {"system": {"run1": "a", "run2": "a", "run3": "b", "run4": "b"}}
    result = mixed(scores(), factors=runs)
    assert [part.source for part in result.components] == ["topic", "run(system)", "error"]
    assert test_of(result, "system").df_error == 2


def test_only_random_factors_leave_the_components() -> None:
    result = mixed(scores(), random=["topic", "system"])
    assert result.tests == ()
    table = two_way(scores())
    assert variance_of(result, "system") == pytest.approx((table["system"].ms - table["error"].ms) / 12, rel=1e-7)


def test_levels_of_a_random_factor_are_not_compared() -> None:
    for call in (lambda r: tukey(r, factor="topic"), lambda r: r.means("topic")):
        with pytest.raises(UsageError, match="topic: only fixed factors have levels to compare \\(system\\)"):
            call(mixed(scores()))


def test_scores_without_error_have_no_variance_to_estimate() -> None:
    with pytest.raises(UsageError, match="explain every score"):
        mixed([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])


def test_unknown_factors_and_types_are_errors() -> None:
    with pytest.raises(UsageError, match="topic"):
        mixed(scores(), random="topics")
    with pytest.raises(UsageError, match="type == 'III'"):
        mixed(scores(), type="III")
    with pytest.raises(UsageError, match="must name a factor"):
        mixed(scores(), random=[])


def test_the_record_is_a_table_json_and_a_sentence() -> None:
    result = mixed(scores(), "AP")
    data = json.loads(result.to_json())
    assert (data["model"], data["random"], data["n"]) == ("system + random topic", ["topic"], 48)
    assert [row["source"] for row in data["rows"]] == ["system", "topic", "error"]
    assert data["rows"][1]["f"] is None
    assert result.sentence().startswith("system: p = ")
    assert "of the variance" in str(result["topic"])
    assert math.fsum(part.share for part in result.components) == pytest.approx(1)


def test_variances_that_did_not_converge_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("converge" in note for note in mixed(scores()).notes)
    module = sys.modules["cranfield.comparison.anova.mixed"]  # the package has a function of this name
    monkeypatch.setattr(module, "_minimised", lambda equations, n: np.array([40.0]))
    assert any("did not converge" in note for note in mixed(scores()).notes)


def test_topics_that_dwarf_the_error_do_not_converge() -> None:
    # Topics vary a million times as much as the error, and scores are missing: no digits are left to tell the two
    # apart. In most of these data the optimiser stops early, and it is said.
    said = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.normal(0, 1e6, (10, 1)) + rng.normal(0, 1, (10, 4)) + np.arange(4)
        y[0, 0] = y[3, 2] = y[5, 1] = np.nan
        said += any("did not converge" in note and "standardise" in note for note in mixed(y).notes)
    assert said >= 3


def test_random_factors_that_cannot_be_told_apart() -> None:
    level = np.arange(20) % 5
    data = {"y": np.random.default_rng(0).normal(size=20), "user": level, "topic": level + 10, "system": level % 2}
    with pytest.raises(UsageError, match="each user has one topic, and each topic one user"):
        mixed(data, value="y", random=["user", "topic"])
    both = {"y": data["y"], "user": np.arange(20) // 10, "topic": level, "system": np.arange(20) // 10}
    with pytest.raises(UsageError, match="each user has one system, and each system one user"):
        mixed(both, value="y", random="user")


def test_of_two_factors_that_explain_the_same_one_is_kept() -> None:
    level = np.arange(20) % 5
    data = {"y": np.random.default_rng(0).normal(size=20), "user": level, "topic": level, "system": np.arange(20) // 10}
    alone = {name: column for name, column in data.items() if name != "topic"}
    assert anova(data, value="y")["system"].f == pytest.approx(anova(alone, value="y")["system"].f)
    assert "left out, because other terms explain the same: topic" in anova(data, value="y").notes


def test_shards_without_a_topic_in_common() -> None:
    parts = {"1": {"a": {"x": 0.1, "y": 0.2}, "b": {"x": 0.3, "y": 0.1}}, "2": {"a": {"z": 0.1}, "b": {"z": 0.3}}}
    with pytest.raises(UsageError, match=r"no topic is in both '1' and '2': .*; use fewer shards"):
        mixed(parts, across="shard")
