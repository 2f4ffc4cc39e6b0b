"""How far systems' own estimates of relevance are from the judgments; this needs the scores of the run."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.by_rank import ByRank
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, by_parameters, measure
from cranfield.measures.first import check_highest, highest_grade
from cranfield.measures.gain import LINEAR, Gain, GainLike, note_scale
from cranfield.types import Array, Index

ESTIMATES = ("raw", "minmax", "rank")
COUNTED = ("judged", "all")


def scores_of(lists: Assessed, who: str) -> ByRank:
    """The scores of the runs, or a complaint that says what would supply them."""
    if lists.scores is None:
        raise UsageError(
            f"{who} compares the scores of a run with the judgments, but here documents are ranked without scores: "
            f'give runs with scores and leave out order= (--order), or take {who}(estimate="rank"); assessed lists '
            "keep scores if joined with JoinOptions(scores=True), and .of() takes them as scores=[...]"
        )
    return lists.scores


@measure
class ADM(Measure):
    r"""Average distance measure: how near a system's estimates of relevance come to the judgments, on average.

    .. math:: 1 - \frac{1}{|D|}\sum_{d \in D} |e(d) - g(d)|

    `estimate` says how the score of a document becomes the estimate e, from 0 to 1: `"raw"` takes it as it is, and one
    that lies outside is an error; `"minmax"` stretches the scores of each list from 0 to 1 (1 where all are the same);
    `"rank"` looks at no score but falls evenly from 1 at the top of n documents to 1/n. What was not retrieved, or only
    below the cutoff, is estimated 0. `over` says which documents D holds: `"judged"` those that are judged for the
    topic, `"all"` also the unjudged ones that were retrieved, as if judged 0. The judgment g is the gain, from 0 to 1:
    where some are above 1 all are divided by the largest there can be, that of `max_grade` or of the largest grade in
    the judgments.
    Nothing judged: undefined. No relevant documents: 1 less the mean estimate.
    Reference: Della Mea & Mizzaro, Measuring Retrieval Effectiveness, JASIST 55(6), 530-543, 2004

    >>> round(ADM().of([1, 0, None], missed=[1], scores=[0.9, 0.4, 0.2]), 4)
    0.5
    >>> ADM(estimate="minmax", over="all").of([2, 0, None], scores=[30, 20, 10])
    0.8333333333333334
    """

    estimate: str = "raw"
    over: str = "judged"
    gain: GainLike = LINEAR
    max_grade: float | None = None

    needs: ClassVar[str] = "scores"
    properties: ClassVar[Any] = by_parameters(Properties(graded=True))

    def check(self) -> None:
        check.one_of(self.name, ESTIMATES, estimate=self.estimate)
        check.one_of(self.name, COUNTED, over=self.over)
        check_highest(self.name, self.max_grade)

    def declares(self, default: Properties) -> Properties:
        # how many documents count depends on how many of those retrieved are unjudged
        return default.replace(additive=self.over == "judged")

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.hits(self.k)
        counted = lists.every(self.k) if self.over == "all" else hits
        largest = self._largest(lists)
        judged = self._judged(counted, largest)
        estimate = self._estimates(lists, counted.row, counted.rank)
        ideal = lists.ideal(Gain.of(self.gain))
        missed = lists.num_judged() - hits.count
        gain_missed = ideal.sum(ideal.gain) / largest - counted.sum(judged)
        besides = np.where(missed > 0, missed - gain_missed, 0.0)  # each is estimated 0: 1 less its gain
        adds = 1.0 - np.abs(estimate - judged)
        documents = lists.num_judged() + counted.count - hits.count
        return Terms(counted, adds, documents, {"estimate": estimate, "judgment": judged}, besides)

    def _judged(self, counted: Hits, largest: float) -> Array:
        return Gain.of(self.gain)(np.nan_to_num(counted.grade, nan=0.0)) / largest

    def _largest(self, lists: Assessed) -> float:
        return Gain.of(self.gain).scale(highest_grade(self.name, self.max_grade, lists))

    def _estimates(self, lists: Assessed, row: Index, rank: Index) -> Array:
        if self.estimate == "rank":
            return np.asarray(1.0 - (rank - 1) / lists.retrieved[row])
        scores = scores_of(lists, self.name)
        every = lists.every()
        told = scores.at("score", every.row, every.rank)
        allowed = (0.0, 1.0) if self.estimate == "raw" else (-np.finfo(np.float64).max, np.finfo(np.float64).max)
        outside = np.flatnonzero(~((told >= allowed[0]) & (told <= allowed[1])))
        if len(outside):
            raise self._outside(lists, int(every.row[outside[0]]), float(told[outside[0]]), len(outside))
        given = scores.at("score", row, rank)
        if self.estimate == "raw":
            return given
        low, high = np.full(lists.rows, np.inf), np.full(lists.rows, -np.inf)
        np.minimum.at(low, every.row, told)
        np.maximum.at(high, every.row, told)
        with np.errstate(invalid="ignore", over="ignore"):
            stretched = (given / 2 - low[row] / 2) / (high[row] / 2 - low[row] / 2)  # halves: the span may overflow
        return np.where(high[row] > low[row], stretched, 1.0)

    def _outside(self, lists: Assessed, row: int, value: float, many: int) -> UsageError:
        where = f"run {lists.runs[lists.run[row]]!r}, topic {lists.topics[lists.topic[row]]!r}: score {value:g}"
        others = f" (and {many - 1:,} more)" if many > 1 else ""
        way_out = f'{self.name}(estimate="rank")'
        if self.estimate == "raw":
            way_out = f'{self.name}(estimate="minmax") to stretch the scores of each list, or {way_out}'
        must = "must lie between 0 and 1" if self.estimate == "raw" else "must be finite"
        return UsageError(f"{self}: {where}{others}, {must} to be an estimate of relevance; take {way_out}")

    def note(self, lists: Assessed) -> str | None:
        return note_scale(self._largest(lists)) if self.max_grade is None else None
