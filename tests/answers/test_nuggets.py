"""Nuggets: recall, precision with an allowance, F, votes, the scores of TREC's RAG track, POURPRE and pyramids."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from cranfield import CranfieldWarning, DataError, UsageError
from cranfield.answers.answer_texts import Answer
from cranfield.answers.nugget_files import Assignments, Nugget, read_assignments, read_nuggets, weights_of
from cranfield.answers.nugget_scores import (
    assignment_labels,
    characters,
    explain_nuggets,
    nugget_scores,
    pyramid_maximum,
    pyramid_scores,
)
from cranfield.answers.pourpre_scores import explain_pourpre, pourpre
from cranfield.answers.tokenisation import WordRules
from cranfield.building.agreement import agreement

NUGGETS = {
    "1": {
        "a": Nugget("a", "born in 1942", "vital"),
        "b": Nugget("b", "plays bass", "vital"),
        "c": Nugget("c", "likes tea", "okay"),
        "d": Nugget("d", "lives in London", "okay"),
    }
}
FOUND = Assignments({"mine": {"1": {"a": 1.0, "b": 0.5, "c": 1.0}}}, NUGGETS)


def scored(name: str, found: Assignments = FOUND, **options: object) -> float:
    return nugget_scores(found, [name], **options).values.item()


def test_scores_of_the_rag_track() -> None:
    """Support is 1, 1/2, 1, 0; a and b are vital; okay nuggets count half in `weighted`."""
    assert scored("all") == pytest.approx(2.5 / 4)
    assert scored("all-strict") == pytest.approx(2 / 4)
    assert scored("vital") == pytest.approx(1.5 / 2)
    assert scored("vital-strict") == pytest.approx(1 / 2)
    assert scored("weighted") == pytest.approx((1 + 0.5 + 0.5) / (2 + 1))
    assert scored("weighted-strict") == pytest.approx((1 + 0.5) / (2 + 1))


def test_recall_precision_and_f_of_question_answering() -> None:
    """Equations (40) to (42): a and c are found, a is vital; 250 characters, of which 200 are allowed."""
    texts = {"mine": {"1": "x " * 250}}
    assert scored("W-Rec", texts=texts) == pytest.approx(1 / 2)
    assert scored("Prec", texts=texts) == pytest.approx(1 - 50 / 250)
    assert scored("F", texts=texts, beta=3) == pytest.approx(10 * 0.8 * 0.5 / (9 * 0.8 + 0.5))
    # white space doubles the length; partial support makes b found as well
    assert scored("Prec", texts=texts, white_space=True) == pytest.approx(1 - 300 / 500)
    assert scored("W-Rec", texts=texts, partial_matches=True) == pytest.approx(1)
    assert scored("Prec", texts={"mine": {"1": ""}}) == 1


def test_votes_become_weights(tmp_path: Path) -> None:
    """a has 3 vital votes, b 1, c none: weights 1, 1/3, 0."""
    (tmp_path / "n.tsv").write_text("topic\tnugget\ttext\n1\ta\tx\n1\tb\ty\n1\tc\tz\n")
    rows = [("a", "vital"), ("b", "vital"), ("c", "okay"), ("a", "vital"), ("b", "okay"), ("a", "vital")]
    lines = [f"1\t{id}\tp{place}\t{vote}\n" for place, (id, vote) in enumerate(rows)]
    (tmp_path / "v.tsv").write_text("topic\tnugget\tassessor\ttype\n" + "".join(lines))
    weights, note = weights_of(read_nuggets(tmp_path / "n.tsv", tmp_path / "v.tsv"), "auto")
    assert weights["1"] == pytest.approx({"a": 1, "b": 1 / 3, "c": 0})
    assert note == "weights of nuggets: vital votes, divided by the most of a nugget of the topic"


def test_a_topic_without_vital_nuggets_is_undefined() -> None:
    found = Assignments({"x": {"1": {"a": 1.0}}}, {"1": {"a": Nugget("a", "", "okay")}})
    assert math.isnan(scored("vital", found))
    assert math.isnan(scored("W-Rec", found))


def test_an_answer_that_is_missing_scores_zero() -> None:
    nuggets = {"1": NUGGETS["1"], "2": NUGGETS["1"]}
    scores = nugget_scores(Assignments(FOUND.support, nuggets), ["all"], texts={"mine": {"1": "a", "2": "b"}, "y": {}})
    assert scores.values[0].tolist() == [[0.625, 0], [0, 0]]
    assert scores.missing.tolist() == [[False, False], [True, True]]
    assert any("1 answer without assignments" in note and "mine: 2" in note for note in scores.notes)


def test_measures_that_need_more_say_so() -> None:
    with pytest.raises(UsageError, match="F needs the length of answers: give texts="):
        nugget_scores(FOUND, ["F"])
    plain = Assignments({"x": {"1": {"a": 1.0}}}, {"1": {"a": Nugget("a")}})
    with pytest.raises(UsageError, match="vital needs nuggets that are vital or okay"):
        nugget_scores(plain, ["vital"])
    assert nugget_scores(plain).measures == ("all", "all-strict")


def test_characters_count_code_points() -> None:
    assert characters("e\u0301 😀\u200d") == 4
    assert characters("שלום עולם", white_space=True) == 9


# ---- files


def test_files_of_the_judging_server_are_read(tmp_path: Path) -> None:
    (tmp_path / "nuggets.tsv").write_text(
        "topic\tnugget\ttype\tweight\ttext\n1\tn1\tvital\t\tborn\n1\tn2\tokay\t\ttea\n"
    )
    (tmp_path / "assignments.tsv").write_text("topic\tanswer\tnugget\tgrade\n1\tans7\tn1\t2\n1\tans7\tn2\t1\n")
    nuggets = read_nuggets(tmp_path / "nuggets.tsv")
    found = read_assignments(tmp_path / "assignments.tsv", nuggets, [Answer("mine", "1", "text", "ans7")])
    assert found.support == {"mine": {"1": {"n1": 1.0, "n2": 0.5}}}  # of grades 0, 1 and 2, 1 is partial support
    assert found.notes == ("full support: grade 2 or more; grades between 0 and that: partial",)
    found = read_assignments(tmp_path / "assignments.tsv", nuggets, [Answer("mine", "1", "", "ans7")], full_grade=1)
    assert found.support == {"mine": {"1": {"n1": 1.0, "n2": 1.0}}}


def test_assignment_files_name_nuggets_themselves(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"qid": "1", "run_id": "x", "nuggets": [{"text": "t", "importance": "vital", "assignment": "support"},'
        ' {"text": "u", "importance": "okay", "assignment": "partial_support"}]}\n'
        '{"qid": "1", "run_id": "y", "nuggets": [{"text": "t", "importance": "vital", "assignment": "not_support"}]}\n'
    )
    found = read_assignments(tmp_path / "a.jsonl")
    assert found.support == {"x": {"1": {"1": 1.0, "2": 0.5}}, "y": {"1": {"1": 0.0}}}
    assert found.nuggets["1"]["2"].importance == "okay"
    assert found.notes == (
        "1 answer without an assignment of some nuggets, which count as not supported: y: 1",
    )  # fmt: skip


def test_spans_of_the_judging_server_are_nuggets_that_were_found(tmp_path: Path) -> None:
    (tmp_path / "s.tsv").write_text(
        "topic\tnugget\tdoc\tstart\tend\tassessor\ttext\n1\ta\tans7\t0\t4\tanna\tborn\n1\ta\tans7\t0\t5\tben\tborn \n"
    )
    found = read_assignments(tmp_path / "s.tsv", NUGGETS, [Answer("mine", "1", "born in 1942", "ans7")])
    assert found.support == {"mine": {"1": {"a": 1.0}}}
    assert found.notes == ("no column says how far a nugget is supported: every row is one that was found",)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\tx\ta\t", r"a.tsv:2: support is empty, expected support"),
        ("2\tx\ta\tsupport", r"a.tsv:2: topic '2' has no nuggets; the topics are 1"),
        ("1\tx\tz\tsupport", r"a.tsv:2: no nugget 'z' in topic '1'; it has a, b, c, d"),
        ("1\tx\ta\tmaybe", r"a.tsv:2: support is 'maybe', expected support, partial_support, not_support, or a grade"),
        ("1\tx\ta\t-1", r"a.tsv:2: support is '-1', expected a grade, 0 or above"),
        ("1\tx\ta\t1\n1\tx\ta\t0", r"a.tsv:3: nugget 'a' of topic '1' is assigned twice for run 'x'"),
        ("\tx\ta\t1", r"a.tsv:2: the topic is '', expected a name or a text"),
        ("1\tx\ta", r"a.tsv:2: 3 columns, expected 4 as on line 1"),
    ],
)
def test_wrong_assignments_are_errors(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "a.tsv").write_text(f"topic\trun\tnugget\tsupport\n{rows}\n")
    with pytest.raises(DataError, match=message):
        read_assignments(tmp_path / "a.tsv", NUGGETS)


MACHINE = """\
{"qid": "1", "run_id": "x", "nuggets": [
 {"text": "t1", "importance": "vital", "assignment": "support"},
 {"text": "t2", "importance": "failed", "assignment": "support"},
 {"text": "t3", "importance": "okay", "assignment": "The answer says so."},
 {"text": "t4", "importance": "vital", "assignment": "failed"},
 {"text": "t5", "importance": ["okay"], "assignment": null},
 {"text": "t6", "importance": "okay", "assignment": "partial_support"}]}
""".replace("\n ", "")
"""Nuggets of a language model, some of whose answers could not be read."""


def test_values_without_meaning_are_counted_and_listed(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(MACHINE)
    with pytest.raises(DataError) as error:
        read_assignments(tmp_path / "m.jsonl")
    message = str(error.value)
    assert "m.jsonl:1: importance is 'failed', expected vital or okay" in message
    assert "2 × importance ('failed', ['okay'])" in message
    assert "3 × support ('The answer says so.', 'failed', empty)" in message
    assert message.endswith("unknown='zero'")
    with pytest.raises(UsageError, match="unknown == 'skip', must be one of 'error', 'zero'"):
        read_assignments(tmp_path / "m.jsonl", unknown="skip")


def test_support_without_meaning_is_zero_and_importance_without_meaning_counts_in_all(tmp_path: Path) -> None:
    """Support 1, 1, 0, 0, 0, 1/2; t1 and t4 are vital, t3 and t6 okay, t2 and t5 neither."""
    (tmp_path / "m.jsonl").write_text(MACHINE)
    found = read_assignments(tmp_path / "m.jsonl", unknown="zero")
    assert found.notes == (
        "2 × importance without meaning, counted as part of all and all-strict only: 'failed', ['okay']",
        "3 × support without meaning, counted as not supported: 'The answer says so.', 'failed', empty",
    )
    assert scored("all", found) == pytest.approx(2.5 / 6)
    assert scored("all-strict", found) == pytest.approx(2 / 6)
    assert scored("vital", found) == pytest.approx(1 / 2)
    assert scored("weighted", found) == pytest.approx((1 + 0.5 * 0.5) / (2 + 2 * 0.5))
    assert scored("weighted-strict", found) == pytest.approx(1 / 3)
    assert nugget_scores(found).notes == found.notes


def test_a_file_of_nuggets_and_votes_may_have_values_without_meaning(tmp_path: Path) -> None:
    (tmp_path / "n.tsv").write_text("topic\tnugget\ttype\n1\ta\tvital\n1\tb\tfailed\n")
    (tmp_path / "v.tsv").write_text("topic\tnugget\tassessor\ttype\n1\ta\tann\tvital\n1\ta\tben\t?\n")
    with pytest.warns(CranfieldWarning, match=r"2 × importance without meaning.*: 'failed', '\?'"):
        nuggets = read_nuggets(tmp_path / "n.tsv", tmp_path / "v.tsv", unknown="zero")
    assert nuggets["1"]["b"].importance == ""
    assert (nuggets["1"]["a"].votes, nuggets["1"]["a"].voters) == (1, 1)  # ben's vote does not count


def test_nuggets_that_are_neither_vital_nor_okay_are_noted() -> None:
    nuggets = {"1": {"a": Nugget("a", "", "vital"), "b": Nugget("b", "", "okay"), "c": Nugget("c")}}
    found = Assignments({"x": {"1": {"a": 1.0, "c": 1.0}}}, nuggets)
    scores = nugget_scores(found, ["all", "weighted"])
    assert scores.values.ravel().tolist() == pytest.approx([2 / 3, 1 / 1.5])
    assert scores.notes == ("1 nugget is neither vital nor okay, counted only in all and all-strict: 1: c",)


def test_a_nugget_twice_or_of_unknown_type_is_an_error(tmp_path: Path) -> None:
    for rows, message in (
        ("1\ta\tvital\n1\ta\tokay", "n.tsv:3: nugget 'a' of topic '1' appears twice"),
        ("1\ta\tgreat", "n.tsv:2: importance is 'great', expected vital or okay"),
    ):
        (tmp_path / "n.tsv").write_text(f"topic\tnugget\ttype\n{rows}\n")
        with pytest.raises(DataError, match=message):
            read_nuggets(tmp_path / "n.tsv")


def test_explain_lists_all_nuggets() -> None:
    explained = explain_nuggets(FOUND, "1")
    assert explained.ids == ("a", "b", "c", "d")
    assert explained.support[:3, 0].tolist() == [1, 0.5, 1]
    assert np.isnan(explained.support[3, 0])


def test_agreement_of_people_and_a_machine() -> None:
    """They agree on 3 of 4 nuggets."""
    person = Assignments({"x": {"1": {"a": 1.0, "b": 0.5, "c": 0.0, "d": 1.0}}}, NUGGETS)
    machine = Assignments({"x": {"1": {"a": 1.0, "b": 0.5, "c": 0.0, "d": 0.0}}}, NUGGETS)
    labels = assignment_labels({"person": person, "machine": machine})
    assert labels.scale == ("0", "0.5", "1")
    columns = agreement(labels, ["percent"], resamples=0).columns()
    assert 0.75 in columns["value"].tolist()


# ---- POURPRE


def test_pourpre_takes_the_best_sentence() -> None:
    """born in 1942: 2 of 3 words in the first sentence; plays bass: 1 of 2; precision 1."""
    text = "He was born in Liverpool. He plays guitar."
    recall = (2 / 3 + 1 / 2) / 2  # the okay nuggets have weight 0
    assert pourpre({"x": {"1": text}}, NUGGETS, beta=3).values.item() == pytest.approx(10 * recall / (9 + recall))
    micro = (2 + 1) / (3 + 2)
    score = pourpre({"x": {"1": text}}, NUGGETS, beta=3, average="micro").values.item()
    assert score == pytest.approx(10 * micro / (9 + micro))


def test_pourpre_does_not_join_sentences() -> None:
    """born and London are in two sentences; as one line, they are together."""
    nuggets = {"1": {"a": Nugget("a", "born London", "vital")}}
    texts = {"x": {"1": "He was born. In London."}}
    for rules, recall in ((WordRules(), 1), (WordRules(sentences="marks"), 1 / 2)):
        assert pourpre(texts, nuggets, rules=rules, beta=1).values.item() == pytest.approx(2 * recall / (1 + recall))


def test_pourpre_with_weights_of_words() -> None:
    """Of "born in 1942", only born and 1942 have a weight, and born is in the answer: 1/4."""
    nuggets = {"1": {"a": Nugget("a", "born in 1942", "vital")}}
    recall = 1 / 4
    score = pourpre({"x": {"1": "born in L."}}, nuggets, idf={"born": 1.0, "1942": 3.0}, beta=1).values.item()
    assert score == pytest.approx(2 * recall / (1 + recall))


def test_pourpre_allows_length_for_nuggets_that_match() -> None:
    """One nugget matches: 100 of 300 characters are allowed, and the recall is 1."""
    nuggets = {"1": {"a": Nugget("a", "bass", "vital")}}
    score = pourpre({"x": {"1": "bass " + "y" * 296}}, nuggets, beta=1).values.item()
    assert score == pytest.approx(2 * (1 / 3) / (1 + 1 / 3))


def test_pourpre_is_explained() -> None:
    explained = explain_pourpre("He was born there.\nHe plays.", NUGGETS, "1", rules=WordRules())
    assert explained.match.tolist() == pytest.approx([1 / 3, 1 / 2, 0, 0])
    assert explained.words == ("born", "plays", "", "")
    assert explained.sentences[1] == "he plays"


# ---- pyramids


def test_the_maximum_is_that_of_all_subsets() -> None:
    weights = [4, 3, 3, 2, 1, 1]
    for size in range(7):
        best = max(sum(chosen) for chosen in combinations(weights, size))
        assert pyramid_maximum(weights, size) == best


def test_pyramid_scores_by_hand() -> None:
    """Units of weight 4, 3, 2, 1 of 4 models, so 10/4 = 2.5 units a model, rounded to 3; found: 4 and 1."""
    units = {"1": {f"u{w}": Nugget(f"u{w}", weight=w) for w in (4, 3, 2, 1)}}
    found = Assignments({"x": {"1": {"u4": 1.0, "u1": 1.0}}}, units)
    assert pyramid_scores(found).values.ravel().tolist() == pytest.approx([5 / 7, 5 / 9])
    # a third unit of the summary is in no model
    scores = pyramid_scores(found, units={("x", "1"): 3}, models=5)
    assert scores.values.ravel().tolist() == pytest.approx([5 / 9, 5 / 7])  # 10/5 = 2 units a model


def test_the_rounding_of_the_modified_pyramid_is_stated() -> None:
    """Weights 4, 4, 2, 1 of 4 models: 11/4 = 2.75 units a model. Three units weigh at most 10; the one found, 4."""
    units = {"1": {f"u{i}": Nugget(f"u{i}", weight=w) for i, w in enumerate((4, 4, 2, 1))}}
    scores = pyramid_scores(Assignments({"x": {"1": {"u0": 1.0}}}, units), measures=["pyramid-modified"], models=4)
    assert scores.values.item() == pytest.approx(4 / 10)
    assert any("rounded to a whole number, halves up (1: 2.75 → 3)" in note for note in scores.notes)
    whole = pyramid_scores(Assignments({"x": {"1": {"u0": 1.0}}}, units), measures=["pyramid-modified"], models=11)
    assert any("rounded to a whole number, halves up; above 1" in note for note in whole.notes)


def test_pyramids_need_weights() -> None:
    with pytest.raises(UsageError, match="the number of models that express it"):
        pyramid_scores(FOUND)


def test_a_topic_without_an_answer_scores_0_and_an_empty_answer_is_counted() -> None:
    nuggets = {topic: {"a": Nugget("a", "bass", "vital")} for topic in "123"}
    found = Assignments({"x": {"1": {"a": 1.0}}, "y": {topic: {"a": 0.0} for topic in "123"}}, nuggets)
    texts = {"x": {"1": "bass", "9": "?"}, "y": {"1": "no", "2": " ", "3": "no"}}
    scores = nugget_scores(found, ["Prec", "F"], texts=texts)
    assert scores.missing[0].tolist() == [False, True, True]
    assert scores.values[:, 0].tolist() == [[1, 0, 0], [1, 0, 0]]
    assert scores.values[0, 1].tolist() == [0, 1, 0]  # 1 − max(0, l − 0) / l; no character is above the allowance
    assert scores.notes[:2] == (
        "1 answer to a topic without nuggets, left out: x: 9",
        "1 empty answer: y: 2",
    )
    assert pourpre(texts, nuggets).notes[:2] == scores.notes[:2]
