"""Measures of high recall: by hand, and compared with loops."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import ESL, PRES, WSS, LastRel, Measure, R, parse
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


@pytest.mark.parametrize("measure", [ESL(N=2, wanted=2), WSS(N=2) @ 0.9, LastRel(N=2)], ids=str)
def test_a_collection_that_is_too_small_is_refused(measure: Measure) -> None:
    with pytest.raises(UsageError, match="N == 2, but a topic has 4 documents retrieved or relevant"):
        measure.of([1, 0, 0], missed=[1])


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
