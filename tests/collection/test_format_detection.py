"""Formats are detected from the content of a file, or named."""

from __future__ import annotations

import pytest

from cranfield.collection.file_formats.formats import RUNS, STRUCTURED, Layout, detect, formats_of, named
from cranfield.errors import UsageError


@pytest.mark.parametrize(
    ("text", "kind", "format"),
    [
        ("1 Q0 d 1 2.5 tag", "run", "trec"),
        ("1 d 1", "run", "msmarco"),
        ("1 d 1 0.5", "run", "msmarco-scored"),
        ("1 0 d 1", "qrels", "trec"),
        ("1 d 1", "qrels", "msmarco"),
        ("query-id\tcorpus-id\tscore\r\n1\td\t1", "qrels", "beir"),
        ("query-id\tcorpus-id\tscore\n1\td\t1", "run", "beir"),
        ("query_id\tdoc_id\tscore\n", "run", "tsv"),
        ("qid,docno,label\n", "qrels", "csv"),
        ('"qid";"docno";"label"\n', "qrels", "csv"),
        ("qid|docno|label\n", "qrels", "csv"),
        ("\n# comment\nqid,docno,label\n", "qrels", "csv"),
        ('{"1": {"d": 1}}', "qrels", "json"),
        ('{"1": {"d": 1},\n "2": {}}', "qrels", "json"),
        ("{\n", "qrels", "json"),
        ('[{"qid": 1}]', "qrels", "json"),
        ('[["q", "d", 1]]', "qrels", "json"),
        ("[", "run", "json"),
        ('{"qid": "1", "docno": "d", "score": 1}', "run", "jsonl"),
        ('{"1": {"d": 1}}\n{"2": {"d": 1}}\n', "run", "jsonl"),
        ("PAR1\0\0", "run", "parquet"),
        ("[1] Q0 d 1 2.5 tag", "run", "trec"),
        ("{x} 0 d 1", "qrels", "trec"),
        ("query 0 doc 1", "qrels", "trec"),
        ("1 2 3 4 5 6 7", "run", "trec"),
        ("\ufeff1 0 d 1", "qrels", "trec"),
    ],
)
def test_formats_are_detected(text: str, kind: str, format: str) -> None:
    assert detect(text.encode(), kind).name == format


def test_formats_can_be_named() -> None:
    assert named("json", "run").name == "json"
    beir = named("beir", "qrels")
    assert isinstance(beir, Layout)
    assert beir.header
    with pytest.raises(UsageError) as caught:
        named("xml", "run")
    assert str(caught.value) == f"format == 'xml', must be one of {', '.join([*RUNS, *STRUCTURED])} for run"


def test_every_format_has_its_own_name() -> None:
    for kind in ("run", "qrels"):
        assert all(format.name == name for name, format in formats_of(kind).items())


def test_a_further_format_does_not_change_how_files_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RUNS, "short", Layout("short", ("topic", "doc", "value"), "topic doc score"))
    assert detect(b"1 d 1", "run").name == "msmarco"


def test_a_delimiter_separates_the_columns_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ("topic", "doc", "value")
    monkeypatch.setitem(RUNS, "bars", Layout("bars", columns, "topic doc score", "|"))
    monkeypatch.setitem(RUNS, "named", Layout("named", columns, "Query Doc Score", ";", header=True))
    assert detect(b"a query|d|1\r\n", "run").name == "bars"
    assert detect(b"query;doc;score\nq;d;1\n", "run").name == "named"
    assert detect(b"qid|docno|score\nq|d|1\n", "run").name == "csv"
    assert detect(b"1 d 1", "run").name == "msmarco"
