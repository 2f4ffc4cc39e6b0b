"""What each axiom tries on small lists, and what that shows, with lists as evidence: Sakai 2014 Fig. 6 and 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np

from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.assessed.lists import Assessed
from cranfield.measures import Measure
from cranfield.meta.synthetic_lists import FAR, assess_lists, higher_better, list_text
from cranfield.types import Array, Index64


@dataclass(frozen=True)
class Scored:
    """A list as text, and its score."""

    listed: str
    score: float

    def __str__(self) -> str:
        return f"({self.listed}) {self.score:.4f}"


@dataclass(frozen=True)
class Finding:
    """Whether an axiom holds, what was tried, and lists as evidence: a counter-example if it does not hold.

    >>> print(Finding("swap", False, "a swap lowers the score", (Scored("1 2", 0.5), Scored("2 1", 0.4))))
    swap: no; a swap lowers the score: (1 2) 0.5000, (2 1) 0.4000
    """

    axiom: str
    holds: bool
    says: str
    example: tuple[Scored, ...] = ()
    measure: str = ""

    def shown(self) -> str:
        return ", ".join(map(str, self.example))

    def __str__(self) -> str:
        lists = f": {self.shown()}" if self.example else ""
        return f"{self.axiom}: {'yes' if self.holds else 'no'}; {self.says}{lists}"


def differ(a: Array | float, b: Array | float) -> bool:
    """Are these different scores? Two undefined scores are equal."""
    return not np.allclose(a, b, rtol=0, atol=FAR, equal_nan=True)


def first_difference(
    axiom: str, pairs: Iterable[tuple[Scored, Scored]], change: str, *, holds_if_different: bool = True
) -> Finding:
    """The finding from pairs of lists that differ in one respect: does it change the score of any pair?"""
    tried = 0
    for pair in pairs:
        tried += 1
        if differ(pair[0].score, pair[1].score):
            return Finding(axiom, holds_if_different, f"{change} change the score", pair)
    return Finding(axiom, not holds_if_different, f"{change} do not change the score in {tried} comparisons")


class SecondDocument(NamedTuple):
    """How the value of a document changes after a relevant one: at most `-low` less and `high` more, with examples."""

    low: float = 0.0
    high: float = 0.0
    lowest: tuple[Scored, ...] = ()
    highest: tuple[Scored, ...] = ()
    tried: int = 0

    def extended(self, scores: Array, example: Callable[[int], tuple[Scored, ...]]) -> SecondDocument:
        """Also consider these scores of four lists each (4 × …); `example` returns the i-th four lists."""
        effect = second_document_effect(scores)
        best = self._replace(tried=self.tried + int(np.isfinite(effect).sum()))
        if np.nanmin(effect, initial=0.0) < best.low:
            at = int(np.nanargmin(effect))
            best = best._replace(low=float(effect[at]), lowest=example(at))
        if np.nanmax(effect, initial=0.0) > best.high:
            at = int(np.nanargmax(effect))
            best = best._replace(high=float(effect[at]), highest=example(at))
        return best

    def diminishing(self, to: str = "") -> Finding:
        """Is a relevant document never worth more, and sometimes less, after another one?"""
        if self.high >= FAR:
            says = f"with the first document relevant{to}, the second adds more than without it"
            return Finding("diminishing", False, says, self.highest)
        if self.low > -FAR:
            return Finding("diminishing", False, f"never worth less after another, in {self.tried:,} comparisons")
        says = f"never worth more in {self.tried:,} comparisons, and less here"
        return Finding("diminishing", True, says, self.lowest)


def second_document_effect(scores: Array) -> Array:
    """What the second document adds if the first is relevant, minus what it adds if the first is not.

    `scores` are those of lists in which both documents are relevant, only the first, only the second, and neither.
    """
    both, first, second, neither = scores
    return np.asarray((both - first) - (second - neither))


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


Document = dict[str, int]
"""{intent: grade}."""
KINDS: list[Document] = [{"a": 0}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}]
MISSED: list[Document] = [{"a": 2, "b": 1}, {"a": 2, "b": 2}]
"""Documents that are always missed, so that the topic has both intents."""
WEIGHTS = {"a": 0.6, "b": 0.4}
TYPES: list[tuple[str, ...]] = [(), ("a",)]
"""The navigational intents."""
PAIRS: list[tuple[Document, ...]] = list(product(KINDS, repeat=2))
TOPICS: list[list[Document]] = [
    [{"a": 1}, {"b": 1}],
    [{"a": 2}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}],
    [{"a": 1}, {"a": 2}],
    [{"a": 1, "b": 1}, {"b": 2}, {"a": 3}],
]


def diverse_score(
    measure: Measure,
    documents: Sequence[Document],
    missed: Sequence[Document],
    navigational: Iterable[str] = (),
    weights: dict[str, float] = WEIGHTS,
    length: int = 3000,
) -> float:
    lists = with_intents(documents, missed, weights, tuple(navigational))
    return float(measure.evaluate(lists.replace(lengths=Lengths.one([length] * len(documents), len(documents))))[0])


def documents_text(documents: Sequence[Document], more: str = "") -> str:
    """The grades by intent of a list of documents.

    >>> documents_text([{"a": 1, "b": 2}, {"a": 0}])
    'a1b2 0'
    """
    text = ("".join(f"{intent}{grade}" for intent, grade in document.items() if grade) or "0" for document in documents)
    return " ".join(text) + more


def _without_a(document: Document) -> Document:
    return {intent: grade for intent, grade in document.items() if intent != "a"} or {"a": 0}


def diminishing_by_intent(measure: Measure) -> Finding:
    """Is a document never worth more to an intent, and sometimes less, after another that is relevant to it?"""
    best, length = SecondDocument(), 3
    for navigational in TYPES:
        scores: dict[tuple[int, ...], float] = {}
        for kinds in product(range(len(KINDS)), repeat=length):
            left = Counter(dict.fromkeys(range(len(KINDS)), length)) - Counter(kinds)
            missed = [KINDS[kind] for kind in sorted(left.elements())] + MISSED
            scores[kinds] = diverse_score(measure, [KINDS[kind] for kind in kinds], missed, navigational)
        fours = []
        for kinds, (i, j) in product(scores, combinations(range(length), 2)):
            if KINDS[kinds[i]].get("a") and KINDS[kinds[j]].get("a"):
                x, y = (KINDS.index(_without_a(KINDS[kinds[at]])) for at in (i, j))
                others = ((kinds[i], y), (x, kinds[j]), (x, y))
                places = dict(enumerate(kinds))
                fours.append([kinds, *(tuple({**places, i: p, j: q}.values()) for p, q in others)])
        examples = [
            tuple(Scored(documents_text([KINDS[kind] for kind in kinds]), scores[kinds]) for kinds in four)
            for four in fours
        ]
        by_four = np.array([[scored.score for scored in four] for four in examples])
        best = best.extended(by_four.T, examples.__getitem__)
    return best.diminishing(" to intent a")


def _scored_by_intent(
    measure: Measure, documents: Sequence[Document], more: str = "", missed: Sequence[Document] = MISSED, **topic: Any
) -> Scored:
    return Scored(documents_text(documents, more), diverse_score(measure, documents, missed, **topic))


def graded_by_intent(measure: Measure) -> Finding:
    """Do scores change if all grades above 0 are 1?"""

    def flat(documents: Sequence[Document]) -> list[Document]:
        return [{intent: min(grade, 1) for intent, grade in document.items()} for document in documents]

    pairs = ((_scored_by_intent(measure, pair), _scored_by_intent(measure, flat(pair))) for pair in PAIRS)
    return first_difference("graded", pairs, "grades")


def intent_probabilities(measure: Measure) -> Finding:
    """Do intents count by their probability?"""
    even, uneven = {"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.9}
    pairs = (
        (
            _scored_by_intent(measure, pair, ", a and b equally likely", weights=even),
            _scored_by_intent(measure, pair, ", b nine times as likely", weights=uneven),
        )
        for pair in PAIRS
    )
    return first_difference("intent_probabilities", pairs, "probabilities")


def recall_free_by_intent(measure: Measure) -> Finding:
    """Is the score the same whatever was missed?"""
    if "max_grade" in measure.parameters() and measure.name == "ERR-IA":
        measure = measure.replace(max_grade=3)  # the default is the highest grade of all topics; here is only one topic
    more: list[list[Document]] = [[{"a": 1}], [{"a": 1, "b": 1}], [{"b": 2}, {"a": 3}]]
    pairs = (
        (
            _scored_by_intent(measure, pair),
            _scored_by_intent(measure, pair, f" | missed also {documents_text(others)}", MISSED + others),
        )
        for pair, others in product(PAIRS, more)
    )
    return first_difference("recall_free", pairs, "missed documents", holds_if_different=False)


def normalised_by_intent(measure: Measure) -> Finding:
    """Does some order of the documents score 1 on every topic, whatever the types of its intents?

    A measure may exceed 1 if its ideal list is computed greedily.
    """
    for topic, navigational in product(TOPICS, TYPES):
        scored = ((diverse_score(measure, order, [], navigational), order) for order in permutations(topic))
        best, order = max(scored, key=lambda score_and_order: score_and_order[0])
        exceeds = 1.0 < best <= measure.properties.high
        if (differ(best, 1.0) and not exceeds) or (best > 1.0 + FAR and measure.properties.high == np.inf):
            kinds = f", intent {navigational[0]} navigational" if navigational else ""
            example = (Scored(documents_text(order, kinds), best),)
            return Finding("normalised", False, "the best order does not score 1", example)
    return Finding("normalised", True, f"some order scores 1 on {len(TOPICS) * len(TYPES)} topics")


def lengths_by_intent(measure: Measure) -> Finding:
    """Do the lengths of documents count?"""
    pairs = (
        (
            _scored_by_intent(measure, pair, ", of length 3000", length=3000),
            _scored_by_intent(measure, pair, ", of length 100", length=100),
        )
        for pair in PAIRS
    )
    return first_difference("lengths", pairs, "lengths")


INTENT_EXPERIMENTS: dict[str, Callable[[Measure], Finding]] = {
    "graded": graded_by_intent, "intent_probabilities": intent_probabilities, "normalised": normalised_by_intent,
    "recall_free": recall_free_by_intent, "diminishing": diminishing_by_intent, "lengths": lengths_by_intent,
}  # fmt: skip
