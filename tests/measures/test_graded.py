"""gAP and GAP: compared with their definitions as loops, with each other and with AP."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from cranfield.errors import UsageError
from cranfield.measures import AP, GAP, Measure, gAP, parse
from tests.oracles.joined import graded_lists

Graded = tuple[list[float | None], list[float]]


def grades_of(graded: Graded) -> tuple[list[float], list[float]]:
    """The grades down the list, 0 for unjudged documents, and those of the ideal list."""
    grades, missed = graded
    return [grade or 0 for grade in grades], sorted([g for g in (*grades, *missed) if g], reverse=True)


def mean_gains(grades: list[float]) -> float:
    """The sum over relevant documents of the mean gain down to each."""
    return sum(sum(grades[:rank]) / rank for rank, grade in enumerate(grades, 1) if grade > 0)


def agreements(grades: list[float], g: list[float]) -> float:
    """The numerator of GAP: at every rank, the chance that a reader accepts both it and each document above."""
    return sum(
        sum(g[j - 1] for j in range(1, int(min(above, grade)) + 1)) / rank
        for rank, grade in enumerate(grades, 1)
        for above in grades[:rank]
    )


def share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists())
def test_gAP_agrees_with_its_definition(graded: Graded) -> None:
    grades, ideal = grades_of(graded)
    best, best_of_4 = mean_gains(ideal), mean_gains(ideal[:4])
    assert gAP().of(*graded) == pytest.approx(share(mean_gains(grades), best), nan_ok=True)
    assert (gAP() @ 4).of(*graded) == pytest.approx(share(mean_gains(grades[:4]), best), nan_ok=True)
    assert (gAP(norm="min") @ 4).of(*graded) == pytest.approx(share(mean_gains(grades[:4]), best_of_4), nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists())
def test_GAP_agrees_with_its_definition(graded: Graded) -> None:
    grades, ideal = grades_of(graded)
    highest = int(max(ideal, default=1))
    for g, measure in (([1 / highest] * highest, GAP()), ([0.2, 0.5, 0.3], GAP(g=[0.2, 0.5, 0.3]))):
        most = [sum(g[: int(grade)]) for grade in ideal]
        assert measure.of(*graded) == pytest.approx(share(agreements(grades, g), sum(most)), nan_ok=True)
        cut = share(agreements(grades[:3], g), sum(most[:3]))
        assert (measure.replace(norm="min") @ 3).of(*graded) == pytest.approx(cut, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_GAP_is_the_mean_of_AP_over_thresholds_weighted_by_relevant_documents(graded: Graded) -> None:
    _, ideal = grades_of(graded)
    g = [0.2, 0.5, 0.3]
    weights = {level: g[level - 1] * sum(grade >= level for grade in ideal) for level in (1, 2, 3)}
    total = sum(weight * AP(rel=level).of(*graded) for level, weight in weights.items() if weight)
    assert GAP(g=g).of(*graded) == pytest.approx(share(total, sum(weights.values())), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_one_threshold_is_AP(graded: Graded) -> None:
    for level in (1, 2, 3):
        probabilities = [float(level == j) for j in (1, 2, 3)]
        assert GAP(g=probabilities).of(*graded) == pytest.approx(AP(rel=level).of(*graded), nan_ok=True)
        assert (GAP(g=probabilities) @ 4).of(*graded) == pytest.approx((AP(rel=level) @ 4).of(*graded), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(highest=1))
@pytest.mark.parametrize("measure", [gAP(), gAP(gain="exp"), gAP(gain={1: 7}), GAP(), GAP(g=[1])], ids=str)
def test_with_binary_grades_both_are_AP(measure: Measure, graded: Graded) -> None:
    assert measure.of(*graded) == pytest.approx(AP().of(*graded), nan_ok=True)
    cut = (measure.replace(norm="min") @ 3).of(*graded)
    assert cut == pytest.approx((AP(norm="min") @ 3).of(*graded), nan_ok=True)


def test_by_hand() -> None:
    # gains 1 0 3, ideal 3 1: (1/1 + 4/3) / (3/1 + 4/2)
    assert gAP().of([1, 0, 3]) == pytest.approx((1 + 4 / 3) / 5)
    # grades 3 1 2 2, pairwise minima: (3/1 + (1+1)/2 + (2+1+2)/3 + (2+1+2+2)/4) / (3+1+2+2)
    assert GAP().of([3, 1, 2, 2]) == pytest.approx((3 + 1 + 5 / 3 + 7 / 4) / 8)
    # readers who accept grade 1 (0.9) find both, readers who accept only 2 (0.1) find the second:
    # (0.9·2·1 + 0.1·1·1/2) / 1.9
    assert GAP(g=[0.9, 0.1]).of([1, 2]) == pytest.approx((0.9 * 2 + 0.1 / 2) / 1.9)


def test_a_grade_between_two_thresholds_counts_as_the_lower_one() -> None:
    assert GAP(g=[0.4, 0.6]).of([1.5, 2]) == GAP(g=[0.4, 0.6]).of([1, 2])
    assert math.isnan(GAP().of([0.5]))


def test_the_note_says_which_thresholds_GAP_uses() -> None:
    from cranfield.assessed.lists import Assessed

    assert "1 to 3" in (GAP().note(Assessed.one([3, 1])) or "")
    assert GAP(g=[1]).note(Assessed.one([1])) is None


def test_g_is_written_in_the_name() -> None:
    assert str(GAP(g=(0.5, 0.5))) == "GAP(g=[0.5,0.5])"
    assert parse("GAP(g=[0.5,0.5])") == GAP(g=[0.5, 0.5])


@pytest.mark.parametrize(
    ("g", "message"),
    [
        ([0.5, 0.4], r"g == \[0.5, 0.4\] adds up to 0.9, must add up to 1"),
        ([1.5, -0.5], r"g == -0.5, must be 0 or above"),
        ([], r"must be probabilities of grade 1, 2"),
        (0.5, r"must be probabilities of grade 1, 2"),
        (["a"], r"g == 'a', must be a number"),
    ],
)
def test_bad_probabilities_are_refused(g: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        GAP(g=g)  # type: ignore[arg-type]


def test_a_grade_without_a_probability_is_refused() -> None:
    with pytest.raises(UsageError, match=r"g has probabilities for 2 grades, but the judgments go up to 3"):
        GAP(g=[0.5, 0.5]).of([3])


def test_norm_is_checked() -> None:
    for kind in (gAP, GAP):
        with pytest.raises(UsageError, match="norm == 'max'"):
            kind(norm="max")
