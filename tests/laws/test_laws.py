"""Laws that every measure in the registry must obey. Exceptions are named, with the reason."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assessed.changed_lists.prefixes import score_cut_lists
from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures import MEASURES, Measure, parse
from tests.laws.instances import (
    ALL,
    ENDS_AT_THE_BEST,
    MOVES_ABOUT,
    NEEDS,
    STOPS_AFTER_CLICKS,
    STOPS_WHEN_SATISFIED,
)
from tests.oracles.joined import collections, graded_lists, joined, side_by_side

Graded = tuple[list[float | None], list[float]]


def same(score: float, expected: float) -> bool:
    return bool(np.isclose(score, expected, rtol=1e-12, atol=1e-12, equal_nan=True))


def worth(grade: float | None, measure: Measure) -> float:
    """The grade if the measure counts it as relevant, else 0."""
    return grade if grade is not None and grade >= getattr(measure, "rel", 1) else 0.0


def toward_better(measure: Measure) -> int:
    return -1 if measure.properties.better == "lower" else 1


def rated(measures: tuple[Measure, ...]) -> list[Measure]:
    """The measures that rate a list; the others only describe it."""
    return [measure for measure in measures if measure.properties.better != "neither"]


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(lowest=-1))
def test_scores_stay_within_bounds(graded: Graded) -> None:
    lists = Assessed.one(*graded)
    for measure in ALL:
        score, limits = measure.evaluate(lists)[0], measure.properties
        assert np.isnan(score) or limits.low - 1e-12 <= score <= limits.high + 1e-12, measure


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_the_terms_add_up_to_the_score(measure: Measure) -> None:
    lists = side_by_side([[3, 0, 1, None, 2], [None, 2, -1, 0, 1, 3], [], [0]], [3, 2, 1, 0, 0, -1, 1])
    terms = measure.terms(lists)
    if terms is not None:
        assert terms.score() == pytest.approx(measure.score(lists), rel=1e-12, abs=1e-15, nan_ok=True)
        assert all(len(column) == len(terms.hits) for column in terms.columns.values())


READS_ITS_OWN_LAG = {"G"}
"""G discounts a document by how far the list lags behind the ideal list at its rank, and the lag includes the
document's own gain. With steep gains, the lag can shrink so much one rank down that the document counts more there."""


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_swapping_neighbours_so_that_the_better_moves_up_never_lowers_the_score(graded: Graded) -> None:
    grades, missed = graded
    swapped = [[*grades[:at], grades[at + 1], grades[at], *grades[at + 2 :]] for at in range(len(grades) - 1)]
    lists = side_by_side([grades, *swapped], [grade for grade in grades if grade is not None] + missed)
    exceptions = READS_ITS_OWN_LAG | ENDS_AT_THE_BEST | STOPS_WHEN_SATISFIED | STOPS_AFTER_CLICKS | MOVES_ABOUT
    for measure in (measure for measure in rated(ALL) if measure.name not in exceptions):
        before, *after = (measure.evaluate(lists) * toward_better(measure)).tolist()
        for at, score in enumerate(after):
            if worth(grades[at + 1], measure) > worth(grades[at], measure):
                assert np.isnan(score) or score >= before - 1e-12, measure


def test_moving_the_best_document_up_may_lower_Pmeasure() -> None:
    assert (parse("Pmeasure").of([None, 1, 2]), parse("Pmeasure").of([None, 2, 1])) == pytest.approx((5 / 6, 3 / 5))
    assert (parse("P+").of([None, 1, 2]), parse("P+").of([None, 2, 1])) == pytest.approx(((2 / 5 + 5 / 6) / 2, 3 / 5))


def test_moving_the_better_up_may_lower_G() -> None:
    # gains 3 and 7: 3/log2(2+10-3) + 7/log2(2+11-10), against 7/log2(2+10-7) + 3/log2(2+11-10)
    assert parse("G(gain='exp')").of([None, 2, 3]) > parse("G(gain='exp')").of([None, 3, 2])


def test_moving_the_better_up_may_lower_measures_on_click_models() -> None:
    # a and s are 1/8 for grade 1 and 7/8 for grade 3
    assert parse("uSDBN").of([1, 3]) == pytest.approx(1 / 8 + 63 / 64 * 21 / 8)
    assert parse("uSDBN").of([3, 1]) == pytest.approx(21 / 8 + 15 / 64 * 1 / 8)


def test_moving_a_document_up_may_lower_MP() -> None:
    # visits only to relevant documents, and each is adjacent to its neighbours alone: π ∝ (1/2, 1/2 + w, w)
    measure = parse("MP(states='relevant',moves='adjacent')")
    near, far = 1 / 3, 1 / 4  # ranks 1, 2 and 4 against 1, 2 and 5
    for last, w in ((4, near), (5, far)):
        expected = (1 / 2 + (1 / 2 + w) + w * 3 / last) / (1 + 2 * w)
        assert measure.of([1, 1, *[0] * (last - 3), 1]) == pytest.approx(expected)
    assert measure.of([1, 1, 0, 1]) < measure.of([1, 1, *[0] * 40, 1])  # the distant document is hardly visited


def test_moving_the_better_up_may_lower_BPM() -> None:
    assert parse("BPM").of([0, 0, 0, 1, 3]) == pytest.approx((1 / 3 + 1) / 5)
    assert parse("BPM").of([0, 0, 0, 3, 1]) == pytest.approx(1 / 4)


GRADES: list[float | None] = [None, 0, 1, 3]
LESSER_PASSES_BETTER = {"Q", "nDCGrel", "NCU", "O", "gAP"} | {"rpref_N", "rpref_relative", "rpref_relative2"}
"""Swapping the ends of (non-relevant, 3, 1) moves the lesser document above the better one. The first five measures use
the gain so far at every relevant document (O at the first), and at the first relevant document it is then smaller. The
others ignore unjudged documents: if the non-relevant one is unjudged, the better one only moves below the lesser."""


@pytest.mark.parametrize("missed", [[], [3, 0]], ids=str)
def test_swapping_any_two_so_that_the_better_moves_up_never_lowers_the_score(missed: list[float]) -> None:
    broken = set()
    for length in (2, 3, 4):
        arrangements: dict[tuple[str, ...], list[tuple[float | None, ...]]] = {}
        for grades in product(GRADES, repeat=length):
            arrangements.setdefault(tuple(sorted(map(str, grades))), []).append(grades)
        for group in arrangements.values():
            lists = side_by_side(group, [grade for grade in group[0] if grade is not None] + missed)
            row = {grades: number for number, grades in enumerate(group)}
            for measure in rated(ALL):
                scores = (measure.evaluate(lists) * toward_better(measure)).tolist()
                for grades, (i, j) in product(group, combinations(range(length), 2)):
                    if worth(grades[j], measure) > worth(grades[i], measure):
                        swapped = (*grades[:i], grades[j], *grades[i + 1 : j], grades[i], *grades[j + 1 :])
                        if scores[row[swapped]] < scores[row[grades]] - 1e-12:
                            broken.add(measure.name)
    stops = {"EBR", "uDCM", "uSDBN", "uUBM", "rrDCM"}  # EBR uses the gain so far, and readers stop
    assert broken == LESSER_PASSES_BETTER | ENDS_AT_THE_BEST | stops | MOVES_ABOUT


@settings(max_examples=20, deadline=None)
@given(collection=collections(ties=False), swap=st.permutations(range(16)))
def test_names_of_documents_do_not_matter(
    collection: tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]], swap: list[int]
) -> None:
    judgments, run = collection
    renamed = {f"d{old}": f"x{new}" for old, new in enumerate(swap)}
    before = joined(judgments, {"run": run})
    after = joined(
        {topic: {renamed[d]: grade for d, grade in of.items()} for topic, of in judgments.items()},
        {"run": {topic: {renamed[d]: score for d, score in of.items()} for topic, of in run.items()}},
    )
    for measure in ALL:
        assert np.array_equal(measure.evaluate(before), measure.evaluate(after), equal_nan=True), measure


@settings(max_examples=20, deadline=None)
@given(many=st.lists(collections(lowest=0, ties=False), min_size=2, max_size=3))
def test_a_list_scores_the_same_to_the_last_bit_alone_and_with_other_lists(
    many: list[tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]],
) -> None:
    judgments = {f"{n}{topic}": of for n, (all_of, _) in enumerate(many) for topic, of in all_of.items()}
    judgments = {topic: {**of, "top": 3} for topic, of in judgments.items()}  # the same largest grade for all
    runs = {f"run{n}": {f"{n}{topic}": of for topic, of in run.items()} for n, (_, run) in enumerate(many)}
    gain = parse("Q(gain={1:0.1,2:0.7,3:1.3})")
    together = joined(judgments, runs)
    for name, run in runs.items():
        alone = joined(judgments, {name: run})
        rows = np.flatnonzero(together.run == together.runs.index(name))
        for measure in (*ALL, gain):
            assert np.array_equal(measure.evaluate(together)[rows], measure.evaluate(alone), equal_nan=True), measure


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists())
def test_a_cutoff_ignores_what_is_below_it(graded: Graded) -> None:
    grades, missed = graded
    for measure in (measure for measure in ALL if measure.cutoff_kind == "rank" and measure.cutoff):
        top = grades[: measure.k]
        lists = side_by_side([grades, top], [grade for grade in grades if grade is not None] + missed)
        assert same(*measure.evaluate(lists)), measure


def test_evaluating_changes_nothing() -> None:
    lists = side_by_side([[3, 0, 1, None, 2], [None, 2, 0, 1, 3]], [3, 2, 1, 0, 0, 1])
    first = [measure.evaluate(lists).copy() for measure in ALL]
    for measure in ALL:
        measure.evaluate(lists)[:] = -7  # a caller may change the array that it gets
    again = [measure.evaluate(lists) for measure in ALL]
    assert all(np.array_equal(before, after, equal_nan=True) for before, after in zip(first, again, strict=True))


INTENTS = [{"1": 2}, None, {"1": 1, "2": 1}, {"2": 3}, {"1": 1}, {}, {"2": 1, "3": 1}, {"1": 3, "2": 2}]


@pytest.mark.parametrize("form", ["{}", "{}-IA", "D-{}", "DIN-{}", "D#-{}", "DIN#-{}", "{}#"])
@pytest.mark.parametrize("cutoff", ["", "@3"])
def test_the_scores_of_cut_lists_by_intent_are_those_of_the_lists_themselves(form: str, cutoff: str) -> None:
    """What `explain` computes from the whole list, against the score of every cut list by itself."""
    lists = with_intents(INTENTS, [{"3": 2}, {"2": 1}], {"1": 0.5, "2": 0.3, "3": 0.2}, ["2"])
    lists = lists.replace(lengths=Lengths.one([90, 10, 70, 30, 80, 20, 60, 50], len(INTENTS)))
    checked = 0
    for name in MEASURES:
        try:
            measure = parse(form.format(name) + NEEDS.get(name, cutoff))
        except UsageError:
            continue
        if measure.needs in ("", "intents", "lengths"):
            scores = measure.evaluate_prefixes(lists, len(INTENTS))
            cut_lists = score_cut_lists(measure.evaluate, lists, len(INTENTS))
            np.testing.assert_allclose(scores, cut_lists, rtol=1e-12, atol=1e-12, err_msg=str(measure))
            checked += 1
    assert checked > 5


def test_thirty_two_bit_arrays_score_the_same() -> None:
    lists = side_by_side([[3, 0, 1, None, 2], [None, 2, -1, 0, 1, 3]], [3, 2, 1, 0, 0, -1, 1])
    narrow: Assessed = lists.replace(
        row=lists.row.astype(np.int32), rank=lists.rank.astype(np.int32), retrieved=lists.retrieved.astype(np.int32)
    )
    for measure in ALL:
        assert np.array_equal(measure.evaluate(lists), measure.evaluate(narrow), equal_nan=True), measure


@settings(max_examples=60, deadline=None)
@given(graded=graded_lists(lowest=-1))
def test_the_scores_of_cut_lists_are_those_of_the_lists_themselves(graded: Graded) -> None:
    """What `explain` computes from the whole list, against the score of every cut list by itself."""
    grades, missed = graded
    whole = Assessed.one(grades, missed)
    for measure in ALL:
        for cut, score in enumerate(measure.evaluate_prefixes(whole, len(grades)).tolist(), 1):
            unseen = [grade for grade in grades[cut:] if grade is not None]
            assert same(score, measure.evaluate(Assessed.one(grades[:cut], [*missed, *unseen]))[0]), (measure, cut)
