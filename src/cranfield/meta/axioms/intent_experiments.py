"""The properties of Sakai 2014 Fig. 7, each tested on small lists of topics with two intents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lengths import Lengths
from cranfield.measures import Measure
from cranfield.meta.axioms.axiom_findings import Finding, Scored, SecondDocument, differ, first_difference
from cranfield.meta.synthetic_lists import FAR

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


def diminishing(measure: Measure) -> Finding:
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


def _scored(
    measure: Measure, documents: Sequence[Document], more: str = "", missed: Sequence[Document] = MISSED, **topic: Any
) -> Scored:
    return Scored(documents_text(documents, more), diverse_score(measure, documents, missed, **topic))


def graded(measure: Measure) -> Finding:
    """Do scores change if all grades above 0 are 1?"""

    def flat(documents: Sequence[Document]) -> list[Document]:
        return [{intent: min(grade, 1) for intent, grade in document.items()} for document in documents]

    pairs = ((_scored(measure, pair), _scored(measure, flat(pair))) for pair in PAIRS)
    return first_difference("graded", pairs, "grades")


def intent_probabilities(measure: Measure) -> Finding:
    """Do intents count by their probability?"""
    even, uneven = {"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.9}
    pairs = (
        (
            _scored(measure, pair, ", a and b equally likely", weights=even),
            _scored(measure, pair, ", b nine times as likely", weights=uneven),
        )
        for pair in PAIRS
    )
    return first_difference("intent_probabilities", pairs, "probabilities")


def recall_free(measure: Measure) -> Finding:
    """Is the score the same whatever was missed?"""
    if "max_grade" in measure.parameters() and measure.name == "ERR-IA":
        measure = measure.replace(max_grade=3)  # the default is the highest grade of all topics; here is only one topic
    more: list[list[Document]] = [[{"a": 1}], [{"a": 1, "b": 1}], [{"b": 2}, {"a": 3}]]
    pairs = (
        (
            _scored(measure, pair),
            _scored(measure, pair, f" | missed also {documents_text(others)}", MISSED + others),
        )
        for pair, others in product(PAIRS, more)
    )
    return first_difference("recall_free", pairs, "missed documents", holds_if_different=False)


def normalised(measure: Measure) -> Finding:
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


def lengths(measure: Measure) -> Finding:
    """Do the lengths of documents count?"""
    pairs = (
        (
            _scored(measure, pair, ", of length 3000", length=3000),
            _scored(measure, pair, ", of length 100", length=100),
        )
        for pair in PAIRS
    )
    return first_difference("lengths", pairs, "lengths")


INTENT_EXPERIMENTS: dict[str, Callable[[Measure], Finding]] = {
    test.__name__: test for test in (graded, intent_probabilities, normalised, recall_free, diminishing, lengths)
}
