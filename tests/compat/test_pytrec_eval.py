"""The replacement for pytrec_eval returns its numbers (pytrec_eval-terrier, which wraps trec_eval 9.0.8)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.compat import pytrec_eval as ours
from tests.compat.random_collections import Lists, judgments, runs

QREL = {"q1": {"d1": 1, "d2": 0, "d3": 2}, "q2": {"d2": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 2.0, "x": 3.0}, "q3": {"d1": 1.0}}


def same(one: dict[str, dict[str, float]], other: dict[str, dict[str, float]]) -> bool:
    """Keys in the same order, values to 1e-9, NaN for NaN."""
    if list(one) != list(other) or any(list(one[topic]) != list(other[topic]) for topic in one):
        return False
    pairs = [(value, other[topic][name]) for topic in one for name, value in one[topic].items()]
    return all(abs(a - b) <= 1e-9 or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


@settings(max_examples=200, deadline=None)
@given(judgments(), runs(), st.integers(1, 3), st.booleans())
def test_every_measure_on_random_collections(
    qrels: dict[str, dict[str, int]], run: Lists, level: int, judged_only: bool
) -> None:
    arguments = (sorted(pytrec_eval.supported_measures), level, judged_only)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, *arguments).evaluate(run)
    assert same(ours.RelevanceEvaluator(qrels, *arguments).evaluate(run), theirs)


def test_supports_the_names_of_pytrec_eval() -> None:
    assert ours.supported_measures == pytrec_eval.supported_measures
    for nickname, members in ours.supported_nicknames.items():
        assert members == pytrec_eval.supported_nicknames[nickname]


@pytest.mark.parametrize(
    "measures",
    [
        ["P_5,10", "P.3", "ndcg_cut_10", "map_cut_2"],
        ["iprec_at_recall_0.10", "Rprec_mult_0.2", "11pt_avg_0.1,0.5"],
        ["set_F.0.5", "utility_1,2,3,4", "relstring_3", "success_1"],
        ["official"],
        ["set", "P_7"],
        ["P", "P_7"],
        ["map.5", "recip_rank_10", "P_5foo"],
        ["runid", "num_q", "gm_map"],
        [],
    ],
)
def test_names_with_parameters(measures: list[str]) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(QREL, measures).evaluate(RUN)
    assert same(ours.RelevanceEvaluator(QREL, measures).evaluate(RUN), theirs)


@pytest.mark.parametrize(
    ("qrel", "run"),
    [
        (QREL, {}),
        (QREL, {"q3": {"d1": 1.0}}),
        (QREL, {"q1": {}}),
        ({"q1": {}, "q2": {"d2": 1}}, {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}),
        ({}, RUN),
        (QREL, {"q1": {"d1": 1, "d2": True}}),
        ({"q1": {"d1": True, "d2": False}}, RUN),
    ],
)
def test_empty_and_odd_input(qrel: dict[str, dict[str, int]], run: Lists) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(qrel, {"map", "P_5"}).evaluate(run)
    assert same(ours.RelevanceEvaluator(qrel, {"map", "P_5"}).evaluate(run), theirs)


@pytest.mark.parametrize(
    ("qrel", "run"),
    [
        (QREL, {"q1": {"d1": "1"}}),
        (QREL, {"q1": {"d1": None}}),
        (QREL, {"q1": {1: 1.0}}),
        (QREL, {1: {"d1": 1.0}}),
        (QREL, {"q1": ["d1"]}),
        (QREL, [1]),
        ({"q1": {"d1": "1"}}, RUN),
        ({"q1": {1: 1}}, RUN),
        ({1: {"d1": 1}}, RUN),
        ({"q1": [1]}, RUN),
    ],
)
def test_wrong_types_are_type_errors_in_both(qrel: Any, run: Any) -> None:
    for module in (pytrec_eval, ours):
        with pytest.raises(TypeError):
            module.RelevanceEvaluator(qrel, {"map"}).evaluate(run)


@pytest.mark.parametrize("level", ["1", 1.5])
def test_a_relevance_level_that_is_not_an_int_is_a_type_error_in_both(level: Any) -> None:
    for module in (pytrec_eval, ours):
        with pytest.raises(TypeError):
            module.RelevanceEvaluator(QREL, {"map"}, relevance_level=level)


@pytest.mark.parametrize("measure", ["foo", "prefs_simp", "iprec_at_recall_.10", "m"])
def test_an_unknown_measure_is_a_value_error_in_both(measure: str) -> None:
    for module in (pytrec_eval, ours):
        with pytest.raises(ValueError, match="unsupported measure"):
            module.RelevanceEvaluator(QREL, {measure})


def test_cutoffs_that_kill_the_interpreter_there_are_value_errors_here() -> None:
    for measure in ("P_0", "P_5,05", "ndcg_1"):
        with pytest.raises(ValueError, match=measure.split("_")[0]):
            ours.RelevanceEvaluator(QREL, {measure})


def test_a_score_without_order_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="'d1'"):
        ours.RelevanceEvaluator(QREL, {"map"}).evaluate({"q1": {"d1": float("nan")}})


def test_relevance_need_not_be_whole_numbers() -> None:
    """By hand: gains 0.5 and 2 at ranks 1 and 2, ideal 2 then 0.5; 0.5 is below the relevance level."""
    run: dict[str, dict[str, Any]] = {"q": {"a": np.float32(2), "b": 1}}
    evaluator = ours.RelevanceEvaluator({"q": {"a": 0.5, "b": np.float64(2)}}, {"ndcg", "map", "num_rel"})
    values = evaluator.evaluate(run)["q"]
    log3 = math.log2(3)
    assert values["ndcg"] == pytest.approx((0.5 + 2 / log3) / (2 + 0.5 / log3))
    assert (values["map"], values["num_rel"]) == (0.5, 1.0)


def test_an_evaluator_can_be_used_again() -> None:
    evaluator = ours.RelevanceEvaluator(QREL, {"recip_rank"})
    first = evaluator.evaluate(RUN)
    evaluator.evaluate({"q2": {"d2": 1.0}})
    assert evaluator.evaluate(RUN) == first == {"q1": {"recip_rank": 1 / 3}}


def test_parsing() -> None:
    run, qrel = ["q1 Q0 d1 1 2.5 tag\n", "q1 Q0 d2 2 -1e3 tag\n"], ["q1 0 d1 2\n", "q2 0 d1 -1\n"]
    assert ours.parse_run(run) == pytrec_eval.parse_run(run)
    assert ours.parse_qrel(qrel) == pytrec_eval.parse_qrel(qrel)
    for module in (pytrec_eval, ours):
        with pytest.raises(AssertionError):
            module.parse_run(run + run)


@pytest.mark.parametrize("measure", ["map", "num_rel", "gm_map"])
def test_aggregates(measure: str) -> None:
    values = [-0.5, 0.25, 2.0]
    assert ours.compute_aggregated_measure(measure, values) == pytrec_eval.compute_aggregated_measure(measure, values)


@pytest.mark.parametrize("level", [np.int64(2), np.uint8(2), True, np.int32(1), 2])
def test_the_level_may_be_any_whole_number(level: Any) -> None:
    for flag in (np.int64(1), np.int64(0), True, False):
        results = [
            module.RelevanceEvaluator(QREL, {"map"}, relevance_level=level, judged_docs_only_flag=flag).evaluate(RUN)
            for module in (pytrec_eval, ours)
        ]
        assert same(*results)
    numpy_true: Any = np.True_  # refused by pytrec_eval
    truth = ours.RelevanceEvaluator(QREL, {"map"}, relevance_level=numpy_true).evaluate(RUN)
    assert truth == ours.RelevanceEvaluator(QREL, {"map"}).evaluate(RUN)


@pytest.mark.parametrize("level", [1.5, "1", None, np.float64(1.0)])
def test_other_levels_are_a_type_error(level: Any) -> None:
    for module in (pytrec_eval, ours):
        with pytest.raises(TypeError):
            module.RelevanceEvaluator(QREL, {"map"}, relevance_level=level)


def test_the_version_and_the_names_of_measures() -> None:
    assert ours.__version__ == pytrec_eval.__version__
    assert ours.supported_measures == pytrec_eval.supported_measures
    for nickname, members in ours.supported_nicknames.items():
        assert members == pytrec_eval.supported_nicknames[nickname]
    with pytest.raises(AttributeError):
        _ = ours.unknown
