"""Statistics of a collection, by hand and of the sample."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield
from cranfield.collection.stats import Spread, of_collection, of_qrels, of_run
from cranfield.errors import UsageError

SAMPLES = Path(cranfield.__file__).parent / "samples"
QRELS = {"q1": {"a": 2, "b": 1, "c": 0, "d": 1}, "q2": {"a": 0, "b": 0}, "q3": {"a": 2}}


def test_judgments_by_level() -> None:
    stats = of_qrels(QRELS)
    assert stats.topics == 3
    assert stats.levels == (0, 1, 2)
    assert stats.judged == Spread(total=7, mean=7 / 3, min=1, median=2.0, max=4)
    assert stats.relevant == Spread(total=4, mean=4 / 3, min=0, median=1.0, max=3)
    assert {level: spread.total for level, spread in stats.by_level.items()} == {0: 3, 1: 2, 2: 2}
    assert stats.without_relevant == ("q2",)
    assert stats.per_topic[0].by_level == (1, 2, 1)
    assert of_qrels(QRELS, rel=2).relevant.total == 2


def test_documents_judged_by_intent_count_once() -> None:
    stats = of_qrels(b"1 a d1 0\n1 b d1 2\n1 a d2 1\n")
    assert stats.intents == ("a", "b")
    assert (stats.judged.total, stats.relevant.total) == (2, 2)
    assert stats.per_topic[0].by_level == (1, 1)  # grades 1 and 2, each document's highest
    assert stats.levels == (1, 2)


def test_no_topics() -> None:
    stats = of_qrels({})
    assert (stats.topics, stats.relevant, stats.levels) == (0, Spread(0, 0.0, 0, 0.0, 0), ())


def test_runs() -> None:
    run = {"q1": {"a": 3, "x": 2, "b": 2}, "q3": {f"y{i}": -i for i in range(20)} | {"a": -50}, "q9": {"z": 1}}
    stats = of_run(run, QRELS)
    assert (stats.topics, stats.missing_topics, stats.unjudged_topics) == (2, ("q2",), ("q9",))
    assert stats.retrieved == Spread(total=24, mean=12.0, min=3, median=12.0, max=21)
    assert stats.unjudged.total == 1 + 20
    assert stats.relevant.total == 3
    assert stats.per_topic[0].judged_at == {10: 2 / 3, 100: 2 / 3}
    assert stats.per_topic[1].judged_at == {10: 0.0, 100: 1 / 21}
    assert stats.judged_share(10) == (2 / 3 + 0) / 2
    assert stats.judged_share() == pytest.approx((2 / 3 + 1 / 21) / 2)
    assert stats.tied_share == 0.5  # x and b of q1
    with pytest.raises(UsageError, match="depth == 5, must be one of 10, 100 or None"):
        stats.judged_share(5)


def test_a_run_without_judged_topics() -> None:
    stats = of_run({"x": {"d": 1}}, QRELS)
    assert (stats.topics, stats.judged_share(), stats.tied_share) == (0, 0.0, 0.0)


def test_the_sample_collection_is_what_its_readme_says() -> None:
    stats = of_collection(SAMPLES / "qrels.txt", [str(SAMPLES / "*.run")])
    assert (stats.qrels.topics, stats.qrels.judged.total) == (24, 3065)
    assert stats.qrels.levels == (0, 1, 2, 3)
    assert stats.qrels.without_relevant == ("113",)
    assert {run.name: run.missing_topics for run in stats.runs} == {
        "bm25": (), "coord": (), "dense": ("114",), "fusion": (),
    }  # fmt: skip
    assert {run.name: run.tied_share > 0 for run in stats.runs} == {
        "bm25": False, "coord": True, "dense": False, "fusion": True,
    }  # fmt: skip
    assert all(run.retrieved.max == 100 for run in stats.runs)
    assert all(run.judged_share(10) == 1.0 for run in stats.runs if run.name != "coord")
