"""Estimates of relevance: how far a system's own estimates, the scores of the run, are from the judgments."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.declarations import Positive
from cranfield.measures.gain import LINEAR, Gain, GainLike, note_scale, total_gain
from cranfield.measures.ranked_lists.first import highest_grade
from cranfield.types import Array, Index

ESTIMATES = ("raw", "minmax", "rank")
COUNTED = ("judged", "all")


@measure
class ADM(Measure):
    r"""Average distance measure: how close a system's estimates of relevance are to the judgments, on average.

    .. math:: 1 - \frac{1}{|D|}\sum_{d \in D} |e(d) - g(d)|

    `estimate` says how the score of a document becomes the estimate e, from 0 to 1: `"raw"` uses the score, which must
    be between 0 and 1; `"minmax"` stretches the scores of each list to 0 to 1 (1 if all are the same); `"rank"` ignores
    the scores and falls evenly from 1 for the first of n documents to 1/n for the last. Documents not retrieved, or
    below the cutoff, are estimated 0. `over` selects the documents D: `"judged"` are those judged for the topic,
    `"all"` adds the unjudged retrieved documents, as if judged 0. The judgment g is the gain, from 0 to 1; if gains can
    exceed 1, all are divided by the largest possible gain, that of `max_grade` or of the largest grade in the
    judgments.
    Nothing judged: undefined. No relevant documents: 1 minus the mean estimate.
    Reference: Della Mea & Mizzaro, Measuring Retrieval Effectiveness, JASIST 55(6), 530-543, 2004

    >>> round(ADM().of([1, 0, None], missed=[1], scores=[0.9, 0.4, 0.2]), 4)
    0.5
    >>> ADM(estimate="minmax", over="all").of([2, 0, None], scores=[30, 20, 10])
    0.8333333333333334
    """

    estimate: str = "raw"
    over: str = "judged"
    gain: GainLike = LINEAR
    max_grade: Positive | None = None

    needs: ClassVar[str] = "scores"
    top_down = True
    properties = Properties(graded=True)

    def check(self) -> None:
        check.one_of(self.name, ESTIMATES, estimate=self.estimate)
        check.one_of(self.name, COUNTED, over=self.over)

    def declares(self, default: Properties) -> Properties:
        # with "all", the number of documents depends on how many retrieved documents are unjudged
        return default.replace(additive=self.over == "judged")

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.hits(self.k)
        counted = lists.every(self.k) if self.over == "all" else hits
        largest = self._largest(lists)
        judged = Gain.of(self.gain)(np.nan_to_num(counted.grade, nan=0.0)) / largest
        estimate = self._estimates(lists, counted.row, counted.rank)
        missed = lists.num_judged() - hits.count
        gain_missed = total_gain(lists, Gain.of(self.gain)) / largest - counted.sum(judged)
        unretrieved = np.where(missed > 0, missed - gain_missed, 0.0)  # each is estimated 0 and adds 1 minus its gain
        adds = 1.0 - np.abs(estimate - judged)
        documents = lists.num_judged() + counted.count - hits.count
        return Terms(counted, adds, documents, {"estimate": estimate, "judgment": judged}, unretrieved)

    def _largest(self, lists: Assessed) -> float:
        return Gain.of(self.gain).scale(highest_grade(self.name, self.max_grade, lists))

    def _estimates(self, lists: Assessed, row: Index, rank: Index) -> Array:
        if self.estimate == "rank":
            return np.asarray(1.0 - (rank - 1) / lists.retrieved[row])
        if lists.scores is None:
            raise UsageError(
                f"{self.name} compares the scores of a run with the judgments, but these documents are ranked without "
                f'scores: give runs with scores and leave out order=, or use {self.name}(estimate="rank"); joined '
                "lists keep scores with JoinOptions(scores=True), and .of() takes scores=[...]"
            )
        every = lists.every()
        values = lists.scores.at("score", every.row, every.rank)
        within = (values >= 0) & (values <= 1) if self.estimate == "raw" else np.isfinite(values)
        outside = np.flatnonzero(~within)
        if len(outside):
            raise self._outside(lists, int(every.row[outside[0]]), float(values[outside[0]]), len(outside))
        score = lists.scores.at("score", row, rank)
        if self.estimate == "raw":
            return score
        low, high = np.full(lists.rows, np.inf), np.full(lists.rows, -np.inf)
        np.minimum.at(low, every.row, values)
        np.maximum.at(high, every.row, values)
        with np.errstate(invalid="ignore", over="ignore"):
            stretched = (score / 2 - low[row] / 2) / (high[row] / 2 - low[row] / 2)  # halves, as spans can overflow
        return np.where(high[row] > low[row], stretched, 1.0)

    def _outside(self, lists: Assessed, row: int, value: float, count: int) -> UsageError:
        where = f"run {lists.runs[lists.run[row]]!r}, topic {lists.topics[lists.topic[row]]!r}: score {value:g}"
        others = f" (and {count - 1:,} more)" if count > 1 else ""
        way_out = f'{self.name}(estimate="rank")'
        if self.estimate == "raw":
            way_out = f'{self.name}(estimate="minmax") to stretch the scores of each list, or {way_out}'
        must = "must be between 0 and 1" if self.estimate == "raw" else "must be finite"
        return UsageError(f"{self}: {where}{others}, {must} to be an estimate of relevance; use {way_out}")

    def note(self, lists: Assessed) -> str | None:
        return note_scale(self._largest(lists)) if self.max_grade is None else None
