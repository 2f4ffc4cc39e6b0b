"""Measures of high recall: by hand, and compared with loops."""

from __future__ import annotations

import math
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import ESL, PRES, WSS, LastRel, Measure, R, parse
from tests.cli.conftest import in_process
from tests.oracles.joined import graded_lists

Graded = tuple[list[float | None], list[float]]


def ranks_of(graded: Graded) -> tuple[list[int], int]:
    """The ranks of the relevant documents, and how many there are in all."""
    grades, missed = graded
    ranks = [rank for rank, grade in enumerate(grades, 1) if (grade or 0) >= 1]
    return ranks, len(ranks) + sum(grade >= 1 for grade in missed)


def at(ranks: list[int], length: int) -> list[float | None]:
    """A list with relevant documents at these ranks."""
    return [float(rank in ranks) for rank in range(1, length + 1)]


# The four systems of Magdy & Jones, SIGIR 2010: 4 relevant documents, the first 100 are checked. By their formula (6):
# 1 - (mean rank - 2.5) / 100, where the i-th document, if not found, is placed at rank 100 + i.
@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1], 1 - ((1 + 102 + 103 + 104) / 4 - 2.5) / 100),
        ([50, 51, 53, 54], 1 - (208 / 4 - 2.5) / 100),
        ([1, 2, 3, 4], 1.0),
        ([1, 98, 99, 100], 1 - (298 / 4 - 2.5) / 100),
    ],
)
def test_PRES_agrees_with_its_paper(ranks: list[int], expected: float) -> None:
    grades, missed = at(ranks, 100), [1.0] * (4 - len(ranks))
    assert (PRES() @ 100).of(grades, missed) == pytest.approx(expected)
    assert PRES(N_max=100).of(grades, missed) == pytest.approx(expected)


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(), deep=st.integers(1, 20))
def test_PRES_agrees_with_its_definition(graded: Graded, deep: int) -> None:
    ranks, relevant = ranks_of(graded)
    within = [rank for rank in ranks if rank <= deep]
    every = within + [deep + i for i in range(len(within) + 1, relevant + 1)]
    expected = 1 - (sum(every) / relevant - (relevant + 1) / 2) / deep if relevant else math.nan
    assert (PRES() @ deep).of(*graded) == pytest.approx(expected, nan_ok=True, abs=1e-12)
    assert (PRES(N_max=deep) @ 50).of(*graded) == pytest.approx(expected, nan_ok=True, abs=1e-12)
    if relevant:
        recall = (R() @ deep).of(*graded)
        if relevant <= deep:
            assert relevant * recall**2 / deep - 1e-12 <= expected <= recall + 1e-12  # the bounds in the paper


def test_PRES_with_a_huge_N_max_is_recall() -> None:
    assert PRES(N_max=10**30).of([1, 0], missed=[1]) == 0.5


def test_ESL_by_hand() -> None:
    assert [ESL(wanted=wanted).of([0, 1, None, 0, 1]) for wanted in (1, 2)] == [1, 3]
    assert ESL().of([1]) == 0
    assert math.isnan(ESL(wanted=2).of([0, 1], missed=[1]))  # the size of the collection is unknown
    assert math.isnan(ESL(wanted=3, N=10).of([0, 1], missed=[1]))  # the topic has only two


def test_ESL_goes_on_in_the_rest_of_the_collection() -> None:
    # of 10 documents 2 were retrieved, 1 of them relevant; the other relevant one is among 8: after 7/2 on average
    assert ESL(wanted=2, N=10).of([0, 1], missed=[1]) == 1 + 7 / 2
    # 2 more of 3 among 8: 5 others, 2·5/4
    assert ESL(wanted=3, N=10).of([0, 1], missed=[1, 1, 1]) == 1 + 2 * 5 / 4


def tie(grades: list[float]) -> Assessed:
    first = np.ones(len(grades), dtype=np.int64)
    return Assessed.one(grades).replace(tie_first=first, tie_last=first * len(grades))


@pytest.mark.parametrize("relevant", [1, 2, 3])
@pytest.mark.parametrize("others", [0, 1, 3])
def test_ESL_with_ties_agrees_with_the_formula_of_Cooper(relevant: int, others: int) -> None:
    lists = tie([1.0] * relevant + [0.0] * others)
    for wanted in range(1, relevant + 1):
        expected = wanted * others / (relevant + 1)
        assert ESL(wanted=wanted).view("ties").evaluate(lists)[0] == pytest.approx(expected)


def test_the_rest_of_the_collection_is_a_tie() -> None:
    # all orders of the documents after a list of one, compared with the closed form
    orders = set(permutations([1.0, 1.0, 0.0, 0.0, 0.0]))
    mean = np.mean([ESL(wanted=2).of([0.0, *rest]) for rest in orders])
    assert ESL(wanted=2, N=6).of([0], missed=[1, 1]) == pytest.approx(mean)


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(), wanted=st.integers(1, 5))
def test_ESL_counts_the_documents_above(graded: Graded, wanted: int) -> None:
    ranks, _ = ranks_of(graded)
    expected = ranks[wanted - 1] - wanted if len(ranks) >= wanted else math.nan
    assert ESL(wanted=wanted).of(*graded) == pytest.approx(expected, nan_ok=True)
    if len(ranks) >= wanted:
        assert ESL(wanted=wanted, N=100).of(*graded) == expected


def test_WSS_by_hand() -> None:
    # 10 documents, relevant at 1, 2 and 5: full recall after 5, 2 of 3 after 2
    grades = at([1, 2, 5], 10)
    assert (WSS() @ 1).of(grades) == pytest.approx(0.5)
    assert (WSS() @ 0.95).of(grades) == pytest.approx(0.5 - 0.05)
    assert (WSS() @ 0.6).of(grades) == pytest.approx(0.8 - 0.4)
    assert (WSS(N=20) @ 1).of(grades) == pytest.approx(15 / 20)
    assert (WSS() @ 0.95).of(grades, missed=[1]) == pytest.approx(-0.05)  # recall not reached


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(), percent=st.integers(0, 100), more=st.integers(0, 10))
def test_WSS_is_true_and_false_negatives_less_chance(graded: Graded, percent: int, more: int) -> None:
    ranks, relevant = ranks_of(graded)
    length = len(graded[0])
    size = length + relevant - len(ranks) + more
    for measure, N in ((WSS(), length), (WSS(N=max(size, 1)), max(size, 1))):
        stops = [rank for number, rank in enumerate(ranks, 1) if number * 100 >= percent * relevant]
        left = N - stops[0] if stops else 0  # true and false negatives
        expected = left / (N or 1) - (1 - percent / 100) if relevant else math.nan
        assert (measure @ (percent / 100)).of(*graded) == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_WSS_needs_a_recall_point() -> None:
    with pytest.raises(UsageError, match=r"WSS needs a recall point: write WSS@0\.95"):
        WSS().of([1])
    assert parse("wss@0.95") == WSS() @ 0.95


def test_LastRel_by_hand() -> None:
    assert LastRel().of([1, 0, 1, 0]) == 3
    assert LastRel(N=9).of([1, 0, 1, 0]) == 3
    assert math.isnan(LastRel().of([1, 0], missed=[1]))
    assert LastRel(N=9).of([1, 0], missed=[1]) == 9
    assert parse("last_rel") == LastRel()


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists())
def test_LastRel_is_the_search_length_for_all(graded: Graded) -> None:
    ranks, relevant = ranks_of(graded)
    expected = ranks[-1] if ranks and len(ranks) == relevant else math.nan
    assert LastRel().of(*graded) == pytest.approx(expected, nan_ok=True)
    if ranks and len(ranks) == relevant:
        assert ESL(wanted=relevant).of(*graded) == expected - relevant


def test_a_collection_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="N == 2, but a topic has 4 documents retrieved or relevant"):
        ESL(N=2, wanted=2).of([1, 0, 0], missed=[1])


@pytest.mark.parametrize("measure", [WSS(N=2) @ 0.9, LastRel(N=2), WSS(N=2, dialect="clef") @ 0.9], ids=str)
def test_lists_that_are_longer_than_N_are_counted(measure: Measure) -> None:
    message = f"{measure.name}: 1 list is longer than N, the number of documents to read; check N of topics topic"
    with pytest.warns(cf.CranfieldWarning, match=message):
        measure.of([1, 0, 0], missed=[1])
    assert np.isfinite(measure.of([1, 0]))


def test_WSS_and_LastRel_of_a_list_that_is_longer_than_N() -> None:
    # both relevant documents at ranks 1 and 4 of N = 3: nothing is left unread
    with pytest.warns(cf.CranfieldWarning, match="1 list is longer than N"):
        assert (WSS(N=3) @ 0.95).of([1, 0, 0, 1]) == pytest.approx(-0.05)
    with pytest.warns(cf.CranfieldWarning, match="1 list is longer than N"):
        assert LastRel(N=3).of([1, 0, 0, 1]) == 4


# -- N of each topic, and CLEF's tool

REVIEWS = {"a": {"d1": 1, "d2": 1}, "b": {"d1": 1, "d9": 1}}
RANKED = {"a": {"d1": 3.0, "d3": 2.0, "d2": 1.0}, "b": {"d1": 1.0}}


def test_N_can_differ_by_topic(tmp_path: Path) -> None:
    # a: all found at rank 3 of 10; b: one of two is missed, of 40
    table = {"N": {"a": 10, "b": 40, "other": 7}}

    def scored(name: str, source: Any) -> list[float]:
        return cf.evaluate(REVIEWS, {"r": RANKED}, [name], topic_numbers=source).values[0, 0].tolist()

    files = {"plain": "a 10\nb 40\nother 7\n", "headed": "topic,name,N\na,x,10\nb,y,40\n", "tabs": "a\t10\nb\t40\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for source in (table, *(tmp_path / name for name in files)):
        assert scored("LastRel", source) == [3, 40]
        assert scored("WSS@1", source) == pytest.approx([0.7, 0])
        assert scored("WSS@0.5", source) == pytest.approx([0.9 - 0.5, 39 / 40 - 0.5])
        assert scored("LastRel(N=99)", source) == [3, 99]  # the parameter goes first
    assert (WSS() @ 1).of([1, 0, 1], topic_numbers={"N": 10}) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 10\n", "table: LastRel: no N for 1 topic: b; add a line b N"),
        ("a 10\nb none\n", "table:2: topic 'b': the N is 'none', expected a number, 1 or above"),
        ("a 10\nb 0\n", "table:2: topic 'b': the N is '0', expected a number, 1 or above"),
        ("a 10\na 11\nb 2\n", "table:2: topic 'a' appears twice"),
        ("topic,size\na,1\nb,2\n", "table:1: no column for the N among topic, size; expected one called N, alpha"),
        ("", "table: is empty"),
    ],
)
def test_a_wrong_table_of_topics_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "table").write_text(text)
    with pytest.raises(cf.CranfieldError, match=re.escape(message)):
        cf.evaluate(REVIEWS, {"r": RANKED}, ["LastRel"], topic_numbers=tmp_path / "table")


def test_a_wrong_mapping_of_topics_is_refused() -> None:
    for wrong in ({"n": {"a": 1}}, {"N": 3}):
        with pytest.raises(UsageError, match="with the names N and alpha"):
            cf.evaluate(REVIEWS, {"r": RANKED}, ["LastRel"], topic_numbers=wrong)
    with pytest.raises(UsageError, match="topic_numbers: 1, must be"):
        cf.evaluate(REVIEWS, {"r": RANKED}, ["LastRel"], topic_numbers=[1])


def test_N_of_each_topic_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("".join(f"{t} 0 {d} {g}\n" for t, of in REVIEWS.items() for d, g in of.items()))
    Path("run").write_text("".join(f"{t} Q0 {d} 0 {s} r\n" for t, of in RANKED.items() for d, s in of.items()))
    Path("sizes").write_text("a 10\nb 40\n")
    result = in_process("eval", "qrels", "run", "-m", "LastRel,WSS@1", "--topic-numbers", "sizes", "-f", "trec")
    assert (result.code, [line.split()[-1] for line in result.out.splitlines()[-2:]]) == (0, ["21.5000", "0.3500"])
    explained = in_process("explain", "qrels", "run", "-m", "WSS@1", "--topic", "a", "--topic-numbers", "sizes")
    assert "N = 10 documents (given): (10 − 3) / 10 − (1 − 1)" in explained.out


def clef(ranks: list[int], relevant: int, N: int) -> tuple[float, float, float]:
    """last_rel, wss_100 and wss_95 as the loops of CLEF's tar_eval count them."""
    wanted, last, last95, found = round(relevant * 0.95), 0, 0, 0
    for rank in ranks:
        if found < wanted:
            last95 = rank
        found, last = found + 1, rank
    wss100 = (N - last) / N if found >= relevant else 0
    return last, wss100, (N - last95) / N - 0.05 if found >= wanted else 0


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(longest=40), more=st.integers(0, 10))
def test_clefs_numbers(graded: Graded, more: int) -> None:
    ranks, relevant = ranks_of(graded)
    N = len(graded[0]) + more
    if not relevant or not N:
        return
    last, wss100, wss95 = clef(ranks, relevant, N)
    assert LastRel(dialect="clef").of(*graded) == last
    assert (WSS(N=N, dialect="clef") @ 1).of(*graded) == pytest.approx(wss100)
    assert (WSS(N=N, dialect="clef") @ 0.95).of(*graded) == pytest.approx(wss95)


def test_half_a_document_is_rounded_to_even_as_clef_does() -> None:
    # 0.95 · 10 = 9.5 is rounded to 10, 0.95 · 30 = 28.5 to 28; exactly, 29 are needed
    assert (WSS(dialect="clef", N=100) @ 0.95).of([1] * 9, missed=[1]) == 0
    assert (WSS(dialect="clef", N=100) @ 0.95).of([1] * 30) == pytest.approx(0.72 - 0.05)
    assert (WSS(N=100) @ 0.95).of([1] * 30) == pytest.approx(0.71 - 0.05)
    assert LastRel(dialect="clef").of([0, 1, 0], missed=[1]) == 2
    assert "1 list that missed relevant documents has the rank of the last one found" in str(
        LastRel(dialect="clef").note(Assessed.one([0, 1], [1]))
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("PRES(N_max=0)", "N_max == 0, must be a whole number, 1 or more"),
        ("PRES(N_max=1.5)", "N_max == 1.5, must be a whole number"),
        ("ESL(wanted=0)", "wanted == 0, must be a whole number"),
        ("ESL(N=-1)", "N == -1, must be a whole number"),
        ("WSS(N=0)@0.9", "N == 0, must be a whole number"),
        ("WSS@1.2", "must be between 0 and 1"),
        ("LastRel(N='all')", "N == 'all', must be a number"),
        ("ESL@5", "takes no cutoff"),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(name)
