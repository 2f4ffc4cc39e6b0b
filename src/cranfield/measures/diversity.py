"""Measures for topics that may mean several things: is there something for every intent, and how likely is it?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.hits_by_intent import intents_of, relevant_to_intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure, normalised_unless_cut
from cranfield.measures.first import Pplus, cascade, check_highest, highest_grade
from cranfield.measures.gain import LINEAR, GainLike
from cranfield.measures.ranked import Q
from cranfield.measures.retrieved import looked_at, ones
from cranfield.types import Array
from cranfield.views.by_intent import ByIntent, defined, intent_line


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
    aliases = (
        *("IRec", "I-recall", "intent-recall", "Intent-recall"),
        *("StRecall", "strec", "S-rec", "S-recall", "subtopic-recall", "Subtopic-recall"),
    )
    properties = normalised_unless_cut(Properties(normalised=True, recall_free=True, diminishing=True))

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


# -- averages over intents


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


# -- by the type of intent


@measure
class PplusQ(DiversityMeasure):
    r"""Q for informational intents and P+ for navigational ones, averaged over the intents by their probability.

    .. math:: \sum_i Pr(i|q)\,Q_i@l + \sum_j Pr(j|q)\,P^+_j

    `beta` as for Q; the preferred rank of P+ is found after cutting at l. Q_i@l divides by min(l, R_i), R_i being the
    number of documents relevant to intent i, as in Sakai 2013 (12); `norm="R"` divides by R_i. Without navigational
    intents it is `Q-IA(norm="min")`, which without a cutoff is Q-IA. With intent recall beside it, it is `P+Q#`.
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
    aliases = ("PplusQ", "P⁺Q")
    properties = Properties(graded=True, intent_probabilities=True)
    uses_intent_types = True

    def check(self) -> None:
        check.not_negative(self.name, beta=self.beta)
        check.one_of(self.name, ("R", "min"), norm=self.norm)

    def _by_type(self) -> tuple[Q, Pplus]:
        """The measures of informational and of navigational intents."""
        shared: dict[str, Any] = {"beta": self.beta, "rel": self.rel, "gain": self.gain, "cutoff": self.cutoff}
        return Q(norm=self.norm, **shared), Pplus(**shared)

    def terms(self, lists: Assessed) -> Terms:
        apart = ByIntent(lowest=self.rel).read(lists, self.k)
        navigational = intents_of(lists).navigational[apart.set_of_row]
        informational, plus = (measure.terms(apart) for measure in self._by_type())
        here, there = ~navigational[informational.hits.row], navigational[plus.hits.row]
        row = np.concatenate((informational.hits.row[here], plus.hits.row[there]))
        rank = np.concatenate((informational.hits.rank[here], plus.hits.rank[there]))
        value = np.concatenate((shares(informational)[here], shares(plus)[there]))
        hits, adds = together(lists, apart, Hits(apart.rows, row, rank, value), value)
        return Terms(hits, adds, some_intents(lists), {"intents": hits.grade})

    def remarks(self, lists: Assessed) -> list[str]:
        """Q for every informational intent, P+ and its preferred rank for every navigational one."""
        apart, intents = ByIntent(lowest=self.rel).apply(lists, self.k), intents_of(lists)
        q, plus = self._by_type()
        counted = plus.terms(apart).hits
        scores = zip(apart.set_of_row.tolist(), q.score(apart).tolist(), plus.score(apart).tolist(), strict=True)
        lines = []
        for row, (intent, q_score, plus_score) in enumerate(scores):
            if intents.navigational[intent]:
                ranks = counted.rank[counted.row == row]
                preferred = f"preferred rank {ranks[-1]}" if len(ranks) else "no preferred rank"
                score = f"{plus} {defined(plus_score)}, {preferred}"
                lines.append(intent_line(intents, intent, score, "navigational"))
            else:
                lines.append(intent_line(intents, intent, f"{q} {defined(q_score)}", "informational"))
        return lines


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
    aliases = ("EfP", "effective-precision", "Effective-precision")
    properties = Properties(recall_free=True)
    uses_intent_types = True

    def has_bounds(self) -> bool:
        """A document that serves a navigational intent makes later documents that serve it redundant."""
        return False

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
