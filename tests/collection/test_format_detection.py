"""Formats are detected from the content of a file, or named."""

from __future__ import annotations

import pytest

from cranfield.collection.formats import Layout, detect, formats_of, named
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
    assert str(caught.value) == (
        "format == 'xml', must be one of trec, msmarco, msmarco-scored, beir, json, jsonl, csv, tsv, parquet for run"
    )


def test_every_format_has_its_own_name() -> None:
    for kind in ("run", "qrels"):
        assert all(format.name == name for name, format in formats_of(kind).items())
