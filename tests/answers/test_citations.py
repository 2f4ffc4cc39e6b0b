"""Citations of generated answers: precision, recall, support, sentence by sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cranfield import CranfieldWarning, DataError
from cranfield.answers.cited_answers import (
    Sentence,
    citation_scores,
    explain_citations,
    read_cited_answers,
    support_labels,
)

ANSWER = [
    Sentence("A.", ("d1", "d2"), (1.0, 0.5)),
    Sentence("B.", ("d3",), (0.5,)),
    Sentence("C.", (), ()),
    Sentence("D.", ("d1",), (None,)),
]


def scored(name: str, **options: object) -> float:
    return citation_scores({"x": {"1": ANSWER}}, [name], **options).values.item()


def test_scores_by_hand() -> None:
    """Support 1, 1/2 | 1/2 | - | not judged: four citations, four sentences."""
    assert scored("citation-precision") == pytest.approx(2 / 4)
    assert scored("citation-recall") == pytest.approx((1 + 0.5) / 4)
    assert scored("citation-F", beta=1) == pytest.approx(2 * 0.5 * 0.375 / 0.875)
    assert scored("citation-precision-strict") == pytest.approx(1 / 4)
    assert scored("citation-recall-strict") == pytest.approx(1 / 4)
    assert scored("supported") == pytest.approx(1 / 3)
    assert scored("uncited") == pytest.approx(1 / 4)
    assert scored("citation-precision", unjudged="skip") == pytest.approx(2 / 3)
    assert scored("citation-precision", counted_citations="first") == pytest.approx(1.5 / 3)


def test_unjudged_citations_and_empty_answers_are_noted() -> None:
    scores = citation_scores({"x": {"1": ANSWER, "2": []}})
    assert scores.values[:, 0, 1].tolist() == [0, 0, 0]
    assert scores.notes == ("1 of 4 citations not judged, as not supporting", "1 empty answer, scored 0: x: 2")


def test_answers_of_the_rag_track_are_read(tmp_path: Path) -> None:
    record = {
        "run_id": "x", "topic_id": "1", "references": ["d1", "d2"],
        "answer": [{"text": "A.", "citations": [0, 1]}, {"text": "B.", "citations": []}],
    }  # fmt: skip
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "s.tsv").write_text("run\ttopic\tsentence\tcitation\tsupport\nx\t1\t1\td2\tpartial_support\n")
    answers = read_cited_answers([tmp_path / "a.jsonl"], tmp_path / "s.tsv")
    assert answers == {"x": {"1": [Sentence("A.", ("d1", "d2"), (None, 0.5)), Sentence("B.", (), ())]}}


def test_a_table_of_citations_is_read(tmp_path: Path) -> None:
    rows = "run,topic,sentence,citation,support\nx,1,1,d1,2\nx,1,1,d2,0\nx,1,3,d1,1\nx,1,2,,\n"
    (tmp_path / "c.csv").write_text(rows)
    answers = read_cited_answers([tmp_path / "c.csv"])
    assert answers["x"]["1"] == [
        Sentence("", ("d1", "d2"), (1.0, 0.0)), Sentence("", (), ()), Sentence("", ("d1",), (0.5,)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("y\t1\t1\td1\t1", "run 'y' has no answer for topic '1'"),
        ("x\t1\t3\td1\t1", "there is no sentence 3: the answer has 2 sentences"),
        ("x\t1\t1\td9\t1", "sentence 1 does not cite 'd9'; it cites d1, d2"),
        ("x\t1\t0\td1\t1", "sentence is '0', expected a whole number, 1 or above"),
        ("x\t1\t1\td1\t1\nx\t1\t1\td1\t0", "citation 'd1' of sentence 1 is judged twice"),
    ],
)
def test_wrong_judgments_are_errors(tmp_path: Path, row: str, message: str) -> None:
    record = {"run_id": "x", "topic_id": "1", "answer": [{"text": "A.", "citations": ["d1", "d2"]}, {"text": "B."}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "s.tsv").write_text(f"run\ttopic\tsentence\tcitation\tsupport\n{row}\n")
    with pytest.raises(DataError, match=message):
        read_cited_answers([tmp_path / "a.jsonl"], tmp_path / "s.tsv")


def test_a_citation_outside_the_references_is_an_error(tmp_path: Path) -> None:
    record = {"run_id": "x", "topic_id": "1", "references": ["d1"], "answer": [{"text": "A.", "citations": [1]}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(DataError, match=r"a.jsonl:1: citation 1 is not a place in the references"):
        read_cited_answers([tmp_path / "a.jsonl"])


def test_every_sentence_is_explained() -> None:
    explained = explain_citations({"x": {"1": ANSWER}}, "1")
    assert explained.numbers.tolist() == [1, 1, 2, 3, 4]
    assert explained.texts == ("A.", "", "B.", "C.", "D.")
    assert explained.citations == ("d1", "d2", "d3", "", "d1")
    assert np.isnan(explained.support[3:]).all()


def test_labels_for_agreement_have_judged_citations_only() -> None:
    labels = support_labels({"person": {"x": {"1": ANSWER}}, "machine": {"x": {"1": ANSWER}}})
    assert len(labels.items) == 3
    assert labels.scale == ("0.5", "1")


def test_a_topic_without_an_answer_has_no_share_of_uncited_sentences() -> None:
    answers = {"x": {"1": [Sentence("A.", ("d",), (1.0,)), Sentence("B.", (), ())]}, "y": {"2": []}}
    scores = citation_scores(answers, ["uncited", "citation-recall"])
    assert scores.values[0, 0, 0] == 0.5
    assert np.isnan(scores.values[0]).tolist() == [[False, True], [True, True]]
    assert scores.values[1].tolist() == [[0.5, 0], [0, 0]]


def test_support_without_meaning_counts_as_not_judged(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text(
        "run\ttopic\tsentence\tcitation\tsupport\nx\t1\t1\td1\tsupport\nx\t1\t1\td2\tfailed\n"
    )
    with pytest.raises(DataError, match=r"c.tsv:3: support is 'failed', .*1 × support .*unknown='unjudged'"):
        read_cited_answers([tmp_path / "c.tsv"])
    with pytest.warns(CranfieldWarning, match="1 × support without meaning, counted as not judged: 'failed'"):
        answers = read_cited_answers([tmp_path / "c.tsv"], unknown="unjudged")
    assert answers["x"]["1"][0].support == (1.0, None)
    assert citation_scores(answers, ["citation-precision"]).values.item() == 1 / 2
    assert citation_scores(answers, ["citation-precision"], unjudged="skip").values.item() == 1


def test_sentences_may_stand_beside_the_text_of_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    answer = {"id": "x", "question_id": "q1", "answer": "A. B.", "sentences": [{"text": "A.", "citations": ["p1"]}]}
    path.write_text(json.dumps(answer) + "\n")
    assert read_cited_answers([path]) == {"new": {"q1": [Sentence("A.", ("p1",), (None,))]}}


def test_an_answer_that_is_one_text_is_an_error_that_shows_the_form(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"question_id": "q1", "answer": "A. B."}\n')
    with pytest.raises(DataError, match=r"new.jsonl:1: the answer is one text, expected a list of sentences"):
        read_cited_answers([path])
