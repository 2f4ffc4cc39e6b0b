"""`explain` with intents, recall points and undefined scores."""

from __future__ import annotations

import json
import math
import tracemalloc
import warnings

import pytest

import cranfield as cf
from cranfield.assessed.changed_lists import prefixes
from cranfield.errors import CranfieldWarning

QRELS = b"1 1 a 2\n1 1 b 1\n1 2 b 1\n1 2 c 3\n1 3 z 1\n"
RUN = {"1": {"a": 9.0, "x": 8.0, "b": 7.0, "c": 6.0}}
LENGTHS = {"a": 500, "b": 300, "c": 200, "x": 100}
TYPES = {"1": {"1": "inf", "2": "nav", "3": "nav"}}

# -- intents


@pytest.mark.parametrize("measure", ["D-nDCG@4", "DIN#-Q@4", "I-rec@4", "nDCG-IA@4", "U-IA", "ERR-IA", "P+Q", "TBG-IA"])
def test_lines_show_the_intents_that_a_document_serves(measure: str) -> None:
    explained = cf.explain(QRELS, RUN, "1", measure, options=cf.JoinOptions(lengths=LENGTHS))
    assert [line.intents for line in explained.lines] == [{"1": 2}, {}, {"1": 1, "2": 1}, {"2": 3}]
    assert explained.header[4] == "intents"
    assert [record[4] for record in explained.records()] == ["1:2", "", "1:1 2:1", "2:3"]
    assert [line["intents"] for line in json.loads(json.dumps(explained.to_dict()))["lines"]][:2] == [{"1": 2.0}, {}]
    assert str(explained).splitlines()[3].split()[:5] == ["2", "x", "8", "unjudged", "-"]


def test_lines_of_measures_without_intents_do_not_show_intents() -> None:
    explained = cf.explain(QRELS, RUN, "1", "AP")
    assert (explained.by_intent, "intents" in explained.header, "intents" in explained.to_dict()["lines"][0]) == (
        False,
        False,
        False,
    )


def test_columns_show_the_reader_of_each_intent() -> None:
    """A snippet has 200 characters, and a fifth of each document for the intent is read: 500 / 5, 300 / 5, 200 / 5."""
    explained = cf.explain(QRELS, RUN, "1", "U-IA", options=cf.JoinOptions(lengths=LENGTHS))
    assert [line.counts["offset for 1"] for line in explained.lines] == [300, 500, 760, 960]
    assert [line.counts["offset for 2"] for line in explained.lines] == [200, 400, 660, 900]
    assert [line.counts["offset for 3"] for line in explained.lines] == [200, 400, 600, 800]
    last = (3 * (1 - 900 / 132_000)) / 3
    assert explained.lines[3].counts["adds"] == pytest.approx(last)


def test_err_ia_shows_the_score_of_every_intent() -> None:
    """The grades for intent 2 are 0, 0, 1, 3, and the highest grade is 3: 1/8 · 1/3 + 7/8 · 7/8 · 1/4 = 0.2331."""
    explained = cf.explain(QRELS, RUN, "1", "ERR-IA")
    assert "intent 2: ERR 0.2331, probability 0.3333" in explained.notes
    assert "intent 3: ERR 0.0000, probability 0.3333" in explained.notes
    assert not any(
        note.startswith("intent 2: ERR") for note in cf.explain(QRELS, RUN, "1", "ERR-IA(dialect='ndeval')").notes
    )


def test_p_plus_q_shows_type_and_preferred_rank() -> None:
    """P+ of intent 2 is the mean of (1 + 1) / (3 + 4) at rank 3 and (2 + 4) / (4 + 4) at rank 4, the best document."""
    explained = cf.explain(QRELS, RUN, "1", "P+Q", options=cf.JoinOptions(intent_types=TYPES))
    by_hand = (2 / 7 + 6 / 8) / 2
    assert f"intent 2 (navigational): P+ {by_hand:.4f}, preferred rank 4, probability 0.3333" in explained.notes
    assert "intent 3 (navigational): P+ 0.0000, no preferred rank, probability 0.3333" in explained.notes
    assert any(note.startswith("intent 1 (informational): Q") for note in explained.notes)


def test_explain_notes_the_source_of_intent_probabilities() -> None:
    explained = cf.explain(QRELS, RUN, "1", "D-nDCG", options=cf.JoinOptions(intent_probabilities="uniform"))
    assert "intent probabilities: uniform, all intents of a topic are equally likely" in explained.notes


# -- recall points

PLAIN = {"1": {"a": 1, "c": 1, "d": 1}}
LIST = {"1": {"a": 4.0, "x": 3.0, "c": 2.0, "y": 1.0}}


@pytest.mark.parametrize("measure", ["WSS@1", "IPrec@1", "WSS@0.5", "IPrec@0.5"])
def test_a_recall_point_is_not_a_rank(measure: str) -> None:
    explained = cf.explain(PLAIN, LIST, "1", measure)
    assert [line.rank for line in explained.lines] == [1, 2, 3, 4]
    assert explained.lines[2].counts == {"recall": pytest.approx(2 / 3), "precision": pytest.approx(2 / 3)}
    assert explained.lines[-1].so_far == explained.score


def test_wss_shows_the_rank_and_the_size() -> None:
    explained = cf.explain(PLAIN, LIST, "1", "WSS(N=100)@0.6")
    assert explained.score == pytest.approx((100 - 3) / 100 - (1 - 0.6))
    assert explained.notes == (
        "recall 0.6 needs 2 of 3 relevant documents, reached at rank 3; N = 100 documents (given): "
        "(100 − 3) / 100 − (1 − 0.6)",
    )
    short = cf.explain(PLAIN, LIST, "1", "WSS@1")
    assert short.score == 0.0
    assert "needs 3 of 3 relevant documents, but the list has 2; none of N = 4" in short.notes[0]


# -- undefined scores


def test_last_rel_without_all_documents_suggests_n() -> None:
    note = "undefined for 1 list that missed relevant documents; give N"
    explained = cf.explain(PLAIN, LIST, "1", "LastRel")
    assert not any("divided by" in note for note in explained.notes)
    assert "the score is undefined" in explained.notes[0]
    assert note in explained.notes[-1]
    with pytest.warns(CranfieldWarning, match=r"it has relevant documents: a list lacks some.*LastRel\(N=\.\.\.\)"):
        scores = cf.evaluate(PLAIN, LIST, "LastRel")
    assert note in scores.notes[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cf.evaluate(PLAIN, LIST, "LastRel(N=10)").means().item() == 10


def test_undefined_topics_with_and_without_relevant_documents_are_distinguished() -> None:
    qrels = {**PLAIN, "2": {"a": 0}}
    run = {**LIST, "2": {"a": 1.0}}
    with pytest.warns(
        CranfieldWarning, match=r"\(2\), which is left out of means, because it has no relevant document"
    ):
        cf.evaluate(qrels, run, "AP")
    with pytest.warns(CranfieldWarning, match=r"\(1, 2\).*1 of them without relevant documents, the others have"):
        cf.evaluate(qrels, run, "LastRel")
    with pytest.warns(CranfieldWarning, match=r"it has relevant documents: see `cranfield measures ESL`"):
        cf.evaluate(PLAIN, LIST, "ESL(wanted=4)")


# -- names in errors


def test_an_error_in_gamma_names_the_measure() -> None:
    with pytest.raises(cf.UsageError, match=r"^D#-nDCG: gamma == 1\.5, must be between 0 and 1"):
        cf.parse("D#-nDCG(gamma=1.5)@10")


# -- long lists


def long_list(documents: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Every third document is relevant, all are judged."""
    qrels = {"1": {f"d{i}": float(i % 3 == 0) for i in range(documents)}}
    return qrels, {"1": {f"d{i}": float(documents - i) for i in range(documents)}}


@pytest.mark.parametrize("measure", ["AP", "nDCG", "P"])
def test_explaining_a_long_list_needs_little_memory(measure: str) -> None:
    """Every rank × every hit would be 36 million pairs, of 17 bytes."""
    qrels, run = long_list(6_000)
    tracemalloc.start()
    cf.explain(qrels, run, "1", measure)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_the_score_so_far_is_the_score_of_the_list_that_ends_there() -> None:
    """AP by the formula: the sum of i / rank of the i-th relevant document, over all relevant documents."""
    qrels, run = long_list(3_000)
    so_far = [line.so_far for line in cf.explain(qrels, run, "1", "AP").lines]
    total, expected = 0.0, []
    for rank in range(1, 3_001):
        total += ((rank + 2) // 3) / rank if (rank - 1) % 3 == 0 else 0.0
        expected.append(total / 1_000)
    assert so_far == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["INST", "BPM", "CWL(continuation='AP')"])
def test_the_scores_of_cut_lists_do_not_depend_on_how_many_are_scored_at_once(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run = long_list(50)
    expected = [line.so_far for line in cf.explain(qrels, run, "1", measure).lines]
    monkeypatch.setattr(prefixes, "HITS_AT_ONCE", 60)
    assert [line.so_far for line in cf.explain(qrels, run, "1", measure).lines] == expected


@pytest.mark.parametrize("measure", ["AP", "P+", "AP'", "nDCG@9"])
def test_fewer_ranks_are_the_first_lines_of_the_whole_explanation(measure: str) -> None:
    qrels, run = long_list(40)
    del qrels["1"]["d1"]
    whole, top = (cf.explain(qrels, run, "1", measure, depth=depth) for depth in (None, 5))
    assert top.lines == whole.lines[:5]
    assert (top.score, top.notes, top.columns) == (whole.score, whole.notes, whole.columns)


def test_ndcg_names_the_gains_of_the_ideal_list() -> None:
    # by hand: judged 3, 1, 2; the ideal list is 3, 2, 1, its DCG 3 + 2/log2(3) + 1/2
    qrels = {"q": {"a": 1, "b": 3, "c": 2, "d": 0}}
    shown = cf.explain(qrels, {"q": {"a": 2.0, "d": 1.0}}, "q", "nDCG")
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert shown.notes[0] == (
        f"the score is the sum of 'adds', 1.0000, divided by {best:.4f}, the DCG of the ideal list, with gains 3, 2, 1"
    )
    assert "with gains 7, 3" in cf.explain(qrels, {"q": {"a": 2.0}}, "q", "nDCG(gain=exp)@2").notes[0]
    many = {"q": {f"d{n}": 1 for n in range(12)}}
    assert cf.explain(many, {"q": {"d0": 1.0}}, "q", "nDCG").notes[0].endswith(f"{', '.join('1' * 10)}, ...")


def test_a_note_says_why_so_far_is_not_the_sum_of_adds() -> None:
    # P+ of grades 1, 3: cut after rank 1 the score is BR(1) = (1 + 1) / (1 + 3); of both it is (BR(1) + BR(2)) / 2, so
    # that rank 1 adds half of what it is worth alone: the better document below it moves the preferred rank
    qrels = {"q": {"a": 1, "b": 3}}
    both = cf.explain(qrels, {"q": {"a": 2.0, "b": 1.0}}, "q", "P+")
    assert both.lines[0].so_far == pytest.approx(2 / 4)
    assert any(note.startswith("'so far' is the score if the list ended there") for note in both.notes)
    for measure in ("AP", "nDCG", "Q", "ERR", "RBP"):
        shown = cf.explain(qrels, {"q": {"a": 2.0, "b": 1.0}}, "q", measure)
        assert not any(note.startswith("'so far'") for note in shown.notes), measure
    first = cf.explain(
        qrels, {"q": {"b": 2.0, "a": 1.0}}, "q", "P+"
    )  # the preferred rank is 1: nothing below it counts
    assert not any(note.startswith("'so far'") for note in first.notes)
