"""Diversity measures divided by the score of the best list that a system could return, so that a list reaches 1."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from cranfield.assessed.hits_by_intent import intents_of, relevant_to_intents
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.measures.base import Properties, Terms, divide, measure
from cranfield.measures.declarations import Norm, NotNegative, Probability
from cranfield.measures.gain import LINEAR, Discount, Gain, GainLike
from cranfield.measures.ranked_lists.graded import FromGrade
from cranfield.measures.several_needs.best_lists import Best, BestDIN, BestPQ, Documents, Search
from cranfield.measures.several_needs.diversity import DiversityMeasure, PplusQ, number_of_intents
from cranfield.notes import caution_note
from cranfield.text import counted
from cranfield.types import Array
from cranfield.views.by_intent import GlobalGain


def new_intents(lists: Assessed, hits: Hits, rel: float, cutoff: int | None) -> Array:
    """For each of these hits, the number of intents that it is the first in its list to serve."""
    relevant, width = relevant_to_intents(lists, rel, cutoff), int(lists.rank.max(initial=0)) + 1
    first = np.flatnonzero(relevant.new)
    new = np.zeros(len(hits))
    places = relevant.hits.row[first] * width + relevant.hits.rank[first]
    new[np.searchsorted(hits.row * width + hits.rank, places)] = relevant.new[first]
    return new


def added_by_rank(hits: Hits, adds: Array, ranks: int) -> Array:
    """The sum of what the hits of the first list add down to rank 1, 2, ... up to `ranks`."""
    counted_hits = (hits.row == 0) & (hits.rank <= ranks)
    return np.cumsum(np.bincount(hits.rank[counted_hits] - 1, adds[counted_hits], minlength=ranks))


class Attainable(DiversityMeasure):
    """The base class of measures that are divided by the score of the best list."""

    gain: GainLike = LINEAR
    recall: Probability = 0

    uses_intent_types = True

    @abstractmethod
    def search(self, intents: Intents, topic: int) -> Search[Any]:
        """What looks for the best list of a topic."""

    def best(self, lists: Assessed) -> dict[int, Best]:
        """The best list of each topic that has lists, looked for once."""
        intents = intents_of(lists)
        known: dict[int, Best] = intents.once(("best lists", self.replace(views=())), dict)
        for topic in np.unique(lists.topic).tolist():
            if topic not in known:
                known[topic] = self.search(intents, topic).best()
        return {topic: known[topic] for topic in np.unique(lists.topic).tolist()}

    def divisor(self, lists: Assessed) -> Array:
        """For each list, the score of the best list of its topic, or the bound of it."""
        best = self.best(lists)
        return np.array([best[topic].bound for topic in lists.topic.tolist()], dtype=np.float64)

    def note(self, lists: Assessed) -> str | None:
        """For how many topics the divisor is a bound, and how far from the truth scores may be."""
        best = self.best(lists)
        bounded = {topic: each for topic, each in best.items() if not each.exact}
        if not bounded:
            return None
        worst = max(bounded, key=lambda topic: bounded[topic].bound / max(bounded[topic].seen, 1e-300))
        low = 100 * (1 - bounded[worst].seen / bounded[worst].bound)
        return caution_note(
            f"{self}: the best list is known for {len(best) - len(bounded)} of {counted(len(best), 'topic')}; for the "
            f"others scores are divided by a bound and are up to {low:.0f}% too low (topic {lists.topics[worst]})"
        )


@measure
class nDIN(Attainable):
    r"""DIN-nDCG divided by the DIN-nDCG of the best list, so that a list can reach 1 on every topic.

    .. math:: \frac{\sum_{r \le l} GG^{DIN}(r) / \log_2(r + 1)}{\max_{list} \sum_{r \le l} GG^{DIN}(r) / \log_2(r + 1)}

    DIN-nDCG divides by the ideal list of D-nDCG, in which navigational intents count more than once; here the best list
    under DIN's own gains is looked for. `recall` mixes in intent recall, on both sides: `recall=0.5` is DIN#-nDCG that
    reaches 1. If a topic has too many documents to find the best list, scores are divided by a bound that no list
    exceeds, and a note counts these topics.
    No relevant documents: undefined.
    Reference: Sakai, Web Search Evaluation with Informational and Navigational Intents, Journal of Information
    Processing 21(1), 2013, §3.1 and §6 (that DIN-nDCG does not reach 1); dividing by the best list is ours

    >>> round(nDIN().of([{"a": 1}, {"b": 1}], missed=[{"a": 1, "b": 1}]), 4)
    0.5209
    """

    name = "nDIN-nDCG"
    aliases = ("nDIN",)
    properties = Properties(graded=True, normalised=True, intent_probabilities=True)

    def search(self, intents: Intents, topic: int) -> BestDIN:
        gain = Gain.of(self.gain)
        return BestDIN(Documents.of(intents, topic, self.k, 1, gain), gain, self.recall)

    def terms(self, lists: Assessed) -> Terms:
        gains = GlobalGain(Gain.of(self.gain), din=True).apply(lists)
        every = gains.hits()
        hits = every if self.k is None else every.at(np.flatnonzero(every.rank <= self.k))
        adds = (1 - self.recall) * hits.grade / Discount("log2")(hits.rank)
        columns = {"gain": hits.grade}
        if self.recall:
            intents, topics = intents_of(lists), np.unique(lists.topic).tolist()
            ideal = np.zeros(intents.topics)
            ideal[topics] = [self.search(intents, topic).ideal for topic in topics]
            columns["new intents"] = new_intents(lists, hits, 1, self.k)
            adds = (
                adds + self.recall * (ideal[lists.topic] / number_of_intents(lists))[hits.row] * columns["new intents"]
            )
        return Terms(hits, adds, self.divisor(lists), columns)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """What a document adds depends on those above it alone, and the divisor on the topic."""
        terms = self.terms(lists)
        return divide(added_by_rank(terms.hits, terms.adds, ranks), self.divisor(lists)[0])


@measure
class nPplusQ(Attainable):
    r"""P+Q divided by the P+Q of the best list, so that a list can reach 1 on every topic.

    .. math:: \frac{\gamma\,I\text{-}rec + (1 - \gamma)\,\text{P+Q}}
        {\max_{list}\,(\gamma\,I\text{-}rec + (1 - \gamma)\,\text{P+Q})}

    No list is ideal for all intents at once, so P+Q seldom reaches 1. `recall` is γ, the weight of intent recall, by
    default 0; `recall=0.5` is P+Q# that reaches 1. `beta`, `rel`, `gain` and `norm` are as for P+Q. If a topic has
    too many documents to find the best list, scores are divided by a bound that no list exceeds, and a note counts
    these topics.
    No relevant documents: undefined.
    Reference: Sakai, Web Search Evaluation with Informational and Navigational Intents, Journal of Information
    Processing 21(1), 2013, §3.2 and §6 (that P+Q does not reach 1); dividing by the best list is ours

    >>> ranked = [{"a": 1}, {"b": 1}]
    >>> (nPplusQ @ 3).of(ranked), round((PplusQ @ 3).of(ranked), 4)
    (1.0, 0.8333)
    """

    beta: NotNegative = 1
    rel: float = 1
    norm: Norm = "min"

    name = "nP+Q"
    aliases = ("nPplusQ",)
    properties = Properties(graded=True, normalised=True, intent_probabilities=True)

    def plain(self) -> PplusQ:
        return PplusQ(beta=self.beta, rel=self.rel, gain=self.gain, norm=self.norm, cutoff=self.cutoff)

    def search(self, intents: Intents, topic: int) -> BestPQ:
        gain = FromGrade(Gain.of(self.gain), self.rel)
        mine = slice(intents.start[topic], intents.start[topic + 1])
        relevant = np.bincount(intents.intent[intents.grade >= self.rel], minlength=len(intents))[mine]
        documents = Documents.of(intents, topic, self.k, self.rel, gain)
        return BestPQ(documents, relevant.astype(np.float64), gain, self.rel, self.beta, self.norm, self.recall)

    def terms(self, lists: Assessed) -> Terms:
        plain = self.plain().terms(lists)
        adds, columns = (1 - self.recall) * plain.adds, dict(plain.columns)
        if self.recall:
            columns["new intents"] = new_intents(lists, plain.hits, self.rel, self.k)
            share = self.recall / np.maximum(number_of_intents(lists, self.rel), 1)
            adds = adds + share[plain.hits.row] * columns["new intents"]
        return Terms(plain.hits, adds, self.divisor(lists), columns)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        """P+Q of each prefix, and the intents that it serves; the divisor depends on the topic alone."""
        total = (1 - self.recall) * self.plain().score_prefixes(lists, ranks)
        if self.recall:
            hits = relevant_to_intents(lists, self.rel, self.k).hits
            served = added_by_rank(hits, new_intents(lists, hits, self.rel, self.k), ranks)
            total = total + self.recall * served / max(number_of_intents(lists, self.rel)[0], 1)
        return divide(total, self.divisor(lists)[0])
