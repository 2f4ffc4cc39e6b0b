"""Labels in place of grades: numbers that a person gives them, and an error that lists them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cranfield import DataError, Qrels, UsageError, evaluate

ROWS = [("q1", "d1", "Exact"), ("q1", "d2", "Irrelevant"), ("q2", "d1", "Partial")]
GRADES = {"Exact": 3, "partial": 0.5, "Irrelevant": 0}
READ = {"q1": {"d1": 3, "d2": 0}, "q2": {"d1": 0.5}}
TREC = "".join(f"{topic} 0 {doc} {label}\n" for topic, doc, label in ROWS)
CSV = "query,doc,label\n" + "".join(f"{topic},{doc},{label}\n" for topic, doc, label in ROWS)
SOURCES: dict[str, Any] = {
    "trec": TREC.encode(),
    "msmarco": TREC.replace(" 0 ", "\t").encode(),
    "other case, CRLF": TREC.replace("Exact", "EXACT").replace("\n", "\r\n").encode(),
    "gzip": gzip.compress(TREC.encode()),
    "csv": CSV.encode(),
    "json lines": "".join(
        json.dumps({"query": topic, "doc": doc, "grade": label}) + "\n" for topic, doc, label in ROWS
    ).encode(),
    "nested json": json.dumps({"q1": {"d1": "Exact", "d2": "Irrelevant"}, "q2": {"d1": "Partial"}}).encode(),
    "dict": {"q1": {"d1": "Exact", "d2": "Irrelevant"}, "q2": {"d1": "Partial"}},
    "tuples": ROWS,
    "frame": pd.DataFrame(ROWS, columns=["query_id", "doc_id", "grade"]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_labels_have_the_numbers_that_they_are_given(name: str) -> None:
    assert Qrels.of(SOURCES[name], grades=GRADES).to_dict() == READ


@pytest.mark.parametrize("name", SOURCES)
def test_judgments_with_labels_are_an_error_that_lists_them(name: str) -> None:
    with pytest.raises(DataError, match=r"grades=\{'I\w+': 0, 'P\w+': 1, 'E\w+': 2\}$"):
        Qrels.of(SOURCES[name])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TREC,
            "qrels.txt:1: the grade is 'Exact', expected a number; the grades are words (Irrelevant, Partial, Exact); "
            "to give them numbers, such as these: grades={'Irrelevant': 0, 'Partial': 1, 'Exact': 2}",
        ),
        (
            CSV,
            "qrels.txt:2: the grade is 'Exact', expected a number; the grades are words (Irrelevant, Partial, Exact); "
            "to give them numbers, such as these: grades={'Irrelevant': 0, 'Partial': 1, 'Exact': 2}",
        ),
        # one slip among numbers is no label
        ("q1 0 d1 1\nq1 0 d2 0\nq1 0 d3 x\n", "qrels.txt:3: the grade is 'x', expected a number"),
        (
            "topic iteration doc grade\nq1 0 d2 0\n",
            "qrels.txt:1: the grade is 'grade', expected a number; if this line is a header, remove it",
        ),
    ],
)
def test_the_error_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        Qrels.read(path)
    assert str(caught.value) == str(tmp_path / message)


def test_a_label_without_a_number_is_an_error_that_repeats_the_others() -> None:
    with pytest.raises(DataError, match=r"grades=\{'Exact': 3, 'Irrelevant': 0, 'Partial': 1\}$"):
        Qrels.of(TREC.encode(), grades={"Exact": 3})


def test_numbers_beside_labels_stay_as_they_are() -> None:
    assert Qrels.of(b"q 0 a 2\nq 0 b yes\n", grades={"yes": 1}).to_dict() == {"q": {"a": 2, "b": 1}}


@pytest.mark.parametrize("name", SOURCES)
def test_a_note_says_what_labels_stand_for(name: str) -> None:
    assert Qrels.of(SOURCES[name], grades=GRADES).notes == ("grades of labels: Exact 3, partial 0.5, Irrelevant 0",)


def test_evaluate_takes_labels(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(TREC)
    scores = evaluate(path, {"mine": {"q1": ["d2", "d1"], "q2": ["d1"]}}, "RR(rel=3)", grades=GRADES)
    assert scores.to_dict()["mine"]["q1"] == {"RR(rel=3)": 0.5}  # the only document of grade 3 is second


@pytest.mark.parametrize("grades", [{"Exact": "3"}, {"Exact": True}, {"Exact": float("nan")}, {"a": 1, "A": 2}])
def test_grades_are_numbers_and_one_for_each_label(grades: Any) -> None:
    with pytest.raises(UsageError, match=r"^grades: '"):
        Qrels.of(TREC.encode(), grades=grades)
