"""Shards of files: every document in one shard, the same in all files and in the library's own scores by shard."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield import DataError, Qrels, UsageError
from cranfield.collection.run import Run
from cranfield.collection.shards import is_id_list, shard_files
from cranfield.evaluation.evaluator import evaluate
from cranfield.evaluation.shard_scores import shard_scores

QRELS = "".join(f"{t} 0 d{d} {int(d % 3 == 0)}\n" for t in ("q1", "q2") for d in range(30))
RUN = "".join(f"{t} Q0 d{(7 * r) % 30} {r + 1} {30 - r} mine\n" for t in ("q1", "q2") for r in range(30))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "mine.run").write_text(RUN)
    (tmp_path / "ids.txt").write_text("".join(f"d{d}\n" for d in range(30)))
    return [tmp_path / name for name in ("qrels.txt", "mine.run", "ids.txt")]


def test_every_document_is_in_one_shard_and_in_the_same_one_in_all_files(files: list[Path], tmp_path: Path) -> None:
    shard_files(files[:2], tmp_path / "out", 3, ids=files[2:], seed=4)
    ids = [set((tmp_path / f"out/shard{s}/ids.txt").read_text().split()) for s in (1, 2, 3)]
    assert sorted(set.union(*ids)) == sorted(f"d{d}" for d in range(30))
    assert sum(map(len, ids)) == 30
    for shard, documents in enumerate(ids, 1):
        run = Run.read(str(tmp_path / f"out/shard{shard}/mine.run"))
        assert {document for of_topic in run.to_dict().values() for document in of_topic} == documents
        judged = Qrels.read(str(tmp_path / f"out/shard{shard}/qrels.txt"))
        assert all(set(of_topic) == documents for of_topic in judged.to_dict().values())
    assignment = dict(line.split("\t") for line in (tmp_path / "out/shards.tsv").read_text().splitlines())
    assert all(document in ids[int(shard) - 1] for document, shard in assignment.items())


def test_scores_of_written_shards_are_those_of_shard_scores(files: list[Path], tmp_path: Path) -> None:
    shard_files(files[:2], tmp_path / "out", 3, seed=4)
    expected = shard_scores(str(files[0]), {"mine": str(files[1])}, ["AP", "RR"], 3, seed=4)
    for shard in ("1", "2", "3"):
        folder = tmp_path / f"out/shard{shard}"
        actual = evaluate(str(folder / "qrels.txt"), {"mine": str(folder / "mine.run")}, ["AP", "RR"])
        assert actual.to_dict() == expected[shard].to_dict()


def test_each_repeat_is_another_split_with_the_next_seed(files: list[Path], tmp_path: Path) -> None:
    done = shard_files(files[:2], tmp_path / "out", 2, repeats=3, seed=1)
    once = shard_files(files[:2], tmp_path / "second", 2, seed=2)
    parts = [(tmp_path / f"out/split{s}/shard1/mine.run").read_text() for s in (1, 2, 3)]
    assert len(set(parts)) == 3
    assert parts[1] == (tmp_path / "second/shard1/mine.run").read_text()
    assert len(done.columns()["split"]) == 3 * len(once.columns()["shard"])


def test_topics_without_a_relevant_document_in_a_shard_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 1\nq1 0 c 1\nq1 0 d 1\nq2 0 a 1\nq2 0 b 0\nq2 0 c 0\n")
    done = shard_files([tmp_path / "qrels.txt"], tmp_path / "out", 2)
    assert sum("1 topic of 2 left out, without a relevant document" in note for note in done.notes) == 1
    assert done.columns()["topics"].tolist().count(1) == 1


def test_lists_of_ids_are_recognised(files: list[Path]) -> None:
    assert [is_id_list(path) for path in files] == [False, False, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty, expected lines of document id"),
        ("a\nb\na\n", ":3: document 'a' appears twice"),
        ("a b\n", ":1: .*has blanks"),
    ],
)
def test_wrong_ids_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "ids.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        shard_files(folder=tmp_path / "out", ids=[tmp_path / "ids.txt"])


def test_topics_and_a_single_shard_are_refused(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("q1\ta query\n")
    with pytest.raises(UsageError, match="have no documents"):
        shard_files([tmp_path / "topics.tsv"], tmp_path / "out", kinds={tmp_path / "topics.tsv": "topics"})
    with pytest.raises(UsageError, match="shards == 1"):
        shard_files([tmp_path / "topics.tsv"], tmp_path / "out", 1)
