"""N, the size of the collection, by topic."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import DataError, UsageError

QRELS = {"a": {"d1": 1, "d2": 1}, "b": {"d1": 1, "d9": 1}}
RUN = {"a": {"d1": 3.0, "d3": 2.0, "d4": 1.0}, "b": {"d3": 2.0, "d1": 1.0}}
SIZES = {"N": {"a": 10, "b": 40}}

# topic a: 1 relevant of 3 retrieved, 1 missed, 10 documents: TP 1, FP 2, FN 1, TN 6
# topic b: 1 relevant of 2 retrieved, 1 missed, 40 documents: TP 1, FP 1, FN 1, TN 37
EXPECTED = {
    "Accuracy": {"a": 7 / 10, "b": 38 / 40},
    "Fallout": {"a": 2 / 8, "b": 1 / 38},
    "Specificity": {"a": 6 / 8, "b": 37 / 38},
    "Utility(d=0.1)": {"a": 1 - 2 + 0.6, "b": 1 - 1 + 3.7},
    # one relevant document is found after 0 and 1 others; the second is among TN + 1 documents in random order
    "ESL(wanted=2)": {"a": 2 + 6 / 2, "b": 1 + 37 / 2},
}


@pytest.mark.parametrize("measure", EXPECTED)
def test_measures_of_the_collection_take_its_size_by_topic(measure: str) -> None:
    scores = cf.evaluate(QRELS, {"mine": RUN}, [measure], topic_numbers=SIZES).to_dict()["mine"]
    assert {topic: values[measure] for topic, values in scores.items()} == pytest.approx(EXPECTED[measure])


@pytest.mark.parametrize("measure", EXPECTED)
def test_a_size_in_the_name_takes_precedence(measure: str) -> None:
    sized = cf.parse(measure).replace(N=40)
    without, with_table = (
        cf.evaluate(QRELS, {"mine": RUN}, [sized], topic_numbers=table).to_dict() for table in (None, SIZES)
    )
    assert without == with_table


def test_explain_uses_the_size_of_the_topic() -> None:
    options = cf.JoinOptions(topic_numbers=SIZES)
    lines = cf.explain(QRELS, RUN, "a", "Accuracy", options=options).lines
    # after one document: TP 1, FP 0, FN 1, TN 8; each further document that is not relevant takes one of the TN
    assert [line.so_far for line in lines] == pytest.approx([9 / 10, 8 / 10, 7 / 10])


def test_a_size_that_is_too_small_names_the_topic() -> None:
    with pytest.raises(UsageError, match="N == 3, but topic 'a' has 4 documents retrieved or relevant"):
        cf.evaluate(QRELS, {"mine": RUN}, ["Accuracy"], topic_numbers={"N": {"a": 3, "b": 40}})


def test_a_topic_without_a_size_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sizes").write_text("a 10\n")
    with pytest.raises(DataError, match=r"Accuracy: no N for 1 topic: b; add a line b N"):
        cf.evaluate(QRELS, {"mine": RUN}, ["Accuracy"], topic_numbers=str(tmp_path / "sizes"))
