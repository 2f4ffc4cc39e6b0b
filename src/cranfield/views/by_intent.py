"""Views by intent: one list per intent (`nDCG-IA`), or gains summed over all intents (`D-nDCG`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.hits_by_intent import (
    documents_of,
    hits_by_intent,
    intent_recall,
    intents_of,
    lists_by_intent,
    running_intent_recall,
)
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Gains, Judged, ranges, row_blocks
from cranfield.types import Array
from cranfield.views.view import Score, Scorer, View

MOST_ENTRIES = 400_000
"""Lists are read by intent for up to this many entries at a time, to bound memory and stay in the cache."""


def _intents_of_rows(lists: Assessed, intents: Intents) -> NDArray[np.int64]:
    """The intent of each list by intent."""
    return ranges(intents.start[lists.topic], intents.count[lists.topic])


def defined(value: float) -> str:
    """A score with four digits, or `undefined`."""
    return "undefined" if np.isnan(value) else f"{value:.4f}"


def intent_line(intents: Intents, intent: int, score: str, kind: str = "") -> str:
    """The part of one intent in a score, for `explain`."""
    kind = f" ({kind})" if kind else ""
    return f"intent {intents.names[intent]}{kind}: {score}, probability {intents.probability[intent]:.4f}"


@dataclass(frozen=True)
class ByIntent(View):
    """One list per intent; scores are averaged by intent probability: `nDCG-IA`, `ERR-IA`, ... (Sakai 2014 (26)).

    The mean is over all intents of the topic, with fixed probabilities. If a measure is undefined for an intent,
    because none of its documents has the grade that `rel` requires, the intent scores 0 and keeps its probability: no
    list can serve its readers. In ndeval, which has no grades, this cannot happen; pyndeval's `relevance_level` leaves
    such intents out.

    Reference: Agrawal, Gollapudi, Halverson & Ieong, WSDM 2009
    """

    lowest: float | None = field(default=None, compare=False)
    """Lower grades are left out, for a measure that ignores them; None: all grades are kept."""

    mark: ClassVar[str] = "-IA"
    place: ClassVar[int] = 3
    grades_by_intent: ClassVar[bool] = True
    one_list_per_intent: ClassVar[bool] = True
    top_down: ClassVar[bool] = True

    def for_measure(self, measure: Scorer, score: Score) -> ByIntent:
        return ByIntent(lowest=measure.__dict__["rel"]) if measure.only_relevant else self

    def _intents(self, lists: Assessed) -> Intents:
        return intents_of(lists) if self.lowest is None else intents_of(lists).above(self.lowest)

    def apply(self, lists: Assessed, cutoff: int | None = None) -> Assessed:
        """Each list once per intent of its topic, with the grades for the intent, of hits down to `cutoff`."""
        intents = self._intents(lists)
        weight: Array | None = None
        start, nth, rank, grade = lists_by_intent(lists, intents, cutoff)
        if lists.weight is not None:
            weight = lists.weight[hits_by_intent(lists, intents, cutoff).hit]
        by_intent = lists.without_hits(self.parents(lists)).replace(
            row=np.repeat(np.arange(len(start) - 1), np.diff(start)),
            rank=rank,
            grade=grade,
            weight=weight,
            judged=intents.judged,
            set_of_row=_intents_of_rows(lists, intents),
            intents=None,
        )
        by_intent.hits().knowing(start, nth)
        return by_intent

    def read(self, lists: Assessed, cutoff: int | None = None) -> Assessed:
        """The same as `apply`, cached for each cutoff."""
        return lists._once(("by intent", self.lowest, cutoff), lambda: self.apply(lists, cutoff))

    @staticmethod
    def parents(lists: Assessed) -> NDArray[np.int64]:
        """For each list by intent, the list that it comes from."""
        return np.repeat(np.arange(lists.rows), intents_of(lists).count[lists.topic])

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        def aware(lists: Assessed) -> Array:
            blocks = (lists.take(slice(*block)) for block in self._blocks(lists, cutoff))  # one at a time in memory
            return np.concatenate([self.mean(block, score(self.read(block, cutoff))) for block in blocks])

        return aware

    def around_prefixes(self, score: Score, cutoff: int | None) -> Score:
        def aware(lists: Assessed) -> Array:
            by_intent, probability = self.read(lists, cutoff), intents_of(lists).probability
            scores = [score(by_intent.take(np.array([row]))) for row in range(by_intent.rows)]
            shares = zip(scores, probability[by_intent.set_of_row].tolist(), strict=True)
            total = sum(share * np.nan_to_num(values) for values, share in shares)
            return np.asarray(total) if by_intent.rows else np.full(len(score(lists)), np.nan)

        return aware

    def _blocks(self, lists: Assessed, cutoff: int | None) -> list[tuple[int, int]]:
        """Blocks of rows with about `MOST_ENTRIES` entries each.

        Counting the entries would take as long as reading them, so a hit is assumed to have the average number of
        entries of the documents of its topic.
        """
        intents = self._intents(lists)
        documents = np.bincount(intents.topic_of_document, minlength=intents.topics)
        hits = np.diff(lists.hits().start) if cutoff is None else np.minimum(np.diff(lists.hits().start), cutoff)
        return row_blocks(hits * (intents.entries / np.maximum(documents, 1))[lists.topic], MOST_ENTRIES)

    @staticmethod
    def mean(lists: Assessed, values: Array) -> Array:
        """The mean over the intents of each list, by probability; an undefined value counts as 0."""
        intents = intents_of(lists)
        weighted = np.nan_to_num(values) * intents.probability[_intents_of_rows(lists, intents)]
        total = np.bincount(ByIntent.parents(lists), weighted, lists.rows)
        return np.where(intents.count[lists.topic] > 0, total, np.nan)

    def remarks(self, lists: Assessed, measure: Scorer) -> list[str]:
        intents, by_intent = intents_of(lists), self.apply(lists)
        return [
            intent_line(intents, intent, f"{measure} {defined(score)}")
            for intent, score in zip(by_intent.set_of_row.tolist(), measure.score(by_intent).tolist(), strict=True)
        ]

    def __str__(self) -> str:
        return "IA"


@dataclass(frozen=True)
class GlobalGain(View):
    """The gains of each document summed over all intents, Σ Pr(i|q) g_i: `D-nDCG`, `D-Q`, ... (Sakai 2014 (27)).

    With `din`, a document has no gain for a navigational intent that a document above it serves (`DIN-nDCG`,
    Sakai 2014 (32)); the ideal list stays the same. `gain` turns a grade for an intent into a gain.
    Reference: Sakai & Song, SIGIR 2011; Sakai, EVIA 2012
    """

    gain: Gains
    din: bool = False

    place: ClassVar[int] = 2
    grades_by_intent: ClassVar[bool] = True
    top_down: ClassVar[bool] = True
    keeps_bounds: ClassVar[bool] = False  # gains are divided by the largest, and a lesser document may come first

    @property
    def uses_intent_types(self) -> bool:
        return self.din

    def apply(self, lists: Assessed) -> Assessed:
        intents = intents_of(lists)
        worth = intents.probability[intents.intent] * self.gain(intents.grade)
        of_document = np.bincount(intents.document, worth, len(intents.topic_of_document))
        grade = self._without_repeats(lists) if self.din else of_document[documents_of(lists)]
        return lists.replace(
            grade=grade,
            judged=Judged.of(intents.topic_of_document, of_document, intents.topics),
            set_of_row=lists.topic,
            every_gain_counts=True,
        )

    def _without_repeats(self, lists: Assessed) -> Array:
        """The global gain of each hit, with navigational intents counted only at their first relevant document.

        A later document that adds no gain is not relevant: it counts neither in I(r) nor in C(r).
        """
        intents = intents_of(lists)
        by_intent = hits_by_intent(lists, intents)
        intent = intents.intent[by_intent.entry]
        gain = self.gain(intents.grade[by_intent.entry])
        worth = intents.probability[intent] * gain
        served = np.flatnonzero(intents.navigational[intent] & (gain > 0))
        again = served[1:][by_intent.row[served[1:]] == by_intent.row[served[:-1]]]
        worth[again] = 0.0
        return np.bincount(by_intent.hit, worth, len(lists.row)).astype(np.float64)

    def __str__(self) -> str:
        return "DIN" if self.din else "D"


@dataclass(frozen=True)
class Sharp(View):
    """A mixture of intent recall and the measure, γ · I-rec + (1 − γ) · M: `D#-nDCG`, `P+Q#` (Sakai 2014 (29)).

    Reference: Sakai & Song, SIGIR 2011
    """

    gamma: float = 0.5

    place: ClassVar[int] = 1
    top_down: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.between("#", low=0, high=1, gamma=self.gamma)

    def apply(self, lists: Assessed) -> Assessed:
        """The lists do not change; only the score does."""
        return lists

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        return lambda lists: self.gamma * intent_recall(lists, cutoff) + (1 - self.gamma) * score(lists)

    def around_prefixes(self, score: Score, cutoff: int | None) -> Score:
        def mixed(lists: Assessed) -> Array:
            scores = score(lists)
            return self.gamma * running_intent_recall(lists, cutoff, len(scores)) + (1 - self.gamma) * scores

        return mixed

    def remarks(self, lists: Assessed, measure: Scorer) -> list[str]:
        recall = float(intent_recall(lists, measure.rank_cutoff)[0])
        return [f"{self.gamma:g} of the score is intent recall {recall:.4f}, the rest as above"]

    def __str__(self) -> str:
        return "#"
