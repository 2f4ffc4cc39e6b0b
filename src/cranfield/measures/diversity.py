"""Measures for topics that may mean several things: is something there for every intent, and is it not repeated?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed import Array, Assessed, Hits, Index
from cranfield.errors import UsageError
from cranfield.intents import ByIntent, Relevant, intents_of, relevant_to_intents
from cranfield.measures.base import Measure, Properties, Terms, divide, measure
from cranfield.measures.first import ERR, Pplus, cascade, check_highest, highest_grade, note_highest
from cranfield.measures.gain import LINEAR, Discount, GainLike
from cranfield.measures.ranked import Q
from cranfield.measures.sets import looked_at, ones

GREEDY = math.e / (math.e - 1)
"""How far a list can be above the greedy ideal list: gains are submodular, and discounts fall with the rank."""


class DiversityMeasure(Measure):
    """What measures of diversity share: they need intents."""

    needs: ClassVar[str] = "intents"


@measure
class IRec(DiversityMeasure):
    r"""Intent recall: the share of a topic's intents to which some retrieved document is relevant.

    .. math:: \frac{1}{|\{i\}|} \sum_{r \le l} newint(r)

    newint(r) counts the intents to which the document at rank r is relevant and none above it is. With one intent it
    is Success.
    No relevant documents: undefined.
    Reference: Zhai, Cohen & Lafferty, SIGIR 2003, doi:10.1145/860435.860440

    >>> IRec().of([{"a": 1}, {"a": 1}, {"b": 1}], missed=[{"c": 1}])
    0.6666666666666666
    """

    rel: float = 1

    name = "I-rec"
    aliases = ("IRec", "StRecall", "strec", "S-rec")
    properties = Properties(normalised=True, recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        found = relevant_to_intents(lists, self.rel, self.k)
        so_far = found.hits.running(found.new)
        return Terms(
            found.hits,
            found.new,
            number_of_intents(lists, self.rel),
            {"new intents": found.new, "intents so far": so_far},
        )


def number_of_intents(lists: Assessed, rel: float = 1) -> Array:
    """How many intents the topic of each list has to which some judged document is relevant."""
    return np.asarray(intents_of(lists).above(rel).judged_count[lists.topic], dtype=np.float64)


# -- novelty-biased gains: a document that repeats an intent counts (1 - alpha) times as much as the one before


def novelty(found: Relevant, alpha: float) -> dict[str, Array]:
    """What each relevant document gains when an intent is worth 1 − alpha times as much every time it comes back."""
    remaining = (1.0 - alpha) ** np.arange(int(found.before.max(initial=0)) + 1)
    return {
        "new intents": found.new,
        "intents so far": found.hits.running(found.new),
        "novelty-biased gain": found.per_hit(np.asarray(remaining[found.before], dtype=np.float64)),
    }


Weight = Callable[[Index], Array]
"""What a gain at a rank counts."""


def log_discount(rank: Index) -> Array:
    return 1.0 / Discount("log2")(rank)


def reciprocal(rank: Index) -> Array:
    return 1.0 / rank


class _Novelty(DiversityMeasure):
    """A sum over ranks of novelty-biased gain times a weight of the rank."""

    alpha: float = 0.5
    rel: float = 1

    def check(self) -> None:
        check.between(self.name, low=0, high=1, alpha=self.alpha)

    def weight(self, rank: Index) -> Array:
        raise NotImplementedError

    @property
    def depth(self) -> int | None:
        """Down to where ranks count."""
        return self.k

    def discounted(self, lists: Assessed) -> tuple[Hits, Array, dict[str, Array]]:
        found = relevant_to_intents(lists, self.rel, self.depth)
        key = ("novelty", self.rel, self.alpha, self.depth)
        columns = dict(lists._once(key, lambda: novelty(found, self.alpha)))
        columns["weight"] = self.weight(found.hits.rank)
        return found.hits, columns["novelty-biased gain"] * columns["weight"], columns

    def ideal_sum(self, lists: Assessed, ideal: str = "greedy") -> Array:
        """What the ideal list of each row's topic scores."""
        topics = np.unique(lists.topic)
        best = np.zeros(len(lists.topics))
        for topic in topics.tolist():
            if ideal == "exact":
                matrix = relevance_matrix(lists, topic, self.rel)
                best[topic] = exact_ideal(matrix, self.alpha, self.weight, self.depth, lists.topics[topic])
            else:
                gains = greedy_ideal(lists, topic, self.rel, self.alpha).gains(self.depth)
                best[topic] = gains @ self.weight(np.arange(1, len(gains) + 1))
        return best[lists.topic]


def relevance_matrix(lists: Assessed, topic: int, rel: float) -> Array:
    """1 where a judged document (column, names in descending order) is relevant to an intent (row) of the topic."""

    def make() -> Array:
        every = intents_of(lists)
        some = every.above(rel)
        begin, end = np.searchsorted(every.topic_of_document, [topic, topic + 1])
        here = slice(some.document_start[begin], some.document_start[end])
        matrix = np.zeros((int(every.count[topic]), end - begin))
        matrix[some.nth[some.intent[here]], end - 1 - some.document[here]] = 1.0
        return matrix[:, matrix.any(axis=0)]

    return lists._once(("relevance matrix", topic, rel), make)


class GreedyIdeal:
    """The list that takes the document that gains most at every rank, of equal ones the first column.

    >>> GreedyIdeal(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), 0.5).gains().tolist()
    [2.0, 0.5, 0.5]
    """

    def __init__(self, matrix: Array, alpha: float) -> None:
        self.lasting = 1.0 - alpha
        self.left = matrix.copy()
        self.worth = np.ones(len(matrix))
        self.score = matrix.sum(axis=0)
        self.found: list[float] = []

    def gains(self, depth: int | None = None) -> Array:
        """Its novelty-biased gains down to a rank; what is known from before is not looked for again."""
        length = min(depth or self.left.shape[1], self.left.shape[1])
        while len(self.found) < length:
            self._next()
        return np.array(self.found[:length])

    def _next(self) -> None:
        near = (self.score >= self.score.max() - 1e-9).nonzero()[0]
        columns = self.left[:, near]
        exact = np.add.reduce(columns * self.worth[:, None], axis=0)  # intent by intent, as ndeval adds them
        at = exact.argmax()
        served = columns[:, at].nonzero()[0]
        self.found.append(float(exact[at]))
        self.score -= (self.worth[served] * (1.0 - self.lasting)) @ self.left[served]  # near enough to choose by
        self.worth[served] *= self.lasting
        self.left[:, near[at]] = 0.0
        self.score[near[at]] = 0.0


def greedy_ideal(lists: Assessed, topic: int, rel: float, alpha: float) -> GreedyIdeal:
    """The greedy ideal list of a topic, the same for all measures."""
    key = ("greedy ideal", topic, rel, alpha)
    return lists._once(key, lambda: GreedyIdeal(relevance_matrix(lists, topic, rel), alpha))


STATES = 1 << 16
"""An exact ideal list is looked for among this many sets of documents, at most."""


def exact_ideal(matrix: Array, alpha: float, weight: Weight, depth: int | None, topic: str) -> float:
    """The best that any order of the documents can score.

    What a document gains depends only on which ones stand above it, so the best score of every set of documents comes
    from that of the sets with one document less. Documents relevant to the same intents are not told apart.
    """
    kinds, many = np.unique(matrix.T, axis=0, return_counts=True)
    states = math.prod(int(n) + 1 for n in many)
    if states > STATES:
        raise UsageError(
            f"topic {topic!r}: ideal == 'exact' has {matrix.shape[1]} relevant documents to put in order, too many: "
            f"{states:.3g} sets of them, at most {STATES:,}; use ideal='greedy'"
        )
    stride = np.concatenate(([1], np.cumprod(many + 1)[:-1])).astype(np.int64)
    taken = np.arange(states)[:, None] // stride % (many + 1)
    gain = (1.0 - alpha) ** (taken @ kinds) @ kinds.T  # of each kind of document, after each set
    size = taken.sum(axis=1)
    length = min(depth or matrix.shape[1], matrix.shape[1])
    weights = weight(np.arange(1, length + 1))
    best = np.zeros(states)
    for count in range(1, length + 1):
        here = np.flatnonzero(size == count)
        for kind in range(len(kinds)):
            last = here[taken[here, kind] > 0]
            before = last - stride[kind]
            best[last] = np.maximum(best[last], best[before] + gain[before, kind] * weights[count - 1])
    return float(best[size == length].max(initial=0.0))


@measure
class AlphaDCG(_Novelty):
    r"""Discounted cumulative gain in which an intent counts less every time a document repeats it.

    .. math:: \sum_{r \le l} \frac{ng(r)}{\log_2(r + 1)}, \qquad ng(r) = \sum_i I_i(r) (1 - \alpha)^{C_i(r-1)}

    I_i(r) is 1 if the document at rank r is relevant to intent i, C_i(r) counts these down to r; grades and intent
    probabilities do not count. `alpha` is how little a repetition is worth. `dialect="ndeval"` divides by the score of
    documents that are all relevant to all intents, as ndeval does (which forgets to at l = 1).
    No relevant documents: 0.
    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008,
    doi:10.1145/1390334.1390446

    >>> AlphaDCG().of([{"a": 1, "b": 1}, None, {"a": 1}])
    2.25
    """

    dialect: str = "plain"

    name = "alpha-DCG"
    aliases = ("AlphaDCG", "alpha_DCG", "α-DCG")
    properties = Properties(recall_free=True, diminishing=True, high=np.inf)

    def check(self) -> None:
        super().check()
        check.one_of(self.name, ("plain", "ndeval"), dialect=self.dialect)

    def weight(self, rank: Index) -> Array:
        return log_discount(rank)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        over = 1.0 if self.dialect == "plain" else number_of_intents(lists, self.rel) * all_relevant(self)
        return Terms(hits, adds, np.where(np.equal(over, 0), 1.0, over), columns)


DEEPEST = 10_000_000
"""Down to where the weights of all ranks are added up."""


def all_relevant(measure: _Novelty) -> float:
    """What one intent would score if every document were relevant to it."""
    lasting = 1.0 - measure.alpha
    deepest = 1 if lasting == 0 else int(60 / -math.log2(lasting)) + 1 if lasting < 1 else math.inf
    deepest = min(deepest, measure.k or deepest)
    if deepest > DEEPEST:
        raise UsageError(
            f"{measure}: with alpha == {measure.alpha:g} the scores to divide by are sums over too many ranks; give a "
            f"cutoff, {DEEPEST:,} at most"
        )
    rank = np.arange(1, int(deepest) + 1)
    return float(lasting ** (rank - 1.0) @ measure.weight(rank))


@measure
class AlphaNDCG(_Novelty):
    r"""Discounted cumulative gain in which an intent counts less every time, as a share of the ideal list's.

    .. math:: \frac{\sum_{r \le l} ng(r) / \log_2(r + 1)}{\sum_{r \le l} ng^*(r) / \log_2(r + 1)}

    ng(r) and `alpha` as for alpha-DCG. To find the ideal list is NP-complete: by default it takes the document that
    gains most at every rank, of equal ones the one whose name comes last, as ndeval does. A list can be better than
    that and score above 1. `ideal="exact"` finds the best list of a topic with few relevant documents (some 16 that
    differ in their intents) and refuses others.
    No relevant documents: undefined.
    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008,
    doi:10.1145/1390334.1390446

    >>> AlphaNDCG().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    ideal: str = "greedy"

    name = "alpha-nDCG"
    aliases = ("AlphaNDCG", "alpha_nDCG", "α-nDCG", "alpha-NDCG")
    properties = Properties(normalised=True, diminishing=True, high=GREEDY)

    def check(self) -> None:
        super().check()
        check.one_of(self.name, ("greedy", "exact"), ideal=self.ideal)

    def weight(self, rank: Index) -> Array:
        return log_discount(rank)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, self.ideal_sum(lists, self.ideal), columns)


class _RankBiased(_Novelty):
    """What NRBP and nNRBP share: a reader who goes on to the next document with probability beta."""

    beta: float = 0.5

    def check(self) -> None:
        super().check()
        if not 0 <= self.beta < 1:
            raise UsageError(f"{self.name}: beta == {self.beta!r}, must be 0 or above, and below 1")

    def weight(self, rank: Index) -> Array:
        return np.asarray(self.beta ** (rank - 1.0))

    @property
    def depth(self) -> int | None:
        """Beyond this rank all weights together are below what a sum of doubles can tell."""
        deepest = 1 if self.beta == 0 else int((64 - math.log2(1 - self.beta)) / -math.log2(self.beta)) + 1
        return min(deepest, self.k or deepest)


@measure
class NRBP(_RankBiased):
    r"""Novelty- and rank-biased precision: RBP in which an intent counts less every time a document repeats it.

    .. math:: \frac{1 - (1 - \alpha)\beta}{|\{i\}|} \sum_r \beta^{r-1} \sum_i I_i(r) (1 - \alpha)^{C_i(r-1)}

    `alpha` as for alpha-DCG; `beta` is the chance that the reader goes on to the next document. It is 1 for documents
    that are all relevant to all intents. ndeval's, who knows no cutoff.
    No relevant documents: undefined.
    Reference: Clarke, Kolla & Vechtomova, ICTIR 2009, doi:10.1007/978-3-642-04417-5_17

    >>> NRBP().of([{"a": 1, "b": 1}])
    0.75
    """

    properties = Properties(recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, number_of_intents(lists, self.rel) / (1.0 - (1.0 - self.alpha) * self.beta), columns)


@measure
class nNRBP(_RankBiased):
    r"""Novelty- and rank-biased precision as a share of the ideal list's.

    .. math:: \frac{NRBP}{NRBP^*}

    `alpha` and `beta` as for NRBP; the ideal list is the greedy one of alpha-nDCG, so scores above 1 are possible.
    No relevant documents: undefined.
    Reference: Clarke, Kolla & Vechtomova, ICTIR 2009, doi:10.1007/978-3-642-04417-5_17

    >>> nNRBP().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    properties = Properties(normalised=True, diminishing=True, high=GREEDY)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, self.ideal_sum(lists), columns)


# -- expected reciprocal rank over intents


@measure
class ERRIA(_Novelty):
    r"""Expected reciprocal rank, averaged over the intents by their probability.

    .. math:: \sum_i Pr(i|q)\,ERR_i

    ERR of each intent with its own grades; `max_grade` as for ERR. `dialect="ndeval"` is what TREC's tool prints: it
    knows neither grades nor probabilities, a relevant document satisfies with probability `alpha`, and the score is
    divided by that of documents that are all relevant to all intents (the tool forgets to at l = 1). With alpha = 1/2
    and grades of 0 and 1 that is the average of ERR, over Σ 2^−r / r down to l.
    No relevant documents: undefined.
    Reference: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009, doi:10.1145/1645953.1646033; Clarke, Craswell, Soboroff
    & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> ERRIA().of([{"a": 1}, {"b": 1}])
    0.375
    """

    dialect: str = "graded"
    max_grade: float | None = None

    name = "ERR-IA"
    aliases = ("ERRIA", "ERR_IA")
    properties = Properties(graded=True, recall_free=True, diminishing=True, intent_probabilities=True)

    def check(self) -> None:
        super().check()
        check.one_of(self.name, ("graded", "ndeval"), dialect=self.dialect)
        check_highest(self.name, self.max_grade)

    def weight(self, rank: Index) -> Array:
        return reciprocal(rank)

    def terms(self, lists: Assessed) -> Terms | None:
        if self.dialect == "graded":
            return averaged(ERR(max_grade=self.max_grade, cutoff=self.cutoff), lists)
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, number_of_intents(lists, self.rel) * all_relevant(self), columns)

    def note(self, lists: Assessed) -> str | None:
        return note_highest(self.max_grade, lists) if self.dialect == "graded" else None


def averaged(measure: Measure, lists: Assessed) -> Terms | None:
    """What each document adds to the measure's average over intents: a sum over the intents it counts for.

    None where the measure is no sum over documents.
    """
    apart = ByIntent().read(lists, measure.k if measure.cutoff_kind == "rank" else None)
    terms = measure.terms(apart)
    if terms is None:
        return None
    hits, adds = together(lists, apart, terms.hits, shares(terms))
    return Terms(hits, adds, some_intents(lists), {"intents": hits.grade})


def shares(terms: Terms) -> Array:
    """What each hit adds to the score, divided as the score is; 0 where that is not defined."""
    return np.nan_to_num(divide(terms.adds, np.broadcast_to(terms.over, terms.hits.rows)[terms.hits.row]))


def some_intents(lists: Assessed) -> Array:
    """1 for lists of topics that have intents, 0 for others, where an average over intents is not defined."""
    return (number_of_intents(lists) > 0).astype(np.float64)


def together(lists: Assessed, apart: Assessed, hits: Hits, values: Array) -> tuple[Hits, Array]:
    """Values at hits of the lists by intent, in any order, put together: the documents (their grade is the number of
    intents), and Σ Pr(i|q) value for each."""
    values = values * intents_of(lists).probability[apart.set_of_row[hits.row]]
    deepest = int(lists.rank.max(initial=0)) + 1
    place, of = np.unique(ByIntent.parents(lists)[hits.row] * deepest + hits.rank, return_inverse=True)
    many = np.bincount(of, minlength=len(place)).astype(np.float64)
    total = np.asarray(np.bincount(of, values, len(place)), dtype=np.float64)
    return Hits(lists.rows, place // deepest, place % deepest, many), total


@measure
class nERRIA(_Novelty):
    r"""Expected reciprocal rank over intents as a share of the ideal list's.

    .. math:: \frac{\sum_{r \le l} ng(r) / r}{\sum_{r \le l} ng^*(r) / r}

    ng(r) and `alpha` as for alpha-DCG, and the same greedy ideal list, so scores above 1 are possible. As ndeval
    defines it: neither grades nor probabilities count. The average over intents of ERR as a share of each intent's own
    ideal list is `nERR[IA]`.
    No relevant documents: undefined.
    Reference: Clarke, Craswell, Soboroff & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> nERRIA().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    name = "nERR-IA"
    aliases = ("nERRIA", "nERR_IA")
    properties = Properties(normalised=True, diminishing=True, high=GREEDY)

    def weight(self, rank: Index) -> Array:
        return reciprocal(rank)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, self.ideal_sum(lists), columns)


# -- by the type of intent


@measure
class PplusQ(DiversityMeasure):
    r"""Q for informational intents and P+ for navigational ones, averaged over the intents by their probability.

    .. math:: \sum_i Pr(i|q)\,Q_i@l + \sum_j Pr(j|q)\,P^+_j

    `beta` and `norm` as for Q; the preferred rank of P+ is found after cutting at l. Without navigational intents it is
    Q-IA. With intent recall beside it, it is `P+Q#`.
    No relevant documents: undefined.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012

    >>> (PplusQ @ 3).of([{"a": 1}, None, {"b": 1}])  # 1 for a, 2/(3 + 1) for b
    0.75
    """

    beta: float = 1
    rel: float = 1
    gain: GainLike = LINEAR
    norm: str = "min"

    name = "P+Q"
    aliases = ("PplusQ",)
    properties = Properties(graded=True, intent_probabilities=True)

    def check(self) -> None:
        check.not_negative(self.name, beta=self.beta)
        check.one_of(self.name, ("R", "min"), norm=self.norm)

    def terms(self, lists: Assessed) -> Terms:
        apart = ByIntent(lowest=self.rel).read(lists, self.k)
        shared: dict[str, Any] = {"beta": self.beta, "rel": self.rel, "gain": self.gain, "cutoff": self.cutoff}
        navigational = intents_of(lists).navigational[apart.set_of_row]
        informational, plus = Q(norm=self.norm, **shared).terms(apart), Pplus(**shared).terms(apart)
        here, there = ~navigational[informational.hits.row], navigational[plus.hits.row]
        row = np.concatenate((informational.hits.row[here], plus.hits.row[there]))
        rank = np.concatenate((informational.hits.rank[here], plus.hits.rank[there]))
        value = np.concatenate((shares(informational)[here], shares(plus)[there]))
        hits, adds = together(lists, apart, Hits(apart.rows, row, rank, value), value)
        return Terms(hits, adds, some_intents(lists), {"intents": hits.grade})


@measure
class EfP(DiversityMeasure):
    r"""Effective precision: the share of documents that are relevant to an intent and not redundant.

    .. math:: \frac{1}{l} \sum_{r \le l} \max\Big(\max_i I_i(r),\ \max_j isnew_j(r) I_j(r)\Big)

    For an informational intent i every relevant document counts, for a navigational intent j only the first one. It is
    a yardstick for other measures: neither ranks, grades nor probabilities count. Divides as P does.
    No relevant documents: 0.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012

    >>> (EfP @ 5).of([{"a": 1}, {"a": 3}, None, None, {"a": 2}])
    0.6
    """

    rel: float = 1

    name = "Ef-P"
    aliases = ("EfP",)
    properties = Properties(recall_free=True)

    def terms(self, lists: Assessed) -> Terms:
        found = relevant_to_intents(lists, self.rel, self.k)
        counts = ~intents_of(lists).navigational[found.intent] | (found.before == 0)
        effective = found.hits.where(found.per_hit(counts.astype(np.float64)) > 0)
        return Terms(effective, ones(effective), looked_at(lists, self.k), {"effective": ones(effective)})


@measure
class PMP(DiversityMeasure):
    r"""Precision for the most probable intent: the share of documents that are relevant to it.

    .. math:: \frac{C_m(l)}{l}, \qquad m = \arg\max_i Pr(i|q)

    Where several intents are the most probable, being relevant to one of them is enough. A yardstick for other
    measures. Divides as P does.
    No relevant documents: 0.
    Reference: Sakai & Song, Diversified Search Evaluation: Lessons from the NTCIR-9 INTENT Task, Information Retrieval,
    2013

    >>> (PMP @ 2).of([{"a": 1}, None])
    0.5
    """

    rel: float = 1

    properties = Properties(recall_free=True, intent_probabilities=True)

    def terms(self, lists: Assessed) -> Terms:
        intents, found = intents_of(lists), relevant_to_intents(lists, self.rel, self.k)
        most = np.zeros(intents.topics)
        np.maximum.at(most, intents.topic, intents.probability)
        popular = intents.probability >= most[intents.topic] * (1 - 1e-9)
        hits = found.hits.where(found.per_hit(popular[found.intent].astype(np.float64)) > 0)
        return Terms(hits, ones(hits), looked_at(lists, self.k), {"relevant": ones(hits)})


@measure
class RBU(DiversityMeasure):
    r"""Rank-biased utility: what a reader finds who leaves at any document, less the effort of looking at each.

    .. math:: (1 - p) \sum_{r \le l} p^{r-1} \Big(\sum_i Pr(i|q)\, s_i(r) \prod_{k<r} (1 - s_i(k)) - e\Big), \qquad
        s_i(r) = \frac{2^{g_i(r)} - 1}{2^{g_{i,\max}}}

    `p` is the chance to go on to the next document, `effort` the e that each document costs, retrieved documents
    without judgment included. The highest grade of each intent is taken from the judgments, or is `max_grade`. The
    defaults are those of the authors' program.
    No relevant documents: what the effort costs.
    Reference: Amigó, Spina & Carrillo-de-Albornoz, SIGIR 2018, doi:10.1145/3209978.3210024

    >>> round(RBU().of([{"a": 1}]), 6)
    0.094
    """

    p: float = 0.8
    effort: float = 0.03
    max_grade: float | None = None

    properties = Properties(graded=True, diminishing=True, low=-1.0, intent_probabilities=True)

    def check(self) -> None:
        if not 0 <= self.p < 1:
            raise UsageError(f"RBU: p == {self.p!r}, must be 0 or above, and below 1")
        check.between("RBU", low=0, high=1, effort=self.effort)
        check_highest(self.name, self.max_grade)

    def terms(self, lists: Assessed) -> Terms:
        apart = ByIntent().read(lists, self.k)
        hits = apart.hits().where(apart.grade > 0)
        highest: Array | float = apart.judged.grade[apart.judged.start[apart.set_of_row[hits.row]]]
        if self.max_grade is not None:
            highest = highest_grade(self.name, self.max_grade, apart)
        found, utility = together(lists, apart, hits, cascade(hits, hits.grade, highest)["stops here"])
        every = lists.every(self.k)
        satisfied = np.zeros(len(every))
        satisfied[every.start[found.row] + found.rank - 1] = utility
        gets_here = np.asarray(self.p ** (every.rank - 1.0), dtype=np.float64)
        columns = {"satisfied": satisfied, "gets here": gets_here}
        return Terms(every, (1 - self.p) * gets_here * (satisfied - self.effort), 1.0, columns)
