"""One good document: O, P-measure, P+, WRR and NWRR from the defining papers, by hand and from NTCIREVAL."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import ERR, NWRR, RR, WRR, Measure, O, Pmeasure, Pplus, parse
from tests.oracles.joined import graded_lists, side_by_side

close = pytest.approx
Graded = tuple[list[float | None], list[float]]

# Sakai 2007: levels S, A, B are grades 3, 2, 1, with gains 3, 2, 1 and penalties 2, 3, 4.
S, A, B = 3, 2, 1
PENALTY = {S: 2, A: 3, B: 4}


@pytest.mark.parametrize(
    ("measure", "grades", "missed", "expected"),
    [
        # Fig. 2: S at rank 3; Topic 1 has no other relevant document, the other topic has at least three S
        (O(), [0, 0, S], [], 2 / 3),
        (O(), [0, 0, S], [S, S], 1 / 3),
        (NWRR(penalty=PENALTY), [0, 0, S], [], 1 / 5),
        (NWRR(penalty=PENALTY), [0, 0, S], [S, S, A, B], 1 / 5),
        # Fig. 3, a topic with one S, one A, one B. X: B at rank 1; Y: S at rank 2; Z: B, S
        (O(), [B], [S, A], 0.50),
        (O(), [0, S], [A, B], 4 / 7),
        (Pmeasure(), [B], [S, A], 0.50),
        (Pmeasure(), [0, S], [A, B], 4 / 7),
        (Pmeasure(), [B, S], [A], 6 / 7),
        (O(), [B, S], [A], 0.50),
        (NWRR(penalty=PENALTY), [B], [S, A], (1 - 1 / 2) / (1 - 1 / 4)),
        (NWRR(penalty={1: math.inf, 2: 3, 3: 2}), [0, B], [S, A], (1 - 1 / 2) / 2),
        (WRR(penalty="inf"), [0, 0, A], [S], 1 / 3),
        (NWRR(penalty=PENALTY), [0, S], [A, B], (1 - 1 / 2) / (2 - 1 / 2)),
        (WRR(penalty=PENALTY), [B, S], [A], 1 / (1 - 1 / 4)),
        # §3.2: with gains 2, 1.5, 1 X is preferred: (1 + 1) / (2 + 1) against (2 + 1) / (3.5 + 2)
        (O(gain={S: 2, A: 1.5, B: 1}), [B], [S, A], 2 / 3),
        (O(gain={S: 2, A: 1.5, B: 1}), [0, S], [A, B], 3 / 5.5),
        # §3.3, the perfect inverse of the ideal list
        (Pmeasure(), [B, A, S], [], 1.0),
        (Pplus(), [B, A, S], [], (2 / 4 + 5 / 7 + 1) / 3),
        # 000 after (14): marginal at 2, high at 4 and 6: rp = 4, C(rp) = 2; gains 1 and 3, all retrieved
        (Pplus(), [0, 1, 0, 3, 0, 3], [], ((1 + 1) / (2 + 6) + (2 + 4) / (4 + 7)) / 2),
        (Pmeasure(), [0, 1, 0, 3, 0, 3], [], (2 + 4) / (4 + 7)),
        # rp is determined after the cut (Sakai 2013 §2.1): among the first three only the marginal one is left
        (Pplus() @ 3, [0, 1, 0, 3, 0, 3], [], 2 / (2 + 6)),
        (Pmeasure() @ 3, [0, 1, 0, 3, 0, 3], [], 2 / (2 + 6)),
        # nothing relevant retrieved, or not before the cut
        (O() @ 2, [0, 0, S], [], 0),
        (Pplus() @ 2, [0, 0, S], [], 0),
        (NWRR() @ 2, [0, 0, S], [], 0),
        (WRR() @ 2, [0, 0, S], [], 0),
        # only relevant documents gain; a higher threshold
        (O(rel=2), [B, 0, A], [], (1 + 2) / (3 + 2)),
        # by default the penalties are 2, 3, 4 when the judgments go up to 3, and 2 when they are binary
        (NWRR(), [0, A], [S, B], (1 - 1 / 2) / (2 - 1 / 3)),
        (WRR(), [0, 1], [], 1 / (2 - 1 / 2)),
    ],
    ids=str,
)
def test_worked_examples(measure: Measure, grades: list[float | None], missed: list[float], expected: float) -> None:
    assert measure.of(grades, missed) == close(expected, abs=1e-12)


def test_topic_020_of_the_appendix_corrected() -> None:
    # Sakai 2007 appendix, NTCIR-3 Chinese topic 020: the only S found is at rank 913; 10 S, 6 A, 36 B exist.
    # cg_I is 3·10 + 2·6 + 36 = 78 (the text has 48), so all three are 4 / (78 + 913).
    missed = [S] * 9 + [A] * 6 + [B] * 36
    grades: list[float | None] = [*[None] * 912, S]
    for measure in (Pplus(), Pmeasure(), O()):
        assert measure.of(grades, missed) == close(4 / 991, abs=1e-12)


def test_topic_034_of_the_appendix() -> None:
    # Sakai 2007 appendix, NTCIR-5 Japanese topic 034: S at 424, above it 137 A and 29 B, the first of them B at rank 2;
    # of 5 S, 288 A, 61 B. P-measure is (306 + 167) / (652 + 424) = .440, O is 2/8.
    grades: list[float | None] = [None] * 424
    grades[423] = S
    grades[1] = B
    grades[2:30] = [B] * 28
    grades[30:167] = [A] * 137
    missed = [S] * 4 + [A] * (288 - 137) + [B] * (61 - 29)
    assert Pmeasure().of(grades, missed) == close((306 + 167) / (652 + 424), abs=1e-12)
    assert O().of(grades, missed) == 0.250


# -- the definitions as slow loops over exact fractions


def naive(name: str, grades: list[float | None], missed: list[float], beta: int = 1) -> Fraction:
    """Sakai 2007 (2), (3), (6), (7) as written; the gains are the grades."""
    levels = [int(grade or 0) for grade in grades]
    ideal = sorted([int(grade) for grade in grades if grade] + [int(grade) for grade in missed], reverse=True)

    def blended_ratio(r: int) -> Fraction:
        count = sum(grade > 0 for grade in levels[:r])
        return Fraction(count + beta * sum(levels[:r]), r + beta * sum(ideal[:r]))

    if not any(levels):
        return Fraction(0)
    first = min(r for r in range(1, len(levels) + 1) if levels[r - 1] > 0)
    preferred = min(r for r in range(1, len(levels) + 1) if levels[r - 1] == max(levels))
    if name == "O":
        return blended_ratio(first)
    if name == "Pmeasure":
        return blended_ratio(preferred)
    if name == "P+":
        above = [r for r in range(1, preferred + 1) if levels[r - 1] > 0]
        return sum((blended_ratio(r) for r in above), Fraction(0)) / len(above)
    penalty = {grade: Fraction(5 - grade) for grade in (1, 2, 3)}
    weighted = 1 / (first - 1 / penalty[levels[first - 1]])
    return weighted if name == "WRR" else weighted * (1 - 1 / penalty[ideal[0]])


@pytest.mark.parametrize("name", ["O", "Pmeasure", "P+", "WRR", "NWRR"])
@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(), cutoff=st.one_of(st.none(), st.integers(1, 8)), beta=st.integers(0, 3))
def test_scores_agree_with_a_loop_over_the_definition(name: str, graded: Graded, cutoff: int | None, beta: int) -> None:
    grades, missed = graded
    measure = parse(name).replace(cutoff=cutoff)
    measure = measure.replace(penalty=PENALTY) if name.endswith("WRR") else measure.replace(beta=beta)
    top, below = grades[:cutoff], [grade for grade in grades[cutoff or len(grades) :] if grade is not None]
    assert measure.of(grades, missed) == close(float(naive(name, top, missed + below, beta)), abs=1e-12)


def test_many_lists_at_once_are_each_scored_alone() -> None:
    lists: list[list[float | None]] = [[1, 3, 2], [], [0, 0], [2, None, 3, 3], [None, 1], [3, 3, 1]]
    judged = [3, 3, 3, 2, 2, 1, 1, 0, 0]
    together = side_by_side(lists, judged)
    for name in ("O", "Pmeasure", "P+", "WRR", "NWRR", "P+@2"):
        alone = [parse(name).evaluate(side_by_side([grades], judged))[0] for grades in lists]
        assert parse(name).evaluate(together).tolist() == alone


@pytest.mark.peers
@settings(max_examples=60, deadline=None)
@given(
    graded=graded_lists(), gains=st.sampled_from([[1, 2, 3], [1, 3, 7], [1, 5, 10]]), beta=st.sampled_from([0, 1, 5])
)
def test_agrees_with_ntcireval(graded: Graded, gains: list[int], beta: int) -> None:
    from pyNTCIREVAL.metrics import OMeasure, PMeasure, PPlusMeasure

    grades, missed = graded
    judged = [grade for grade in grades if grade is not None] + missed
    counts = [sum(grade == level for grade in judged) for level in range(4)]
    ranked = [(str(rank), grade) for rank, grade in enumerate(grades)]
    for ours, theirs in ((O, OMeasure), (Pmeasure, PMeasure), (Pplus, PPlusMeasure)):
        if ranked:  # NTCIREVAL fails on an empty list
            expected = theirs(counts, gains, beta).compute(ranked)
            actual = ours(beta=beta, gain=dict(zip((1, 2, 3), gains, strict=True))).of(grades, missed)
            assert actual == close(expected, abs=1e-12)


# -- properties that the papers state


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(highest=1), beta=st.floats(0, 20))
def test_o_is_the_reciprocal_rank_when_binary_and_found_within_R(graded: Graded, beta: float) -> None:
    # Sakai 2007 §3.2: O = RR iff r1 ≤ R, and above it otherwise
    grades, missed = graded
    reciprocal, o = RR().of(grades, missed), O(beta=beta).of(grades, missed)
    relevant = sum(grade == 1 for grade in [*grades, *missed])
    if reciprocal and 1 / reciprocal > relevant + 0.5:
        assert o > reciprocal or beta * reciprocal < 1e-9
    else:
        assert o == close(reciprocal, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(graded=graded_lists())
def test_all_three_agree_if_the_first_relevant_document_is_the_best(graded: Graded) -> None:
    # Sakai 2007 §3.3: P+ = P = O if rp = r1
    grades, missed = graded
    relevant = [grade for grade in grades if grade]
    if not relevant or relevant[0] == max(relevant):
        assert Pplus().of(grades, missed) == close(O().of(grades, missed), abs=1e-12)
        assert Pmeasure().of(grades, missed) == close(O().of(grades, missed), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_without_gains_o_is_the_reciprocal_rank(graded: Graded) -> None:
    # Sakai 2007 §3.2: with small gains O behaves like RR
    assert O(beta=0).of(*graded) == close(RR().of(*graded), abs=1e-12)
    assert O(gain={1: 1e-9, 2: 2e-9, 3: 3e-9}).of(*graded) == close(RR().of(*graded), abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_with_huge_penalties_it_is_the_reciprocal_rank(graded: Graded) -> None:
    # Sakai 2007 §3.2: with β = ∞ for all levels WRR is RR
    for measure in (WRR, NWRR):
        huge = measure(penalty={1: 1e12, 2: 1e12, 3: 1e12})
        assert huge.of(*graded) == close(RR().of(*graded), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(), penalty=st.lists(st.floats(1.01, 50), min_size=3, max_size=3))
def test_an_earlier_rank_always_beats_a_better_grade(graded: Graded, penalty: list[float]) -> None:
    # Sakai 2007 §3.2 (b): whatever the penalties, B at rank r is above S at rank r + 1
    table = dict(zip((1, 2, 3), sorted(penalty, reverse=True), strict=True))
    for rank in range(1, 5):
        worse_first = NWRR(penalty=table).of([*[0] * (rank - 1), B, 0], [S])
        better_next = NWRR(penalty=table).of([*[0] * rank, S], [B])
        assert worse_first >= better_next
        assert worse_first <= 1 + 1e-12


def test_moving_the_best_document_up_may_lower_p_measure() -> None:
    # judged 3 and 1. At rank 3 with the other above: (2 + 4) / (3 + 4); at rank 2: (1 + 3) / (2 + 4)
    assert Pmeasure().of([0, 1, 3]) == close(6 / 7)
    assert Pmeasure().of([0, 3, 1]) == close(4 / 6)


def test_explain_shows_every_rank() -> None:
    terms = Pplus().terms(Assessed.one([B, None, A, S, S]))
    assert terms.hits.rank.tolist() == [1, 3, 4]
    assert terms.columns["blended ratio"].tolist() == close([2 / 4, 5 / 11, 9 / 13])
    assert np.asarray(terms.over).tolist() == [3]
    assert NWRR().note(Assessed.one([3, 1])) == (
        "penalty 2 for grade 3, the largest in the judgments, and 1 more for each grade below"
    )
    assert NWRR(penalty=PENALTY).note(Assessed.one([3, 1])) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: O(beta=-1), "O: beta == -1, must be 0 or above"),
        (lambda: NWRR(penalty={1: 4, 2: 1}), "NWRR: penalty == 1 for grade 2, must be above 1"),
        (lambda: WRR(penalty={1: 2, 2: 3}), r"WRR: penalty == \{1:2,2:3\}, a better grade must not have a higher"),
        (lambda: WRR(penalty="linear"), "WRR: penalty == 'linear', must be a table"),
        (lambda: WRR(penalty=2), "WRR: penalty == 2, must be a table"),
        (lambda: WRR(penalty={1: 4, "else": "linear"}), "must list every grade"),
        (lambda: WRR(penalty={1: 4}).of([0, 2]), "grade 2 is in the judgments but not in the .*table {1:4}; add it"),
    ],
)
def test_an_error_names_the_bad_value(make: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("P+", Pplus()),
        ("P+@10", Pplus() @ 10),
        ("P+'(gain={1:1,2:3,3:7})", Pplus(gain={1: 1, 2: 3, 3: 7}).view("condensed")),
        ("P-plus", Pplus()),
        ("P-measure", Pmeasure()),
        ("O-measure(beta=2)", O(beta=2)),
        ("NWRR(penalty={1:4,2:3,3:2})", NWRR(penalty=PENALTY)),
        ("WRR(penalty=inf)", WRR(penalty=math.inf)),
        ("WRR(penalty={1:inf,2:3})", WRR(penalty={1: math.inf, 2: 3})),
    ],
)
def test_names_parse_back(written: str, expected: Measure) -> None:
    assert parse(written) == expected
    assert parse(str(expected)) == expected


def test_err_of_enormous_grades_does_not_overflow() -> None:
    # 2^5000 overflows a double, but (2^5000 - 1) / 2^5000 is 1 to the last bit, and (2^4999 - 1) / 2^5000 is 1/2
    assert ERR().of([5000]) == 1.0
    assert ERR().of([4999, 0], missed=[5000]) == 0.5
