"""As trec_eval defines them: measures that only trec_eval has, equal to the last bit."""

from __future__ import annotations

import math

import numpy as np

from cranfield.assessed.changed_lists.prefixes import Prefixes
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import position_in_segment
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure, normalised_unless_cut
from cranfield.measures.declarations import NotNegative, Probability, Whole
from cranfield.measures.gain import (
    LINEAR,
    Discount,
    Gain,
    GainLike,
    gained,
    num_retrieved,
    ones,
    precision_divisor,
    total_gain,
)
from cranfield.measures.ranked_lists import ranked
from cranfield.measures.ranked_lists.ranked import AP, discounted, persistence
from cranfield.measures.ranked_lists.sets import collection_size
from cranfield.types import Array, Index

LOG2 = Discount("log2")


@measure
class SetF(Measure):
    r"""trec_eval's F of the retrieved set, in which `beta` is not squared: SetF(beta=x) is F(beta=√x).

    .. math:: \frac{(\beta + 1) P R}{\beta P + R}

    ir_measures' SetF is the same.
    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (set_F), 2008

    >>> SetF(beta=0.5).of([1, 0, 1, 0, 0, 0], missed=[1, 1])
    0.375
    """

    beta: NotNegative = 1
    rel: float = 1

    aliases = ("set_F",)
    top_down = True
    properties = Properties(additive=True, scale="interval", step="length and relevant")

    def score(self, lists: Assessed) -> Array:
        hits, relevant = lists.relevant(self.rel, self.k).count, lists.num_rel(self.rel)
        precision, recall = hits / precision_divisor(lists, self.k), divide(hits, relevant)
        divisor = np.where(hits > 0, self.beta * precision + recall, 1.0)
        return (self.beta + 1.0) * precision * recall / divisor


@measure
class Utility(Measure):
    r"""A weighted sum of the four cells of the contingency table.

    .. math:: a\,TP + b\,FP + c\,FN + d\,TN

    `d` needs `N`, the number of documents in the collection, which can differ by topic, in a table of topics
    (`topic_numbers`).
    No relevant documents: the same sum.
    Reference: Hull, The TREC-7 Filtering Track, 1998

    >>> Utility(a=2).of([1, 0, 0])
    0.0
    """

    a: float = 1
    b: float = -1
    c: float = 0
    d: float = 0
    N: Whole | None = None
    rel: float = 1

    aliases = ("utility",)
    top_down = True
    properties = Properties(additive=True, low=-np.inf, high=np.inf, scale="interval")

    def score(self, lists: Assessed) -> Array:
        sizes = collection_size(self.name, lists, self.N) if self.d != 0 else 0.0
        if sizes is None:
            raise UsageError(
                f"Utility: d == {self.d!r} needs N, the number of documents in the collection; give it for each topic "
                "as topic_numbers=, a file with lines of topic and N"
            )
        hits, retrieved = lists.relevant(self.rel, self.k).count, num_retrieved(lists, self.k)
        relevant = lists.num_rel(self.rel)
        left_out = sizes + hits - retrieved - relevant
        worth = self.a * hits + self.b * (retrieved - hits) + self.c * (relevant - hits)
        return worth + self.d * left_out if self.d else worth


@measure
class RelativeP(Measure):
    r"""Relative precision: precision divided by the highest precision possible at that length.

    .. math:: \frac{C(l)}{\min(l, R)}

    It is precision up to rank R and recall beyond. Without a cutoff the whole retrieved set counts.
    Nothing retrieved: 0. No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (relative_P, set_relative_P), 2008

    >>> (RelativeP @ 10).of([1, 0, 1])
    1.0
    """

    rel: float = 1

    aliases = ("SetRelativeP", "SetRelP", "set_relative_P", "relative_P")
    top_down = True
    properties = Properties(normalised=True, additive=True, scale="interval", step="length and relevant")

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        best = np.minimum(precision_divisor(lists, self.k), lists.num_rel(self.rel))
        return Terms(hits, ones(hits), best, {"relevant": ones(hits)})


@measure
class NumNonrelRet(Measure):
    r"""The number of retrieved documents judged non-relevant (grade 0 or above, below `rel`).

    .. math:: |\{r : 0 \le \text{grade}(r) < \text{rel}\}|

    No relevant documents: the same count.
    Reference: Buckley, trec_eval 9 (num_nonrel_judged_ret), 2008

    >>> NumNonrelRet().of([1, 0, None, -1, 0])
    2.0
    """

    rel: float = 1

    aliases = ("num_nonrel_judged_ret",)
    top_down = True
    properties = Properties(recall_free=True, additive=True, high=np.inf, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        hits = lists.hits(self.k)
        return hits.where((hits.grade >= 0) & (hits.grade < self.rel)).count


@measure
class binG(Measure):
    r"""Binary G: each relevant document counts less the more non-relevant documents are above it.

    .. math:: \frac{1}{R}\sum_r \frac{I(r)}{\log_2(2 + r - C(r))}

    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (binG, experimental), 2008

    >>> binG().of([0, 0, 1])
    0.5
    """

    rel: float = 1

    top_down = True
    properties = normalised_unless_cut(Properties(normalised=True))

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        others = hits.rank - hits.nth
        discount = LOG2(others + 1)
        columns = {"non-relevant above": others.astype(np.float64), "discount": discount}
        return Terms(hits, 1.0 / discount, lists.num_rel(self.rel), columns)


@measure
class G(Measure):
    r"""Normalised gain: each gain is discounted by how far the list lags behind the ideal list at that rank.

    .. math::
        \frac{1}{\sum_r g^*(r)}\sum_r \frac{g(r)}{\log_2(2 + c(r) - cg(r))},
        \qquad c(r) = \sum_{k \le r}\max(g^*(k), 1)

    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (G, experimental), 2008

    >>> G().of([0, 0, 1])
    0.5
    """

    gain: GainLike = LINEAR

    top_down = True
    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def terms(self, lists: Assessed) -> Terms:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        ideal = lists.ideal(gain)
        cost = lists._once(("cost of the ideal", gain), lambda: ideal.hits.running(np.maximum(ideal.gain, 1.0)))
        beyond = np.maximum(hits.rank - ideal.length[hits.row], 0.0)
        lag = 2.0 + (ideal.at(cost, hits.row, hits.rank) + beyond) - hits.running(gains)
        discount = _log2(lag)
        columns = {"gain": gains, "lag": lag - 2.0, "discount": discount}
        return Terms(hits, gains / discount, total_gain(lists, gain), columns)


def _log2(values: Array) -> Array:
    """C's log2, computed once per distinct value."""
    distinct, which = np.unique(values, return_inverse=True)
    return np.array([math.log2(value) for value in distinct.tolist()])[which] if len(values) else np.zeros(0)


def _running_ideal_dcg(lists: Assessed, gain: Gain) -> Array:
    """The DCG of each topic's ideal list down to each of its documents."""
    ideal = lists.ideal(gain)
    return lists._once(("ideal dcg running", gain), lambda: ideal.hits.running(ideal.gain / LOG2(ideal.hits.rank)))


def _running_dcg(lists: Assessed, gain: Gain, cutoff: int | None) -> Array:
    """The DCG of each list down to each hit with a gain."""
    hits, left, _ = discounted(lists, gain, LOG2, cutoff)
    return lists._once(("dcg running", gain, cutoff), lambda: hits.running(left))


@measure
class nDCGrel(Measure):
    r"""nDCG averaged over the relevant documents: at the rank of each, or at the end of the list if missed.

    .. math:: \frac{1}{R}\left(\sum_r I(r)\,nDCG@r + (R - C)\,nDCG\right)

    A document with a gain above 0 is relevant.
    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (ndcg_rel, experimental), 2008

    >>> nDCGrel().of([1, 1])
    1.0
    """

    gain: GainLike = LINEAR

    aliases = ("ndcg_rel",)
    top_down = True
    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def score(self, lists: Assessed) -> Array:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        ideal, dcg = lists.ideal(gain), _running_dcg(lists, gain, self.k)
        at_rank = ideal.at(_running_ideal_dcg(lists, gain), hits.row, hits.rank)
        relevant = gains > 0
        total = hits.sum(np.divide(dcg, at_rank, out=np.zeros(len(dcg)), where=relevant))
        missed = ideal.length - hits.sum(relevant)
        final = divide(missed * hits.sum(gains / LOG2(hits.rank)), ranked.ideal_dcg(lists, gain, LOG2, None))
        return divide(total + final, ideal.length)


@measure
class Rndcg(Measure):
    r"""nDCG averaged over the ranks where the gains of the ideal list fall, and the end of the list.

    .. math:: \frac{1}{m}\sum_{j=1}^{m} nDCG@r_j

    r_1, r_2, ... are the ranks of the last document of each gain in the ideal list. The end of the list is one more
    point if it is at least two ranks beyond them.
    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (Rndcg, experimental), 2008

    >>> Rndcg().of([2, 1])
    1.0
    """

    gain: GainLike = LINEAR

    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def score(self, lists: Assessed) -> Array:
        gain = Gain.of(self.gain)
        hits, _ = gained(lists, gain, self.k)
        ideal, best, dcg = lists.ideal(gain), _running_ideal_dcg(lists, gain), _running_dcg(lists, gain, self.k)
        last = np.ones(len(ideal.gain), dtype=bool)
        last[:-1] = (np.diff(ideal.gain) != 0) | (np.diff(ideal.hits.row) != 0)
        last &= best > 0  # a set of documents gains only at its last one
        levels = np.bincount(ideal.hits.row[last], minlength=len(ideal.start) - 1)
        begin = np.concatenate(([0], np.cumsum(levels)))
        # every list, paired with every level of its topic
        each = levels[lists.set_of_row]
        row = np.repeat(np.arange(lists.rows), each)
        level = position_in_segment(np.concatenate(([0], np.cumsum(each)))) - 1 + begin[lists.set_of_row[row]]
        entry = np.flatnonzero(last)[level]
        down_to = _value_at(hits.row, hits.rank, dcg, row, ideal.hits.rank[entry])
        total = np.bincount(row, down_to / best[entry], lists.rows)
        final, retrieved = hits.sum(discounted(lists, gain, LOG2, self.k)[1]), num_retrieved(lists, self.k)
        whole = divide(final, ranked.ideal_dcg(lists, gain, LOG2, None))
        longer = retrieved >= ideal.length + 2
        points = (each + longer * (each > 0)).astype(np.float64)
        return divide(np.where(longer, total + whole, total), points)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        cut, gain = Prefixes.of(lists, ranks), Gain.of(self.gain)
        hits, left, _ = discounted(cut, gain, LOG2, self.k)
        dcg, ideal, best = hits.sum(left), cut.ideal(gain), _running_ideal_dcg(cut, gain)
        of_topic = slice(*ideal.start[cut.set_of_row[0] : cut.set_of_row[0] + 2])
        gains, best = ideal.gain[of_topic], best[of_topic]
        ends = np.flatnonzero(np.append(np.diff(gains) != 0, True)) if len(gains) else np.zeros(0, dtype=np.int64)
        total = np.zeros(ranks)
        ends = ends[best[ends] > 0]
        for end in ends.tolist():  # the number of the last document of a gain, from 0; a list ends at its cut
            total += dcg[np.minimum(end, np.arange(ranks))] / best[end]
        longer = num_retrieved(cut, self.k) >= len(gains) + 2
        whole = divide(dcg, ranked.ideal_dcg(cut, gain, LOG2, None))
        return divide(np.where(longer, total + whole, total), (len(ends) + longer * (len(ends) > 0)).astype(np.float64))


def _value_at(hit_row: Index, hit_rank: Index, running: Array, row: Index, rank: Index) -> Array:
    """The running value of the last hit of each `row` at `rank` or above; 0 if there is no such hit."""
    if not len(hit_row):
        return np.zeros(len(row))
    depth = int(max(hit_rank.max(initial=0), rank.max(initial=0))) + 1
    key = hit_row.astype(np.int64) * depth + hit_rank
    at = np.searchsorted(key, row.astype(np.int64) * depth + rank, side="right") - 1
    last = np.maximum(at, 0)
    return np.where((at >= 0) & (hit_row[last] == row), running[last], 0.0)


@measure
class yaap(Measure):
    r"""Yet another average precision: the log-odds of AP, with counts smoothed by 1.

    .. math:: \ln\frac{1 + R \cdot AP}{1 + R - R \cdot AP}

    No relevant documents: 0.
    Reference: Robertson, On GMAP: and other transformations, CIKM 2006, doi:10.1145/1183614.1183630

    >>> yaap().of([1, 0], missed=[1])
    0.0
    """

    rel: float = 1

    cutoff_kind = "none"
    top_down = True
    properties = Properties(low=-np.inf, high=np.inf)

    def score(self, lists: Assessed) -> Array:
        terms = AP(rel=self.rel).terms(lists)
        total = terms.hits.sum(terms.adds)
        odds = (1.0 + total) / (1.0 + lists.num_rel(self.rel) - total)
        return np.array([math.log(value) for value in odds.tolist()])


@measure
class ideal_dcg(Measure):
    r"""The DCG of the ideal list, by which nDCG divides.

    .. math:: \sum_{r \le l} \frac{g^*(r)}{\log_2(r + 1)}

    No relevant documents: 0.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418

    >>> ideal_dcg().of([0], missed=[3])
    3.0
    """

    gain: GainLike = LINEAR

    top_down = True
    properties = Properties(graded=True, additive=True, high=np.inf, better="neither")

    def score(self, lists: Assessed) -> Array:
        return ranked.ideal_dcg(lists, Gain.of(self.gain), LOG2, self.k).copy()


@measure
class unj(Measure):
    r"""trec_eval 10's fraction of unjudged documents among the first l; divides by l even if fewer were retrieved.

    .. math:: \frac{|\{r \le l : \text{unjudged}\}|}{l}

    A document with a negative grade counts as unjudged. Nothing retrieved: 0. No relevant documents: the same fraction.
    Reference: Soboroff, trec_eval 10 (unj), 2023

    >>> (unj @ 4).of([1, None])
    0.25
    """

    top_down = True
    properties = Properties(recall_free=True, additive=True, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        hits = lists.hits(self.k)
        return (num_retrieved(lists, self.k) - hits.where(hits.grade >= 0).count) / precision_divisor(lists, self.k)


@measure
class rbp_resid(Measure):
    r"""trec_eval 10's residual of rank-biased precision; 0 if every retrieved document is judged.

    .. math:: p^n + (1 - p)\sum_{r \le n:\,\text{unjudged}} p^{r-1}

    `RBPres` is the residual as its paper defines it. A document with a negative grade counts as unjudged.
    Nothing retrieved: 0. No relevant documents: the same residual.
    Reference: Soboroff, trec_eval 10 (rbp_resid), 2016

    >>> rbp_resid(p=0.5).of([1, None, 1])
    0.375
    """

    p: Probability = 0.9

    cutoff_kind = "none"
    top_down = True
    properties = Properties(recall_free=True, better="neither")

    def score(self, lists: Assessed) -> Array:
        every = lists.every()
        unjudged = every.where(~(every.grade >= 0))
        weight = unjudged.sum(persistence(self.p, unjudged.rank))
        tail = persistence(self.p, lists.retrieved + 1)
        return np.where(unjudged.count > 0, tail + (1.0 - self.p) * weight, 0.0)
