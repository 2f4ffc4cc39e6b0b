"""Frames with names and labels of their own in every function of judgments and runs; arguments in the wrong order."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import cranfield as cf
from cranfield import DataError, UsageError

JUDGED = pd.DataFrame(
    [(topic, doc, label) for topic in "qrst" for doc, label in (("a", "good"), ("b", "bad"))],
    columns=["frage", "ware", "urteil"],
)
RUNS = {
    name: pd.DataFrame([(topic, doc, 2 - place) for topic in "qrst" for place, doc in enumerate(docs)],
                       columns=["query_id", "doc_id", "score"])
    for name, docs in (("first", "ab"), ("second", "ba"))
}  # fmt: skip
NAMED: dict[str, Any] = {
    "columns": {"topic": "frage", "doc": "ware", "grade": "urteil"},
    "grades": {"good": 1, "bad": 0},
}


def test_columns_and_grades_are_taken_wherever_runs_may_replace_scores() -> None:
    # "a" is relevant: the first run has it at rank 1, the second at rank 2
    [pair] = cf.compare(JUDGED, RUNS, "RR", **NAMED).rows()  # type: ignore[call-overload]
    assert (pair["system"], pair["difference"]) == ("first", 0.5)
    assert "0.7500" in str(cf.topics(JUDGED, RUNS, "RR", **NAMED))  # type: ignore[call-overload]
    assert "first" in str(cf.leaderboard(JUDGED, RUNS, "RR", **NAMED))
    assert cf.gate(JUDGED, {"first": RUNS["first"]}, "RR", at_least={"RR": 0.9}, **NAMED).passed
    assert cf.explain(JUDGED, RUNS["second"], "q", "RR", **NAMED).score == 0.5
    assert "first" in str(cf.report(JUDGED, RUNS, "RR", sections=["summary"], **NAMED).sections[0].points[0])


def test_a_text_may_name_several_measures_as_in_evaluate() -> None:
    pairs = cf.compare(JUDGED, RUNS, "RR,P@1", **NAMED).rows()  # type: ignore[call-overload]
    assert [(pair["measure"], pair["difference"]) for pair in pairs] == [("RR", 0.5), ("P@1", 1.0)]


def test_arguments_in_the_wrong_order_name_the_right_one() -> None:
    qrels, runs = {"t7": {"a": 1}}, {"mine": {"t7": {"a": 2.0}}}
    with pytest.raises(UsageError, match="the measures are a dict; the order is judgments, runs, measures"):
        cf.evaluate(qrels, "RR", runs)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"'mine' has \{'t7': \{...\}\}.*if these are runs, they come second"):
        cf.evaluate(runs, qrels, "RR")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="'first' is a whole table; if these are runs, they come second"):
        cf.evaluate(RUNS, JUDGED, "RR")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="explain: the measure is 't7' and the topic 'RR'; the topic comes first"):
        cf.explain(qrels, runs["mine"], "RR", "t7")
    with pytest.raises(UsageError, match=r"no measure 'page\.html'; there are 'RR'"):
        cf.report(cf.evaluate(qrels, runs, "RR"), "page.html")
