"""The analysis of an experiment, beside tea-tasting, statsmodels and scipy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tea_tasting as tt
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.online.engines import Engine
from cranfield.online.experiments.ab_analysis import analyse
from cranfield.online.experiments.ab_record import Analysis, EffectRow, percent
from cranfield.online.experiments.arm_effects import ArmEffect, relative_interval, share_effect, welch_effect
from cranfield.online.experiments.experiment_power import ab_power
from cranfield.online.experiments.random_splits import aa_splits
from tests.online.experiments.data import users

MANY = ["revenue", "clicks/impressions", "share(bought)", "p90(latency)"]


def rows(result: Analysis) -> dict[str, EffectRow]:
    return {row.metric: row for row in result.rows}


def tea(frame: pd.DataFrame, **metrics: Any) -> Any:
    return tt.Experiment(metrics, variant="arm").analyze(frame, control="A")


@pytest.mark.peers
def test_means_are_those_of_tea_tasting_and_scipy() -> None:
    frame = users(effect=0.1)
    ours = rows(analyse(frame, "revenue", relative="delta"))["revenue"].effect
    theirs = tea(frame, revenue=tt.Mean("revenue"))["revenue"]
    assert (ours.control, ours.treatment) == (pytest.approx(theirs.control), pytest.approx(theirs.treatment))
    assert (ours.difference, ours.low, ours.high) == pytest.approx(
        (theirs.effect_size, theirs.effect_size_ci_lower, theirs.effect_size_ci_upper)
    )
    assert (ours.p, ours.statistic) == pytest.approx((theirs.pvalue, theirs.statistic))
    assert ours.relative == pytest.approx(theirs.rel_effect_size)
    split = [frame.loc[frame["arm"] == arm, "revenue"] for arm in "BA"]
    welch = stats.ttest_ind(*split, equal_var=False)
    interval = welch.confidence_interval()
    assert (ours.p, ours.df, ours.low, ours.high) == pytest.approx(
        (welch.pvalue, welch.df, interval.low, interval.high)
    )


@pytest.mark.peers
def test_ratios_are_those_of_tea_tasting() -> None:
    frame = users(effect=0.1)
    ours = rows(analyse(frame, "clicks/impressions"))["clicks/impressions"].effect
    theirs = tea(frame, ctr=tt.RatioOfMeans("clicks", "impressions"))["ctr"]
    assert (ours.difference, ours.low, ours.high, ours.p) == pytest.approx(
        (theirs.effect_size, theirs.effect_size_ci_lower, theirs.effect_size_ci_upper, theirs.pvalue)
    )


@pytest.mark.peers
def test_cuped_is_that_of_tea_tasting_for_means_and_ratios() -> None:
    """tea-tasting finds θ over both arms together, we within the arms: they differ by the effect, so little."""
    frame = users(20_000, effect=0.05)
    result = analyse(
        frame,
        ["revenue", "clicks/impressions"],
        covariates=["revenue=revenue_before", "clicks/impressions=clicks_before/impressions_before"],
    )
    theirs = tea(
        frame,
        revenue=tt.Mean("revenue", "revenue_before"),
        ctr=tt.RatioOfMeans("clicks", "impressions", "clicks_before", "impressions_before"),
    )
    for ours, their in zip(result.rows, (theirs["revenue"], theirs["ctr"]), strict=True):
        width = their.effect_size_ci_upper - their.effect_size_ci_lower
        assert ours.effect.difference == pytest.approx(their.effect_size, abs=0.01 * width)
        assert ours.effect.high - ours.effect.low == pytest.approx(width, rel=2e-3)
        assert ours.reduction > 0.03
        assert ours.effect.method.endswith("CUPED")


def test_cuped_is_a_regression_on_the_covariates() -> None:
    """θ is the slope of a regression with an intercept for each arm; two covariates at once."""
    frame = users(800)
    frame["other"] = frame["revenue"] + np.random.default_rng(1).normal(0, 3, len(frame))
    result = rows(analyse(frame, "revenue", covariates={"revenue": ["revenue_before", "other"]}))["revenue"]
    treated = (frame["arm"] == "B").to_numpy(dtype=float)
    covariates = frame[["revenue_before", "other"]].to_numpy()
    design = np.column_stack([np.ones(len(frame)), treated, covariates])
    theta = np.linalg.lstsq(design, frame["revenue"].to_numpy(), rcond=None)[0][2:]
    adjusted = frame["revenue"].to_numpy() - (covariates - covariates.mean(axis=0)) @ theta
    expected = stats.ttest_ind(adjusted[treated == 1], adjusted[treated == 0], equal_var=False)
    assert (result.effect.p, result.effect.statistic) == pytest.approx((expected.pvalue, expected.statistic))
    assert result.effect.control == pytest.approx(adjusted[treated == 0].mean())


@pytest.mark.peers
def test_shares_are_those_of_statsmodels() -> None:
    frame = users(effect=0.2)
    effect = rows(analyse(frame, "share(bought)"))["share(bought)"].effect
    counts = frame.groupby("arm")["bought"].agg(["sum", "count"])
    successes, total = counts["sum"].loc[["B", "A"]].to_numpy(), counts["count"].loc[["B", "A"]].to_numpy()
    z, p = proportions_ztest(successes, total)
    low, high = confint_proportions_2indep(successes[0], total[0], successes[1], total[1], method="newcomb")
    assert (effect.statistic, effect.p) == pytest.approx((z, p))
    assert (effect.low, effect.high) == pytest.approx((low, high))
    assert effect.method == "z of shares"


def test_small_shares_get_fishers_exact_test() -> None:
    effect = share_effect((1, 30), (7, 28), alpha=0.05)
    assert effect.method == "Fisher"
    # By hand: hypergeometric probabilities of 8 successes among 58 that are at most as likely as (1, 7).
    law = [math.comb(30, x) * math.comb(28, 8 - x) / math.comb(58, 8) for x in range(9)]
    assert effect.p == pytest.approx(sum(p for p in law if p <= law[1] * (1 + 1e-9)))


def test_quantiles_have_intervals_of_order_statistics() -> None:
    frame = users(effect=0.0)
    effect = rows(analyse(frame, "p90(latency)"))["p90(latency)"].effect
    variances = []
    for arm, value in (("A", effect.control), ("B", effect.treatment)):
        own = frame.loc[frame["arm"] == arm, "latency"]
        assert value == pytest.approx(np.quantile(own, 0.9))
        half = 1.959964 * math.sqrt(0.09 / len(own))
        low, high = np.quantile(own, [0.9 - half, 0.9 + half])
        variances.append(((high - low) / (2 * 1.959964)) ** 2)
    # without ties, the interval is about ± 1.96 standard errors, as in Deng, Knoblich & Lu
    assert (effect.high - effect.low) / 2 == pytest.approx(1.96 * math.sqrt(sum(variances)), rel=0.03)


def test_fieller_holds_the_ratios_that_a_test_does_not_reject() -> None:
    low, high = relative_interval(3.0, 0.2, 4.0, 0.3, 1.96)
    for end in (low, high):
        ratio = end + 1
        assert abs(4.0 - ratio * 3.0) == pytest.approx(1.96 * math.sqrt(0.3 + ratio**2 * 0.2))
    assert all(map(math.isnan, relative_interval(0.5, 0.2, 4.0, 0.3, 1.96)))  # 0.5 is not clearly above 0


def test_the_bootstrap_agrees_with_the_formulas_and_with_its_seed() -> None:
    frame = users(4_000, effect=0.1)
    metrics = ["revenue", "clicks/impressions", "share(bought)"]
    options: dict[str, Any] = {"unit": "user", "covariates": ["revenue=revenue_before"]}
    plain, drawn = (
        analyse(frame, metrics, **options),
        analyse(frame, metrics, method="bootstrap", resamples=1_000, **options),
    )
    for exact, boot in zip(plain.rows, drawn.rows, strict=True):
        width = exact.effect.high - exact.effect.low
        assert boot.effect.low == pytest.approx(exact.effect.low, abs=0.08 * width)
        assert boot.effect.high == pytest.approx(exact.effect.high, abs=0.08 * width)
        assert boot.effect.relative_low == pytest.approx(exact.effect.relative_low, abs=0.05)
        assert boot.effect.p > 0
    again = analyse(frame.sample(frac=1, random_state=3), metrics, method="bootstrap", resamples=1_000, **options)
    assert [row.effect.low for row in again.rows] == pytest.approx([row.effect.low for row in drawn.rows])
    other = analyse(frame, metrics, method="bootstrap", seed=1, **options)
    assert [row.effect.low for row in other.rows] != [row.effect.low for row in drawn.rows]


def test_several_arms_and_metrics_are_corrected_together() -> None:
    frame = users(3_000, arms="ABC", effect=0.2)
    result = analyse(frame, ["revenue", "clicks/impressions"], correction="bonferroni")
    assert [(row.metric, row.arm) for row in result.rows] == [
        ("revenue", "B"), ("revenue", "C"), ("clicks/impressions", "B"), ("clicks/impressions", "C"),
    ]  # fmt: skip
    for row in result.rows:
        assert row.p_adjusted == pytest.approx(min(1, 4 * row.effect.p))
    assert result.verdict.count(";") == 1  # a part for each arm


def test_a_mismatch_comes_first_and_spoils_the_verdict() -> None:
    result = analyse(users(), "revenue", shares={"A": 2, "B": 1})
    assert result.mismatch
    assert result.table().caption.startswith("SAMPLE-RATIO MISMATCH: users are A 1,")
    assert result.verdict.startswith("do not decide on this experiment")
    assert str(result).splitlines()[0].startswith("SAMPLE-RATIO MISMATCH")
    assert {row[-1] for row in result.table().rows} == {"not to be trusted"}


def test_the_verdict_names_winner_change_and_other_metrics() -> None:
    frame = users(20_000, effect=0.2)
    result = analyse(frame, [*MANY[:3], "latency"], lower=["latency"])
    effect = result.rows[0].effect
    start = f"B is better than A: revenue changes by {100 * effect.relative:+.1f}% (95% interval"
    assert result.verdict.startswith(start)
    assert "clicks/impressions, share(bought) are better" in result.verdict
    assert result.verdict.endswith("no clear difference in 1 other metric")
    slower = frame.assign(latency=frame["latency"] * np.where(frame["arm"] == "B", 1.2, 1))
    assert analyse(slower, "latency", lower=["latency"]).verdict.startswith("B is worse than A: latency changes by +")
    assert analyse(frame, "latency").verdict.startswith("no clear difference between B and A in latency (95% interval")


def test_rows_of_a_user_are_added_up_and_users_in_two_arms_left_out() -> None:
    frame = users(600)
    halves = pd.concat([frame.assign(revenue=frame["revenue"] / 4), frame.assign(revenue=frame["revenue"] * 3 / 4)])
    moved = frame.head(5).assign(arm=np.where(frame.head(5)["arm"] == "A", "B", "A"))
    nobody = frame.head(2).assign(arm=None)
    result = analyse(pd.concat([halves, moved, nobody]), "revenue", unit="user", covariates=["revenue_before"])
    kept = analyse(pd.concat([frame.iloc[5:], nobody]), ["revenue", "median(latency)"], covariates=["revenue_before"])
    assert "2 rows without an arm left out" in kept.notes
    assert result.rows[0].effect.p == pytest.approx(kept.rows[0].effect.p)
    assert "2 rows without an arm or without a user left out" in result.notes
    assert "5 users in more than one arm left out (0.83% of 600)" in result.notes
    assert "600 users with several rows: metrics are sums over their rows, covariates means" in result.notes


def test_outliers_are_capped_at_a_number_or_a_quantile_of_all_users() -> None:
    frame = users(1_000)
    limit = np.quantile(frame["revenue"], 0.95)
    result = analyse(frame, "revenue", caps={"revenue": "p95"})
    expected = analyse(frame.assign(revenue=frame["revenue"].clip(upper=limit)), "revenue")
    assert result.rows[0].effect.p == pytest.approx(expected.rows[0].effect.p)
    assert any(note.startswith("revenue capped at ") and note.endswith("50 users above it") for note in result.notes)
    assert analyse(frame, "revenue", caps={"revenue": 1e9}).rows[0].effect.p != result.rows[0].effect.p
    with pytest.raises(UsageError, match="cap of revenue == 'p0', must be a number, or a quantile such as p99"):
        analyse(frame, "revenue", caps={"revenue": "p0"})


def test_missing_values_are_counted_and_an_uneven_loss_is_noted() -> None:
    frame = users(2_000)
    frame.loc[frame.index[:10], "revenue"] = np.nan
    result = analyse(frame, ["revenue", "clicks/impressions"])
    by_arm = frame.iloc[:10]["arm"].value_counts()
    assert f"revenue: 10 users without a finite value left out (A {by_arm['A']}, B {by_arm['B']})" in result.notes
    assert rows(result)["clicks/impressions"].effect.users_control == (frame["arm"] == "A").sum()
    frame.loc[frame["arm"] == "B", "revenue"] = frame.loc[frame["arm"] == "B", "revenue"].where(
        np.arange((frame["arm"] == "B").sum()) % 4 > 0
    )
    assert any("arms differ in how many are missing" in note for note in analyse(frame, "revenue").notes)


def test_constant_metrics_and_empty_arms_are_no_differences() -> None:
    frame = users(200).assign(same=1.0)
    result = analyse(frame, ["same", "revenue"])
    assert rows(result)["same"].effect.p == 1
    assert "caution: same has the same value for all users, so it cannot be tested" in result.notes
    empty = analyse(frame, "revenue", shares={"A": 1, "B": 1, "C": 1})
    assert math.isnan(rows(empty)["revenue"].effect.p) or len(empty.rows) == 2
    assert any(note.startswith("caution: no users in C") for note in empty.notes)
    assert empty.mismatch
    nobody = analyse(frame[frame["arm"] == "A"].assign(arm="A"), "revenue", shares={"A": 1, "B": 1})
    assert nobody.rows[0].effect.users == 0


@pytest.mark.parametrize("design", ["obrien-fleming", "lan-demets-pocock"])
def test_a_group_sequential_look_uses_its_boundary(design: str) -> None:
    from cranfield.online.experiments.repeated_looks import boundaries

    frame = users(2_000, effect=0.15)
    plain = analyse(frame, "revenue").rows[0].effect
    effect = analyse(frame, "revenue", sequential=design, looks=[0.3, 0.6, 1.0], look=2).rows[0].effect
    critical = boundaries([0.3, 0.6, 1.0], design).z[1]
    assert effect.high - effect.difference == pytest.approx(critical * plain.error)
    assert effect.p > plain.p
    assert (effect.p < 0.05) == (abs(effect.statistic) > critical)


def test_always_valid_intervals_are_wider_and_say_how_they_were_tuned() -> None:
    frame = users(2_000, effect=0.15)
    result = analyse(frame, "revenue", sequential="always-valid", tuned_for=4_000)
    plain = analyse(frame, "revenue").rows[0].effect
    assert result.rows[0].effect.low < plain.low
    assert any("mixture with τ = revenue" in note and "narrowest at 4,000 users" in note for note in result.notes)


def test_segments_have_corrected_p_values_a_warning_and_a_test_of_interaction() -> None:
    frame = users(6_000)
    frame.loc[(frame["country"] == "it") & (frame["arm"] == "B"), "revenue"] *= 1.5
    found = analyse(frame, ["revenue", "clicks/impressions"], segments=["country"]).by_segment
    assert found is not None
    assert found.value[:3] == ("de", "fr", "it")
    effects = []
    for i, country in enumerate(("de", "fr", "it")):
        own = analyse(frame[frame["country"] == country], "revenue").rows[0].effect
        assert found.effects[i].p == pytest.approx(own.p)
        effects.append(own)
    assert found.p_adjusted[2] == pytest.approx(min(6 * found.effects[2].p, 1))
    assert found.notes[0].startswith("caution: 6 comparisons of segments; without any effect, about 0.3 of them")
    weights = np.array([effect.error**-2 for effect in effects])
    differences = np.array([effect.difference for effect in effects])
    q = float((weights * (differences - weights @ differences / weights.sum()) ** 2).sum())
    interaction = found.interactions[0]
    assert (interaction.statistic, interaction.df) == (pytest.approx(q), 2)
    assert interaction.p == pytest.approx(stats.chi2.sf(q, 2))
    assert "the effects differ between values of country" in found.notes[1]
    assert "the effects do not clearly differ" in found.notes[2]


def test_input_that_makes_no_sense_is_refused() -> None:
    frame = users(100)
    with pytest.raises(UsageError, match="no column 'revenu'; did you mean 'revenue'"):
        analyse(frame, "revenu")
    with pytest.raises(UsageError, match="the only arm is 'A'"):
        analyse(frame[frame["arm"] == "A"], "revenue")
    with pytest.raises(UsageError, match="holds other values than 0 and 1"):
        analyse(frame, "share(clicks)")
    with pytest.raises(
        UsageError, match=r"column 'country' must hold numbers, but .* are not, such as 'de'; correct them"
    ):
        analyse(frame, "country")
    with pytest.raises(UsageError, match="no arm 'X'"):
        analyse(frame, "revenue", control="X")
    with pytest.raises(UsageError, match="needs look="):
        analyse(frame, "revenue", sequential="pocock")
    with pytest.raises(UsageError, match="bootstrap needs unit="):
        analyse(frame, "revenue", method="bootstrap")
    with pytest.raises(UsageError, match="metric 'revenue' appears twice"):
        analyse(frame, ["revenue", "revenue"])
    with pytest.raises(UsageError, match="no metric 'clicks'"):
        analyse(frame, "revenue", covariates=["clicks=revenue_before"])


def test_a_value_that_is_not_a_number_is_named(tmp_path: Any) -> None:
    path = tmp_path / "users.csv"
    path.write_text("arm,x\nA,1\nA,abc\nB,-2.5e3\nB,\n")
    with pytest.raises(DataError, match=r"users.csv:3: 'abc' in column 'x' is not a number; correct it"):
        analyse(str(path), "x")
    path.write_text("arm,x\n")
    with pytest.raises(UsageError, match="the table has no rows"):
        analyse(str(path), "x")
    with pytest.raises(UsageError, match="column 'x' holds text, must hold numbers; store it as numbers"):
        analyse(pd.DataFrame({"arm": ["A", "B"], "x": ["1", "2"]}), "x")
    with pytest.raises(UsageError, match="quantile == 'p101', must be above p0 and below p100"):
        analyse(users(100), "p101(revenue)")
    with pytest.raises(UsageError, match="effects by segment are for means, shares and ratios"):
        analyse(users(100), "median(revenue)", segments=["country"])


def test_notes_say_why_arms_cannot_be_compared() -> None:
    frame = pd.DataFrame({"arm": ["A", "A", "B"], "x": [1, 2, 3]})
    result = analyse(frame, "x")
    assert result.verdict == "B cannot be compared with A in x"
    assert "caution: x: a test needs two users or more in each arm, there are B 1" in result.notes
    assert "expected A 1.5, B 1.5" in result.ratio.sentence()
    frame = pd.DataFrame({"arm": ["A", "A", "B", "B"], "clicks": [0, 0, 1, 0], "shown": [0, 0, 2, 1]})
    assert (
        "caution: clicks/shown is not defined in A: the sum of shown is 0 there" in analyse(frame, "clicks/shown").notes
    )


def test_files_and_frames_give_the_same_answer(tmp_path: Any) -> None:
    frame = users(500)
    frame.to_csv(tmp_path / "users.csv", index=False)
    frame.to_parquet(tmp_path / "users.parquet", index=False)
    frame.to_json(tmp_path / "users.jsonl", orient="records", lines=True)
    expected = [row.effect.p for row in analyse(frame, MANY, unit="user", segments=["country"]).rows]
    for name in ("users.csv", "users.parquet", "users.jsonl"):
        result = analyse(str(tmp_path / name), MANY, unit="user", segments=["country"])
        assert [row.effect.p for row in result.rows] == pytest.approx(expected)


@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_answers(spark: Engine, tmp_path: Any) -> None:
    frame = users(300, effect=0.1)
    frame.loc[3:9, "revenue"] = np.nan
    frame.to_parquet(tmp_path / "users.parquet", index=False)
    options: dict[str, Any] = {"unit": "user", "covariates": ["revenue=revenue_before"]}
    metrics = ["revenue", "clicks/impressions"]
    here = analyse(str(tmp_path / "users.parquet"), metrics, **options)
    there = analyse(str(tmp_path / "users.parquet"), metrics, engine=spark, **options)
    for one, other in zip(here.rows, there.rows, strict=True):
        assert other.effect.p == pytest.approx(one.effect.p, rel=1e-9)
        assert other.effect.low == pytest.approx(one.effect.low)
    assert there.notes == here.notes


def test_the_record_leaves_in_all_formats() -> None:
    result = analyse(users(300), MANY, segments=["country"])
    data = result.to_dict()
    assert data["verdict"] == result.verdict
    assert data["sample_ratio"]["rows"][0]["arm"] == "A"
    assert len(data["segments"]["rows"]) == 9
    assert result.to_pandas()["metric"].tolist() == MANY
    assert "tabular" in result.to_latex()


def test_welch_by_hand() -> None:
    # Values 2, 4 (mean 3, variance 2) and 5, 9, 10 (mean 8, variance 7): t = 5 / √(1 + 7/3).
    effect: ArmEffect = welch_effect((3.0, 1.0, 2), (8.0, 7 / 3, 3), alpha=0.05)
    assert effect.statistic == pytest.approx(5 / math.sqrt(10 / 3))
    assert effect.df == pytest.approx((10 / 3) ** 2 / (1 + (7 / 3) ** 2 / 2))


def test_a_value_that_is_not_a_number_is_named_with_its_file_and_line(duck: Engine, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("user,arm,x\nu1,A,1\n\nu2,B,many\nu3,A,3\nu4,B,few\n")  # line 3 is blank
    message = r"users.csv:4: 'many' in column 'x' is not a number \(2 such values of 4\); correct it"
    with pytest.raises(DataError, match=message):
        analyse(str(path), "x", engine=duck)
    with pytest.raises(DataError, match=message):
        aa_splits(str(path), "x", unit="user", engine=duck)
    with pytest.raises(DataError, match=message):
        ab_power(str(path), "x", engine=duck)
    lines = tmp_path / "users.jsonl"
    lines.write_text('{"arm": "A", "x": 1}\n{"arm": "B", "x": "two"}\n{"arm": "B", "x": 2}\n')
    with pytest.raises(DataError, match=r"users.jsonl:2: 'two' in column 'x' is not a number; correct it"):
        analyse(str(lines), "x", engine=duck)
    with pytest.raises(UsageError, match="1 of 2 values is not, such as 'two'"):
        analyse(pd.DataFrame({"arm": ["A", "B"], "x": ["1", "two"]}), "x", engine=duck)


def test_users_with_several_rows_are_noticed_without_a_unit(duck: Engine) -> None:
    frame = pd.DataFrame({"user_id": ["a", "b", "a", "c", "d"], "arm": list("AABBB"), "x": [1.0, 2, 3, 4, 6]})
    note = "column 'user_id' names 4 users in 5 rows, but each row counts as a user of its own here"
    assert any(each.startswith(note) for each in analyse(frame, "x", engine=duck).notes)
    named = analyse(frame, "x", unit="user_id", engine=duck)
    assert not any(each.startswith("column 'user_id'") for each in named.notes)
    assert any("1 user in more than one arm left out" in each for each in named.notes)
    assert not any(each.startswith("column 'user_id'") for each in analyse(frame.iloc[[0, 1, 3, 4]], "x").notes)


LATE = 30_000
"""DuckDB looks at fewer rows than this to find the types of columns."""


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("users.csv", "A", f"users.csv:{LATE + 2}: Expected Number of Columns: 2 Found: 1; correct it"),
        ("users.csv", "A,many", f'users.csv:{LATE + 2}: .*Could not convert string "many".*; correct it'),
        ("users.jsonl", '{"arm": "A', rf"users.jsonl:{LATE + 1}: is not valid JSON; correct it"),
        ("users.jsonl", '{"arm": "A", "x": "many"}', rf'users.jsonl:{LATE + 1}: .*"many"; correct it'),
    ],
)
def test_a_wrong_row_far_down_is_named_with_its_file_and_line(
    duck: Engine, tmp_path: Path, name: str, line: str, message: str
) -> None:
    good = (lambda i: f"{'AB'[i % 2]},{i % 7}") if name.endswith("csv") else lambda i: f'{{"arm": "A", "x": {i % 7}}}'
    rows = [line if i == LATE else good(i) for i in range(LATE + 10)]
    path = tmp_path / name
    path.write_text("\n".join(["arm,x"] * name.endswith("csv") + rows) + "\n")
    for run in (lambda: analyse(path, ["x"], engine=duck), lambda: ab_power(path, ["x"], engine=duck)):
        with pytest.raises(DataError, match=message):
            run()


def test_a_row_with_too_many_cells_near_the_top_is_named(duck: Engine, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("user,arm,x\n" + "".join(f"u{i},{'AB'[i % 2]},{i}{',9' * (i == 5)}\n" for i in range(100)))
    with pytest.raises(DataError, match=r"users.csv:7: Expected Number of Columns: 3 Found: 4"):
        analyse(path, ["x"], engine=duck)
    with pytest.raises(DataError, match=r"users.csv:7: Expected Number of Columns: 3 Found: 4"):
        aa_splits(path, ["x"], unit="user", engine=duck)


def test_an_empty_column_is_named_as_such(duck: Engine, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("arm,x\nA,\nB,\n")
    with pytest.raises(UsageError, match="column 'x' is empty in every row"):
        analyse(path, ["x"], engine=duck)


def test_relative_differences_have_the_sign_of_the_difference() -> None:
    up, down = (relative_interval(sign * 10, 0.04, sign * 11, 0.05, 1.96) for sign in (1, -1))
    assert down == pytest.approx((-up[1], -up[0]))  # a loss of 11 instead of 10 is 10% worse
    table = pd.DataFrame({"user": range(8), "arm": ["A", "B"] * 4, "x": [-9.0, -10, -11, -12, -9, -10, -11, -12]})
    effect = analyse(table, ["x"]).rows[0].effect
    assert (effect.difference, effect.relative) == pytest.approx((-1, -0.1))  # −11 against −10
    drawn = analyse(table, ["x"], unit="user", method="bootstrap", resamples=200).rows[0].effect
    assert drawn.relative_low < -0.1 < drawn.relative_high


def test_a_share_of_0_has_no_relative_interval() -> None:
    effect = share_effect((36, 103), (0, 2), alpha=0.05)
    assert effect.relative == -1
    assert math.isnan(effect.relative_low)  # not −100% to −100%: two users say little
    assert effect.low < 0 < effect.high


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_too_large_for_a_test_are_named(duck: Engine) -> None:
    table = pd.DataFrame({"arm": ["A", "B"] * 4, "x": np.arange(8) * 1e300})
    result = analyse(table, ["x"], engine=duck)
    assert math.isnan(result.rows[0].effect.p)
    assert any("the numbers of A, B are too large for a test" in note for note in result.notes)


def test_a_metric_is_not_its_own_covariate() -> None:
    table = pd.DataFrame({"arm": ["A", "B"] * 20, "x": range(40)})
    for covariate in (["x"], {"x": "x"}):
        with pytest.raises(UsageError, match="covariate of x: the metric itself"):
            analyse(table, ["x"], covariates=covariate)


def test_the_level_of_the_sample_ratio_is_named_if_it_is_wrong() -> None:
    with pytest.raises(UsageError, match="ratio_alpha == 5, must be above 0 and below 1"):
        analyse(pd.DataFrame({"arm": ["A", "B"], "x": [1, 2]}), ["x"], ratio_alpha=5)


def test_a_share_of_other_values_than_0_and_1_is_refused_everywhere() -> None:
    table = pd.DataFrame({"user": range(40), "arm": ["A", "B"] * 20, "x": range(40)})
    for run in (
        lambda: analyse(table, ["share(x)"]),
        lambda: ab_power(table, ["share(x)"]),
        lambda: aa_splits(table, ["share(x)"], unit="user"),
    ):
        with pytest.raises(UsageError, match=r"share\(x\): column 'x'.* holds other values than 0 and 1"):
            run()


def test_splits_of_a_constant_metric_are_no_good_news() -> None:
    result = aa_splits(pd.DataFrame({"user": range(40), "x": [3] * 40}), ["x"], unit="user", splits=20)
    assert result.verdict.startswith("x cannot be tested")
    assert "nan" not in result.table().text()


def test_rows_without_a_day_are_counted() -> None:
    rows = [
        {"user": f"u{i}", "arm": "AB"[i % 2], "day": day, "x": i % 5} for i in range(20) for day in ("2026-03-02", None)
    ]
    result = analyse(pd.DataFrame(rows), ["x"], unit="user", day="day")
    assert result.by_day is not None
    assert "20 rows without a day left out here" in result.by_day.notes


def test_quantiles_are_not_called_bootstrapped() -> None:
    frame = users(400)
    result = analyse(frame, ["revenue", "median(latency)"], unit="user", method="bootstrap", resamples=200)
    methods = {row.metric: row.effect.method for row in result.rows}
    assert methods == {"revenue": "bootstrap of Welch", "median(latency)": "order statistics"}
    assert "median(latency): not by the bootstrap, but by order statistics, as all quantiles" in result.notes
    assert any("the bootstrap (revenue) and order statistics (median(latency))" in note for note in result.notes)
    alone = analyse(frame, "median(latency)", unit="user", method="bootstrap", resamples=200)
    assert not any(note.startswith("bootstrap:") for note in alone.notes)


def test_arms_that_are_constant_but_differ_are_not_called_the_same() -> None:
    frame = pd.DataFrame({"arm": list("AABB"), "x": [0, 0, 1, 1], "y": [3, 3, 3, 3]})
    result = analyse(frame, ["x", "y", "share(x)"])
    assert "caution: x is constant in each arm (A 0, B 1), so it cannot be tested" in result.notes
    assert "caution: y has the same value for all users, so it cannot be tested" in result.notes
    assert not any("share(x)" in note and "cannot be tested" in note for note in result.notes)
    # Fisher's exact test of 0 of 2 against 2 of 2: the two extreme tables of 6, so 1/3
    assert rows(result)["share(x)"].effect.p == pytest.approx(1 / 3)


def test_statistics_and_the_p_of_relative_differences_are_in_the_table_and_for_programs() -> None:
    result = analyse(users(400, effect=0.3), ["revenue", "share(bought)"])
    columns = result.columns()
    frame = users(400, effect=0.3)
    split = [frame.loc[frame["arm"] == arm, "revenue"] for arm in "BA"]
    assert columns["statistic"][0] == pytest.approx(stats.ttest_ind(*split, equal_var=False).statistic)
    assert np.isfinite(columns["relative p"]).all()
    shown = [row[6] for row in result.table().rows]
    assert shown == [f"t = {columns['statistic'][0]:.2f}", f"z = {columns['statistic'][1]:.2f}"]


@pytest.mark.parametrize(("value", "text"), [(-1e-6, "0.00%"), (1e-6, "0.00%"), (-0.0123, "-1.23%"), (0.5, "+50.0%")])
def test_a_change_that_is_0_as_printed_has_no_sign(value: float, text: str) -> None:
    assert percent(value) == text


def test_a_missing_column_of_the_arm_names_the_way_out() -> None:
    with pytest.raises(UsageError, match=r"no column 'arm'.*to name the column of the arm: arm='variant'"):
        analyse(pd.DataFrame({"variant": ["A", "B"], "x": [1, 2]}), "x")


def test_a_decimal_comma_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("arm;revenue\nA;1,5\nB;2.5\n")  # both marks: one of them is a mistake
    with pytest.raises(
        DataError, match=r"users.csv:2: '1,5' in column 'revenue' .*; numbers need a decimal point: 1.5"
    ):
        analyse(path, "revenue")


def test_a_table_with_semicolons_and_decimal_commas_is_that_with_points(tmp_path: Path) -> None:
    rows = [("AB"[n % 2], n * 7 % 11 / 4) for n in range(40)]
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    points.write_text("arm,revenue\n" + "".join(f"{arm},{value}\n" for arm, value in rows))
    commas.write_text("arm;revenue\n" + "".join(f"{arm};{value}\n".replace(".", ",") for arm, value in rows))
    with pytest.warns(CranfieldWarning, match="commas.csv: decimal commas in revenue; 0,5 is read as 0.5"):
        read = analyse(commas, "revenue")
    assert read.to_dict()["rows"] == analyse(points, "revenue").to_dict()["rows"]
