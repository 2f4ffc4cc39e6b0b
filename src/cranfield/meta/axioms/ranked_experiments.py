"""The properties of Sakai 2014 Fig. 6, each tested on all small lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.measures import Measure
from cranfield.meta.axioms.axiom_findings import Finding, Scored, SecondDocument, differ, first_difference
from cranfield.meta.synthetic_lists import FAR, assess_lists, higher_better, list_text
from cranfield.types import Array, Index64

Grades = tuple[float | None, ...]
"""A list from the top; None is an unjudged document."""

LENGTHS: dict[str, Callable[[float | None], float]] = {
    "equal": lambda grade: 500.0,
    "short if relevant": lambda grade: 10.0 if grade else 1000.0,  # the example of Sakai 2014 §2.2
    "long if relevant": lambda grade: 1000.0 if grade else 10.0,
}
"""Lengths of documents by their grades."""

POOLS = [(2, 2, 2, 2, 1, 1, 1, 1), (1, 1), (2, 1), (2, 1, 1), (1, 1, 1), (2, 2, 1, 1)]
"""The relevant documents of topics: for some, no short list holds all of them; for others, one does."""

HIGHEST = 3.0


def lists_of(lists: Sequence[Sequence[float | None]], judged: Sequence[float], lengths: str = "equal") -> Assessed:
    """Lists of one topic and one length; document lengths depend on the grade, and scores on the rank."""
    long = np.array([[LENGTHS[lengths](grade) for grade in grades] for grades in lists], dtype=np.float64)
    return assess_lists(np.array(lists, dtype=np.float64), judged, HIGHEST, lengths=long, scores=True)


def score(measure: Measure, grades: Sequence[float | None], missed: Sequence[float], lengths: str = "equal") -> float:
    judged = [grade for grade in grades if grade is not None] + [*missed]
    return float(measure.evaluate(lists_of([grades], judged, lengths))[0])


class Fours(NamedTuple):
    """All lists of a length, and sets of four of them to compare."""

    grades: list[Grades]
    judged: list[float]
    lists: Assessed
    rows: Index64
    """4 × sets: two documents are relevant, only the first is, only the second is, neither is."""


@cache
def small_lists(lengths: str) -> list[Fours]:
    result = []
    for length, pool in product((2, 3, 4), POOLS):
        judged = [float(grade) for grade in (*pool, *[0] * length)]
        lists: list[Grades] = [
            grades
            for grades in product((0.0, None, 1.0, 2.0), repeat=length)
            if not Counter(grade for grade in grades if grade is not None) - Counter(judged)
        ]
        row = {grades: number for number, grades in enumerate(lists)}
        fours = []
        for grades in lists:
            for i, j in combinations(range(length), 2):
                if grades[i] and grades[j]:
                    for u, v in product((0, None), repeat=2):
                        changes = ((grades[i], v), (u, grades[j]), (u, v))
                        fours.append([row[grades], *(row[with_two(grades, i, x, j, y)] for x, y in changes)])
        result.append(Fours(lists, judged, lists_of(lists, judged, lengths), np.array(fours).T))
    return result


def with_two(grades: Sequence[float | None], i: int, x: float | None, j: int, y: float | None) -> Grades:
    changed = [*grades]
    changed[i], changed[j] = x, y
    return tuple(changed)


@cache
def second_documents(measure: Measure) -> SecondDocument:
    """The extremes over all small lists, with documents of various lengths if the measure uses lengths."""
    best = SecondDocument()
    for lengths in LENGTHS if measure.needs == "lengths" else ["equal"]:
        for fours in small_lists(lengths):
            scores = measure.evaluate(fours.lists)
            best = best.extended(higher_better(measure, scores)[fours.rows], partial(_four_lists, fours, scores))
    return best


def _four_lists(fours: Fours, scores: Array, at: int) -> tuple[Scored, ...]:
    lists = []
    for row in fours.rows[:, at].tolist():
        grades = fours.grades[row]
        left = Counter(fours.judged) - Counter(grade for grade in grades if grade is not None)
        missed = sorted((grade for grade in left.elements() if grade > 0), reverse=True)
        lists.append(Scored(list_text(grades, missed), float(scores[row])))
    return tuple(lists)


def diminishing(measure: Measure) -> Finding:
    """Is a relevant document never worth more, and sometimes less, after another one?"""
    return second_documents(measure).diminishing()


def additive(measure: Measure) -> Finding:
    """Is a relevant document worth the same whatever else is in the list?"""
    second = second_documents(measure)
    if second.low > -FAR and second.high < FAR:
        return Finding("additive", True, f"worth the same in {second.tried:,} comparisons")
    example = second.lowest if -second.low > second.high else second.highest
    return Finding("additive", False, "the second document adds more or less with the first", example)


def graded(measure: Measure) -> Finding:
    """Do scores change if all relevant documents have grade 1? A measure that has a gain may need one."""
    finding = _graded(measure)
    if finding.holds or "gain" not in measure.parameters() or measure.__dict__["gain"] is not None:
        return finding
    with_gain = _graded(measure.replace(gain="linear"))
    says = 'grades change the score with gain="linear", and not by default'
    return replace(with_gain, says=says) if with_gain.holds else finding


def _graded(measure: Measure) -> Finding:
    def flat(grades: Iterable[float]) -> list[float]:
        return [min(grade, 1.0) for grade in grades]

    cases = product(product((0.0, 1.0, 2.0), repeat=3), ([1.0], [3.0, 2.0, 1.0]))
    pairs = (
        (_scored(measure, grades, missed), _scored(measure, flat(grades), flat(missed))) for grades, missed in cases
    )
    return first_difference("graded", pairs, "grades")


def normalised(measure: Measure) -> Finding:
    """Does the best order of all judged documents score 1 on every topic?"""
    topics = [judged for length in (1, 2, 3) for judged in product((3, 2, 1, 0), repeat=length) if max(judged) > 0]
    for judged in topics:
        best = _scored(measure, sorted(judged, reverse=True), [])
        if differ(best.score, 1.0):
            return Finding("normalised", False, "the best list does not score 1", (best,))
    return Finding("normalised", True, f"the best list scores 1 on {len(topics)} topics")


def recall_free(measure: Measure) -> Finding:
    """Is the score the same whatever was missed?"""
    cases = product(product((0, None, 1, 2), repeat=3), ([1.0], [1.0, 1.0, 0.0], [2.0, 1.0]))
    pairs = ((_scored(measure, grades, []), _scored(measure, grades, missed)) for grades, missed in cases)
    return first_difference("recall_free", pairs, "missed documents", holds_if_different=False)


def lengths(measure: Measure) -> Finding:
    """Do the lengths of documents count?"""
    pairs = (
        (
            Scored(f"{list_text(grades)}, all equally long", score(measure, grades, [1])),
            Scored(f"{list_text(grades)}, {name}", score(measure, grades, [1], name)),
        )
        for grades, name in product(product((0, None, 1, 2), repeat=3), LENGTHS)
    )
    return first_difference("lengths", pairs, "lengths")


def _scored(measure: Measure, grades: Sequence[float | None], missed: Sequence[float]) -> Scored:
    return Scored(list_text(grades, missed), score(measure, grades, missed))


RANKED_EXPERIMENTS: dict[str, Callable[[Measure], Finding]] = {
    test.__name__: test for test in (graded, normalised, recall_free, diminishing, additive, lengths)
}
