"""Measures of the retrieved set: how much of it is relevant, how much of the relevant is in it, and plain counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.assessed import Array, Assessed, Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure
from cranfield.measures.gain import LINEAR, Gain, GainLike

INTERVAL = "interval"


def came_back(lists: Assessed, cutoff: int | None) -> Array:
    """How many documents each list has down to the cutoff."""

    def make() -> Array:
        retrieved = np.asarray(lists.retrieved, dtype=np.float64)
        return retrieved if cutoff is None else np.minimum(retrieved, cutoff)

    return lists._once(("came_back", cutoff), make)


def looked_at(lists: Assessed, cutoff: int | None) -> Array:
    """What precision divides by: the cutoff even when fewer came back, else the retrieved documents (at least 1)."""
    if cutoff is not None:
        return np.full(lists.rows, float(cutoff))
    return lists._once("looked_at", lambda: np.maximum(came_back(lists, None), 1.0))


def ones(hits: Hits) -> Array:
    return np.ones(len(hits))


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
    properties = Properties(recall_free=True, additive=True, scale=INTERVAL)

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
    properties = Properties(normalised=True, additive=True, scale=INTERVAL)

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

    properties = Properties(additive=True, scale=INTERVAL)

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

    properties = Properties(additive=True, better="lower", scale=INTERVAL)

    def check(self) -> None:
        _check_weight(self.name, self.beta, self.alpha)

    def score(self, lists: Assessed) -> Array:
        return 1.0 - self.weigh(self.beta, self.alpha, self.rel, lists).score()


@dataclass(frozen=True, eq=False)
class Confusion:
    """The contingency table of every list: one number per list (row) in each cell.

    `true_negative` is None when the collection size is not known.
    """

    true_positive: Array
    false_positive: Array
    false_negative: Array
    true_negative: Array | None = None

    def __repr__(self) -> str:
        cells = {name: value for name, value in vars(self).items() if value is not None}
        return f"Confusion({', '.join(f'{name}={value.tolist()}' for name, value in cells.items())})"


def confusion(lists: Assessed, rel: float = 1, N: int | None = None, cutoff: int | None = None) -> Confusion:
    """Relevant or not against retrieved or not, for every list (seed 003 Table 1); `N` is the size of the collection.

    >>> confusion(Assessed.one([1, 0, None], missed=[1]), N=10)
    Confusion(true_positive=[1.0], false_positive=[2.0], false_negative=[1.0], true_negative=[6.0])
    """
    found = lists.relevant(rel, cutoff).count
    others, missed = came_back(lists, cutoff) - found, lists.num_rel(rel) - found
    if N is None:
        return Confusion(found, others, missed)
    check.positive("confusion", N=N)
    rest = N - found - others - missed
    if len(rest) and rest.min() < -1e-6:  # over tied documents the counts are means: a last bit can be off
        at_least = int(N - rest.min())
        raise UsageError(f"N == {N}, but a topic has {at_least} documents retrieved or relevant; give the whole size")
    return Confusion(found, others, missed, np.maximum(rest, 0.0))


class _OfCollection(Measure):
    """Measures that also look at what is neither relevant nor retrieved, so they need the size of the collection."""

    def table(self, lists: Assessed, rel: float, N: int | None) -> tuple[Array, Array, Array, Array]:
        if N is None:
            raise UsageError(
                f"{self.name} needs the number of documents in the collection: write {self.name}(N=528155)"
                + (" (ir_measures' measure of this name is another one)" if self.name == "Accuracy" else "")
            )
        cells = confusion(lists, rel, N, self.k)
        assert cells.true_negative is not None
        return cells.true_positive, cells.false_positive, cells.false_negative, cells.true_negative


def _check_size(who: str, N: int | None) -> None:
    if N is not None:
        check.finite(who, N=N)
        check.positive(who, N=N)


@measure
class Accuracy(_OfCollection):
    r"""The share of all documents in the collection that is rightly retrieved or rightly left out.

    .. math:: \frac{TP + TN}{N}

    `N`, the size of the collection, must be given. Nearly 1 for any run on any large collection (seed 003, §2).
    No relevant documents: the share that is rightly left out.
    Reference: Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, chapter 8

    >>> Accuracy(N=10).of([1, 0, 0], missed=[1])
    0.7
    """

    N: int | None = None
    rel: float = 1

    properties = Properties(additive=True, scale=INTERVAL)

    def check(self) -> None:
        _check_size(self.name, self.N)

    def score(self, lists: Assessed) -> Array:
        tp, fp, fn, tn = self.table(lists, self.rel, self.N)
        return divide(tp + tn, tp + fp + fn + tn)


@measure
class Fallout(_OfCollection):
    r"""False positive rate: the share of the collection's non-relevant documents that was retrieved; lower is better.

    .. math:: \frac{FP}{FP + TN}

    `N`, the size of the collection, must be given.
    No relevant documents: the share of the collection that was retrieved.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> Fallout(N=10).of([1, 0, 0], missed=[1])
    0.25
    """

    N: int | None = None
    rel: float = 1

    properties = Properties(additive=True, better="lower", scale=INTERVAL)

    def check(self) -> None:
        _check_size(self.name, self.N)

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists, self.rel, self.N)
        return divide(fp, fp + tn)


@measure
class Specificity(_OfCollection):
    r"""True negative rate: the share of the collection's non-relevant documents that was left out.

    .. math:: \frac{TN}{FP + TN}

    `N`, the size of the collection, must be given.
    No relevant documents: the share of the collection that was left out.
    Reference: Fawcett, Pattern Recognition Letters 27(8), 2006, doi:10.1016/j.patrec.2005.10.010

    >>> Specificity(N=10).of([1, 0, 0], missed=[1])
    0.75
    """

    N: int | None = None
    rel: float = 1

    properties = Properties(additive=True, scale=INTERVAL)

    def check(self) -> None:
        _check_size(self.name, self.N)

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists, self.rel, self.N)
        return divide(tn, fp + tn)


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
class NumRet(Measure):
    r"""How many documents were retrieved.

    .. math:: |\text{retrieved}|

    No relevant documents: the same count.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> NumRet().of([1, None, 0])
    3.0
    """

    aliases = ("num_ret",)
    properties = Properties(recall_free=True, additive=True, high=np.inf, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        return came_back(lists, self.k).copy()


@measure
class NumRel(Measure):
    r"""How many relevant documents the topic has, retrieved or not.

    .. math:: R

    No relevant documents: 0.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> NumRel().of([1, 0], missed=[2])
    2.0
    """

    rel: float = 1

    aliases = ("num_rel",)
    cutoff_kind = "none"
    properties = Properties(additive=True, high=np.inf, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        return lists.num_rel(self.rel).copy()


@measure
class NumRelRet(Measure):
    r"""How many relevant documents were retrieved.

    .. math:: C(l)

    No relevant documents: 0.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> NumRelRet().of([1, 0, 2], missed=[1])
    2.0
    """

    rel: float = 1

    aliases = ("num_rel_ret",)
    properties = Properties(recall_free=True, additive=True, high=np.inf, scale="ratio")

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        return Terms(hits, ones(hits), 1.0, {"relevant": ones(hits)})


@measure
class Judged(Measure):
    r"""The share of the retrieved documents (`@l`: of the first `l`, or of as many as came back) that is judged.

    .. math:: \frac{|\text{judged} \cap \text{retrieved}|}{|\text{retrieved}|}

    Nothing retrieved: undefined. No relevant documents: the same share.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> (Judged @ 2).of([1, None, 0])
    0.5
    """

    properties = Properties(recall_free=True, additive=True, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        return divide(lists.hits(self.k).count, came_back(lists, self.k))


@measure
class Unjudged(Measure):
    r"""The share of the retrieved documents (`@l`: of the first `l`, or of as many as came back) that is not judged.

    .. math:: 1 - \text{Judged}

    Nothing retrieved: undefined. No relevant documents: the same share.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> (Unjudged @ 2).of([1, None, 0])
    0.5
    """

    properties = Properties(recall_free=True, additive=True, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        here = came_back(lists, self.k)
        return divide(here - lists.hits(self.k).count, here)


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

    properties = Properties(
        graded=True, normalised=True, additive=True, scale="interval iff the grades are on a ratio scale"
    )

    def terms(self, lists: Assessed) -> Terms:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        ideal = lists.ideal(gain)
        return Terms(hits, gains, lists._once(("all gain", gain), lambda: ideal.sum(ideal.gain)), {"gain": gains})


def gained(lists: Assessed, gain: Gain, cutoff: int | None = None) -> tuple[Hits, Array]:
    """The hits down to the cutoff that gain something (or cost something), and how much."""

    def make() -> tuple[Hits, Array]:
        if cutoff is not None:
            hits, gains = gained(lists, gain)
            inside = np.flatnonzero(hits.rank <= cutoff)
            return hits.at(inside), gains[inside]
        if gain.kind == "table":
            gains = gain(lists.grade)
            some = np.flatnonzero(gains)
            return lists.hits().at(some), gains[some]
        some = np.flatnonzero(lists.grade > 0)
        return lists.hits().at(some), gain(lists.grade[some])

    return lists._once(("gained", gain, cutoff), make)


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
