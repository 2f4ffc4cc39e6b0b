"""Topics with several intents, difficult intents and topics count more: the α#-IA family of diversity measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.assessed.hits_by_intent import intents_of
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.measures.base import Properties, Terms, measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.several_needs.novelty import Novelty, RankBiased, log_discount, reciprocal
from cranfield.measures.several_needs.novelty_ideal import greedy_ideal
from cranfield.notes import caution_note
from cranfield.text import counted, listed
from cranfield.types import Array

NOT_THE_PAPERS_FORMULA = (
    "alpha#-IA: the formula follows the description in Sakai 2014 §3.1, because that of Golbus, Aslam & Clarke (2013) "
    "was not available: do not compare with published scores"
)


@dataclass(frozen=True)
class Share:
    """What each entry of intents is worth: the gain of its grade times the weight of its intent.

    With `intents="rare"` the weight of an intent is its probability divided by the number of its entries, with
    `"equal"` its probability. The largest weight of a topic is scaled to 1, so that equal weights change nothing.
    """

    intents: str
    gain: Gain

    def __call__(self, intents: Intents) -> Array:
        return intents.once(("share", self), lambda: self.gain(intents.grade) * self._weights(intents)[intents.intent])

    def _weights(self, intents: Intents) -> Array:
        entries = np.bincount(intents.intent, minlength=len(intents))
        weight = np.where(entries > 0, intents.probability, 0.0)
        if self.intents == "rare":
            weight = weight / np.maximum(entries, 1)
        largest = np.zeros(intents.topics)
        np.maximum.at(largest, intents.topic, weight)
        return np.divide(weight, largest[intents.topic], out=np.zeros(len(intents)), where=weight > 0)


def difficulty(intents: Intents, rel: float) -> Array:
    """For each topic, the expected fraction of its intents that z of its relevant documents, drawn at random, miss.

    z is the number of documents that the greedy list needs to serve every intent. None of the R_i documents of an
    intent is among z of R with probability (R − R_i)/R · (R − R_i − 1)/(R − 1) · …, z factors. A topic without relevant
    documents has difficulty 0.

    >>> from cranfield.assessed.hits_by_intent import intents_of, with_intents
    >>> difficulty(intents_of(with_intents([{"a": 1, "b": 1}, {"a": 1}])), 1).tolist()  # half of the orders miss b
    [0.25]
    """

    def compute() -> Array:
        relevant = intents.above(rel)
        depth = int(intents.count.max(initial=1))  # enough: each document of the greedy list serves a new intent
        needed = greedy_ideal(intents, rel, 1.0, depth).useful[relevant.topic]
        documents = relevant.topic_of_document[np.diff(relevant.document_start) > 0]
        total = np.bincount(documents, minlength=relevant.topics)[relevant.topic]
        own = np.bincount(relevant.intent, minlength=len(relevant))
        missed = np.ones(len(relevant))
        for drawn in range(int(needed.max(initial=0))):
            still = drawn < needed
            missed[still] *= np.maximum(total - own - drawn, 0)[still] / (total - drawn)[still]
        missed[own == 0] = 0.0  # intents without relevant documents do not count
        sums = np.bincount(relevant.topic, missed, relevant.topics)
        return np.asarray(sums / np.maximum(relevant.judged_count, 1), dtype=np.float64)

    return intents.once(("difficulty", rel), compute)


class AlphaSharpIA(Novelty):
    """The base class of the family; its members differ in the weight of a rank."""

    caveat = NOT_THE_PAPERS_FORMULA

    gain: GainLike = LINEAR
    intents: str = "rare"
    topics: str = "difficult"

    def check(self) -> None:
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
        """The note on the whole family, and on a second line the topics with difficulty 0."""
        if self.topics == "equal":
            return NOT_THE_PAPERS_FORMULA
        intents = intents_of(lists)
        topics = np.unique(lists.topic)
        has_relevant = intents.above(self.rel).judged_count[topics] > 0
        easy = topics[has_relevant & (difficulty(intents, self.rel)[topics] == 0)]
        if not len(easy):
            return NOT_THE_PAPERS_FORMULA
        names = listed(lists.topics[topic] for topic in easy.tolist())
        zero = caution_note(f"every run scores 0 on {counted(len(easy), 'topic')} with difficulty 0: {names}")
        return f"{NOT_THE_PAPERS_FORMULA}\nalpha#-IA: {zero}"


@measure
class AlphaSharpNDCGIA(AlphaSharpIA):
    r"""alpha-nDCG with gains added over intents, in which difficult intents and topics count more.

    .. math:: d \cdot \frac{\sum_{r \le l} ng(r) / \log_2(r + 1)}{\sum_{r \le l} ng^*(r) / \log_2(r + 1)}, \qquad
        ng(r) = \sum_i w_i\, g_i(r) (1 - \alpha)^{C_i(r-1)}, \qquad w_i = \frac{Pr(i|q)}{R_i}, \qquad
        d = \frac{1}{n} \sum_i \prod_{k<z} \frac{R - R_i - k}{R - k}

    The paper's own formula was not available; this one follows the description in Sakai 2014 §3.1. Do not compare with
    published scores.

    As in α-nDCG, an intent counts 1 − `alpha` times as much after every document of grade `rel` or better for it
    (C_i(r) documents down to rank r). The ideal list takes the document that gains most at every rank and, among equal
    floating-point sums, the last by name. As in D-measures, the gains g_i(r) of a document for all intents are added.

    `intents="rare"` divides the probability of an intent among its R_i relevant documents, so that an intent with few
    of them has more weight; with `intents="equal"` w_i is Pr(i|q). (The largest weight of a topic is scaled to 1, which
    changes no score.) `topics="difficult"` multiplies the score by d, which is 1 minus the expected I-rec of the
    topic's R relevant documents in random order at rank z, the number of documents that the greedy list needs to serve
    all n intents. If any order serves them all at once, as with one intent, d is 0 and every list scores 0; an ideal
    list scores d, not 1. `topics="equal"` leaves d out. A list can score above the ideal list, without bound if grades
    differ. With both "equal", grades of 0 and 1 and equally likely intents it is α-nDCG.
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
    weight = staticmethod(log_discount)
    top_down = True
    properties = Properties(graded=True, diminishing=True, intent_probabilities=True, high=np.inf)


@measure
class AlphaSharpNERRIA(AlphaSharpIA):
    r"""nERR-IA with gains added over intents, in which difficult intents and topics count more.

    .. math:: d \cdot \frac{\sum_{r \le l} ng(r) / r}{\sum_{r \le l} ng^*(r) / r}, \qquad
        ng(r) = \sum_i w_i\, g_i(r) (1 - \alpha)^{C_i(r-1)}

    The paper's own formula was not available; this one follows the description in Sakai 2014 §3.1. Do not compare with
    published scores. Everything is as for alpha#-nDCG-IA (`alpha`, `rel`, `gain`, `intents`, `topics`, the weights w_i,
    the difficulty d and the ideal list), except the discount, which is that of ERR. With
    `intents="equal",topics="equal"`, grades of 0 and 1 and equally likely intents it is `nERR-IA(dialect="ndeval")`.
    No relevant documents: undefined.
    Reference: after Golbus, Aslam & Clarke, Increasing evaluation sensitivity to diversity, Information Retrieval 16,
    2013, doi:10.1007/s10791-012-9218-8, as described in Sakai, Metrics, Statistics, Tests, 2014, §3.1

    >>> AlphaSharpNERRIA().of([{"a": 1, "b": 1}, {"a": 1}])
    0.25
    """

    name = "alpha#-nERR-IA"
    aliases = ("AlphaSharpNERRIA", "α#-nERR-IA", "alpha♯-nERR-IA", "α♯-nERR-IA")
    weight = staticmethod(reciprocal)
    top_down = True
    properties = Properties(graded=True, diminishing=True, intent_probabilities=True, high=np.inf)


@measure
class AlphaSharpNNRBPIA(AlphaSharpIA, RankBiased):
    r"""nNRBP with gains added over intents, in which difficult intents and topics count more.

    .. math:: d \cdot \frac{\sum_{r \le l} ng(r)\,\beta^{r-1}}{\sum_{r \le l} ng^*(r)\,\beta^{r-1}}, \qquad
        ng(r) = \sum_i w_i\, g_i(r) (1 - \alpha)^{C_i(r-1)}

    The paper's own formula was not available; this one follows the description in Sakai 2014 §3.1. Do not compare with
    published scores. Everything is as for alpha#-nDCG-IA (`alpha`, `rel`, `gain`, `intents`, `topics`, the weights w_i,
    the difficulty d and the ideal list), except the discount, which is that of nNRBP: `beta` is the probability of
    going on to the next document. With `intents="equal",topics="equal"`, grades of 0 and 1 and equally likely intents
    it is nNRBP.
    No relevant documents: undefined.
    Reference: after Golbus, Aslam & Clarke, Increasing evaluation sensitivity to diversity, Information Retrieval 16,
    2013, doi:10.1007/s10791-012-9218-8, as described in Sakai, Metrics, Statistics, Tests, 2014, §3.1

    >>> AlphaSharpNNRBPIA().of([{"a": 1, "b": 1}, {"a": 1}])
    0.25
    """

    name = "alpha#-nNRBP-IA"
    aliases = ("AlphaSharpNNRBPIA", "α#-nNRBP-IA", "alpha♯-nNRBP-IA", "α♯-nNRBP-IA")
    top_down = True
    properties = Properties(graded=True, diminishing=True, intent_probabilities=True, high=np.inf)
