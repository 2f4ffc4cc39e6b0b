"""Normalised cumulative utility: its special cases, and its stops and utilities by hand, by loops and by NTCIREVAL."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import AP, ERR, NCU, RR, Measure, O, Pmeasure, Pplus, Q, parse
from cranfield.measures.ranked_lists.ncu import STOPS, UTILITIES
from tests.oracles.joined import graded_lists, side_by_side

close = pytest.approx
Graded = tuple[list[float | None], list[float]]

# Sakai 2014 §2.2 and Sakai 2013 §2.1 name these special cases.
MEMBERS: dict[str, tuple[Measure, Measure]] = {
    "AP": (NCU(stop="uniform", utility="P"), AP()),
    "AP with β = 0": (NCU(stop="uniform", utility="BR", beta=0), AP()),
    "AP of the better grades": (NCU(utility="P", rel=2), AP(rel=2)),
    "AP, cut": (NCU(utility="P") @ 3, AP() @ 3),
    "AP, cut, Sakai 2014 (10)": (NCU(utility="P", norm="min") @ 3, AP(norm="min") @ 3),
    "Q": (NCU(stop="uniform", utility="BR"), Q()),
    "Q with gains": (NCU(gain="exp", beta=5), Q(gain="exp", beta=5)),
    "Q, cut, Sakai 2014 (13)": (NCU(norm="min") @ 3, Q(norm="min") @ 3),
    "RR": (NCU(stop="first", utility="P"), RR()),
    "RR, cut": (NCU(stop="first", utility="P") @ 3, RR() @ 3),
    "RR by its own utility": (NCU(stop="first", utility="RR"), RR()),
    "O": (NCU(stop="first"), O()),
    "P-measure": (NCU(stop="preferred"), Pmeasure()),
    "P-measure, cut": (NCU(stop="preferred", gain="exp") @ 4, Pmeasure(gain="exp") @ 4),
    "P+": (NCU(stop="to-preferred"), Pplus()),
    "P+, cut": (NCU(stop="to-preferred", beta=3) @ 4, Pplus(beta=3) @ 4),
    "ERR": (NCU(stop="cascade", utility="RR"), ERR()),
    "ERR, cut, of another scale": (NCU(stop="cascade", utility="RR", max_grade=4) @ 3, ERR(max_grade=4) @ 3),
    "rank-biased with γ = 1 is uniform": (NCU(stop="rank-biased", gamma=1), Q()),
    "equal weights are uniform": (NCU(stop="graded-uniform", weight={1: 2, 2: 2, 3: 2}), Q()),
}


@pytest.mark.parametrize("name", MEMBERS)
@settings(max_examples=50, deadline=None)
@given(graded=graded_lists(lowest=-1))
def test_special_cases_equal_other_measures(name: str, graded: Graded) -> None:
    actual, expected = (measure.of(*graded) for measure in MEMBERS[name])
    assert actual == close(expected, abs=1e-12, nan_ok=True)


@settings(max_examples=50, deadline=None)
@given(graded=graded_lists())
def test_rank_biased_with_gamma_0_stops_at_the_first(graded: Graded) -> None:
    if any(grade for grade in [*graded[0], *graded[1]]):
        assert NCU(stop="rank-biased", utility="P", gamma=0).of(*graded) == close(RR().of(*graded))
        assert NCU(stop="rank-biased", gamma=0).of(*graded) == close(O().of(*graded))


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        # grades 1, -, 3, 2 of a topic that has another 1: R = 4, gains 7; P: 1, 2/3, 3/4
        (NCU(utility="P"), (1 + 2 / 3 + 3 / 4) / 4),
        (NCU(stop="graded-uniform", utility="P"), (1 * 1 + 3 * 2 / 3 + 2 * 3 / 4) / 7),
        (NCU(stop="graded-uniform", utility="P", weight={1: 1, 2: 5, 3: 10}), (1 + 10 * 2 / 3 + 5 * 3 / 4) / 17),
        (NCU(stop="graded-uniform", utility="P", gain="exp"), (1 + 7 * 2 / 3 + 3 * 3 / 4) / 12),
        (NCU(stop="graded-uniform", utility="P", rel=2), (3 * 1 / 3 + 2 * 2 / 4) / 5),
        (NCU(stop="rank-biased", utility="P", gamma=0.5), (1 + 2 / 3 / 2 + 3 / 4 / 4) / (1 + 1 / 2 + 1 / 4 + 1 / 8)),
        # BR: (1 + 1)/(1 + 3), (2 + 4)/(3 + 6), (3 + 6)/(4 + 7); nCG: 1/3, 4/6, 6/7
        (NCU(stop="rank-biased", gamma=0.5), (2 / 4 + 6 / 9 / 2 + 9 / 11 / 4) / (1 + 1 / 2 + 1 / 4 + 1 / 8)),
        (NCU(stop="graded-uniform"), (2 / 4 + 3 * 6 / 9 + 2 * 9 / 11) / 7),
        (NCU(utility="nCG"), (1 / 3 + 4 / 6 + 6 / 7) / 4),
        (NCU(utility="RR"), (1 + 1 / 3 + 1 / 4) / 4),
        # cascade with probabilities 1/8, 7/8, 3/8 times P
        (NCU(stop="cascade", utility="P"), 1 / 8 + 7 / 8 * 7 / 8 * 2 / 3 + 7 / 8 * 1 / 8 * 3 / 8 * 3 / 4),
        # norm="min" at 2: the two heaviest weights are 3 and 2, the first two shares 1 and 1/2
        (NCU(stop="graded-uniform", utility="P", norm="min") @ 2, 1 / 5),
        (NCU(stop="graded-uniform", utility="P") @ 2, 1 / 7),
        (NCU(stop="rank-biased", utility="P", gamma=0.5, norm="min") @ 2, 1 / 1.5),
    ],
    ids=str,
)
def test_worked_by_hand(measure: Measure, expected: float) -> None:
    assert measure.of([1, None, 3, 2], [1, 0]) == close(expected, abs=1e-12)


def naive(stop: str, utility: str, grades: list[float | None], missed: list[float], gamma: Fraction) -> Fraction | None:
    """The sum of stopping probability times utility over exact fractions; None if the divisor is 0."""
    levels = [int(grade or 0) for grade in grades]
    ideal = sorted([int(grade) for grade in grades if grade] + [int(grade) for grade in missed if grade], reverse=True)
    relevant, total, not_yet = len(ideal), Fraction(0), Fraction(1)
    for r in range(1, len(levels) + 1):
        grade = levels[r - 1]
        if grade == 0:
            continue
        count, cg, best = sum(g > 0 for g in levels[:r]), sum(levels[:r]), sum(ideal[:r])
        ranks = [k for k in range(1, len(levels) + 1) if levels[k - 1]]
        preferred = levels.index(max(levels)) + 1
        down_to = [k for k in ranks if k <= preferred]
        satisfied = Fraction(2**grade - 1, 2 ** ideal[0])
        chance = {
            "uniform": Fraction(1, relevant),
            "graded-uniform": Fraction(grade, sum(ideal)),
            "rank-biased": gamma ** (count - 1) / sum(gamma**i for i in range(relevant)),
            "cascade": not_yet * satisfied,
            "first": Fraction(r == ranks[0]),
            "preferred": Fraction(r == preferred),
            "to-preferred": Fraction(r in down_to, len(down_to)),
        }[stop]
        not_yet *= 1 - satisfied
        total += (
            chance
            * {
                "P": Fraction(count, r),
                "BR": Fraction(count + cg, r + best),
                "nCG": Fraction(cg, best),
                "RR": Fraction(1, r),
            }[utility]
        )
    return None if relevant == 0 and stop in ("uniform", "graded-uniform", "rank-biased") else total


@pytest.mark.parametrize("stop", STOPS)
@settings(max_examples=25, deadline=None)
@given(graded=graded_lists(), gamma=st.fractions(0, 1, max_denominator=10))
def test_scores_agree_with_a_loop_over_the_definition(stop: str, graded: Graded, gamma: Fraction) -> None:
    for utility in UTILITIES:
        expected = naive(stop, utility, *graded, gamma)
        actual = NCU(stop=stop, utility=utility, gamma=float(gamma)).of(*graded)
        assert actual == close(float("nan") if expected is None else float(expected), abs=1e-12, nan_ok=True)


@pytest.mark.peers
@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(), gamma=st.sampled_from([0.1, 0.5, 0.95]), weights=st.sampled_from([[1, 2, 3], [1, 5, 10]]))
def test_agrees_with_ntcireval(graded: Graded, gamma: float, weights: list[int]) -> None:
    from pyNTCIREVAL.metrics import NCUguBR, NCUguP, NCUrbBR, NCUrbP

    grades, missed = graded
    judged = [grade for grade in grades if grade is not None] + missed
    counts = [sum(grade == level for grade in judged) for level in range(4)]
    if not grades or not sum(counts[1:]):
        return  # NTCIREVAL fails on an empty list and without relevant documents
    ranked = [(str(rank), grade) for rank, grade in enumerate(grades)]
    gains, weight = [1, 3, 7], dict(zip((1, 2, 3), weights, strict=True))
    for name, theirs in {
        "NCUguP": NCUguP(counts, gains, weights),
        "NCUguBR": NCUguBR(counts, gains, weights, 2),
        "NCUrbP": NCUrbP(counts, gains, gamma),
        "NCUrbBR": NCUrbBR(counts, gains, gamma, 2),
    }.items():
        ours = parse(name).replace(gain="exp", weight=weight, gamma=gamma, beta=2)
        assert ours.of(grades, missed) == close(theirs.compute(ranked), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(graded=graded_lists(), gamma=st.floats(0, 1))
def test_the_shares_of_readers_sum_to_1_at_most(graded: Graded, gamma: float) -> None:
    grades, missed = graded
    judged = sorted([grade for grade in grades if grade is not None] + missed, reverse=True)
    lists = side_by_side([grades, judged], judged)
    for stop in STOPS:
        terms = NCU(stop=stop, gamma=gamma).terms(lists)
        listed, ideal = terms.hits.sum(terms.columns["stops here"])
        assert listed <= 1 + 1e-12
        if stop != "cascade" and judged and judged[0] > 0:
            assert ideal == close(1)  # in an ideal list every reader stops


@settings(max_examples=40, deadline=None)
@given(judged=st.lists(st.integers(0, 3), min_size=1, max_size=10).filter(any), gamma=st.floats(0, 1))
def test_an_ideal_list_scores_1_under_a_normalised_utility(judged: list[int], gamma: float) -> None:
    for stop in ("uniform", "graded-uniform", "rank-biased", "first", "preferred", "to-preferred"):
        for utility in ("P", "BR", "nCG"):
            assert NCU(stop=stop, utility=utility, gamma=gamma).of(sorted(judged, reverse=True)) == close(1)


def test_moving_a_better_document_up_may_lower_the_graded_uniform_form() -> None:
    # weights 1 and 3: precision at the better document is 2/3 below the other one, 1/2 above it
    measure = NCU(stop="graded-uniform", utility="P")
    assert measure.of([0, 1, 3]) == close((1 / 2 + 3 * 2 / 3) / 4)
    assert measure.of([0, 3, 1]) == close((3 * 1 / 2 + 2 / 3) / 4)


@pytest.mark.parametrize("stop", STOPS)
def test_many_lists_at_once_are_each_scored_alone(stop: str) -> None:
    lists: list[list[float | None]] = [[1, 3, 2], [], [0, 0], [2, None, 3, 3], [None, 1], [3, 3, 1]]
    judged = [3, 3, 3, 2, 2, 1, 1, 0, 0]
    for utility in UTILITIES:
        measure = NCU(stop=stop, utility=utility)
        alone = [measure.evaluate(side_by_side([grades], judged))[0] for grades in lists]
        assert measure.evaluate(side_by_side(lists, judged)).tolist() == alone


def test_explain_shows_where_readers_stop_and_what_they_have() -> None:
    explanation = cf.explain({"q": {"a": 1, "b": 3}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "q", "NCU(stop='cascade')")
    assert explanation.columns == ("stops here", "utility", "adds")
    assert [line.counts.get("stops here") for line in explanation.lines] == close([1 / 8, None, 7 / 8 * 7 / 8])
    assert [line.counts.get("utility") for line in explanation.lines] == close([2 / 4, None, 6 / 7])
    assert "max_grade = 3, the largest in the judgments" in explanation.notes


def test_a_new_stop_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_second(to: NCU, lists: Assessed, hits: object) -> tuple[object, object]:
        return STOPS["first"](to, lists, hits)[0][::-1], STOPS["first"](to, lists, hits)[1]  # type: ignore[arg-type]

    monkeypatch.setitem(STOPS, "second of two", at_second)  # type: ignore[arg-type]
    assert NCU(stop="second of two", utility="P").of([1, 0, 1]) == close(2 / 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"stop": "never"},
            "NCU: stop == 'never', must be one of 'uniform', 'graded-uniform', 'rank-biased', 'cascade'",
        ),
        ({"utility": "AP"}, "NCU: utility == 'AP', must be one of 'P', 'BR', 'nCG', 'RR'"),
        ({"gamma": 1.5}, "NCU: gamma == 1.5, must be between 0 and 1"),
        ({"beta": -1}, "NCU: beta == -1, must be 0 or above"),
        ({"norm": "max"}, "NCU: norm == 'max'"),
        ({"max_grade": 0}, "NCU: max_grade == 0, must be above 0"),
        ({"stop": "graded-uniform", "weight": {1: -1}}, "NCU: weight == -1 for grade 1, must be 0 or above"),
        ({"stop": "graded-uniform", "gain": {1: -1}}, "NCU: gain == {1:-1}: grade 1 gains -1, must be 0 or more"),
        ({"weight": "steep"}, "weight == 'steep', must be"),
    ],
)
def test_an_error_names_the_bad_value(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NCU(**parameters)  # type: ignore[arg-type]


def test_judgments_beyond_the_largest_grade_are_an_error() -> None:
    with pytest.raises(UsageError, match="NCU: max_grade == 2, but the judgments go up to 3"):
        NCU(stop="cascade", max_grade=2).of([3])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("NCUguP", NCU(stop="graded-uniform", utility="P")),
        ("NCUguBR@10", NCU(stop="graded-uniform") @ 10),
        ("NCUrbP(gamma=0.5)", NCU(stop="rank-biased", utility="P", gamma=0.5)),
        ("NCUrbBR'", NCU(stop="rank-biased").view("condensed")),
        ("NCU(weight={1:1,2:2,3:5})", NCU(weight={1: 1, 2: 2, 3: 5})),
    ],
)
def test_names_parse_back(written: str, expected: Measure) -> None:
    assert parse(written) == expected
    assert parse(str(expected)) == expected
