"""Several dimensions of relevance: by hand, and compared with the definitions and with plain measures."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield import CranfieldWarning, UsageError
from cranfield.evaluation.dimension_scores import biased_rbp, cam, mm
from cranfield.measures import MM, uRBP

DOCS = [f"d{i}" for i in range(6)]
RUN = {"q": {doc: float(10 - i) for i, doc in enumerate(DOCS)}}

grades = st.lists(st.integers(0, 3), min_size=6, max_size=6).map(
    lambda values: {"q": dict(zip(DOCS, values, strict=True))}
).filter(lambda qrels: max(qrels["q"].values()) > 0)  # fmt: skip


def value(scores: cf.Scores) -> float:
    return float(scores.values.item())


def urbp(relevance: Any, clear: Any, **parameters: Any) -> float:
    return value(cf.evaluate(relevance, RUN, uRBP(**parameters), dimensions={"understandability": clear}))


def test_urbp_by_hand() -> None:
    relevance = {"q": {"d0": 1, "d1": 1, "d2": 0, "d3": 1}}
    clear = {"q": {"d0": 0, "d1": 2, "d2": 4, "d3": 4}}
    # relevant at ranks 1, 2, 4; binary clear at 2 and 4: 0.5 * (0.5 + 0.125)
    assert urbp(relevance, clear, p=0.5) == pytest.approx(0.3125)
    # graded: 2/4 at rank 2, 4/4 at rank 4: 0.5 * (0.25 + 0.125)
    assert urbp(relevance, clear, p=0.5, graded=True) == pytest.approx(0.1875)
    credible = cf.evaluate(relevance, RUN, "cRBP(p=0.5)", dimensions={"credibility": clear})
    assert value(credible) == pytest.approx(0.3125)


def test_a_document_not_judged_in_a_dimension_has_no_gain() -> None:
    assert urbp({"q": {"d0": 1, "d1": 1}}, {"q": {"d1": 1}}, p=0.5) == pytest.approx(0.25)


def test_grades_below_zero_take_nothing_away() -> None:
    score = urbp({"q": {"d0": 1, "d1": 1}}, {"q": {"d0": -2, "d1": 2}}, p=0.5, graded=True)
    assert score == pytest.approx(0.25)  # only rank 2: 0.5 * 0.5


@given(grades, grades, grades, st.sampled_from([0.5, 0.8, 0.95]))
def test_biased_rbp_agrees_with_its_definition(a: Any, b: Any, c: Any, p: float) -> None:
    expected = 0.0
    for r, doc in enumerate(DOCS):
        gain = (a["q"][doc] >= 2) * (b["q"][doc] / max(b["q"].values())) * (c["q"][doc] >= 2)
        expected += (1 - p) * p**r * gain
    dimensions, gains = {"a": a, "b": b, "c": c}, {"b": "linear"}
    assert value(biased_rbp(dimensions, RUN, p=p, rel=2, gains=gains)) == pytest.approx(expected)


@given(grades)
def test_one_dimension_is_rbp(qrels: Any) -> None:
    plain = cf.evaluate(qrels, RUN, [cf.RBP(p=0.7), cf.RBP(p=0.7, gain="linear")]).values.ravel()
    assert value(biased_rbp({"a": qrels}, RUN, p=0.7)) == pytest.approx(plain[0])
    assert value(biased_rbp({"a": qrels}, RUN, p=0.7, gains={"a": "linear"})) == pytest.approx(plain[1])
    assert urbp(qrels, qrels, p=0.7) == pytest.approx(plain[0])


@given(grades, grades, st.floats(0.1, 5), st.floats(0.1, 5))
def test_cam_and_mm_agree_with_their_definitions(a: Any, b: Any, x: float, y: float) -> None:
    one, two = (value(cf.evaluate(qrels, RUN, "nDCG")) for qrels in (a, b))
    weights = {"a": x, "b": y}
    assert value(cam({"a": a, "b": b}, RUN, "nDCG", weights=weights)) == pytest.approx((x * one + y * two) / (x + y))
    assert value(mm({"a": a, "b": b}, RUN, "nDCG", weights=weights)) == pytest.approx((x + y) / (x / one + y / two))
    assert value(mm({"a": a, "b": b}, RUN, "nDCG")) == pytest.approx(2 * one * two / (one + two))


@given(grades)
def test_the_mean_over_identical_dimensions_is_the_measure(qrels: Any) -> None:
    measures = ["AP", "nDCG@3"]
    plain = cf.evaluate(qrels, RUN, measures)
    for mean, name in ((cam, "CAM"), (mm, "MM")):
        scores = mean({"a": qrels, "b": qrels, "c": qrels}, RUN, measures)
        assert scores.values.ravel().tolist() == pytest.approx(plain.values.ravel().tolist())
        assert scores.measures == (f"{name}(AP)", f"{name}(nDCG@3)")


def test_mm_is_0_if_one_dimension_scores_0() -> None:
    dimensions = {"a": {"q": {"d0": 1}}, "b": {"q": {"x": 1}}}  # x is not retrieved
    assert value(mm(dimensions, RUN, "RR")) == 0
    assert value(cam(dimensions, RUN, "RR")) == 0.5
    assert value(mm(dimensions, RUN, "RR", weights={"a": 1, "b": 0})) == 1  # b does not count


def test_undefined_in_one_dimension_is_undefined() -> None:
    dimensions = {"a": {"q": {"d0": 1}, "r": {"d1": 1}}, "b": {"q": {"d0": 0}, "r": {"d1": 1}}}
    run = {**RUN, "r": {"d1": 1.0}}
    with pytest.warns(CranfieldWarning, match="undefined"):
        scores = mm(dimensions, run, "AP").to_dict()["run"]
    assert math.isnan(scores["q"]["MM(AP)"])
    assert scores["r"]["MM(AP)"] == 1


def test_topics_not_judged_in_all_dimensions_are_left_out_with_a_warning() -> None:
    dimensions = {"a": {"q": {"d0": 1}, "r": {"d0": 1}}, "b": {"q": {"d0": 1}}}
    run = {**RUN, "r": {"d0": 1.0}}
    with pytest.warns(CranfieldWarning) as caught:
        assert mm(dimensions, run, "RR").topics == ("q",)
    assert any("1 topic is not judged in all dimensions, and left out of" in str(warning.message) for warning in caught)
    with pytest.raises(UsageError, match="no topic is judged in all dimensions: relevance, b"):
        mm({"a": {"q": {"d0": 1}}, "b": {"r": {"d0": 1}}}, run, "RR")


def test_missing_topics_can_be_skipped() -> None:
    qrels = {"q": {"d0": 1}, "r": {"d0": 1}}
    with pytest.warns(CranfieldWarning, match="missing from runs"):
        scores = cam({"a": qrels, "b": qrels}, RUN, "RR", missing="skip")
    assert scores.mean()["run"] == {"CAM(RR)": 1.0}
    assert scores.missing.tolist() == [[False, True]]


def test_wrong_arguments_are_named() -> None:
    qrels = {"q": {"d0": 1}}
    with pytest.raises(UsageError, match=r"weights of \['a'\], must be of the dimensions: \['a', 'b'\]"):
        cam({"a": qrels, "b": qrels}, RUN, "RR", weights={"a": 1})
    with pytest.raises(UsageError, match=r"weights\['a'\] == -1, must be 0 or above"):
        mm({"a": qrels}, RUN, "RR", weights={"a": -1})
    with pytest.raises(UsageError, match="all weights are 0"):
        mm({"a": qrels}, RUN, "RR", weights={"a": 0})
    with pytest.raises(UsageError, match=r"gains\['a'\] == 'exp', must be one of 'binary', 'linear'"):
        biased_rbp({"a": qrels}, RUN, gains={"a": "exp"})
    with pytest.raises(UsageError, match="gains: no dimension 'z'"):
        biased_rbp({"a": qrels}, RUN, gains={"z": "linear"})
    with pytest.raises(UsageError, match="at least one dimension"):
        mm({}, RUN, "RR")


# -- by name

CLEAR = {"q": {"d0": 0, "d1": 2, "d3": 4, "d4": 1}}
RELEVANT = {"q": {"d0": 1, "d1": 1, "d2": 0, "d3": 1}}


def by_name(name: str, **dimensions: Any) -> float:
    return value(cf.evaluate(RELEVANT, RUN, name, dimensions=dimensions))


def test_measures_by_name_by_hand() -> None:
    # relevant at ranks 1, 2, 4; clear at 2, 4, 5: both at 2 and 4
    assert by_name("uRBP(p=0.5)", understandability=CLEAR) == pytest.approx(0.5 * (0.5 + 0.125))
    assert by_name("uRBP(p=0.5)@3", understandability=CLEAR) == pytest.approx(0.25)
    assert by_name("uRBPgr(p=0.5)", understandability=CLEAR) == pytest.approx(0.5 * (0.5 * 2 / 4 + 0.125))
    assert by_name("cRBP(p=0.5,rel=2)", credibility=CLEAR) == 0  # no document has grade 2
    relevant, clear = (1 / 1 + 2 / 2 + 3 / 4) / 3, (1 / 2 + 2 / 4 + 3 / 5) / 3
    assert by_name("CAM(AP)", clear=CLEAR) == pytest.approx((relevant + clear) / 2)
    assert by_name("CAM(AP,weights={relevance:3,clear:1})", clear=CLEAR) == pytest.approx((3 * relevant + clear) / 4)
    assert by_name("MM(AP)", clear=CLEAR) == pytest.approx(2 / (1 / relevant + 1 / clear))
    # d5 is not judged, d4 not for relevance: without them and d2 (which clear does not judge) clear has 0 2 4 1
    assert by_name("CAM(AP')", clear=CLEAR) == pytest.approx((relevant + (1 / 2 + 2 / 3 + 3 / 4) / 3) / 2)


def test_views_apply_to_every_dimension() -> None:
    tied = {"q": {"d0": 2.0, "d1": 1.0, "d2": 1.0}}
    relevant, clear = {"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 1, "d2": 0}}

    def score_of(name: str) -> float:
        return value(cf.evaluate(relevant, tied, name, dimensions={"understandability": clear}))

    # d1 is at rank 2 or 3; d0, which is not judged, is removed when the list is condensed
    assert score_of("uRBP(p=0.5)[ties]") == pytest.approx(0.5 * (0.5 + 0.25) / 2)
    assert score_of("uRBP'(p=0.5)[ties]") == pytest.approx(0.5 * (1 + 0.5) / 2)
    assert score_of("CAM(RR[ties])") == pytest.approx((1 / 2 + (1 / 2 + 1 / 3) / 2) / 2)
    # d0 is best in both dimensions, or in none; d1 is relevant in both, d2 is not clear
    assert score_of("uRBP(p=0.5)[best,ties]") == pytest.approx(0.5 + 0.5 * (0.5 + 0.25) / 2)
    assert score_of("uRBP(p=0.5)[worst,ties]") == pytest.approx(0.5 * (0.5 + 0.25) / 2)


def test_a_cutoff_after_the_bracket_is_that_of_the_inner_measure() -> None:
    assert cf.parse("CAM(nDCG)@10") == cf.parse("CAM(nDCG@10)")
    assert str(cf.parse("MM(AP)'")) == "MM(AP')"


@given(grades, grades)
def test_names_and_functions_give_the_same_scores(a: Any, b: Any) -> None:
    names = ["uRBP", "uRBPgr", "CAM(nDCG@3)", "MM(RR)", "AP"]
    by_name = cf.evaluate(a, RUN, names, dimensions={"understandability": b}).values.ravel().tolist()
    both = {"a": a, "b": b}
    functions = [biased_rbp(both, RUN), biased_rbp(both, RUN, gains={"b": "linear"}), cam(both, RUN, "nDCG@3")]
    functions += [mm(both, RUN, "RR"), cf.evaluate(a, RUN, "AP")]
    assert by_name == pytest.approx([*map(value, functions)])


def test_scores_do_not_depend_on_the_other_runs() -> None:
    runs = {"one": RUN, "two": {"q": {"d3": 2.0, "d9": 1.5, "d1": 1.0}}}
    names = ["uRBP(p=0.5)", "CAM(AP)", "MM(nDCG)"]
    together = cf.evaluate(RELEVANT, runs, names, dimensions={"understandability": CLEAR})
    for run in runs:
        alone = cf.evaluate(RELEVANT, {run: runs[run]}, names, dimensions={"understandability": CLEAR})
        assert together.select(runs=[run]).values.tolist() == alone.values.tolist()


def test_an_evaluator_reads_dimensions_once() -> None:
    evaluator = cf.Evaluator(RELEVANT, "uRBP(p=0.5)", options=cf.JoinOptions(dimensions={"understandability": CLEAR}))
    assert [value(evaluator.evaluate(RUN)) for _ in range(2)] == [0.3125, 0.3125]


def test_explain_shows_every_dimension() -> None:
    options = cf.JoinOptions(dimensions={"understandability": CLEAR})
    explained = cf.explain(RELEVANT, RUN, "q", "uRBP(p=0.5)", options=options)
    assert explained.columns == ("relevance gain", "understandability gain", "weight", "adds")
    assert [line.so_far for line in explained.lines] == pytest.approx([0, 0.25, 0.25, 0.3125, 0.3125, 0.3125])
    explained = cf.explain(RELEVANT, RUN, "q", "CAM(AP)", options=options)
    assert "relevance: AP 0.9167, weight 0.5000" in explained.notes  # (1 + 1 + 3/4) / 3
    assert "understandability: AP 0.5333, weight 0.5000" in explained.notes  # (1/2 + 2/4 + 3/5) / 3
    assert explained.lines[-1].so_far == pytest.approx(explained.score)
    assert explained.lines[0].so_far == pytest.approx((1 / 3 + 0) / 2)


def test_a_topic_that_a_dimension_lacks_is_undefined_there_and_counts_for_others() -> None:
    relevant = {**RELEVANT, "r": {"d0": 1}}
    run = {**RUN, "r": {"d0": 1.0}}
    with pytest.warns(CranfieldWarning) as caught:
        scores = cf.evaluate(relevant, run, ["AP", "uRBP(p=0.5)", "CAM(AP)"], dimensions={"understandability": CLEAR})
    assert any("1 topic is not judged in all dimensions" in str(warning.message) for warning in caught)
    assert scores.to_dict()["run"]["r"]["AP"] == 1
    assert math.isnan(scores.to_dict()["run"]["r"]["uRBP(p=0.5)"])
    assert math.isnan(scores.to_dict()["run"]["r"]["CAM(AP)"])
    assert scores.mean()["run"]["uRBP(p=0.5)"] == pytest.approx(0.3125)


def test_missing_dimensions_are_named() -> None:
    with pytest.raises(UsageError, match=r"uRBP: no judgments of understandability; give them as dimensions="):
        cf.evaluate(RELEVANT, RUN, "uRBP")
    with pytest.raises(UsageError, match=r"cRBP: no judgments of credibility; .*; there are relevance, clear"):
        by_name("cRBP", clear=CLEAR)
    with pytest.raises(UsageError, match=r"CAM: no judgments of a further dimension; .*NAME"):
        cf.evaluate(RELEVANT, RUN, "CAM(AP)")
    with pytest.raises(UsageError, match="CAM: weights has relevance but not clear; give a dimension weight 0"):
        by_name("CAM(AP,weights={relevance:1})", clear=CLEAR)
    with pytest.raises(UsageError, match="CAM: weights: no judgments of other; "):
        by_name("CAM(AP,weights={relevance:1,clear:1,other:1})", clear=CLEAR)


def test_wrong_dimensions_are_named() -> None:
    with pytest.raises(UsageError, match="'relevance' is the name of the main judgments"):
        by_name("AP", relevance=CLEAR)
    with pytest.raises(UsageError, match=r"name == 'a b', must consist of letters"):
        by_name("AP", **{"a b": CLEAR})
    with pytest.raises(UsageError, match=r"dimensions == \{\}, must be"):
        cf.evaluate(RELEVANT, RUN, "AP", dimensions={})
    with pytest.raises(UsageError, match="judged by intent, which dimensions do not support"):
        cf.evaluate(b"q a d0 1\nq b d0 1\n", RUN, "AP", dimensions={"clear": CLEAR})
    with pytest.raises(UsageError, match="dimensions cannot be combined with intents or inclusion"):
        cf.evaluate(RELEVANT, RUN, "AP", dimensions={"clear": CLEAR}, inclusion={"q": {"d0": 1}})
    with pytest.raises(UsageError, match="dimensions: 1 grades for clear, but there are 2 documents"):
        cf.parse("CAM(AP)").of([1, 0], dimensions={"clear": [1]})
    with pytest.raises(UsageError, match=r"MM\(Utility\): a score is below 0"):
        by_name("MM(Utility)", clear={"q": {"d0": 0, "d1": 0}})


def test_properties_of_a_mean_follow_from_the_inner_measure() -> None:
    assert cf.parse("CAM(ESL)").properties.better == "lower"
    assert cf.parse("CAM(nDCG)").properties.graded
    assert not cf.parse("CAM(AP)").properties.graded


@pytest.mark.parametrize("name", ["TBG", "TBG'", "U", "ADM", "nDCG@2", "Q'"])
def test_a_mean_of_any_measure_is_the_mean_of_its_scores(name: str) -> None:
    run = {"q": {"d1": 0.9, "d9": 0.8, "d2": 0.5, "d3": 0.5}}  # d9 is judged in one dimension only, d2 and d3 are tied
    relevant, clear = {"q": {"d1": 1, "d2": 1, "d3": 0}}, {"q": {"d1": 0, "d2": 1, "d9": 2, "d8": 1}}
    lengths = {"d1": 100, "d2": 200, "d3": 300, "d9": 50}
    one, two = (value(cf.evaluate(qrels, run, name, lengths=lengths)) for qrels in (relevant, clear))
    both = cf.evaluate(relevant, run, [f"CAM({name})", f"MM({name})"], dimensions={"clear": clear}, lengths=lengths)
    assert both.values.ravel().tolist() == pytest.approx([(one + two) / 2, 2 / (1 / one + 1 / two)])


@pytest.mark.parametrize("weights", [3, "x", None])
def test_weights_must_be_a_table(weights: object) -> None:
    with pytest.raises(UsageError, match=r"MM: weights == .*, must be a table such as {relevance: 3"):
        MM("AP", weights=weights)
