"""The properties of Sakai 2014 Fig. 6, found out by experiment: a search over all small lists decides each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.measures import Measure
from cranfield.meta.axioms.findings import FAR, Finding, Scored, differ, listed
from cranfield.meta.constructed_lists import as_told, assess_lists, better
from cranfield.types import Array, Index64

Grades = tuple[float | None, ...]

LENGTHS: dict[str, Callable[[float | None], float]] = {
    "equal": lambda grade: 500.0,
    "short if relevant": lambda grade: 10.0 if grade else 1000.0,  # the example of Sakai 2014 §2.2
    "long if relevant": lambda grade: 1000.0 if grade else 10.0,
}
"""How long documents are, by their grades."""

POOLS = [(2, 2, 2, 2, 1, 1, 1, 1), (1, 1), (2, 1), (2, 1, 1), (1, 1, 1), (2, 2, 1, 1)]
"""The relevant documents of topics: some that no short list finds all, some that it does."""

HIGHEST = 3.0


def lists_of(many: Sequence[Sequence[float | None]], judged: Sequence[float], lengths: str = "equal") -> Assessed:
    """Lists of one length that share a topic, of documents whose lengths go by their grade and scores by their rank."""
    long = np.array([[LENGTHS[lengths](grade) for grade in one] for one in many], dtype=np.float64)
    return assess_lists(np.array(many, dtype=np.float64), judged, HIGHEST, lengths=long, scores=True)


def score(measure: Measure, one: Sequence[float | None], missed: Sequence[float], lengths: str = "equal") -> float:
    """What one list scores."""
    judged = [grade for grade in one if grade is not None] + [*missed]
    return float(measure.evaluate(lists_of([one], judged, lengths))[0])


class Fours(NamedTuple):
    """All lists of a length, and which four of them are to be compared."""

    grades: list[Grades]
    judged: list[float]
    lists: Assessed
    rows: Index64
    """Two documents are relevant, only the first is, only the second, neither."""


@cache
def small_lists(lengths: str) -> list[Fours]:
    """All lists of up to four documents."""
    made = []
    for length, pool in product((2, 3, 4), POOLS):
        judged = [float(grade) for grade in (*pool, *[0] * length)]
        every: list[Grades] = [
            one
            for one in product((0.0, None, 1.0, 2.0), repeat=length)
            if not Counter(grade for grade in one if grade is not None) - Counter(judged)
        ]
        row = {one: number for number, one in enumerate(every)}
        fours = []
        for one in every:
            for i, j in combinations(range(length), 2):
                if one[i] and one[j]:
                    for u, v in product((0, None), repeat=2):
                        fours.append([row[one]] + [row[with_two(one, i, x, j, y)] for x, y in others(one, i, u, j, v)])
        made.append(Fours(every, judged, lists_of(every, judged, lengths), np.array(fours).T))
    return made


def others(one: Grades, i: int, u: float | None, j: int, v: float | None) -> list[tuple[float | None, float | None]]:
    """What stands at i and j when the first of two relevant documents is taken out, the second, and both."""
    return [(one[i], v), (u, one[j]), (u, v)]


def with_two(one: Sequence[float | None], i: int, x: float | None, j: int, y: float | None) -> Grades:
    """The list with other documents at two places."""
    made = [*one]
    made[i], made[j] = x, y
    return tuple(made)


def worth_more_after_another(scores: Array) -> Array:
    """What the second document adds when the first is relevant, less what it adds when it is not."""
    both, first, second, neither = scores
    return np.asarray((both - first) - (second - neither))


class Second(NamedTuple):
    """How much less (`low`) and more (`high`) a document is worth after a relevant one, at most, and where."""

    low: float
    high: float
    lowest: tuple[Scored, ...]
    highest: tuple[Scored, ...]
    tried: int


@cache
def second_documents(measure: Measure) -> Second:
    """A search over all small lists, with documents of various lengths where lengths count."""
    low = high = 0.0
    lowest: tuple[Scored, ...] = ()
    highest: tuple[Scored, ...] = ()
    tried = 0
    for lengths in LENGTHS if measure.needs == "lengths" else ["equal"]:
        for fours in small_lists(lengths):
            scores = better(measure, fours.lists)
            more = worth_more_after_another(scores[fours.rows])
            tried += int(np.isfinite(more).sum())
            if np.nanmin(more, initial=0.0) < low:
                low, lowest = float(np.nanmin(more)), _four(fours, as_told(measure, scores), int(np.nanargmin(more)))
            if np.nanmax(more, initial=0.0) > high:
                high, highest = float(np.nanmax(more)), _four(fours, as_told(measure, scores), int(np.nanargmax(more)))
    return Second(low, high, lowest, highest, tried)


def _four(fours: Fours, scores: Array, at: int) -> tuple[Scored, ...]:
    found = []
    for row in fours.rows[:, at].tolist():
        one = fours.grades[row]
        left = Counter(fours.judged) - Counter(grade for grade in one if grade is not None)
        missed = sorted((grade for grade in left.elements() if grade > 0), reverse=True)
        found.append(Scored(listed(one, missed), float(scores[row])))
    return tuple(found)


def diminishing(measure: Measure) -> Finding:
    """Is a relevant document never worth more, and sometimes less, after another one?"""
    found = second_documents(measure)
    if found.high >= FAR:
        says = "with the first document relevant the second adds more than without"
        return Finding("diminishing", False, says, found.highest)
    if found.low > -FAR:
        return Finding("diminishing", False, f"never worth less after another, in {found.tried:,} comparisons")
    return Finding("diminishing", True, f"never worth more in {found.tried:,} comparisons, and less here", found.lowest)


def additive(measure: Measure) -> Finding:
    """Is a relevant document worth the same whatever else is in the list?"""
    found = second_documents(measure)
    if found.low > -FAR and found.high < FAR:
        return Finding("additive", True, f"worth the same in {found.tried:,} comparisons")
    example = found.lowest if -found.low > found.high else found.highest
    return Finding("additive", False, "the second document adds more or less with the first", example)


def graded(measure: Measure) -> Finding:
    """Do scores differ if all relevant documents are of grade 1?"""
    tried = 0
    for one, missed in product(product((0.0, 1.0, 2.0), repeat=3), ([1.0], [3.0, 2.0, 1.0])):
        tried += 1
        scores = score(measure, one, missed), score(measure, _flat(one), _flat(missed))
        if differ(*scores):
            example = Scored(listed(one, missed), scores[0]), Scored(listed(_flat(one), _flat(missed)), scores[1])
            return Finding("graded", True, "grades count", example)
    return Finding("graded", False, f"grades make no difference to {tried} lists")


def _flat(grades: Iterable[float]) -> list[float]:
    return [min(grade, 1.0) for grade in grades]


def normalised(measure: Measure) -> Finding:
    """Does the best order of all judged documents score 1 on every topic?"""
    topics = [judged for length in (1, 2, 3) for judged in product((3, 2, 1, 0), repeat=length) if max(judged) > 0]
    for judged in topics:
        best = sorted(judged, reverse=True)
        found = score(measure, best, [])
        if differ(found, 1.0):
            return Finding("normalised", False, "the best list does not score 1", (Scored(listed(best), found),))
    return Finding("normalised", True, f"the best list scores 1 on {len(topics)} topics")


def recall_free(measure: Measure) -> Finding:
    """Is it the same whatever was missed?"""
    tried = 0
    for one, missed in product(product((0, None, 1, 2), repeat=3), ([1.0], [1.0, 1.0, 0.0], [2.0, 1.0])):
        tried += 1
        scores = score(measure, one, []), score(measure, one, missed)
        if differ(*scores):
            example = Scored(listed(one), scores[0]), Scored(listed(one, missed), scores[1])
            return Finding("recall_free", False, "what was missed makes a difference", example)
    return Finding("recall_free", True, f"what was missed makes no difference in {tried} comparisons")


def lengths(measure: Measure) -> Finding:
    """Do the lengths of documents count?"""
    tried = 0
    for one, name in product(product((0, None, 1, 2), repeat=3), LENGTHS):
        tried += 1
        scores = score(measure, one, [1]), score(measure, one, [1], name)
        if differ(*scores):
            told = (f"{listed(one)}, all equally long", f"{listed(one)}, {name}")
            example = tuple(Scored(text, found) for text, found in zip(told, scores, strict=True))
            return Finding("lengths", True, "lengths count", example)
    return Finding("lengths", False, f"lengths make no difference in {tried} comparisons")


RANKED_EXPERIMENTS: dict[str, Callable[[Measure], Finding]] = {
    "graded": graded,
    "normalised": normalised,
    "recall_free": recall_free,
    "diminishing": diminishing,
    "additive": additive,
    "lengths": lengths,
}
"""By the names of `Properties`."""
