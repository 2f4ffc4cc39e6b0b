"""Any measure computed through any view."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import AP, ERR, Judged, Measure, P, R, nDCG, parse
from cranfield.views import parse_view
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Condensed, Unjudged
from tests.laws.instances import ALL
from tests.oracles.joined import graded_lists, side_by_side

Graded = tuple[list[float | None], list[float]]


def agree(view: str, lists: Assessed, read: Assessed, measures: Sequence[Measure] = ALL) -> None:
    for measure in measures:
        actual, expected = measure.view(view).evaluate(lists).tolist(), measure.evaluate(read).tolist()
        assert actual == pytest.approx(expected, nan_ok=True), measure


@settings(max_examples=30, deadline=None)
@given(graded=graded_lists(lowest=-1))
def test_condensed_is_the_list_without_unjudged_documents(graded: Graded) -> None:
    grades, missed = graded
    listed = [grade for grade in grades if grade is not None]
    closed_up, pooled = [grade for grade in listed if grade >= 0], [grade for grade in listed if grade < 0]
    lists = Assessed.one(grades, missed)
    agree("condensed", lists, Assessed.one(closed_up, missed + pooled), [m for m in ALL if not m.estimates])
    agree("condensed", lists, Assessed.one(listed, missed), [m for m in ALL if m.estimates])


@settings(max_examples=30, deadline=None)
@given(graded=graded_lists())
def test_best_and_worst_give_unjudged_documents_a_grade(graded: Graded) -> None:
    grades, missed = graded
    highest = max([1, *missed, *(grade for grade in grades if grade is not None)])
    for view, grade_of_unjudged in (("best", highest), ("worst", 0)):
        read = [grade_of_unjudged if grade is None else grade for grade in grades]
        agree(view, Assessed.one(grades, missed), Assessed.one(read, missed))


@pytest.mark.parametrize(
    "name", ["P@3", "P", "RBP", "DCG", "DCG@2", "ERR(max_grade=3)", "RR", "Success@2", "CG", "gP@3"]
)
def test_best_and_worst_enclose_every_possible_judgment_when_recall_free(name: str) -> None:
    measure = parse(name)
    assert measure.properties.recall_free
    grades, judged = [None, 3, None, 0, None], [3, 0]
    low, high = (measure.view(view).of(grades) for view in ("worst", "best"))
    for guesses in product([0, 1, 3], repeat=3):
        left = list(guesses)
        filled = [left.pop() if grade is None else grade for grade in grades]
        assert low - 1e-12 <= measure.of(filled) <= high + 1e-12
    assert measure.of(grades, judged[2:]) == pytest.approx(low, rel=1e-12)


def test_added_judgments_belong_to_one_list() -> None:
    # the second list's unjudged documents must not become relevant documents of the first
    lists = side_by_side([[1], [1, None, None]], [1])
    assert R().view("best").evaluate(lists).tolist() == [1, 1]
    assert AP().view("best").evaluate(lists).tolist() == [1, 1]
    assert nDCG().view("worst").evaluate(lists).tolist() == [1, 1]
    assert Judged().view("best").evaluate(lists).tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
@pytest.mark.parametrize("reading", ["best", "worst"])
def test_the_largest_grade_is_that_of_all_topics_in_every_view(reading: str) -> None:
    lists = cf.join({"a": {"x": 1}, "b": {"y": 3}}, {"a": {"x": 1.0, "z": 1.0}, "b": {"y": 1.0}})
    grade_of_unjudged = {"best": 3, "worst": 0}[reading]
    orders = [[1, grade_of_unjudged], [grade_of_unjudged, 1]]
    err = np.mean([ERR(max_grade=3).of(order) for order in orders])  # 3, the grade of the other topic
    assert ERR().view("ties", reading).evaluate(lists)[0] == pytest.approx(err)


@pytest.mark.parametrize(("name", "expected"), [("Accuracy", 2 / 5), ("Fallout", 1), ("Specificity", 0)])
def test_a_collection_of_only_the_known_documents_is_large_enough_with_ties(name: str, expected: float) -> None:
    # all but one relevant document retrieved: TP 2, FP 2, FN 1, TN 0; the tie weighs 3 documents by thirds
    judged = {"q": {"a": 1, "b": 1, "c": 0, "d": 0, "missed": 1}}
    lists = cf.join(judged, {"q": {"a": 1.0, "b": 2.0, "c": 1.0, "d": 1.0}})
    assert parse(f"{name}(N=5)[ties]").evaluate(lists).tolist() == pytest.approx([expected])


def test_tied_documents_stay_tied_when_the_list_is_condensed() -> None:
    lists = Assessed.one([None, 0, None, 1, 0])
    lists = lists.replace(tie_first=np.array([1, 3, 5]), tie_last=np.array([2, 4, 5]))
    condensed = Condensed().apply(lists)
    assert condensed.tie_first is not None
    assert condensed.tie_last is not None
    assert condensed.tie_first.tolist() == [1, 2, 3]
    assert condensed.tie_last.tolist() == [1, 2, 3]
    lists = lists.replace(tie_first=np.array([1, 1, 5]), tie_last=np.array([4, 4, 5]))
    condensed = Condensed().apply(lists)
    assert (condensed.tie_first.tolist(), condensed.tie_last.tolist()) == ([1, 1, 3], [2, 2, 3])  # type: ignore[union-attr]


def test_the_order_of_views_is_kept() -> None:
    condensed_first, best_first = AP().view("condensed", "best"), AP().view("best", "condensed")
    assert condensed_first != best_first
    assert parse(str(condensed_first)) == condensed_first
    assert parse(str(best_first)) == best_first
    # condensed first: nothing is left to be read as relevant
    assert condensed_first.of([None, 1]) == 1
    assert P().view("condensed", "best").of([None, 0]) == 0
    assert P().view("best", "condensed").of([None, 0]) == 0.5


def test_views_are_parsed_from_names() -> None:
    assert parse_view("ties=worst") == Ties("worst")
    assert parse_view(" best ") == Unjudged("best")
    for wrong in ("best=1", "condensed=yes", "", "tied"):
        with pytest.raises(UsageError, match="is not known"):
            parse_view(wrong)
    with pytest.raises(UsageError, match="ties == 'some'"):
        Ties("some")
    with pytest.raises(UsageError, match="unjudged == 'some'"):
        Unjudged("some")


def test_a_view_is_applied_once_for_all_measures() -> None:
    lists = Assessed.one([1, None, 0])
    for measure in (AP(), P(), ERR()):
        measure.view("condensed").evaluate(lists)
    assert sum(isinstance(key, Condensed) for key in lists._cache) == 1
