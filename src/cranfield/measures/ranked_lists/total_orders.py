"""Interval scales: measures that number all possible lists in order, so that all steps are of equal size."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from cranfield.assessed.changed_lists.prefixes import Prefixes
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import distinct
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.declarations import Whole
from cranfield.measures.gain import LINEAR, gained
from cranfield.notes import method_note
from cranfield.types import Array


class _TotalOrder(Measure):
    """The base class of SBTO and RBTO: lists of N documents with grades 0 to c, numbered from 0."""

    normalize: bool = False
    c: Whole | None = None

    def highest(self, lists: Assessed) -> int:
        fractions = lists.judged.grade[(lists.judged.grade > 0) & (lists.judged.grade % 1 != 0)]
        if len(fractions):
            raise UsageError(f"{self.name}: grade {fractions[0]:g} is in the judgments, must be a whole number")
        if self.c is not None and lists.max_grade > self.c:
            raise UsageError(f"{self.name}: c == {self.c}, but the judgments go up to {lists.max_grade:g}")
        return max(int(lists.max_grade), 1) if self.c is None else int(self.c)

    def length(self, lists: Assessed) -> Array:
        return np.asarray(lists.retrieved, dtype=np.float64) if self.k is None else np.full(lists.rows, float(self.k))

    def finite(self, values: Array) -> Array:
        if not np.all(np.isfinite(values)):
            raise UsageError(
                f"{self.name}: there are too many possible lists to number them in a float; "
                f"write {self.name}(normalize=True), or a cutoff such as {self.name}@10"
            )
        return values

    def note(self, lists: Assessed) -> str | None:
        return method_note(f"c = {self.highest(lists)}, the largest grade in the judgments") if self.c is None else None


def _choose(n: Array, k: Array) -> Array:
    """The binomial coefficient n over k for whole 0 ≤ k ≤ n, factor by factor; exact while floats are exact."""
    k = np.minimum(k, n - k)
    out = np.ones(len(k))
    for factor in range(1, int(np.max(k, initial=0)) + 1):
        out = np.where(factor <= k, out * (n - k + factor) / factor, out)
        if np.all(np.isinf(out)):
            break
    return out


@measure
class SBTO(_TotalOrder):
    r"""Set-based total order: the number of the retrieved set among all sets of its size, counted from 0 for the worst.

    .. math:: \sum_{i=1}^{N} \binom{g_i + N - i}{N - i + 1}

    g_1 ≥ g_2 ≥ ... are the grades of the first N documents, best first: one better document counts more than any number
    of lesser ones. With binary grades this is the number of relevant documents. N is the cutoff, or the length of the
    list; only lists with the same N can be compared, and shorter lists are filled up with non-relevant documents.
    `normalize=True` divides by the number of the best set, whose grades are all `c`; by default c is the highest grade
    in the judgments.
    No relevant documents: 0.
    Reference: Ferrante, Ferro & Pontarollo, IEEE TKDE 31(3), 2019, doi:10.1109/TKDE.2018.2840708

    >>> sets = ([0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2])
    >>> [(SBTO @ 2).of(grades) for grades in sets]
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """

    properties = Properties(graded=True, recall_free=True, diminishing=True, high=np.inf, scale="interval")

    def terms(self, lists: Assessed) -> Terms:
        highest, length = self.highest(lists), self.length(lists)
        hits, grade = gained(lists, LINEAR, self.k)
        best_first = np.lexsort((hits.rank, -grade, hits.row))
        place = np.empty(len(hits))
        place[best_first] = hits.nth  # the sort keeps each row's hits together
        behind = length[hits.row] - place
        adds = self.finite(_choose(grade + behind, grade - 1.0))
        over: Array | float = 1.0
        if self.normalize:
            best = self.finite(_choose(length + highest, np.full(lists.rows, float(highest)))) - 1.0
            over = np.where(best > 0, best, 1.0)
        return Terms(hits, adds, over, {"place in the set": place})

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """Documents of one grade g at the places a + 1 to b of the set add C(g + N - a, g) - C(g + N - b, g)."""
        cut = Prefixes.of(lists, ranks)
        highest, length = self.highest(cut), self.length(cut)
        hits, grade = gained(cut, LINEAR, self.k)
        before, total = np.zeros(ranks), np.zeros(ranks)
        for level in distinct(grade)[::-1].tolist():
            after, chosen = before + hits.where(grade == level).count, np.full(ranks, level)
            from_here, below = (_choose(level + length - place, chosen) for place in (before, after))
            total, before = total + from_here - below, after
        if not self.normalize:
            return total
        best = _choose(length + highest, np.full(ranks, float(highest))) - 1.0
        return total / np.where(best > 0, best, 1.0)

    def note(self, lists: Assessed) -> str | None:
        return super().note(lists) if self.normalize else None


@measure
class RBTO(_TotalOrder):
    r"""Rank-based total order: the number of the list among all lists of its length, counted from 0 for the worst.

    .. math:: \sum_{i=1}^{N} g_i\,(c + 1)^{N - i}

    The grades 0 to `c` are the digits of that number: a better document counts more than all that can follow it. c is
    by default the highest grade in the judgments; with binary grades RBTO is 2^N · RBP(p=0.5). N is the cutoff, or the
    length of the list; only lists with the same N can be compared, and shorter lists are filled up with non-relevant
    documents. `normalize=True` divides by the number of the best list, (c + 1)^N − 1, and works for any N.
    No relevant documents: 0.
    Reference: Ferrante, Ferro & Pontarollo, IEEE TKDE 31(3), 2019, doi:10.1109/TKDE.2018.2840708

    >>> [(RBTO @ 2).of(grades) for grades in ([0, 0], [0, 1], [1, 0], [1, 1])]
    [0.0, 1.0, 2.0, 3.0]
    """

    properties = Properties(graded=True, recall_free=True, additive=True, high=np.inf, scale="interval")

    def terms(self, lists: Assessed) -> Terms:
        base, length = self.highest(lists) + 1.0, self.length(lists)
        hits, grade = gained(lists, LINEAR, self.k)
        if self.normalize:
            weight = base ** -hits.rank.astype(np.float64)
            best = 1.0 - base**-length
            return Terms(hits, grade * weight, np.where(best > 0, best, 1.0), {"weight": weight})
        with np.errstate(over="ignore"):
            weight = self.finite(base ** (length[hits.row] - hits.rank))
        return Terms(hits, grade * weight, 1.0, {"weight": weight})

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """One more document is one more digit at the end of the number."""
        if self.normalize or self.k is not None:
            return self.score(Prefixes.of(lists, ranks))
        base, (hits, grade) = self.highest(lists) + 1.0, gained(lists, LINEAR, ranks)
        digits = np.bincount(hits.rank, grade, ranks + 1)[1:]
        return np.fromiter(accumulate(digits.tolist(), lambda number, digit: number * base + digit), np.float64, ranks)
