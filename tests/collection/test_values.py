"""Qrels and runs are values: equal by content, hashable, picklable, immutable; and access to their entries."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Ranked, Run
from cranfield.errors import CranfieldWarning, DataError, UsageError

DIVERSITY = b"1 a d1 1\n1 b d1 0\n1 a d2 2\n2 a d1 1\n"
TIED = b"1 Q0 a 1 2.0 x\n1 Q0 b 2 2.0 x\n1 Q0 c 3 3.0 x\n2 Q0 a 1 1.0 x\n"


def without_ranks() -> Run:
    with pytest.warns(CranfieldWarning, match="the rank is '-', not a number"):
        return Run.of(b"1 Q0 a - 2.0 x\n")


VALUES: dict[str, Any] = {
    "qrels": Qrels.of({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}),
    "float grades": Qrels.of({"q1": {"d1": 0.5, "d2": -1}}),
    "intents": Qrels.of(DIVERSITY),
    "ids that are not UTF-8": Qrels.of(b"1 0 \xff 1\n\xfe 0 d 1\n"),
    "a topic without documents": Qrels.of({"q1": {}, "q2": {"d": 1}}),
    "no topics": Qrels.of({}),
    "run": Run.of(TIED),
    "run of ranks": Run.of(b"1 d1 2\n1 d2 1\n"),
    "ranks that are not numbers": without_ranks(),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_pickles_and_copies_are_equal(value: Any) -> None:
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert other == value
        assert other is not value
        assert hash(other) == hash(value)
        assert (other.name, other.path, other.topics) == (value.name, value.path, value.topics)
        if isinstance(value, Run):
            assert other.table.names == [value.name]


def test_qrels_are_equal_whatever_the_order() -> None:
    assert Qrels.of(b"1 0 a 1\n2 0 b 1\n1 0 c 0\n") == Qrels.of(b"2 Q0 b 1\n1 Q0 c 0\n1 Q0 a 1\n")
    assert Qrels.of(b"1 0 a 1\n") != Qrels.of(b"1 0 a 2\n")
    assert Qrels.of(b"1 0 a 1\n") != Qrels.of(b"1 1 a 1\n")  # column 2 counts where it is not 0
    assert Qrels.of(b"1 0 a 1\n") != Qrels.of(b"2 0 a 1\n")
    assert Qrels.of(b"1 0 a 1\n") != Run.of({"1": {"a": 1.0}})


def test_the_order_of_a_run_is_part_of_it() -> None:
    assert Run.of({"1": {"a": 1, "b": 1}}) != Run.of({"1": {"b": 1, "a": 1}})
    assert Run.of({"1": {"a": 1}, "2": {"a": 1}}) == Run.of({"2": {"a": 1}, "1": {"a": 1}}, name="other")
    assert Run.of(b"1 Q0 a 1 1 x\n") != Run.of(b"1 Q0 a 2 1 x\n")  # another rank
    assert Run.of(b"1 Q0 a 1 1 x\n") == Run.of({"1": {"a": 1}})  # no rank to differ from


def test_values_are_immutable() -> None:
    for value in (VALUES["qrels"], VALUES["run"]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.name = "other"


def test_repr_shows_the_size() -> None:
    assert repr(VALUES["qrels"]) == "<Qrels 'qrels': 2 topics, 3 judgments>"
    assert repr(VALUES["run"]) == "<Run 'x': 2 topics, 4 documents>"


def test_column_two_is_the_intent_if_it_varies() -> None:
    qrels = Qrels.of(DIVERSITY)
    assert qrels.has_intents
    assert qrels.intents == ("a", "b")
    assert qrels.grades("1", intent="a") == {"d1": 1, "d2": 2}
    assert qrels.grades("1", intent="b") == {"d1": 0}
    assert [judgment.iteration for judgment in qrels] == ["a", "b", "a", "a"]
    assert Qrels.of(b"1 0 d1 1\n2 1 d1 0\n").intents == ()  # varies between topics only
    assert not VALUES["qrels"].has_intents
    with pytest.raises(DataError, match="topic '1' is judged by intent; choose one, such as intent='a'"):
        qrels.grades("1")
    with pytest.raises(DataError, match="judged by intent: a document has several grades"):
        qrels.to_dict()


def test_judgments_by_intent_join_only_with_a_rule() -> None:
    qrels = Qrels.of(DIVERSITY, name="web")
    with pytest.raises(DataError) as caught:
        qrels.judged()
    assert str(caught.value) == (
        "web: topic '1': document 'd1' is judged twice, for intents (or iterations) 'a' and 'b'; "
        "to take its highest grade: on_duplicate='max'; or use measures of diversity"
    )
    judged = qrels.judged("max")
    assert judged is qrels.judged("max")
    assert judged.topics == ["1", "2"]
    assert judged.start.tolist() == [0, 2, 3]
    assert judged.grade.tolist() == [1, 2, 1]


def test_looking_up_topics() -> None:
    qrels = VALUES["qrels"]
    assert qrels.topics == ("q1", "q2")
    assert "q1" in qrels
    assert "q3" not in qrels
    assert len(qrels) == 3
    with pytest.raises(KeyError, match="no topic 'q3' in qrels"):
        qrels.grades("q3")
    assert Qrels.of({7: {"d": 1}}).grades(7) == {"d": 1}


def test_grades_are_integers_if_all_are_whole() -> None:
    assert [type(grade) for grade in VALUES["qrels"].grades("q1").values()] == [int, int]
    assert VALUES["float grades"].to_dict() == {"q1": {"d1": 0.5, "d2": -1.0}}
    assert Qrels.of({"q": {"d": float("inf")}}).to_dict() == {"q": {"d": float("inf")}}


def test_rankings_by_each_order() -> None:
    run = Run.of(b"1 Q0 a 3 2.0 x\n1 Q0 b 1 2.0 x\n1 Q0 c 2 3.0 x\n")
    assert run.ranking("1") == [Ranked(1, "c", 3.0), Ranked(2, "b", 2.0), Ranked(3, "a", 2.0)]
    assert [place.doc for place in run.ranking("1", "rank")] == ["b", "c", "a"]
    assert [place.doc for place in run.ranking("1", "file")] == ["a", "b", "c"]
    assert run.score_ranks.tolist() == [3, 2, 1]
    with pytest.raises(UsageError, match="order == 'best', must be one of 'score', 'rank', 'file'"):
        run.ranking("1", "best")
    with pytest.raises(UsageError, match="order == 'rank', but run has no ranks; use 'score' or 'file'"):
        Run.of({"1": {"a": 1}}).ranking("1", "rank")


def test_the_top_of_every_list() -> None:
    run = Run.of(TIED)
    top = run.top(2)
    assert top.to_dict() == {"1": {"c": 3.0, "b": 2.0}, "2": {"a": 1.0}}
    assert top.ranks.tolist() == [3, 2, 1]
    assert [place.doc for place in run.top(1, order="rank").ranking("1")] == ["a"]
    assert top.name == "x"
    with pytest.raises(UsageError, match="k == 0, must be 1 or more"):
        run.top(0)
    with pytest.raises(UsageError, match="has no ranks"):
        Run.of({"1": {"a": 1}}).top(1, order="rank")
    assert len(Run.of({}).top(5)) == 0


def test_long_rankings_agree_with_sorting() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 50, 500).astype(float)
    docs = [f"d{i}" for i in rng.permutation(500)]
    run = Run.of({"q": dict(zip(docs, scores.tolist(), strict=True))})
    expected = sorted(zip(scores.tolist(), docs, strict=True), reverse=True)
    assert [(place.score, place.doc) for place in run.ranking("q")] == expected


def test_a_table_of_several_runs_is_not_a_run() -> None:
    from cranfield import _core

    table = _core.table_from_columns(["a", "b"], ["1", "1"], ["d", "d"], [1.0, 1.0], None, None, "error", "score")
    with pytest.raises(UsageError, match="a table of 2 runs, must be one: a, b"):
        Run(table)
