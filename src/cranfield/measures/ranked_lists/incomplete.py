"""Incomplete judgments: measures that use judged documents only, or infer what the others would be.

As in trec_eval, a negative grade means that a document was in the pool but not judged: bpref ignores it, infAP uses it
to see how much of the pool was sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, Ideal
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class _Above:
    """The relevant hits, and how many hits above each were judged non-relevant, or pooled but not judged."""

    hits: Hits
    nonrelevant: Array
    unjudged: Array


def _above(lists: Assessed, rel: float) -> _Above:
    def count() -> _Above:
        every, hits = lists.hits(), lists.relevant(rel)
        at = np.flatnonzero(lists.grade >= rel)
        begin = every.start[:-1][hits.row]
        pooled = np.flatnonzero(lists.grade < min(0, rel))
        unjudged = np.searchsorted(pooled, at) - np.searchsorted(pooled, every.start[:-1])[hits.row]
        nonrelevant = at - begin - (hits.nth - 1) - unjudged
        return _Above(hits, nonrelevant.astype(np.float64), unjudged.astype(np.float64))

    return lists._once(("above", rel), count)


def _num_nonrel(lists: Assessed, rel: float) -> Array:
    """The number of judged non-relevant documents of each row's topic."""
    grade = lists.judged.grade
    return lists._once(("num_nonrel", rel), lambda: lists.judged.count((grade >= 0) & (grade < rel))[lists.set_of_row])


class _Preference(Measure):
    """The base class of the bpref family: a relevant document adds 1 minus the share of non-relevant ones above it."""

    rel: float = 1

    cutoff_kind = "none"

    def preferences(self, lists: Assessed, most: Array | None, out_of: Array) -> Terms:
        """`most`: how many non-relevant documents above count at most; `out_of`: what their number is divided by."""
        above = _above(lists, self.rel)
        worse = above.nonrelevant
        if most is not None:
            worse = np.minimum(worse, most[above.hits.row])
        share = np.divide(worse, out_of[above.hits.row], out=np.zeros(len(worse)), where=above.nonrelevant > 0)
        columns = {"non-relevant above": above.nonrelevant, "preferred": 1.0 - share}
        return Terms(above.hits, 1.0 - share, lists.num_rel(self.rel), columns)


@measure
class bpref(_Preference):
    r"""Binary preference: how rarely judged non-relevant documents are above relevant ones, as trec_eval defines it.

    .. math:: \frac{1}{R}\sum_{r'} I(r')\left(1 - \frac{\min(n(r'), R)}{\min(N, R)}\right)

    n(r') is the number of judged non-relevant documents above, N their number in the judgments. This is bpref_R if
    R ≤ N, else bpref_N.
    No relevant documents: undefined.
    Reference: Buckley & Voorhees, SIGIR 2004, doi:10.1145/1008992.1009000

    >>> bpref().of([1, 0, None, 1], missed=[0])
    0.75
    """

    aliases = ("Bpref", "BPref")
    top_down = True
    properties = Properties(normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        relevant = lists.num_rel(self.rel)
        return self.preferences(lists, relevant, np.minimum(_num_nonrel(lists, self.rel), relevant))


@measure
class bpref_R(_Preference):
    r"""Binary preference over the first R judged non-relevant documents.

    .. math:: \frac{1}{R}\sum_{r'} I(r')\left(1 - \frac{\min(R, r' - C(r'))}{R}\right)

    r' is the rank among the judged documents.
    No relevant documents: undefined.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> bpref_R().of([1, 0, None, 1], missed=[1, 1])
    0.4375
    """

    top_down = True
    properties = Properties(normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        relevant = lists.num_rel(self.rel)
        return self.preferences(lists, relevant, relevant)


@measure
class bpref_N(_Preference):
    r"""Binary preference over all N judged non-relevant documents; the same as RankEff.

    .. math:: \frac{1}{R}\sum_{r'} I(r')\left(1 - \frac{r' - C(r')}{N}\right)

    r' is the rank among the judged documents.
    No relevant documents: undefined.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> bpref_N().of([1, 0, None, 1], missed=[0, 0, 0])
    0.875
    """

    aliases = ("RankEff",)
    top_down = True
    properties = Properties(normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        return self.preferences(lists, None, _num_nonrel(lists, self.rel))


@measure
class bpref_relative(_Preference):
    r"""Binary preference relative to the rank: non-relevant documents above are divided by all judged ones above.

    .. math:: \frac{1}{R}\sum_{r' > 1} I(r')\left(1 - \frac{r' - C(r')}{r' - 1}\right)

    r' is the rank among the judged documents. The document at the first rank adds nothing.
    No relevant documents: undefined.
    Reference: De Beer & Moens, SIGIR 2006, doi:10.1145/1148170.1148293; Sakai, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> bpref_relative().of([0, None, 1, 1])  # (1 − 1/1 + 1 − 1/2) / 2
    0.25
    """

    top_down = True
    properties = Properties()

    def terms(self, lists: Assessed) -> Terms:
        above = _above(lists, self.rel)
        judged_above = above.nonrelevant + above.hits.nth - 1.0
        share = np.divide(above.nonrelevant, judged_above, out=np.ones(len(above.hits)), where=judged_above > 0)
        columns = {"non-relevant above": above.nonrelevant, "judged above": judged_above}
        return Terms(above.hits, 1.0 - share, lists.num_rel(self.rel), columns)


class _GradedPreference(Measure):
    """The base class of the rpref family: a document adds its gain, minus a penalty for lesser documents above it."""

    gain: GainLike = LINEAR

    cutoff_kind = "none"
    share_of_zero: ClassVar[float] = 0.0
    """The share that is lost if the divisor is 0."""

    def preferences(self, lists: Assessed, out_of: Callable[[Hits, Ideal], Array]) -> Terms:
        """`out_of`: what the penalty of each judged hit is divided by."""
        gain = Gain.of(self.gain)
        judged, ideal = lists.hits().where(lists.grade >= 0), lists.ideal(gain)
        gains = np.maximum(gain(judged.grade), 0.0)
        missing = np.zeros(len(judged))
        for lesser in np.unique(gains):
            is_lesser = gains == lesser
            missing += judged.running(is_lesser) * np.maximum(gains - lesser, 0.0)
        gaining = np.flatnonzero(gains)
        hits, gains = judged.at(gaining), gains[gaining]
        penalty, most = missing[gaining] / gains, out_of(judged, ideal)[gaining]
        share = np.divide(penalty, most, out=np.full(len(penalty), self.share_of_zero), where=most > 0)
        columns = {"gain": gains, "penalty": penalty, "preferred": 1.0 - share}
        return Terms(hits, gains * (1.0 - share), ideal.sum(ideal.gain), columns)


@measure
class rpref_N(_GradedPreference):
    r"""Graded preference: how rarely less relevant documents are above more relevant ones; bpref_N with grades.

    .. math::
        \frac{1}{cg^*(R)}\sum_{r'} g(r')\left(1 - \frac{pen(r')}{R + N - cg^*(R)/g_{max}}\right),
        \qquad pen(r') = \sum_{i < r',\; g(i) < g(r')} \frac{g(r') - g(i)}{g(r')}

    r' is the rank among the judged documents, N the number of judged non-relevant ones. The divisor is the penalty of a
    best document (with the topic's own highest gain g_max, as in NTCIREVAL) below all others. With binary grades this
    is bpref_N. The name `rpref` means this measure.
    No relevant documents: undefined.
    Reference: De Beer & Moens, SIGIR 2006, doi:10.1145/1148170.1148293; Sakai, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> rpref_N().of([1, None, 2, 0])
    0.7777777777777778
    """

    aliases = ("rpref",)
    top_down = True
    properties = Properties(graded=True, normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        def worst(judged: Hits, ideal: Ideal) -> Array:
            highest = ideal.largest(1.0)
            every = lists.judged.count(lists.judged.grade >= 0)[lists.set_of_row]
            return np.asarray((every - ideal.sum(ideal.gain) / highest)[judged.row], dtype=np.float64)

        return self.preferences(lists, worst)


@measure
class rpref_relative(_GradedPreference):
    r"""Graded preference relative to the rank: a penalty is divided by the number of judged documents above.

    .. math:: \frac{1}{cg^*(R)}\sum_{r' > 1} g(r')\left(1 - \frac{pen(r')}{r' - 1}\right)

    pen(r') is as for rpref_N. The document at the first rank adds nothing: a flaw that rpref_relative2 corrects.
    No relevant documents: undefined.
    Reference: De Beer & Moens, SIGIR 2006, doi:10.1145/1148170.1148293; Sakai, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> rpref_relative().of([0, None, 2, 1])
    0.16666666666666666
    """

    share_of_zero = 1.0
    top_down = True
    properties = Properties(graded=True)

    def terms(self, lists: Assessed) -> Terms:
        return self.preferences(lists, lambda judged, _: judged.nth.astype(np.float64) - 1.0)


@measure
class rpref_relative2(_GradedPreference):
    r"""Graded preference relative to the rank, including the first: AP of the judged documents, with grades.

    .. math:: \frac{1}{cg^*(R)}\sum_{r'} g(r')\left(1 - \frac{pen(r')}{r'}\right)

    pen(r') is as for rpref_N. With binary grades this is AP'.
    No relevant documents: undefined.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> rpref_relative2().of([1, None, 2, 0])
    0.8333333333333334
    """

    top_down = True
    properties = Properties(graded=True, normalised=True)

    def terms(self, lists: Assessed) -> Terms:
        return self.preferences(lists, lambda judged, _: judged.nth.astype(np.float64))


EPSILON = 0.00001
"""What infAP adds to counts that can be 0; trec_eval's value."""


@measure
class infAP(Measure):
    r"""Inferred average precision: AP estimated from judgments that are a random sample of the pool.

    .. math::
        \frac{1}{R}\sum_r I(r)\left(\frac{1}{r} + \frac{r-1}{r}\cdot\frac{d(r)}{r-1}\cdot
        \frac{C(r) - 1 + \epsilon}{C(r) - 1 + n(r) + 2\epsilon}\right)

    d(r) documents above were in the pool; C(r) − 1 of them were judged relevant and n(r) non-relevant. A negative grade
    means that a document was in the pool but not in the sample. Where nothing above was judged, ε makes half of the
    documents relevant, so that estimates from a thin sample are too high for poor runs and too low for good ones.
    Judgments with strata that were sampled at different rates are an error: see xinfAP.
    No relevant documents: undefined.
    Reference: Yilmaz & Aslam, CIKM 2006, doi:10.1145/1183614.1183633

    >>> round(infAP().of([1, -1, 0, 1]), 4)
    0.8125
    """

    rel: float = 1

    cutoff_kind = "none"
    top_down = True
    properties = Properties()

    def terms(self, lists: Assessed) -> Terms:
        if lists.sample is not None and lists.sample.rates_differ():
            raise UsageError(
                "infAP takes judgments as one random sample, but these were drawn from strata at different rates, so "
                "that it would be biased; use xinfAP or statAP, or read the judgments without strata (format trec)"
            )
        above = _above(lists, self.rel)
        hits, nonrelevant = above.hits, above.nonrelevant
        depth, relevant = hits.rank - 1.0, hits.nth - 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            in_pool = (relevant + nonrelevant + above.unjudged) / depth
            inferred = (relevant + EPSILON) / (relevant + nonrelevant + 2 * EPSILON)
            expected = 1.0 / (depth + 1.0) + depth / (depth + 1.0) * in_pool * inferred
        expected = np.where(depth == 0, 1.0, expected)
        columns = {"non-relevant above": nonrelevant, "pooled above": above.unjudged, "expected precision": expected}
        return Terms(hits, expected, lists.num_rel(self.rel), columns)
