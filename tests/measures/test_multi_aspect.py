"""TOMA: grades by the distance to the best labels in all dimensions."""

from __future__ import annotations

import itertools
import math

import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.measures import TOMA

# Two dimensions with labels 0, 1, 2; the best tuple is (2, 2). Distances of all tuples, by hand:
#   euclidean: (2,2) 0 | (1,2), (2,1) 1 | (1,1) √2 | (0,2), (2,0) 2 | (0,1), (1,0) √5 | (0,0) √8: grades 5 4 3 2 1 0
#   manhattan: 0 | 1 | (1,1), (0,2), (2,0) 2 | (0,1), (1,0) 3 | (0,0) 4: grades 4 3 2 1 0
#   chebyshev: 0 | (1,2), (2,1), (1,1) 1 | all with a 0: 2: grades 2 1 0
TUPLES = list(itertools.product(range(3), range(3)))
EXPECTED = {
    "euclidean": {(2, 2): 5, (1, 2): 4, (2, 1): 4, (1, 1): 3, (0, 2): 2, (2, 0): 2, (0, 1): 1, (1, 0): 1, (0, 0): 0},
    "manhattan": {(2, 2): 4, (1, 2): 3, (2, 1): 3, (1, 1): 2, (0, 2): 2, (2, 0): 2, (0, 1): 1, (1, 0): 1, (0, 0): 0},
    "chebyshev": {(2, 2): 2, (1, 2): 1, (2, 1): 1, (1, 1): 1, (0, 2): 0, (2, 0): 0, (0, 1): 0, (1, 0): 0, (0, 0): 0},
}


def grade(measure: TOMA, first: float | None, second: float | None) -> float:
    """The grade of one document; others have all labels, so that 2 is the largest of both dimensions."""
    relevance, other = zip(*TUPLES, strict=True)
    return measure.replace(inner="CG@1").of([first, *relevance], dimensions={"clear": [second, *other]})


@pytest.mark.parametrize("distance", EXPECTED)
def test_grades_follow_the_distance_to_the_best_labels(distance: str) -> None:
    measure = TOMA(distance=distance)
    assert {labels: grade(measure, *labels) for labels in TUPLES} == EXPECTED[distance]


def test_grades_may_be_the_distances_themselves() -> None:
    measure = TOMA(grades="distance")
    assert grade(measure, 1, 2) == pytest.approx(math.sqrt(8) - 1)
    assert grade(measure, 0, 0) == 0


def test_a_better_label_in_one_dimension_never_has_a_lower_grade() -> None:
    """The order of distances extends the partial order of tuples."""
    for distance, grades in itertools.product(EXPECTED, ("order", "distance")):
        measure = TOMA(distance=distance, grades=grades)
        values = {labels: grade(measure, *labels) for labels in TUPLES}
        for lower, upper in itertools.product(TUPLES, TUPLES):
            if lower[0] <= upper[0] and lower[1] <= upper[1]:
                assert values[lower] <= values[upper]


def test_weights_stretch_the_dimensions() -> None:
    measure = TOMA(weights={"relevance": 2, "clear": 1}, distance="manhattan")
    # distances 2·(2 − relevance) + (2 − clear) are 0 to 6, all of them possible
    assert grade(measure, 1, 2) == 6 - 2
    assert grade(measure, 2, 1) == 6 - 1
    assert grade(TOMA(weights={"relevance": 1, "clear": 0}), 1, 0) == 1


def test_a_dimension_that_does_not_judge_a_document_counts_as_0() -> None:
    assert grade(TOMA(), 2, None) == EXPECTED["euclidean"][2, 0]
    assert TOMA("Judged").of([None, 1], dimensions={"clear": [None, 1]}) == 0.5


def test_any_measure_can_be_inside() -> None:
    qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 2}}
    clear = {"q": {"a": 0, "b": 2, "c": 1, "d": 2}}
    run = {"q": {"a": 4.0, "x": 3.0, "c": 2.0, "b": 1.0}}
    names = ["TOMA(nDCG@3)", 'TOMA(RR(rel=3),distance="manhattan")', "TOMA(AP)"]
    scores = cf.evaluate(qrels, {"mine": run}, names, dimensions={"clear": clear}).to_dict()["mine"]["q"]
    # grades: a 2, c 3, b 2, d 5 (not retrieved); the ideal list is 5 3 2
    ideal = 5 + 3 / math.log2(3) + 2 / 2
    assert scores["TOMA(nDCG@3)"] == pytest.approx((2 + 3 / 2) / ideal)
    assert scores['TOMA(RR(rel=3),distance="manhattan")'] == 0  # a, c and b have grade 2 of 4
    assert scores["TOMA(AP)"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 4)


def test_explain_shows_the_measure_inside() -> None:
    qrels, clear = {"q": {"a": 2, "b": 0}}, {"q": {"a": 0, "b": 2}}
    options = cf.JoinOptions(dimensions={"clear": clear})
    explanation = cf.explain(qrels, {"q": {"a": 2.0, "b": 1.0}}, "q", "TOMA(CG)", options=options)
    # the possible distances are 0, 2 and √8, so both documents have grade 1
    assert [line.so_far for line in explanation.lines] == [1, 2]
    assert any("the best labels are relevance 2, clear 2" in note for note in explanation.notes)


@pytest.mark.parametrize(
    "name",
    ["TOMA(nDCG@10)", 'TOMA(AP,weights={relevance:2,clear:1},distance="manhattan",grades="distance")', "TOMA(AP')"],
)
def test_names_are_read_back(name: str) -> None:
    assert str(cf.parse(name)) == name
    assert cf.parse(str(cf.parse(name))) == cf.parse(name)


def test_mistakes_in_names() -> None:
    with pytest.raises(UsageError, match="distance == 'far', must be"):
        cf.parse("TOMA(AP,distance=far)")
    with pytest.raises(UsageError, match="CAM: unknown or repeated parameter 'distance'"):
        cf.parse("CAM(AP,distance=manhattan)")
    with pytest.raises(UsageError, match="TOMA: no judgments of a further dimension"):
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "TOMA(AP)")
