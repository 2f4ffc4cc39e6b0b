"""Sets: how much of the retrieved set is relevant, and how much of the relevant documents it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.attachment import numbers_of_topics
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure, normalised_unless_cut
from cranfield.measures.declarations import NotNegative, Positive, Probability, Whole
from cranfield.measures.gain import LINEAR, Gain, GainLike, gained, num_retrieved, ones, precision_divisor, total_gain
from cranfield.notes import method_note
from cranfield.types import Array


@measure
class P(Measure):
    r"""Precision: the fraction of the retrieved documents that is relevant.

    .. math:: P = \frac{|\text{relevant} \cap \text{retrieved}|}{|\text{retrieved}|}, \qquad P@l = \frac{C(l)}{l}

    Without a cutoff the whole retrieved set counts; `P@l` divides by `l` even if fewer documents were retrieved.
    Nothing retrieved: 0. No relevant documents: 0.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> P().of([1, 0, 1, 0])
    0.5
    >>> (P @ 10).of([1, 0, 1, 0])
    0.2
    """

    rel: float = 1

    aliases = ("Precision", "SetP", "set_P")
    top_down = True
    properties = Properties(recall_free=True, additive=True, scale="interval", step="length")
    only_relevant = True

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        return Terms(hits, ones(hits), precision_divisor(lists, self.k), {"relevant": ones(hits)})

    def score(self, lists: Assessed) -> Array:
        return lists.relevant(self.rel, self.k).count / precision_divisor(lists, self.k)

    def cwl_settings(self) -> dict[str, Any] | None:
        return None if self.cutoff is None else {"continuation": "P", "gain": None, "rel": self.rel}


@measure
class R(Measure):
    r"""Recall: the fraction of the relevant documents that was retrieved.

    .. math:: R = \frac{|\text{relevant} \cap \text{retrieved}|}{|\text{relevant}|}, \qquad R@l = \frac{C(l)}{R}

    No relevant documents: undefined.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> R().of([1, 0, 1, 0], missed=[1, 1])
    0.5
    """

    rel: float = 1

    aliases = ("Recall", "SetR", "set_recall", "recall")
    top_down = True
    properties = normalised_unless_cut(Properties(normalised=True, additive=True, scale="interval", step="relevant"))
    only_relevant = True

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        return Terms(hits, ones(hits), lists.num_rel(self.rel), {"relevant": ones(hits)})

    def score(self, lists: Assessed) -> Array:
        return divide(lists.relevant(self.rel, self.k).count, lists.num_rel(self.rel))


class _Effectiveness(Measure):
    """The base class of F and E: precision and recall weighted by `beta` or `alpha`."""

    beta: NotNegative = 1
    alpha: Probability | None = None
    rel: float = 1

    def check(self) -> None:
        if self.alpha is not None and self.beta != 1:
            raise UsageError(f"{self.name}: beta == {self.beta!r} and alpha == {self.alpha!r}, give one of them")

    def harmonic_mean(self, lists: Assessed) -> Terms:
        """F as a sum: each relevant retrieved document adds 1 / (alpha · retrieved + (1 − alpha) · relevant)."""
        weight = 1.0 / (1.0 + self.beta * self.beta) if self.alpha is None else self.alpha
        hits, relevant = lists.relevant(self.rel, self.k), lists.num_rel(self.rel)
        # without relevant retrieved documents F is 0, even if the denominator is 0 (alpha = 1, nothing retrieved)
        over = weight * precision_divisor(lists, self.k) + (1.0 - weight) * relevant
        return Terms(hits, ones(hits), np.where(relevant > 0, over, 0.0), {"relevant": ones(hits)})


@measure
class F(_Effectiveness):
    r"""The weighted harmonic mean of precision and recall.

    .. math::
        F = \frac{1}{\alpha\frac{1}{P} + (1-\alpha)\frac{1}{R}} = \frac{(\beta^2+1) P R}{\beta^2 P + R},
        \qquad \beta^2 = \frac{1-\alpha}{\alpha}

    `beta` above 1 favours recall, below 1 precision. Instead, `alpha` can be given: the weight of precision.
    No relevant documents: undefined.
    Reference: van Rijsbergen, Information Retrieval, 2nd edition, 1979

    >>> F().of([1, 0, 1, 0], missed=[1, 1])
    0.5
    >>> F(alpha=1).of([1, 0], missed=[1, 1]) == P().of([1, 0], missed=[1, 1])
    True
    """

    top_down = True
    properties = Properties(additive=True, scale="interval", step="length and relevant")

    def terms(self, lists: Assessed) -> Terms:
        return self.harmonic_mean(lists)


@measure
class E(_Effectiveness):
    r"""Van Rijsbergen's effectiveness, 1 − F; lower is better.

    .. math:: E = 1 - \frac{1}{\alpha\frac{1}{P} + (1-\alpha)\frac{1}{R}}

    `beta` and `alpha` are as for F.
    No relevant documents: undefined.
    Reference: van Rijsbergen, Information Retrieval, 2nd edition, 1979

    >>> E().of([1, 0, 1, 0], missed=[1, 1])
    0.5
    """

    aliases = ("E-measure",)
    top_down = True
    properties = Properties(additive=True, better="lower", scale="interval", step="length and relevant")

    def score(self, lists: Assessed) -> Array:
        return 1.0 - self.harmonic_mean(lists).score()


@measure
class Success(Measure):
    r"""Success, or hit rate: 1 if a relevant document was retrieved (`@l`: among the first `l`), else 0.

    .. math:: \min(1, C(l))

    No relevant documents: 0.
    Reference: Craswell & Hawking, Overview of the TREC 2004 Web Track, 2004

    >>> (Success @ 2).of([0, 0, 1])
    0.0
    """

    rel: float = 1

    aliases = ("success", "HitRate", "Hit")
    top_down = True
    properties = Properties(normalised=True, recall_free=True, diminishing=True)

    def score(self, lists: Assessed) -> Array:
        return np.minimum(lists.relevant(self.rel, self.k).count, 1.0)


@measure
class Rprec(Measure):
    r"""R-precision: precision at rank R, the number of relevant documents, or at a multiple of R.

    .. math:: \frac{C(R)}{R}, \qquad \frac{C(r)}{r} \text{ with } r = \lfloor \text{mult} \cdot R + 0.9 \rfloor

    At rank R, precision equals recall. `mult` · R is rounded as in trec_eval's Rprec_mult.
    No relevant documents: undefined.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> Rprec().of([1, 0, 1, 0], missed=[1])
    0.6666666666666666
    """

    mult: Positive = 1
    rel: float = 1

    aliases = ("RPrec",)
    cutoff_kind = "none"
    top_down = True
    properties = Properties(normalised=True, additive=True)

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel)
        deep = np.floor(self.mult * lists.num_rel(self.rel) + 0.9)
        inside = hits.where(hits.rank <= deep[hits.row])
        return Terms(inside, ones(inside), deep, {"relevant": ones(inside)})


@measure
class gP(Measure):
    r"""Generalised precision: the mean gain of the retrieved documents, with gains scaled to 1 at most.

    .. math:: \frac{1}{l}\sum_{r \le l} \frac{g(r)}{g_{\max}}

    The largest gain is that of the highest grade in the judgments. With binary relevance it is P.
    Nothing retrieved: 0. No relevant documents: 0.
    Reference: Kekäläinen & Järvelin, JASIST 53(13), 2002, doi:10.1002/asi.10137

    >>> gP().of([2, 1, 0, 1])
    0.5
    """

    gain: GainLike = LINEAR

    top_down = True
    properties = Properties(
        graded=True, recall_free=True, additive=True, scale="interval iff the grades are on a ratio scale",
        step="length",
    )  # fmt: skip

    def terms(self, lists: Assessed) -> Terms:
        hits, gains = gained(lists, Gain.of(self.gain), self.k)
        worth = gains / (Gain.of(self.gain).most(lists.max_grade) or 1.0)
        return Terms(hits, worth, precision_divisor(lists, self.k), {"gain": gains, "scaled": worth})

    def note(self, lists: Assessed) -> str:
        return method_note(
            f"gains are divided by {Gain.of(self.gain).most(lists.max_grade):g}, the largest in the judgments"
        )


@measure
class gR(Measure):
    r"""Generalised recall: the gain of the retrieved documents divided by the gain of all relevant documents.

    .. math:: \frac{\sum_{r \le l} g(r)}{\sum_r g^*(r)}

    With binary relevance it is R.
    No relevant documents: undefined.
    Reference: Kekäläinen & Järvelin, JASIST 53(13), 2002, doi:10.1002/asi.10137

    >>> gR().of([2, 1, 0], missed=[3])
    0.5
    """

    gain: GainLike = LINEAR

    top_down = True
    properties = normalised_unless_cut(
        Properties(
            graded=True,
            normalised=True,
            additive=True,
            scale="interval iff the grades are on a ratio scale",
            step="relevant",
        )
    )

    def terms(self, lists: Assessed) -> Terms:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        return Terms(hits, gains, total_gain(lists, gain), {"gain": gains})


@measure
class SetAP(Measure):
    r"""Precision times recall of the retrieved set: the expected AP if the set is put in random order.

    .. math:: P \cdot R

    No relevant documents: undefined.
    Reference: Buckley, trec_eval 9 (set_map), 2008

    >>> SetAP().of([1, 0], missed=[1])
    0.25
    """

    rel: float = 1

    aliases = ("set_map",)
    top_down = True
    properties = Properties()

    def score(self, lists: Assessed) -> Array:
        hits = lists.relevant(self.rel, self.k).count
        return divide(hits * hits, precision_divisor(lists, self.k) * lists.num_rel(self.rel))


@dataclass(frozen=True, eq=False)
class Confusion:
    """The confusion matrix of every list: each cell is an array with one number per list (row).

    `true_negative` is None if the size of the collection is unknown.
    """

    true_positive: Array
    false_positive: Array
    false_negative: Array
    true_negative: Array | None = None

    def __repr__(self) -> str:
        cells = {name: value for name, value in vars(self).items() if value is not None}
        return f"Confusion({', '.join(f'{name}={value.tolist()}' for name, value in cells.items())})"


def collection_size(caller: str, lists: Assessed, N: int | None) -> Array | None:
    """The size of the collection for each list, from the parameter or the table of topics; None if neither gives it."""
    return numbers_of_topics(lists, "N", caller) if N is None else np.full(lists.rows, float(N))


def confusion(lists: Assessed, rel: float = 1, N: int | Array | None = None, cutoff: int | None = None) -> Confusion:
    """The confusion matrix (relevant or not, retrieved or not) of every list.

    `N` is the size of the collection: one number, or one per list.

    >>> confusion(Assessed.one([1, 0, None], missed=[1]), N=10)
    Confusion(true_positive=[1.0], false_positive=[2.0], false_negative=[1.0], true_negative=[6.0])
    """
    true_positive = lists.relevant(rel, cutoff).count
    false_positive, missed = num_retrieved(lists, cutoff) - true_positive, lists.num_rel(rel) - true_positive
    if N is None:
        return Confusion(true_positive, false_positive, missed)
    sizes = np.broadcast_to(np.asarray(N, dtype=np.float64), lists.rows)
    check.positive("confusion", N=float(sizes.min(initial=np.inf)))
    rest = sizes - true_positive - false_positive - missed
    if len(rest) and rest.min() < -1e-6:  # the counts are means over tied documents: the last bit can be off
        worst = int(rest.argmin())
        topic = "" if np.ndim(N) == 0 else lists.topics[lists.topic[worst]]
        raise collection_too_small(int(sizes[worst]), int(sizes[worst] - rest[worst]), topic)
    return Confusion(true_positive, false_positive, missed, np.maximum(rest, 0.0))


def collection_too_small(N: int, documents: int, topic: str = "") -> UsageError:
    which = f"topic {topic!r}" if topic else "a topic"
    return UsageError(
        f"N == {N}, but {which} has {documents} documents retrieved or relevant; give the size of the whole collection"
    )


class _OfCollection(Measure):
    """The base class of measures that count documents neither relevant nor retrieved."""

    N: Whole | None = None
    rel: float = 1

    another: ClassVar[str] = ""
    """A warning about another measure of the same name."""

    def table(self, lists: Assessed) -> tuple[Array, Array, Array, Array]:
        sizes = collection_size(self.name, lists, self.N)
        if sizes is None:
            needs = f"{self.name} needs the number of documents in the collection: write {self.name}(N=528155)"
            raise UsageError(f"{needs}, or give topic_numbers=, a file with lines of topic and N{self.another}")
        cells = confusion(lists, self.rel, sizes if self.N is None else self.N, self.k)
        assert cells.true_negative is not None
        return cells.true_positive, cells.false_positive, cells.false_negative, cells.true_negative


@measure
class Accuracy(_OfCollection):
    r"""Accuracy: the fraction of the collection that is relevant and retrieved, or neither.

    .. math:: \frac{TP + TN}{N}

    `N`, the size of the collection, must be given; it can differ by topic, in a table of topics (`topic_numbers`). The
    score is close to 1 for any run on a large collection.
    No relevant documents: the fraction of the collection that was not retrieved.
    Reference: Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, chapter 8

    >>> Accuracy(N=10).of([1, 0, 0], missed=[1])
    0.7
    """

    another = " (ir_measures has a different measure of this name)"
    top_down = True
    properties = Properties(additive=True, scale="interval")

    def score(self, lists: Assessed) -> Array:
        tp, fp, fn, tn = self.table(lists)
        return divide(tp + tn, tp + fp + fn + tn)


@measure
class Fallout(_OfCollection):
    r"""False positive rate: the fraction of the non-relevant documents that was retrieved; lower is better.

    .. math:: \frac{FP}{FP + TN}

    `N`, the size of the collection, must be given; it can differ by topic, in a table of topics (`topic_numbers`).
    No relevant documents: the fraction of the collection that was retrieved.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> Fallout(N=10).of([1, 0, 0], missed=[1])
    0.25
    """

    top_down = True
    properties = Properties(additive=True, better="lower", scale="interval", step="relevant")

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists)
        return divide(fp, fp + tn)


@measure
class Specificity(_OfCollection):
    r"""True negative rate: the fraction of the non-relevant documents that was not retrieved.

    .. math:: \frac{TN}{FP + TN}

    `N`, the size of the collection, must be given; it can differ by topic, in a table of topics (`topic_numbers`).
    No relevant documents: the fraction of the collection that was not retrieved.
    Reference: Fawcett, Pattern Recognition Letters 27(8), 2006, doi:10.1016/j.patrec.2005.10.010

    >>> Specificity(N=10).of([1, 0, 0], missed=[1])
    0.75
    """

    top_down = True
    properties = Properties(additive=True, scale="interval", step="relevant")

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists)
        return divide(tn, fp + tn)
