"""Topics with several intents, repetition counts less: diversity and novelty in alpha-nDCG, NRBP, ERR-IA and others."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cranfield import check
from cranfield.assessed.attachment import numbers_of_topics
from cranfield.assessed.hits_by_intent import Relevant, intents_of, relevant_to_intents
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, distinct
from cranfield.errors import UsageError
from cranfield.measures.base import Properties, Terms, measure
from cranfield.measures.declarations import ByTopic, Persistence, Positive
from cranfield.measures.gain import EXP, Discount, GainLike
from cranfield.measures.ranked_lists.first import ERR, check_satisfaction
from cranfield.measures.several_needs.diversity import DiversityMeasure, averaged, number_of_intents
from cranfield.measures.several_needs.novelty_ideal import (
    GREEDY,
    Worth,
    exact_ideal,
    greedy_cascade,
    greedy_ideal,
    relevance_matrix,
)
from cranfield.types import Array, Index
from cranfield.views.by_intent import ByIntent


def novelty(relevant: Relevant, alpha: float | Array, worth: Array | float = 1.0) -> dict[str, Array]:
    """The gain of each relevant document if an intent is worth 1 − alpha times as much every time it is repeated.

    `alpha` is one number, or one per list. `worth` is what each entry of `relevant` is worth the first time.
    """
    remaining: Array
    if isinstance(alpha, np.ndarray):
        remaining = np.asarray((1.0 - alpha)[relevant.hits.row[relevant.hit]] ** relevant.before, dtype=np.float64)
    else:
        repeats = np.arange(int(relevant.before.max(initial=0)) + 1)
        remaining = np.asarray((1.0 - alpha) ** repeats, dtype=np.float64)[relevant.before]
    return {
        "new intents": relevant.new,
        "intents so far": relevant.hits.running(relevant.new),
        "novelty-biased gain": relevant.per_hit(np.asarray(remaining * worth, dtype=np.float64)),
    }


@dataclass(frozen=True)
class Likely:
    """Every entry is worth the probability of its intent; if `scaled`, the most probable intent of a topic is 1."""

    scaled: bool

    def __call__(self, intents: Intents) -> Array:
        return intents.once(("likely", self), lambda: self._of_intents(intents)[intents.intent])

    def _of_intents(self, intents: Intents) -> Array:
        return intents.probability / largest_probability(intents) if self.scaled else intents.probability


def largest_probability(intents: Intents) -> Array:
    """For each intent, the largest probability of an intent of its topic."""
    largest = np.zeros(intents.topics)
    np.maximum.at(largest, intents.topic, intents.probability)
    return np.asarray(largest[intents.topic])


def unequal(lists: Assessed) -> bool:
    """Whether some intents of a topic are more likely than others."""
    intents = intents_of(lists)
    return bool((intents.probability < largest_probability(intents) * (1 - 1e-9)).any())


def log_discount(rank: Index) -> Array:
    return 1.0 / Discount("log2")(rank)


def reciprocal(rank: Index) -> Array:
    return 1.0 / rank


class Novelty(DiversityMeasure):
    """The base class of sums over ranks of novelty-biased gain times a weight of the rank."""

    alpha: ByTopic = 0.5
    rel: float = 1

    def alpha_of(self, lists: Assessed) -> float | Array:
        """One number, or one per list if every topic has its own."""
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        alphas = numbers_of_topics(lists, "alpha", self.name)
        if alphas is None:
            raise UsageError(
                f'{self.name}: alpha == "topic" needs a table of topics: give topic_numbers=, a file with a header '
                "line topic,alpha"
            )
        return alphas

    def by_alpha(self, lists: Assessed, value: Callable[[float], Array | float]) -> Array | float:
        """`value` of the alpha of each list; an array that it returns has one number per list."""
        alphas = self.alpha_of(lists)
        if not isinstance(alphas, np.ndarray):
            return value(alphas)
        out = np.zeros(lists.rows)
        for alpha in distinct(alphas).tolist():
            out = np.where(alphas == alpha, value(alpha), out)
        return out

    @abstractmethod
    def weight(self, rank: Index) -> Array:
        """The weight of each rank."""

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
        alpha, worth = self.alpha_of(lists), self._worth_of
        columns = dict(lists._once(key, lambda: novelty(relevant, alpha, worth(lists, relevant))))
        columns["weight"] = self.weight(relevant.hits.rank)
        return relevant.hits, columns["novelty-biased gain"] * columns["weight"], columns

    def _worth_of(self, lists: Assessed, relevant: Relevant) -> Array | float:
        return 1.0 if self.worth is None else self.worth(intents_of(lists).above(self.rel))[relevant.entry]

    def ideal_sum(self, lists: Assessed) -> Array:
        """The sum of the greedy ideal list of each row's topic."""

        def ideal(alpha: float) -> Array:
            greedy = greedy_ideal(intents_of(lists), self.rel, alpha, self.depth, self.worth)
            return np.asarray(greedy.sums(self.weight, self.depth or greedy.depth)[lists.topic])

        return np.asarray(self.by_alpha(lists, ideal))

    def terms(self, lists: Assessed) -> Terms | None:
        """The sum divided by that of the ideal list; measures that divide by something else override this."""
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, self.ideal_sum(lists), columns)


@measure
class AlphaDCG(Novelty):
    r"""Discounted cumulative gain in which an intent counts less every time it is repeated.

    .. math:: \sum_{r \le l} \frac{ng(r)}{\log_2(r + 1)}, \qquad ng(r) = \sum_i I_i(r) (1 - \alpha)^{C_i(r-1)}

    I_i(r) is 1 if the document at rank r is relevant to intent i, and C_i(r) is the number of such documents down to r;
    grades do not count. With every repetition, an intent is worth 1 − `alpha` times as much; `alpha="topic"` takes
    alpha from a table of topics. `probabilities=True` weights intents: ng(r) = Σ_i Pr(i|q) I_i(r) (1 − α)^C_i(r−1).
    `dialect="ndeval"` divides by the score of a list in which every document is relevant to all intents, as ndeval does
    (except at l = 1, where it does not divide).
    No relevant documents: 0.
    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008,
    doi:10.1145/1390334.1390446

    >>> AlphaDCG().of([{"a": 1, "b": 1}, None, {"a": 1}])
    2.25
    """

    dialect: str = "plain"
    probabilities: bool = False

    name = "alpha-DCG"
    aliases = ("AlphaDCG", "alpha_DCG", "α-DCG")
    weight = staticmethod(log_discount)
    top_down = True
    properties = Properties(recall_free=True, diminishing=True, high=np.inf)

    def declares(self, default: Properties) -> Properties:
        default = default.replace(intent_probabilities=self.probabilities)
        return default if self.dialect == "plain" else default.replace(high=1.0)

    def check(self) -> None:
        check.one_of(self.name, ("plain", "ndeval"), dialect=self.dialect)
        if self.dialect == "ndeval" and self.probabilities:
            raise UsageError(f'{self.name}: probabilities == True, but dialect == "ndeval" has no intent probabilities')

    @property
    def worth(self) -> Worth | None:
        return Likely(scaled=False) if self.probabilities else None

    def note(self, lists: Assessed) -> str | None:
        return note_probabilities(self, lists)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        over: Array | float = 1.0
        if self.dialect == "ndeval":
            over = number_of_intents(lists, self.rel) * all_relevant(self, lists)
        return Terms(hits, adds, np.where(np.equal(over, 0), 1.0, over), columns)


MOST_RANKS = 10_000_000
"""The largest number of ranks whose weights are added up."""


def note_probabilities(measure: AlphaDCG | AlphaNDCG, lists: Assessed) -> str | None:
    """The note that probabilities were given, but do not count."""
    if measure.probabilities or not unequal(lists):
        return None
    return f"{measure.name} does not use the probabilities of intents; {measure.name}(probabilities=True) does"


def all_relevant(measure: Novelty, lists: Assessed) -> Array | float:
    """The score of one intent to which every document is relevant."""
    return measure.by_alpha(lists, lambda alpha: _all_relevant(measure, alpha))


def _all_relevant(measure: Novelty, alpha: float) -> float:
    lasting = 1.0 - alpha
    deepest = 1 if lasting == 0 else int(60 / -math.log2(lasting)) + 1 if lasting < 1 else math.inf
    deepest = min(deepest, measure.k or deepest)
    if deepest > MOST_RANKS:
        raise UsageError(
            f"{measure}: with alpha == {alpha:g} the divisor is a sum over too many ranks; give a cutoff, "
            f"{MOST_RANKS:,} at most"
        )
    rank = np.arange(1, int(deepest) + 1)
    return float(lasting ** (rank - 1.0) @ measure.weight(rank))


@measure
class AlphaNDCG(Novelty):
    r"""alpha-DCG divided by that of the ideal list: an intent counts less every time it is repeated.

    .. math:: \frac{\sum_{r \le l} ng(r) / \log_2(r + 1)}{\sum_{r \le l} ng^*(r) / \log_2(r + 1)}

    ng(r), `alpha` and `probabilities` are as for alpha-DCG; if all intents are equally likely, probabilities change
    nothing. Finding the ideal list is NP-complete: by default it takes the document that gains most at every rank and,
    among equals, the last by name, as ndeval does. A better list scores above 1.
    `ideal="exact"` finds the best list for topics with few relevant documents (about 16 that differ in their intents)
    and refuses other topics.
    No relevant documents: undefined.
    Reference: Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, SIGIR 2008,
    doi:10.1145/1390334.1390446

    >>> AlphaNDCG().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    ideal: str = "greedy"
    probabilities: bool = False

    name = "alpha-nDCG"
    aliases = ("AlphaNDCG", "alpha_nDCG", "α-nDCG", "alpha-NDCG")
    weight = staticmethod(log_discount)
    top_down = True
    properties = Properties(normalised=True, diminishing=True, high=GREEDY)

    def declares(self, default: Properties) -> Properties:
        default = default.replace(intent_probabilities=self.probabilities)
        return default if self.ideal == "greedy" else default.replace(high=1.0)

    def check(self) -> None:
        check.one_of(self.name, ("greedy", "exact"), ideal=self.ideal)

    @property
    def worth(self) -> Worth | None:
        return Likely(scaled=True) if self.probabilities else None

    def note(self, lists: Assessed) -> str | None:
        return note_probabilities(self, lists)

    def ideal_sum(self, lists: Assessed) -> Array:
        if self.ideal == "greedy":
            return super().ideal_sum(lists)
        intents = intents_of(lists)
        share = intents.probability / largest_probability(intents) if self.probabilities else np.ones(len(intents))
        alphas = np.zeros(len(lists.topics))
        alphas[lists.topic] = self.alpha_of(lists)
        best = np.zeros(len(lists.topics))
        for topic in np.unique(lists.topic).tolist():
            matrix = relevance_matrix(intents, topic, self.rel)
            worth = share[intents.start[topic] : intents.start[topic + 1]]
            best[topic] = exact_ideal(matrix, alphas[topic], self.weight, self.depth, lists.topics[topic], worth)
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

    top_down = True
    properties = Properties(recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        most = 1.0 - (1.0 - self.alpha_of(lists)) * self.beta
        return Terms(hits, adds, number_of_intents(lists, self.rel) / most, columns)


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

    top_down = True
    properties = Properties(normalised=True, diminishing=True, high=GREEDY)


class _ERROverIntents(Novelty):
    """The base class of ERR-IA and nERR-IA: from the grades for each intent, or as ndeval computes them."""

    dialect: str = "graded"
    max_grade: Positive | None = None
    probability: GainLike = EXP

    weight = staticmethod(reciprocal)

    @abstractmethod
    def normaliser(self, lists: Assessed) -> Array | float:
        """What ndeval divides by."""

    def normaliser_of_grades(self, lists: Assessed) -> Array | float:
        """What the average of ERR over intents is divided by."""
        return 1.0

    @property
    def plain(self) -> ERR:
        """ERR of one intent."""
        return ERR(max_grade=self.max_grade, probability=self.probability, cutoff=self.cutoff)

    def declares(self, default: Properties) -> Properties:
        graded = self.dialect == "graded"
        return default.replace(graded=graded, intent_probabilities=graded)

    def check(self) -> None:
        check.one_of(self.name, ("graded", "ndeval"), dialect=self.dialect)
        check_satisfaction(self.name, self.probability)

    def terms(self, lists: Assessed) -> Terms | None:
        if self.dialect == "graded":
            terms = averaged(self.plain, lists)
            return None if terms is None else replace(terms, over=terms.over * self.normaliser_of_grades(lists))
        hits, adds, columns = self.discounted(lists)
        return Terms(hits, adds, self.normaliser(lists), columns)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """A document adds the same in every cut list, and the divisor depends only on the judgments."""
        terms = self.terms(lists)
        return super().score_prefixes(lists, ranks) if terms is None else terms.running(ranks)

    def remarks(self, lists: Assessed) -> list[str]:
        return ByIntent().remarks(lists, self.plain) if self.dialect == "graded" else []

    def note(self, lists: Assessed) -> str | None:
        return self.plain.note(lists) if self.dialect == "graded" else None


def _lines(*notes: str | None) -> str | None:
    """Several notes, one per line."""
    return "\n".join(filter(None, notes)) or None


@measure
class ERRIA(_ERROverIntents):
    r"""Intent-aware expected reciprocal rank: ERR averaged over the intents by their probability.

    .. math:: \sum_i Pr(i|q)\,ERR_i

    ERR_i uses the grades for intent i; `max_grade` and `probability` are as for ERR. `dialect="ndeval"` is the number
    that TREC's tool prints: grades and intent probabilities do not count, a relevant document satisfies with
    probability `alpha`, and the score is divided by that of a list in which every document is relevant to all intents
    (except at l = 1, where ndeval does not divide). With alpha = 1/2 and grades of 0 and 1 that is the average of ERR,
    divided by Σ 2^−r / r down to l.
    No relevant documents: undefined.
    Reference: Chapelle, Metzler, Zhang & Grinspan, CIKM 2009, doi:10.1145/1645953.1646033; Clarke, Craswell, Soboroff
    & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> ERRIA().of([{"a": 1}, {"b": 1}])
    0.375
    """

    aliases = ("ERRIA", "ERR_IA")
    name = "ERR-IA"
    properties = Properties(graded=True, recall_free=True, diminishing=True, intent_probabilities=True)

    def normaliser(self, lists: Assessed) -> Array | float:
        return number_of_intents(lists, self.rel) * all_relevant(self, lists)

    def note(self, lists: Assessed) -> str | None:
        if self.dialect != "graded":
            return None
        here = "ERR-IA is ERR averaged over intents; TREC's Web track divides it by its largest value and uses neither"
        return _lines(super().note(lists), f'{here} grades nor probabilities: ERR-IA(dialect="ndeval")')


@measure
class nERRIA(_ERROverIntents):
    r"""Normalised ERR-IA: ERR-IA divided by the ERR-IA of the ideal list.

    .. math:: \frac{\sum_i Pr(i|q)\,ERR_i}{\sum_i Pr(i|q)\,ERR^*_i}

    `max_grade`, `probability` and `dialect` are as for ERR-IA. The ideal list is the same for all intents; it takes the
    document that adds most at every rank and, among equals, the last by name, so scores above 1 are possible.
    `dialect="ndeval"` is the number that TREC's tool prints: grades and intent probabilities do not count, and the gain
    at a rank is that of alpha-nDCG with `alpha`. With alpha = 1/2, grades of 0 and 1 and equally likely intents both
    are the same.
    The average over intents of nERR, each with its own ideal list, is `nERR[IA]`.
    No relevant documents: undefined.
    Reference: Clarke, Craswell, Soboroff & Ashkan, WSDM 2011, doi:10.1145/1935826.1935847

    >>> nERRIA().of([{"a": 1, "b": 1}, {"a": 1}])
    1.0
    """

    name = "nERR-IA"
    aliases = ("nERRIA", "nERR_IA")
    properties = Properties(graded=True, normalised=True, diminishing=True, intent_probabilities=True, high=GREEDY)

    def normaliser(self, lists: Assessed) -> Array | float:
        return self.ideal_sum(lists)

    def normaliser_of_grades(self, lists: Assessed) -> Array | float:
        """ERR-IA of the greedy ideal list of each row's topic."""
        intents, satisfaction = intents_of(lists), self.plain.satisfaction(ByIntent().read(lists, self.k))

        def ideal() -> Array:
            largest = largest_probability(intents)
            share = intents.probability / np.where(largest > 0, largest, 1.0)
            greedy = greedy_cascade(intents, satisfaction(intents.grade), share, self.k)
            most = np.zeros(intents.topics)
            most[intents.topic] = largest
            return greedy.sums(self.weight, greedy.depth) * most

        return np.asarray(intents.once(("ideal ERR-IA", satisfaction, self.k), ideal)[lists.topic])

    def note(self, lists: Assessed) -> str | None:
        differs = self.dialect == "graded" and (lists.max_grade > 1 or unequal(lists))
        here = "nERR-IA uses grades and probabilities of intents; TREC's Web track does not"
        return _lines(super().note(lists), f'{here}: nERR-IA(dialect="ndeval")' if differs else None)
