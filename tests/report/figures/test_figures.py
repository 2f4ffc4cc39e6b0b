"""The data of figures, and how they are drawn."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.building import agreement
from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import AssessorReport, merge, rate_assessors
from cranfield.comparison.anova.anova import two_way
from cranfield.comparison.anova.residuals import residuals
from cranfield.comparison.compare import compare
from cranfield.comparison.gate.gate_history import Build, GateHistory
from cranfield.comparison.methods.tukey import tukey
from cranfield.comparison.yearly_best import yearly_best
from cranfield.errors import UsageError
from cranfield.evaluation.topic_sheet import topic_sheet
from cranfield.measures import AP, RR, Trailtext
from cranfield.measures.ranked_lists.curves import Curves, interpolated_precision, precision_recall, roc, saw_tooth
from cranfield.meta import axioms, correlate
from cranfield.meta.scale.list_order import list_order
from cranfield.meta.scale.scale import scales
from cranfield.online.experiments import aa_splits, ab_power, analyse
from cranfield.online.interleaving.interleaving_analysis import InterleavingAnalysis, analyse_interleaving
from cranfield.online.interleaving.preference_counts import count_preferences
from cranfield.report.figures import (
    Figure,
    describe_aa_p_values,
    describe_agreement,
    describe_alike,
    describe_arm_effects,
    describe_asl,
    describe_assessor_accuracy,
    describe_assessor_agreement,
    describe_assessor_confusion,
    describe_axioms,
    describe_boxes,
    describe_click_parameters,
    describe_click_perplexity,
    describe_components,
    describe_concordance,
    describe_correlations,
    describe_curves,
    describe_detectable,
    describe_differences,
    describe_discovery,
    describe_diversity,
    describe_effects,
    describe_efficiency,
    describe_first_rank,
    describe_gate_history,
    describe_heat,
    describe_informativeness,
    describe_interaction,
    describe_interleaving_power,
    describe_intervals,
    describe_judge_confusion,
    describe_judge_ranks,
    describe_label_errors,
    describe_levels,
    describe_list_order,
    describe_log_measure,
    describe_method_ranks,
    describe_online_agreement,
    describe_posterior_entropy,
    describe_power,
    describe_powered,
    describe_precision_recall,
    describe_preferences,
    describe_progress,
    describe_rank_changes,
    describe_reliability,
    describe_residuals,
    describe_robustness,
    describe_saw_tooth,
    describe_sessions,
    describe_shares,
    describe_spacing,
    describe_swap_rates,
    describe_topic_leniency,
    describe_topics,
    describe_trailtext,
    saving,
)
from cranfield.report.figures import __all__ as exported
from cranfield.report.figures.draw.lines import MOST_POINTS, _prepared
from cranfield.report.figures.draw.scatter import placed, short_names
from cranfield.report.figures.lettering import ROOM, text_width
from cranfield.report.figures.result_figures import spacing_figure
from cranfield.report.figures.saving import rendered, specification
from cranfield.report.figures.theme import MARKED, PALETTE, SIZE, STYLES, row_step, style, style_numbers, with_room
from cranfield.scores.scores import Scores
from tests.online.experiments.data import users
from tests.report.figures import test_judge_figures as judge_data

NAN = math.nan
EQUAL = [("i1", "x", 1), ("i1", "y", 1)]
THREE = [*EQUAL, ("i1", "z", 0)]


def scores(systems: int, topics: int = 12, measure: str = "AP") -> Scores:
    values = np.random.default_rng(0).beta(2, 3, (1, systems, topics))
    return Scores([measure], [f"run{i}" for i in range(systems)], map(str, range(301, 301 + topics)), values)


def measured(measures: int) -> Scores:
    """Scores of five systems on 12 topics."""
    values = np.random.default_rng(3).random((measures, 5, 12))
    return Scores([f"m{i}" for i in range(measures)], [f"run{i}" for i in range(5)], map(str, range(12)), values)


def labelled(workers: int) -> list[tuple[str, str, int]]:
    """Labels of 20 items by each assessor."""
    rng = np.random.default_rng(5)
    return [(f"t{i}", f"w{w}", int(rng.integers(0, 3))) for i in range(20) for w in range(workers)]


def assessor_figures(names: list[str]) -> dict[str, Figure]:
    """Return a figure of each result about assessors with these names."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 40)
    rows = [
        (f"t{i % 4}", f"d{i}", name, int(truth[i] if rng.random() < 0.7 else rng.integers(0, 3)))
        for i in range(40)
        for name in names
    ]
    labels = Labels.of(rows).with_assessors({name: ["crowd", "experts"][i % 2] for i, name in enumerate(names)})
    results = {
        "coefficients": agreement.agreement(labels, ["percent", "ac1"], resamples=20),
        "topics": agreement.topic_agreement(labels, ["percent"], resamples=20),
        "assessors": agreement.agreement_with_others(labels, resamples=20),
        "over time": agreement.agreement_over_time(labels),
        "groups": agreement.group_agreement(labels, resamples=20),
        "pairs of assessors": agreement.pair_agreement(labels),
        "confusion": agreement.confusion(labels),
    }
    return {name: describe_assessor_agreement(result) for name, result in results.items()}


def preferences(names: list[str]) -> InterleavingAnalysis:
    """The analysis of interleaved systems with credits at random."""
    credit = np.random.default_rng(0).random((30, len(names)))
    return analyse_interleaving(count_preferences(names, credit))


def log_columns(arms: list[str], *day: Any) -> dict[str, Any]:
    """Columns of `measure_log` by arm, and by day."""
    some = np.random.default_rng(2).random(len(arms))
    days = {day[0]: day[1]} if day else {}
    numbers = {"value": some, "low": some - 0.1, "high": some + 0.1, "users": np.full(len(arms), 20)}
    return {**days, "arm": arms, "measure": ["CTR"] * len(arms), **numbers, "unit": ["clicks"] * len(arms)}


def experiment_figures(names: list[str]) -> dict[str, Figure]:
    """Return a figure of each result about experiments, with metrics of these names, at most 12."""
    frame = users(120)
    for name in names[:12]:
        frame[name] = frame["revenue"]
    return {
        "arm effects": describe_arm_effects(analyse(frame, names[:12])),
        "detectable effects": describe_detectable(ab_power(frame, names[:12])),
        "p-values of A/A splits": describe_aa_p_values(
            aa_splits(frame, names[:12], unit="user", splits=20, buckets=60)
        ),
    }


@cache
def figures(systems: int) -> dict[str, Figure]:
    """Return a figure of each kind, with this many systems or measures."""
    data = scores(systems)
    rng = np.random.default_rng(1)
    names, some = list(data.runs), rng.random(systems)
    twice = [name for name in names for _ in range(2)]
    steps = np.linspace(0, 1, 11)
    lists = ["".join(grades) for grades in itertools.product("01", repeat=3)]
    return {
        "boxes": describe_boxes(data),
        "intervals": describe_intervals(compare(data, test="tukey")),
        "levels": describe_levels(tukey(data)),
        "against a baseline": describe_intervals(compare(data, baseline="run0")),
        "asl": describe_asl({name: rng.random(20) for name in names}),
        "shares": describe_shares(
            {"collection": twice, "measure": ["AP", "RR"] * systems, "share": rng.random(2 * systems)}
        ),
        "swap": describe_swap_rates(
            {"measure": twice, "difference": [0.0, 0.01] * systems, "rate": rng.random(2 * systems)}
        ),
        "correlations": describe_correlations(
            correlate(measured(systems), coefficients=["tau-b", "tau-ap"], resamples=10)
        ),
        "heat": describe_heat(np.corrcoef(rng.random((systems, 9))), names),
        "curves": describe_curves(
            Curves(
                steps, rng.random((systems, 11)), "recall", "precision", tuple(names), ("1",), np.arange(systems), None
            )
        ),
        "efficiency": describe_efficiency(
            {"measure": ["AP"] * len(names), "run": names, "effectiveness": some, "mean": some**2, "front": some > 0.5}
        ),
        "diversity": describe_diversity({"system": names, "I-rec@10": some, "D-nDCG@10": some**2}),
        "online measure over days": describe_log_measure(log_columns(twice, "day", ["d1", "d2"] * systems)),
        "online measure by arm": describe_log_measure(log_columns(names)),
        "reliability": describe_reliability(
            {"predicted": some, "observed": some**2, "low": some / 3, "high": some, "n": np.full(systems, 9)}
        ),
        "sessions": describe_sessions({"queries": names, "share": some / some.sum()}),
        "list order": describe_list_order(list_order([((1, 0, 0), (0, 1, 1))], "AP", with_steps=True)),
        "spacing": describe_spacing({name: rng.random(8) for name in names}, lists),
        "differences": describe_differences(data, ("run0", "run1")),
        "builds": describe_gate_history(
            GateHistory(
                tuple(Build(build, "", name, True, {"AP": 0.5}, {}) for build in "12" for name in names), ("AP",)
            )
        ),
        "topics": describe_topics(topic_sheet(data, run="run0")),
        "power": describe_power({"topics": [10, 20] * systems, "power": rng.random(2 * systems), "measure": twice}),
        "discovery": describe_discovery(
            {"method": twice, "judgments": [0, 9] * systems, "share": rng.random(2 * systems)}
        ),
        "click parameters": describe_click_parameters(
            {"parameter": ["examination"] * 2 * systems, "rank": [2, 3] * systems, "value": rng.random(2 * systems)}
            | {"above": np.repeat(np.arange(systems), 2), "low": [0.1] * 2 * systems, "high": [0.9] * 2 * systems}
        ),
        "click perplexity": describe_click_perplexity(
            {"model": twice, "rank": [1, 2] * systems, "perplexity": 1 + rng.random(2 * systems)}
        ),
        "interleaving power": describe_interleaving_power(
            {"series": twice, "impressions": [10, 90] * systems, "power": rng.random(2 * systems)}
        ),
        "online winners": describe_online_agreement(
            {
                "comparison": ["ab"] * (2 * systems),
                "measure": twice,
                "topics": [10, 20] * systems,
                "agreement": rng.random(2 * systems),
            }
        ),
        "preferences": describe_preferences(preferences(names)),
        "interaction": describe_interaction(
            {"a.b": ["x", "y"] * systems, "c[0]": twice, "mean": rng.random(2 * systems)}, "a.b", "c[0]"
        ),
        "progress": describe_progress(yearly_best([(2000 + i, "s", 0.2 + i % 5 / 10) for i in range(systems)])),
        "residuals": describe_residuals(residuals(two_way(rng.random((6, systems)), "AP"))),
        "ranks": describe_rank_changes({"system": names, "before": range(systems), "after": range(systems)}),
        "judge confusion": describe_judge_confusion(judge_data.confusion()),
        "judge ranks": describe_judge_ranks(judge_data.ranks(systems)),
        "leniency": describe_topic_leniency(judge_data.topics()),
        "powered": describe_powered(judge_data.powered(systems)),
        "label errors": describe_label_errors(judge_data.label_errors(systems)),
        "methods": describe_method_ranks(
            {"method": ["majority", "aware"] * systems, "run": twice, "rank": range(1, 2 * systems + 1)}
        ),
        "robustness": describe_robustness(
            {"measure": twice, "kept": [1, 0.5] * systems, "tau": rng.random(2 * systems)}
        ),
        "concordance": describe_concordance(
            {
                "gold": ["P@10"] * (systems - 1),
                "measure": names[:-1],
                "other": names[1:],
                "concordance": some[1:],
                "other concordance": 1 - some[1:],
            }
        ),
        **assessor_figures(names),
        "agreement": describe_agreement({"measure": names, "agreement": some, "low": some - 0.1, "high": some + 0.1}),
        "informativeness": describe_informativeness({"measure": twice, "rms": rng.random(2 * systems)}),
        "axioms": describe_axioms({"measure": names, "axiom": ["swap"] * systems, "holds": some > 0.5}),
        "effects": describe_effects({"measure": names, "effect_ratio": some, "delta_ri": some**2}),
        "alike": describe_alike({"topic": names, "tau": some, "overlap": some**2}),
        "components": describe_components(
            {"measure": twice, "component": ["system", "topic"] * systems, "variance": rng.random(2 * systems)}
        ),
        "trailtext": describe_trailtext(Trailtext((100.0,) * systems, (0.5,) * systems), 5000),
        **experiment_figures(names),
        "worker confusion": describe_assessor_confusion(merge(labelled(systems))),
        "posterior entropy": describe_posterior_entropy(merge(labelled(systems))),
        "worker accuracy": describe_assessor_accuracy(rate_assessors(labelled(systems), method="majority")),
    }


# -- large figures


@pytest.mark.parametrize("kind", ["boxes", "differences", "topics", "heat", "interaction"])
def test_a_figure_of_thousands_of_topics_is_drawn(kind: str) -> None:
    """An order of names that became an expression with a branch each was too deep for the engine at 2,560 topics."""
    topics = [f"t{i}" for i in range(3000)]
    data = Scores(["AP"], ["run0", "run1"], topics, np.random.default_rng(0).random((1, 2, 3000)))
    draws = {
        "boxes": lambda: describe_boxes({topic: [0.1, 0.2, 0.3] for topic in topics}, "AP"),
        "differences": lambda: describe_differences(data, ("run0", "run1")),
        "topics": lambda: describe_topics(topic_sheet(data, run="run0")),
        "heat": lambda: describe_heat(data.values[0], ["run0", "run1"], topics),
        "interaction": lambda: describe_interaction(
            {"topic": topics, "system": topics, "mean": np.ones(3000)}, "topic", "system"
        ),
    }
    assert rendered(draws[kind](), "svg").startswith(b"<svg")


def orders(part: Any) -> list[Any]:
    """Return the orders of names in a specification that become expressions; see `theme.name_axis`."""
    if isinstance(part, list):
        return [order for inner in part for order in orders(inner)]
    if not isinstance(part, dict):
        return []
    own = [part["sort"]] if isinstance(part.get("sort"), list) else []
    return own + [order for name, inner in part.items() if name != "datasets" for order in orders(inner)]


def test_a_heat_map_of_many_cells_has_means_of_neighbours() -> None:
    # 601 columns in threes: 0 1 2 have the mean 1, and 600 is alone.
    figure = describe_heat(np.arange(601.0).reshape(1, 601), ["r"], [f"t{i}" for i in range(601)])
    spec = specification(figure)
    rows = next(rows for rows in spec["datasets"].values() if "column" in rows[0])
    assert [(row["column"], row["value"]) for row in (rows[0], rows[-1])] == [("t0 … t2", 1.0), ("t600", 600.0)]
    assert spec["title"]["subtitle"][-1] == "a cell is the mean of 1 × 3 neighbours"


def test_a_figure_with_too_many_marks_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        saving, "MOST_MARKS", 5
    )  # two systems have a box, a whisker, a median and a mean each; one topic is beyond
    with pytest.raises(UsageError, match=r"has 9 marks, and at most 5 are drawn; choose fewer runs"):
        rendered(describe_boxes(scores(2)), "svg")


# -- the data


def test_boxes_have_quartiles_whiskers_and_outliers() -> None:
    # Of 1 2 3 4 5 6 7 8 100: quartiles 3, 5, 7 (linear, at positions 2, 4, 6); reach 1.5 · 4 = 6, so whiskers end at 1
    # and 8, and 100 is beyond. Of nine 2: everything is 2.
    figure = describe_boxes({"flat": [2.0] * 9, "long": [1.0, 2, 3, 4, 5, 6, 7, 8, 100]}, "AP")
    table = figure.columns()
    assert table["system"].tolist() == ["long", "flat"]  # means 136 / 9 and 2
    row = [float(table[name][0]) for name in ("low", "q1", "median", "q3", "high")]
    assert row == [1, 3, 5, 7, 8]
    assert [float(table[name][1]) for name in ("low", "q1", "median", "q3", "high")] == [2] * 5
    beyond = figure.also["beyond"]
    assert beyond["system"].tolist() == ["long"]
    assert beyond["topic"].tolist() == ["9"]
    assert beyond["value"].tolist() == [100]


def test_boxes_put_the_lowest_mean_first_if_lower_is_better() -> None:
    assert cf.parse("E").properties.better == "lower"
    assert describe_boxes({"a": [0.5, 0.6], "b": [0.1, 0.2]}, "E").columns()["system"].tolist() == ["b", "a"]


def test_boxes_leave_out_systems_without_scores_and_count_the_topics_of_each() -> None:
    figure = describe_boxes(Scores(["AP"], ["a", "b"], ["1", "2"], [[[0.5, NAN], [NAN, NAN]]]))
    assert figure.columns()["system"].tolist() == ["a"]
    assert figure.columns()["topics"].tolist() == [1]
    assert "1 system without any score left out" in figure.notes
    with pytest.raises(UsageError, match="no system has a score"):
        describe_boxes(Scores(["AP"], ["a"], ["1"], [[[NAN]]]))


def test_tukey_intervals_overlap_exactly_if_systems_do_not_differ() -> None:
    data = scores(6, 30)
    result = compare(data, test="tukey", alpha=0.3)
    table = describe_intervals(result).columns()
    half = result.families[0].tests.critical / 2
    assert table["high"] - table["mean"] == pytest.approx(half)
    assert (np.diff(table["mean"]) <= 0).all()
    for low, high, words in zip(table["low"], table["high"], table["stands"], strict=True):
        apart = high < table["low"][0] or low > table["high"][0]
        assert words == ("differs from the best" if apart else "does not differ from the best")


def test_intervals_show_which_systems_differ_from_the_baseline() -> None:
    # b is a + 0.1 with small noise, c is a but for one topic.
    base = np.linspace(0.2, 0.6, 10)
    noise = np.array([0.01, -0.01] * 5)
    result = compare({"a": base, "b": base + 0.1 + noise, "c": base + noise}, "AP", baseline="a")
    columns = describe_intervals(result).columns()
    stands = dict(zip(*(columns[name].tolist() for name in ("system", "stands")), strict=True))
    assert stands == {"b": "differs from the baseline", "c": "does not differ from the baseline"}


def test_intervals_against_a_baseline_are_those_of_the_differences_from_it() -> None:
    rng = np.random.default_rng(4)
    scores = {name: rng.random(20) for name in "abc"}
    result = compare(scores, "AP", baseline="b", correction="none")
    columns = describe_intervals(result).columns()
    ends = zip(*(columns[name].tolist() for name in ("difference", "low", "high")), strict=True)
    rows = dict(zip(columns["system"].tolist(), ends, strict=True))
    assert rows.keys() == {"a", "c"}
    for name, (difference, low, high) in rows.items():
        of = stats.ttest_rel(scores[name], scores["b"])
        assert difference == pytest.approx(np.mean(scores[name] - scores["b"]))
        assert (low, high) == pytest.approx(tuple(of.confidence_interval(0.95)))
    assert "intervals of differences" in describe_intervals(result).subtitle


def test_asl_curves_are_sorted_and_the_best_measure_comes_first() -> None:
    figure = describe_asl({"RR": [0.5, 0.01, 0.2], "AP": [0.04, 0.3, 0.01]}, alpha=0.05)
    table = figure.columns()
    assert table["measure"].tolist() == ["AP"] * 3 + ["RR"] * 3
    assert table["p"].tolist() == [0.01, 0.04, 0.3, 0.01, 0.2, 0.5]
    assert table["pairs"].tolist() == [1, 2, 3, 1, 2, 3]
    assert figure.notes == ("AP: 2 of 3 pairs at α = 0.05", "RR: 1 of 3 pairs at α = 0.05")
    assert figure.references[0].value == 0.05


def test_swap_rates_leave_out_empty_bins() -> None:
    figure = describe_swap_rates({"measure": ["AP"] * 3, "difference": [0, 0.01, 0.02], "rate": [0.4, NAN, 0.1]})
    assert figure.columns()["difference"].tolist() == [0, 0.02]


def test_heat_map_goes_row_by_row() -> None:
    table = describe_heat([[1, 2, 3], [4, 5, 6]], ["a", "b"], ["x", "y", "z"]).columns()
    assert table["row"].tolist() == ["a", "a", "a", "b", "b", "b"]
    assert table["column"].tolist() == ["x", "y", "z"] * 2
    assert table["value"].tolist() == [1, 2, 3, 4, 5, 6]


def test_curves_are_sorted_from_highest_to_lowest() -> None:
    sample = cf.sample()
    runs = [path for path in sample.runs if "dense" not in path]  # it has a missing topic, which gives a warning
    lists = cf.join(sample.qrels, runs)
    figure = describe_curves(interpolated_precision(lists))
    names = list(dict.fromkeys(figure.columns()["system"].tolist()))
    means = interpolated_precision(lists).mean()
    height = dict(zip(means.runs, means.y.mean(axis=1), strict=True))
    assert names == sorted(height, key=lambda run: -height[run])
    assert figure.columns()["precision"][:11] == pytest.approx(means.y[means.runs.index(names[0])])
    assert describe_curves(roc(lists)).notes[0].startswith("fusion: area 0.761")  # as docs/python.md


def test_precision_recall_has_a_point_at_each_relevant_document() -> None:
    some = precision_recall(Assessed.one([1, 0, 1], missed=[1, 1]), "run", "topic")
    none = precision_recall(Assessed.one([0, 0], missed=[1]), "run", "topic")
    figure = describe_precision_recall({"a": some, "b": none}, topic="301")
    assert figure.columns()["precision"].tolist() == [1, 2 / 3]
    assert figure.notes == ("without a relevant document: b",)
    with pytest.raises(UsageError, match="no list has a relevant document"):
        describe_precision_recall({"b": none})


def test_the_saw_tooth_is_that_of_figure_8_with_the_interpolation_of_figure_9() -> None:
    """Ferro & Maistro 2024 §3.2: precision 0.6 at recall 0.6, 0.66 at recall 0.4 (rank 3), and iP(0.3) = 0.66."""
    lists = Assessed.one([0, 1, 1, 0, 1], missed=[1, 1])
    eleven = interpolated_precision(lists).of_topic("topic")
    figure = describe_saw_tooth({"Run1": saw_tooth(lists, "run", "topic")}, eleven, topic="1")
    data = figure.columns()
    at_ranks = data["system"] == "Run1"
    points = list(zip(data["recall"][at_ranks], data["precision"][at_ranks], strict=True))
    assert points == [(0, 0), (0.2, 0.5), (0.4, 2 / 3), (0.4, 0.5), (0.6, 0.6)]
    assert data["precision"][~at_ranks][3] == pytest.approx(2 / 3)  # at recall 0.3
    assert specification(figure)
    with pytest.raises(UsageError, match="no curve to draw"):
        describe_saw_tooth({"none": saw_tooth(Assessed.one([0, 0]), "run", "topic")})


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.5, 1.0])
def test_the_combined_value_is_equal_along_an_iso_line(gamma: float) -> None:
    figure = describe_diversity({"system": ["a", "b"], "I-rec": [0.35, 0.8], "D-nDCG": [0.2, 0.55]}, gamma=gamma)
    lines = figure.also["lines"]
    assert len(lines["level"]) >= 6
    assert gamma * lines["x"] + (1 - gamma) * lines["y"] == pytest.approx(lines["level"])
    for axis, column in ((figure.x, "x"), (figure.y, "y")):
        assert axis.low is not None
        assert axis.high is not None
        assert lines[column].min() >= axis.low - 1e-9
        assert lines[column].max() <= axis.high + 1e-9
    assert figure.columns()["D#-nDCG"] == pytest.approx(
        [gamma * 0.8 + (1 - gamma) * 0.55, gamma * 0.35 + (1 - gamma) * 0.2]
    )


def test_diversity_takes_means_of_scores() -> None:
    data = Scores(["I-rec@10", "D-nDCG@10"], ["a"], ["1", "2"], [[[0.5, 1.0]], [[0.25, 0.75]]])
    table = describe_diversity(data).columns()
    assert (table["I-rec@10"].item(), table["D-nDCG@10"].item(), table["D#-nDCG@10"].item()) == (0.75, 0.5, 0.625)
    with pytest.raises(UsageError, match="no measure begins with I-rec"):
        describe_diversity(data["D-nDCG@10"])


def test_diversity_counts_the_topics_with_scores() -> None:
    data = Scores(["I-rec@10", "D-nDCG@10"], ["a"], ["1", "2"], [[[0.5, NAN]], [[0.25, NAN]]])
    assert describe_diversity(data).subtitle.startswith("means over 1 topic;")


def test_spacing_of_all_lists_of_four_is_that_of_ferro_and_maistro_figure_19() -> None:
    """Of these measures only precision and RBP with p = 0.5 are equi-spaced (N = 4, recall base 4)."""
    lists = ["".join(grades) for grades in itertools.product("01", repeat=4)]

    def of(measure: str) -> list[float]:
        return [cf.parse(measure).of([int(c) for c in grades], missed=[1] * grades.count("0")) for grades in lists]

    named = ["P@4", "AP", "RR", "RBP(p=0.3)", "RBP(p=0.5)", "RBP(p=0.8)", "DCG@4"]
    table = describe_spacing({measure: of(measure) for measure in named}, lists).columns()
    even = {m for m, s in zip(table["measure"].tolist(), table["spacing"].tolist(), strict=True) if s == "even"}
    assert even == {"P@4", "RBP(p=0.5)"}
    precision = table["measure"] == "P@4"
    assert table["ties"][precision].tolist() == [1, 4, 6, 4, 1]  # binomial coefficients
    assert table["lists"][precision].tolist()[3] == "0111 1011 1101 1110"
    assert table["gap"][precision][1:] == pytest.approx([0.25] * 4)


def test_differences_are_sorted_and_counted() -> None:
    figure = describe_differences(
        Scores.from_matrix([[0.1, 0.2], [0.5, 0.1], [0.3, 0.3]], runs=["a", "b"], measure="AP")
    )
    assert figure.columns()["difference"].tolist() == pytest.approx([0.4, 0, -0.1])
    assert figure.columns()["topic"].tolist() == ["2", "3", "1"]
    assert "a is higher on 1, b on 1, equal on 1; mean difference +0.1000" in figure.subtitle


def test_power_has_a_line_for_each_true_difference() -> None:
    columns = {"topics": [10, 20, 10, 20], "power": [0.1, 0.2, 0.4, 0.8], "true": [0.05, 0.05, 0.1, 0.1]}
    figure = describe_power(columns, by="true", wanted=0.8, answer=20)
    assert figure.columns()["true"].tolist() == ["0.05", "0.05", "0.1", "0.1"]
    assert [(line.axis, line.value) for line in figure.references] == [("y", 0.8), ("x", 20)]


def test_rank_changes_and_shares_of_variance_are_computed() -> None:
    ranks = describe_rank_changes({"system": ["a", "b", "c"], "before": [2, 1, 3], "after": [3, 1, 2]})
    assert ranks.columns()["system"].tolist() == ["b", "a", "c"]
    assert ranks.columns()["change"].tolist() == [0, 1, -1]
    assert ranks.subtitle.endswith("2 of 3 systems change rank, by up to 1")
    parts = describe_components({"component": ["s", "t", "s", "t"], "variance": [1, 3, -2, 5], "measure": list("aabb")})
    assert parts.columns()["share"].tolist() == [0.25, 0.75, 0, 1]
    assert parts.columns()["end"].tolist() == [0.25, 1, 0, 1]
    assert parts.notes == ("1 estimate below 0 drawn as 0",)
    read = describe_trailtext(Trailtext((400, 100), (0, 0.5), ("snippets", "document")), 1000).columns()
    assert (read["begin"].tolist(), read["end"].tolist()) == ([0, 400], [400, 500])
    assert read["adds"].tolist() == [0, 0.5 * (1 - 500 / 1000)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: describe_asl({}), "no p-values"),
        (lambda: describe_asl({"AP": [0.5, 1.5]}), "p-values of AP must be numbers between 0 and 1"),
        (lambda: describe_asl({"AP": ["x"]}), "the p-values of AP must hold numbers"),
        (lambda: describe_swap_rates({"measure": ["AP"], "rate": [0.1]}), "no column 'difference'"),
        (lambda: describe_swap_rates({"measure": ["AP"], "difference": [], "rate": [0.1]}), "different lengths"),
        (lambda: describe_swap_rates({"measure": [], "difference": [], "rate": []}), "nothing to draw"),
        (lambda: describe_swap_rates(7), "columns must be"),
        (lambda: describe_heat([[1, 2]], ["a"]), r"matrix.shape == \(1, 2\)"),
        (lambda: describe_heat([[1, 1], [1, 1]], ["a", "a"]), "row 'a' appears more than once"),
        (lambda: describe_robustness({"measure": ["AP"], "kept": [90], "tau": [1]}), "kept == 90.0, must be between"),
        (lambda: describe_power({"topics": [1], "power": [math.inf]}), "infinite value"),
        (lambda: describe_interaction({"a": ["x"], "mean": [1]}, "a", "a"), "given twice"),
        (lambda: describe_interaction({"a": list("xx"), "b": list("yy"), "mean": [1, 2]}, "a", "b"), "only 1 comb"),
        (lambda: describe_components({"component": ["a"], "variance": [0.0]}), "nothing varies"),
        (lambda: describe_spacing({"AP": [1]}, ["0", "1"]), "AP has 1 scores, but there are 2 lists"),
        (lambda: describe_spacing({"AP": [NAN, 1]}, ["0", "1"]), "AP has no score for list 0"),
        (lambda: describe_boxes(scores(2), "nDCG"), "no measure 'nDCG'"),
        (lambda: describe_assessor_agreement({"kappa": [1]}), "dict is not a result of cranfield.building.agreement"),
        (lambda: describe_assessor_agreement(agreement.agreement_with_others(EQUAL)), "nothing to draw: all values"),
        (lambda: describe_assessor_agreement(agreement.confusion(THREE, by_pair=True)), "one matrix, but there are 3"),
        (lambda: describe_diversity({"system": ["a"], "I-rec": [NAN], "D-nDCG": [1]}), "no system has both"),
        (lambda: describe_assessor_confusion(merge(labelled(2)), ["w9"]), "no assessor 'w9'"),
        (lambda: describe_posterior_entropy({}), "there are no merged labels"),
        (lambda: describe_assessor_accuracy(unchecked()), "could be checked against the majority of the other"),
    ],
)  # fmt: skip
def test_bad_input_raises_an_error_that_names_it(call: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()


def unchecked() -> AssessorReport:
    """A report on two assessors who have no item in common."""
    return rate_assessors([("t1", "a", 0), ("t2", "b", 1)], method="majority")


def test_the_confusion_of_an_assessor_goes_row_by_row() -> None:
    """By the votes, t1 and t2 are 0 and t3 is 1; c says 0, 1, 1."""
    rows = [
        (t, w, y) for t, ys in {"t1": "000", "t2": "001", "t3": "111"}.items() for w, y in zip("abc", ys, strict=True)
    ]
    merged = merge(rows, gold={"t2": 0})
    figure = describe_assessor_confusion(merged, ["c"])
    assert figure.columns()["row"].tolist() == ["0", "0", "1", "1"]
    assert figure.columns()["value"].tolist() == [0.5, 0.5, 0.0, 1.0]
    assert len(describe_assessor_confusion(merge(labelled(9))).columns()["value"]) == 6 * 9
    assert "the 6 of 9 assessors with most labels" in describe_assessor_confusion(merge(labelled(9))).subtitle


def test_entropy_falls_for_each_method() -> None:
    results = {name: merge(labelled(4), name) for name in ("majority", "dawid-skene")}
    columns = describe_posterior_entropy(results).columns()
    for name, merged in results.items():
        values = columns["entropy"][columns["method"] == name]
        assert np.allclose(values, np.sort(merged.entropy)[::-1])
    assert columns["items"][19] == 1.0


def test_accuracies_come_with_intervals_and_chance() -> None:
    report = rate_assessors(labelled(5), method="majority")
    figure = describe_assessor_accuracy(report)
    columns = figure.columns()
    assert (np.diff(columns["accuracy"]) <= 0).all()
    assert (columns["low"] <= columns["accuracy"]).all()
    assert figure.references[0].value == pytest.approx(
        float((report.chance * report.checks).sum() / report.checks.sum())
    )


def test_the_first_relevant_document_by_rank() -> None:
    """Reciprocal rank, and AP with two relevant documents of which one is found: half as much."""
    columns = describe_first_rank([RR(), AP()], relevant=2, ranks=4).columns()
    assert columns["score"].tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 2, 1 / 4, 1 / 6, 1 / 8])
    with pytest.raises(UsageError, match="no measure to draw"):
        describe_first_rank([])


# -- the drawing


def test_every_figure_is_tested_below() -> None:
    assert {name for name in exported if name.startswith("describe_")} <= {
        name for name in globals() if name.startswith("describe_")
    }


@pytest.mark.parametrize("systems", [2, 129])
def test_every_figure_is_valid_has_labels_and_all_rows(systems: int) -> None:
    for name, figure in figures(systems).items():
        spec = specification(figure)  # altair checks it against the schema of Vega-Lite
        text = json.dumps(spec, ensure_ascii=False, allow_nan=False)
        assert spec["title"]["text"] != [""], name
        for axis in (figure.x, figure.y):
            assert not axis.label or json.dumps(axis.label, ensure_ascii=False) in text, name
        assert "http" not in re.sub(r'"\$schema": "[^"]*"', "", text), name
        assert len(figure.table().rows) == len(next(iter(figure.columns().values()))), name
        assert orders(spec) == [], name


def test_long_lines_are_thinned() -> None:
    many = describe_asl({"AP": np.linspace(0, 1, 8256)})
    (drawn,) = [rows for rows in specification(many)["datasets"].values() if len(rows) > 1]
    assert len(drawn) == MOST_POINTS
    assert (drawn[0]["x"], drawn[-1]["x"]) == (1, 8256)
    assert len(many.columns()["p"]) == 8256


def test_all_but_the_eight_best_of_many_systems_are_grey() -> None:
    figure = figures(129)["curves"]
    drawn = rendered(figure, "svg").decode("utf-8")
    assert "121 others" in drawn
    assert drawn.count('stroke-width="0.4"') == 121
    assert drawn.count('stroke-width="1.6"') == 8
    assert "others" not in json.dumps(specification(figures(MARKED)["curves"]))
    assert "1 other" in json.dumps(specification(figures(MARKED + 1)["curves"]))


def test_lines_of_measures_are_grey_only_if_there_are_more_than_styles() -> None:
    def others(measures: int) -> bool:
        return "other" in json.dumps(specification(describe_asl({f"m{i}": [0.1, 0.2] for i in range(measures)})))

    assert not others(STYLES)
    assert others(STYLES + 1)


def lightness(colour: str) -> float:
    """L* of CIE 1976, from sRGB."""
    linear = [
        (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for c in np.frombuffer(bytes.fromhex(colour[1:]), np.uint8) / 255
    ]
    y = float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_lines_differ_in_greyscale_and_without_colour() -> None:
    shades = sorted(map(lightness, PALETTE))
    assert min(np.diff(shades)) > 5
    assert shades[-1] < 80  # visible on white
    looks = [style(i) for i in range(STYLES)]
    distinct = {(look["dash"], look["shape"], look["fill"] == "#ffffff") for look in looks}
    assert len(distinct) == STYLES


def test_rows_are_high_for_few_systems_and_fit_a_page_for_many() -> None:
    assert row_step(2) == 22
    assert 129 * row_step(129) < 1500  # the labels of a tall figure can be read, also if it is made to fit a page
    assert 1000 * row_step(1000) <= 2500


def looks(figure: Figure, channel: str) -> dict[str, str]:
    """The value of each name in a figure, such as its colour."""
    found: dict[str, str] = {}

    def search(part: Any) -> None:
        if isinstance(part, dict):
            scale = part.get(channel, {}).get("scale") if isinstance(part.get(channel), dict) else None
            if scale and "range" in scale:
                found.update(zip(scale["domain"], scale["range"], strict=True))
            for inner in part.values():
                search(inner)
        elif isinstance(part, list):
            for inner in part:
                search(inner)

    search({key: value for key, value in specification(figure).items() if key != "datasets"})
    return found


def test_a_measure_has_the_same_colour_in_every_figure() -> None:
    measures = ["RR", "nDCG@10", "AP", "Rprec"]
    twice = [name for name in measures for _ in range(2)]
    asl = describe_asl({name: np.linspace(0, high, 5) for name, high in zip(measures, (1, 0.5, 0.2, 0.1), strict=True)})
    robust = describe_robustness({"measure": twice, "kept": [1, 0.5] * 4, "tau": [1, 0.9] * 4})
    few = describe_robustness({"measure": ["AP", "AP", "RR", "RR"], "kept": [1, 0.5] * 2, "tau": [1, 0.9] * 2})
    inform = describe_informativeness({"measure": twice, "rms": np.linspace(0.5, 0.1, 8)})
    assert list(looks(asl, "color")) != list(looks(robust, "color"))  # they are sorted differently
    assert looks(asl, "color") == looks(robust, "color") == looks(inform, "color")
    assert looks(few, "color").items() <= looks(asl, "color").items()
    assert len(set(looks(asl, "color").values())) == 4


@pytest.mark.parametrize("count", [1, 8, 24])
def test_the_styles_of_measures_in_one_figure_differ(count: int) -> None:
    names = [f"nDCG@{k}" for k in range(count // 2)] + [f"M{k}" for k in range(count - count // 2)]
    numbers = style_numbers(names, "measure")
    assert len(set(numbers.values())) == count
    assert max(numbers.values()) < max(8, count)
    assert numbers == style_numbers(names[::-1], "measure")


def test_marks_do_not_pile_up_where_curves_lie_on_each_other() -> None:
    # Six measures whose p-values are 0 for most of 7,875 pairs, and 1 for the last.
    ramp = np.clip(np.linspace(-6, 2, 7875), 0, 1)
    data, _ = _prepared(describe_asl({f"M{i}": ramp for i in range(6)}))
    heights = data["y"][data["marked"]]
    assert len(heights) == 6 * 8
    assert ((heights < 0.005) | (heights > 0.999)).sum() <= 2
    zoomed, _ = _prepared(describe_asl({f"M{i}": ramp for i in range(6)}, highest=0.15))
    assert (zoomed["y"][zoomed["marked"]] < 0.16).all()


def test_the_last_bin_of_swap_rates_is_open() -> None:
    edges = np.round(np.arange(21) * 0.01, 2)
    table = {"measure": ["AP"] * 21, "difference": edges, "rate": np.linspace(0.5, 0, 21)}
    drawn = rendered(describe_swap_rates(table, open_end=True), "svg").decode()
    texts = re.findall(r">([^<>]+)</t(?:ext|span)>", drawn)
    assert "0.20" in texts
    assert "and above" in texts
    assert "and above" not in rendered(describe_swap_rates(table), "svg").decode()


def test_bars_do_not_end_on_the_frame() -> None:
    robust = describe_robustness(
        {"measure": ["RR"] * 2, "kept": [0.9, 0.1], "tau": [0.9, 0.5], "low": [0.8, 0.45], "high": [0.95, 0.55]}
    )
    y = with_room(robust.y, robust.data["low"], robust.data["high"])
    assert y.low is not None
    assert y.low < 0.45
    assert (y.high, robust.x.low, robust.x.high) == (1, 0, 1)
    inform = describe_informativeness({"measure": ["AP"] * 4, "rms": [0.1, 0.15, 0.2, 0.285]})
    x = with_room(inform.x, inform.data["low"], inform.data["high"])
    assert x.high is not None
    assert x.high > inform.data["high"].max()
    assert f'"domainMax": {x.high}' in json.dumps(specification(inform))


def test_filled_points_differ() -> None:
    base, noise = np.linspace(0.2, 0.6, 10), np.array([0.01, -0.01] * 5)
    result = compare({"a": base, "b": base + 0.1 + noise, "c": base + noise}, "AP", baseline="a")
    fills = looks(describe_intervals(result), "fill")
    assert {name for name, fill in fills.items() if fill != "#ffffff"} == {"differs from the baseline"}
    assert "filled points differ from the baseline" in describe_intervals(result).subtitle


def test_correlations_have_every_coefficient_systems_topics_and_intervals() -> None:
    result = correlate(measured(3), coefficients=["tau-b", "tau-ap"], resamples=50)
    figure = describe_correlations(result)
    assert figure.subtitle.startswith("5 systems, 12 topics; 95% intervals over 50 resamples of topics")
    # tau-ap has a gold standard, so that (a, b) is not (b, a); of tau-b each of the three pairs is there once.
    assert figure.columns()["coefficient"].tolist() == ["Kendall's τ_b"] * 3 + ["τ_AP"] * 6
    texts = re.findall(r">([^<>]+)</t(?:ext|span)>", rendered(figure, "svg").decode())
    assert {"Kendall's τ_b", "τ_AP"} <= {html.unescape(text) for text in texts}
    low, high = result.low[0, 0, 1], result.high[0, 0, 1]
    assert f"[{low:.2f}, {high:.2f}]" in texts
    without = describe_correlations(correlate(measured(3), resamples=0))
    assert without.subtitle == "5 systems, 12 topics"
    assert without.title == "Kendall's τ_b of the rankings of systems"
    assert "low" not in without.columns()


def test_the_topic_sheet_of_a_run_has_the_median_and_says_the_order() -> None:
    figure = describe_topics(topic_sheet(scores(5), run="run0"))
    sheet = topic_sheet(scores(5), run="run0").columns()
    assert figure.columns()["median"].tolist() == sheet["median"].tolist()
    assert figure.subtitle.endswith("the topics on which run0 is furthest below the median first")
    assert describe_topics(topic_sheet(scores(5))).subtitle.endswith("the topics with the lowest median first")


def test_a_single_smooth_curve_has_no_marks_and_one_of_few_points_has_them() -> None:
    def marked(points: int) -> int:
        curve = {"topics": np.arange(points) + 10, "power": np.linspace(0.1, 0.9, points)}
        (rows,) = [rows for rows in specification(describe_power(curve))["datasets"].values() if "marked" in rows[0]]
        return sum(row["marked"] for row in rows)

    assert marked(40) == 0
    assert marked(10) == 10


def test_rank_changes_of_many_systems_show_those_that_move() -> None:
    before = np.arange(1, 127)
    after = before.copy()
    after[[10, 11]] = [12, 11]
    figure = describe_rank_changes({"system": [f"s{i}" for i in before], "before": before, "after": after})
    drawn = rendered(figure, "svg").decode()
    assert "11 → 12" in drawn
    assert "12 → 11" in drawn
    assert ">s50<" not in drawn
    assert figure.subtitle.endswith("2 of 126 systems change rank, by up to 1; the others are not shown")
    assert len(figure.columns()["system"]) == 126


def test_rank_changes_of_many_systems_that_do_not_move_show_the_first() -> None:
    ranks = np.arange(1, 127)
    figure = describe_rank_changes({"system": [f"s{i}" for i in ranks], "before": ranks, "after": ranks})
    drawn = rendered(figure, "svg").decode()
    assert ">s30<" in drawn
    assert ">s31<" not in drawn
    assert figure.subtitle.endswith("no rank changes; the first 30 of 126 systems are shown")


@pytest.mark.parametrize("lists", [4, 40])
def test_spacing_has_the_colours_of_the_measures(lists: int) -> None:
    scores = np.linspace(0, 1, lists)
    figure = describe_spacing({"RR": scores, "nDCG@10": scores}, [f"{i:02d}" for i in range(lists)])
    drawn = rendered(figure, "svg").decode()
    for number in style_numbers(["RR", "nDCG@10"], "measure").values():
        assert drawn.count(f'"{style(number)["color"]}"') >= lists


def test_spacing_shows_the_part_of_the_range_that_no_list_reaches() -> None:
    """Ferro & Maistro 2024 Fig. 19 (f): with p = 0.8, four documents reach 0.59, and the axis goes to 1."""
    figure = spacing_figure(scales(["RBP", "DCG@4"], 4, recall_base=4))
    panels = {panel["title"]["text"]: panel for panel in specification(figure)["hconcat"]}
    assert list(panels) == ["RBP(p=0.8) (uneven)", "DCG(base=2)@4 (uneven)"]
    of_rbp, of_dcg = (panel["layer"][0]["encoding"]["y"]["scale"] for panel in panels.values())
    assert (of_rbp["domainMin"], of_rbp["domainMax"]) == (0, 1)
    assert "domainMax" not in of_dcg  # it has no largest value


def test_long_names_are_shortened_beside_points() -> None:
    names = [f"university-of-somewhere-team{i:02d}-run-number-{i:03d}" for i in range(12)]
    places = np.linspace(0.1, 0.9, 12)
    figure = describe_diversity({"system": names, "I-rec@10": places, "D-nDCG@10": places})
    drawn = rendered(figure, "svg").decode()
    assert all(f">team{i:02d}-{i:03d}<" in drawn for i in range(12))
    assert figure.columns()["system"].tolist() == names[::-1]


@pytest.mark.parametrize(
    "names", [["bm25", "bm25-rm3"], ["x" * 40, "x" * 39 + "y"], ["a" * 30 + "1" + "b" * 30] * 2, []]
)
def test_shortened_names_differ_if_the_names_do(names: list[str]) -> None:
    assert len(set(short_names(names))) == len(set(names))


def test_axes_name_systems_and_topics() -> None:
    every = figures(4)
    for name in ("boxes", "intervals", "ranks"):
        assert every[name].y.label == "system", name
    for name in ("agreement", "informativeness", "components"):
        assert every[name].y.label == "measure", name
    assert "systems" in every["asl"].x.label
    assert "systems" in every["robustness"].y.label
    assert "topics" in every["swap"].x.label
    assert "topics" in every["intervals"].x.label


def test_names_beside_points_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    points = [(float(x), float(y)) for x, y in rng.random((80, 2)) * 400]
    labels = [f"system {i}" for i in range(80)]
    places = placed(points, labels, 400, 400)
    boxes = []
    for (x, y), label, place in zip(points, labels, places, strict=True):
        if place is not None:
            wide, begin = ROOM * text_width(label, SIZE - 1), {"left": 0, "right": 1, "center": 0.5}[place.align]
            left = x + place.dx - begin * wide
            boxes.append((left, y + place.dy - 6, left + wide, y + place.dy + 6))
    assert len(boxes) > 20
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_concordance_has_both_measures_on_either_side_of_the_diagonal() -> None:
    # Q and RR: 0.9 and 0.3 with P; all gold standards at once come last, and are taken.
    table = {
        "gold": ["P", "P AND R"],
        "measure": ["Q", "Q"],
        "other": ["RR", "RR"],
        "concordance": [0.9, 0.6],
        "other concordance": [0.3, 0.2],
    }
    figure = describe_concordance(table)
    assert figure.title == "Concordance with P AND R"
    assert figure.columns()["row"].tolist() == ["Q", "Q", "RR", "RR"]
    np.testing.assert_array_equal(figure.columns()["value"], [NAN, 0.6, 0.2, NAN])
    np.testing.assert_array_equal(describe_concordance(table, "P").columns()["value"], [NAN, 0.9, 0.3, NAN])
    with pytest.raises(UsageError, match="no gold standard 'PP'"):
        describe_concordance(table, "PP")


def test_undefined_cells_of_a_heat_map_are_empty() -> None:
    drawn = rendered(describe_heat([[NAN, 0.25], [0.5, NAN]], ["a", "b"]), "svg").decode()
    assert "0.25" in drawn
    assert "null" not in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def test_agreement_is_sorted_and_undefined_shares_are_last() -> None:
    holes = [NAN, NAN, NAN]
    figure = describe_agreement({"measure": ["a", "b", "c"], "agreement": [0.4, NAN, 0.6], "low": holes, "high": holes})
    assert figure.columns()["measure"].tolist() == ["c", "a", "b"]
    assert [line.value for line in figure.references] == [0.5]


def test_axioms_are_filled_if_they_hold() -> None:
    result = axioms(["AP", "P+"], only=["swap", "top_heavy"])
    table = describe_axioms(result).columns()
    cells = dict(zip(zip(table["measure"], table["axiom"], strict=True), table["found"], strict=True))
    # P+ stops at the first of the best documents: one that moves above it may be worth less (the swap of its docstring)
    assert cells == {
        ("AP", "swap"): "holds", ("AP", "top-heavy"): "holds", ("P+", "swap"): "fails", ("P+", "top-heavy"): "holds",
    }  # fmt: skip
    assert "example" in table


def test_effects_leave_out_measures_without_an_effect() -> None:
    figure = describe_effects({"measure": ["AP", "RR"], "effect_ratio": [NAN, 0.5], "delta_ri": [NAN, 0.25]})
    assert figure.columns()["measure"].tolist() == ["RR"]
    assert figure.x.low < 0.5 < 1 < figure.x.high  # the line ER = 1 is in the figure
    assert figure.y.low < 0 < 0.25 < figure.y.high
    with pytest.raises(UsageError, match="no measure has an effect"):
        describe_effects({"measure": ["AP"], "effect_ratio": [NAN], "delta_ri": [NAN]})


def test_lists_of_a_repetition_are_sorted_by_each_coefficient() -> None:
    table = describe_alike({"topic": ["x", "y", "z"], "tau": [0.9, NAN, 0.1], "overlap": [0.2, 0.4, 0.3]}).columns()
    assert table["coefficient"].tolist() == ["τ union"] * 2 + ["RBO"] * 3
    assert table["topic"].tolist() == ["z", "x", "x", "z", "y"]
    assert table["place"].tolist() == [1, 2, 1, 2, 3]


def test_informativeness_shows_quartiles_over_lists() -> None:
    figure = describe_informativeness(
        {"measure": ["R"] * 5 + ["AP"] * 5, "rms": [5, 1, 2, 3, 4, 0, 1, 2, 3, 4]}
    ).columns()
    assert figure["measure"].tolist() == ["AP", "R"]
    assert [figure[name].tolist() for name in ("low", "rms", "high")] == [[1, 2], [2, 3], [3, 4]]
