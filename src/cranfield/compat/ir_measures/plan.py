"""The measure of cranfield that computes a measure of ir_measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield import measures
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.compat.ir_measures.measure import _plain
from cranfield.errors import UsageError
from cranfield.measures import ranked
from cranfield.measures.base import divide
from cranfield.measures.cwl_reader import as_cwl
from cranfield.measures.gain import num_retrieved
from cranfield.types import Array, Index64

SUMMED = ("NumQ", "NumRet", "NumRel")
"""Counts, which are summed over topics; other measures are averaged."""

_SCALED = ("SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ", "BPM")
"""C/W/L measures with gains from 0 at `min_rel` to 1 at `max_rel`."""

NEEDS: dict[str, tuple[str, ...]] = {
    "P": ("cutoff",),
    "R": ("cutoff",),
    "Success": ("cutoff",),
    "IPrec": ("recall",),
    **dict.fromkeys(("NERR10", "NERR11", "INST", "INSQ"), ("max_rel",)),
    **dict.fromkeys(("SDCG", "NERR8", "NERR9", "BPM"), ("max_rel", "cutoff")),
}
"""Required parameters."""
_EXAMPLE = {"cutoff": "{} @ 10", "recall": "{} @ 0.1", "max_rel": "{}(max_rel=3)"}


class Ranking(NamedTuple):
    """How a tool behind ir_measures ranks documents by score."""

    precision: int
    """The bits in which scores are compared."""
    ties: str
    """The order of documents with equal scores, as in `JoinOptions`."""


TREC_EVAL, GDEVAL = Ranking(32, "z-a"), Ranking(64, "z-a")
BY_ID, AS_GIVEN = Ranking(64, "a-z"), Ranking(64, "file")
"""The sorting of Python: by score and id; or by score alone, which keeps the order of the run."""


class PairAccuracy(measures.Measure):
    """The probability that a retrieved relevant document is above a retrieved nonrelevant one: Accuracy of ir_measures.

    Undefined without relevant or without nonrelevant documents.
    """

    rel: float = 1

    name = "PairAccuracy"

    def score(self, lists: Assessed) -> Array:
        hits = lists.relevant(self.rel, self.k)
        relevant = hits.sum(np.ones(len(hits)))
        depth = lists.retrieved if self.k is None else np.minimum(lists.retrieved, self.k)
        return 1.0 - divide(hits.sum(hits.rank - hits.nth), relevant * (depth - relevant))


class ListedDocuments(measures.Measure):
    """The fraction of the retrieved documents that the judgments list, with any grade: Judged of ir_measures."""

    name = "ListedDocuments"

    def score(self, lists: Assessed) -> Array:
        return divide(lists.hits(self.k).count, num_retrieved(lists, self.k))


class ListedCompat(measures.Compat):
    """Compat of ir_measures: the ideal ranking takes a document that was not retrieved for one with the score 0."""

    name = "ListedCompat"

    def scored(self, lists: Assessed, ideal_rank: Index64) -> Array:
        """The score of each list; `ideal_rank` has the place of each hit in the ideal ranking."""
        relevant, depth = self._depth(lists)
        weight, overlap = self.tables(int(depth.max(initial=0)))
        hits = lists.hits().where(lists.grade > 0)
        both = np.maximum(lists.rank, ideal_rank)[lists.grade > 0]
        total = hits.sum(overlap[depth[hits.row]] - overlap[both - 1])
        return divide(total, self._largest(relevant, depth, weight, overlap))


@dataclass(frozen=True)
class Plan:
    """How to compute a requested measure; without a measure of cranfield it counts topics."""

    ours: measures.Measure | None
    judged_only: bool = False
    summed: bool = False
    highest: float | None = None
    """Higher grades count as this one."""
    decimals: int | None = None
    """The number of decimals that values are rounded to."""
    ranking: Ranking = TREC_EVAL

    def values(
        self, lists: Assessed, condensed: Assessed, undefined: float = 0.0, ideal_rank: Index64 | None = None
    ) -> Array:
        """One number per list; `ideal_rank` is for Compat."""
        if self.ours is None:
            return np.ones(lists.rows)
        if ideal_rank is not None and isinstance(self.ours, ListedCompat):
            scores = self.ours.scored(lists, ideal_rank)
        else:
            scores = self.ours.evaluate(self._limited(condensed if self.judged_only else lists))
        scores = np.where(np.isnan(scores), undefined, scores)
        return scores if self.decimals is None else np.round(scores, self.decimals)

    def _limited(self, lists: Assessed) -> Assessed:
        """The lists with grades of at most `highest`."""
        if self.highest is None or lists.max_grade <= self.highest:
            return lists
        judged = Judged(lists.judged.start, np.minimum(lists.judged.grade, self.highest))
        return lists.replace(grade=np.minimum(lists.grade, self.highest), judged=judged)

    def reader(self, lists: Assessed) -> Array:
        """Expected utility, total utility, cost, total cost and number of items of a C/W/L measure, for each list."""
        if self.ours is None:
            raise UsageError("NumQ is not a C/W/L measure")
        cwl, lists = as_cwl(self.ours), self._limited(lists)
        reports = [cwl.replace(report=report).evaluate(lists) for report in ("EU", "ETU", "EC", "ETC", "ED")]
        return np.nan_to_num(np.array(reports))


def plan(name: str, parameters: Mapping[str, Any]) -> Plan:
    """The plan for a measure with these parameters.

    >>> plan("nDCG", {"cutoff": 10, "judged_only": True})
    Plan(ours=nDCG@10, judged_only=True, summed=False, highest=None, decimals=None, ranking=Ranking(precision=32, \
ties='z-a'))
    >>> plan("INST", {"T": 2.0, "max_rel": 3}).ours
    INST(T=2,max_grade=3)
    """
    params = {parameter: _plain(value) for parameter, value in parameters.items()}
    for needed in NEEDS.get(name, ()):
        if params.get(needed) is None:
            raise UsageError(f"{name} needs a {needed}: write {_EXAMPLE[needed].format(name)}")
    if name == "NumQ":
        return Plan(None, summed=True)
    if name == "Accuracy":
        return Plan(PairAccuracy(**params))
    if name == "Judged":
        return Plan(ListedDocuments(**params))
    if name == "Compat":
        return Plan(ListedCompat(**params))
    if name == "SDCG" and params.pop("dcg", "log2") != "log2":
        raise UsageError(f"SDCG: dcg == {parameters['dcg']!r}, must be 'log2'")
    judged_only = bool(params.pop("judged_only", False))
    if name in ("ERR_IA", "nERR_IA", "alpha_DCG"):  # ir_measures gets them from ndeval
        params["dialect"] = "ndeval"
    highest = params["max_rel"] if name in _SCALED else None
    text = ",".join(f"{parameter}={value!r}" for parameter, value in params.items())
    ours = measures.parse(f"{name}({text})")
    if isinstance(ours, ranked.IPrec):  # as ir_measures computes them with trec_eval 9 and gdeval
        ours = measures.IPrec(rel=ours.rel, dialect="trec9", cutoff=ours.cutoff)
    elif isinstance(ours, measures.ERR):
        ours = measures.ERR(max_grade=4, cutoff=ours.cutoff)
    elif isinstance(ours, measures.RBP) and "rel" not in params:
        ours = measures.RBP(p=ours.p, gain="linear", cutoff=ours.cutoff)
    return Plan(ours, judged_only, name in SUMMED, highest)
