"""Ranked lists, one good document: measures for a reader who stops, or is likely to stop, at a good document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.changed_lists.prefixes import Prefixes
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.declarations import NotNegative, Positive
from cranfield.measures.gain import EXP, LINEAR, Gain, GainLike, gained
from cranfield.measures.ranked_lists.graded import Q
from cranfield.notes import method_note
from cranfield.types import Array, Index


@measure
class RR(Measure):
    r"""Reciprocal rank: one over the rank of the first relevant document.

    .. math:: 1 / r_1

    The score is 0 if no relevant document is retrieved (`@l`: among the first l).
    No relevant documents: 0.
    Reference: Kantor & Voorhees, Information Retrieval 2, 2000, doi:10.1023/A:1009902609570

    >>> RR().of([0, 0, 1])
    0.3333333333333333
    """

    rel: float = 1

    aliases = ("MRR", "recip_rank")
    top_down = True
    properties = Properties(normalised=True, recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        firsts = first_relevant(lists, self.rel, self.k)
        return Terms(firsts, 1.0 / firsts.rank, 1.0, {"reciprocal rank": 1.0 / firsts.rank})

    def cwl_settings(self) -> dict[str, Any] | None:
        return {"continuation": "RR", "gain": None, "rel": self.rel}


def first_relevant(lists: Assessed, rel: float, cutoff: int | None) -> Hits:
    """The first relevant document (rank r1) of every list that has one down to the cutoff."""

    def find() -> Hits:
        hits = lists.relevant(rel)
        begin = hits.start[:-1]
        return hits.at(begin[begin < hits.start[1:]])

    firsts = lists._once(("first relevant", rel), find)
    return firsts if cutoff is None else firsts.where(firsts.rank <= cutoff)


def preferred(hits: Hits) -> NDArray[np.int64]:
    """The index of each list's preferred document among the hits: the first with the best grade in the list (rank rp).

    Lists without hits have no entry.

    >>> preferred(Assessed.one([1, 0, 3, 3]).relevant()).tolist()
    [1]
    """
    best = np.full(hits.rows, -np.inf)
    np.maximum.at(best, hits.row, hits.grade)
    among_best = np.flatnonzero(hits.grade == best[hits.row])
    return among_best[np.diff(hits.row[among_best], prepend=-1) > 0]


def down_to_preferred(hits: Hits) -> tuple[NDArray[np.bool_], Array]:
    """Which hits are at or above the preferred document of their list, and their number C(rp) for each list.

    >>> down_to_preferred(Assessed.one([1, 0, 3, 3]).relevant())
    (array([ True,  True, False]), array([2.]))
    """
    at = preferred(hits)
    count = np.zeros(hits.rows)
    count[hits.row[at]] = hits.nth[at]
    return hits.nth <= count[hits.row], count


def at_preferred(hits: Hits, values: Array) -> Array:
    """`values` at the preferred document of one list cut after each rank; `hits` are those of `Prefixes`."""
    if not len(hits):
        return np.zeros(hits.rows)
    best = np.maximum.accumulate(hits.grade)
    better = np.concatenate(([True], hits.grade[1:] > best[:-1]))
    at = np.maximum.accumulate(np.where(better, np.arange(len(hits)), 0))
    return hits.last(values[at])


class _BlendedRatio(Measure):
    """The base class of O, P-measure and P+: Q's blended ratio at some of the relevant documents."""

    beta: NotNegative = 1
    rel: float = 1
    gain: GainLike = LINEAR

    def ratios(self, lists: Assessed) -> Terms:
        """The blended ratio at every relevant document down to the cutoff."""
        return Q(beta=self.beta, rel=self.rel, gain=self.gain, cutoff=self.cutoff).terms(lists)


def _only(terms: Terms, at: NDArray[np.integer], over: Array | float = 1.0) -> Terms:
    columns = {name: values[at] for name, values in terms.columns.items()}
    return Terms(terms.hits.at(at), terms.adds[at], over, columns)


@measure
class O(_BlendedRatio):  # noqa: E742 - the letter is what the literature calls it
    r"""O-measure: the blended ratio at the first relevant document, a reciprocal rank that uses grades.

    .. math:: BR(r_1) = \frac{1 + \beta\,g(r_1)}{r_1 + \beta\,cg^*(r_1)}

    The score is 0 if no relevant document is retrieved (`@l`: among the first l). `beta` is as for Q. With binary
    relevance it is 1/r1 if r1 ≤ R, and more beyond.
    No relevant documents: 0.
    Reference: Sakai, On the Task of Finding One Highly Relevant Document with High Precision, IPSJ Transactions on
    Databases 47(SIG 4), 2006

    >>> O().of([0, 0, 3])
    0.6666666666666666
    """

    aliases = ("O-measure", "Omeasure")
    top_down = True
    properties = Properties(graded=True, normalised=True)

    def declares(self, default: Properties) -> Properties:
        return default.replace(graded=self.beta > 0)

    def terms(self, lists: Assessed) -> Terms:
        ratios = self.ratios(lists)
        return _only(ratios, np.flatnonzero(ratios.hits.nth == 1))


@measure
class Pmeasure(_BlendedRatio):
    r"""P-measure: the blended ratio at the preferred rank, the rank of the first document with the list's best grade.

    .. math:: BR(r_p) = \frac{C(r_p) + \beta\,cg(r_p)}{r_p + \beta\,cg^*(r_p)}

    The reader goes on past lesser documents to one of the best. `@l` cuts the list before the preferred rank is found.
    `beta` is as for Q. The score is 0 if no relevant document is retrieved. It can be 1 although lesser documents come
    before the best one (P+ is then below 1). Moving the best document up past a lesser one can lower the score, because
    the lesser document no longer counts.
    No relevant documents: 0.
    Reference: Sakai, Give Me Just One Highly Relevant Document: P-measure, SIGIR 2006

    >>> Pmeasure().of([1, 3], missed=[2])
    0.8571428571428571
    """

    aliases = ("P-measure",)
    properties = Properties(graded=True, normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        ratios = self.ratios(lists)
        return _only(ratios, preferred(ratios.hits))

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        ratios = self.ratios(Prefixes.of(lists, ranks))
        return at_preferred(ratios.hits, ratios.adds)


@measure
class Pplus(_BlendedRatio):
    r"""P+: the blended ratio averaged over the relevant documents down to the preferred rank.

    .. math:: \frac{1}{C(r_p)} \sum_{r \le r_p} I(r)\,BR(r),
        \qquad BR(r) = \frac{C(r) + \beta\,cg(r)}{r + \beta\,cg^*(r)}

    The preferred rank is that of the first document with the list's best grade; `@l` cuts the list before it is found.
    `beta` is as for Q. The score is 0 if no relevant document is retrieved. Moving the best document up past a lesser
    one can lower the score, because the lesser document no longer counts.
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
        ratios = self.ratios(lists)
        counts, count = down_to_preferred(ratios.hits)
        return _only(ratios, np.flatnonzero(counts), np.maximum(count, 1.0))

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        ratios = self.ratios(Prefixes.of(lists, ranks))
        return at_preferred(ratios.hits, ratios.hits.running(ratios.adds) / ratios.hits.nth)


ENDLESS = "inf"
"""The penalty of every grade that makes WRR and NWRR the reciprocal rank."""


class _Penalised(Measure):
    """The base class of WRR and NWRR: the first relevant document, and a penalty β for each grade."""

    penalty: Mapping[float, float] | Gain | float | str | None = None
    rel: float = 1

    def normalised(self) -> dict[str, Any]:
        penalty = self.penalty
        if isinstance(penalty, Mapping):
            return {"penalty": Gain.of(penalty, "penalty", finite=False)}
        return {"penalty": ENDLESS if penalty == math.inf else penalty}

    def check(self) -> None:
        """Penalties are above 1, and a better grade has no higher penalty."""
        penalty, example = self.penalty, "{1: 4, 2: 3, 3: 2}"
        if penalty is None or penalty == ENDLESS:
            return
        if not isinstance(penalty, Gain):
            raise UsageError(f"{self.name}: penalty == {penalty!r}, must be a table such as {example}, or {ENDLESS}")
        if penalty.kind != "table" or penalty.unlisted:
            raise UsageError(f"{self.name}: penalty == {penalty}, must list every grade, as {example} does")
        for grade, worth in penalty.table:
            if not worth > 1:
                raise UsageError(f"{self.name}: penalty == {worth:g} for grade {grade:g}, must be above 1")
        worths = [worth for _, worth in penalty.table]
        if worths != sorted(worths, reverse=True):
            raise UsageError(f"{self.name}: penalty == {penalty}, a better grade must not have a higher penalty")

    def penalties(self, grade: Array, lists: Assessed) -> Array:
        if isinstance(self.penalty, Gain):
            return self.penalty(grade)
        return np.full(len(grade), np.inf) if self.penalty == ENDLESS else 2.0 + lists.max_grade - grade

    def note(self, lists: Assessed) -> str | None:
        if self.penalty is not None:
            return None
        return method_note(
            f"penalty 2 for grade {lists.max_grade:g}, the largest in the judgments, and 1 more for each grade below"
        )


@measure
class WRR(_Penalised):
    r"""Weighted reciprocal rank: one over the rank of the first relevant document, reduced by a fraction for its grade.

    .. math:: \frac{1}{r_1 - 1/\beta(g_1)}

    `penalty` is the table of β: above 1, and smallest for the best grade. The larger the penalties, the closer the
    score to RR; `penalty="inf"`, which NTCIR's Web track used, is RR. The default is 2 for the highest grade in the
    judgments and 1 more for each grade below (S, A, B: 2, 3, 4). Scores can exceed 1, by an amount that depends on the
    topic; use NWRR for averages.
    No relevant documents: 0.
    Reference: Eguchi, Oyama, Ishida, Kando & Kuriyama, Overview of the Web Retrieval Task at the Third NTCIR Workshop,
    2003

    >>> WRR(penalty={1: 4, 2: 3, 3: 2}).of([0, 0, 3])
    0.4
    """

    top_down = True
    properties = Properties(graded=True, recall_free=True, diminishing=True, high=np.inf)

    def terms(self, lists: Assessed) -> Terms:
        firsts = first_relevant(lists, self.rel, self.k)
        penalty = self.penalties(firsts.grade, lists)
        return Terms(firsts, 1.0 / (firsts.rank - 1.0 / penalty), 1.0, {"penalty": penalty})


@measure
class NWRR(_Penalised):
    r"""Normalised weighted reciprocal rank: WRR divided by the WRR of the topic's best document at rank 1.

    .. math:: \frac{1 - 1/\beta(g^*)}{r_1 - 1/\beta(g_1)}

    g* is the topic's highest grade; `penalty` is as for WRR. An earlier rank always counts more than a better grade.
    No relevant documents: 0.
    Reference: Sakai, On the Properties of Evaluation Metrics for Finding One Highly Relevant Document, IPSJ
    Transactions on Databases 48(SIG 9), 2007

    >>> NWRR(penalty={1: 4, 2: 3, 3: 2}).of([0, 0, 3])
    0.2
    """

    top_down = True
    properties = Properties(graded=True, normalised=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        firsts = first_relevant(lists, self.rel, self.k)
        penalty = self.penalties(firsts.grade, lists)
        best = lists.judged.grade[lists.judged.start[lists.set_of_row[firsts.row]]]
        least = self.penalties(best, lists)
        reached = (1.0 - 1.0 / least) / (firsts.rank - 1.0 / penalty)
        return Terms(firsts, reached, 1.0, {"penalty": penalty, "least penalty": least})


def highest_grade(caller: str, max_grade: float | None, lists: Assessed) -> float:
    """`max_grade`, or the largest grade in the judgments if it is None."""
    if max_grade is None:
        return lists.max_grade
    if lists.max_grade > max_grade:
        raise UsageError(f"{caller}: max_grade == {max_grade:g}, but the judgments go up to {lists.max_grade:g}")
    return float(max_grade)


@dataclass(frozen=True)
class Satisfaction:
    """The probability that a document satisfies a reader, by its grade: `probability` of ERR, up to grade `highest`."""

    probability: Gain
    highest: float

    def __call__(self, grade: Array) -> Array:
        if self.probability.kind == "table":
            return self.probability(grade)
        return _satisfied(np.maximum(grade, 0.0), self.highest, self.probability.kind)


def _satisfied(grade: Array, highest: Array | float, kind: str = "exp") -> Array:
    if kind == "linear":
        return np.asarray(grade / (highest + 1.0))
    return np.asarray(np.exp2(grade - highest) - np.exp2(-highest))  # (2^grade - 1) / 2^highest without overflow


def check_satisfaction(caller: str, probability: GainLike) -> None:
    """Raise an error if a table gives something that is not a probability."""
    for grade, chance in Gain.of(probability).table:
        if not 0 <= chance <= 1:
            raise UsageError(f"{caller}: probability == {chance:g} for grade {grade:g}, must be between 0 and 1")


def cascade(hits: Hits, grade: Array, highest: Array | float) -> dict[str, Array]:
    """ERR's model: a document of grade g satisfies with probability (2^g − 1) / 2^highest; satisfied readers stop."""
    return stopping(hits, _satisfied(grade, highest))


def stopping(hits: Hits, satisfied: Array) -> dict[str, Array]:
    """Where readers stop who go down the list until a document satisfies them; one probability per hit."""
    reached = hits.previous(hits.running_product(1.0 - satisfied), first=1.0)
    return {"satisfied": satisfied, "gets here": reached, "stops here": satisfied * reached}


def _unsatisfied(satisfied: Array) -> Array:
    """Minus the logarithm of the probability that a reader goes on: it adds up along a list."""
    return -np.log1p(-np.minimum(satisfied, 1.0 - np.finfo(np.float64).eps))


def _stops_between(before: Array, after: Array, rank: Index) -> Array:
    """The probability to stop between two such sums, divided by the rank."""
    return np.asarray((np.exp(-before) - np.exp(-after)) / rank)


def note_max_grade(max_grade: float | None, lists: Assessed) -> str | None:
    """The note that the largest grade was taken from the judgments, if it was."""
    return method_note(f"max_grade = {lists.max_grade:g}, the largest in the judgments") if max_grade is None else None


class _Cascade(Measure):
    """The base class of ERR and nERR: a reader who goes down the list until a document satisfies."""

    max_grade: Positive | None = None
    probability: GainLike = EXP

    def check(self) -> None:
        check_satisfaction(self.name, self.probability)

    def satisfaction(self, lists: Assessed) -> Satisfaction:
        """The probability that a document satisfies, by its grade."""
        return Satisfaction(Gain.of(self.probability), highest_grade(self.name, self.max_grade, lists))

    def terms(self, lists: Assessed) -> Terms:
        probability = Gain.of(self.probability)
        hits, _ = gained(lists, probability if probability.table else LINEAR, self.k)
        columns = stopping(hits, self.satisfaction(lists)(hits.grade))
        return Terms(hits, columns["stops here"] / hits.rank, 1.0, columns)

    def note(self, lists: Assessed) -> str | None:
        return None if Gain.of(self.probability).table else note_max_grade(self.max_grade, lists)


@measure
class ERR(_Cascade):
    r"""Expected reciprocal rank of the document that satisfies a reader who goes down the list.

    .. math:: \sum_r \frac{1}{r}\, p_r \prod_{k<r}(1 - p_k), \qquad p_r = \frac{2^{g_r} - 1}{2^{g_{\max}}}

    `max_grade` is the highest possible grade, by default the highest in the judgments; set it to compare scores across
    collections (gdeval uses 4). `probability` says how likely a document of grade g is to satisfy: `"exp"` as above,
    `"linear"` g / (g_max + 1), as NTCIREVAL does, or a table such as {1: 0.3, 2: 0.9}.
    No relevant documents: 0.
    Reference: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009, doi:10.1145/1645953.1646033

    >>> ERR(max_grade=3).of([3, 3])
    0.9296875
    """

    top_down = True
    properties = Properties(graded=True, recall_free=True, diminishing=True)


@measure
class nERR(_Cascade):
    r"""Normalised expected reciprocal rank: ERR divided by the ERR of the ideal list.

    .. math:: \frac{ERR}{ERR^*}

    `max_grade` and `probability` are as for ERR; `@l` cuts the ideal list too.
    No relevant documents: undefined.
    Reference: Clarke, Craswell, Soboroff & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> nERR().of([1, 0, 0])
    1.0
    """

    top_down = True
    properties = Properties(graded=True, normalised=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        satisfaction = self.satisfaction(lists)
        ideal = lists.ideal(satisfaction)
        best = lists._once(
            ("ideal ERR", satisfaction, self.k),
            lambda: ideal.best_sum(
                stopping(ideal.hits, ideal.gain)["stops here"] / ideal.hits.rank, self.k, _stops_between, _unsatisfied
            ),
        )
        return replace(super().terms(lists), over=best)
