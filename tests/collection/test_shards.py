"""Random parts of a collection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield.collection import shards as module
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.shards import shard_numbers, shards_of
from cranfield.errors import UsageError

DOCUMENTS = [f"FT911-{number}" for number in range(20_000)]
MASK = 2**64 - 1


def slowly(document: str, shards: int, seed: int) -> int:
    """FNV-1a over code points and splitmix64, one number at a time."""

    def mixed(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return x ^ (x >> 31)

    state = mixed(seed) ^ 0xCBF29CE484222325
    for character in document:
        state = ((state ^ ord(character)) * 0x100000001B3) & MASK
    return int((mixed(state) >> 11) / 2**53 * shards)


def test_numbers_are_those_of_the_slow_hash() -> None:
    documents = ["d1", "d10", "d", "é", "文書", "clueweb09-en0000-00-00000"]
    for seed in (0, 7):
        assert shard_numbers(documents, 5, seed).tolist() == [slowly(document, 5, seed) for document in documents]


def test_the_number_does_not_depend_on_the_other_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shard_numbers(DOCUMENTS, 5)
    assert shard_numbers(DOCUMENTS[100:103], 5).tolist() == whole[100:103].tolist()
    monkeypatch.setattr(module, "_BLOCK", 50)
    assert shard_numbers(DOCUMENTS[:200], 5).tolist() == whole[:200].tolist()
    assert shard_numbers(["d1", "a much longer name"], 5)[0] == shard_numbers(["d1"], 5)[0]


def test_documents_are_spread_evenly_and_seeds_are_independent() -> None:
    first, second = shard_numbers(DOCUMENTS, 4, seed=0), shard_numbers(DOCUMENTS, 4, seed=1)
    assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > 1e-4
    table = np.bincount(first * 4 + second, minlength=16).reshape(4, 4)
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_the_parts_of_a_run_are_a_partition() -> None:
    run = Run.of({"1": {f"d{n}": -float(n) for n in range(50)}, "2": {"d3": 1.0}}, name="mine")
    parts = shards_of(run, 3, seed=2)
    for topic, documents in run.to_dict().items():
        cut = [part.to_dict().get(topic, {}) for part in parts]
        assert sum(map(len, cut)) == len(documents)
        assert {doc: score for part in cut for doc, score in part.items()} == documents
    assert {part.name for part in parts} == {"mine"}


def test_judgments_keep_topics_with_a_relevant_document_in_the_part() -> None:
    first, second = (next(d for d in DOCUMENTS if shard_numbers([d], 2)[0] == shard) for shard in (0, 1))
    qrels = Qrels.of({"1": {first: 1, second: 0}, "2": {first: 1, second: 2}})
    parts = [part.to_dict() for part in shards_of(qrels, 2)]
    assert parts == [{"1": {first: 1}, "2": {first: 1}}, {"2": {second: 2}}]


def test_wrong_numbers_are_errors() -> None:
    with pytest.raises(UsageError, match="shards == 0"):
        shard_numbers(["d1"], 0)
    with pytest.raises(UsageError, match="seed == -1"):
        shard_numbers(["d1"], 2, -1)
    assert shard_numbers([], 2).tolist() == []
