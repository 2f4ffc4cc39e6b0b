"""The messages about bad input, with file and line."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.errors import CranfieldWarning, DataError, UsageError

WAY_OUT = "; to keep one: on_duplicate='first' or 'max'"
"""The end of the message about a document that appears twice."""
QRELS = [
    ("", ": is empty, expected qrels (lines of topic iteration doc grade)"),
    ("\n \n# only a comment\n", ": is empty, expected qrels (lines of topic iteration doc grade)"),
    ("1 0 d1 1\n1 0 d2\n", ":2: 3 columns, expected 4: topic iteration doc grade"),
    ("1 0 d1 1\n\n# c\n1 0 d2 1 5\n", ":4: 5 columns, expected 4: topic iteration doc grade"),
    ("1 0 d1 high\n", ":1: the grade is 'high', expected a number"),
    ("1 0 d1 nan\n", ":1: the grade is 'nan', not a number that can be ordered"),
    ("1 0 d1 1\n1 0 d1 1\n", ":2: document 'd1' appears twice for topic '1', first on line 1" + WAY_OUT),
    ("1 0 d1 1\n1 0 d2 1\n1 0 d1 0\n",
     ":3: document 'd1' appears twice for topic '1', first on line 1, with grades 1 and 0" + WAY_OUT),
    ("1 0 d1 1\n1 0 \x00 1\n", ":2: a NUL byte: a binary file, expected qrels as text, JSON, CSV or Parquet"),
    ("query-id\tcorpus-id\tscore\n1\t\t1\n", ":2: the document is empty, expected query-id corpus-id score"),
    ("query-id\tcorpus-id\tscore\n1\td\n", ":2: 2 columns, expected 3: query-id corpus-id score"),
    ("query-id\tcorpus-id\tscore\n", ": is empty, expected lines of query-id corpus-id score"),
    ("qid,docno,label\n1,d1,1\n1,d2,x\n", ":3: the grade is 'x', expected a number"),
    ("# c\nqid,docno,label\n\n1,d1,1\n1,d2\n", ":5: 2 columns, expected 3: qid, docno, label"),
    ("qid,docno,label\n1,d1,1\n1,d2,NaN\n", ":3: the grade is nan, not a number that can be ordered"),
    ('qid,docno,label\n1,"d\n1",1\n1,,1\n', ":4: the document is empty"),
    ("qid,docno,label,note,Label\n1,d1,1,,1\n",
     ": 2 columns are called label (3 and 5), must be one: rename or drop the others"),
    ("qid,qid,QID,docno,rel\n1,1,1,d1,1\n",
     ": 3 columns are called qid (1, 2 and 3), must be one: rename or drop the others"),
    ("qid,docno,label\n1,d1,1\n1,d1,1\n", ":3: document 'd1' appears twice for topic '1', first on line 2"
     + WAY_OUT),
    ('qid,docno,label\n1,d1,1\n1,"d2,1\n', ":3: is not valid CSV: unexpected end of data"),
    ("qid,docno,label\n", ": is empty, expected records after the header"),
    ("qid,docno,note\n1,d,1\n",
     ": no column for the grade among qid, docno, note; expected one called grade, relevance, rel, label, judgment, "
     "judgement, rating, relevant, score; to say which it is, such as: columns={'grade': 'note'}"),
    ('{"1": {"d1": 1},\n "2": {"d1": }}', ":2: is not valid JSON: Expecting value (column 14)"),
    ('{"1": {"d1": 1, "d1": 2}}', ": 'd1' appears twice in one object"),
    ('{"1": {"d1": "1"}}', ": topic '1', document 'd1': the grade is '1', expected a number"),
    ('{"1": {"d1": NaN}}', ": topic '1', document 'd1': the grade is nan, expected a number"),
    ('{"1": {"": 1}}', ": an empty document id"),
    ('{"1": {"\\ud800": 1}}', ": an id contains half a surrogate pair, expected text"),
    ("{}",
     ': is empty, expected {topic: {doc: grade}} or a list of {"query_id": ..., "doc_id": ..., "relevance": ...}'),
    ('[{"a": 1}]',
     ': is JSON of another shape, expected {topic: {doc: grade}} or a list of {"query_id": ..., "doc_id": ..., '
     '"relevance": ...}'),
    ('[{"qid": 1, "docno": "d", "rel": 1}, {"qid": 1, "docno": "e"}]',
     ": record 2 is {'qid': 1, 'docno': 'e'}, expected the same fields as record 1"),
    ('[{"qid": null, "docno": "d", "rel": 1}]', ": record 1: the topic is None, expected text or an integer"),
    ('[{"qid": 1.5, "docno": "d", "rel": 1}]', ": record 1: the topic is 1.5, expected text or an integer"),
    ('[["q", "d", 1], ["q", "e"]]',
     ": record 2 is ['q', 'e'], expected (topic, doc, grade) or (topic, doc, grade, iteration)"),
    ('\n{"qid": 1, "docno": "d", "rel": 1}\n\n{"qid": 1, "docno": "e", "rel": "x"}\n',
     ":4: the grade is 'x', expected a number"),
    ('{"qid": 1, "docno": "d", "rel": 1}\n{"qid": 1, "docno": "d", "rel": 1}\n',
     ":2: document 'd' appears twice for topic '1', first on line 1" + WAY_OUT),
    ('{"qid": 1, "docno": "d", "rel": 1}\n{"qid": 1, "docno"\n',
     ":2: is not valid JSON: Expecting ':' delimiter (column 19)"),
    ('{"qid": 1, "docno": "d", "rel": 1}\n\n{"qid": 1, "docno": "d"}\n',
     ":3: {'qid': 1, 'docno': 'd'}, expected the same fields as line 1"),
    ('{"qid": 1, "docno": "d", "rel": 1}\n7\n', ":2: 7, expected a JSON object"),
    ('{"1": {"d": 1}}\n{"1": {"d": 1}}\n', ":2: topic '1' appears twice"),
]  # fmt: skip
RUNS = [
    ("", ": is empty, expected run (lines of topic Q0 doc rank score tag)"),
    ("1 Q0 d1 1 1.0 x\n1 Q0 d2 2 0.5\n", ":2: 5 columns, expected 6: topic Q0 doc rank score tag"),
    ("qid,docno,score,score\n1,d1,1,2\n",
     ": 2 columns are called score (3 and 4), must be one: rename or drop the others"),
    ("1 Q0 d1 1 best x\n", ":1: the score is 'best', expected a number"),
    ("1 Q0 d1 1 NaN x\n", ":1: the score is 'NaN', not a number that can be ordered"),
    ("1 Q0 d1 1 1,5 x\n", ":1: the score is '1,5', expected a number; numbers need a decimal point: 1.5"),
    ("1 Q0 d1 1 1 x\n2 Q0 d1 1 1 x\n1 Q0 d1 2 1 x\n",
     ":3: document 'd1' appears twice for topic '1', first on line 1" + WAY_OUT),
    ("1 d first\n", ":1: the rank is 'first', expected a number"),
    ("# topic doc score\n1 d 0.9\n", ":2: 3 columns, the third is '0.9', expected a rank (topic doc rank); a file of "
     "scores needs a first line query-id corpus-id score, with tabs"),
    ("qid,docno,score\n1,d,x\n", ":2: the score is 'x', expected a number"),
    ("qid,docno,rank\n1,d,x\n", ":2: the rank is 'x', expected a number"),
]  # fmt: skip


def complaint(kind: Any, thing: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        kind.of(thing, **options)
    return str(caught.value)


@pytest.mark.parametrize(("text", "message"), QRELS, ids=[message[:60] for _, message in QRELS])
def test_bad_qrels(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.qrels"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    caught = complaint(Qrels, path)
    assert caught == f"{path}{message}"


@pytest.mark.parametrize(("text", "message"), RUNS, ids=[message[:60] for _, message in RUNS])
def test_bad_runs(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.run"
    path.write_bytes(text.encode())
    assert complaint(Run, path) == f"{path}{message}"


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    assert complaint(Qrels, path).startswith(f"{path}: the Parquet data is damaged: ")


def test_a_long_line_is_shortened_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "long.run"
    path.write_bytes(b"1 Q0 " + b"x" * 10_000_000 + b" 1 1.0 tag\n")
    assert complaint(Run, path) == f"{path}:1: an id has 10000000 bytes, at most 65535 are allowed"
    path.write_bytes(b"1 Q0 d 1 " + b"9x" * 5_000_000 + b" tag\n")
    assert len(complaint(Run, path)) < 300
    path.write_bytes(b"1 Q0 d 1 1 tag\n" + b"x " * 5_000_000)
    assert complaint(Run, path) == f"{path}:2: 5000000 columns, expected 6: topic Q0 doc rank score tag"
    path.write_bytes(b'{"1": {"d": ' + b"[" * 100_000)
    assert "JSON" in complaint(Run, path)
    path.write_bytes(b"qid,docno,score\n1," + b"x" * 10_000_000 + b",1\n")
    assert complaint(Run, path) == f"{path}:2: is not valid CSV: field larger than field limit (131072)"


def test_a_format_with_a_header_needs_it() -> None:
    assert complaint(Qrels, b"q1\td1\t1\n", format="beir") == (
        "<bytes>:1: no header, expected the line query-id corpus-id score first"
    )


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ({"q": {"d": "1"}}, "qrels: topic 'q', document 'd': the grade is '1', expected a number"),
        ({"q": {"d": None}}, "qrels: topic 'q', document 'd': the grade is None, expected a number"),
        ({"q": {"d": math.nan}}, "qrels: topic 'q', document 'd': the grade is nan, expected a number"),
        ({"q": "d"}, "qrels: topic 'q': expected a dict of documents"),
        ({"q": {None: 1}}, "qrels: an id is None, expected text or an integer"),
        ({1.5: {"d": 1}}, "qrels: an id is 1.5, expected text or an integer"),
        ({1: {"d": 1}, "1": {"d": 1}}, "qrels: topic '1' appears twice, as different Python objects"),
        ([("q", "d", "x")], "records: record 1: the grade is 'x', expected a number"),
        ([("q", "d", 1), ("q", "d", 1)],
         "records: record 2: document 'd' appears twice for topic 'q', first in record 1" + WAY_OUT),
        ([("q", "d", 1), ("q", True, 1)], "records: record 2: the document is True, expected text or an integer"),
        ([("q", "d", np.bool_(True))], f"records: record 1: the grade is {np.bool_(True)!r}, expected a number"),
        ([("q", "d", 10**400)],
         f"records: record 1: the grade is 1{'0' * 59}..., too large for a 64-bit number"),
        ([("q", "d")],
         "records: record 1 is ('q', 'd'), expected (topic, doc, grade) or (topic, doc, grade, iteration)"),
        (["q d 1"], "records: record 1 is 'q d 1', expected a dict, a named tuple or (topic, doc, grade)"),
        (pd.DataFrame({"qid": ["1", np.nan], "docno": ["a", "b"], "label": [1, 2]}),
         "frame: row 2: the topic is nan, expected text or an integer"),
        (pd.DataFrame({"qid": [1.0], "docno": ["a"], "label": [1]}),
         "frame: row 1: the topic is 1.0, expected text or an integer"),
        (pd.DataFrame({"qid": [1], "docno": ["a"], "label": [np.nan]}),
         "frame: row 1: the grade is nan, not a number that can be ordered"),
        (pd.DataFrame({"qid": [1, 1], "docno": ["a", "a"], "label": [1, 1]}),
         "frame: row 2: document 'a' appears twice for topic '1', first in row 1" + WAY_OUT),
    ],
)  # fmt: skip
def test_bad_objects(thing: Any, message: str) -> None:
    assert complaint(Qrels, thing) == message


def test_other_numbers_are_numbers() -> None:
    assert Qrels.of([("q", "a", Decimal("1")), ("q", "b", np.float32(0)), ("q", "c", np.int8(2))]).to_dict() == {
        "q": {"a": 1, "b": 0, "c": 2}
    }


def test_objects_that_are_not_data() -> None:
    for thing in (7, None, 1.5):
        with pytest.raises(UsageError, match="cannot be read as qrels: give a path, bytes, an open file"):
            Qrels.of(thing)
    with pytest.raises(UsageError, match="on_duplicate == 'last', must be one of 'error', 'first', 'max'"):
        Qrels.of(b"1 0 d 1\n", on_duplicate="last")
    with pytest.raises(UsageError, match="format == 'xml', must be one of trec, diversity"):
        Qrels.of(b"1 0 d 1\n", format="xml")


@pytest.mark.parametrize(("rule", "grade"), [("first", 1), ("max", 3)])
def test_duplicates_by_rule_are_counted(rule: str, grade: int, tmp_path: Path) -> None:
    path = tmp_path / "x.qrels"
    path.write_bytes(b"1 0 d 1\n1 0 d 3\n1 0 d 2\n1 0 e 0\n")
    with pytest.warns(CranfieldWarning) as caught:
        qrels = Qrels.read(path, on_duplicate=rule)
    assert qrels.to_dict() == {"1": {"d": grade, "e": 0}}
    assert [str(w.message) for w in caught] == [f"{path}: 2 duplicate documents were dropped (on_duplicate={rule!r})"]
    with pytest.warns(CranfieldWarning, match="^1 duplicate document was dropped"):
        assert Run.of([("q", "d", 1.0), ("q", "d", 2.0)], on_duplicate=rule).to_dict() == {
            "q": {"d": 1.0 if rule == "first" else 2.0}
        }


def test_matrices_of_other_shapes() -> None:
    with pytest.raises(UsageError, match=r"scores of shape \(2,\), must be queries × documents"):
        Run.from_arrays([1.0, 2.0])
    with pytest.raises(UsageError, match=r"mask of shape \(1, 1\), must be \(1, 2\), the shape of the scores"):
        Run.from_arrays([[1.0, 2.0]], mask=[[True]])
    with pytest.raises(UsageError, match="2 topics for 1 query"):
        Run.from_arrays([[1.0]], topics=["a", "b"])
    with pytest.raises(UsageError, match=r"docs of shape \(3,\), must be \(2,\) or \(1, 2\)"):
        Run.from_arrays([[1.0, 2.0]], docs=["a", "b", "c"])
    with pytest.raises(DataError, match="scores: value 2: the score is nan"):
        Run.from_arrays([[1.0, math.nan]])


@pytest.mark.parametrize(
    ("thing", "format", "message"),
    [
        (Qrels.of({"q": {"a b": 1}}), "trec",
         "the document 'a b' contains a blank, a line break or a NUL, which trec cannot hold; csv and json can"),
        (Qrels.of({"q": {"a\tb": 1}}), "beir",
         "the document 'a\\tb' contains a tab, a line break or a NUL, which beir cannot hold"),
        (Qrels.of({"q": {"a ": 1}}), "beir", "the document 'a ' has a blank at its end, which beir cannot hold"),
        (Qrels.of({"#q": {"a": 1}}), "trec", "the topic '#q' would be read as a comment, which trec cannot hold"),
        (Qrels.of({"q": {"a\0": 1}}), "csv", "the document 'a\\x00' contains a NUL, which csv cannot hold"),
        (Qrels.of({"q": {}, "r": {"d": 1}}), "trec",
         "trec cannot hold topics without documents (q); to leave that out: allow_loss=True"),
        (Qrels.of(b"1 a d 1\n1 b d 0\n"), "beir", "beir cannot hold intents; to leave that out: allow_loss=True"),
        (Qrels.of(b"1 1 d 1\n2 1 d 0\n"), "msmarco",
         "msmarco cannot hold iterations; to leave that out: allow_loss=True"),
        (Run.of({"q": {"d": 2.0}}), "msmarco", "msmarco cannot hold scores; to leave that out: allow_loss=True"),
        (Run.of(b"1 Q0 a 1 1 x\n1 Q0 b 2 3 x\n"), "beir",
         "beir cannot hold ranks that do not follow the scores; to leave that out: allow_loss=True"),
        (Run.of({"q": {"d": 2.0}}, name="my run"), "trec",
         "the name of the run 'my run' contains a blank, a line break or a NUL, which trec cannot hold"),
    ],
)  # fmt: skip
def test_what_a_format_cannot_hold(thing: Any, format: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        thing.write(tmp_path / "out", format)
    assert str(caught.value) == f"{tmp_path / 'out'}: {message}"
    assert list(tmp_path.iterdir()) == []


def test_frames_need_utf8() -> None:
    qrels = Qrels.of(b"1 0 \xff 1\n")
    with pytest.raises(DataError, match="is not UTF-8 text, as pyarrow needs"):
        qrels.to_arrow()
    with pytest.raises(DataError, match="is not UTF-8 text, as polars needs"):
        qrels.to_polars()


def test_several_runs_with_one_name() -> None:
    runs = runs_of(b"1 Q0 d 1 1 x\n1 Q0 d 1 1 y\n", "mine", split_tags=True)
    assert [run.name for run in runs] == ["mine:x", "mine:y"]


def test_parquet_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from cranfield.errors import CranfieldError

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CranfieldError, match="Parquet needs pyarrow, which is not installed"):
        Qrels.of(b"PAR1")


def test_datasets_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from cranfield.errors import CranfieldError

    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(CranfieldError, match=r"irds:x: needs ir_datasets: pip install 'cranfield\[datasets\]'"):
        Qrels.of("irds:x")
