"""Ranked lists, many relevant documents: measures for a reader who wants to find many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.changed_lists.prefixes import Prefixes
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure, normalised_unless_cut, number_tuple
from cranfield.measures.declarations import Norm, Persistence
from cranfield.measures.gain import LINEAR, Discount, Gain, GainLike, gained, note_scale
from cranfield.notes import method_note
from cranfield.types import Array, Index


def normaliser(count: Array, cutoff: int | None, norm: str) -> Array:
    """The divisor of AP and Q: R, or min(l, R), with which a score of 1 is possible at a small cutoff."""
    return np.minimum(count, cutoff) if norm == "min" and cutoff is not None else count


@measure
class AP(Measure):
    r"""Average precision: precision at each relevant document, averaged over all relevant documents.

    .. math:: \frac{1}{R}\sum_r I(r)\frac{C(r)}{r}

    `@l` stops at rank l and still divides by R, like trec_eval's map_cut; `norm="min"` divides by min(l, R).
    No relevant documents: undefined.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> AP().of([1, 0, 1], missed=[1])
    0.5555555555555555
    """

    rel: float = 1
    norm: Norm = "R"

    aliases = ("MAP", "AveP", "map", "map_cut")
    top_down = True
    properties = normalised_unless_cut(Properties(normalised=True))
    only_relevant = True

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        precision = hits.nth / hits.rank
        return Terms(hits, precision, normaliser(lists.num_rel(self.rel), self.k, self.norm), {"precision": precision})

    def cwl_settings(self) -> dict[str, Any] | None:
        return {"continuation": "AP", "gain": None, "rel": self.rel} if self.norm == "R" else None


@measure
class CG(Measure):
    r"""Cumulative gain: the sum of the gains of the documents down to the cutoff.

    .. math:: cg(l) = \sum_{r \le l} g(r)

    No relevant documents: 0.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418

    >>> CG().of([3, 0, 1])
    4.0
    """

    gain: GainLike = LINEAR

    top_down = True
    properties = Properties(
        graded=True, recall_free=True, additive=True, high=np.inf, scale="interval iff the grades are on a ratio scale"
    )

    def terms(self, lists: Assessed) -> Terms:
        hits, gains = gained(lists, Gain.of(self.gain), self.k)
        return Terms(hits, gains, 1.0, {"gain": gains})


@measure
class nCG(CG):
    r"""Normalised cumulative gain: cumulative gain divided by that of the ideal list at the same rank.

    .. math:: \frac{cg(l)}{cg^*(l)}

    Also known as the normalised sliding ratio (Giuliano & Jones; Pollock 1968) and as weighted precision WP(r) (Sakai):
    each is the ratio of two running sums at one rank, not an average over ranks. Beyond rank R it does not matter how
    early a document comes.
    No relevant documents: undefined.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418

    >>> (nCG @ 2).of([1, 0, 3])
    0.25
    """

    aliases = ("NSR", "WP")
    properties = Properties(
        graded=True, normalised=True, additive=True, scale="interval iff the grades are on a ratio scale",
        step="relevant",
    )  # fmt: skip

    def terms(self, lists: Assessed) -> Terms:
        ideal = lists.ideal(Gain.of(self.gain))
        best = lists._once(("ideal cg", self.gain, self.k), lambda: ideal.sum(ideal.gain, self.k))
        return replace(super().terms(lists), over=best)


def discounted(
    lists: Assessed, gain: Gain, discount: Discount, cutoff: int | None
) -> tuple[Hits, Array, dict[str, Array]]:
    """The hits with a gain, their gains after the discount, and gain and discount by name."""

    def compute() -> tuple[Hits, Array, dict[str, Array]]:
        if cutoff is None or lists.ranks_on_demand:
            hits, gains = gained(lists, gain, cutoff)
            divisor = discount(hits.rank)
            return hits, gains / divisor, {"gain": gains, "discount": divisor}
        hits, left, columns = discounted(lists, gain, discount, None)
        if cutoff >= lists.deepest:
            return hits, left, columns
        inside = hits.rank <= cutoff
        return hits.where(inside), left[inside], {name: column[inside] for name, column in columns.items()}

    return lists._once(("discounted", gain, discount, cutoff), compute)


def ideal_dcg(lists: Assessed, gain: Gain, discount: Discount, cutoff: int | None) -> Array:
    """The DCG of each row's ideal list."""
    ideal = lists.ideal_down_to(gain, cutoff)

    def discounted_gain(before: Array, after: Array, rank: Index) -> Array:
        return (after - before) / discount(rank)

    return lists._once(
        ("ideal dcg", gain, discount, cutoff),
        lambda: ideal.once(
            ("dcg", discount, cutoff),
            lambda: ideal.by_parts(
                lambda part: part.best_sums(part.gain / discount(part.hits.rank), cutoff, discounted_gain)
            ),
        ),
    )


@measure
class DCG(Measure):
    r"""Discounted cumulative gain: the sum of the gains, each divided by a discount that grows with the rank.

    .. math:: \sum_{r \le l} \frac{g(r)}{\log_2(r + 1)}

    `discount="jk"` divides by max(1, log_b r) as the original paper does, `"jk08"` by 1 + log_b r; `base` is b.
    No relevant documents: 0.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418; Burges et al., ICML 2005,
    doi:10.1145/1102351.1102363

    >>> DCG().of([0, 0, 0, 0, 0, 0, 3])
    1.0
    """

    gain: GainLike = LINEAR
    discount: str = "log2"
    base: float = 2

    top_down = True
    properties = Properties(graded=True, recall_free=True, additive=True, high=np.inf)

    def check(self) -> None:
        Discount(self.discount, self.base)

    def terms(self, lists: Assessed) -> Terms:
        hits, left, columns = discounted(lists, Gain.of(self.gain), Discount(self.discount, self.base), self.k)
        return Terms(hits, left, 1.0, columns)


@measure
class nDCG(DCG):
    r"""Normalised discounted cumulative gain: DCG divided by the DCG of the ideal list.

    .. math:: \frac{\sum_{r \le l} g(r) / \log_2(r + 1)}{\sum_{r \le l} g^*(r) / \log_2(r + 1)}

    The gain is the grade, as in trec_eval; `gain="exp"` uses 2^grade − 1. `discount="jk"` divides by max(1, log_b r)
    as the original paper does, `"jk08"` by 1 + log_b r; `base` is b.
    No relevant documents: undefined.
    Reference: Järvelin & Kekäläinen, TOIS 20(4), 2002, doi:10.1145/582415.582418; Burges et al., ICML 2005,
    doi:10.1145/1102351.1102363

    >>> (nDCG @ 1).of([1, 2])
    0.5
    """

    aliases = ("NDCG", "ndcg", "ndcg_cut", "MSnDCG")
    properties = Properties(graded=True, normalised=True, additive=True)

    def terms(self, lists: Assessed) -> Terms:
        best = ideal_dcg(lists, Gain.of(self.gain), Discount(self.discount, self.base), self.k)
        return replace(super().terms(lists), over=best)

    def divisor_in_words(self, lists: Assessed) -> str:
        """The gains of the ideal list, from the top; of many, the first ten."""
        if lists.intents is not None:
            return ""  # their gains are not those of grades
        start, topic = lists.judged.start, lists.set_of_row[0]
        gains = Gain.of(self.gain)(lists.judged.grade[start[topic] : start[topic + 1]])
        best = np.sort(gains[gains > 0])[::-1][: self.k].tolist()
        more = ", ..." if len(best) > MOST_GAINS else ""
        return f"the DCG of the ideal list, with gains {', '.join(f'{gain:g}' for gain in best[:MOST_GAINS])}{more}"


MOST_GAINS = 10
"""The most gains of an ideal list in a sentence."""
DIALECTS = ("exact", "trec9", "trec10")


def needed(recall: float, relevant: Array, dialect: str) -> Array:
    """How many relevant documents must be found to reach a recall point.

    >>> [needed(0.2, np.array([6.0]), dialect).tolist() for dialect in ("exact", "trec9", "trec10")]
    [[2.0], [2.0], [1.0]]
    """
    if dialect == "trec9":
        return np.floor(recall * relevant + 0.9)
    if dialect == "trec10":
        return np.floor(recall * relevant + 0.5)
    return np.ceil(recall * relevant - 1e-9)  # in floating point, 0.55 · 20 is 11.000000000000002


def interpolated(lists: Assessed, rel: float, cutoff: int | None, recall: float, dialect: str) -> Array:
    """Interpolated precision of every list at a recall point."""

    def best_precision_from_here() -> tuple[Hits, Array]:
        hits = lists.relevant(rel, cutoff)
        return hits, hits.running_max_from_below(hits.nth / hits.rank)

    hits, best = lists._once(("best precision from here", rel, cutoff), best_precision_from_here)
    relevant = lists.num_rel(rel)
    enough = np.maximum(needed(recall, relevant, dialect), 1.0).astype(np.int64)
    return np.where(relevant > 0, hits.value_at_nth(best, enough)[0], np.nan)


def interpolated_by_prefix(
    lists: Assessed, ranks: int, rel: float, cutoff: int | None, recall: float, dialect: str
) -> Array:
    """Interpolated precision at a recall point of the first of the lists, cut after each of its first ranks."""
    cut = Prefixes.of(lists, ranks)
    hits, relevant = cut.relevant(rel, cutoff), float(cut.num_rel(rel)[0])
    if not relevant:
        return np.full(ranks, np.nan)
    enough = max(int(needed(recall, np.array([relevant]), dialect)[0]), 1)
    precision = np.where(hits.nth >= enough, hits.nth / hits.rank, 0.0)
    return hits.last(np.maximum.accumulate(precision))


@measure
class IPrec(Measure):
    r"""Interpolated precision at a recall point: the best precision at that recall or beyond.

    .. math:: IP_i = \max_{r,\,Rec(r) \ge i} Prec(r)

    `@` takes the recall point, 0 to 1. A recall point between two documents is reached at the later one;
    `dialect="trec9"` or `"trec10"` rounds as that version of trec_eval does.
    No relevant documents: undefined.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> (IPrec @ 0.5).of([0, 1, 1, 0])
    0.6666666666666666
    """

    rel: float = 1
    dialect: str = "exact"

    aliases = ("iprec_at_recall",)
    cutoff_kind = "recall"
    properties = Properties(normalised=True)

    def check(self) -> None:
        check.one_of(self.name, DIALECTS, dialect=self.dialect)

    def score(self, lists: Assessed) -> Array:
        if self.cutoff is None:
            raise UsageError("IPrec needs a recall point: write IPrec@0.1")
        return interpolated(lists, self.rel, None, float(self.cutoff), self.dialect)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        return interpolated_by_prefix(lists, ranks, self.rel, None, float(self.cutoff or 0.0), self.dialect)


ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@measure
class AP11(Measure):
    r"""Eleven-point average precision: the mean interpolated precision at recall 0, 0.1, ..., 1.

    .. math:: \frac{1}{11}\sum_{i \in \{0, 0.1, \ldots, 1\}} IP_i

    `points` takes other recall points; `dialect="trec9"` or `"trec10"` rounds them as that version of trec_eval does.
    No relevant documents: undefined.
    Reference: Salton & McGill, Introduction to Modern Information Retrieval, 1983

    >>> AP11(points=[0.5, 1]).of([0, 1, 0, 1])
    0.5
    """

    rel: float = 1
    points: Sequence[float] = ELEVEN
    dialect: str = "exact"

    aliases = ("11pt_avg", "11pt-AP")
    properties = normalised_unless_cut(Properties(normalised=True))

    def normalised(self) -> dict[str, Any]:
        points = number_tuple(self.points)
        sortable = isinstance(points, tuple) and all(isinstance(point, float) for point in points)
        return {"points": tuple(sorted(points)) if sortable else points}

    def check(self) -> None:
        check.one_of(self.name, DIALECTS, dialect=self.dialect)
        if not isinstance(self.points, tuple) or not self.points:
            raise UsageError(f"AP11: points == {self.points!r}, must be recall points such as [0.2, 0.5, 0.8]")
        for point in self.points:
            check.finite(self.name, points=point)
            check.between(self.name, low=0, high=1, points=point)

    def score(self, lists: Assessed) -> Array:
        total = np.zeros(lists.rows)
        for point in reversed(self.points):  # trec_eval adds from high recall to low
            total += interpolated(lists, self.rel, self.k, point, self.dialect)
        return total / len(self.points)

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        total = np.zeros(ranks)
        for point in reversed(self.points):
            total += interpolated_by_prefix(lists, ranks, self.rel, self.k, point, self.dialect)
        return total / len(self.points)


def persistence(p: float, rank: Index) -> Array:
    """The chance to reach each rank, p^(r-1), as a product taken rank by rank."""
    chance = np.full(int(rank.max(initial=1)) + 1, p)
    chance[:2] = 1.0
    return np.asarray(np.multiply.accumulate(chance)[rank])


LARGEST = ("judgments", "topic")
"""Where the largest gain is looked for: in all judgments, or in those of each topic."""


def largest_gain_of_topics(lists: Assessed, gain: Gain) -> Array:
    """The largest gain of a judged document of each list's topic; 0 if none has a gain."""
    return lists.ideal(gain).largest(0.0)


@measure
class RBP(Measure):
    r"""Rank-biased precision: gain per document for a reader who goes on to the next document with probability `p`.

    .. math:: (1 - p) \sum_r g(r)\, p^{r-1}

    Relevance is binary by default; with `gain="linear"`, `"exp"` or a table it is graded. Gains from 0 to 1 count as
    they are; if some exceed 1, all are divided by the largest in the judgments. `largest="topic"` always divides gains
    by the largest of the topic, as NTCIREVAL does for global gains: D-RBP(largest="topic"). `RBPres` is the weight of
    unjudged documents.
    No relevant documents: 0.
    Reference: Moffat & Zobel, TOIS 27(1), 2008, doi:10.1145/1416950.1416952

    >>> RBP(p=0.5).of([1, 0, 1])
    0.625
    >>> RBP(p=0.5, gain={1: 0.25, 2: 0.75}).of([1, 2])
    0.3125
    """

    p: Persistence = 0.8
    rel: float = 1
    gain: GainLike | None = None
    largest: str = "judgments"

    top_down = True
    properties = Properties(graded=True, recall_free=True, additive=True, scale="interval iff p = 1/2")

    def check(self) -> None:
        check.one_of(self.name, LARGEST, largest=self.largest)
        if self.largest == "topic" and self.gain is None:
            raise UsageError('RBP: largest == "topic" divides gains; give a gain too, such as gain="linear"')

    def declares(self, default: Properties) -> Properties:
        return default if self.largest == "judgments" else default.replace(recall_free=False, additive=False)

    def worth(self, lists: Assessed) -> tuple[Hits, Array]:
        if self.gain is None:
            hits = lists.relevant(self.rel, self.k)
            return hits, np.ones(len(hits))
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        if self.largest == "topic":
            return hits, gains / largest_gain_of_topics(lists, gain)[hits.row]
        return hits, gains / gain.scale(lists.max_grade)

    def terms(self, lists: Assessed) -> Terms:
        hits, gains = self.worth(lists)
        weight = (1.0 - self.p) * persistence(self.p, hits.rank)
        return Terms(hits, gains * weight, 1.0, {"gain": gains, "weight": weight})

    def score(self, lists: Assessed) -> Array:
        hits, gains = self.worth(lists)
        return (1.0 - self.p) * hits.sum(gains * persistence(self.p, hits.rank))

    def note(self, lists: Assessed) -> str | None:
        if self.gain is None:
            return None
        if self.largest == "topic":
            return method_note("RBP: gains are divided by the largest gain of each topic")
        return note_scale(Gain.of(self.gain).scale(lists.max_grade))

    def cwl_settings(self) -> dict[str, Any] | None:
        if self.cutoff is not None or self.largest == "topic":
            return None
        return {"continuation": "RBP", "p": self.p, "gain": self.gain, "rel": self.rel}


@measure
class RBPres(Measure):
    r"""The residual of rank-biased precision: the weight of all ranks without a judged document.

    .. math:: 1 - (1 - p) \sum_{r:\,\text{judged}} p^{r-1}

    With complete judgments, RBP would lie between RBP and RBP + RBPres. With `@l` all ranks beyond l are unknown.
    Nothing retrieved: 1. No relevant documents: the same residual.
    Reference: Moffat & Zobel, TOIS 27(1), 2008, doi:10.1145/1416950.1416952

    >>> RBPres(p=0.5).of([1, None, 1])
    0.375
    """

    p: Persistence = 0.8

    top_down = True
    properties = Properties(recall_free=True, additive=True, better="neither", scale="interval iff p = 1/2")

    def score(self, lists: Assessed) -> Array:
        hits = lists.hits(self.k)
        known = (1.0 - self.p) * hits.sum(persistence(self.p, hits.rank))
        return np.maximum(1.0 - known, 0.0)  # rounding can take the sum above 1


@measure
class RBPmax(Measure):
    r"""The greatest RBP that a list can have on the topic: all relevant documents first.

    .. math:: (1 - p) \sum_{r=1}^{R} p^{r-1} = 1 - p^R

    It is the same for every run: a topic with few relevant documents keeps RBP far below 1, the more so the larger `p`
    is. With `@l`, R is at most l. Relevance is binary.
    No relevant documents: 0.
    Reference: Sakai 2014 §2.2, footnote 4

    >>> RBPmax(p=0.5).of([0, 1], missed=[1])
    0.75
    """

    p: Persistence = 0.8
    rel: float = 1

    top_down = True
    properties = Properties(additive=True, better="neither")

    def score(self, lists: Assessed) -> Array:
        relevant = lists.num_rel(self.rel)
        return np.asarray(1.0 - self.p ** (relevant if self.k is None else np.minimum(relevant, self.k)))
