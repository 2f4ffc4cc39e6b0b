"""The α#-IA family: novelty, gains added over intents, and more weight for what is hard to find.

Our reading of one sentence: Sakai, Metrics, Statistics, Tests (2014) §3.1 says that Golbus, Aslam & Clarke (2013)
combine the ideas of α-nDCG, intent-aware measures and D-measures and emphasise inherently difficult topics and
subtopics. Their own formulas were not at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.assessed.hits_by_intent import intents_of
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Properties, Terms, measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.novelty import Novelty, RankBiased, log_discount, reciprocal
from cranfield.measures.novelty_ideal import greedy_ideal
from cranfield.types import Array, Index

A_READING = (
    "alpha#-IA: the formula of Golbus, Aslam & Clarke (2013) was not at hand; this is a reading of the description in "
    "Sakai 2014 §3.1: do not compare with published scores"
)


@dataclass(frozen=True)
class Share:
    """What each entry of a topic's intents is worth: the gain of its grade, times the weight of its intent.

    `intents="rare"` weighs an intent by its probability over the number of its entries, `"equal"` by its probability.
    The weightiest intent of a topic weighs 1, so that equal weights are exactly those of measures without any.
    """

    intents: str
    gain: Gain

    def __call__(self, some: Intents) -> Array:
        return some.once(("share", self), lambda: self._gains(some) * self._weights(some)[some.intent])

    def _gains(self, some: Intents) -> Array:
        with np.errstate(over="ignore"):
            gains = self.gain(some.grade)
        if not np.isfinite(gains).all():
            grade = some.grade[~np.isfinite(gains)][0]
            raise UsageError(f"gain == {self.gain}: grade {grade:g} gains more than a number can hold; give a table")
        return gains

    def _weights(self, some: Intents) -> Array:
        entries = np.bincount(some.intent, minlength=len(some))
        weight = np.where(entries > 0, some.probability, 0.0)
        if self.intents == "rare":
            weight = weight / np.maximum(entries, 1)
        most = np.zeros(some.topics)
        np.maximum.at(most, some.topic, weight)
        return np.divide(weight, most[some.topic], out=np.zeros(len(some)), where=weight > 0)


def difficulty(intents: Intents, rel: float) -> Array:
    """Of each topic: the share of its intents that relevant documents in any order are expected to miss.

    As many documents are drawn as the greedy list needs to serve every intent; none of the R_i documents of an intent
    is among z out of R with probability (R − R_i)/R · (R − R_i − 1)/(R − 1) · …, z factors. 0 without relevant ones.

    >>> from cranfield.assessed.hits_by_intent import intents_of, with_intents
    >>> difficulty(intents_of(with_intents([{"a": 1, "b": 1}, {"a": 1}])), 1).tolist()  # b: missed by half the orders
    [0.25]
    """

    def make() -> Array:
        some = intents.above(rel)
        deep = int(intents.count.max(initial=1))  # no cover is longer: each of its documents serves a new intent
        needed = greedy_ideal(intents, rel, 1.0, deep).useful[some.topic]
        relevant = np.bincount(some.topic_of_document[np.diff(some.document_start) > 0], minlength=some.topics)
        total, own = relevant[some.topic], np.bincount(some.intent, minlength=len(some))
        missed = np.ones(len(some))
        for drawn in range(int(needed.max(initial=0))):
            still = drawn < needed
            missed[still] *= np.maximum(total - own - drawn, 0)[still] / (total - drawn)[still]
        missed[own == 0] = 0.0  # an intent that nobody can serve is no intent
        sums = np.bincount(some.topic, missed, some.topics)
        return np.asarray(sums / np.maximum(some.judged_count, 1), dtype=np.float64)

    return intents.once(("difficulty", rel), make)


class AlphaSharpIA(Novelty):
    """What the members of the family share; they differ in the weight of a rank."""

    gain: GainLike = LINEAR
    intents: str = "rare"
    topics: str = "difficult"

    def check(self) -> None:
        super().check()
        check.one_of(self.name, ("rare", "equal"), intents=self.intents)
        check.one_of(self.name, ("difficult", "equal"), topics=self.topics)

    @property
    def worth(self) -> Share:
        return Share(self.intents, Gain.of(self.gain))

    def terms(self, lists: Assessed) -> Terms:
        hits, adds, columns = self.discounted(lists)
        if self.topics == "difficult":
            columns["topic difficulty"] = difficulty(intents_of(lists), self.rel)[lists.topic][hits.row]
            adds = adds * columns["topic difficulty"]
        return Terms(hits, adds, self.ideal_sum(lists), columns)

    def note(self, lists: Assessed) -> str:
        """What all of the family share, and in a line of its own what only this reading brings."""
        if self.topics == "equal":
            return A_READING
        intents = intents_of(lists)
        here = np.unique(lists.topic)
        served = intents.above(self.rel).judged_count[here] > 0
        easy = here[served & (difficulty(intents, self.rel)[here] == 0)]
        if not len(easy):
            return A_READING
        some = ", ".join(lists.topics[topic] for topic in easy[:5].tolist()) + (", ..." if len(easy) > 5 else "")
        are = "topic has" if len(easy) == 1 else "topics have"
        return f"{A_READING}\nalpha#-IA: {len(easy)} {are} difficulty 0, where every run scores 0: {some}"


@measure
class AlphaSharpNDCGIA(AlphaSharpIA):
    r"""Discounted gain of documents for all intents, repeated ones counting less, difficult intents and topics more.

    .. math:: d \cdot \frac{\sum_{r \le l} ng(r) / \log_2(r + 1)}{\sum_{r \le l} ng^*(r) / \log_2(r + 1)}, \qquad
        ng(r) = \sum_i w_i\, g_i(r) (1 - \alpha)^{C_i(r-1)}, \qquad w_i = \frac{Pr(i|q)}{R_i}, \qquad
        d = \frac{1}{n} \sum_i \prod_{k<z} \frac{R - R_i - k}{R - k}

    The paper's own formula was not at hand: this is a reading of the description in Sakai 2014 §3.1, by which the
    α#-IA measures combine the ideas of α-nDCG, intent-aware measures and D-measures and emphasise difficult topics and
    intents. Do not compare with published scores.

    As for α-nDCG an intent counts 1 − `alpha` times as much after every document of grade `rel` or better for it,
    C_i(r) of them down to rank r, and the ideal list takes the document that gains most at every rank, of equal ones
    the one whose name comes last; gains are equal where the sums of floating-point numbers are. As for D-measures the
    gains g_i(r) of a document for all intents are added. `intents="rare"`: the R_i relevant documents
    of an intent share its probability, so an intent with few of them weighs more; `intents="equal"`: w_i is Pr(i|q).
    (The largest weight of a topic is taken as 1: a common factor changes no score.) `topics="difficult"`: the score is
    multiplied by d, which is 1 less the I-rec to be expected of the topic's R relevant documents in a random order at
    rank z, the number of documents that the greedy list takes to serve all n intents. Where any order serves them all
    at once, as with one intent, d is 0 and every list scores 0; the score of an ideal list is d, not 1.
    `topics="equal"` leaves d out. Lists can be above the ideal; where grades differ, by any factor. With both "equal",
    grades of 0 and 1 and intents equally likely it is α-nDCG.
    No relevant documents: undefined.
    Reference: after Golbus, Aslam & Clarke, Increasing evaluation sensitivity to diversity, Information Retrieval 16,
    2013, doi:10.1007/s10791-012-9218-8, as described in Sakai, Metrics, Statistics, Tests, 2014, §3.1

    >>> AlphaSharpNDCGIA().of([{"a": 1, "b": 1}, {"a": 1}])  # the ideal list; of two orders one misses b at rank 1
    0.25
    """

    name = "alpha#-nDCG-IA"
    aliases = (
        *("AlphaSharpNDCGIA", "α#-nDCG-IA", "alpha♯-nDCG-IA", "α♯-nDCG-IA", "alpha#-NDCG-IA"),
        *("alpha#-IA", "α#-IA", "alpha♯-IA", "α♯-IA"),
    )
    properties = Properties(graded=True, diminishing=True, intent_probabilities=True, high=np.inf)

    def weight(self, rank: Index) -> Array:
        return log_discount(rank)


@measure
class AlphaSharpNERRIA(AlphaSharpIA):
    r"""Gain over rank of documents for all intents, repeated ones counting less, difficult intents and topics more.

    .. math:: d \cdot \frac{\sum_{r \le l} ng(r) / r}{\sum_{r \le l} ng^*(r) / r}, \qquad
        ng(r) = \sum_i w_i\, g_i(r) (1 - \alpha)^{C_i(r-1)}

    The paper's own formula was not at hand: this is a reading of the description in Sakai 2014 §3.1; do not compare
    with published scores. `alpha`, `rel`, `gain`, `intents`, `topics`, the weights w_i and the topic's difficulty d,
    which can be 0, as for alpha#-nDCG-IA, and so is the ideal list: of documents that gain the same (equal
    floating-point sums) it takes the last by name. Only the discount is that of nERR-IA, which it is with
    `intents="equal",topics="equal"`, grades of 0 and 1 and intents equally likely.
    No relevant documents: undefined.
    Reference: after Golbus, Aslam & Clarke, Increasing evaluation sensitivity to diversity, Information Retrieval 16,
    2013, doi:10.1007/s10791-012-9218-8, as described in Sakai, Metrics, Statistics, Tests, 2014, §3.1

    >>> AlphaSharpNERRIA().of([{"a": 1, "b": 1}, {"a": 1}])
    0.25
    """

    name = "alpha#-nERR-IA"
    aliases = ("AlphaSharpNERRIA", "α#-nERR-IA", "alpha♯-nERR-IA", "α♯-nERR-IA")
    properties = Properties(graded=True, diminishing=True, intent_probabilities=True, high=np.inf)

    def weight(self, rank: Index) -> Array:
        return reciprocal(rank)


@measure
class AlphaSharpNNRBPIA(AlphaSharpIA, RankBiased):
    r"""Rank-biased gain of documents for all intents, repeated ones counting less, difficult intents and topics more.

    .. math:: d \cdot \frac{\sum_{r \le l} ng(r)\,\beta^{r-1}}{\sum_{r \le l} ng^*(r)\,\beta^{r-1}}, \qquad
        ng(r) = \sum_i w_i\, g_i(r) (1 - \alpha)^{C_i(r-1)}

    The paper's own formula was not at hand: this is a reading of the description in Sakai 2014 §3.1; do not compare
    with published scores. `alpha`, `rel`, `gain`, `intents`, `topics`, the weights w_i and the topic's difficulty d,
    which can be 0, as for alpha#-nDCG-IA, and so is the ideal list: of documents that gain the same (equal
    floating-point sums) it takes the last by name. Only the discount is that of nNRBP, which it is with
    `intents="equal",topics="equal"`, grades of 0 and 1 and intents equally likely. `beta` is the chance that the reader
    goes on to the next document.
    No relevant documents: undefined.
    Reference: after Golbus, Aslam & Clarke, Increasing evaluation sensitivity to diversity, Information Retrieval 16,
    2013, doi:10.1007/s10791-012-9218-8, as described in Sakai, Metrics, Statistics, Tests, 2014, §3.1

    >>> AlphaSharpNNRBPIA().of([{"a": 1, "b": 1}, {"a": 1}])
    0.25
    """

    name = "alpha#-nNRBP-IA"
    aliases = ("AlphaSharpNNRBPIA", "α#-nNRBP-IA", "alpha♯-nNRBP-IA", "α♯-nNRBP-IA")
    properties = Properties(graded=True, diminishing=True, intent_probabilities=True, high=np.inf)
