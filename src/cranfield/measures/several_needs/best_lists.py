"""The best list that a system could return for a topic with intents, for measures that no list need satisfy fully.

Lists are made longer one document at a time. A list is looked at if no bound says that lists which begin with it score
less than one that is known; among those, the one with the highest bound comes first. The search ends with the best
list, or, after `MOST_LISTS` lists, with the best one it has seen and a bound that no list exceeds.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.intents import Intents
from cranfield.assessed.segments import Gains
from cranfield.measures.gain import Discount
from cranfield.types import Array

MOST_LISTS = 3_000
"""The largest number of lists that are scored for a topic."""
TIE = 1e-12
"""Scores that differ by less are equal."""


@dataclass(frozen=True)
class Best:
    """The score of the best list that was seen, and a number that no list exceeds; equal if it is the best there is."""

    seen: float
    bound: float

    @property
    def exact(self) -> bool:
        return self.bound <= self.seen + TIE


@dataclass(frozen=True, eq=False)
class Documents:
    """The judged documents of a topic that are relevant to an intent; documents with the same grades are neighbours."""

    grade: Array
    """Documents × intents; −inf where a document was not judged for the intent."""
    probability: Array
    navigational: NDArray[np.bool_]
    kind: NDArray[np.int64]
    """Documents with the same grades have the same number; at most as many as the list is long are kept."""
    length: int
    """The number of documents in the best list."""

    intents: int
    """The number of intents in intent recall."""

    @staticmethod
    def of(intents: Intents, topic: int, depth: int | None, least: float, gain: Gains) -> Documents:
        """Those that have a gain, or grade `least` or better, for an intent of the topic."""
        begin, end = np.searchsorted(intents.topic_of_document, [topic, topic + 1])
        entries = slice(intents.document_start[begin], intents.document_start[end])
        grade = np.full((end - begin, int(intents.count[topic])), -np.inf)
        grade[intents.document[entries] - begin, intents.nth[intents.intent[entries]]] = intents.grade[entries]
        grade = np.where((grade >= least) | (gain(np.maximum(grade, 0.0)) > 0), grade, -np.inf)
        useful = grade[(grade > -np.inf).any(axis=1)]
        length = len(useful) if depth is None else min(depth, len(useful))
        kinds, counts = np.unique(useful, axis=0, return_counts=True)
        kept = np.minimum(counts, length)
        mine = slice(intents.start[topic], intents.start[topic + 1])
        number = np.repeat(np.arange(len(kinds)), kept)
        return Documents(
            kinds[number], intents.probability[mine], intents.navigational[mine], number, length,
            int(intents.above(least).judged_count[topic]),
        )  # fmt: skip

    def first_of_kinds(self, taken: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The documents that could come next: of documents with the same grades, only the first that is left."""
        left = np.flatnonzero(~taken)
        return left[np.unique(self.kind[left], return_index=True)[1]]


@dataclass(frozen=True, eq=False)
class List:
    """A list: which documents are in it, its score, and a bound on the scores of all lists that begin with it."""

    taken: NDArray[np.bool_]
    rank: int
    value: float
    bound: float


L = TypeVar("L", bound=List)


class Search(ABC, Generic[L]):
    """A measure whose best list is looked for."""

    documents: Documents

    @abstractmethod
    def empty(self) -> L:
        """The list without documents."""

    @abstractmethod
    def longer(self, before: L) -> list[L]:
        """The lists with one more document that could be the beginning of the best list."""

    def like(self, each: L) -> tuple[object, ...]:
        """Of lists that have this in common, only the one with the highest score can be the beginning of the best."""
        counts = np.bincount(self.documents.kind[each.taken], minlength=1)
        return (each.rank, counts.tobytes())

    def best(self) -> Best:
        """The best list, or bounds of its score."""
        begin = self.empty()
        seen, made = self._greedy(begin), 0
        queue = [(-begin.bound, 0, begin)]
        known: dict[tuple[object, ...], float] = {}
        while queue:
            bound = -queue[0][0]
            if bound <= seen + TIE:
                return Best(seen, seen)
            if made >= MOST_LISTS:
                return Best(seen, bound)
            each = heapq.heappop(queue)[2]
            if each.rank >= self.documents.length:
                continue
            for longer in self.longer(each):
                made += 1
                seen = max(seen, longer.value)
                key = self.like(longer)
                if longer.bound > seen + TIE and longer.value > known.get(key, -np.inf):
                    known[key] = longer.value
                    heapq.heappush(queue, (-longer.bound, -made, longer))
        return Best(seen, seen)

    def _greedy(self, each: L) -> float:
        """The best score on the way to a list that always takes the document that scores most."""
        seen = each.value
        while each.rank < self.documents.length:
            each = max(self.longer(each), key=lambda longer: longer.value)
            seen = max(seen, each.value)
        return seen


def _highest(values: Array, count: int) -> Array:
    """The highest values, in descending order."""
    return np.sort(values)[::-1][:count]


@dataclass(frozen=True, eq=False)
class DINList(List):
    """A list with the intents whose gain is used up, if they are navigational, and then those that it serves."""

    served: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))


class BestDIN(Search[DINList]):
    """The sum of DIN-nDCG, and a share of intent recall, which is worth `recall` times the ideal sum."""

    def __init__(self, documents: Documents, gain: Gains, recall: float) -> None:
        self.documents = documents
        worth = gain(np.maximum(documents.grade, 0.0)) * documents.probability
        self.weight = 1.0 / Discount("log2")(np.arange(1, documents.length + 1))
        self.ideal = float(_highest(worth.sum(axis=1), documents.length) @ self.weight)
        self.keep, self.worth = 1 - recall, recall * self.ideal / max(documents.intents, 1)
        self.once = worth * documents.navigational
        self.always = (worth * ~documents.navigational).sum(axis=1)
        self.serves = np.hstack([self.once > 0, (documents.grade >= 1) & (recall > 0)])

    def _made(self, taken: NDArray[np.bool_], rank: int, value: float, served: NDArray[np.bool_]) -> DINList:
        intents, left = self.once.shape[1], self.documents.length - rank
        possible = _highest((self.always + self.once @ ~served[:intents])[~taken], left)
        bound = value + self.keep * float(possible @ self.weight[rank : rank + len(possible)])
        if self.worth:
            fresh = self.serves[~taken, intents:] & ~served[intents:]
            bound += self.worth * min(int(fresh.any(axis=0).sum()), left * int(fresh.sum(axis=1).max(initial=0)))
        return DINList(taken, rank, value, bound, served)

    def empty(self) -> DINList:
        documents, marks = self.serves.shape
        return self._made(np.zeros(documents, dtype=bool), 0, 0.0, np.zeros(marks, dtype=bool))

    def longer(self, before: DINList) -> list[DINList]:
        intents, candidates = self.once.shape[1], self.documents.first_of_kinds(before.taken)
        now = self.always[candidates] + self.once[candidates] @ ~before.served[:intents]
        serving = (self.serves[candidates] & ~before.served).any(axis=1)
        chosen = np.flatnonzero(serving)
        if not serving.all():  # documents that serve nobody new only bring their gain: the best comes first
            chosen = np.append(chosen, np.argmax(np.where(serving, -np.inf, now)))
        made = []
        for at in chosen.tolist():
            taken, document = before.taken.copy(), int(candidates[at])
            taken[document] = True
            served = before.served | self.serves[document]
            found = int((served & ~before.served)[intents:].sum())
            value = before.value + self.keep * float(now[at] * self.weight[before.rank]) + self.worth * found
            made.append(self._made(taken, before.rank + 1, value, served))
        return made


@dataclass(frozen=True, eq=False)
class PQList(List):
    """A list with what Q and P+ of each intent need: relevant documents, cumulative gain, sum of blended ratios."""

    count: Array = field(default_factory=lambda: np.zeros(0))
    gained: Array = field(default_factory=lambda: np.zeros(0))
    ratios: Array = field(default_factory=lambda: np.zeros(0))
    highest: Array = field(default_factory=lambda: np.zeros(0))
    """The best grade for each intent."""
    plus: Array = field(default_factory=lambda: np.zeros(0))
    """P+ of each intent."""


class BestPQ(Search[PQList]):
    """P+Q, and a share of intent recall."""

    def __init__(
        self, documents: Documents, relevant: Array, gain: Gains, rel: float, beta: float, norm: str, recall: float
    ) -> None:
        """`relevant` is the number of documents that are relevant to each intent."""
        self.documents, self.beta = documents, beta
        self.relevant = documents.grade >= rel
        self.gain = np.where(self.relevant, gain(np.where(self.relevant, documents.grade, 0.0)), 0.0)
        self.ideal = np.cumsum(-np.sort(-self.gain, axis=0), axis=0)
        """Ranks × intents: the cumulative gain of the ideal list."""
        self.over = np.maximum(np.minimum(relevant, documents.length) if norm == "min" else relevant, 1.0)
        self.share = documents.probability * (1 - recall)
        self.worth = recall / max(documents.intents, 1)
        self.order = np.argsort(-self.gain - self.relevant, axis=0, kind="stable")

    def _made(self, each: PQList) -> PQList:
        nav, left = self.documents.navigational, self.documents.length - each.rank
        quotient = np.where(nav, each.plus, each.ratios / self.over)
        value = float(self.share @ quotient) + self.worth * float((each.count > 0).sum())
        most = np.zeros(len(nav))
        ratio = np.zeros(len(nav))
        for i in range(len(nav)):
            order = self.order[:, i]
            usable = order[(~each.taken & self.relevant[:, i])[order]][:left]
            k = np.arange(1, len(usable) + 1)
            more = each.count[i] + k + self.beta * (each.gained[i] + np.cumsum(self.gain[usable, i]))
            best = more / (each.rank + k + self.beta * self.ideal[each.rank : each.rank + len(k), i])
            ratio[i] = best.max(initial=0.0)
            if nav[i]:
                later = (each.ratios[i] + np.cumsum(best)) / (each.count[i] + k)
                most[i] = max(each.plus[i], later.max(initial=0.0))
            else:
                most[i] = (each.ratios[i] + best.sum()) / self.over[i]
        gains = most - quotient
        alone = float(self.share[~nav] @ gains[~nav])
        if not nav.all():  # a rank holds one document, which brings its ratio to the intents it serves only
            brings = self.relevant[~each.taken][:, ~nav] @ (self.share * ratio / self.over)[~nav]
            alone = min(alone, float(_highest(brings, left).sum()))
        bound = value + alone + float(self.share[nav] @ gains[nav])
        if self.worth:
            fresh = self.relevant[~each.taken] & (each.count == 0)
            bound += self.worth * min(int(fresh.any(axis=0).sum()), left * int(fresh.sum(axis=1).max(initial=0)))
        return replace(each, value=value, bound=bound)

    def empty(self) -> PQList:
        n, intents = self.documents.grade.shape
        zero = np.zeros(intents)
        return self._made(
            PQList(np.zeros(n, dtype=bool), 0, 0.0, 0.0, zero, zero, zero, np.full(intents, -np.inf), zero)
        )

    def like(self, each: PQList) -> tuple[object, ...]:
        """Also the parts of P+, which depend on the order above."""
        nav = self.documents.navigational
        return (*super().like(each), each.ratios[nav].round(12).tobytes(), each.plus[nav].round(12).tobytes())

    def longer(self, before: PQList) -> list[PQList]:
        made, rank = [], before.rank + 1
        for document in self.documents.first_of_kinds(before.taken).tolist():
            taken = before.taken.copy()
            taken[document] = True
            relevant = self.relevant[document]
            count, gained = before.count + relevant, before.gained + self.gain[document]
            blended = np.where(relevant, (count + self.beta * gained) / (rank + self.beta * self.ideal[rank - 1]), 0.0)
            ratios = before.ratios + blended
            better = relevant & (self.documents.grade[document] > before.highest)
            plus = np.where(better, ratios / np.maximum(count, 1), before.plus)
            highest = np.where(better, self.documents.grade[document], before.highest)
            made.append(self._made(PQList(taken, rank, 0.0, 0.0, count, gained, ratios, highest, plus)))
        return made
