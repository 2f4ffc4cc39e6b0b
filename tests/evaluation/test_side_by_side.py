"""Missed documents, the topic's text, and two lists beside each other."""

import math
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.collection.topics import Topic
from cranfield.errors import DataError, UsageError
from cranfield.evaluation.explanation import Missed, explain

QRELS = {"1": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}
FIRST = {"1": {"c": 9.0, "a": 8.0, "x": 7.0, "b": 6.0, "d": 5.0}}
SECOND = {"1": {"a": 9.0, "e": 8.0, "c": 7.0, "d": 6.0}}


def test_missed_are_the_relevant_documents_below_the_cutoff_or_not_retrieved() -> None:
    # First list: c a x b d. Relevant: a, b, d, e. Down to rank 2 only a is there; b has rank 4, d rank 5, e none.
    explained = explain(QRELS, FIRST, "1", "nDCG@2")
    assert explained.missed == (Missed("e", 2, None), Missed("b", 1, 4), Missed("d", 1, 5))
    assert "missed: 3 relevant documents, 2 below rank 2 and 1 not retrieved" in str(explained)
    assert explain(QRELS, FIRST, "1", "AP").missed == (Missed("e", 2, None),)
    assert explain(QRELS, FIRST, "1", "AP", depth=4).missed == (Missed("e", 2, None), Missed("d", 1, 5))
    assert explain(QRELS, FIRST, "1", "P(rel=2)@1").missed == (Missed("a", 2, 2), Missed("e", 2, None))
    assert not explain(QRELS, {"1": {"a": 4.0, "b": 3.0, "d": 2.0, "e": 1.0}}, "1", "AP").missed


def test_a_condensed_list_gives_the_ranks_that_it_shows() -> None:
    # Without the unjudged x: c a b d, so d is at rank 4.
    assert explain(QRELS, FIRST, "1", "nDCG'@3").missed == (Missed("e", 2, None), Missed("d", 1, 4))


def test_unjudged_documents_are_named_so() -> None:
    explained = explain(QRELS, FIRST, "1", "AP")
    (line,) = [line for line in str(explained).splitlines() if "  x " in line]
    assert "unjudged" in line
    statuses = [line["status"] for line in explained.to_dict()["lines"]]
    assert statuses == ["not relevant", "relevant", "unjudged", "relevant", "relevant"]


def test_documents_judged_by_intent_have_their_highest_grade(tmp_path: Path) -> None:
    file = tmp_path / "div.qrels"
    file.write_text("1 1 a 1\n1 2 a 3\n1 1 b 1\n1 2 b 0\n")
    explained = explain(str(file), {"1": {"z": 2.0, "b": 1.0}}, "1", "alpha-nDCG@1")
    assert explained.missed == (Missed("a", 3, None), Missed("b", 1, 2))


def test_the_topics_text_is_shown() -> None:
    topics = cf.Topics([Topic("1", "flutter", "At what speed?", "Wings only.")])
    explained = explain(QRELS, FIRST, "1", "AP", topics=topics)
    assert str(explained).splitlines()[1:4] == [
        "topic: flutter",
        "description: At what speed?",
        "narrative: Wings only.",
    ]
    assert explained.to_dict()["text"] == {
        "title": "flutter",
        "description": "At what speed?",
        "narrative": "Wings only.",
    }
    with pytest.raises(DataError, match="has no topic '1'; its topics are 7"):
        explain(QRELS, FIRST, "1", "AP", topics={"7": "other"})


def test_two_lists_beside_each_other() -> None:
    # DCG of c a x | a e c: first 2/log2(3), second 2 + 2/log2(3); ideal 2 + 2/log2(3) + 1/2.
    both = explain(QRELS, FIRST, "1", "nDCG@3").beside(explain(QRELS, SECOND, "1", "nDCG@3"))
    ideal = 2 + 2 / math.log2(3) + 0.5
    assert both.scores == pytest.approx((2 / math.log2(3) / ideal, (2 + 2 / math.log2(3)) / ideal))
    rows = {x.doc: (x.first, x.second, x.moved, x.status) for x in both.documents}
    assert rows == {
        "e": (None, 2, "new", "relevant"),
        "a": (2, 1, "up 1", "relevant"),
        "c": (1, 3, "down 2", "not relevant"),
        "x": (3, None, "gone", "unjudged"),
    }
    change = {x.doc: x.change for x in both.documents}
    assert change == {
        "e": pytest.approx(2 / math.log2(3)), "a": pytest.approx(2 - 2 / math.log2(3)), "c": None, "x": None,
    }  # fmt: skip
    assert next(x.doc for x in both.documents) == "e"  # the largest change first
    total = sum(value or 0 for value in change.values())
    assert total / ideal == pytest.approx(both.difference)
    assert f"the difference is the sum of 'change', {total:+.4f}, divided by {ideal:.4f}" in both.notes
    assert [(a.doc, a.rank, b.rank) for a, b in both.missed] == [("b", 4, None), ("d", 5, 4)]
    assert "1 document moved up, 1 down, 1 only in first, 1 only in second" in both.notes


def test_a_measure_that_is_not_a_sum_has_no_column_for_what_documents_add() -> None:
    both = explain(QRELS, FIRST, "1", "bpref").beside(explain(QRELS, SECOND, "1", "bpref"))
    if not both.is_sum:
        assert not any(name.startswith("adds") for name in both.columns())
    curve = explain(QRELS, FIRST, "1", "IPrec@0.5").beside(explain(QRELS, SECOND, "1", "IPrec@0.5"))
    assert not curve.is_sum
    assert "change" not in curve.columns()
    assert "a" in str(curve)


def test_deep_lists_show_relevant_documents_and_count_the_rest() -> None:
    first = {"1": {f"n{i:03}": 200.0 - i for i in range(100)} | {"a": 1.0}}
    second = {"1": {f"n{i:03}": 200.0 - i for i in range(99, -1, -1)} | {"a": 300.0}}
    both = explain(QRELS, first, "1", "AP").beside(explain(QRELS, second, "1", "AP"))
    assert next(x.doc for x in both.documents) == "a"
    assert both.documents[0].moved == "up 100"
    assert any(note == "80 documents below rank 20 that are not relevant are left out" for note in both.notes)


def test_lists_of_different_topics_or_measures_cannot_be_put_beside_each_other() -> None:
    one = explain(QRELS, FIRST, "1", "AP")
    with pytest.raises(UsageError, match="the measure is AP in one list and RR in the other"):
        one.beside(explain(QRELS, SECOND, "1", "RR"))
    with pytest.raises(UsageError, match="the topic is 1 in one list and 2 in the other"):
        one.beside(explain({"2": {"a": 1}}, {"2": {"a": 1.0}}, "2", "AP"))
