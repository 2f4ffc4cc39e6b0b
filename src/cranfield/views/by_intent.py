"""Views by intent: a list read intent by intent (`nDCG-IA`), or with all its gains taken together (`D-nDCG`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.hits_by_intent import documents_of, hits_by_intent, intent_recall, intents_of, lists_by_intent
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Gains, Judged, position_in_segment, row_blocks
from cranfield.types import Array
from cranfield.views.view import Score, View

TOGETHER = 400_000
"""Lists are read by intent for so many entries at a time: that bounds memory, and what is near is fast."""


def _intents_of_rows(lists: Assessed, intents: Intents) -> NDArray[np.int64]:
    """The intent of each list by intent."""
    many = intents.count[lists.topic]
    first = np.concatenate(([0], np.cumsum(many)))
    return np.asarray(np.repeat(intents.start[lists.topic], many) + position_in_segment(first) - 1)


@dataclass(frozen=True)
class ByIntent:
    """One list per intent, the scores averaged by intent probability: `nDCG-IA`, `ERR-IA`, ... (Sakai 2014 (26)).

    The sum goes over all intents of the topic, and their probabilities are fixed. Where a measure is not defined for an
    intent, because `rel` asks for a grade that none of its documents has, the intent counts as 0 and keeps its
    probability: there is nothing the list could show its readers. ndeval knows relevant and not relevant only, where
    that cannot be; pyndeval's `relevance_level` leaves such intents out instead.

    Reference: Agrawal, Gollapudi, Halverson & Ieong, WSDM 2009
    """

    lowest: float | None = field(default=None, compare=False)
    """Grades below this are left out, for a measure that does not look at them; None: all are kept."""

    mark: ClassVar[str] = "-IA"

    def apply(self, lists: Assessed, cutoff: int | None = None) -> Assessed:
        """Each list as often as its topic has intents, with the grades for that intent, of hits down to `cutoff`."""
        intents = intents_of(lists) if self.lowest is None else intents_of(lists).above(self.lowest)
        weight: Array | None = None
        start, nth, rank, grade = lists_by_intent(lists, intents, cutoff)
        if lists.weight is not None:
            weight = lists.weight[hits_by_intent(lists, intents, cutoff).hit]
        apart = lists.rows_at(self.parents(lists)).replace(
            row=np.repeat(np.arange(len(start) - 1), np.diff(start)),
            rank=rank,
            grade=grade,
            weight=weight,
            judged=intents.judged,
            set_of_row=_intents_of_rows(lists, intents),
            intents=None,
        )
        apart.hits().knowing(start, nth)
        return apart

    def read(self, lists: Assessed, cutoff: int | None = None) -> Assessed:
        """The same, made once for each cutoff: a measure looks no deeper."""
        return lists._once(("by intent", self.lowest, cutoff), lambda: self.apply(lists, cutoff))

    @staticmethod
    def parents(lists: Assessed) -> NDArray[np.int64]:
        """For each list by intent, the list that it was made of."""
        return np.repeat(np.arange(lists.rows), intents_of(lists).count[lists.topic])

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        def aware(lists: Assessed) -> Array:
            pieces = (lists.part(*piece) for piece in self._pieces(lists, cutoff))  # one at a time in memory
            return np.concatenate([self.mean(some, score(self.read(some, cutoff))) for some in pieces])

        return aware

    def _pieces(self, lists: Assessed, cutoff: int | None) -> list[tuple[int, int]]:
        """Where to part the lists so that a part has some `TOGETHER` entries, unless a single list has more.

        A hit is taken to have as many entries as the documents of its topic have on average: to count them would take
        as long as to read them.
        """
        intents = intents_of(lists) if self.lowest is None else intents_of(lists).above(self.lowest)
        documents = np.bincount(intents.topic_of_document, minlength=intents.topics)
        entries = np.bincount(intents.topic_of_document, np.diff(intents.document_start), intents.topics)
        hits = np.diff(lists.hits().start) if cutoff is None else np.minimum(np.diff(lists.hits().start), cutoff)
        return row_blocks(hits * (entries / np.maximum(documents, 1))[lists.topic], TOGETHER)

    @staticmethod
    def mean(lists: Assessed, values: Array) -> Array:
        """The mean over the intents of each list, by probability; an intent without a value counts as 0."""
        intents = intents_of(lists)
        worth = np.nan_to_num(values) * intents.probability[_intents_of_rows(lists, intents)]
        total = np.bincount(ByIntent.parents(lists), worth, lists.rows)
        return np.where(intents.count[lists.topic] > 0, total, np.nan)

    def __str__(self) -> str:
        return "IA"


SPENT = float(np.nextafter(0.0, 1.0))
"""The gain of a relevant document that adds nothing: above 0, and lost in any sum."""


@dataclass(frozen=True)
class GlobalGain:
    """Each document's gains for all intents taken together, Σ Pr(i|q) g_i: `D-nDCG`, `D-Q`, ... (Sakai 2014 (27)).

    With `din`, a document gains nothing for a navigational intent that an earlier one has served (`DIN-nDCG`,
    Sakai 2014 (32)); the ideal list stays as it is. `gain` says what a grade for an intent is worth.
    Reference: Sakai & Song, SIGIR 2011; Sakai, EVIA 2012
    """

    gain: Gains
    din: bool = False

    mark: ClassVar[str] = ""

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
        """The global gain of each hit, navigational intents counted at their first relevant document only.

        Such a document is still relevant (Sakai 2013 (10) and (11) change gains only): its gain is above 0 and adds 0.
        """
        intents = intents_of(lists)
        apart = hits_by_intent(lists, intents)
        intent = intents.intent[apart.entry]
        gain = self.gain(intents.grade[apart.entry])
        worth = intents.probability[intent] * gain
        served = np.flatnonzero(intents.navigational[intent] & (gain > 0))
        again = served[1:][apart.row[served[1:]] == apart.row[served[:-1]]]
        worth[again] = np.where(worth[again] > 0, SPENT, 0.0)
        return np.bincount(apart.hit, worth, len(lists.row)).astype(np.float64)

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        return lambda lists: score(lists._once(self, lambda: self.apply(lists)))

    def __str__(self) -> str:
        return "DIN" if self.din else "D"


@dataclass(frozen=True)
class Sharp:
    """Intent recall beside the measure, γ · I-rec + (1 − γ) · M: `D#-nDCG`, `DIN#-Q`, `P+Q#` (Sakai 2014 (29)).

    Reference: Sakai & Song, SIGIR 2011
    """

    gamma: float = 0.5

    mark: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check.between("#", low=0, high=1, gamma=self.gamma)

    def apply(self, lists: Assessed) -> Assessed:
        """The lists stay as they are; it is the score that changes."""
        return lists

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        def sharp(lists: Assessed) -> Array:
            return self.gamma * intent_recall(lists, cutoff) + (1 - self.gamma) * score(lists)

        return sharp

    def __str__(self) -> str:
        return "#"


def place_of(view: View) -> int:
    """Where a view stands among others: those of the whole list first, as given, and then those by intent."""
    return next((n for n, kind in enumerate((Sharp, GlobalGain, ByIntent), 1) if isinstance(view, kind)), 0)
