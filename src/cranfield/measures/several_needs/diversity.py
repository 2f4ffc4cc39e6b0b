"""Topics with several intents: measures of diversity, of how well a list serves all intents."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield.assessed.hits_by_intent import intents_of, relevant_to_intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.measures.base import Measure, Properties, Terms, divide, measure, normalised_unless_cut
from cranfield.measures.declarations import Norm, NotNegative, Persistence, Positive, Probability
from cranfield.measures.gain import LINEAR, GainLike, ones, precision_divisor
from cranfield.measures.ranked_lists.first import Pplus, cascade, highest_grade
from cranfield.measures.ranked_lists.graded import Q
from cranfield.types import Array
from cranfield.views.by_intent import ByIntent, defined, intent_line


class DiversityMeasure(Measure):
    """The base class of measures that need intents."""

    needs: ClassVar[str] = "intents"


@measure
class IRec(DiversityMeasure):
    r"""Intent recall: the fraction of a topic's intents for which a relevant document was retrieved.

    .. math:: \frac{1}{|\{i\}|} \sum_{r \le l} newint(r)

    newint(r) is the number of intents to which the document at rank r, but no document above it, is relevant. With one
    intent it is Success.
    No relevant documents: undefined.
    Reference: Zhai, Cohen & Lafferty, SIGIR 2003, doi:10.1145/860435.860440

    >>> IRec().of([{"a": 1}, {"a": 1}, {"b": 1}], missed=[{"c": 1}])
    0.6666666666666666
    """

    rel: float = 1

    name = "I-rec"
    aliases = (
        *("IRec", "I-recall", "intent-recall", "Intent-recall"),
        *("StRecall", "strec", "S-rec", "S-recall", "subtopic-recall", "Subtopic-recall"),
    )
    top_down = True
    properties = normalised_unless_cut(Properties(normalised=True, recall_free=True, diminishing=True))

    def terms(self, lists: Assessed) -> Terms:
        relevant = relevant_to_intents(lists, self.rel, self.k)
        columns = {"new intents": relevant.new, "intents so far": relevant.hits.running(relevant.new)}
        return Terms(relevant.hits, relevant.new, number_of_intents(lists, self.rel), columns)


def number_of_intents(lists: Assessed, rel: float = 1) -> Array:
    """For each list, the number of intents of its topic that have a relevant document in the judgments."""
    return np.asarray(intents_of(lists).above(rel).judged_count[lists.topic], dtype=np.float64)


# -- averages over intents


def averaged(measure: Measure, lists: Assessed) -> Terms | None:
    """What each document adds to the measure's average over intents; None if the measure has no terms."""
    by_intent = ByIntent().read(lists, measure.k if measure.cutoff_kind == "rank" else None)
    terms = measure.terms(by_intent)
    if terms is None:
        return None
    hits, adds = sum_over_intents(lists, by_intent, terms.hits, shares(terms))
    return Terms(hits, adds, has_intents(lists), {"intents": hits.grade})


def shares(terms: Terms) -> Array:
    """What each hit adds to the score after division; 0 where the score is undefined."""
    return np.nan_to_num(divide(terms.adds, np.broadcast_to(terms.over, terms.hits.rows)[terms.hits.row]))


def has_intents(lists: Assessed) -> Array:
    """1 for lists whose topic has intents; 0 for others, for which an average over intents is undefined."""
    return (number_of_intents(lists) > 0).astype(np.float64)


def sum_over_intents(lists: Assessed, by_intent: Assessed, hits: Hits, values: Array) -> tuple[Hits, Array]:
    """Documents with Σ Pr(i|q) value, from the values of hits in the lists by intent, in any order.

    The grade of a document is its number of intents.
    """
    values = values * intents_of(lists).probability[by_intent.set_of_row[hits.row]]
    deepest = int(lists.rank.max(initial=0)) + 1
    place, document = np.unique(ByIntent.parents(lists)[hits.row] * deepest + hits.rank, return_inverse=True)
    count = np.bincount(document, minlength=len(place)).astype(np.float64)
    total = np.asarray(np.bincount(document, values, len(place)), dtype=np.float64)
    return Hits(lists.rows, place // deepest, place % deepest, count), total


# -- by the type of intent


@measure
class PplusQ(DiversityMeasure):
    r"""Q for informational intents and P+ for navigational ones, averaged over the intents by their probability.

    .. math:: \sum_i Pr(i|q)\,Q_i@l + \sum_j Pr(j|q)\,P^+_j

    `beta` is as for Q; the preferred rank of P+ is found after cutting the list at l. Q_i@l divides by min(l, R_i),
    where R_i is the number of documents relevant to intent i, as in Sakai 2013 (12); `norm="R"` divides by R_i. Without
    navigational intents it is `Q-IA(norm="min")`, and without a cutoff as well it is Q-IA. `P+Q#` combines it with
    intent recall.
    No relevant documents: undefined.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012

    >>> (PplusQ @ 3).of([{"a": 1}, None, {"b": 1}])  # 1 for a, 2/(3 + 1) for b
    0.75
    """

    beta: NotNegative = 1
    rel: float = 1
    gain: GainLike = LINEAR
    norm: Norm = "min"

    name = "P+Q"
    aliases = ("PplusQ", "P⁺Q")
    properties = Properties(graded=True, intent_probabilities=True)
    uses_intent_types = True

    def _by_type(self) -> tuple[Q, Pplus]:
        """The measures of informational and of navigational intents."""
        shared: dict[str, Any] = {"beta": self.beta, "rel": self.rel, "gain": self.gain, "cutoff": self.cutoff}
        return Q(norm=self.norm, **shared), Pplus(**shared)

    def terms(self, lists: Assessed) -> Terms:
        by_intent = ByIntent(lowest=self.rel).read(lists, self.k)
        navigational = intents_of(lists).navigational[by_intent.set_of_row]
        q, plus = (measure.terms(by_intent) for measure in self._by_type())
        for_q, for_plus = ~navigational[q.hits.row], navigational[plus.hits.row]
        row = np.concatenate((q.hits.row[for_q], plus.hits.row[for_plus]))
        rank = np.concatenate((q.hits.rank[for_q], plus.hits.rank[for_plus]))
        value = np.concatenate((shares(q)[for_q], shares(plus)[for_plus]))
        hits, adds = sum_over_intents(lists, by_intent, Hits(by_intent.rows, row, rank, value), value)
        return Terms(hits, adds, has_intents(lists), {"intents": hits.grade})

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        intents, by_intent = intents_of(lists), ByIntent(lowest=self.rel).read(lists, self.k)
        total = np.zeros(ranks)
        for row, intent in enumerate(by_intent.set_of_row.tolist()):
            measure = self._by_type()[int(intents.navigational[intent])]
            scores = measure.score_prefixes(by_intent.take(np.array([row])), ranks)
            total += intents.probability[intent] * np.nan_to_num(scores)
        return divide(total, has_intents(lists)[0])

    def remarks(self, lists: Assessed) -> list[str]:
        """Q for every informational intent, P+ and its preferred rank for every navigational one."""
        by_intent, intents = ByIntent(lowest=self.rel).apply(lists, self.k), intents_of(lists)
        q, plus = self._by_type()
        counted_hits = plus.terms(by_intent).hits
        columns = (column.tolist() for column in (by_intent.set_of_row, q.score(by_intent), plus.score(by_intent)))
        lines = []
        for row, (intent, q_score, plus_score) in enumerate(zip(*columns, strict=True)):
            if intents.navigational[intent]:
                ranks = counted_hits.rank[counted_hits.row == row]
                preferred = f"preferred rank {ranks[-1]}" if len(ranks) else "no preferred rank"
                score = f"{plus} {defined(plus_score)}, {preferred}"
                lines.append(intent_line(intents, intent, score, "navigational"))
            else:
                lines.append(intent_line(intents, intent, f"{q} {defined(q_score)}", "informational"))
        return lines


@measure
class EfP(DiversityMeasure):
    r"""Effective precision: the fraction of documents that are relevant to an intent and not redundant.

    .. math:: \frac{1}{l} \sum_{r \le l} \max\Big(\max_i I_i(r),\ \max_j isnew_j(r) I_j(r)\Big)

    For an informational intent i every relevant document counts, for a navigational intent j only the first. Ranks,
    grades and probabilities do not count; it serves to judge other measures. The divisor is that of P.
    No relevant documents: 0.
    Reference: Sakai, Evaluation with Informational and Navigational Intents, WWW 2012

    >>> (EfP @ 5).of([{"a": 1}, {"a": 3}, None, None, {"a": 2}])
    0.6
    """

    rel: float = 1

    name = "Ef-P"
    aliases = ("EfP", "effective-precision", "Effective-precision")
    top_down = True
    properties = Properties(recall_free=True)
    uses_intent_types = True

    def has_bounds(self) -> bool:
        """A document that serves a navigational intent makes later documents that serve it redundant."""
        return False

    def terms(self, lists: Assessed) -> Terms:
        relevant = relevant_to_intents(lists, self.rel, self.k)
        counts = ~intents_of(lists).navigational[relevant.intent] | (relevant.before == 0)
        effective = relevant.hits.where(relevant.per_hit(counts.astype(np.float64)) > 0)
        return Terms(effective, ones(effective), precision_divisor(lists, self.k), {"effective": ones(effective)})


@measure
class PMP(DiversityMeasure):
    r"""Precision for the most probable intent: the fraction of documents that are relevant to it.

    .. math:: \frac{C_m(l)}{l}, \qquad m = \arg\max_i Pr(i|q)

    If several intents are the most probable, being relevant to one of them is enough. It serves to judge other
    measures. The divisor is that of P.
    No relevant documents: 0.
    Reference: Sakai & Song, Diversified Search Evaluation: Lessons from the NTCIR-9 INTENT Task, Information Retrieval,
    2013

    >>> (PMP @ 2).of([{"a": 1}, None])
    0.5
    """

    rel: float = 1

    top_down = True
    properties = Properties(recall_free=True, intent_probabilities=True)

    def terms(self, lists: Assessed) -> Terms:
        intents, relevant = intents_of(lists), relevant_to_intents(lists, self.rel, self.k)
        highest = np.zeros(intents.topics)
        np.maximum.at(highest, intents.topic, intents.probability)
        most_probable = intents.probability >= highest[intents.topic] * (1 - 1e-9)
        hits = relevant.hits.where(relevant.per_hit(most_probable[relevant.intent].astype(np.float64)) > 0)
        return Terms(hits, ones(hits), precision_divisor(lists, self.k), {"relevant": ones(hits)})


@measure
class RBU(DiversityMeasure):
    r"""Rank-biased utility: what a reader who can leave at any document finds, minus the effort of looking at each.

    .. math:: (1 - p) \sum_{r \le l} p^{r-1} \Big(\sum_i Pr(i|q)\, s_i(r) \prod_{k<r} (1 - s_i(k)) - e\Big), \qquad
        s_i(r) = \frac{2^{g_i(r)} - 1}{2^{g_{i,\max}}}

    `p` is the probability of going on to the next document, `effort` is e, the cost of each retrieved document, judged
    or not. The highest grade of each intent comes from the judgments, or is `max_grade`. The defaults are those of the
    authors' program.
    No relevant documents: minus the cost of the effort.
    Reference: Amigó, Spina & Carrillo-de-Albornoz, SIGIR 2018, doi:10.1145/3209978.3210024

    >>> round(RBU().of([{"a": 1}]), 6)
    0.094
    """

    p: Persistence = 0.8
    effort: Probability = 0.03
    max_grade: Positive | None = None

    top_down = True
    properties = Properties(graded=True, diminishing=True, low=-1.0, intent_probabilities=True)

    def terms(self, lists: Assessed) -> Terms:
        by_intent = ByIntent().read(lists, self.k)
        hits = by_intent.hits().where(by_intent.grade > 0)
        highest: Array | float = by_intent.judged.grade[by_intent.judged.start[by_intent.set_of_row[hits.row]]]
        if self.max_grade is not None:
            highest = highest_grade(self.name, self.max_grade, by_intent)
        stops = cascade(hits, hits.grade, highest)["stops here"]
        documents, utility = sum_over_intents(lists, by_intent, hits, stops)
        every = lists.every(self.k)
        satisfied = np.zeros(len(every))
        satisfied[every.start[documents.row] + documents.rank - 1] = utility
        gets_here = np.asarray(self.p ** (every.rank - 1.0), dtype=np.float64)
        columns = {"satisfied": satisfied, "gets here": gets_here}
        return Terms(every, (1 - self.p) * gets_here * (satisfied - self.effort), 1.0, columns)
