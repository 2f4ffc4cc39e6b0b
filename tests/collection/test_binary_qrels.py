"""Judgments whose grades a threshold makes binary."""

from __future__ import annotations

import pytest

import cranfield as cf
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError

GRADES = {"q1": {"d1": 3, "d2": 2, "d3": 1, "d4": 0, "d5": -1}, "q2": {"d1": 0.5}}
ONE = {"q1": GRADES["q1"]}
RUNS = {"a": {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}}


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (1, {"q1": {"d1": 1, "d2": 1, "d3": 1, "d4": 0, "d5": 0}, "q2": {"d1": 0}}),
        (2, {"q1": {"d1": 1, "d2": 1, "d3": 0, "d4": 0, "d5": 0}, "q2": {"d1": 0}}),
        (0.5, {"q1": {"d1": 1, "d2": 1, "d3": 1, "d4": 0, "d5": 0}, "q2": {"d1": 1}}),
    ],
)
def test_grades_from_the_threshold_are_1(least: float, expected: dict[str, dict[str, int]]) -> None:
    assert Qrels.of(GRADES).binary(least).to_dict() == expected


def test_measures_of_binary_relevance_are_those_with_rel() -> None:
    ours = cf.evaluate(Qrels.of(ONE).binary(2), RUNS, ["AP", "P@2"])
    theirs = cf.evaluate(ONE, RUNS, ["AP(rel=2)", "P(rel=2)@2"])
    assert ours.values[:, 0, 0].tolist() == theirs.values[:, 0, 0].tolist() == [(1 / 2 + 2 / 3) / 2, 1 / 2]


def test_judgments_by_intent_are_refused() -> None:
    by_intent = Qrels.of(b"1 a d1 1\n1 b d1 0\n").with_intents()
    with pytest.raises(UsageError, match="by intent"):
        by_intent.binary(1)


def test_a_threshold_of_0_is_refused() -> None:
    with pytest.raises(UsageError, match="least"):
        Qrels.of(GRADES).binary(0)
