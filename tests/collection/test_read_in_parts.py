"""Large files are read part by part, with the result of reading them at once."""

from __future__ import annotations

import json
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.collection import doors
from cranfield.collection.convert import convert
from cranfield.collection.file_formats import blocks
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.errors import CranfieldWarning, DataError

GRADED = [("q1", "d1", 1), ("q2", "d1", 0), ("q1", "d2", 2), ("q1", "é", 0), ("q3", "d9", 1)]
LINES = [{"query_id": topic, "doc_id": doc, "relevance": grade} for topic, doc, grade in GRADED]


def backwards(record: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(record.items()))


FILES = {
    "lines": "\n".join(map(json.dumps, LINES)),
    "lines with comments": "# judged\n\n" + "\n\n".join(map(json.dumps, LINES)) + "\n",
    "other order of fields": "\n".join(map(json.dumps, [LINES[0], *map(backwards, LINES[1:])])),
    "more fields later": "\n".join(json.dumps(line | {"note": n} if n else line) for n, line in enumerate(LINES)),
    "true and false": "\n".join(json.dumps(line | {"relevance": line["relevance"] == 2}) for line in LINES),
    "intents": "\n".join(json.dumps(line | {"intent": str(n % 2)}) for n, line in enumerate(LINES)),
    "csv": "query_id,doc_id,relevance\n" + "\n".join(f"{t},{d},{g}" for t, d, g in GRADED),
    "csv, quoted": 'query_id,doc_id,relevance\n"q, 1","a\nb",2\n"q, 1","c",0\n',
    "csv, yes and no": "query_id,doc_id,relevance\nq,a,yes\nq,b,no\nq,c,Yes\nq,d,no\nq,e,no\n",
    "csv, words and numbers": "query_id,doc_id,relevance\nq,a,yes\nq,b,no\nq,c,1\n",
    "csv, numbers and words": "query_id,doc_id,relevance\nq,a,1\nq,b,no\n",
    "tsv": "# c\nquery_id\tdoc_id\trelevance\r\n" + "\r\n".join(f"{t}\t{d}\t{g}" for t, d, g in GRADED),
    "nested": json.dumps({"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}, indent=1),
    "nested, an empty topic": json.dumps({"q1": {"d1": 1, "d2": 0}, "q2": {}}),
    "records in a list": json.dumps(LINES),
    "a fault": "\n".join(map(json.dumps, [*LINES[:3], LINES[3] | {"relevance": "x"}])),
    "a field less": "\n".join(map(json.dumps, [*LINES[:3], {"query_id": "q", "doc_id": "d"}])),
    "twice": "\n".join(map(json.dumps, [*LINES, LINES[0]])),
    "broken": "\n".join(map(json.dumps, LINES)) + '\n{"query_id": "q',
    "nested twice": '{"q1": {"d1": 1}, "q1": {"d2": 1}}',
    "nested and more": '{"q1": {"d1": 1}} x',
    "row of another length": "query_id,doc_id,relevance\nq,a,1\nq,b\n",
}  # fmt: skip


def told(read: Any) -> object:
    """What is read, or the message."""
    try:
        thing = read()
    except DataError as error:
        return str(error)
    return type(thing), thing.topics, [tuple(entry) for entry in thing], thing.notes


@pytest.mark.parametrize("size", [1, 60, 10_000])
@pytest.mark.parametrize("name", FILES)
def test_parts_of_any_size_give_the_judgments_or_the_message(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = FILES[name].encode()
    format = "json" if name.startswith(("nested", "records")) else None
    whole = told(lambda: Qrels.of(data, format=format))
    monkeypatch.setattr(blocks, "SMALL", 0)
    monkeypatch.setattr(doors, "BLOCK", size)
    monkeypatch.setattr(blocks, "ROWS", 2)
    assert told(lambda: Qrels.of(data, format=format)) == whole


@pytest.mark.parametrize("split", [False, True])
def test_a_second_tag_may_come_late(split: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f'{{"query_id": "q", "doc_id": "d{n}", "score": {n}, "run": "{"ab"[n > 7]}"}}' for n in range(10)]
    data = "\n".join(rows).encode()

    def read() -> list[tuple[str, dict[str, dict[str, float]]]]:
        return [(run.name, run.to_dict()) for run in runs_of(data, split_tags=split)]

    with pytest.warns(CranfieldWarning, match="2 tags") if not split else _nothing():
        whole = read()
    monkeypatch.setattr(blocks, "SMALL", 0)
    monkeypatch.setattr(doors, "BLOCK", 50)
    with pytest.warns(CranfieldWarning, match="2 tags") if not split else _nothing():
        assert read() == whole
    assert len(whole) == 1 + split


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@cache
def long_lists() -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(1)
    return {f"q{q}": {f"doc{d:07}": float(d) for d in rng.permutation(500)} for q in range(300)}


@pytest.mark.parametrize("format", ["jsonl", "csv", "json", "trec"])
def test_a_large_file_is_converted_in_little_memory(format: str, tmp_path: Path) -> None:
    """Python's own objects: a part of the entries at a time, and at most the text of a file."""
    lists = long_lists()
    source, target = tmp_path / f"a.{format}", tmp_path / "b.jsonl"
    Run.of(lists).write(source, format)
    entries = 300 * 500
    tracemalloc.start()
    try:
        convert(source, target, kind="run")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # before: 300 bytes and more for each entry
    assert peak < 22e6 + (3 * source.stat().st_size if format == "json" else 0), peak / entries
    assert Run.of(target).to_dict() == lists
