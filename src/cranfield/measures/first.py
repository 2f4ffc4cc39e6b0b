"""Measures for a reader who stops at the first good document, or is ever less likely to go on after one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, by_parameters, measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.ranked import Q
from cranfield.measures.retrieved import gained
from cranfield.types import Array


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
        firsts = first_relevant(lists, self.rel, self.k)
        return Terms(firsts, 1.0 / firsts.rank, 1.0, {"reciprocal rank": 1.0 / firsts.rank})


def _first_relevant(lists: Assessed, rel: float) -> Hits:
    hits = lists.relevant(rel)
    begin = hits.start[:-1]
    return hits.at(begin[begin < hits.start[1:]])


def first_relevant(lists: Assessed, rel: float, cutoff: int | None) -> Hits:
    """The first relevant document (rank r1) of every list that has one down to the cutoff."""
    firsts = lists._once(("first relevant", rel), lambda: _first_relevant(lists, rel))
    return firsts if cutoff is None else firsts.where(firsts.rank <= cutoff)


def preferred(hits: Hits) -> NDArray[np.int64]:
    """Where among the hits the preferred document of each list is: the first of the best grade that the list has (rp).

    One entry for every list that has hits.

    >>> preferred(Assessed.one([1, 0, 3, 3]).relevant()).tolist()
    [1]
    """
    best = np.full(hits.rows, -np.inf)
    np.maximum.at(best, hits.row, hits.grade)
    among_best = np.flatnonzero(hits.grade == best[hits.row])
    return among_best[np.diff(hits.row[among_best], prepend=-1) > 0]


def down_to_preferred(hits: Hits) -> tuple[NDArray[np.bool_], Array]:
    """Which hits stand at or above the preferred document of their list, and how many those are: C(rp), of each list.

    >>> down_to_preferred(Assessed.one([1, 0, 3, 3]).relevant())
    (array([ True,  True, False]), array([2.]))
    """
    at = preferred(hits)
    count = np.zeros(hits.rows)
    count[hits.row[at]] = hits.nth[at]
    return hits.nth <= count[hits.row], count


class _BlendedRatio(Measure):
    """What O, P-measure and P+ share: the blended ratio at some of the relevant documents, as Q counts it."""

    beta: float = 1
    rel: float = 1
    gain: GainLike = LINEAR

    def check(self) -> None:
        check.not_negative(self.name, beta=self.beta)

    def ratios(self, lists: Assessed) -> Terms:
        """The blended ratio at every relevant document down to the cutoff."""
        return Q(beta=self.beta, rel=self.rel, gain=self.gain, cutoff=self.cutoff).terms(lists)


def _only(terms: Terms, at: NDArray[np.integer]) -> Terms:
    columns = {name: values[at] for name, values in terms.columns.items()}
    return Terms(terms.hits.at(at), terms.adds[at], 1.0, columns)


@measure
class O(_BlendedRatio):  # noqa: E742 - the letter is what the literature calls it
    r"""O-measure: the blended ratio at the first relevant document, a reciprocal rank that knows grades.

    .. math:: BR(r_1) = \frac{1 + \beta\,g(r_1)}{r_1 + \beta\,cg^*(r_1)}

    0 when no relevant document is retrieved (`@l`: among the first l). `beta` as for Q. When relevance is binary it is
    1/r1 as long as r1 ≤ R, and more beyond.
    No relevant documents: 0.
    Reference: Sakai, On the Task of Finding One Highly Relevant Document with High Precision, IPSJ Transactions on
    Databases 47(SIG 4), 2006

    >>> O().of([0, 0, 3])
    0.6666666666666666
    """

    aliases = ("O-measure", "Omeasure")
    properties = by_parameters(Properties(graded=True, normalised=True))

    def declares(self, default: Properties) -> Properties:
        return default.replace(graded=self.beta > 0)

    def terms(self, lists: Assessed) -> Terms:
        every = self.ratios(lists)
        return _only(every, np.flatnonzero(every.hits.nth == 1))


@measure
class Pmeasure(_BlendedRatio):
    r"""P-measure: the blended ratio at the preferred rank, where the first of the best documents in the list stands.

    .. math:: BR(r_p) = \frac{C(r_p) + \beta\,cg(r_p)}{r_p + \beta\,cg^*(r_p)}

    The reader goes on past lesser documents to a best one. `@l` cuts the list before the preferred rank is found.
    `beta` as for Q. 0 when no relevant document is retrieved. It can be 1 although lesser documents come before
    the best (P+ is then less), and moving the best one up past a lesser one can lower it, for that counts no more.
    No relevant documents: 0.
    Reference: Sakai, Give Me Just One Highly Relevant Document: P-measure, SIGIR 2006

    >>> Pmeasure().of([1, 3], missed=[2])
    0.8571428571428571
    """

    aliases = ("P-measure",)
    properties = Properties(graded=True, normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        every = self.ratios(lists)
        return _only(every, preferred(every.hits))


@measure
class Pplus(_BlendedRatio):
    r"""P+: the blended ratio averaged over the relevant documents down to the preferred rank.

    .. math:: \frac{1}{C(r_p)} \sum_{r \le r_p} I(r)\,BR(r),
        \qquad BR(r) = \frac{C(r) + \beta\,cg(r)}{r + \beta\,cg^*(r)}

    The preferred rank is where the first of the best documents in the list stands; `@l` cuts the list before it is
    found. `beta` as for Q. 0 when no relevant document is retrieved. Moving the best document up past a lesser one can
    lower it, for the lesser one counts no more.
    No relevant documents: 0.
    Reference: Sakai, On the Properties of Evaluation Metrics for Finding One Highly Relevant Document, IPSJ
    Transactions on Databases 48(SIG 9), 2007

    >>> round(Pplus().of([1, 2, 3]), 4)
    0.7381
    """

    name = "P+"
    aliases = ("Pplus", "P-plus", "P+-measure", "P⁺", "P⁺-measure")
    properties = Properties(graded=True, normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        every = self.ratios(lists)
        counts, count = down_to_preferred(every.hits)
        some = _only(every, np.flatnonzero(counts))
        return Terms(some.hits, some.adds, np.maximum(count, 1.0), some.columns)


class _Penalised(Measure):
    """What WRR and NWRR share: the first relevant document, and a penalty β for each grade."""

    penalty: Mapping[float, float] | Gain | None = None
    rel: float = 1

    def check(self) -> None:
        object.__setattr__(self, "penalty", _as_penalty(self.name, self.penalty))

    def penalties(self, grade: Array, lists: Assessed) -> Array:
        return self.penalty(grade) if isinstance(self.penalty, Gain) else 2.0 + lists.max_grade - grade

    def note(self, lists: Assessed) -> str | None:
        if self.penalty is not None:
            return None
        return f"penalty 2 for grade {lists.max_grade:g}, the largest in the judgments, and 1 more for each grade below"


def _as_penalty(who: str, penalty: Mapping[float, float] | Gain | None) -> Gain | None:
    """A table of penalties, checked: above 1, and none higher for a better grade."""
    if penalty is None:
        return None
    if not isinstance(penalty, (Gain, Mapping)):
        raise UsageError(f"{who}: penalty == {penalty!r}, must be a table such as {{1: 4, 2: 3, 3: 2}}")
    made = Gain.of(penalty)
    if made.kind != "table" or made.unlisted:
        raise UsageError(f"{who}: penalty == {made}, must list every grade, as {{1: 4, 2: 3, 3: 2}} does")
    worths = [worth for _, worth in made.table]
    for grade, worth in made.table:
        if not worth > 1:
            raise UsageError(f"{who}: penalty == {worth:g} for grade {grade:g}, must be above 1")
    if worths != sorted(worths, reverse=True):
        raise UsageError(f"{who}: penalty == {made}, a better grade must not have a higher penalty than a lesser one")
    return made


@measure
class WRR(_Penalised):
    r"""Weighted reciprocal rank: one over the rank of the first relevant document, less a part of a rank by its grade.

    .. math:: \frac{1}{r_1 - 1/\beta(g_1)}

    `penalty` is the table of β, above 1 and smallest for the best grade; the larger all are, the nearer is RR. By
    default 2 for the highest grade in the judgments and 1 more for each below (S, A, B: 2, 3, 4). It can exceed 1, and
    how far depends on the penalties and the topic: NWRR is made for averages.
    No relevant documents: 0.
    Reference: Eguchi, Oyama, Ishida, Kando & Kuriyama, Overview of the Web Retrieval Task at the Third NTCIR Workshop,
    2003

    >>> WRR(penalty={1: 4, 2: 3, 3: 2}).of([0, 0, 3])
    0.4
    """

    properties = Properties(graded=True, recall_free=True, diminishing=True, high=np.inf)

    def terms(self, lists: Assessed) -> Terms:
        firsts = first_relevant(lists, self.rel, self.k)
        penalty = self.penalties(firsts.grade, lists)
        return Terms(firsts, 1.0 / (firsts.rank - 1.0 / penalty), 1.0, {"penalty": penalty})


@measure
class NWRR(_Penalised):
    r"""Normalised weighted reciprocal rank: WRR as a share of what the best document of the topic would score on top.

    .. math:: \frac{1 - 1/\beta(g^*)}{r_1 - 1/\beta(g_1)}

    g* is the highest grade that the topic has; `penalty` as for WRR. An earlier rank always counts more than a
    better grade.
    No relevant documents: 0.
    Reference: Sakai, On the Properties of Evaluation Metrics for Finding One Highly Relevant Document, IPSJ
    Transactions on Databases 48(SIG 9), 2007

    >>> NWRR(penalty={1: 4, 2: 3, 3: 2}).of([0, 0, 3])
    0.2
    """

    properties = Properties(graded=True, normalised=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        firsts = first_relevant(lists, self.rel, self.k)
        penalty = self.penalties(firsts.grade, lists)
        best = lists.judged.grade[lists.judged.start[lists.set_of_row[firsts.row]]]
        least = self.penalties(best, lists)
        reached = (1.0 - 1.0 / least) / (firsts.rank - 1.0 / penalty)
        return Terms(firsts, reached, 1.0, {"penalty": penalty, "least penalty": least})


def highest_grade(who: str, max_grade: float | None, lists: Assessed) -> float:
    """The grade that satisfies most: the one given, or the largest in the judgments."""
    found = lists.max_grade
    if max_grade is None:
        return found
    if found > max_grade:
        raise UsageError(f"{who}: max_grade == {max_grade:g}, but the judgments go up to {found:g}")
    return float(max_grade)


def cascade(hits: Hits, grade: Array, highest: Array | float) -> dict[str, Array]:
    """A document of grade g satisfies with probability (2^g − 1) / 2^highest, and who is satisfied stops."""
    satisfied = np.exp2(grade - highest) - np.exp2(-highest)  # (2^grade - 1) / 2^highest, whatever their size
    here = hits.previous(hits.running_product(1.0 - satisfied), first=1.0)
    return {"satisfied": satisfied, "gets here": here, "stops here": satisfied * here}


def note_highest(max_grade: float | None, lists: Assessed) -> str | None:
    """Says which largest grade was taken, if none was given."""
    if max_grade is not None:
        return None
    return f"max_grade = {lists.max_grade:g}, the largest in the judgments"


def check_highest(who: str, max_grade: float | None) -> None:
    """Complain about a largest grade that is none."""
    if max_grade is not None:
        check.finite(who, max_grade=max_grade)
        check.positive(who, max_grade=max_grade)


@measure
class ERR(Measure):
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
        check_highest(self.name, self.max_grade)

    def terms(self, lists: Assessed) -> Terms:
        hits, grade = gained(lists, LINEAR, self.k)
        columns = cascade(hits, grade, highest_grade(self.name, self.max_grade, lists))
        return Terms(hits, columns["stops here"] / hits.rank, 1.0, columns)

    def note(self, lists: Assessed) -> str | None:
        return note_highest(self.max_grade, lists)


@measure
class nERR(Measure):
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
        check_highest(self.name, self.max_grade)

    def terms(self, lists: Assessed) -> Terms:
        hits, grade = gained(lists, LINEAR, self.k)
        highest = highest_grade(self.name, self.max_grade, lists)
        columns = cascade(hits, grade, highest)
        best = lists._once(("ideal ERR", highest, self.k), lambda: self.ideal(lists, highest))
        return Terms(hits, columns["stops here"] / hits.rank, best, columns)

    def ideal(self, lists: Assessed, highest: float) -> Array:
        ideal = lists.ideal(LINEAR)
        return ideal.sum(cascade(ideal.hits, ideal.gain, highest)["stops here"] / ideal.hits.rank, self.k)

    def note(self, lists: Assessed) -> str | None:
        return note_highest(self.max_grade, lists)
