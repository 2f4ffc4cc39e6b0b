"""Diversity measures of one list in slow and obvious Python, and random lists to test with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from hypothesis import strategies as st

from cranfield.assessed.hits_by_intent import with_intents
from cranfield.assessed.lists import Assessed

Document = dict[str, int] | None
"""Grades by intent; None if the document is unjudged."""


@dataclass(frozen=True)
class Diverse:
    """One list, the judged documents that it missed, and the weights and types of the intents."""

    documents: list[Document]
    missed: list[dict[str, int]]
    weights: dict[str, int]
    navigational: frozenset[str] = frozenset()

    @property
    def judged(self) -> list[dict[str, int]]:
        return [document for document in [*self.documents, *self.missed] if document is not None]

    @property
    def intents(self) -> list[str]:
        """The intents that have a relevant document."""
        return sorted({intent for document in self.judged for intent, grade in document.items() if grade >= 1})

    def probability(self, intent: str) -> float:
        return self.weights[intent] / sum(self.weights[each] for each in self.intents)

    def lists(self) -> Assessed:
        weights = {intent: float(weight) for intent, weight in self.weights.items()}
        return with_intents(self.documents, self.missed, weights, self.navigational)

    def of_intent(self, intent: str) -> tuple[list[int | None], list[int]]:
        """The grades for one intent: those of the list, and those of the missed documents."""
        listed = [None if document is None else document.get(intent) for document in self.documents]
        return listed, [document[intent] for document in self.missed if intent in document]


@st.composite
def diverse(draw: st.DrawFn, *, intents: str = "abc", lowest: int = 0, types: bool = True) -> Diverse:
    """Graded judgments for some intents of each document, intents of any probability and type."""
    document = st.dictionaries(st.sampled_from(intents), st.integers(lowest, 3), min_size=1)
    listed: list[Document] = draw(st.lists(st.one_of(st.none(), document), max_size=7))
    missed = draw(st.lists(document, max_size=4))
    weights = {intent: draw(st.integers(1, 4)) for intent in intents}
    kinds = draw(st.sets(st.sampled_from(intents))) if types else set()
    return Diverse(listed, missed, weights, frozenset(kinds))


def relevant(document: Document, intent: str) -> bool:
    return document is not None and document.get(intent, 0) >= 1


def novelty_gains(documents: Sequence[Document], intents: Sequence[str], alpha: float) -> list[float]:
    """ng(r), Sakai 2014 (25)."""
    gains = []
    for rank, document in enumerate(documents):
        above = documents[:rank]
        gains.append(
            sum(
                (1 - alpha) ** sum(relevant(other, intent) for other in above)
                for intent in intents
                if relevant(document, intent)
            )
        )
    return gains


def greedy(judged: Sequence[Document], intents: Sequence[str], alpha: float) -> list[Document]:
    """The ideal list as ndeval builds it: the best document at every rank; of equal documents, the last."""
    left, ideal = list(judged)[::-1], list[Document]()
    while left:
        best = max(left, key=lambda document: novelty_gains([*ideal, document], intents, alpha)[-1])
        ideal.append(best)
        del left[next(i for i, document in enumerate(left) if document is best)]
    return ideal


Weight = Callable[[int], float]


def logarithmic(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def reciprocal(rank: int) -> float:
    return 1 / rank


def novelty_sum(
    documents: Sequence[Document], intents: Sequence[str], alpha: float, weight: Weight, cutoff: int
) -> float:
    gains = novelty_gains(documents, intents, alpha)[:cutoff]
    return sum(gain * weight(rank) for rank, gain in enumerate(gains, 1))


def best_sum(judged: Sequence[Document], intents: Sequence[str], alpha: float, weight: Weight, cutoff: int) -> float:
    """The largest sum over all orders."""
    return max(novelty_sum(order, intents, alpha, weight, cutoff) for order in permutations(judged))


def global_gains(one: Diverse, documents: Sequence[Document], *, din: bool = False) -> list[float]:
    """Σ Pr(i|q) g_i at every rank, Sakai 2014 (27) and (32)."""
    gains = []
    for rank, document in enumerate(documents):
        gain = 0.0
        for intent in one.intents:
            served = any(relevant(other, intent) for other in documents[:rank])
            if relevant(document, intent) and not (din and intent in one.navigational and served):
                assert document is not None
                gain += one.probability(intent) * document[intent]
        gains.append(gain)
    return gains
