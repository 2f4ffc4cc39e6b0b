"""The rpref family: by hand, as loops over pairs, and with binary grades."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from cranfield.measures import AP, GAP, Measure, bpref_N, parse, rpref_N, rpref_relative, rpref_relative2
from tests.oracles.joined import graded_lists

Graded = tuple[list[float | None], list[float]]


def penalty(gains: list[float], at: int) -> float:
    """The penalty of the judged document at this place for the lesser documents above it."""
    return sum((gains[at] - above) / gains[at] for above in gains[:at] if above < gains[at])


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists(lowest=-1))
@pytest.mark.parametrize("gain", ["linear", "exp"])
def test_all_three_agree_with_their_definitions(gain: str, graded: Graded) -> None:
    def worth(grades: list[float | None] | list[float]) -> list[float]:
        return [2.0**g - 1 if gain == "exp" else g for g in grades if g is not None and g >= 0]

    gains, every = worth(graded[0]), worth(graded[0]) + worth(graded[1])
    total, worst = sum(every), len(every) - sum(every) / (max(every, default=0) or 1)
    relevant = [(at, g, penalty(gains, at)) for at, g in enumerate(gains) if g > 0]
    expected = {
        rpref_N(gain=gain): sum(g * (1 - pen / (worst or 1)) for _, g, pen in relevant),
        rpref_relative(gain=gain): sum(g * (1 - pen / at) for at, g, pen in relevant if at > 0),
        rpref_relative2(gain=gain): sum(g * (1 - pen / (at + 1)) for at, g, pen in relevant),
    }
    for measure, summed in expected.items():
        assert measure.of(*graded) == pytest.approx(summed / total if total else math.nan, nan_ok=True, abs=1e-12)


def test_by_hand() -> None:
    # judged 0 2 1, missed 3: grade 2 loses 1 for the 0 above it; grade 1 loses 1 for the 0 and nothing for the 2
    grades: list[float | None] = [0, None, 2, 1]
    worst = 1 + 1 / 3 + 2 / 3  # below a document of gain 3: the 0, the 2 and the 1
    assert rpref_N().of(grades, [3]) == pytest.approx((2 * (1 - 1 / worst) + 1 * (1 - 1 / worst)) / 6)
    assert rpref_relative().of(grades, [3]) == pytest.approx((2 * (1 - 1 / 1) + 1 * (1 - 1 / 2)) / 6)
    assert rpref_relative2().of(grades, [3]) == pytest.approx((2 * (1 - 1 / 2) + 1 * (1 - 1 / 3)) / 6)


def test_rpref_relative2_corrects_the_first_rank() -> None:
    assert rpref_relative().of([1]) == 0
    assert rpref_relative2().of([1]) == 1


# Sakai, SIGIR 2007: the measure that each equals with binary grades
@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(highest=1))
@pytest.mark.parametrize(
    ("one", "other"), [(rpref_N(), bpref_N()), (rpref_relative2(), AP().view("condensed"))], ids=str
)
def test_with_binary_grades_they_are_other_measures(one: Measure, other: Measure, graded: Graded) -> None:
    assert one.of(*graded) == pytest.approx(other.of(*graded), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_rpref_relative2_is_GAP_of_the_condensed_list(graded: Graded) -> None:
    # g(r)(1 - pen(r)/r) is the sum over k <= r of min(g(k), g(r)), over r: as in GAP with equally likely thresholds
    assert rpref_relative2().of(*graded) == pytest.approx(GAP().view("condensed").of(*graded), nan_ok=True)


def test_unjudged_documents_do_not_matter() -> None:
    for measure in (rpref_N(), rpref_relative(), rpref_relative2()):
        assert measure.of([0, 2, 1], [3]) == measure.of([None, 0, -1, 2, None, 1], [3, -1])


def test_all_judged_equally_good() -> None:
    assert rpref_N().of([2, 2], [2]) == pytest.approx(2 / 3)


def test_rpref_means_rpref_N() -> None:
    assert parse("rpref") == rpref_N()
