"""Measures on click models, against all that readers can do on short lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.errors import UsageError
from cranfield.measures import (
    EBU,
    ERR,
    Measure,
    parse,
    rrCCM,
    rrDBN,
    rrDCM,
    rrSDBN,
    uCCM,
    uDBN,
    uDCM,
    uPBM,
    uSDBN,
    uUBM,
)
from tests.oracles.joined import graded_lists

ATTRACTIVE = {0: 0.1, 1: 0.4, 2: 0.7}
SATISFIED = {0: 0.05, 1: 0.3, 2: 0.8}
GRADES = ([2, 0, 1, 1], [0, 1], [1], [2, 2, 2], [0, 0, 0, 0])

Step = tuple[bool, bool, bool]
"""What happens at a rank: examined, clicked, satisfied."""


def paths(
    grades: list[int], probability: Callable[[int, int, list[Step], Step], float]
) -> Iterator[tuple[float, list[Step]]]:
    """Every sequence of what can happen at the ranks of a list, with its probability."""
    steps = [step for step in product([False, True], repeat=3) if step in LEGAL]
    for path in product(steps, repeat=len(grades)):
        chance = 1.0
        for r, step in enumerate(path):
            chance *= probability(r + 1, grades[r], list(path[:r]), step)
            if not chance:
                break
        if chance:
            yield chance, list(path)


LEGAL = {(False, False, False), (True, False, False), (True, True, False), (True, True, True)}
"""Only examined documents are clicked, only clicked ones satisfy."""


def enumerated(
    grades: list[int],
    examines: Callable[[int, list[Step]], float],
    satisfies: Callable[[int, int], float],
) -> tuple[float, float]:
    """The expected gain of clicked documents, and the expected sum of 1/rank of satisfying ones."""

    def probability(rank: int, grade: int, before: list[Step], step: Step) -> float:
        looks = examines(rank, before)
        examined, clicked, satisfied = step
        if not examined:
            return 1 - looks
        a, s = ATTRACTIVE[grade], satisfies(rank, grade)
        return looks * ((a * (s if satisfied else 1 - s)) if clicked else 1 - a)

    utility = effort = 0.0
    for chance, path in paths(grades, probability):
        utility += chance * sum(grade for grade, step in zip(grades, path, strict=True) if step[1])
        effort += chance * sum(1 / rank for rank, step in enumerate(path, 1) if step[2])
    return utility, effort


def chain(go_on: Callable[[int, Step], float]) -> Callable[[int, list[Step]], float]:
    """Examination in models that go down the list: whoever stopped does not come back."""
    return lambda rank, before: 1.0 if not before else go_on(rank - 1, before[-1]) if before[-1][0] else 0.0


LAMBDA = [0.6, 0.3, 0.2]
MODELS: dict[str, tuple[Measure, Measure | None, Any, Any]] = {
    "DCM": (
        uDCM(attractive=ATTRACTIVE, go_on=LAMBDA),
        rrDCM(attractive=ATTRACTIVE, go_on=LAMBDA),
        chain(lambda rank, step: 0.0 if step[2] else 1.0),
        lambda rank, grade: 1 - LAMBDA[min(rank, 3) - 1],
    ),
    "CCM": (
        uCCM(attractive=ATTRACTIVE, t1=0.9, t2=0.7, t3=0.2),
        rrCCM(attractive=ATTRACTIVE, t1=0.9, t2=0.7, t3=0.2),
        chain(lambda rank, step: 0.2 if step[2] else 0.7 if step[1] else 0.9),
        lambda rank, grade: ATTRACTIVE[grade],
    ),
    "DBN": (
        uDBN(attractive=ATTRACTIVE, satisfied=SATISFIED, go_on=0.8),
        rrDBN(attractive=ATTRACTIVE, satisfied=SATISFIED, go_on=0.8),
        chain(lambda rank, step: 0.0 if step[2] else 0.8),
        lambda rank, grade: SATISFIED[grade],
    ),
    "SDBN": (
        uSDBN(attractive=ATTRACTIVE, satisfied=SATISFIED),
        rrSDBN(attractive=ATTRACTIVE, satisfied=SATISFIED),
        chain(lambda rank, step: 0.0 if step[2] else 1.0),
        lambda rank, grade: SATISFIED[grade],
    ),
    "EBU": (
        EBU(attractive=ATTRACTIVE, satisfied=SATISFIED, go_on=0.6),
        None,
        chain(lambda rank, step: 0.0 if step[2] else 1.0 if step[1] else 0.6),
        lambda rank, grade: SATISFIED[grade],
    ),
    "PBM": (
        uPBM(attractive=ATTRACTIVE, examined=[0.9, 0.5, 0.3, 0.2]),
        None,
        lambda rank, before: [0.9, 0.5, 0.3, 0.2][rank - 1],
        lambda rank, grade: 0.0,
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("grades", GRADES, ids=str)
def test_scores_are_expectations_over_all_that_readers_can_do(name: str, grades: list[int]) -> None:
    utility, effort, examines, satisfies = MODELS[name]
    expected = enumerated(grades, examines, satisfies)
    assert utility.of(grades) == pytest.approx(expected[0], abs=1e-12)
    if effort is not None:
        assert effort.of(grades) == pytest.approx(expected[1], abs=1e-12)


GAMMA = [0.95, 0.5, 0.8, 0.3, 0.6, 0.85, 0.2, 0.4, 0.5, 0.9]
"""γ of UBM row by row: rank 1; rank 2 without click, after rank 1; rank 3 without click, after 1, after 2; rank 4."""


@pytest.mark.parametrize("grades", GRADES, ids=str)
def test_uUBM_is_an_expectation_over_all_click_sequences(grades: list[int]) -> None:
    rows = [GAMMA[0:1], GAMMA[1:3], GAMMA[3:6], GAMMA[6:10]]
    expected = 0.0
    for clicks in product([0, 1], repeat=len(grades)):
        chance, last = 1.0, 0
        for rank, (grade, click) in enumerate(zip(grades, clicks, strict=True), 1):
            p = rows[rank - 1][last] * ATTRACTIVE[grade]
            chance *= p if click else 1 - p
            last = rank if click else last
        expected += chance * sum(grade for grade, click in zip(grades, clicks, strict=True) if click)
    assert uUBM(attractive=ATTRACTIVE, examined=GAMMA).of(grades) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(highest=2), go_on=st.floats(0, 1))
def test_the_effort_form_of_DCM_is_ERR(graded: tuple[list[float | None], list[float]], go_on: float) -> None:
    # Ferro & Maistro 2024, footnote 26: R_i = a_i (1 − λ_i); here λ is the same at every rank
    stops = {grade: a * (1 - go_on) for grade, a in ATTRACTIVE.items()}
    grades = [0 if grade is None else grade for grade in graded[0]]  # ERR gives nothing to unjudged documents
    measure = rrDCM(attractive=ATTRACTIVE, go_on=[go_on])
    assert measure.of(grades) == pytest.approx(ERR(probability=stops).of(grades), abs=1e-12)
    assert measure.of(graded[0]) == pytest.approx(measure.of(grades), abs=1e-12)  # unjudged is grade 0
    by_satisfaction = {grade: ATTRACTIVE[grade] * SATISFIED[grade] for grade in ATTRACTIVE}
    other = rrSDBN(attractive=ATTRACTIVE, satisfied=SATISFIED)
    assert other.of(grades) == pytest.approx(ERR(probability=by_satisfaction).of(grades), abs=1e-12)


def test_ERR_by_rank_is_the_effort_form_of_DCM_with_different_probabilities_of_going_on() -> None:
    a, stop = [0.7, 0.1, 0.4], [1 - go_on for go_on in LAMBDA]
    R = [attractive * s for attractive, s in zip(a, stop, strict=True)]
    expected = R[0] + (1 - R[0]) * R[1] / 2 + (1 - R[0]) * (1 - R[1]) * R[2] / 3
    assert rrDCM(attractive=ATTRACTIVE, go_on=LAMBDA).of([2, 0, 1]) == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(graded=graded_lists(highest=2))
def test_models_that_contain_each_other(graded: tuple[list[float | None], list[float]]) -> None:
    grades, missed = graded
    tables: dict[str, Any] = {"attractive": ATTRACTIVE, "satisfied": SATISFIED}
    always = dict.fromkeys(SATISFIED, 0.4)
    same = [
        (uDBN(**tables, go_on=1), uSDBN(**tables)),
        (rrDBN(**tables, go_on=1), rrSDBN(**tables)),
        (EBU(**tables, go_on=1), uSDBN(**tables)),
        (uDCM(attractive=ATTRACTIVE, go_on=[0.6]), uSDBN(attractive=ATTRACTIVE, satisfied=always)),
        (uPBM(attractive=ATTRACTIVE, examined=[1, 0.5]), uUBM(attractive=ATTRACTIVE, examined=[1, 0.5, 0.5])),
    ]
    for first, second in same:
        assert first.of(grades, missed) == pytest.approx(second.of(grades, missed), abs=1e-12), (first, second)


def test_ranks_that_a_position_model_does_not_know_count_nothing() -> None:
    assert uPBM(examined=[1, 0.5]).of([0, 0, 1]) == 0
    assert uUBM(examined=[1, 0.5, 0.5]).of([0, 0, 1]) == 0
    assert uPBM().of([0] * 10 + [1]) == 0  # by default, a page of ten


def test_the_last_probability_of_going_on_holds_for_further_ranks() -> None:
    assert uDCM(go_on=[0.5, 0.2]).of([1, 1, 1, 1]) == uDCM(go_on=[0.5, 0.2, 0.2, 0.2]).of([1, 1, 1, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uPBM(attractive={1:1.2})", "uPBM: attractive == 1.2 for grade 1, must be between 0 and 1"),
        ("rrDBN(satisfied={1:-1})", "rrDBN: satisfied == -1 for grade 1, must be between 0 and 1"),
        ("uPBM(examined=[1,2])", "uPBM: examined == 2.0, must be between 0 and 1"),
        ("uPBM(examined=1)", "uPBM: examined == 1, must be a list of probabilities"),
        ("uUBM(examined=[1,0.5])", "uUBM: examined has 2 numbers, must be 1, 3, 6, 10"),
        ("uDCM(go_on=[])", "uDCM: go_on is empty"),
        ("uCCM(t1=1.5)", "uCCM: t1 == 1.5, must be between 0 and 1"),
    ],
)
def test_wrong_parameters(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


@pytest.mark.parametrize("name", [*MODELS, "UBM"])
def test_names_parse_back(name: str) -> None:
    measure = uUBM(attractive=ATTRACTIVE, examined=GAMMA) if name == "UBM" else MODELS[name][0]
    assert parse(str(measure)) == measure
    assert parse(f"{measure.name}@5").cutoff == 5


def test_a_grade_that_the_table_lacks_is_named() -> None:
    with pytest.raises(UsageError, match=r"grade 3 is in the judgments but not in the gain table"):
        uDCM(attractive=ATTRACTIVE).of([3])


def test_explain_shows_who_examines_and_clicks() -> None:
    from cranfield.assessed.lists import Assessed

    terms = uDBN(attractive=ATTRACTIVE, satisfied=SATISFIED, go_on=0.5).terms(Assessed.one([2, 1]))
    assert terms is not None
    assert terms.columns["examined"].tolist() == pytest.approx([1, 0.5 * (1 - 0.7 * 0.8)])
    assert terms.columns["clicked"].tolist() == pytest.approx([0.7, 0.22 * 0.4])
    assert np.isclose(terms.score()[0], 0.7 * 2 + 0.22 * 0.4)
