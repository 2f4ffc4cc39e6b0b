"""Records and frames with a list of documents: the passages of a question, or the items of a user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from cranfield import DataError, Qrels, Run, evaluate
from cranfield.building.document_texts import read_records
from cranfield.collection.convert import kind_of
from cranfield.collection.file_formats.response_folders import read_response_folder

RETRIEVED = [
    {"id": "q1", "question": "why?", "contexts": [{"id": "p3", "text": "a", "score": 2.0}, {"id": "p4", "score": 5.0}]},
    {"id": "q2", "question": "how?", "contexts": [{"id": "p9", "text": "b", "score": 1.0}]},
]
RELEVANT = [{"id": "q1", "answer": "because", "relevant_docs": ["p3", "p7"]}, {"id": "q2", "relevant_docs": ["p9"]}]


def as_lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.parametrize("shape", ["lines", "json", "records"])
def test_the_list_of_a_record_is_a_ranking_or_holds_the_relevant_documents(shape: str) -> None:
    def form(records: list[dict[str, Any]]) -> Any:
        return {"lines": as_lines(records), "json": json.dumps(records).encode(), "records": records}[shape]

    assert Run.of(form(RETRIEVED)).to_dict() == {"q1": {"p3": 2.0, "p4": 5.0}, "q2": {"p9": 1.0}}
    assert Qrels.of(form(RELEVANT)).to_dict() == {"q1": {"p3": 1, "p7": 1}, "q2": {"p9": 1}}
    # q1: p3 is second, of two relevant documents; q2: p9 is first, of one. Recall (1/2 + 1) / 2, RR (1/2 + 1) / 2.
    assert evaluate(form(RELEVANT), {"run": form(RETRIEVED)}, "R,RR").mean()["run"] == {"R": 0.75, "RR": 0.75}


def test_a_list_without_scores_is_in_its_order() -> None:
    assert Run.of([{"user": 7, "items": ["b", "a"]}]).to_dict() == {"7": {"b": 1.0, "a": 0.5}}


def test_a_list_of_judgments_may_have_grades() -> None:
    graded = [{"question_id": "q", "evidence": [{"passage_id": "p", "grade": 2}, {"passage_id": "r", "grade": 0}]}]
    assert Qrels.of(graded).to_dict() == {"q": {"p": 2, "r": 0}}


def test_the_column_of_lists_can_be_named() -> None:
    record = {"frage": "q1", "treffer": ["a", "b"], "text": "x"}
    assert Run.of([record], columns={"topic": "frage", "doc": "treffer"}).to_dict() == {"q1": {"a": 1.0, "b": 0.5}}


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_of_a_frame_may_hold_lists(library: Any) -> None:
    frame = library.DataFrame({"userId": [1, 2], "recommendations": [["a", "b"], ["c"]]})
    assert Run.of(frame).to_dict() == {"1": {"a": 1.0, "b": 0.5}, "2": {"c": 1.0}}


def test_what_retrieval_returned_is_not_taken_for_judgments() -> None:
    with pytest.raises(DataError, match="no column for the document among id, question, contexts"):
        Qrels.of(RETRIEVED)


def test_faults_name_the_line() -> None:
    lines = as_lines([RETRIEVED[0], {"id": "q2", "contexts": "p9"}])
    with pytest.raises(DataError, match=r"<bytes>:2: 'p9', expected a list of documents"):
        Run.of(lines)
    with pytest.raises(DataError, match=r"<bytes>:2: \{'id': 'q2'\}, expected the same fields as line 1"):
        Run.of(as_lines([RETRIEVED[0], {"id": "q2"}]))
    with pytest.raises(DataError, match=r"<bytes>:2: document 'p9' appears twice for topic 'q2', first on line 2"):
        Run.of(as_lines([RETRIEVED[0], {"id": "q2", "contexts": [{"id": "p9", "score": 1}, {"id": "p9", "score": 2}]}]))
    with pytest.raises(DataError, match=r"<bytes>:2: has \{'score': 1\}, expected a document with id and score"):
        Run.of(as_lines([RETRIEVED[0], {"id": "q2", "contexts": [{"id": "p9", "score": 1}, {"score": 1}]}]))


@pytest.mark.parametrize(("records", "kind"), [(RETRIEVED, "run"), (RELEVANT, "qrels")])
def test_the_kind_of_a_file_of_lists_is_detected(tmp_path: Path, records: Any, kind: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(as_lines(records))
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("names", "ranked"),
    [
        (("user", "item", "rating"), ("user", "item", "prediction")),
        (("userId", "movieId", "rating"), ("userID", "itemID", "score")),
        (("question_id", "chunk_id", "relevant"), ("question_id", "passage_id", "score")),
        (("query", "sku", "label"), ("query", "product_id", "rank")),
    ],
)
def test_columns_that_shops_recommenders_and_makers_of_answers_use(names: Any, ranked: Any) -> None:
    judged = pd.DataFrame([("u", "a", 2), ("u", "b", 0)], columns=names)
    run = pd.DataFrame([("u", "a", 1)], columns=ranked)
    assert Qrels.of(judged).to_dict() == {"u": {"a": 2, "b": 0}}
    assert Run.of(run).to_dict() == {"u": {"a": 1.0}}


def test_a_table_of_two_columns_lists_relevant_documents(tmp_path: Path) -> None:
    path = tmp_path / "likes.csv"
    path.write_text("user,item\nann,film7\nann,film2\n")
    for source in (path, pd.read_csv(path), [{"user": "ann", "item": film} for film in ("film7", "film2")]):
        qrels = Qrels.of(source)
        assert qrels.to_dict() == {"ann": {"film7": 1, "film2": 1}}
        assert any("no grades: each row is a relevant document" in note for note in qrels.notes)
    path.write_text("user,item\n" + "".join(f"{user},film{film}\n" for user in range(400) for film in range(1000)))
    assert path.stat().st_size > 2 << 20  # read in parts
    assert len(Qrels.of(path)) == 400_000


def test_the_id_of_a_document_is_not_its_product_or_passage(tmp_path: Path) -> None:
    texts = tmp_path / "docs.jsonl"
    texts.write_text('{"id": "p1", "product": "a lamp", "text": "bright"}\n')
    assert [record.id for record in read_records(texts, "docs.jsonl")] == ["p1"]
    folder = tmp_path / "responses"
    folder.mkdir()
    (folder / "q1.json").write_text('[{"id": "p1", "product": "a lamp", "score": 2}]')
    assert read_response_folder(str(folder)).docs == ["p1"]
