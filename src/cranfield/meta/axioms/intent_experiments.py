"""The properties of Sakai 2014 Fig. 7, found out by experiment: small lists of topics with two intents decide each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations, product

import numpy as np

from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.measures import Measure
from cranfield.meta.axioms.findings import FAR, Finding, Scored, differ
from cranfield.meta.axioms.ranked_experiments import worth_more_after_another

Document = dict[str, int]
KINDS: list[Document] = [{"a": 0}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}]
MISSED: list[Document] = [{"a": 2, "b": 1}, {"a": 2, "b": 2}]
"""Always missed: the intents of a topic are known."""
WEIGHTS = {"a": 0.6, "b": 0.4}
TYPES: list[tuple[str, ...]] = [(), ("a",)]
"""Which intents are navigational."""
PAIRS: list[tuple[Document, ...]] = list(product(KINDS, repeat=2))
TOPICS: list[list[Document]] = [
    [{"a": 1}, {"b": 1}],
    [{"a": 2}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}],
    [{"a": 1}, {"a": 2}],
    [{"a": 1, "b": 1}, {"b": 2}, {"a": 3}],
]


def diverse_score(
    measure: Measure,
    listed: Sequence[Document],
    missed: Sequence[Document],
    navigational: Iterable[str] = (),
    weights: dict[str, float] = WEIGHTS,
    length: int = 3000,
) -> float:
    """What one list scores; documents are given as their grades by intent."""
    lists = with_intents(listed, missed, weights, tuple(navigational))
    return float(measure.evaluate(lists.replace(lengths=Lengths.one([length] * len(listed), len(listed))))[0])


def told(documents: Sequence[Document], more: str = "") -> str:
    """A list of documents with grades by intent.

    >>> told([{"a": 1, "b": 2}, {"a": 0}])
    'a1b2 0'
    """
    text = ("".join(f"{intent}{grade}" for intent, grade in document.items() if grade) or "0" for document in documents)
    return " ".join(text) + more


def _without_a(document: Document) -> Document:
    return {intent: grade for intent, grade in document.items() if intent != "a"} or {"a": 0}


def diminishing(measure: Measure) -> Finding:
    """Is a document never worth more to an intent, and sometimes less, after another that is relevant to it?"""
    low = high = 0.0
    lowest: tuple[Scored, ...] = ()
    highest: tuple[Scored, ...] = ()
    length, tried = 3, 0
    for navigational in TYPES:
        scores: dict[tuple[int, ...], float] = {}
        for one in product(range(len(KINDS)), repeat=length):
            left = Counter(dict.fromkeys(range(len(KINDS)), length)) - Counter(one)
            missed = [KINDS[kind] for kind in sorted(left.elements())] + MISSED
            scores[one] = diverse_score(measure, [KINDS[kind] for kind in one], missed, navigational)
        for one in scores:
            for i, j in combinations(range(length), 2):
                if KINDS[one[i]].get("a") and KINDS[one[j]].get("a"):
                    x, y = (KINDS.index(_without_a(KINDS[one[at]])) for at in (i, j))
                    fours = [one, *(_replaced(one, i, p, j, q) for p, q in ((one[i], y), (x, one[j]), (x, y)))]
                    more = float(worth_more_after_another(np.array([scores[four] for four in fours])))
                    tried += 1
                    if more < low:
                        low, lowest = more, _scored(fours, scores)
                    if more > high:
                        high, highest = more, _scored(fours, scores)
    if high >= FAR:
        says = "with the first document relevant to intent a the second adds more than without"
        return Finding("diminishing", False, says, highest)
    if low > -FAR:
        return Finding("diminishing", False, f"never worth less after another, in {tried:,} comparisons")
    return Finding("diminishing", True, f"never worth more in {tried:,} comparisons, and less here", lowest)


def _scored(fours: Sequence[tuple[int, ...]], scores: dict[tuple[int, ...], float]) -> tuple[Scored, ...]:
    return tuple(Scored(told([KINDS[kind] for kind in four]), scores[four]) for four in fours)


def _replaced(one: tuple[int, ...], i: int, p: int, j: int, q: int) -> tuple[int, ...]:
    return tuple({i: p, j: q}.get(at, kind) for at, kind in enumerate(one))


def graded(measure: Measure) -> Finding:
    """Do scores differ if all grades above 0 are 1?"""
    for pair in PAIRS:
        flat = [{intent: min(grade, 1) for intent, grade in document.items()} for document in pair]
        scores = diverse_score(measure, pair, MISSED), diverse_score(measure, flat, MISSED)
        if differ(*scores):
            return Finding(
                "graded", True, "grades count", (Scored(told(pair), scores[0]), Scored(told(flat), scores[1]))
            )
    return Finding("graded", False, f"grades make no difference to {len(PAIRS)} lists")


def intent_probabilities(measure: Measure) -> Finding:
    """Do intents count by their probability?"""
    even, odd = {"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.9}
    for pair in PAIRS:
        scores = [diverse_score(measure, pair, MISSED, weights=weights) for weights in (even, odd)]
        if differ(*scores):
            texts = (told(pair, ", a and b as likely"), told(pair, ", b nine times as likely"))
            example = tuple(Scored(text, found) for text, found in zip(texts, scores, strict=True))
            return Finding("intent_probabilities", True, "probabilities count", example)
    return Finding("intent_probabilities", False, f"probabilities make no difference to {len(PAIRS)} lists")


def recall_free(measure: Measure) -> Finding:
    """Is it the same whatever was missed?"""
    more: list[list[Document]] = [[{"a": 1}], [{"a": 1, "b": 1}], [{"b": 2}, {"a": 3}]]
    if "max_grade" in measure.parameters() and measure.name == "ERR-IA":
        measure = measure.replace(max_grade=3)  # by default the highest grade of all topics; here there is one topic
    for pair, others in product(PAIRS, more):
        scores = diverse_score(measure, pair, MISSED), diverse_score(measure, pair, MISSED + others)
        if differ(*scores):
            example = Scored(told(pair), scores[0]), Scored(told(pair, f" | missed also {told(others)}"), scores[1])
            return Finding("recall_free", False, "what was missed makes a difference", example)
    return Finding("recall_free", True, f"what was missed makes no difference in {len(PAIRS) * len(more)} comparisons")


def normalised(measure: Measure) -> Finding:
    """Does some order score 1 on every topic, whatever its intents' types?

    An ideal list that is found greedily may be exceeded.
    """
    for topic, navigational in product(TOPICS, TYPES):
        best, order = max(
            ((diverse_score(measure, order, [], navigational), order) for order in permutations(topic)),
            key=lambda found: found[0],
        )
        exceeds = 1.0 < best <= measure.properties.high
        if (differ(best, 1.0) and not exceeds) or (best > 1.0 + FAR and measure.properties.high == np.inf):
            kinds = f", intent {navigational[0]} navigational" if navigational else ""
            return Finding("normalised", False, "the best order does not score 1", (Scored(told(order, kinds), best),))
    return Finding("normalised", True, f"some order scores 1 on {len(TOPICS) * len(TYPES)} topics")


def lengths(measure: Measure) -> Finding:
    """Do the lengths of documents count?"""
    for pair in PAIRS:
        scores = diverse_score(measure, pair, MISSED), diverse_score(measure, pair, MISSED, length=100)
        if differ(*scores):
            texts = (told(pair, ", of length 3000"), told(pair, ", of length 100"))
            example = tuple(Scored(text, found) for text, found in zip(texts, scores, strict=True))
            return Finding("lengths", True, "lengths count", example)
    return Finding("lengths", False, f"lengths make no difference to {len(PAIRS)} lists")


INTENT_EXPERIMENTS: dict[str, Callable[[Measure], Finding]] = {
    "graded": graded,
    "intent_probabilities": intent_probabilities,
    "normalised": normalised,
    "recall_free": recall_free,
    "diminishing": diminishing,
    "lengths": lengths,
}
"""By the names of `Properties`."""
