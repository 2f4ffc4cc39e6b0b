"""Topics with several intents, repetition counts less: alpha-nDCG, NRBP, ERR-IA and related measures."""

from __future__ import annotations

import math

import numpy as np

from cranfield import check
from cranfield.assessed.hits_by_intent import Relevant, intents_of, relevant_to_intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Properties, Terms, measure
from cranfield.measures.diversity import DiversityMeasure, averaged, number_of_intents
from cranfield.measures.first import ERR, note_max_grade
from cranfield.measures.gain import Discount
from cranfield.measures.novelty_ideal import GREEDY, Worth, exact_ideal, greedy_ideal, relevance_matrix
from cranfield.measures.parameters import Persistence, Positive, Probability
from cranfield.types import Array, Index
from cranfield.views.by_intent import ByIntent


def novelty(relevant: Relevant, alpha: float, worth: Array | float = 1.0) -> dict[str, Array]:
    """The gain of each relevant document if an intent is worth 1 − alpha times as much every time it is repeated.

    `worth` is what each entry of `relevant` is worth the first time.
    """
    remaining = (1.0 - alpha) ** np.arange(int(relevant.before.max(initial=0)) + 1)
    return {
        "new intents": relevant.new,
        "intents so far": relevant.hits.running(relevant.new),
        "novelty-biased gain": relevant.per_hit(np.asarray(remaining[relevant.before] * worth, dtype=np.float64)),
    }


def log_discount(rank: Index) -> Array:
    return 1.0 / Discount("log2")(rank)


def reciprocal(rank: Index) -> Array:
    return 1.0 / rank


class Novelty(DiversityMeasure):
    """The base class of sums over ranks of novelty-biased gain times a weight of the rank."""

    alpha: Probability = 0.5
    rel: float = 1

    def weight(self, rank: Index) -> Array:
        raise NotImplementedError

    @property
    def depth(self) -> int | None:
        """The last rank that counts."""
        return self.k

    @property
    def worth(self) -> Worth | None:
        """What each entry is worth before its intent was served; None: 1."""
        return None

    def discounted(self, lists: Assessed) -> tuple[Hits, Array, dict[str, Array]]:
        """The hits, what each adds to the sum, and the columns that explain it."""
        relevant = relevant_to_intents(lists, self.rel, self.depth)
        key = ("novelty", self.rel, self.alpha, self.depth, self.worth)
        columns = dict(lists._once(key, lambda: novelty(relevant, self.alpha, self._worth_of(lists, relevant))))
        columns["weight"] = self.weight(relevant.hits.rank)
        return relevant.hits, columns["novelty-biased gain"] * columns["weight"], columns

    def _worth_of(self, lists: Assessed, relevant: Relevant) -> Array | float:
        return 1.0 if self.worth is None else self.worth(intents_of(lists).above(self.rel))[relevant.entry]

    def ideal_sum(self, lists: Assessed) -> Array:
        """The sum of the greedy ideal list of each row's topic."""
        greedy = greedy_ideal(intents_of(lists), self.rel, self.alpha, self.depth, self.worth)
        return np.asarray(greedy.sums(self.weight, self.depth or greedy.depth)[lists.topic])

    def terms(self, lists: Assessed) -> Terms | None:
        """The sum divided by that of the ideal list; measures that divide by something else override this."""
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, self.ideal_sum(lists), columns)


@measure
class AlphaDCG(Novelty):
    r"""Discounted cumulative gain in which an intent counts less every time it is repeated.

    .. math:: \sum_{r \le l} \frac{ng(r)}{\log_2(r + 1)}, \qquad ng(r) = \sum_i I_i(r) (1 - \alpha)^{C_i(r-1)}

    I_i(r) is 1 if the document at rank r is relevant to intent i, and C_i(r) is the number of such documents down to r;
    grades and intent probabilities do not count. With every repetition, an intent is worth 1 − `alpha` times as much.
    `dialect="ndeval"` divides by the score of a list in which every document is relevant to all intents, as ndeval does
    (except at l = 1, where it does not divide).
    No relevant documents: 0.
    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008,
    doi:10.1145/1390334.1390446

    >>> AlphaDCG().of([{"a": 1, "b": 1}, None, {"a": 1}])
    2.25
    """

    dialect: str = "plain"

    name = "alpha-DCG"
    aliases = ("AlphaDCG", "alpha_DCG", "α-DCG")
    weight = staticmethod(log_discount)
    properties = Properties(recall_free=True, diminishing=True, high=np.inf)

    def declares(self, default: Properties) -> Properties:
        return default if self.dialect == "plain" else default.replace(high=1.0)

    def check(self) -> None:
        check.one_of(self.name, ("plain", "ndeval"), dialect=self.dialect)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        over = 1.0 if self.dialect == "plain" else number_of_intents(lists, self.rel) * all_relevant(self)
        return Terms(hits, adds, np.where(np.equal(over, 0), 1.0, over), columns)


MOST_RANKS = 10_000_000
"""The largest number of ranks whose weights are added up."""


def all_relevant(measure: Novelty) -> float:
    """The score of one intent to which every document is relevant."""
    lasting = 1.0 - measure.alpha
    deepest = 1 if lasting == 0 else int(60 / -math.log2(lasting)) + 1 if lasting < 1 else math.inf
    deepest = min(deepest, measure.k or deepest)
    if deepest > MOST_RANKS:
        raise UsageError(
            f"{measure}: with alpha == {measure.alpha:g} the divisor is a sum over too many ranks; give a cutoff, "
            f"{MOST_RANKS:,} at most"
        )
    rank = np.arange(1, int(deepest) + 1)
    return float(lasting ** (rank - 1.0) @ measure.weight(rank))


@measure
class AlphaNDCG(Novelty):
    r"""alpha-DCG divided by that of the ideal list: an intent counts less every time it is repeated.

    .. math:: \frac{\sum_{r \le l} ng(r) / \log_2(r + 1)}{\sum_{r \le l} ng^*(r) / \log_2(r + 1)}

    ng(r) and `alpha` are as for alpha-DCG. Finding the ideal list is NP-complete: by default it takes the document that
    gains most at every rank and, among equals, the last by name, as ndeval does. A better list scores above 1.
    `ideal="exact"` finds the best list for topics with few relevant documents (about 16 that differ in their intents)
    and refuses other topics.
    No relevant documents: undefined.
    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008,
    doi:10.1145/1390334.1390446

    >>> AlphaNDCG().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    ideal: str = "greedy"

    name = "alpha-nDCG"
    aliases = ("AlphaNDCG", "alpha_nDCG", "α-nDCG", "alpha-NDCG")
    weight = staticmethod(log_discount)
    properties = Properties(normalised=True, diminishing=True, high=GREEDY)

    def declares(self, default: Properties) -> Properties:
        return default if self.ideal == "greedy" else default.replace(high=1.0)

    def check(self) -> None:
        check.one_of(self.name, ("greedy", "exact"), ideal=self.ideal)

    def ideal_sum(self, lists: Assessed) -> Array:
        if self.ideal == "greedy":
            return super().ideal_sum(lists)
        best = np.zeros(len(lists.topics))
        for topic in np.unique(lists.topic).tolist():
            matrix = relevance_matrix(intents_of(lists), topic, self.rel)
            best[topic] = exact_ideal(matrix, self.alpha, self.weight, self.depth, lists.topics[topic])
        return best[lists.topic]


class RankBiased(Novelty):
    """The base class of NRBP and nNRBP: a reader who goes on to the next document with probability beta."""

    beta: Persistence = 0.5

    def weight(self, rank: Index) -> Array:
        return np.asarray(self.beta ** (rank - 1.0))

    @property
    def depth(self) -> int | None:
        """The last rank that counts: beyond it, all weights together are below the precision of a double."""
        deepest = 1 if self.beta == 0 else int((64 - math.log2(1 - self.beta)) / -math.log2(self.beta)) + 1
        return min(deepest, self.k or deepest)


@measure
class NRBP(RankBiased):
    r"""Novelty- and rank-biased precision: RBP in which an intent counts less every time it is repeated.

    .. math:: \frac{1 - (1 - \alpha)\beta}{|\{i\}|} \sum_r \beta^{r-1} \sum_i I_i(r) (1 - \alpha)^{C_i(r-1)}

    `alpha` is as for alpha-DCG; `beta` is the probability of going on to the next document. The score is 1 if all
    documents are relevant to all intents. It equals ndeval's NRBP, which has no cutoff.
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
class nNRBP(RankBiased):
    r"""Normalised novelty- and rank-biased precision: NRBP divided by the NRBP of the ideal list.

    .. math:: \frac{NRBP}{NRBP^*}

    `alpha` and `beta` are as for NRBP; the ideal list is the greedy one of alpha-nDCG, so scores above 1 are possible.
    No relevant documents: undefined.
    Reference: Clarke, Kolla & Vechtomova, ICTIR 2009, doi:10.1007/978-3-642-04417-5_17

    >>> nNRBP().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    properties = Properties(normalised=True, diminishing=True, high=GREEDY)


@measure
class ERRIA(Novelty):
    r"""Intent-aware expected reciprocal rank: ERR averaged over the intents by their probability.

    .. math:: \sum_i Pr(i|q)\,ERR_i

    ERR_i uses the grades for intent i; `max_grade` is as for ERR. `dialect="ndeval"` is the number that TREC's tool
    prints: grades and probabilities do not count, a relevant document satisfies with probability `alpha`, and the score
    is divided by that of a list in which every document is relevant to all intents (except at l = 1, where ndeval does
    not divide). With alpha = 1/2 and grades of 0 and 1 that is the average of ERR, divided by Σ 2^−r / r down to l.
    No relevant documents: undefined.
    Reference: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009, doi:10.1145/1645953.1646033; Clarke, Craswell, Soboroff
    & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> ERRIA().of([{"a": 1}, {"b": 1}])
    0.375
    """

    dialect: str = "graded"
    max_grade: Positive | None = None

    name = "ERR-IA"
    aliases = ("ERRIA", "ERR_IA")
    weight = staticmethod(reciprocal)
    properties = Properties(graded=True, recall_free=True, diminishing=True, intent_probabilities=True)

    def declares(self, default: Properties) -> Properties:
        graded = self.dialect == "graded"
        return default.replace(graded=graded, intent_probabilities=graded)

    def check(self) -> None:
        check.one_of(self.name, ("graded", "ndeval"), dialect=self.dialect)

    def terms(self, lists: Assessed) -> Terms | None:
        if self.dialect == "graded":
            return averaged(ERR(max_grade=self.max_grade, cutoff=self.cutoff), lists)
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, number_of_intents(lists, self.rel) * all_relevant(self), columns)

    def remarks(self, lists: Assessed) -> list[str]:
        if self.dialect != "graded":
            return []
        return ByIntent().remarks(lists, ERR(max_grade=self.max_grade, cutoff=self.cutoff))

    def note(self, lists: Assessed) -> str | None:
        return note_max_grade(self.max_grade, lists) if self.dialect == "graded" else None


@measure
class nERRIA(Novelty):
    r"""Normalised ERR over intents, as ndeval defines it: novelty-biased gain over rank, divided by the ideal list's.

    .. math:: \frac{\sum_{r \le l} ng(r) / r}{\sum_{r \le l} ng^*(r) / r}

    ng(r), `alpha` and the greedy ideal list are as for alpha-nDCG, so scores above 1 are possible. Grades and
    probabilities do not count. The average over intents of nERR, each with its own ideal list, is `nERR[IA]`.
    No relevant documents: undefined.
    Reference: Clarke, Craswell, Soboroff & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> nERRIA().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    name = "nERR-IA"
    aliases = ("nERRIA", "nERR_IA")
    weight = staticmethod(reciprocal)
    properties = Properties(normalised=True, diminishing=True, high=GREEDY)
