"""Several dimensions of relevance: arithmetic by hand, loops from the definitions, and what they reduce to."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield import CranfieldWarning, UsageError
from cranfield.dimensions import biased_rbp, cam, crbp, mm, urbp

DOCS = [f"d{i}" for i in range(6)]
RUN = {"q": {doc: float(10 - i) for i, doc in enumerate(DOCS)}}

grades = st.lists(st.integers(0, 3), min_size=6, max_size=6).map(
    lambda given: {"q": dict(zip(DOCS, given, strict=True))}
).filter(lambda qrels: max(qrels["q"].values()) > 0)  # fmt: skip


def value(scores: cf.Scores) -> float:
    return float(scores.values.item())


def test_urbp_by_hand() -> None:
    relevance = {"q": {"d0": 1, "d1": 1, "d2": 0, "d3": 1}}
    clear = {"q": {"d0": 0, "d1": 2, "d2": 4, "d3": 4}}
    # relevant at ranks 1, 2, 4; binary clear at 2 and 4: 0.5 * (0.5 + 0.125)
    assert value(urbp(relevance, clear, RUN, p=0.5)) == pytest.approx(0.3125)
    # graded: 2/4 at rank 2, 4/4 at rank 4: 0.5 * (0.25 + 0.125)
    assert value(urbp(relevance, clear, RUN, p=0.5, graded=True)) == pytest.approx(0.1875)
    assert value(crbp(relevance, clear, RUN, p=0.5)) == pytest.approx(0.3125)
    assert urbp(relevance, clear, RUN).measures == ("uRBP(p=0.8)",)


def test_a_document_not_judged_in_a_dimension_has_no_gain() -> None:
    assert value(urbp({"q": {"d0": 1, "d1": 1}}, {"q": {"d1": 1}}, RUN, p=0.5)) == pytest.approx(0.25)


def test_grades_below_zero_take_nothing_away() -> None:
    found = urbp({"q": {"d0": 1, "d1": 1}}, {"q": {"d0": -2, "d1": 2}}, RUN, p=0.5, graded=True)
    assert value(found) == pytest.approx(0.25)  # rank 2 alone: 0.5 * 0.5


@given(grades, grades, grades, st.sampled_from([0.5, 0.8, 0.95]))
def test_biased_rbp_as_its_definition_reads(a: Any, b: Any, c: Any, p: float) -> None:
    expected, some = 0.0, False
    for r, doc in enumerate(DOCS):
        gain = (a["q"][doc] >= 2) * (b["q"][doc] / max(b["q"].values())) * (c["q"][doc] >= 2)
        some |= gain > 0
        expected += (1 - p) * p**r * gain
    dimensions, gains = {"a": a, "b": b, "c": c}, {"b": "linear"}
    if some:
        found = biased_rbp(dimensions, RUN, p=p, rel=2, gains=gains)
        assert value(found) == pytest.approx(expected)
    else:
        with pytest.warns(CranfieldWarning, match="no document is judged relevant"):
            assert value(biased_rbp(dimensions, RUN, p=p, rel=2, gains=gains)) == 0


@given(grades)
def test_one_dimension_is_rbp(qrels: Any) -> None:
    plain = cf.evaluate(qrels, RUN, [cf.RBP(p=0.7), cf.RBP(p=0.7, gain="linear")]).values.ravel()
    assert value(biased_rbp({"a": qrels}, RUN, p=0.7)) == pytest.approx(plain[0])
    assert value(biased_rbp({"a": qrels}, RUN, p=0.7, gains={"a": "linear"})) == pytest.approx(plain[1])
    assert value(urbp(qrels, qrels, RUN, p=0.7)) == pytest.approx(plain[0])


@given(grades, grades, st.floats(0.1, 5), st.floats(0.1, 5))
def test_means_over_dimensions_as_their_definitions_read(a: Any, b: Any, x: float, y: float) -> None:
    one, two = (value(cf.evaluate(qrels, RUN, "nDCG")) for qrels in (a, b))
    weights = {"a": x, "b": y}
    assert value(cam({"a": a, "b": b}, RUN, "nDCG", weights=weights)) == pytest.approx((x * one + y * two) / (x + y))
    assert value(mm({"a": a, "b": b}, RUN, "nDCG", weights=weights)) == pytest.approx((x + y) / (x / one + y / two))
    assert value(mm({"a": a, "b": b}, RUN, "nDCG")) == pytest.approx(2 * one * two / (one + two))


@given(grades)
def test_identical_dimensions_are_the_measure(qrels: Any) -> None:
    measures = ["AP", "nDCG@3"]
    plain = cf.evaluate(qrels, RUN, measures)
    for mean, name in ((cam, "CAM"), (mm, "MM")):
        found = mean({"a": qrels, "b": qrels, "c": qrels}, RUN, measures)
        assert found.values.ravel().tolist() == pytest.approx(plain.values.ravel().tolist())
        assert found.measures == (f"{name}(AP)", f"{name}(nDCG@3)")


def test_no_dimension_makes_up_for_one_that_scores_nothing() -> None:
    dimensions = {"a": {"q": {"d0": 1}}, "b": {"q": {"x": 1}}}  # x is not retrieved
    assert value(mm(dimensions, RUN, "RR")) == 0
    assert value(cam(dimensions, RUN, "RR")) == 0.5
    assert value(mm(dimensions, RUN, "RR", weights={"a": 1, "b": 0})) == 1  # b does not count


def test_undefined_in_one_dimension_is_undefined() -> None:
    dimensions = {"a": {"q": {"d0": 1}, "r": {"d1": 1}}, "b": {"q": {"d0": 0}, "r": {"d1": 1}}}
    run = {**RUN, "r": {"d1": 1.0}}
    with pytest.warns(CranfieldWarning, match="undefined"):
        found = mm(dimensions, run, "AP").to_dict()["run"]
    assert math.isnan(found["q"]["MM(AP)"])
    assert found["r"]["MM(AP)"] == 1


def test_topics_not_judged_in_all_dimensions_are_left_out_with_a_warning() -> None:
    dimensions = {"a": {"q": {"d0": 1}, "r": {"d0": 1}}, "b": {"q": {"d0": 1}}}
    run = {**RUN, "r": {"d0": 1.0}}
    with pytest.warns(CranfieldWarning) as caught:
        assert mm(dimensions, run, "RR").topics == ("q",)
    assert any("1 topic not judged in all dimensions, left out: r" in str(one.message) for one in caught)
    with pytest.raises(UsageError, match="no topic is judged in all dimensions: a, b"):
        mm({"a": {"q": {"d0": 1}}, "b": {"r": {"d0": 1}}}, run, "RR")


def test_missing_topics_follow_the_rule() -> None:
    qrels = {"q": {"d0": 1}, "r": {"d0": 1}}
    with pytest.warns(CranfieldWarning, match="missing from runs"):
        found = cam({"a": qrels, "b": qrels}, RUN, "RR", missing="skip")
    assert found.mean()["run"] == {"CAM(RR)": 1.0}
    assert found.missing.tolist() == [[False, True]]


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
    with pytest.raises(UsageError, match="one dimension or more"):
        mm({}, RUN, "RR")
