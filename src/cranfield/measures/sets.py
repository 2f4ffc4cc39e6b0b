"""Measures of the retrieved set: how much of it is relevant, and how much of the relevant is in it."""

from __future__ import annotations

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure, normalised_unless_cut
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.retrieved import gained, looked_at, ones
from cranfield.types import Array


@measure
class P(Measure):
    r"""Precision: the share of the retrieved documents that is relevant.

    .. math:: P = \frac{|\text{relevant} \cap \text{retrieved}|}{|\text{retrieved}|}, \qquad P@l = \frac{C(l)}{l}

    Without a cutoff the whole retrieved set counts; `P@l` divides by `l` even when fewer documents came back.
    Nothing retrieved: 0. No relevant documents: 0.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> P().of([1, 0, 1, 0])
    0.5
    >>> (P @ 10).of([1, 0, 1, 0])
    0.2
    """

    rel: float = 1

    aliases = ("Precision", "SetP", "set_P")
    properties = Properties(recall_free=True, additive=True, scale="interval")

    only_relevant = True

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        return Terms(hits, ones(hits), looked_at(lists, self.k), {"relevant": ones(hits)})

    def score(self, lists: Assessed) -> Array:
        return lists.relevant(self.rel, self.k).count / looked_at(lists, self.k)


@measure
class R(Measure):
    r"""Recall: the share of the relevant documents that was retrieved.

    .. math:: R = \frac{|\text{relevant} \cap \text{retrieved}|}{|\text{relevant}|}, \qquad R@l = \frac{C(l)}{R}

    No relevant documents: undefined.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> R().of([1, 0, 1, 0], missed=[1, 1])
    0.5
    """

    rel: float = 1

    aliases = ("Recall", "SetR", "set_recall", "recall")
    properties = normalised_unless_cut(Properties(normalised=True, additive=True, scale="interval"))

    only_relevant = True

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        return Terms(hits, ones(hits), lists.num_rel(self.rel), {"relevant": ones(hits)})

    def score(self, lists: Assessed) -> Array:
        return divide(lists.relevant(self.rel, self.k).count, lists.num_rel(self.rel))


class _Effectiveness(Measure):
    """What F and E share: the weight of precision, said as `beta` or as `alpha`."""

    def weigh(self, beta: float, alpha: float | None, rel: float, lists: Assessed) -> Terms:
        """F as a sum: each relevant retrieved document adds 1 / (alpha · retrieved + (1 − alpha) · relevant)."""
        weight = 1.0 / (1.0 + beta * beta) if alpha is None else alpha
        hits, relevant = lists.relevant(rel, self.k), lists.num_rel(rel)
        # nothing found is 0 even where the weights leave a denominator of 0 (alpha = 1, nothing retrieved)
        over = weight * looked_at(lists, self.k) + (1.0 - weight) * relevant
        return Terms(hits, ones(hits), np.where(relevant > 0, over, 0.0), {"relevant": ones(hits)})


def _check_weight(who: str, beta: float, alpha: float | None) -> None:
    check.not_negative(who, beta=beta)
    if alpha is not None:
        check.finite(who, alpha=alpha)
        check.between(who, low=0, high=1, alpha=alpha)
        if beta != 1:
            raise UsageError(f"{who}: beta == {beta!r} and alpha == {alpha!r}, give one of them")


@measure
class F(_Effectiveness):
    r"""The weighted harmonic mean of precision and recall.

    .. math::
        F = \frac{1}{\alpha\frac{1}{P} + (1-\alpha)\frac{1}{R}} = \frac{(\beta^2+1) P R}{\beta^2 P + R},
        \qquad \beta^2 = \frac{1-\alpha}{\alpha}

    `beta` above 1 favours recall, below 1 precision; or give `alpha`, the weight of precision.
    No relevant documents: undefined.
    Reference: van Rijsbergen, Information Retrieval, 2nd edition, 1979

    >>> F().of([1, 0, 1, 0], missed=[1, 1])
    0.5
    >>> F(alpha=1).of([1, 0], missed=[1, 1]) == P().of([1, 0], missed=[1, 1])
    True
    """

    beta: float = 1
    alpha: float | None = None
    rel: float = 1

    properties = Properties(additive=True, scale="interval")

    def check(self) -> None:
        _check_weight(self.name, self.beta, self.alpha)

    def terms(self, lists: Assessed) -> Terms:
        return self.weigh(self.beta, self.alpha, self.rel, lists)


@measure
class E(_Effectiveness):
    r"""Van Rijsbergen's effectiveness, the complement of F: lower is better.

    .. math:: E = 1 - \frac{1}{\alpha\frac{1}{P} + (1-\alpha)\frac{1}{R}}

    `beta` or `alpha` weigh precision against recall as for F.
    No relevant documents: undefined.
    Reference: van Rijsbergen, Information Retrieval, 2nd edition, 1979

    >>> E().of([1, 0, 1, 0], missed=[1, 1])
    0.5
    """

    beta: float = 1
    alpha: float | None = None
    rel: float = 1

    properties = Properties(additive=True, better="lower", scale="interval")

    def check(self) -> None:
        _check_weight(self.name, self.beta, self.alpha)

    def score(self, lists: Assessed) -> Array:
        return 1.0 - self.weigh(self.beta, self.alpha, self.rel, lists).score()


@measure
class Success(Measure):
    r"""1 if a relevant document was retrieved (`@l`: among the first `l`), else 0; also known as hit rate.

    .. math:: \min(1, C(l))

    No relevant documents: 0.
    Reference: Craswell & Hawking, Overview of the TREC 2004 Web Track, 2004

    >>> (Success @ 2).of([0, 0, 1])
    0.0
    """

    rel: float = 1

    aliases = ("success", "HitRate")
    properties = Properties(normalised=True, recall_free=True, diminishing=True)

    def score(self, lists: Assessed) -> Array:
        return np.minimum(lists.relevant(self.rel, self.k).count, 1.0)


@measure
class Rprec(Measure):
    r"""Precision at rank R, the number of relevant documents (there it equals recall); or at a multiple of R.

    .. math:: \frac{C(R)}{R}, \qquad \frac{C(r)}{r} \text{ with } r = \lfloor \text{mult} \cdot R + 0.9 \rfloor

    The rounding of `mult` · R is trec_eval's (Rprec_mult).
    No relevant documents: undefined.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> Rprec().of([1, 0, 1, 0], missed=[1])
    0.6666666666666666
    """

    mult: float = 1
    rel: float = 1

    aliases = ("RPrec",)
    cutoff_kind = "none"
    properties = Properties(normalised=True, additive=True)

    def check(self) -> None:
        check.positive(self.name, mult=self.mult)

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel)
        deep = np.floor(self.mult * lists.num_rel(self.rel) + 0.9)
        inside = hits.where(hits.rank <= deep[hits.row])
        return Terms(inside, ones(inside), deep, {"relevant": ones(inside)})


@measure
class gP(Measure):
    r"""Generalised precision: the mean gain of the retrieved documents, gains scaled to at most 1.

    .. math:: \frac{1}{l}\sum_{r \le l} \frac{g(r)}{g_{\max}}

    The largest gain is that of the highest grade in the judgments. P when relevance is binary.
    Nothing retrieved: 0. No relevant documents: 0.
    Reference: Kekäläinen & Järvelin, JASIST 53(13), 2002, doi:10.1002/asi.10137

    >>> gP().of([2, 1, 0, 1])
    0.5
    """

    gain: GainLike = LINEAR

    properties = Properties(
        graded=True, recall_free=True, additive=True, scale="interval iff the grades are on a ratio scale"
    )

    def terms(self, lists: Assessed) -> Terms:
        hits, gains = gained(lists, Gain.of(self.gain), self.k)
        worth = gains / (Gain.of(self.gain).most(lists.max_grade) or 1.0)
        return Terms(hits, worth, looked_at(lists, self.k), {"gain": gains, "scaled": worth})

    def note(self, lists: Assessed) -> str:
        return f"gains are divided by {Gain.of(self.gain).most(lists.max_grade):g}, the largest in the judgments"


@measure
class gR(Measure):
    r"""Generalised recall: the share of all there is to gain that was retrieved.

    .. math:: \frac{\sum_{r \le l} g(r)}{\sum_r g^*(r)}

    R when relevance is binary.
    No relevant documents: undefined.
    Reference: Kekäläinen & Järvelin, JASIST 53(13), 2002, doi:10.1002/asi.10137

    >>> gR().of([2, 1, 0], missed=[3])
    0.5
    """

    gain: GainLike = LINEAR

    properties = normalised_unless_cut(
        Properties(graded=True, normalised=True, additive=True, scale="interval iff the grades are on a ratio scale")
    )

    def terms(self, lists: Assessed) -> Terms:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        ideal = lists.ideal(gain)
        return Terms(hits, gains, lists._once(("all gain", gain), lambda: ideal.sum(ideal.gain)), {"gain": gains})


@measure
class SetAP(Measure):
    r"""Precision times recall of the retrieved set: the AP to expect when the set comes in no order.

    .. math:: P \cdot R

    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (set_map), 2008

    >>> SetAP().of([1, 0], missed=[1])
    0.25
    """

    rel: float = 1

    aliases = ("set_map",)
    properties = Properties()

    def score(self, lists: Assessed) -> Array:
        found = lists.relevant(self.rel, self.k).count
        return divide(found * found, looked_at(lists, self.k) * lists.num_rel(self.rel))
