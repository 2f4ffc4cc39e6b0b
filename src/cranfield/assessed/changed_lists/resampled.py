"""Lists of a resampled collection: a document that is drawn k times is k documents of the list and of the judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, ranges, segment_starts
from cranfield.types import Array, Index64

Counts = NDArray[np.int64]
"""resamples × documents: how many times each document of the collection is drawn."""


@dataclass(frozen=True, eq=False)
class TopicOfCollection:
    """The lists of all runs for one topic, as numbers of documents in the collection, and the judged documents.

    `judged` are the judged documents, best grade first, and `grade` their grades.
    """

    name: str
    lists: Sequence[Index64]
    judged: Index64
    grade: Array

    @staticmethod
    def of(
        name: str, rankings: Sequence[Sequence[str]], grades: Mapping[str, float], number: dict[str, int]
    ) -> TopicOfCollection:
        """From names of documents; documents that `number` does not know get the next numbers."""

        def numbers(documents: Sequence[str]) -> Index64:
            return np.array([number.setdefault(doc, len(number)) for doc in documents], dtype=np.int64)

        grade = np.array(list(grades.values()), dtype=np.float64)
        best_first = np.argsort(-grade, kind="stable")
        judged = numbers(list(grades))[best_first]
        return TopicOfCollection(name, [numbers(ranking) for ranking in rankings], judged, grade[best_first])

    def resampled(self, run: int, counts: Counts, max_grade: float) -> Assessed:
        """The list of one run in every resample, a row each. The copies of a document take consecutive ranks."""
        documents, resamples = self.lists[run], len(counts)
        drawn = counts[:, documents]
        end = np.cumsum(drawn, axis=1)
        grade_of = dict(zip(self.judged.tolist(), self.grade.tolist(), strict=True))
        place = np.array([at for at, doc in enumerate(documents.tolist()) if doc in grade_of], dtype=np.int64)
        grade = np.array([grade_of[doc] for doc in documents[place].tolist()])
        copies = drawn[:, place].ravel()
        rank = ranges((end - drawn)[:, place].ravel() + 1, copies)
        row = np.repeat(np.repeat(np.arange(resamples), len(place)), copies)
        judged = counts[:, self.judged].ravel()
        judged_row = np.repeat(np.repeat(np.arange(resamples), len(self.judged)), judged)
        judged_grade = np.repeat(np.tile(self.grade, resamples), judged)
        none = np.zeros(resamples, dtype=np.int64)
        return Assessed(
            ("run",),
            (self.name,),
            run=none,
            topic=none,
            retrieved=end[:, -1] if len(documents) else none,
            missing=np.zeros(resamples, dtype=bool),
            row=row,
            rank=rank,
            grade=np.repeat(np.tile(grade, resamples), copies),
            # one more judged set, which no list has, keeps the largest grade of the judgments
            judged=Judged(
                segment_starts(np.append(judged_row, resamples), resamples + 1), np.append(judged_grade, max_grade)
            ),
            set_of_row=np.arange(resamples),
        )
