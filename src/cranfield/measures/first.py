"""Measures for a reader who stops at the first good document, or is ever less likely to go on after one."""

from __future__ import annotations

import numpy as np

from cranfield import check
from cranfield.assessed import Array, Assessed, Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.gain import LINEAR
from cranfield.measures.sets import gained


@measure
class RR(Measure):
    r"""Reciprocal rank: one over the rank of the first relevant document.

    .. math:: 1 / r_1

    0 when no relevant document is retrieved (`@l`: among the first l).
    No relevant documents: 0.
    Reference: Kantor & Voorhees, Information Retrieval 2, 2000, doi:10.1023/A:1009902609570

    >>> RR().of([0, 0, 1])
    0.3333333333333333
    """

    rel: float = 1

    aliases = ("MRR", "recip_rank")
    properties = Properties(normalised=True, recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        firsts = lists._once(("first relevant", self.rel), lambda: _first_relevant(lists, self.rel))
        if self.k is not None:
            firsts = firsts.where(firsts.rank <= self.k)
        return Terms(firsts, 1.0 / firsts.rank, 1.0, {"reciprocal rank": 1.0 / firsts.rank})


def _first_relevant(lists: Assessed, rel: float) -> Hits:
    hits = lists.relevant(rel)
    begin = hits.start[:-1]
    return hits.at(begin[begin < hits.start[1:]])


class _Cascade(Measure):
    """What ERR and nERR share: a document of grade g satisfies with probability (2^g − 1) / 2^max."""

    def highest(self, max_grade: float | None, lists: Assessed) -> float:
        found = lists.max_grade
        if max_grade is None:
            return found
        if found > max_grade:
            raise UsageError(f"{self.name}: max_grade == {max_grade:g}, but the judgments go up to {found:g}")
        return float(max_grade)

    def stops(self, hits: Hits, grade: Array, highest: float) -> dict[str, Array]:
        satisfied = (np.exp2(grade) - 1.0) / 2.0**highest
        here = hits.previous(hits.running_product(1.0 - satisfied), first=1.0)
        return {"satisfied": satisfied, "gets here": here, "stops here": satisfied * here}

    def note_highest(self, max_grade: float | None, lists: Assessed) -> str | None:
        if max_grade is not None:
            return None
        return f"max_grade = {lists.max_grade:g}, the largest in the judgments"


def _check_highest(who: str, max_grade: float | None) -> None:
    if max_grade is not None:
        check.finite(who, max_grade=max_grade)
        check.positive(who, max_grade=max_grade)


@measure
class ERR(_Cascade):
    r"""Expected reciprocal rank of the document that satisfies a reader who examines one after the other.

    .. math:: \sum_r \frac{1}{r}\, p_r \prod_{k<r}(1 - p_k), \qquad p_r = \frac{2^{g_r} - 1}{2^{g_{\max}}}

    `max_grade` is the highest grade there can be; by default the highest in these judgments, so give it to compare
    scores across collections (gdeval's is 4).
    No relevant documents: 0.
    Reference: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009, doi:10.1145/1645953.1646033

    >>> ERR(max_grade=3).of([3, 3])
    0.9296875
    """

    max_grade: float | None = None

    properties = Properties(graded=True, recall_free=True, diminishing=True)

    def check(self) -> None:
        _check_highest(self.name, self.max_grade)

    def terms(self, lists: Assessed) -> Terms:
        hits, grade = gained(lists, LINEAR, self.k)
        columns = self.stops(hits, grade, self.highest(self.max_grade, lists))
        return Terms(hits, columns["stops here"] / hits.rank, 1.0, columns)

    def note(self, lists: Assessed) -> str | None:
        return self.note_highest(self.max_grade, lists)


@measure
class nERR(_Cascade):
    r"""Expected reciprocal rank as a share of the ideal list's.

    .. math:: \frac{ERR}{ERR^*}

    `max_grade` as for ERR; `@l` cuts the ideal list too.
    No relevant documents: undefined.
    Reference: Clarke, Craswell, Soboroff & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> nERR().of([1, 0, 0])
    1.0
    """

    max_grade: float | None = None

    properties = Properties(graded=True, normalised=True, diminishing=True)

    def check(self) -> None:
        _check_highest(self.name, self.max_grade)

    def terms(self, lists: Assessed) -> Terms:
        hits, grade = gained(lists, LINEAR, self.k)
        highest = self.highest(self.max_grade, lists)
        columns = self.stops(hits, grade, highest)
        best = lists._once(("ideal ERR", highest, self.k), lambda: self.ideal(lists, highest))
        return Terms(hits, columns["stops here"] / hits.rank, best, columns)

    def ideal(self, lists: Assessed, highest: float) -> Array:
        ideal = lists.ideal(LINEAR)
        return ideal.sum(self.stops(ideal.hits, ideal.gain, highest)["stops here"] / ideal.hits.rank, self.k)

    def note(self, lists: Assessed) -> str | None:
        return self.note_highest(self.max_grade, lists)
