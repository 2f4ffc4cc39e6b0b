"""SBTO and RBTO number all lists of a length without a gap."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import RBP, RBTO, SBTO, Measure, P, parse
from tests.oracles.joined import graded_lists

Graded = tuple[list[float | None], list[float]]


@pytest.mark.parametrize("highest", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_RBTO_numbers_the_lists_in_their_order(length: int, highest: int) -> None:
    lists = list(product(range(highest + 1), repeat=length))  # in the order of the first document, then the second ...
    assert [(RBTO(c=highest) @ length).of(list(grades)) for grades in lists] == list(range((highest + 1) ** length))


@pytest.mark.parametrize("highest", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_SBTO_numbers_the_sets_in_their_order(length: int, highest: int) -> None:
    best_first = [tuple(sorted(of, reverse=True)) for of in combinations_with_replacement(range(highest + 1), length)]
    numbers = {of: (SBTO() @ length).of(list(of)) for of in best_first}
    assert [numbers[of] for of in sorted(best_first)] == list(range(comb(length + highest, length)))


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(), length=st.integers(1, 8))
def test_both_agree_with_their_definitions(graded: Graded, length: int) -> None:
    grades = ([int(grade or 0) for grade in graded[0]] + [0] * length)[:length]
    for measure, N, top in ((SBTO() @ length, length, grades), (SBTO(), len(graded[0]), graded[0])):
        best_first = sorted((int(grade or 0) for grade in top), reverse=True)
        expected = sum(comb(grade + N - i, N - i + 1) for i, grade in enumerate(best_first, 1) if grade)
        assert measure.of(*graded) == expected
        assert measure.replace(normalize=True, c=3).of(*graded) == pytest.approx(expected / ((comb(3 + N, N) - 1) or 1))
    expected = sum(grade * 4 ** (length - i) for i, grade in enumerate(grades, 1))
    assert (RBTO(c=3) @ length).of(*graded) == expected
    assert (RBTO(c=3, normalize=True) @ length).of(*graded) == pytest.approx(expected / (4**length - 1))


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(highest=1), length=st.integers(1, 20))
def test_with_binary_grades_they_are_multiples_of_RBP_and_P(graded: Graded, length: int) -> None:
    assert (RBTO() @ length).of(*graded) == pytest.approx(2**length * (RBP(p=0.5) @ length).of(*graded))
    assert (SBTO() @ length).of(*graded) == pytest.approx(length * (P() @ length).of(*graded))


def test_the_best_list_scores_1_if_normalized() -> None:
    for name in ("SBTO", "RBTO"):
        assert parse(f"{name}(normalize=True,c=3)").of([3, 3, 3]) == pytest.approx(1)
        assert parse(f"{name}(normalize=True,c=3)").of([3] * 1000) == pytest.approx(1)
        assert parse(f"{name}(normalize=True)").of([], missed=[1]) == 0


def test_by_hand() -> None:
    assert (RBTO(c=2) @ 3).of([2, 0, 1]) == 2 * 9 + 0 * 3 + 1
    assert (RBTO(c=2) @ 4).of([2, 0, 1]) == 2 * 27 + 0 * 9 + 1 * 3  # filled up with a non-relevant document
    # grades 2 1 0: 2+3-1 over 3, 1+3-2 over 2, 0
    assert (SBTO() @ 3).of([1, 0, 2]) == comb(4, 3) + comb(2, 2)


def test_the_note_says_that_c_is_the_largest_grade() -> None:
    lists = Assessed.one([1, 3])
    assert RBTO().of([1, 3]) == RBTO(c=3).of([1, 3])
    assert "c = 3" in (RBTO().note(lists) or "")
    assert RBTO(c=4).note(lists) is None
    assert "c = 3" in (SBTO(normalize=True).note(lists) or "")
    assert SBTO().note(lists) is None  # does not use c


@pytest.mark.parametrize(
    ("measure", "grades", "message"),
    [
        (RBTO(c=2), [3], "c == 2, but the judgments go up to 3"),
        (RBTO(), [1.5], "grade 1.5 is in the judgments, must be a whole number"),
        (SBTO(), [0.5], "grade 0.5 is in the judgments"),
        (RBTO(c=9), [1] * 400, r"in a float; write RBTO\(normalize=True\), or a cutoff such as RBTO@10"),
    ],
    ids=str,
)
def test_lists_that_cannot_be_numbered_are_refused(measure: Measure, grades: list[float | None], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        measure.of(grades)


@pytest.mark.parametrize("name", ["RBTO(c=0)", "SBTO(c=1.5)", "RBTO(c='x')"])
def test_c_is_checked(name: str) -> None:
    with pytest.raises(UsageError, match=r"c == .*, must be a"):
        parse(name)
