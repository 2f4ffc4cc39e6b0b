"""Scores on random parts of the documents: the same as scores of files that hold one part."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from cranfield.collection.shards import shard_numbers
from cranfield.comparison.anova.anova import anova
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.evaluation.evaluator import evaluate
from cranfield.evaluation.shard_scores import shard_scores

RNG = np.random.default_rng(4)
QRELS = {f"{t}": {f"d{n}": int(RNG.integers(0, 3)) for n in RNG.permutation(60)[:40].tolist()} for t in range(8)}
RUNS = {
    name: {f"{t}": {f"d{n}": float(RNG.random()) for n in RNG.permutation(60)[:50].tolist()} for t in range(8)}
    for name in ("one", "two", "three")
}
MEASURES = ["AP", "nDCG@10", "RBP", "P@5"]


def part(lists: dict[str, dict[str, float]], shard: int, shards: int, seed: int) -> dict[str, dict[str, float]]:
    """The documents of one shard, document by document."""
    return {
        topic: {doc: value for doc, value in documents.items() if shard_numbers([doc], shards, seed)[0] == shard}
        for topic, documents in lists.items()
    }


def test_each_shard_has_the_scores_of_its_documents_alone() -> None:
    scores = shard_scores(QRELS, RUNS, MEASURES, 3, seed=5)
    assert list(scores) == ["1", "2", "3"]
    for shard in range(3):
        runs = {name: part(run, shard, 3, 5) for name, run in RUNS.items()}
        alone = evaluate(part(QRELS, shard, 3, 5), runs, MEASURES)
        assert scores[str(shard + 1)].to_dict() == alone.to_dict()


def test_files_give_the_same_scores(tmp_path: Path) -> None:
    qrels = "".join(f"{t} 0 {d} {g}\n" for t, grades in QRELS.items() for d, g in grades.items())
    (tmp_path / "qrels").write_text(qrels)
    for name, run in RUNS.items():
        lines = [f"{t} Q0 {d} 1 {s!r} {name}\n" for t, documents in run.items() for d, s in documents.items()]
        (tmp_path / name).write_text("".join(lines))
    files = shard_scores(tmp_path / "qrels", [tmp_path / name for name in RUNS], MEASURES, 3)
    memory = shard_scores(QRELS, RUNS, MEASURES, 3)
    assert {name: scores.to_dict() for name, scores in files.items()} == {
        name: scores.to_dict() for name, scores in memory.items()
    }


def test_a_run_without_documents_in_a_shard_has_an_empty_list_there() -> None:
    found = next(doc for doc in QRELS["0"] if shard_numbers([doc], 2)[0] == 0)
    runs = {"all": RUNS["one"], "few": {topic: {found: 1.0} for topic in QRELS}}
    for missing in ("zero", "skip"):
        scores = shard_scores(QRELS, runs, "AP", 2, missing=missing)
        assert scores["2"].values[0, 1].tolist() == [0.0] * 8


@pytest.mark.filterwarnings("ignore:1 judged topic missing")
def test_a_topic_that_a_run_lacks_follows_the_rule_for_missing_topics() -> None:
    runs = {"all": RUNS["one"], "short": {topic: RUNS["two"][topic] for topic in QRELS if topic != "3"}}
    for missing, expected in (("zero", 0.0), ("skip", np.nan)):
        for scores in shard_scores(QRELS, runs, "AP", 2, missing=missing).values():
            column = scores.topics.index("3")
            np.testing.assert_equal(scores.values[0, 1, column], expected)
            assert scores.missing[1, column]


def test_a_topic_without_relevant_documents_in_a_shard_has_no_scores_there() -> None:
    alone = next(doc for doc in QRELS["0"] if shard_numbers([doc], 2)[0] == 0)
    runs = {name: run | {"9": {alone: 1.0}} for name, run in RUNS.items()}
    with pytest.warns(CranfieldWarning, match="1 topic of 9 has no relevant document in some shard"):
        scores = shard_scores(QRELS | {"9": {alone: 1}}, runs, "AP", 2)
    assert ("9" in scores["1"].topics, "9" in scores["2"].topics) == (True, False)


def test_intents_stay_intents_in_a_shard() -> None:
    docs = [f"d{n}" for n in range(12)]
    qrels = [("1", doc, 1, intent) for doc in docs for intent in "ab"[: 1 + docs.index(doc) % 2]]
    run = {"1": {doc: -float(n) for n, doc in enumerate(docs)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        scores = shard_scores(qrels, {"mine": run}, "I-rec@3", 4)
    for shard, part_scores in enumerate(scores.values()):
        inside = [doc for doc in docs if shard_numbers([doc], 4)[0] == shard]
        known = {intent for _, doc, _, intent in qrels if doc in inside}
        seen = {intent for _, doc, _, intent in qrels if doc in inside[:3]}
        assert part_scores.values.item() == pytest.approx(len(seen) / len(known))


def test_shards_are_replicates_of_an_analysis_of_variance() -> None:
    scores = shard_scores(QRELS, RUNS, "AP", 3)
    table = anova(scores, across="shard", interactions=["topic:system"])
    assert [source.source for source in table.sources] == ["topic", "system", "shard", "topic:system", "error", "total"]
    assert table["error"].df == 8 * 3 * 3 - 1 - 7 - 2 - 2 - 14


def test_wrong_calls_are_errors() -> None:
    with pytest.raises(UsageError, match="shards == 1, must be a whole number, 2 or more"):
        shard_scores(QRELS, RUNS, "AP", 1)
    with pytest.raises(UsageError, match="has no relevant document; use fewer shards"):
        shard_scores({"1": {"d1": 1}}, {"mine": {"1": {"d1": 1.0}}}, "AP", 2)
    with pytest.raises(UsageError, match="topic_numbers are of the whole collection"):
        shard_scores(QRELS, RUNS, "AP", 2, topic_numbers={"0": 5})
