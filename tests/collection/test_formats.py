"""Every format: an example written by hand, and round trips."""

from __future__ import annotations

import io
import math
import re
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from cranfield.collection.compression import compression
from cranfield.collection.file_formats.formats import Layout, named
from cranfield.collection.file_formats.writing import Outgoing, encode
from cranfield.collection.qrels import Judgment, Qrels
from cranfield.collection.run import Ranked, Run, read_runs, runs_of
from cranfield.errors import DataError

GRADES = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}
SCORES = {"q1": {"d2": 1.5, "d1": 0.25}, "q2": {"d1": 1.0}}

QRELS_BY_HAND = {
    "trec": "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
    "trec with tabs, CRLF, comments, no last line end": "# judged\r\nq1\t0\td1 2\r\n\r\nq1  0 d2\t0\r\nq2 0 d1 1",
    "trec with two byte order marks": "\ufeff\ufeffq1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
    "csv with two byte order marks": "\ufeff\ufeffqid,docno,rel\nq1,d1,2\nq1,d2,0\nq2,d1,1\n",
    "json with two byte order marks": '\ufeff\ufeff{"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}',
    "trec with a byte order mark": "\ufeffq1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
    "trec with topics that come back": "q1 0 d1 2\nq2 0 d1 1\nq1 0 d2 0\n",
    "msmarco": "q1\td1\t2\nq1\td2\t0\nq2\td1\t1\n",
    "beir": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1\n",
    "json": '{"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}',
    "json over lines": '{\n  "q1": {\n    "d1": 2,\n    "d2": 0\n  },\n  "q2": {"d1": 1}\n}\n',
    "json records": '[{"qid": "q1", "docno": "d1", "label": 2}, {"qid": "q1", "docno": "d2", "label": 0},\n'
    '{"qid": "q2", "docno": "d1", "label": 1}]',
    "json rows": '[["q1", "d1", 2], ["q1", "d2", 0], ["q2", "d1", 1]]',
    "jsonl": '{"query_id": "q1", "doc_id": "d1", "relevance": 2}\n\n'
    '{"query_id": "q1", "doc_id": "d2", "relevance": 0}\n'
    '{"query_id": "q2", "doc_id": "d1", "relevance": 1}\n',
    "jsonl by topic": '{"q1": {"d1": 2, "d2": 0}}\n{"q2": {"d1": 1}}\n',
    "csv": "query_id,doc_id,relevance\nq1,d1,2\nq1,d2,0\nq2,d1,1\n",
    "csv with quotes and more columns":
    '# by hand\n"rel","query","docno","note"\n2,"q1","d1","a, b"\n0,q1,d2,\n1,q2,d1,"x\ny"\n',
    "csv with semicolons": "Query-ID;Doc-ID;Grade\nq1;d1;2\nq1;d2;0\nq2;d1;1\n",
    "tsv": "topic\tdoc\tgrade\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1",
}  # fmt: skip
RUNS_BY_HAND = {
    "trec": "q1 Q0 d2 1 1.5 x\nq1 Q0 d1 2 .25 x\nq2 Q0 d1 1 1 x\n",
    "trec with tabs, CRLF, comments, no last line end":
    "q1\tQ0\td2 1 15e-1 x\r\n# c\r\nq1 Q0 d1 2 0.25 x\r\nq2 Q0 d1 1 1 x",
    "msmarco-scored": "q1 d2 1 1.5\nq1 d1 2 0.25\nq2 d1 1 1\n",
    "beir": "query-id\tcorpus-id\tscore\nq1\td2\t1.5\nq1\td1\t0.25\nq2\td1\t1\n",
    "json": '{"q1": {"d2": 1.5, "d1": 0.25}, "q2": {"d1": 1}}',
    "jsonl": '{"qid": "q1", "docno": "d2", "score": 1.5}\n{"qid": "q1", "docno": "d1", "score": 0.25}\n'
    '{"qid": "q2", "docno": "d1", "score": 1}\n',
    "csv": "q_id,doc_id,score,rank,run\nq1,d2,1.5,1,x\nq1,d1,0.25,2,x\nq2,d1,1,1,x\n",
}  # fmt: skip


@pytest.mark.parametrize("text", QRELS_BY_HAND.values(), ids=QRELS_BY_HAND)
def test_qrels_by_hand(text: str) -> None:
    assert Qrels.of(text.encode()).to_dict() == GRADES


@pytest.mark.parametrize("text", RUNS_BY_HAND.values(), ids=RUNS_BY_HAND)
def test_runs_by_hand(text: str) -> None:
    run = Run.of(text.encode())
    assert run.to_dict() == SCORES
    assert run.ranking("q1") == [Ranked(1, "d2", 1.5), Ranked(2, "d1", 0.25)]


def test_a_run_of_ranks_is_in_the_order_of_its_ranks() -> None:
    run = Run.of(b"q1 d1 2\nq1 d2 1\nq1 d3 10\n")  # MS MARCO: topic doc rank
    assert [place.doc for place in run.ranking("q1")] == ["d2", "d1", "d3"]
    assert run.to_dict() == {"q1": {"d1": 0.5, "d2": 1.0, "d3": 0.1}}
    frame = pd.DataFrame({"qid": ["q1"] * 3, "docno": ["d1", "d2", "d3"], "rank": [2, 1, 10]})
    assert Run.of(frame) == run
    assert Run.of(b"qid,docno,rank\nq1,d1,2\nq1,d2,1\nq1,d3,10\n") == run


def encoded(out: Outgoing, format: str) -> bytes:
    return b"".join(encode(out, named(format, out.kind), "file"))


def test_the_bytes_that_are_written() -> None:
    """The bytes of each text format, by hand."""
    out = Qrels.of(GRADES).outgoing()
    assert encoded(out, "trec") == QRELS_BY_HAND["trec"].encode()
    assert encoded(out, "msmarco") == QRELS_BY_HAND["msmarco"].encode()
    assert encoded(out, "beir") == QRELS_BY_HAND["beir"].encode()
    assert encoded(out, "json") == QRELS_BY_HAND["json"].encode() + b"\n"
    assert encoded(out, "csv") == QRELS_BY_HAND["csv"].encode()
    run = Run.of({"q1": {"d1": 0.25, "d2": 1.5, "d3": 1.5}}, name="x").outgoing()
    # rank recomputed: d3 before d2, as ties go to the higher id
    assert encoded(run, "trec") == b"q1 Q0 d1 3 0.25 x\nq1 Q0 d2 2 1.5 x\nq1 Q0 d3 1 1.5 x\n"
    assert encoded(run, "msmarco-scored") == b"q1\td1\t3\t0.25\nq1\td2\t2\t1.5\nq1\td3\t1\t1.5\n"
    assert encoded(run, "jsonl").splitlines()[0] == b'{"query_id": "q1", "doc_id": "d1", "score": 0.25, "run": "x"}'


# ------------------------------------------------------------------------------------------------ objects


def frames(data: Mapping[str, Any]) -> list[Any]:
    return [
        pd.DataFrame(data),
        pl.DataFrame(data),
        pl.LazyFrame(data),
        pa.table(data),
        pa.RecordBatch.from_pydict(data),
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("topic", "doc", "grade"),
        ("query_id", "doc_id", "relevance"),
        ("qid", "docno", "label"),
        ("query-id", "corpus-id", "score"),
        ("query", "docid", "rel"),
        ("Q_ID", "Document ID", "Relevance"),
    ],
)
def test_frames_by_any_known_names(names: tuple[str, str, str]) -> None:
    columns = dict(zip(names, (["q1", "q1", "q2"], ["d1", "d2", "d1"], [2, 0, 1]), strict=True))
    for frame in frames(columns):
        assert Qrels.of(frame).to_dict() == GRADES


def test_run_frames_with_names() -> None:
    columns = {"qid": [1, 1, 1], "query": ["a text"] * 3, "docno": ["d1", "d2", "d1"], "score": [1.0, 2.0, 3.5]}
    for frame in frames(columns | {"tag": ["a", "a", "b"]}):
        first, second = runs_of(frame, split_tags=True)
        assert (first.name, first.to_dict()) == ("a", {"1": {"d1": 1.0, "d2": 2.0}})
        assert (second.name, second.to_dict()) == ("b", {"1": {"d1": 3.5}})


def test_frames_of_intents() -> None:
    data = {"query_id": ["1", "1"], "doc_id": ["d", "d"], "relevance": [1, 0], "subtopic_id": ["a", "b"]}
    for frame in frames(data):
        assert Qrels.of(frame).intents == ("a", "b")


def test_frames_round_trip() -> None:
    qrels, run = Qrels.of(GRADES), Run.of(SCORES, name="x")
    for thing in (qrels, run):
        for frame in (thing.to_pandas(), thing.to_polars(), thing.to_arrow()):
            assert type(thing).of(frame) == thing
    assert list(qrels.to_pandas().columns) == ["query_id", "doc_id", "relevance"]
    assert list(run.to_polars().columns) == ["query_id", "doc_id", "score", "run"]


def test_ir_measures_reads_our_frames_and_we_read_its_tuples() -> None:
    qrels, run = Qrels.of(GRADES), Run.of(SCORES)
    theirs = ir_measures.calc_aggregate([ir_measures.AP], qrels.to_pandas(), run.to_pandas())
    assert theirs[ir_measures.AP] == pytest.approx((1 / 2 + 1) / 2)  # by hand: d1 at rank 2 of q1, at rank 1 of q2
    judged = [ir_measures.Qrel(t, d, g) for t, docs in GRADES.items() for d, g in docs.items()]
    scored = [ir_measures.ScoredDoc(t, d, s) for t, docs in SCORES.items() for d, s in docs.items()]
    assert Qrels.of(judged) == qrels
    assert Qrels.of(iter(judged)) == qrels
    assert Run.of(scored) == run


@dataclass
class Line:
    query_id: int
    doc_id: str
    relevance: float


def test_all_kinds_of_records() -> None:
    qrels = Qrels.of({"1": {"a": 1, "b": 0}})
    Pair = namedtuple("Pair", ["docno", "rel", "qid"])
    assert Qrels.of([(1, "a", 1), (1, "b", 0)]) == qrels
    assert Qrels.of([["1", b"a", 1], ["1", b"b", np.int64(0)]]) == qrels
    assert Qrels.of([Pair("a", 1, "1"), Pair("b", 0, "1")]) == qrels
    assert Qrels.of([Line(1, "a", 1.0), Line(1, "b", 0.0)]) == qrels
    assert Qrels.of([{"qid": 1, "docid": "a", "grade": 1}, {"qid": 1, "docid": "b", "grade": 0}]) == qrels
    assert Qrels.of([("1", "a", 1, "0"), ("1", "b", 0, "0")]) == qrels
    assert Qrels.from_tuples(qrels) == qrels
    assert list(qrels) == [Judgment("1", "a", 1, "0"), Judgment("1", "b", 0, "0")]
    run = Run.from_tuples([("1", "a", 0.5)], name="r")
    assert list(run) == [("1", "a", 0.5)]
    assert Run.of(run, name="other").table.names == ["other"]


def test_matrices_of_queries_and_documents() -> None:
    grades = np.array([[0, 2, np.nan], [1, 1, 1]])
    mask = np.array([[True, True, True], [True, False, True]])
    qrels = Qrels.from_arrays(grades, mask, topics=["a", "b"], docs=["x", "y", "z"])
    assert qrels.to_dict() == {"a": {"x": 0, "y": 2}, "b": {"x": 1, "z": 1}}
    run = Run.from_arrays(np.arange(24.0).reshape(2, 12) % 5, np.ones((2, 12), dtype=bool))
    places = run.ranking("0")
    assert [place.doc for place in places][:4] == ["09", "04", "08", "03"]  # ties to the higher column
    each = Run.from_arrays([[1.0, 2.0]], docs=[["m", "n"]])
    assert each.to_dict() == {"0": {"m": 1.0, "n": 2.0}}


def test_open_files_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "some.qrels"
    path.write_text(QRELS_BY_HAND["trec"])
    qrels = Qrels.read(path)
    assert qrels.name == "some"
    with path.open("rb") as binary, path.open() as text:
        assert Qrels.of(binary) == Qrels.of(text) == qrels
    assert Qrels.of(bytearray(path.read_bytes())) == Qrels.of(io.BytesIO(path.read_bytes())) == qrels


def test_parquet_with_other_column_types(tmp_path: Path) -> None:
    table = pa.table({
        "qid": pa.array([1, 1, 2], pa.int32()),
        "docno": pa.array(["d1", "d2", "d1"]).dictionary_encode(),
        "score": pa.array([1.5, 0.25, 1], pa.float32()),
    })  # fmt: skip
    path = tmp_path / "x.parquet"
    parquet.write_table(table, path)
    assert Run.read(path).to_dict() == {"1": {"d1": 1.5, "d2": 0.25}, "2": {"d1": 1.0}}


class FakeDataset:
    """A dataset of ir_datasets, without the network."""

    def __init__(self, records: list[Any]) -> None:
        self.records = records

    def has_qrels(self) -> bool:
        return True

    def has_scoreddocs(self) -> bool:
        return False

    def qrels_iter(self) -> Any:
        return iter(self.records)


def test_datasets_by_identifier(monkeypatch: pytest.MonkeyPatch) -> None:
    import ir_datasets
    from ir_datasets.formats import TrecQrel

    requested = []

    def load(name: str) -> FakeDataset:
        requested.append(name)
        return FakeDataset([TrecQrel("q1", "d1", 2, "0"), TrecQrel("q1", "d2", 0, "0"), TrecQrel("q2", "d1", 1, "0")])

    monkeypatch.setattr(ir_datasets, "load", load)
    assert Qrels.of("irds:some/dev/small").to_dict() == GRADES
    assert Qrels.of("ir_datasets:some/dev").to_dict() == GRADES
    assert requested == ["some/dev/small", "some/dev"]
    with pytest.raises(DataError, match="irds:some: this dataset has no scoreddocs"):
        Run.of("irds:some")


@pytest.mark.parametrize("fault", [RuntimeError("All download sources failed"), OSError("no route to host")])
def test_a_dataset_that_cannot_be_fetched_is_named(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    import ir_datasets

    class Unreachable(FakeDataset):
        def qrels_iter(self) -> Any:
            raise fault

    monkeypatch.setattr(ir_datasets, "load", lambda name: Unreachable([]))
    with pytest.raises(DataError, match=f"irds:some: ir_datasets could not load it, .* network .*: {fault}"):
        Qrels.of("irds:some")


# ------------------------------------------------------------------------------------------------ round trips

# ids of any bytes, as str with surrogateescape; each alphabet lacks the characters that its format cannot hold
any_id = st.binary(min_size=1, max_size=8).map(lambda b: b.decode("utf-8", "surrogateescape"))
column_id = any_id.filter(lambda text: not set(text) & set(" \t\n\r\0"))
# a topic begins the file: it may not look like a comment, a byte order mark, or the first bytes of compressed data,
# which no tool could tell from a compressed file (zstd's are "(" and bytes that are not UTF-8)
topic_id = column_id.filter(
    lambda text: not text.startswith(("#", "\ufeff")) and not compression(text.encode("utf-8", "surrogateescape"))
)
utf8_id = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
grade = st.integers(-3, 5) | st.floats(allow_nan=False)
score = st.floats(allow_nan=False)
ALPHABET = {"parquet": (utf8_id, utf8_id), "json": (any_id, any_id), "jsonl": (any_id, any_id)}
# nor a word in Windows-1252
windows = re.compile("[A-Za-z][\udcc0-\udcff]|[\udcc0-\udcff][A-Za-z]")
csv_id = any_id.filter(lambda text: "\0" not in text and not windows.search(text))
ALPHABET |= {"csv": (csv_id, csv_id), "tsv": (csv_id, csv_id)}


def entries(format: str, number: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    topics, docs = ALPHABET.get(format, (topic_id, column_id))
    return st.dictionaries(topics, st.dictionaries(docs, number, min_size=1, max_size=4), min_size=1, max_size=3)


def there_and_back(thing: Any, format: str) -> Any:
    return type(thing).of(encoded(thing.outgoing(), format), format=format)


few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.filterwarnings("ignore:.*infinite as a 64-bit number")
@pytest.mark.parametrize("format", ["trec", "msmarco", "beir", "json", "jsonl", "csv", "tsv", "parquet"])
@few
@given(data=st.data())
def test_qrels_round_trip(format: str, data: st.DataObject) -> None:
    qrels = Qrels.of(data.draw(entries(format, grade)))
    assert there_and_back(qrels, format) == qrels


@pytest.mark.filterwarnings("ignore:.*infinite as a 64-bit number")
@pytest.mark.parametrize("format", ["trec", "msmarco-scored", "beir", "json", "jsonl", "csv", "tsv", "parquet"])
@few
@given(data=st.data())
def test_runs_round_trip(format: str, data: st.DataObject) -> None:
    run = Run.of(data.draw(entries(format, score)), name="tag")
    back = there_and_back(run, format)
    assert back == run
    if format in ("trec", "csv", "tsv", "jsonl", "parquet"):
        assert back.name == "tag"


@pytest.mark.parametrize("format", ["trec", "diversity", "json", "jsonl", "csv", "tsv", "parquet"])
@few
@given(data=st.data())
def test_intents_round_trip(format: str, data: st.DataObject) -> None:
    topics, docs = ALPHABET.get(format, (topic_id, column_id))
    key = st.tuples(topics, docs, st.sampled_from("abc"))
    judged = data.draw(st.dictionaries(key, st.integers(0, 3), min_size=1, max_size=8))
    qrels = Qrels.of([(topic, doc, g, intent) for (topic, doc, intent), g in judged.items()])
    back = there_and_back(qrels, format)
    assert back == qrels
    expected = qrels.with_intents() if format == "diversity" else qrels  # where even one label is an intent
    assert set(back.intents) == set(expected.intents)


@few
@given(st.lists(st.tuples(topic_id, column_id, st.integers(0, 9)), min_size=1, unique_by=lambda r: r[:2]))
def test_runs_of_ranks_round_trip_through_msmarco(rows: list[tuple[str, str, int]]) -> None:
    text = "".join(f"{topic}\t{doc}\t{rank}\n" for topic, doc, rank in rows).encode("utf-8", "surrogateescape")
    run = Run.of(text, format="msmarco")
    assert there_and_back(run, "msmarco") == run


@pytest.mark.parametrize("format", ["trec", "msmarco-scored", "json", "jsonl", "csv", "parquet"])
def test_ranks_that_contradict_the_scores_are_kept(format: str) -> None:
    run = Run.of(b"1 Q0 a 7 0.1 x\n1 Q0 b 3 0.2 x\n1 Q0 c 5 0.3 x\n")
    back = there_and_back(run, format)
    assert back == run
    assert back.ranks.tolist() == [7, 3, 5]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["x.run", "x.json", "x.jsonl", "x.csv", "x.tsv"])
def test_compressed_files_round_trip(name: str, suffix: str, tmp_path: Path) -> None:
    run = Run.of(SCORES, name="tag")
    path = tmp_path / (name + suffix)
    run.write(path)
    assert not path.read_bytes().startswith((b"q1", b"{"))
    assert Run.read(path) == run


def test_several_files_and_several_runs_in_one(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"1 Q0 d1 1 2 x\n1 Q0 d1 1 3 y\n1 Q0 d2 2 1 x\n2 Q0 d1 1 1 y\n")
    (tmp_path / "b.run").write_bytes(b"1 d1 1\n")
    runs = read_runs([tmp_path / "*.run"], split_tags=True)
    assert [(run.name, len(run), run.topics) for run in runs] == [
        ("x", 2, ("1",)),
        ("y", 2, ("1", "2")),
        ("b", 1, ("1",)),
    ]
    assert runs[0].to_dict() == {"1": {"d1": 2.0, "d2": 1.0}}
    with pytest.raises(DataError) as caught:
        Run.read(tmp_path / "a.run")
    assert str(caught.value) == (
        f"{tmp_path / 'a.run'}:2: document 'd1' appears twice for topic '1', first on line 1, in a file with 2 tags; "
        "to keep one: on_duplicate='first' or 'max', or a run for each tag: split_tags=True"
    )


@pytest.mark.filterwarnings("ignore:.*infinite as a 64-bit number")
@pytest.mark.parametrize("value", [math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1, -0.0])
def test_every_number_keeps_its_bits(value: float) -> None:
    run = Run.of({"q": {"d": value}})
    for format in ("trec", "beir", "json", "jsonl", "csv", "parquet"):
        assert there_and_back(run, format).values.tolist() == [value]


@pytest.mark.parametrize("delimiter", ["|", ",", "^", "]", "\\", "\t"])
def test_ids_with_the_delimiter_of_a_format_are_refused(delimiter: str) -> None:
    layout = Layout("further", ("topic", "doc", "value"), "topic doc score", delimiter)
    plain = Run.of({"a query": {"d 1": 2.0, "d2": 1.0}}).outgoing()
    table, faults = layout.read(b"".join(encode(plain, layout, "<run>")), "run")
    assert (table.topics, table.docs(0, 2), faults) == (["a query"], ["d 1", "d2"], [])
    for id_ in (f"d{delimiter}1", "d\n1", " d", "d\t"):
        with pytest.raises(DataError, match="which further cannot hold"):
            encode(Run.of([("q", id_, 1.0)]).outgoing(), layout, "<run>")
