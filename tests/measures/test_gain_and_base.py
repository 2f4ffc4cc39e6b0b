"""Gains, discounts, notes, errors at scoring time, and the segment operations that measures use."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import LONG, Hits
from cranfield.errors import UsageError
from cranfield.measures import (
    CG,
    CWL,
    DCG,
    ERR,
    RBP,
    Accuracy,
    Discount,
    Fallout,
    FunctionMeasure,
    Gain,
    IPrec,
    Measure,
    Specificity,
    Utility,
    gP,
    nDCG,
)


def test_a_grade_missing_from_the_table_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"grade 3 is in the judgments but not in the gain table \{1:1,2:3\}; add it"):
        nDCG(gain={1: 1, 2: 3}).of([1, 3])
    assert CG(gain={1: 1, 2: 3}).of([1, 0, -1, 2]) == 4
    assert CG(gain={1: 5, "else": "linear"}).of([1, 2]) == 7


def test_grades_of_0_and_below_gain_what_a_table_says() -> None:
    assert CG(gain={-1: 0.25, 0: 0.5, 1: 1}).of([1, -1, 0, None]) == 1.75
    # the ideal list has the gains above 0: 1 and 0.5
    assert (nDCG(gain={0: 0.5, 1: 1}) @ 2).of([-1, 1, 0]) == pytest.approx(1 / math.log2(3) / (1 + 0.5 / math.log2(3)))


def test_no_gain_is_negative() -> None:
    with pytest.raises(UsageError, match=r"CG: gain == \{-1:-2,1:1\}: grade -1 gains -2, must be 0 or more"):
        CG(gain={-1: -2, 1: 1})


def test_where_gains_fall() -> None:
    grades = np.array([0.0, 1.0, 2.0, 4.0])
    assert Gain.of("exp").falls(grades) == []
    assert Gain.of({1: 1, 2: 1, 3: 2}).falls(grades) == []
    assert Gain.of({1: 3, 2: 1, 3: 5, 4: 4}).falls(grades) == [(1, 2), (3, 4)]
    assert Gain.of({-1: 1, 2: 3}).falls(grades) == [(-1, 0)]  # grade 0 is not listed: it gains nothing
    assert Gain.of({2: 3, "else": "linear"}).falls(grades) == []
    assert Gain.of({1: 5, "else": "linear"}).falls(grades) == [(1, 2)]


def test_gains_between_0_and_1_are_not_scaled() -> None:
    table = {1: 0.25, 2: 0.75}
    assert Gain.of(table).scale(2) == 1
    # RBP: 1/2 · 1/4 + 1/4 · 3/4
    graded = CWL(continuation="RBP", p=0.5, gain=table)
    assert graded.of([1, 2]) == pytest.approx(0.3125) == RBP(p=0.5, gain=table).of([1, 2])
    assert graded.note(Assessed.one([1, 2])) is None
    assert CWL().note(Assessed.one([1, 2])) == "gains are divided by 2, the largest in the judgments"


def test_largest_gain() -> None:
    assert Gain.of("exp").most(2) == 3
    assert Gain.of({1: 4, 2: 1}).most(2) == 4
    assert Gain.of({1: 4, 2: 1}).most(0) == 0
    assert Gain.of({1: 4, "else": "linear"}).most(9) == 9
    assert gP(gain={1: 4, 2: 1}).of([1, 2]) == (4 + 1) / 4 / 2


@pytest.mark.parametrize("table", [{1: math.inf}, {math.nan: 1}, {"x": 1}, {1: None}, {"else": "exp", 1: 1}], ids=str)
def test_impossible_tables_are_refused(table: dict[object, object]) -> None:
    with pytest.raises(UsageError, match="gain"):
        nDCG(gain=table)


@pytest.mark.parametrize("kind", ["log2", "jk", "jk08"])
def test_discounts_at_any_depth(kind: str) -> None:
    rank = np.array([1, 2, 3, 10, 1000, 123456])
    forms = {
        "log2": [math.log2(r + 1) for r in rank],
        "jk": [max(1.0, math.log(r, 3)) for r in rank],
        "jk08": [1 + math.log(r, 3) for r in rank],
    }
    assert Discount(kind, 3)(rank).tolist() == pytest.approx(forms[kind])
    assert Discount(kind, 3)(rank.astype(np.int32)).tolist() == Discount(kind, 3)(rank).tolist()


@pytest.mark.parametrize("kind", [Accuracy, Fallout, Specificity])
def test_the_size_of_the_collection_must_be_given(kind: type[Measure]) -> None:
    with pytest.raises(UsageError, match=rf"{kind.name} needs the number of documents in the collection: write"):
        kind().of([1, 0])
    with pytest.raises(UsageError, match="N == 2, but a topic has 3 documents retrieved or relevant"):
        kind(N=2).of([1, 0], [1])  # type: ignore[call-arg]


def test_utility_of_true_negatives_needs_the_size_of_the_collection() -> None:
    with pytest.raises(UsageError, match=r"d == 0.5 needs N"):
        Utility(d=0.5).of([1])


def test_interpolated_precision_needs_a_recall_point() -> None:
    with pytest.raises(UsageError, match=r"write IPrec@0\.1"):
        IPrec().of([1])


def test_expected_reciprocal_rank_refuses_a_maximum_below_the_judgments() -> None:
    with pytest.raises(UsageError, match="max_grade == 2, but the judgments go up to 3"):
        ERR(max_grade=2).of([3])


def test_notes_say_what_was_taken_from_the_judgments() -> None:
    lists = Assessed.one([1, 3])
    assert ERR().note(lists) == "max_grade = 3, the largest in the judgments"
    assert ERR(max_grade=4).note(lists) is None
    assert RBP().note(lists) is None
    assert RBP(gain="exp").note(lists) == "gains are divided by 7, the largest in the judgments"
    assert gP().note(lists) == "gains are divided by 3, the largest in the judgments"
    assert DCG().note(lists) is None


def test_a_measure_without_a_formula_says_so() -> None:
    with pytest.raises(UsageError, match="Measure defines neither terms"):
        Measure().of([1])
    assert issubclass(FunctionMeasure, Measure)


@pytest.mark.parametrize("cutoff", [True, "10", math.nan, math.inf, -1, 0, 1.5, 2**63])
def test_impossible_cutoffs_are_refused(cutoff: float) -> None:
    with pytest.raises(UsageError, match="cutoff"):
        nDCG() @ cutoff


# -- segment operations, compared with plain loops


@st.composite
def segments(draw: st.DrawFn) -> tuple[Hits, list[list[float]]]:
    values = draw(st.lists(st.lists(st.floats(0.01, 2), max_size=6), min_size=1, max_size=6))
    if draw(st.booleans()):
        values.insert(draw(st.integers(0, len(values))), [1.01, 0.7] * (LONG // 2 + 3))
    row = np.array([at for at, segment in enumerate(values) for _ in segment], dtype=np.int64)
    rank = np.array([nth for segment in values for nth in range(1, len(segment) + 1)], dtype=np.int64)
    return Hits(len(values), row, rank, np.zeros(len(row))), values


@settings(max_examples=100, deadline=None)
@given(segments())
def test_segment_operations(hits_and_values: tuple[Hits, list[list[float]]]) -> None:
    hits, values = hits_and_values
    flat = np.array([value for segment in values for value in segment])
    running, product, best, first = [], [], [], []
    for segment in values:
        total, times = 0.0, 1.0
        for at, value in enumerate(segment):
            total, times = total + value, times * value
            running.append(total)
            product.append(times)
            best.append(max(segment[at:]))
        first.append(segment[0] if segment else -1.0)
    assert hits.running(flat).tolist() == running
    assert hits.running_product(flat).tolist() == product
    assert hits.running_max_from_below(flat).tolist() == best
    assert hits.first(flat, -1.0).tolist() == first
    assert hits.sum(flat).tolist() == [float(sum_in_order(segment)) for segment in values]
    assert (
        hits.running(np.rint(flat)).tolist()
        == np.concatenate([np.cumsum(np.rint(segment)) for segment in values]).tolist()
    )
    shifted = [value for segment in values for value in [9.0, *segment[:-1]][: len(segment)]]
    assert hits.previous(flat, 9.0).tolist() == shifted


def sum_in_order(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def test_a_gain_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(UsageError, match="the gain of grade 5000 is too large for a float"):
        DCG(gain="exp").of([5000, 1])
    assert DCG(gain="exp").of([1000]) == 2.0**1000 - 1
