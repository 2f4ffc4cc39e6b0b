"""A folder with the response to one query in each file is one run; a folder of runs is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cranfield import DataError, Run, evaluate
from cranfield.collection.collection_files import run_files

HITS = [{"_id": "a", "_score": 2.0}, {"_id": "b", "_score": 1.0}]
OBJECTS = [{"id": "a", "score": 2}, {"id": "b", "score": 1}]
VESPA = {"root": {"id": "toplevel", "relevance": 1.0, "children": [
    {"id": "id:shop:item::a", "relevance": 2.0, "fields": {}}, {"id": "id:shop:item::b", "relevance": 1.0},
]}}  # fmt: skip
FILES: dict[str, tuple[str, Any]] = {
    "elasticsearch": ("q1.json", {"took": 1, "timed_out": False, "hits": {"hits": HITS}}),
    "solr": ("q1.json", {"responseHeader": {}, "response": {"docs": OBJECTS}}),
    "vespa": ("q1.json", VESPA),
    "objects": ("q1.json", OBJECTS),
    "csv": ("q1.csv", "doc_id,score,title\na,2,x\nb,1,y\n"),
    "tsv": ("q1.tsv", "docno\tscore\na\t2\nb\t1\n"),
}
WITHOUT_SCORES: dict[str, tuple[str, Any]] = {
    "ids": ("q1.json", ["a", "b"]),
    "objects": ("q1.json", [{"doc": "a"}, {"doc": "b"}]),
    "csv": ("q1.csv", "doc_id,title\na,x\nb,y\n"),
    "ranks": ("q1.csv", "rank;doc\n1;a\n2;b\n"),
}


def folder_of(tmp_path: Path, *files: tuple[str, Any], name: str = "responses") -> Path:
    folder = tmp_path / name
    folder.mkdir()
    for file, content in files:
        (folder / file).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", FILES)
def test_the_name_of_a_file_is_the_topic(tmp_path: Path, name: str) -> None:
    file, content = FILES[name]
    run = Run.read(folder_of(tmp_path, (file, content), (".hidden", "x")))
    assert (run.name, run.to_dict()) == ("responses", {"q1": {"a": 2.0, "b": 1.0}})


@pytest.mark.parametrize("name", WITHOUT_SCORES)
def test_without_scores_the_order_counts(tmp_path: Path, name: str) -> None:
    assert Run.read(folder_of(tmp_path, WITHOUT_SCORES[name])).to_dict() == {"q1": {"a": 1.0, "b": 0.5}}


def test_a_folder_is_scored_like_a_run(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ("q1.json", ["a", "b"]), ("q2.json", []), ("q3.json", ["c"]))
    scores = evaluate({"q1": {"b": 1}, "q3": {"c": 1}}, f"{folder}/", "RR")
    assert scores.to_dict() == {"responses": {"q1": {"RR": 0.5}, "q3": {"RR": 1.0}}}  # b is second, c is first


def test_a_response_may_name_its_topic(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ("first.json", {"query_id": "q7", "response": {"hits": {"hits": HITS}}}))
    assert list(Run.read(folder).topics) == ["q7"]


@pytest.mark.parametrize(
    "file",
    [
        ("bm25.json", {"q1": {"a": 1.0}}),
        ("bm25.csv", "topic,doc,score\nq1,a,1\n"),
        ("bm25.json", [{"topic": "q1", "doc": "a", "score": 1}]),
        ("bm25.json", {"responses": [{"hits": {"hits": HITS}}]}),
        ("bm25.run", "q1 Q0 a 1 2 t\n"),
        ("notes.csv", "a,b\n1,2\n"),
    ],
)
def test_a_folder_of_runs_is_an_error_that_says_what_to_do(tmp_path: Path, file: tuple[str, Any]) -> None:
    folder = folder_of(tmp_path, file)
    with pytest.raises(DataError) as caught:
        Run.read(folder)
    assert str(caught.value) == (
        f"{folder}: is a directory; as one run, each file must hold the results of one query and have its name "
        f"(q1.json), not so {file[0]}; if each file is a run: '{folder}/*'"
    )
    assert run_files(str(folder)) == [str(folder / file[0])]  # of a collection, it holds the runs


def test_a_folder_of_responses_is_one_run_of_a_collection(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, ("q1.json", ["a"]), ("q2.json", ["b"]))
    assert run_files(str(folder)) == [str(folder)]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (("q1.csv", "doc,score\na,2\nb,high\n"), "q1.csv:3: the score is 'high', expected a number"),
        (
            ("q1.csv", "doc;score\na;0,5\n"),
            "q1.csv:2: the score is '0,5', expected a number; numbers need a decimal point: 0.5",
        ),
        (("q1.csv", "doc,score\na\n"), "q1.csv:2: 1 column, expected 2: doc, score"),
        (("q1.json", '["a",\n "b"'), "q1.json:2: is not valid JSON: Expecting ',' delimiter (column 5)"),
    ],
)
def test_a_fault_names_the_file_in_the_folder_and_its_line(tmp_path: Path, file: tuple[str, str], message: str) -> None:
    folder = folder_of(tmp_path, file)
    with pytest.raises(DataError) as caught:
        Run.read(folder)
    assert str(caught.value) == str(folder / message)


def test_an_empty_folder_and_a_repeated_document_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"empty: is a directory, expected a file$"):
        Run.read(folder_of(tmp_path, name="empty"))
    with pytest.raises(DataError, match="document 'a' appears twice for topic 'q1'"):
        Run.read(folder_of(tmp_path, ("q1.json", ["a", "a"])))
