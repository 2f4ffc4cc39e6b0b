"""Judgments that are a sample: estimates from strata, or documents, that were drawn with different probabilities."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import Sample
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.gain import LINEAR, Discount, Gain, GainLike
from cranfield.measures.ranked_lists.incomplete import EPSILON
from cranfield.text import counted
from cranfield.types import Array, Index

ONE_STRATUM = "the judgments have one stratum; column 2 of the qrels can give strata"
LEAST_RELEVANT = 10
FEW_RELEVANT = (
    "caution: a topic has {} relevant documents in the sample (median), too few for estimates of AP and nDCG without "
    "bias; draw more documents"
)
NONE_DRAWN = "no document was drawn from {}, whose relevant documents xinfAP and infNDCG leave out; statAP does not"


def documents_of_sample(lists: Assessed) -> Index:
    """The entry of the sample that each hit is."""
    if lists.document is None:
        raise UsageError(
            "unjudged documents cannot be read as best or worst in a sample, because how they were drawn is unknown"
        )
    return lists.document


def few_relevant(lists: Assessed, rel: float = 1) -> str | None:
    """A caution if few relevant documents were drawn and others were not: a ratio of two estimates is then off."""
    if lists.sample is None or not (lists.sample.grade < 0).any():
        return None
    relevant = np.bincount(lists.sample.topic[lists.sample.grade >= rel])
    typical = float(np.median(relevant[relevant > 0])) if relevant.any() else 0.0
    return FEW_RELEVANT.format(f"{typical:g}") if typical < LEAST_RELEVANT else None


class _Stratified(Measure):
    """The base class of measures on stratified samples. Judgments without strata are one stratum."""

    estimates: ClassVar[bool] = True

    def beyond_grades(self) -> bool:
        return True  # documents of different strata count differently

    def looks_at(self) -> frozenset[str]:
        return super().looks_at() | {"sample"}

    def strata(self, lists: Assessed) -> tuple[Sample, Index, Index]:
        """The sample, the stratum of each hit, and the topic of the sample that each row belongs to."""
        if lists.sample is None:
            judged = lists.judged
            one_stratum = Sample(judged.topic, judged.grade, np.zeros(len(judged.grade), dtype=np.int64))
            return one_stratum, np.zeros(len(lists.row), dtype=np.int64), lists.set_of_row
        return lists.sample, lists.sample.stratum[documents_of_sample(lists)], lists.topic

    def scale_of_hits(self, lists: Assessed, lowest: float) -> Array:
        """The number of documents of its stratum that each hit represents."""
        sample, stratum, topic = self.strata(lists)
        table = np.ones((int(max(sample.topic.max(initial=0), topic.max(initial=0))) + 1, sample.strata))
        table[sample.topic, sample.stratum] = sample.scale(lowest)
        return np.asarray(table[topic[lists.row], stratum])

    def note(self, lists: Assessed) -> str | None:
        notes = [ONE_STRATUM] if lists.sample is None or lists.sample.strata == 1 else []
        if lists.sample is not None and (empty := lists.sample.strata_without_draws()):
            notes.append(NONE_DRAWN.format(counted(empty, "stratum", "strata")))
        if few := few_relevant(lists):
            notes.append(few)
        return "; ".join(notes) or None


UNSEEN = ("weighed", "half")


@measure
class xinfAP(_Stratified):
    r"""Extended inferred average precision: AP estimated from a sample of each stratum of the pool.

    .. math::
        \frac{1}{\hat R}\sum_r I(r)\frac{N_{s(r)}}{n_{s(r)}}\left(\frac{1}{r} + \frac{1}{r}\sum_s \frac{d_s(r)}{P_s(r)}
        \cdot\frac{c_s(r)}{c_s(r) + n_s(r)}\right), \qquad
        \hat R = \sum_{relevant} \frac{N_s}{n_s}

    Stratum s has N_s documents, of which n_s were drawn and judged. Of the d_s(r) documents of the stratum above rank
    r, c_s(r) were judged relevant and n_s(r) non-relevant; P_s(r) is the probability that one or more of them are drawn
    once r is, and a stratum of which nothing was seen above r adds 0. So the sum of precisions is estimated without
    bias, if every stratum with relevant documents has two drawn ones or more; its ratio to R̂ is a little low if few
    relevant documents are drawn, and a note warns of it. Strata are column 2 of the judgments, and a grade of −1 means
    that a document was not drawn.

    `unseen="half"` is the form of the paper and of TREC's sample_eval: P is 1, and ε = 0.00001 is added to c and to n,
    so that half of the documents count as relevant where nothing was seen: too high for poor runs, too low for good
    ones. With one stratum it is infAP.
    No relevant documents: undefined.
    Reference: Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437

    >>> xinfAP().of([-1, 1, 0, 0, -1])
    0.5
    >>> xinfAP(unseen="half").of([-1, 1, 0, 0, -1])
    0.75
    """

    rel: float = 1
    unseen: str = "weighed"

    aliases = ("xInfAP", "XinfAP")
    cutoff_kind = "none"
    top_down = True
    properties = Properties(high=np.inf)

    def __post_init__(self) -> None:
        check.one_of(self.name, UNSEEN, unseen=self.unseen)

    def declares(self, default: Properties) -> Properties:
        return default.replace(high=1.0) if self.unseen == "half" else default

    def terms(self, lists: Assessed) -> Terms:
        sample, stratum, topic = self.strata(lists)
        lowest = min(0.0, self.rel)
        every, at = lists.hits(), np.flatnonzero(lists.grade >= self.rel)
        relevant, judged = lists.grade >= self.rel, lists.grade >= lowest
        hits = every.at(at)
        above = np.zeros(len(at))
        for number in range(sample.strata):
            in_stratum = stratum == number
            itself = in_stratum[at].astype(np.float64)
            sets = (in_stratum, in_stratum & judged, in_stratum & relevant)
            pooled, drawn, good = (every.running(documents)[at] - itself for documents in sets)
            if self.unseen == "half":
                above += pooled * (good + EPSILON) / (drawn + 2 * EPSILON)
            else:
                size, count = (part[topic[hits.row]] - itself for part in _sizes(sample, number, lowest, topic))
                seen = _probability_of_some(size, count, pooled)
                above += np.divide(pooled * good, drawn * seen, out=np.zeros(len(at)), where=drawn > 0)
        expected = (1.0 + above) / hits.rank
        scale = self.scale_of_hits(lists, lowest)[at]
        columns = {"stands for": scale, "expected precision": expected}
        counts = sample.grade >= self.rel
        total = np.bincount(sample.topic[counts], sample.scale(lowest)[counts], int(topic.max(initial=0)) + 1)
        return Terms(hits, scale * expected, np.asarray(total[topic], dtype=np.float64), columns)


def _sizes(sample: Sample, number: int, lowest: float, topic: Index) -> tuple[Array, Array]:
    """For each topic, the documents of a stratum, and those of them that were drawn."""
    own = sample.stratum == number
    topics = int(max(sample.topic.max(initial=0), topic.max(initial=0))) + 1
    drawn = own & (sample.grade >= lowest)
    sizes = [np.bincount(sample.topic[which], minlength=topics).astype(np.float64) for which in (own, drawn)]
    return sizes[0], sizes[1]


def _probability_of_some(size: Array, drawn: Array, among: Array) -> Array:
    r"""The probability that a sample of `drawn` of `size` documents has one or more of `among` of them.

    .. math:: 1 - \binom{N - d}{n} \Big/ \binom{N}{n}
    """
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, size.max(initial=0) + 1)))))

    def factorial(number: Array) -> Array:
        return np.asarray(logs[np.maximum(number, 0).astype(np.int64)])

    rest = size - among
    none = factorial(rest) - factorial(rest - drawn) - factorial(size) + factorial(size - drawn)
    return np.asarray(np.where(rest < drawn, 1.0, -np.expm1(none)))


@measure
class infNDCG(_Stratified):
    r"""Inferred nDCG: DCG and the ideal DCG estimated from a sample of each stratum of the pool.

    .. math:: \frac{\sum_{r \le l} \frac{N_{s(r)}}{n_{s(r)}} g(r) / \log_2(r + 1)}
        {\sum_{r \le l} \hat g^*(r) / \log_2(r + 1)}

    Stratum s has N_s documents, of which n_s were drawn and judged; the ideal list has N_s/n_s documents for each
    drawn one, best first. If that is not a whole number, a rank can hold parts of documents and gains in proportion.
    Strata are column 2 of the judgments, and a grade of −1 means that a document was not drawn. If all were drawn, this
    is nDCG. An estimate can exceed 1.
    No relevant documents: undefined.
    Reference: Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437

    >>> (infNDCG @ 1).of([1, 2])
    0.5
    """

    gain: GainLike = LINEAR

    aliases = ("infnDCG", "infndcg")
    top_down = True
    properties = Properties(graded=True, additive=True, high=np.inf)

    def terms(self, lists: Assessed) -> Terms:
        gain, discount = Gain.of(self.gain), Discount("log2")
        gains = np.where(lists.grade >= 0, gain(lists.grade), 0.0)
        kept = (gains > 0) if self.k is None else (gains > 0) & (lists.rank <= self.k)
        at = np.flatnonzero(kept)
        hits, gains, scale = lists.hits().at(at), gains[at], self.scale_of_hits(lists, 0)[at]
        divisor = discount(hits.rank)
        columns = {"gain": gains, "stands for": scale, "discount": divisor}
        return Terms(hits, scale * gains / divisor, self._ideal(lists, gain, discount), columns)

    def _ideal(self, lists: Assessed, gain: Gain, discount: Discount) -> Array:
        sample, _, of_row = self.strata(lists)
        gains = np.where(sample.grade >= 0, gain(sample.grade), 0.0)
        gaining = np.flatnonzero(gains > 0)
        order = gaining[np.lexsort((-gains[gaining], sample.topic[gaining]))]
        topic, length, gains = sample.topic[order], sample.scale()[order], gains[order]
        topics = int(max(topic.max(initial=0), of_row.max(initial=0))) + 1
        end = Hits(topics, topic, np.zeros(len(topic), dtype=np.int64), gains).running(length)
        begin = end - length
        if self.k is not None:
            begin, end = np.minimum(begin, self.k), np.minimum(end, self.k)
        deepest = int(np.ceil(end.max(initial=0.0))) + 1
        worth = np.concatenate(([0.0], np.cumsum(1.0 / discount(np.arange(1, deepest + 1)))))
        ranks = np.arange(deepest + 1)
        parts = np.interp(end, ranks, worth) - np.interp(begin, ranks, worth)
        return np.asarray(np.bincount(topic, gains * parts, topics)[of_row], dtype=np.float64)


PAIRS = ("joint", "independent", "product")


@measure
class statAP(Measure):
    r"""Average precision estimated from documents that were drawn with different probabilities.

    .. math:: \frac{1}{\hat R}\sum_r \frac{I(r)}{\pi(r)}\cdot\frac{1}{r}\left(1 + \sum_{i < r}
        \frac{I(i)}{\pi(i \mid r)}\right), \qquad \hat R = \sum_{relevant} \frac{1}{\pi}

    π is the probability with which a document was drawn to be judged. If all are 1, this is AP. π(i | r) is the
    probability of i in the samples that have r, so that a document counts once in its own precision. `pairs` says what
    is known about it: "joint" (in a stratum of N documents of which n = π N were drawn, (n − 1)/(N − 1) for its other
    documents; else π(i)), "independent" (always π(i)), or "product" (π(i), and a document counts 1/π in its own
    precision, too, as in the track of 2007: estimates are far too high, and can exceed 1). The sums are estimated
    without bias; their ratio is a little low if few relevant documents are drawn, and a note warns of it.
    No relevant documents: undefined.
    Reference: Allan, Carterette, Dachev, Aslam, Pavlu & Kanoulas, Million Query Track 2007 Overview, TREC 2007

    >>> statAP().of([1, 0, 1], inclusion=[1, 1, 0.5])
    0.7777777777777777
    >>> statAP(pairs="product").of([1, 0, 1], inclusion=[1, 1, 0.5])
    1.0
    """

    rel: float = 1
    pairs: str = "joint"

    needs: ClassVar[str] = "inclusion"
    estimates: ClassVar[bool] = True
    aliases = ("StatAP", "statMAP")
    cutoff_kind = "none"
    top_down = True
    properties = Properties(high=np.inf)

    def __post_init__(self) -> None:
        check.one_of(self.name, PAIRS, pairs=self.pairs)

    def note(self, lists: Assessed) -> str | None:
        return few_relevant(lists, self.rel)

    def terms(self, lists: Assessed) -> Terms:
        sample = lists.sample
        if sample is None or sample.probability is None:
            raise UsageError(
                "statAP needs the probability with which each document was drawn to be judged: give inclusion=, a file "
                "with lines 'topic doc probability' or {topic: {doc: probability}}"
            )
        at = np.flatnonzero(lists.grade >= self.rel)
        hits, drawn = lists.hits().at(at), documents_of_sample(lists)[at]
        worth = 1.0 / sample.probability[drawn]
        above = hits.running(worth) - worth
        if self.pairs == "joint":
            for number, factor in sample.factors_of_pairs(min(0.0, self.rel)):
                own = np.where(sample.stratum[drawn] == number, worth, 0.0)
                above += (factor[sample.topic[drawn]] - 1.0) * np.where(own > 0, hits.running(own) - own, 0.0)
        precision = (above + (worth if self.pairs == "product" else 1.0)) / hits.rank
        counts, topics = sample.grade >= self.rel, int(lists.topic.max(initial=0)) + 1
        total = np.bincount(sample.topic[counts], 1.0 / sample.probability[counts], topics)
        columns = {"1/probability": worth, "precision": precision}
        return Terms(hits, worth * precision, np.asarray(total[lists.topic], dtype=np.float64), columns)
