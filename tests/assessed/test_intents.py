"""Judgments by intent, probabilities and types of intents, and lists by intent."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.assessed.hits_by_intent import intents_of, with_intents
from cranfield.assessed.intents import Intents, judged_by_intent
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.evaluation.evaluator import score
from cranfield.views.by_intent import ByIntent

JUDGED = b"""\
1 1 a 1
1 1 b 2
1 2 b 1
1 2 c 1
1 10 c 0
1 10 a 3
2 1 a 1
"""
RUN = {"1": {"a": 4.0, "x": 3.5, "b": 3.0, "c": 1.0}, "2": {"c": 1.0}}


def read(judged: bytes = JUDGED, probabilities: Any = None, types: Any = None) -> Intents:
    return judged_by_intent(Qrels.of(judged), probabilities, types)[1]


def test_intents_are_sorted_by_number_and_equally_likely() -> None:
    intents = read()
    assert intents.names == ("1", "2", "10", "1")
    assert intents.count.tolist() == [3, 1]
    assert intents.probability.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert not intents.navigational.any()


def test_each_document_has_its_grades_by_intent_and_its_highest_grade() -> None:
    judged, intents = judged_by_intent(Qrels.of(JUDGED))
    entries = [
        (int(document), intents.names[intent], grade)
        for document, intent, grade in zip(intents.document, intents.intent, intents.grade.tolist(), strict=True)
    ]
    # documents of topic 1 by name: a, b, c; then a of topic 2
    assert entries == [(0, "1", 1), (0, "10", 3), (1, "1", 2), (1, "2", 1), (2, "2", 1), (2, "10", 0), (3, "1", 1)]
    assert judged.grade.tolist() == [3, 2, 1, 1]


def test_the_order_of_lines_does_not_matter() -> None:
    lines = JUDGED.splitlines(keepends=True)
    names = ["alpha-nDCG", "D-Q", "AP-IA"]
    shuffled = cf.evaluate(b"".join(lines[i] for i in (4, 0, 3, 1, 5, 2, 6)), {"r": RUN}, names)
    assert shuffled.to_dict() == cf.evaluate(JUDGED, {"r": RUN}, names).to_dict()


def test_named_distributions_are_those_of_sakai_2013_table_1() -> None:
    # the j-th of n intents has 2^(n-j+1) / (2 + 4 + ... + 2^n)
    assert read(probabilities="nonuniform").probability.tolist() == pytest.approx([8 / 14, 4 / 14, 2 / 14, 1])
    assert read(probabilities="uniform").probability.tolist() == read().probability.tolist()


def test_probabilities_and_types_from_files(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("# topic intent probability\n1 1 0.5\n1 2 0.3\n1 10 0.2\n\n2 1 1\n")
    (tmp_path / "t").write_text("1 1 inf\n1 2 NAV\n1 10 informational\n2 1 navigational\n")
    intents = read(probabilities=tmp_path / "p", types=str(tmp_path / "t"))
    assert intents.probability.tolist() == pytest.approx([0.5, 0.3, 0.2, 1])
    assert intents.navigational.tolist() == [False, True, False, True]


@pytest.mark.parametrize("mark", ["\t", ";", "; ", ",", " , "])
def test_files_may_have_other_separators_and_names_with_blanks(tmp_path: Path, mark: str) -> None:
    rows = [("1", "the band", "0.6"), ("1", "airships of old", "0.4")]
    (tmp_path / "p").write_text("".join(mark.join(row) + "\n" for row in rows))
    judged = Qrels.of([("1", "a", 1, "the band"), ("1", "b", 1, "airships of old")])
    _, intents = judged_by_intent(judged, tmp_path / "p")
    probability = dict(zip(intents.names, intents.probability.tolist(), strict=True))
    assert probability == {"the band": 0.6, "airships of old": 0.4}


def test_intents_without_relevant_documents_are_named_in_order() -> None:
    with pytest.warns(CranfieldWarning, match="left out: 2/1, 1/2, 1/10$"):
        read(b"2 1 a 0\n1 10 a 0\n1 2 a 0\n1 3 b 1\n2 3 b 1\n")


def test_an_intent_without_relevant_documents_is_left_out_and_counted() -> None:
    judged = JUDGED + b"1 7 a 0\n2 9 a 0\n"
    with pytest.warns(CranfieldWarning) as caught:
        intents = read(judged, {"1": {"1": 0.2, "2": 0.2, "10": 0.1, "7": 0.5}, "2": {"1": 1, "9": 0}})
    assert str(caught[0].message) == "2 intents without relevant documents are left out: 1/7, 2/9"
    assert intents.names == ("1", "2", "10", "1")
    assert intents.probability.tolist() == pytest.approx([0.4, 0.4, 0.2, 1])  # the others share its probability


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (
            {"1": {"1": 0.5, "2": 0.5, "10": 0.5}, "2": {"1": 1}},
            "topic '1': intent probabilities sum to 1.5, expected 1",
        ),
        ({"1": {"1": 1.5, "2": -0.5, "10": 0}, "2": {"1": 1}}, "probability '1.5', must be a number between 0 and 1"),
        ({"1": {"1": 0.5, "2": 0.5}, "2": {"1": 1}}, "no probability for intent '10' of topic '1'"),
        ({"1": {"1": 0.5, "2": 0.3, "10": 0.2}}, "no probability for intent '1' of topic '2'"),
        ({"1": {"1": "x", "2": 0.3, "10": 0.2}, "2": {"1": 1}}, "probability 'x', must be a number"),
        ({"1": {"1": "nan", "2": 0.3, "10": 0.2}, "2": {"1": 1}}, "topic '1'"),
        ({"1": {"1": 0, "2": 0, "10": 0, "4": 1}, "2": {"1": 1}}, "all intents that have relevant documents have"),
        ("missing-file", "missing-file"),
    ],
)
def test_wrong_probabilities_are_refused(probabilities: Any, message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        read(probabilities=probabilities)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"1": {"1": "inf", "2": "shopping", "10": "nav"}}, "intent '2': type 'shopping', must be informational"),
        ({"1": {"1": "inf", "2": "inf"}, "2": {"1": "inf"}}, "no type for intent '10' of topic '1'"),
    ],
)
def test_wrong_types_are_refused(types: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(types=types)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1\n", r":1: 2 columns, expected topic intent \[probability\] inf/nav"),
        ("1;1;nav;0.5;2012\n", ":1: 5 columns, expected topic intent"),
        ("1;1;nav;2012\n", ":1: topic '1', intent '1': type '2012', must be informational"),
        ("1;;nav\n", ":1: the intent is '', expected a text that is not empty"),
        ("1 1 nav\n1 1 inf\n", ":2: intent '1' of topic '1' appears twice"),
    ],
)
def test_errors_in_files_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "types").write_text(text)
    with pytest.raises(DataError, match=message):
        read(types=tmp_path / "types")


def test_describing_intents_that_do_not_exist_is_an_error() -> None:
    with pytest.raises(UsageError, match="intents are described, but the judgments have none"):
        join({"q": {"d": 1}}, {"q": {"d": 1.0}}, JoinOptions(intent_types={"q": {"1": "nav"}}))


def test_measures_without_intents_use_the_highest_grade() -> None:
    lists = join(JUDGED, {"r": RUN})
    assert lists.grade.tolist() == [3, 2, 1]
    assert any("highest grade over all intents" in note for note in score(lists, "P").notes)


def test_lists_by_intent() -> None:
    lists = join(JUDGED, {"r": RUN})
    by_intent = ByIntent().apply(lists)
    assert by_intent.rows == 4
    actual = [
        (int(r), int(k), g) for r, k, g in zip(by_intent.row, by_intent.rank, by_intent.grade.tolist(), strict=True)
    ]
    # intents 1, 2, 10 of topic 1; in topic 2 no judged document is retrieved
    assert actual == [(0, 1, 1), (0, 3, 2), (1, 3, 1), (1, 4, 1), (2, 1, 3), (2, 4, 0)]
    assert by_intent.num_rel(1).tolist() == [2, 2, 1, 1]
    assert ByIntent(lowest=1).apply(lists, cutoff=3).rank.tolist() == [1, 3, 3, 1]


def test_lists_by_intent_are_sorted_by_list_and_rank() -> None:
    rng = np.random.default_rng(3)
    judged = "".join(
        f"{topic} {intent} d{doc} {int(rng.integers(0, 3))}\n"
        for topic in range(3)
        for doc in rng.permutation(40)
        for intent in range(30)
        if rng.random() < 0.4
    )
    runs = {f"r{n}": {str(t): {f"d{d}": float(rng.random()) for d in range(50)} for t in range(3)} for n in range(800)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        lists = join(judged.encode(), runs)
    assert lists.rows * int(intents_of(lists).count.max()) > 1 << 16  # more lists by intent than 16 bits can number
    by_intent = ByIntent().apply(lists)
    assert (np.diff(by_intent.row) >= 0).all()
    assert (np.diff(by_intent.rank)[np.diff(by_intent.row) == 0] > 0).all()


def test_one_list_by_hand() -> None:
    lists = with_intents([{"b": 1}, None, {"a": 2, "b": 0}], [{"c": 0}], {"a": 0.2, "b": 0.6}, ["b"])
    assert intents_of(lists).names == ("a", "b")  # no document is relevant to c
    assert intents_of(lists).probability.tolist() == pytest.approx([0.25, 0.75])
    assert intents_of(lists).navigational.tolist() == [False, True]
    assert lists.retrieved.tolist() == [3]


@pytest.mark.filterwarnings("ignore:.*(is judged; an id|the same score|the same judged documents)")
def test_reading_lists_by_intent_in_blocks_gives_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"r": RUN, "s": {"1": {"c": 2.0, "b": 1.0}, "2": {"a": 1.0}}, "t": {"1": {"x": 1.0}, "2": {"x": 1.0}}}
    names = ["AP-IA", "nDCG-IA@2", "Judged-IA", "AP-IA'", "nERR[IA]", "U-IA", "P-IA[ties]"]
    lengths = {"a": 900, "b": 2000, "c": 100, "x": 300}
    whole = cf.evaluate(JUDGED, runs, names, lengths=lengths).to_dict()
    monkeypatch.setattr("cranfield.views.by_intent.MOST_ENTRIES", 2)
    assert len(ByIntent()._blocks(join(JUDGED, runs), None)) > 3
    assert cf.evaluate(JUDGED, runs, names, lengths=lengths).to_dict() == whole
