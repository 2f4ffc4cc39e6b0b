"""Overlap with an ideal ranking: how close a list comes to it if only the order of documents is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.changed_lists.prefixes import Prefixes
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, position_in_segment
from cranfield.measures.base import Measure, Properties, Terms, divide, measure
from cranfield.measures.declarations import Persistence
from cranfield.measures.ranked_lists.ranked import persistence
from cranfield.types import Array


@measure
class Compat(Measure):
    r"""Compatibility: rank-biased overlap of the list with the most similar ideal ranking.

    .. math:: \frac{\sum_{d=1}^{D} p^{d-1}\,\frac{|L_d \cap I_d|}{d}}{\sum_{d=1}^{D} p^{d-1}\,\frac{\min(d, R)}{d}}

    L_d and I_d are the first d documents of the list and of the ideal ranking. The ideal ranking has the R documents
    with a grade above 0, better grades first; documents of the same grade are in the order of the list, with those not
    retrieved last. The depth D is that of the longer of the two, or a smaller cutoff. Only the order of grades counts,
    so grades can come from preferences. `p` weights the depths. `normalize=False` divides by the sum of p^(d-1)
    instead: then even a perfect list scores below 1 if the ideal ranking is short, and 0 if it is empty.
    No relevant documents: undefined.
    Reference: Clarke, Vtyurina & Smucker, TOIS 39(3), 2021, doi:10.1145/3451161

    >>> Compat(p=0.5).of([0, 1])
    0.2
    """

    p: Persistence = 0.95
    normalize: bool = True

    aliases = ("compatibility", "Compatibility")
    properties = Properties(graded=True, normalised=True, diminishing=True)

    def declares(self, default: Properties) -> Properties:
        return default.replace(normalised=self.normalize)

    def _depth(self, lists: Assessed) -> tuple[Array, NDArray[np.int64]]:
        """For each list, the number of relevant documents and the depth D."""
        judged = lists.judged
        relevant = judged.count(judged.grade > 0)[lists.set_of_row]
        depth = np.maximum(lists.retrieved, relevant).astype(np.int64)
        return relevant, depth if self.k is None else np.minimum(depth, self.k)

    def _largest(self, relevant: Array, depth: NDArray[np.int64], weight: Array, overlap: Array) -> Array:
        """What the sum over depths is divided by."""
        if not self.normalize:
            return np.where(depth > 0, weight[depth], 1.0)
        inside = np.minimum(depth, relevant.astype(np.int64))
        return np.asarray(weight[inside] + relevant * (overlap[depth] - overlap[inside]))

    def terms(self, lists: Assessed) -> Terms:
        relevant, depth = self._depth(lists)
        weight, overlap = self.tables(int(depth.max(initial=0)))
        hits = lists.hits().where((lists.grade > 0) & (lists.rank <= depth[lists.row]))
        ideal = _ideal_rank(lists, hits)
        both = np.minimum(np.maximum(hits.rank, ideal), depth[hits.row] + 1)  # beyond the depth adds nothing
        adds = overlap[depth[hits.row]] - overlap[both - 1]
        columns = {"ideal rank": ideal.astype(np.float64), "in both from": both.astype(np.float64)}
        return Terms(hits, adds, self._largest(relevant, depth, weight, overlap), columns)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """A document in both lists from depth b on adds overlap(D) - overlap(b - 1), so the sum needs no D per hit."""
        cut = Prefixes.of(lists, ranks)
        relevant, depth = self._depth(cut)
        weight, overlap = self.tables(int(depth.max(initial=0)))
        hits = cut.hits().where((cut.grade > 0) & (cut.rank <= int(depth[-1])))
        both = np.maximum(hits.rank, _ideal_rank(cut, hits))
        inside = both <= int(depth[-1])  # without a cutoff all are: D is at least the rank, and at least R
        hits, both = hits.where(inside), both[inside]
        total = overlap[depth] * hits.count - hits.sum(overlap[both - 1])
        return divide(total, self._largest(relevant, depth, weight, overlap))

    def tables(self, depth: int) -> tuple[Array, Array]:
        """The sums of p^(d-1) and of p^(d-1) / d over d = 1, 2, ..., for every depth."""
        every = np.arange(1, depth + 1)
        weight = persistence(self.p, every)
        return np.concatenate(([0.0], np.cumsum(weight))), np.concatenate(([0.0], np.cumsum(weight / every)))


def _ideal_rank(lists: Assessed, hits: Hits) -> NDArray[np.int64]:
    """The rank of each hit in the ideal ranking: after all better documents and the equally good ones above it."""
    levels = np.unique(lists.judged.grade)
    topic = lists.set_of_row[hits.row].astype(np.int64)

    def order(topic: NDArray[np.int64], grade: Array) -> NDArray[np.int64]:
        """A number for each topic and grade, in the order of `judged`: better grades first."""
        return np.asarray(topic * len(levels) + len(levels) - 1 - np.searchsorted(levels, grade))

    better = np.searchsorted(order(lists.judged.topic, lists.judged.grade), order(topic, hits.grade))
    by_grade = np.lexsort((hits.grade, hits.row))  # equal grades of a list side by side, in the order of the list
    row, grade = hits.row[by_grade], hits.grade[by_grade]
    begins = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (np.diff(grade) != 0))[: len(row)])
    nth = np.empty(len(hits), dtype=np.int64)
    nth[by_grade] = position_in_segment(np.append(begins, len(hits)))
    return np.asarray(better - lists.judged.start[topic] + nth)
