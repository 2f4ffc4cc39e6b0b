"""Analysis of variance: statsmodels, R's published examples, and the table of Ferro & Maistro 2024."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from cranfield.comparison.anova.anova import anova, one_way, two_way
from cranfield.comparison.anova.factors import from_columns
from cranfield.comparison.anova.model import Model, terms_of
from cranfield.comparison.effects import omega_squared
from cranfield.errors import DataError, UsageError
from cranfield.scores.scores import Scores

PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
"""R's PlantGrowth."""

NPK = {
    "block": [str(b) for b in range(1, 7) for _ in range(4)],
    "N": list("010111000110" + "110010101100"),
    "P": list("110001011100" + "010110010110"),
    "K": list("100101100101" + "011000111010"),
    "yield": [
        *(49.5, 62.8, 46.8, 57.0, 59.8, 58.5, 55.5, 56.0, 62.8, 55.8, 69.5, 55.0),
        *(62.0, 48.8, 45.5, 44.2, 52.0, 51.5, 49.8, 48.8, 57.2, 59.0, 53.2, 56.0),
    ],
}
"""R's npk (Venables & Ripley)."""


def grid(rng: np.random.Generator, topics: int = 7) -> tuple[np.ndarray, dict[str, list[str]]]:
    """Six runs, a stemmer and a model each, on some topics."""
    table = {"run": [f"r{i}" for i in range(6)], "stemmer": ["no", "yes"] * 3, "model": list("aabbcc")}
    values = rng.normal(0.4, 0.1, (topics, 6)) + rng.normal(0, 0.2, (topics, 1)) + [0, 0.05, 0, 0.1, 0.2, 0.1]
    return values, table


def long_frame(values: np.ndarray, table: dict[str, list[str]]) -> pd.DataFrame:
    rows = [
        {"value": x, "topic": f"t{t}", **{name: column[r] for name, column in table.items()}}
        for (t, r), x in np.ndenumerate(values)
        if not math.isnan(x)
    ]
    return pd.DataFrame(rows)


def same(ours: Any, theirs: pd.DataFrame, names: dict[str, str]) -> None:
    """Compare sums of squares, degrees of freedom, F and p of the named rows."""
    for mine, his in names.items():
        row = theirs.loc[his]
        assert ours[mine].ss == pytest.approx(row["sum_sq"], rel=1e-8, abs=1e-10), mine
        assert ours[mine].df == row["df"], mine
        if mine != "error":
            assert ours[mine].f == pytest.approx(row["F"], rel=1e-7), mine
            assert ours[mine].p == pytest.approx(row["PR(>F)"], rel=1e-6, abs=1e-12), mine


# -- published examples


def test_table_1_of_ferro_and_maistro_2024_from_its_sums_of_squares() -> None:
    ss, df = {"topic": 167.9974, "system": 60.0299, "error": 85.3502}, {"topic": 49, "system": 128, "error": 6272}
    ms = {name: ss[name] / df[name] for name in ss}
    assert (round(ms["topic"], 4), round(ms["system"], 4), round(ms["error"], 4)) == (3.4285, 0.4690, 0.0136)
    # F to the digits that sums of squares of four decimals allow.
    assert ms["topic"] / ms["error"] == pytest.approx(251.9463, rel=1e-5)
    assert ms["system"] / ms["error"] == pytest.approx(34.4635, rel=1e-5)
    assert round(omega_squared(251.9463, 49, 129 * 50).value, 4) == 0.6559
    assert round(omega_squared(34.4635, 128, 129 * 50).value, 4) == 0.3991
    # The page prints 313.3375 as the total; its own rows add up to this.
    assert sum(ss.values()) == pytest.approx(313.3775, abs=1e-9)
    assert sum(df.values()) == 6449


def test_plant_growth_as_r_prints_it() -> None:
    result = one_way(PLANTS)["system"]
    # R: anova(lm(weight ~ group, PlantGrowth)): 2 3.7663 1.8832 4.8461 0.01591
    assert (result.df, round(result.ss, 4), round(result.ms, 4)) == (2, 3.7663, 1.8832)
    assert (round(result.f, 4), round(result.p, 5)) == (4.8461, 0.01591)


def test_npk_as_r_prints_it() -> None:
    result = anova(NPK, value="yield", interactions=["N:P", "N:K", "P:K"])
    # R: summary(aov(yield ~ block + N * P * K, npk)); N:P:K is confounded with blocks there and left out.
    printed = {
        "block": (5, 343.3, 4.447, 0.01594),
        "N": (1, 189.3, 12.259, 0.00437),
        "P": (1, 8.4, 0.544, 0.47490),
        "K": (1, 95.2, 6.166, 0.02880),
        "N:P": (1, 21.3, 1.378, 0.26317),
        "N:K": (1, 33.1, 2.146, 0.16865),
        "P:K": (1, 0.5, 0.031, 0.86275),
    }
    for name, (df, ss, f, p) in printed.items():
        row = result[name]
        assert (row.df, round(row.ss, 1), round(row.f, 3), round(row.p, 5)) == (df, ss, f, p), name
    assert (result["error"].df, round(result["error"].ss, 1)) == (12, 185.3)


def test_confounded_terms_are_left_out_with_a_note() -> None:
    result = anova(NPK, value="yield", interactions="N:P:K")
    assert "left out, because other terms explain the same: N:P:K" in result.notes
    assert result["error"].df == 12  # as R's


# -- other tools


def test_one_way_agrees_with_scipy() -> None:
    expected = stats.f_oneway(*PLANTS.values())
    result = one_way(PLANTS)["system"]
    assert (result.f, result.p) == pytest.approx((expected.statistic, expected.pvalue))
    unequal = {"a": [0.1, 0.4, 0.3], "b": [0.5, 0.6, 0.2, 0.9]}
    assert one_way(unequal)["system"].p == pytest.approx(stats.f_oneway(*unequal.values()).pvalue)


def test_two_way_agrees_with_statsmodels(rng: np.random.Generator) -> None:
    values = rng.random((8, 5))
    frame = long_frame(values, {"system": list("abcde")})
    theirs = anova_lm(smf.ols("value ~ C(topic) + C(system)", frame).fit())
    same(two_way(values), theirs, {"topic": "C(topic)", "system": "C(system)", "error": "Residual"})


@pytest.mark.parametrize("holes", [0, 5])
@pytest.mark.parametrize("kind", ["I", "II", "III"])
def test_components_and_interactions_agree_with_statsmodels(rng: np.random.Generator, kind: str, holes: int) -> None:
    values, table = grid(rng)
    values.ravel()[rng.permutation(values.size)[:holes]] = np.nan
    frame = long_frame(values, table)
    formula = "value ~ C(topic, Sum) + C(stemmer, Sum) + C(model, Sum) + C(stemmer, Sum):C(model, Sum)"
    theirs = anova_lm(smf.ols(formula, frame).fit(), typ=("I", "II", "III").index(kind) + 1)
    scores = dict(zip(table["run"], values.T, strict=True))
    ours = anova(scores, factors=table, interactions=["stemmer:model"], type=kind)
    assert ours.type == (kind if holes else "balanced")
    names = {factor: f"C({factor}, Sum)" for factor in ("topic", "stemmer", "model")}
    same(ours, theirs, {**names, "stemmer:model": "C(stemmer, Sum):C(model, Sum)", "error": "Residual"})


def test_shards_are_replicates_of_topics_and_systems(rng: np.random.Generator) -> None:
    parts = {f"s{k}": rng.random((6, 4)) for k in range(3)}
    rows = [
        {"value": x, "topic": f"t{t}", "system": f"y{s}", "shard": shard}
        for shard, part in parts.items()
        for (t, s), x in np.ndenumerate(part)
    ]
    formula = "value ~ C(topic) + C(system) + C(shard) + C(topic):C(system) + C(topic):C(shard) + C(system):C(shard)"
    theirs = anova_lm(smf.ols(formula, pd.DataFrame(rows)).fit())
    ours = anova(parts, across="shard", interactions="all")
    names = {
        name: ":".join(f"C({factor})" for factor in name.split(":")) for name in ("topic", "shard", "topic:system")
    }
    same(ours, theirs, {**names, "topic:shard": "C(topic):C(shard)", "error": "Residual"})


def test_shards_with_missing_scores_by_least_squares(rng: np.random.Generator) -> None:
    parts = {f"s{k}": rng.random((6, 4)) for k in range(3)}
    parts["s1"][2, 3] = np.nan
    frame = pd.DataFrame(
        [
            {"value": x, "topic": f"t{t}", "system": f"y{s}", "shard": shard}
            for shard, part in parts.items()
            for (t, s), x in np.ndenumerate(part)
            if not math.isnan(x)
        ]
    )
    theirs = anova_lm(smf.ols("value ~ C(topic) + C(system) + C(shard) + C(topic):C(system)", frame).fit(), typ=2)
    ours = anova(parts, across="shard", interactions="topic:system")
    names = {"topic": "C(topic)", "system": "C(system)", "shard": "C(shard)", "topic:system": "C(topic):C(system)"}
    same(ours, theirs, {**names, "error": "Residual"})
    assert "1 of 72 scores are undefined and left out" in ours.notes


@pytest.mark.parametrize("seeds", [(3, 3, 3), (2, 3, 4)])
def test_systems_are_tested_against_seeds_nested_in_them(rng: np.random.Generator, seeds: tuple[int, ...]) -> None:
    runs = [(f"sys{s}", f"sys{s}-{i}") for s, count in enumerate(seeds) for i in range(count)]
    values = rng.normal(0.3, 0.1, (5, len(runs))) + rng.normal(0, 0.2, len(runs))  # seeds matter
    table = {"system": {run: system for system, run in runs}}
    ours = anova({run: values[:, i] for i, (_, run) in enumerate(runs)}, factors=table)
    frame = long_frame(values, {"run": [run for _, run in runs], "system": [system for system, _ in runs]})
    additive = smf.ols("value ~ C(topic) + C(run)", frame).fit()
    residual = additive.ssr
    between = smf.ols("value ~ C(topic) + C(system)", frame).fit()
    assert ours.formula == "topic + system + run(system)"
    assert ours["run(system)"].df == len(runs) - len(seeds)
    assert ours["run(system)"].ss == pytest.approx(between.ssr - residual)
    assert ours["error"].ss == pytest.approx(residual)
    # Seeds are a sample, so systems are tested against seeds, not against single scores.
    assert ours["system"].against == "run(system)"
    assert ours["system"].f == pytest.approx(ours["system"].ms / ours["run(system)"].ms)
    assert ours["system"].p == pytest.approx(stats.f.sf(ours["system"].f, len(seeds) - 1, len(runs) - len(seeds)))


def test_systems_are_tested_against_the_residual_if_seeds_do_not_matter(rng: np.random.Generator) -> None:
    values = np.repeat(rng.random((6, 3)), 2, axis=1) + rng.normal(0, 1e-6, (6, 6))
    result = anova(values, factors={"run": [f"run{i}" for i in range(1, 7)], "system": list("aabbcc")})
    # If all seeds were equal, any difference would be significant.
    assert result["system"].against == "error"
    assert result["system"].f == pytest.approx(result["system"].ms / result["error"].ms)
    assert "run(system) varies no more than the error, so system is tested against the error" in result.notes


def test_seeds_crossed_with_systems_are_a_separate_factor(rng: np.random.Generator) -> None:
    table = {"run": [f"r{i}" for i in range(6)], "system": list("aabbcc"), "seed": list("121212")}
    ours = anova(dict(zip(table["run"], rng.random((6, 5)), strict=True)), factors=table)
    assert ours.formula == "topic + system + seed"
    assert [ours[name].df for name in ("topic", "system", "seed", "error")] == [4, 2, 1, 22]


def test_collections_are_tested_against_topics_nested_in_them(rng: np.random.Generator) -> None:
    # Topics 1 to 5 are different ones in each collection.
    parts = {name: rng.random((n, 3)) + rng.normal(0, 1, (n, 1)) for name, n in (("old", 5), ("new", 8))}
    ours = anova(parts, across="collection", interactions="system:collection")
    rows = [
        {"value": x, "topic": f"{name}{t}", "system": f"s{s}", "collection": name}
        for name, part in parts.items()
        for (t, s), x in np.ndenumerate(part)
    ]
    frame = pd.DataFrame(rows)
    cells = frame.assign(cell=frame["system"] + frame["collection"])[["topic", "cell"]]
    design = pd.get_dummies(cells).to_numpy(float)
    beta, _, rank, _ = np.linalg.lstsq(design, frame["value"].to_numpy(), rcond=None)
    residual = frame["value"] - design @ beta
    assert ours["error"].ss == pytest.approx((residual**2).sum())
    assert ours["error"].df == len(frame) - rank == (13 - 2) * 2
    assert ours["topic(collection)"].df == 11
    assert ours["collection"].against == "topic(collection)"


@pytest.mark.parametrize("kind", ["I", "II", "III"])
def test_least_squares_agree_with_the_sums_of_a_balanced_layout(rng: np.random.Generator, kind: str) -> None:
    columns = {
        name: part.ravel().astype(str).tolist() for name, part in zip("abcd", np.indices((4, 3, 2, 2)), strict=True)
    }
    layout = from_columns({"y": rng.random(48), **columns}, "y", None, {"d": "b"})
    model = Model(layout, terms_of(layout, ["a:b", "b:c", "a:c"]))
    assert layout.balanced
    balanced, fitted = model._balanced(), model._least_squares(kind)
    assert balanced.ss == pytest.approx(fitted.ss)
    assert balanced.df == fitted.df
    assert (balanced.error_ss, balanced.error_df) == (pytest.approx(fitted.error_ss), fitted.error_df)


# -- means of levels


def test_means_of_a_balanced_factor(rng: np.random.Generator) -> None:
    values, table = grid(rng)
    ours = anova(dict(zip(table["run"], values.T, strict=True)), factors=table, interactions="stemmer:model")
    columns = ours.means("stemmer").columns()
    assert columns["stemmer"].tolist() == ["no", "yes"]
    assert columns["mean"] == pytest.approx([values[:, ::2].mean(), values[:, 1::2].mean()])
    assert columns["n"].tolist() == [21, 21]
    half = stats.t.ppf(0.975, ours["error"].df) * math.sqrt(ours["error"].ms / 21)
    assert columns["high"] - columns["mean"] == pytest.approx([half, half])
    joint = ours.means("stemmer", "model").columns()
    assert list(joint)[:2] == ["stemmer", "model"]
    assert joint["mean"][0] == pytest.approx(values[:, 0].mean())


def test_means_of_unbalanced_scores_are_least_squares_means(rng: np.random.Generator) -> None:
    values = rng.random((6, 3))
    values[0, 0] = values[4, 1] = np.nan
    frame = long_frame(values, {"system": list("abc")})
    fit = smf.ols("value ~ C(topic) + C(system)", frame).fit()
    every = pd.DataFrame([{"topic": f"t{t}", "system": s} for s in "abc" for t in range(6)])
    expected = fit.predict(every).to_numpy().reshape(3, 6).mean(axis=1)
    means = anova({name: values[:, i] for i, name in enumerate("abc")}).means("system")
    assert means.mean == pytest.approx(expected)
    # The standard error of a level's mean is that of the mean of its six predictions: l' (X'X)^-1 l.
    whole = pd.concat([frame[["topic", "system"]], every])
    design = np.column_stack([np.ones(len(whole)), pd.get_dummies(whole, drop_first=True).to_numpy(float)])
    x, line = design[: len(frame)], design[len(frame) :].reshape(3, 6, -1).mean(axis=1)
    variance = np.diag(line @ np.linalg.inv(x.T @ x) @ line.T) * fit.mse_resid
    assert means.high - means.mean == pytest.approx(stats.t.ppf(0.975, fit.df_resid) * np.sqrt(variance))


# -- rejection rate


def test_the_f_test_rejects_a_true_null_hypothesis_at_alpha() -> None:
    rng = np.random.default_rng(1)
    p = np.array([two_way(rng.normal(size=(10, 4)))["system"].p for _ in range(400)])
    # 400 trials at 0.05: 20 ± 2.6 standard errors of 4.36.
    assert 9 <= (p <= 0.05).sum() <= 31


# -- output


def test_every_output_format_has_the_same_content(rng: np.random.Generator) -> None:
    result = two_way(rng.random((5, 3)), "AP")
    rows = json.loads(result.to_json())["rows"]
    assert [row["source"] for row in rows] == ["topic", "system", "error", "total"]
    assert rows[1]["f"] == result["system"].f
    assert rows[2]["f"] is None
    assert result.to_pandas()["ss"].tolist() == [row["ss"] for row in rows]
    assert "\\caption{AP: topic + system, 15 scores}" in result.to_latex()
    assert "<table>" in result._repr_html_()
    assert result.table().csv().splitlines()[0] == "source,SS,df,MS,F,p,ω²,size"
    assert "system" in result.sentence()


def test_scores_frames_and_arrays_give_the_same_table(rng: np.random.Generator) -> None:
    values = rng.random((5, 3))
    scores = Scores.from_matrix(values, runs=["a", "b", "c"], measure="AP")
    expected = pytest.approx(two_way(values)["system"].f, rel=1e-12)  # the tables may be added in another order
    assert two_way(scores, "AP")["system"].f == expected
    assert two_way(scores.to_pandas())["system"].f == expected
    assert two_way({run: values[:, i] for i, run in enumerate("abc")})["system"].f == expected


# -- bad input


def test_identical_systems_have_f_0(rng: np.random.Generator) -> None:
    result = two_way(np.repeat(rng.random((6, 1)), 3, axis=1))
    assert (result["system"].f, result["system"].p) == (0.0, 1.0)
    assert result["system"].effect is not None
    assert result["system"].effect.value == 0.0


def test_constant_scores_have_f_0_and_p_1() -> None:
    result = two_way(np.full((4, 3), 0.3))
    assert (result["system"].p, result["topic"].p) == (1.0, 1.0)
    assert "all scores are the same: F = 0 and p = 1" in result.notes


def test_scores_without_error_variance() -> None:
    result = two_way(np.arange(4)[:, None] * 0.1 + np.arange(3) * 0.2)
    assert (result["system"].f, result["system"].p) == (math.inf, 0.0)
    assert any("there is no error variance" in note for note in result.notes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_way([[0.1, 0.2]]), "1 topic"),
        (lambda: two_way([[0.1], [0.2]]), "1 system"),
        (lambda: two_way(np.full((3, 2), np.nan)), "no topic has a score"),
        (lambda: anova(np.eye(3), interactions="topic:system"), "no degrees of freedom are left for the error"),
        (lambda: anova(np.eye(3), interactions="topic:sytem"), "no factor 'sytem'; did you mean 'system'"),
        (lambda: anova(np.eye(3), interactions="topic"), "must join two factors"),
        (lambda: anova(np.eye(3), type="IV"), "must be one of 'I', 'II', 'III'"),
        (lambda: anova(np.eye(3), factors={"stemmer": {"run1": "x"}}), "no level for run2, run3"),
        (lambda: anova(np.eye(3), nested={"topic": "colection"}), "no factor 'colection'"),
        (lambda: anova(np.eye(3), across="shard"), "must be {shard: scores}"),
        (lambda: anova({"x": [1.0, 2.0]}, value="y"), "no column 'y'"),
        (lambda: two_way(np.eye(3)).means("stemmer"), "no factor 'stemmer'"),
    ],
)
def test_bad_input_raises_an_error(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert message in str(error.value)


def test_a_table_of_factors_from_a_file(tmp_path: Any, rng: np.random.Generator) -> None:
    values, table = grid(rng)
    path = tmp_path / "factors.csv"
    path.write_text("run,stemmer,model\n" + "\n".join(map(",".join, zip(*table.values(), strict=True))))
    scores = dict(zip(table["run"], values.T, strict=True))
    assert anova(scores, factors=path)["model"].f == anova(scores, factors=table)["model"].f
    path.write_text("run,stemmer\nr0\n")
    with pytest.raises(DataError, match=r"factors.csv:2: 1 column, expected 2"):
        anova(scores, factors=path)


def test_a_factor_that_does_not_vary_is_left_out(rng: np.random.Generator) -> None:
    table = {"run": ["run1", "run2"], "system": ["a", "b"], "stemmer": ["no", "no"]}
    assert "stemmer left out: its only level is no" in anova(rng.random((4, 2)), factors=table).notes


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)
