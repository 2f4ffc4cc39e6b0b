"""Conversion between formats: nothing is lost without an error."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import cranfield
from cranfield.collection.convert import Converted, convert, kind_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, read_runs
from cranfield.collection.topics import Topics
from cranfield.errors import CranfieldWarning, DataError, UsageError

SAMPLES = Path(cranfield.__file__).parent / "samples"
FORMATS = ("trec", "beir", "json", "jsonl", "csv", "tsv", "parquet")


@pytest.mark.parametrize("formats", list(itertools.permutations(FORMATS, 2)), ids="-".join)
def test_runs_from_every_format_to_every_other(formats: tuple[str, str], tmp_path: Path) -> None:
    first, second = formats
    run = Run.read(SAMPLES / "dense.run").top(5)
    run.write(tmp_path / "a", first)
    convert(tmp_path / "a", tmp_path / "b", kind="run", to=second)
    assert Run.read(tmp_path / "b") == run


@pytest.mark.parametrize("target", ["msmarco", *FORMATS])
def test_qrels_to_every_format(target: str, tmp_path: Path) -> None:
    done = convert(SAMPLES / "qrels.txt", tmp_path / "out", kind="qrels", to=target)
    assert done == Converted(str(tmp_path / "out"), "qrels", target, 3065)
    assert Qrels.read(tmp_path / "out") == Qrels.read(SAMPLES / "qrels.txt")


def test_several_runs_stay_several(tmp_path: Path) -> None:
    source = tmp_path / "two.run"
    source.write_bytes(b"1 Q0 d1 1 2 x\n1 Q0 d1 1 3 y\n1 Q0 d2 2 1 x\n")
    for name in ("two.jsonl", "two.csv", "two.parquet", "two.json", "again.run"):
        convert(source, tmp_path / name)
        runs = read_runs(tmp_path / name, split_tags=True)
        assert runs == read_runs(source, split_tags=True)
        assert [run.name for run in runs] == ["x", "y"]
    with pytest.raises(DataError, match="beir cannot hold several runs; to leave that out: allow_loss=True"):
        convert(source, tmp_path / "two.tsv", to="beir")


def test_loss_has_to_be_allowed(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        convert(SAMPLES / "bm25.run", tmp_path / "out", to="msmarco")
    assert str(caught.value) == f"{tmp_path / 'out'}: msmarco cannot hold scores; to leave that out: allow_loss=True"
    assert not (tmp_path / "out").exists()
    convert(SAMPLES / "bm25.run", tmp_path / "out", to="msmarco", allow_loss=True)
    assert (tmp_path / "out").read_text().splitlines()[0] == "101\tNOTE-0737\t1"


def test_topics(tmp_path: Path) -> None:
    done = convert(SAMPLES / "topics.xml", tmp_path / "topics.jsonl")
    assert (done.kind, done.format, done.entries) == ("topics", "jsonl", 24)
    assert Topics.read(tmp_path / "topics.jsonl") == Topics.read(SAMPLES / "topics.xml")


def test_compressed_target(tmp_path: Path) -> None:
    done = convert(SAMPLES / "bm25.run", tmp_path / "bm25.csv.gz")
    assert done.format == "csv"
    assert Run.read(tmp_path / "bm25.csv.gz") == Run.read(SAMPLES / "bm25.run")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"1 Q0 d 1 1.5 tag\n", "run"),
        (b"1 0 d 1\n", "qrels"),
        (b"qid,docno,score,rank\n", "run"),
        (b"qid,docno,score,tag\n", "run"),
        (b"qid,docno,relevance\n", "qrels"),
        (b'{"query_id": "1", "doc_id": "d", "relevance": 1}\n', "qrels"),
        (b'[{"query_id": "1", "doc_id": "d", "score": 1, "rank": 1}]', "run"),
        (b'{"id": "1", "title": "what"}\n', "topics"),
        (b"<top>\n<num> 1\n", "topics"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n", "topics"),
    ],
)
def test_the_kind_is_detected_from_the_content(data: bytes, kind: str) -> None:
    assert kind_of(data) == kind


@pytest.mark.parametrize("data", [b"1 d 1 0.5\n", b"1 d 1\n", b'{"1": {"d": 1}}', b"qid,docno,score\n1,d,1\n"])
def test_an_unclear_kind_must_be_given(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        convert(path, tmp_path / "y.json")
    assert str(caught.value) == f"{path}: may be a run or qrels; choose with kind='run' or kind='qrels'"
    with pytest.raises(UsageError, match="kind == 'runs', must be one of 'run', 'qrels', 'topics'"):
        convert(path, tmp_path / "y.json", kind="runs")
    for suffix in ("run", "qrels"):
        named = tmp_path / f"x.{suffix}"
        named.write_bytes(data)
        assert kind_of(named) == suffix


def test_the_kind_of_parquet_is_detected(tmp_path: Path) -> None:
    Qrels.of({"1": {"d": 1}}).write(tmp_path / "q.parquet")
    Run.of({"1": {"d": 1}}).write(tmp_path / "r.parquet")
    assert (kind_of(tmp_path / "q.parquet"), kind_of(tmp_path / "r.parquet")) == ("qrels", "run")
    with pytest.raises(DataError, match="the Parquet data is damaged"):
        kind_of(b"PAR1 nothing")


def test_the_kind_follows_from_a_format_that_only_one_kind_has(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(b"1 1 d1 1\n1 2 d2 1\n")
    assert convert(source, tmp_path / "out.csv", from_="diversity").kind == "qrels"
    with pytest.warns(CranfieldWarning, match="file:1: the rank is 'd1', not a number"):
        assert convert(source, tmp_path / "out.csv", from_="msmarco-scored").kind == "run"
    with pytest.raises(UsageError, match="may be a run or qrels"):
        convert(source, tmp_path / "out.csv", from_="trec")
