"""Condensed lists: unjudged documents removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.tied_orders import tied_groups
from cranfield.views.view import Score, Scorer, View


@dataclass(frozen=True)
class Condensed(View):
    """Unjudged documents removed, ranks closed up: `AP'`, `nDCG'`, ... (Sakai, SIGIR 2007; Sakai 2014 (21)).

    A document with a negative grade was in the pool but not judged, and is removed too, as by `trec_eval -J` and
    ir_measures. It stays if the gain table of the measure has its grade, if the grade is `rel` or better, and for
    measures that estimate from a sample (xinfAP, infNDCG, statAP), which need documents that were not drawn.

    >>> Condensed().apply(Assessed.one([None, 0, -1, 1])).rank.tolist()
    [1, 2]
    """

    lowest: float = field(default=0.0, repr=False)
    """The lowest grade that is a judgment."""
    listed: tuple[float, ...] = field(default=(), repr=False)
    """Lower grades that are judgments, because a gain table has them."""

    mark: ClassVar[str] = "'"

    def for_measure(self, measure: Scorer, score: Score) -> Condensed:
        if measure.estimates:
            return Condensed(-np.inf)
        gain = measure.gains()
        lowest = min(0.0, float(measure.__dict__.get("rel") or 0.0))
        return Condensed(lowest, tuple(grade for grade, _ in gain.table if grade < lowest) if gain else ())

    def apply(self, lists: Assessed) -> Assessed:
        judged = lists.grade >= self.lowest
        if self.listed:
            judged |= np.isin(lists.grade, self.listed)
        if not judged.all():
            kept = np.flatnonzero(judged)
            lists = lists.take_hits(slice(None), kept, lists.row[kept])
        hits = lists.hits()
        first = last = None
        if lists.tie_first is not None:  # tied documents stay tied
            _, starts, sizes = tied_groups(lists.row, lists.tie_first)
            first = np.repeat(hits.nth[starts], sizes)
            last = np.repeat(hits.nth[starts + sizes - 1], sizes)
        attachments = {name: attachment.condensed(lists) for name, attachment in lists.attachments.items()}
        retrieved = np.diff(hits.start)
        return lists.replace(rank=hits.nth, retrieved=retrieved, tie_first=first, tie_last=last, **attachments)

    def __str__(self) -> str:
        return "condensed"
