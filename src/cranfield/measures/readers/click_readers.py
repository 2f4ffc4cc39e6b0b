"""How readers of click models go down a list: who examines, clicks and is satisfied, by the grade of each document."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, number_tuple
from cranfield.measures.declarations import Positive, Probability
from cranfield.measures.gain import EXP, LINEAR, Gain, GainLike
from cranfield.measures.ranked_lists.first import Satisfaction, highest_grade, note_max_grade
from cranfield.types import Array

PAGE = 10
"""The ranks that a position-based model knows by default: a page of results."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What happens at every retrieved document, according to a click model."""

    every: Hits
    examined: Array
    """The probability that a reader looks at the document's snippet."""
    clicked: Array
    """The probability of a click."""
    satisfied: Array | None = None
    """The probability that a reader who clicks is satisfied; None if the model has no satisfaction."""


class ClickModelMeasure(Measure):
    """The base class of measures on click models; a subclass defines `read`."""

    attractive: GainLike = EXP
    max_grade: Positive | None = field(default=None, kw_only=True)

    def normalised(self) -> dict[str, Any]:
        return {name: number_tuple(self.__dict__[name]) for name in ("examined", "go_on") if name in self.by_rank()}

    def by_rank(self) -> tuple[str, ...]:
        """The parameters that are lists of probabilities by rank."""
        return ()

    def check(self) -> None:
        for name in ("attractive", "satisfied"):
            for grade, chance in getattr(self.__dict__.get(name), "table", ()):
                if not 0 <= chance <= 1:
                    raise UsageError(f"{self.name}: {name} == {chance:g} for grade {grade:g}, must be between 0 and 1")
        for name in self.by_rank():
            values = self.__dict__[name]
            if not isinstance(values, tuple):
                raise check.wrong(self.name, name, values, "a list of probabilities, such as [0.9, 0.5]")
            for chance in values:
                check.finite(self.name, **{name: chance})
                check.between(self.name, low=0, high=1, **{name: chance})

    def rises(self, *names: str) -> bool:
        """Whether better grades have higher probabilities in all of these parameters."""
        tables = [[worth for _, worth in getattr(self.__dict__[name], "table", ())] for name in names]
        return all(table == sorted(table) for table in tables)

    def declares(self, default: Properties) -> Properties:
        tables = [name for name in ("attractive", "satisfied") if name in self.__dict__]
        return default.replace(diminishing=default.diminishing and self.rises(*tables))

    def chance(self, name: str, lists: Assessed, grade: Array) -> Array:
        """The probability that the parameter gives to documents of these grades."""
        highest = highest_grade(self.name, self.max_grade, lists)
        return Satisfaction(Gain.of(self.__dict__[name]), highest)(grade)

    def documents(self, lists: Assessed, depth: int | None = None) -> tuple[Hits, Array, Array]:
        """Every retrieved document, its grade (0 if not judged), and how attractive it is."""
        cutoffs = [cutoff for cutoff in (self.k, depth) if cutoff is not None]
        every = lists.every(min(cutoffs, default=None))
        grade = np.nan_to_num(every.grade, nan=0.0)
        return every, grade, self.chance("attractive", lists, grade)

    @abstractmethod
    def read(self, lists: Assessed) -> Reading:
        """What happens at every retrieved document."""

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        terms = self.terms(lists)  # what a document adds depends only on the documents above it
        return super().score_prefixes(lists, ranks) if terms is None else terms.running(ranks)

    def note(self, lists: Assessed) -> str | None:
        tables = [self.__dict__[name] for name in ("attractive", "satisfied") if name in self.__dict__]
        return None if all(table.table for table in tables) else note_max_grade(self.max_grade, lists)


def followed(every: Hits, goes_on: Array) -> Array:
    """The probability to reach each document: that of going on from all documents above it."""
    return every.previous(every.running_product(goes_on), first=1.0)


class UtilityMeasure(ClickModelMeasure):
    """The base class of utility measures: gains, weighted by the probability of a click (Ferro & Maistro 2024 (16))."""

    gain: GainLike = field(default=LINEAR, kw_only=True)
    properties = Properties(graded=True, recall_free=True, high=np.inf)

    def terms(self, lists: Assessed) -> Terms:
        reading = self.read(lists)
        gains = Gain.of(self.gain)(np.nan_to_num(reading.every.grade, nan=0.0))
        columns = {"examined": reading.examined, "clicked": reading.clicked, "gain": gains}
        return Terms(reading.every, reading.clicked * gains, 1.0, columns)


class EffortMeasure(ClickModelMeasure):
    """The base class of effort measures: 1/rank where a reader is satisfied (Ferro & Maistro 2024 (17))."""

    properties = Properties(graded=True, recall_free=True)

    def terms(self, lists: Assessed) -> Terms:
        reading = self.read(lists)
        assert reading.satisfied is not None
        stops = reading.satisfied * reading.clicked
        columns = {"examined": reading.examined, "clicked": reading.clicked, "satisfied": reading.satisfied}
        return Terms(reading.every, stops / reading.every.rank, 1.0, columns)


# -- the models: each says how likely a reader is to examine the next document


class PositionBased(ClickModelMeasure):
    """PBM: examination depends on the rank alone."""

    examined: Sequence[float] = ()

    def by_rank(self) -> tuple[str, ...]:
        return ("examined",)

    def read(self, lists: Assessed) -> Reading:
        table = self.examination()
        every, _, attractive = self.documents(lists, len(table))
        examined = table[every.rank - 1]
        return Reading(every, examined, examined * attractive)

    def examination(self) -> Array:
        """The probability of examining each rank."""
        return np.array(self.examined) if self.examined else 1.0 / np.arange(1, PAGE + 1)


class UserBrowsing(ClickModelMeasure):
    """UBM: examination depends on the rank and on that of the last click above."""

    examined: Sequence[float] = ()

    def by_rank(self) -> tuple[str, ...]:
        return ("examined",)

    def check(self) -> None:
        super().check()
        if self.examined and triangle(self.ranks()) != len(self.examined):
            raise UsageError(
                f"{self.name}: examined has {len(self.examined)} numbers, must be 1, 3, 6, 10, ...: 1 for rank 1, "
                "2 for rank 2 (no click above, click at rank 1), 3 for rank 3 and so on"
            )

    def ranks(self) -> int:
        """The number of ranks that the model knows."""
        return int((np.sqrt(8 * len(self.examined) + 1) - 1) // 2) if self.examined else PAGE

    def read(self, lists: Assessed) -> Reading:
        depth = self.ranks()
        every, _, attractive = self.documents(lists, depth)
        table = np.zeros((lists.rows, depth))
        table[every.row, every.rank - 1] = attractive
        clicked, examined = np.zeros((lists.rows, depth)), np.zeros((lists.rows, depth))
        last = np.zeros((lists.rows, depth + 1))  # the probability that the last click so far was at this rank
        last[:, 0] = 1.0
        for r in range(depth):
            looks = self._examination(r, depth)
            examined[:, r] = last[:, : r + 1] @ looks
            clicked[:, r] = examined[:, r] * table[:, r]
            last[:, : r + 1] *= 1.0 - looks * table[:, r, None]
            last[:, r + 1] = clicked[:, r]
        at = every.row, every.rank - 1
        return Reading(every, examined[at], clicked[at])

    def _examination(self, r: int, depth: int) -> Array:
        """The probability of examining rank r + 1 if the last click was at rank 0 (none), 1, ..., r."""
        if not self.examined:
            return 1.0 / np.arange(r + 1, 0, -1)
        return np.array(self.examined[triangle(r) : triangle(r + 1)])


def triangle(ranks: int) -> int:
    """The number of parameters γ of a UBM with this number of ranks: 1 + 2 + 3 + ...

    >>> triangle(3)
    6
    """
    return ranks * (ranks + 1) // 2


class DependentClicks(ClickModelMeasure):
    """DCM: readers go on until they click, and after a click with a probability that depends on the rank."""

    go_on: Sequence[float] = (0.5,)

    def by_rank(self) -> tuple[str, ...]:
        return ("go_on",)

    def check(self) -> None:
        super().check()
        if not self.go_on:
            raise UsageError(
                f"{self.name}: go_on is empty, must be a list of probabilities by rank, such as [0.8, 0.5]"
            )

    def read(self, lists: Assessed) -> Reading:
        every, _, attractive = self.documents(lists)
        after_click = np.array(self.go_on)[np.minimum(every.rank, len(self.go_on)) - 1]
        examined = followed(every, 1.0 - attractive * (1.0 - after_click))
        return Reading(every, examined, examined * attractive, 1.0 - after_click)


class ClickChain(ClickModelMeasure):
    """CCM: readers go on with one of three probabilities: after no click, and after a click that satisfies or not."""

    t1: Probability = 0.9
    t2: Probability = 0.8
    t3: Probability = 0.5

    def read(self, lists: Assessed) -> Reading:
        every, _, attractive = self.documents(lists)
        satisfied = attractive
        after_click = self.t2 * (1.0 - satisfied) + self.t3 * satisfied
        examined = followed(every, self.t1 * (1.0 - attractive) + attractive * after_click)
        return Reading(every, examined, examined * attractive, satisfied)


class DynamicBayesian(ClickModelMeasure):
    """DBN: readers stop when satisfied, and go on with probability `go_on` otherwise."""

    satisfied: GainLike = EXP
    go_on: Probability = 0.9

    def read(self, lists: Assessed) -> Reading:
        every, grade, attractive = self.documents(lists)
        satisfied = self.chance("satisfied", lists, grade)
        examined = followed(every, float(self.go_on) * (1.0 - attractive * satisfied))
        return Reading(every, examined, examined * attractive, satisfied)


class SimplifiedBayesian(ClickModelMeasure):
    """SDBN: DBN in which only satisfaction makes readers stop."""

    satisfied: GainLike = EXP

    def read(self, lists: Assessed) -> Reading:
        every, grade, attractive = self.documents(lists)
        satisfied = self.chance("satisfied", lists, grade)
        examined = followed(every, 1.0 - attractive * satisfied)
        return Reading(every, examined, examined * attractive, satisfied)
