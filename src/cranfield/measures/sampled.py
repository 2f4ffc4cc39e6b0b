"""Measures estimated from a sample of the pool: strata drawn at different rates, or documents at different odds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import Sample
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.gain import LINEAR, Discount, Gain, GainLike
from cranfield.measures.incomplete import EPSILON
from cranfield.types import Array, Index

ONE_STRATUM = "the judgments have one stratum; column 2 of the qrels would tell strata apart"


def documents_of_sample(lists: Assessed) -> Index:
    """Which entry of the sample each hit is."""
    if lists.document is None:
        raise UsageError(
            "unjudged documents cannot be read as best or worst in a sample: nobody knows how they were drawn"
        )
    return lists.document


def probabilities_of(lists: Assessed) -> Array:
    """How likely each document of the sample was to be drawn, or a complaint that says what would supply that."""
    if lists.sample is None or lists.sample.probability is None:
        raise UsageError(
            "statAP needs to know how likely documents were to be judged: give a file of lines 'topic doc probability' "
            "or {topic: {doc: probability}}, as inclusion= (--inclusion FILE)"
        )
    return lists.sample.probability


class _Stratified(Measure):
    """What measures on stratified samples share. Judgments without strata are one stratum."""

    def beyond_grades(self) -> bool:
        return True  # documents of different strata count differently

    def strata(self, lists: Assessed) -> tuple[Sample, Index, Index]:
        """The sample, the stratum of each hit, and the topic of the sample that each row belongs to."""
        if lists.sample is None:
            judged = lists.judged
            one = Sample(judged.topic, judged.grade, np.zeros(len(judged.grade), dtype=np.int64))
            return one, np.zeros(len(lists.row), dtype=np.int64), lists.set_of_row
        return lists.sample, lists.sample.stratum[documents_of_sample(lists)], lists.topic

    def scale_of_hits(self, lists: Assessed, lowest: float) -> Array:
        """How many documents of its stratum each hit stands for."""
        sample, stratum, topic = self.strata(lists)
        table = np.ones((int(max(sample.topic.max(initial=0), topic.max(initial=0))) + 1, sample.strata))
        table[sample.topic, sample.stratum] = sample.scale(lowest)
        return np.asarray(table[topic[lists.row], stratum])

    def note(self, lists: Assessed) -> str | None:
        return ONE_STRATUM if lists.sample is None or lists.sample.strata == 1 else None


@measure
class xinfAP(_Stratified):
    r"""Extended inferred average precision: AP estimated from a sample of each stratum of the pool.

    .. math::
        \frac{1}{\hat R}\sum_r I(r)\frac{N_{s(r)}}{n_{s(r)}}\left(\frac{1}{r} + \frac{1}{r}\sum_s d_s(r)
        \frac{c_s(r) + \epsilon}{c_s(r) + n_s(r) + 2\epsilon}\right), \qquad
        \hat R = \sum_{relevant} \frac{N_s}{n_s}

    N_s documents are in stratum s, n_s of them were drawn and judged. Of d_s(r) documents of the stratum above rank r,
    c_s(r) were judged relevant and n_s(r) non-relevant. Strata are column 2 of the judgments, and a grade of −1 says
    that a document was not drawn. With one stratum this is infAP; ε = 0.00001 as there.
    No relevant documents: undefined.
    Reference: Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437

    >>> round(xinfAP().of([1, -1, 0, 1]), 4)
    0.8125
    """

    rel: float = 1

    aliases = ("xInfAP", "XinfAP")
    cutoff_kind = "none"
    properties = Properties()

    def terms(self, lists: Assessed) -> Terms:
        sample, stratum, topic = self.strata(lists)
        lowest = min(0.0, self.rel)
        every, at = lists.hits(), np.flatnonzero(lists.grade >= self.rel)
        relevant, judged = lists.grade >= self.rel, lists.grade >= lowest
        hits = every.at(at)
        above = np.zeros(len(at))
        for one in range(sample.strata):
            here = stratum == one
            self_too = here[at].astype(np.float64)
            pooled, drawn, good = (
                every.running(here & kind)[at] - self_too for kind in (np.ones(len(here), dtype=bool), judged, relevant)
            )
            above += pooled * (good + EPSILON) / (drawn + 2 * EPSILON)
        expected = (1.0 + above) / hits.rank
        scale = self.scale_of_hits(lists, lowest)[at]
        columns = {"stands for": scale, "expected precision": expected}
        some = sample.grade >= self.rel
        whole = np.bincount(sample.topic[some], sample.scale(lowest)[some], int(topic.max(initial=0)) + 1)
        return Terms(hits, scale * expected, np.asarray(whole[topic], dtype=np.float64), columns)


@measure
class infNDCG(_Stratified):
    r"""Inferred nDCG: DCG and the ideal DCG estimated from a sample of each stratum of the pool.

    .. math:: \frac{\sum_{r \le l} \frac{N_{s(r)}}{n_{s(r)}} g(r) / \log_2(r + 1)}
        {\sum_{r \le l} \hat g^*(r) / \log_2(r + 1)}

    N_s documents are in stratum s, n_s of them were drawn and judged; the ideal list has N_s/n_s documents for each
    drawn one, best first. Where that is no whole number a rank may hold parts of documents: its gain is theirs in
    proportion. Strata are column 2 of the judgments, and a grade of −1 says that a document was not drawn. With all
    drawn this is nDCG. An estimate may exceed 1.
    No relevant documents: undefined.
    Reference: Yilmaz, Kanoulas & Aslam, SIGIR 2008, doi:10.1145/1390334.1390437

    >>> (infNDCG @ 1).of([1, 2])
    0.5
    """

    gain: GainLike = LINEAR

    aliases = ("infnDCG", "infndcg")
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
        some = np.flatnonzero(gains > 0)
        order = some[np.lexsort((-gains[some], sample.topic[some]))]
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


@measure
class statAP(Measure):
    r"""AP estimated from documents that were each drawn with a probability of their own.

    .. math:: \frac{1}{\hat R}\sum_r \frac{I(r)}{\pi(r)}\cdot\frac{1}{r}\sum_{i \le r} \frac{I(i)}{\pi(i)}, \qquad
        \hat R = \sum_{relevant} \frac{1}{\pi}

    π is the probability with which a document was drawn to be judged. With all of them 1 this is AP. Where they are
    low an estimate may exceed 1, for a document stands for 1/π in its own precision too.
    No relevant documents: undefined.
    Reference: Allan, Carterette, Dachev, Aslam, Pavlu & Kanoulas, Million Query Track 2007 Overview, TREC 2007

    >>> statAP().of([1, 0, 1], inclusion=[1, 1, 0.5])
    1.0
    """

    rel: float = 1

    needs: ClassVar[str] = "inclusion"
    aliases = ("StatAP", "statMAP")
    cutoff_kind = "none"
    properties = Properties(high=np.inf)

    def terms(self, lists: Assessed) -> Terms:
        probability = probabilities_of(lists)
        assert lists.sample is not None
        at = np.flatnonzero(lists.grade >= self.rel)
        hits, worth = lists.hits().at(at), 1.0 / probability[documents_of_sample(lists)[at]]
        precision = hits.running(worth) / hits.rank
        some = lists.sample.grade >= self.rel
        whole = np.bincount(lists.sample.topic[some], 1.0 / probability[some], int(lists.topic.max(initial=0)) + 1)
        columns = {"1/probability": worth, "precision": precision}
        return Terms(hits, worth * precision, np.asarray(whole[lists.topic], dtype=np.float64), columns)
