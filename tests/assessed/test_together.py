"""Documents that are relevant only together."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import DataError, UsageError

QRELS = {"q": {"p1": 1, "p2": 1, "s": 1, "n": 0}}
PAIR = {"q": {"pair": ["p1", "p2"]}}


def scores(ranking: str, names: list[str], together: Any = PAIR, qrels: Any = QRELS) -> dict[str, float]:
    run = {"q": {doc: -float(rank) for rank, doc in enumerate(ranking.split())}}
    found = cf.evaluate(qrels, {"mine": run}, names, together=together).to_dict()["mine"]["q"]
    return dict(found)


def test_only_the_last_document_of_a_set_is_relevant() -> None:
    """Sakai's example: the first patent at rank 1 and the second at rank 10 count as one relevant document at 10."""
    ranking = "p1 a b c d e f g h p2"
    # R is 2: the pair, and s, which is not retrieved
    assert scores(ranking, ["AP", "RR", "P@5", "R"]) == pytest.approx(
        {"AP": (1 / 10) / 2, "RR": 1 / 10, "P@5": 0, "R": 1 / 2}
    )


def test_a_set_that_is_not_complete_does_not_count() -> None:
    assert scores("p1 s a", ["AP", "RR", "NumRelRet"]) == {"AP": (1 / 2) / 2, "RR": 1 / 2, "NumRelRet": 1}


def test_the_ideal_list_needs_a_rank_for_every_document_of_a_set() -> None:
    """The single document first, then the pair, which gains at rank 3."""
    ideal = 1 / math.log2(2) + 1 / math.log2(4)
    assert scores("s p1 p2", ["nDCG"])["nDCG"] == pytest.approx(1)
    assert scores("p1 p2 s", ["nDCG"])["nDCG"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)


def test_the_grade_of_a_set_is_the_highest_of_its_documents() -> None:
    qrels = {"q": {"p1": 3, "p2": 1, "s": 1}}
    # the pair gains 3, at rank 3 after s or at rank 2 before it; s first is better
    ideal = 1 + 3 / math.log2(4)
    assert scores("s p2 p1", ["nDCG"], qrels=qrels)["nDCG"] == pytest.approx(1)
    other = 3 / math.log2(3) + 1 / math.log2(4)
    assert scores("p1 p2 s", ["nDCG"], qrels=qrels)["nDCG"] == pytest.approx(other / ideal)


def test_no_order_beats_the_ideal_list_if_all_gains_are_equal() -> None:
    """By trying all 720 orders of two singles, a pair and another pair."""
    qrels = {"q": dict.fromkeys("abcdef", 1)}
    sets = {"q": {"one": ["a", "b"], "two": ["c", "d"]}}
    best = max(scores(" ".join(order), ["nDCG"], sets, qrels)["nDCG"] for order in itertools.permutations("abcdef"))
    assert best == pytest.approx(1)


def test_sets_of_one_document_change_nothing() -> None:
    names = ["AP", "nDCG", "Q", "ERR", "bpref", "P@2"]
    single = {"q": {"one": ["p1"], "two": ["p2"]}}
    assert scores("n p1 a p2 s", names, single) == scores("n p1 a p2 s", names, None)


def test_explain_shows_where_a_set_is_complete() -> None:
    run = {"q": {"p1": 3.0, "x": 2.0, "p2": 1.0}}
    explanation = cf.explain(QRELS, run, "q", "RR", options=cf.JoinOptions(together=PAIR))
    assert [line.grade for line in explanation.lines] == [0, None, 1]
    assert [line.so_far for line in explanation.lines] == pytest.approx([0, 0, 1 / 3])


def test_mistakes_are_named() -> None:
    with pytest.raises(DataError, match="topic 'q', set 'pair': document 'x' is not judged"):
        scores("p1 p2", ["AP"], {"q": {"pair": ["p1", "x"]}})
    with pytest.raises(DataError, match="document 'p1' is named twice"):
        scores("p1 p2", ["AP"], {"q": {"pair": ["p1", "p2"], "other": ["p1", "s"]}})
    with pytest.raises(DataError, match="no set of a judged topic"):
        scores("p1 p2", ["AP"], {"r": {"pair": ["p1", "p2"]}})
    for name in ("AP[ties]", "AP[best]"):
        with pytest.raises(UsageError, match="cannot be combined with documents that are relevant only together"):
            scores("p1 p2", [name])
