"""Where readers stop, and what they have found by then: normalised cumulative utility.

A distribution says at which relevant documents readers stop, a utility what the list down to each of them is worth.
Both are functions of the hits, kept by name in `STOPS` and `UTILITIES`; more can be added there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, divide, measure
from cranfield.measures.declarations import Norm, NotNegative, Persistence, Positive, Probability
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.ranked_lists.first import (
    cascade,
    down_to_preferred,
    highest_grade,
    note_max_grade,
    preferred,
    stopping,
)
from cranfield.measures.ranked_lists.graded import FromGrade, Q
from cranfield.measures.ranked_lists.ranked import LARGEST, largest_gain_of_topics, normaliser, persistence
from cranfield.types import Array


@measure
class NCU(Measure):
    r"""Normalised cumulative utility: the utility of the list down to where a reader stops, averaged over readers.

    .. math:: \sum_r p(r)\, u(r)

    `stop` is p(r), the share of readers who stop at each relevant document: `"uniform"` the same at all R;
    `"graded-uniform"` in proportion to the `weight` of its grade (a table; by default the gain); `"rank-biased"`
    `gamma` times the share of the document before; `"cascade"` as in ERR, where a document satisfies with probability
    (2^g − 1) / 2^`max_grade`; `"first"` all at the first relevant document; `"preferred"` all at the first document
    with the list's best grade; `"to-preferred"` the same at all relevant documents down to that one. Readers who do not
    stop in the list get nothing.

    `utility` is u(r), what the list down to rank r is worth: `"P"` precision, `"BR"` the blended ratio with `beta`,
    `"nCG"` cumulative gain divided by the ideal list's, `"RR"` one over the rank.

    Special cases: AP (uniform, P) and Q (uniform, BR); RR (first, P) and O (first, BR), which are also rank-biased with
    gamma = 0; P-measure (preferred, BR) and P+ (to-preferred, BR); ERR (cascade, RR).

    With `@l` the readers are still divided among all R documents; `norm="min"` divides them among the l documents with
    the largest shares. With the cascade or the utility RR an ideal list can score below 1. If nothing is relevant, the
    stops that use only the list (cascade, first, preferred, to-preferred) give 0.
    No relevant documents: undefined.
    Reference: Sakai & Robertson, Modelling A User Population for Designing Information Retrieval Metrics, EVIA 2008

    >>> NCU(stop="rank-biased", utility="P", gamma=0.5).of([1, 0, 1])
    0.8888888888888888
    """

    stop: str = "uniform"
    utility: str = "BR"
    gamma: Probability = 0.95
    beta: NotNegative = 1
    rel: float = 1
    gain: GainLike = LINEAR
    weight: GainLike | None = None
    max_grade: Positive | None = None
    norm: Norm = "R"

    members: ClassVar[dict[str, dict[str, str]]] = {
        f"NCU{short}{utility}": {"stop": stop, "utility": utility}
        for short, stop in (("gu", "graded-uniform"), ("rb", "rank-biased"))
        for utility in ("P", "BR")
    }
    """The names of four special cases in NTCIREVAL."""
    aliases = tuple(members)
    top_down = True
    properties = Properties(graded=True, normalised=True)

    def declares(self, default: Properties) -> Properties:
        """What follows from the stop and the utility; tests check every pair."""
        utility = "P" if self.utility == "BR" and self.beta == 0 else self.utility
        first = self.stop == "first" or (self.stop == "rank-biased" and self.gamma == 0)
        even = self.stop in ("uniform", "graded-uniform") or (self.stop == "rank-biased" and self.gamma == 1)
        fewer = self.stop in ("cascade", "rank-biased") and not even  # fewer readers stop after relevant documents
        from_the_list = self.stop in ("cascade", "first", "preferred", "to-preferred")
        all_share = self.cutoff is None or self.norm == "min" or first or from_the_list  # else stops below l get 0
        return default.replace(
            graded=self.stop in GRADED or utility in GRADED,
            # a cascade satisfies no reader for certain; a mean of 1/r over several ranks is always below 1
            normalised=self.stop != "cascade" and (utility != "RR" or first or from_the_list) and all_share,
            recall_free=from_the_list and utility in ("P", "RR"),
            additive=even and utility == "RR",
            diminishing=(first and utility in ("P", "RR")) or (fewer and utility == "RR"),
        )

    def check(self) -> None:
        check.one_of(self.name, tuple(STOPS), stop=self.stop)
        check.one_of(self.name, tuple(UTILITIES), utility=self.utility)
        for grade, share in self.weights.table:
            if self.stop == "graded-uniform" and share < 0:
                raise UsageError(f"{self.name}: weight == {share:g} for grade {grade:g}, must be 0 or above")

    @property
    def weights(self) -> Gain:
        """The weights of grades for the graded-uniform stop."""
        return Gain.of(self.gain if self.weight is None else self.weight)

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        share, total = STOPS[self.stop](self, lists, hits)
        stops = divide(share, total[hits.row])
        utility = UTILITIES[self.utility](self, lists, hits)
        return Terms(hits, stops * utility, np.sign(total), {"stops here": stops, "utility": utility})

    def note(self, lists: Assessed) -> str | None:
        return note_max_grade(self.max_grade, lists) if self.stop == "cascade" else None


GRADED = ("graded-uniform", "cascade", "preferred", "to-preferred", "BR", "nCG")
"""Stops and utilities that use grades."""


# -- where readers stop: the share at each hit, and the sum of all shares in each list

Stop = Callable[[NCU, Assessed, Hits], tuple[Array, Array]]


def uniform(ncu: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """The same at every relevant document, retrieved or not."""
    return np.ones(len(hits)), normaliser(lists.num_rel(ncu.rel), ncu.k, ncu.norm)


def graded_uniform(ncu: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """At every relevant document, in proportion to the weight of its grade."""
    weight = FromGrade(ncu.weights, ncu.rel)
    ideal = lists.ideal(weight)
    return weight(hits.grade), ideal.sum(ideal.gain, ncu.k if ncu.norm == "min" else None)


def rank_biased(ncu: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """1 at the first relevant document, γ at the second, γ² at the third, ..."""
    documents = normaliser(lists.num_rel(ncu.rel), ncu.k, ncu.norm).astype(np.int64)
    shares = persistence(ncu.gamma, np.arange(1, int(documents.max(initial=1)) + 1))
    return persistence(ncu.gamma, hits.nth), np.concatenate(([0.0], np.cumsum(shares)))[documents]


def at_satisfying(ncu: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """At the first document that satisfies the reader, as in ERR."""
    highest = highest_grade(ncu.name, ncu.max_grade, lists)
    return cascade(hits, hits.grade, highest)["stops here"], np.ones(lists.rows)


def at_preferred(ncu: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """All at rp."""
    share = np.zeros(len(hits))
    share[preferred(hits)] = 1.0
    return share, np.ones(lists.rows)


def to_preferred(ncu: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """The same at every relevant document from r1 to rp."""
    share, count = down_to_preferred(hits)
    return share.astype(np.float64), np.maximum(count, 1.0)


STOPS: dict[str, Stop] = {
    "uniform": uniform,
    "graded-uniform": graded_uniform,
    "rank-biased": rank_biased,
    "cascade": at_satisfying,
    "first": lambda ncu, lists, hits: ((hits.nth == 1).astype(np.float64), np.ones(lists.rows)),
    "preferred": at_preferred,
    "to-preferred": to_preferred,
}
"""The distributions over stopping points, by name."""


# -- utilities: what the list down to each hit is worth to a reader who stops there

Worth = Callable[[NCU, Assessed, Hits], Array]


def blended_ratio(ncu: NCU, lists: Assessed, hits: Hits) -> Array:
    """(C(r) + β cg(r)) / (r + β cg*(r)), as in Q."""
    return Q(beta=ncu.beta, rel=ncu.rel, gain=ncu.gain, cutoff=ncu.cutoff).terms(lists).adds


def cumulative_gain(ncu: NCU, lists: Assessed, hits: Hits) -> Array:
    """cg(r) / cg*(r); 0 if even the ideal list has gained nothing."""
    columns = Q(rel=ncu.rel, gain=ncu.gain, cutoff=ncu.cutoff).terms(lists).columns
    return np.nan_to_num(divide(columns["cg"], columns["ideal cg"]))


UTILITIES: dict[str, Worth] = {
    "P": lambda ncu, lists, hits: hits.nth / hits.rank,
    "BR": blended_ratio,
    "nCG": cumulative_gain,
    "RR": lambda ncu, lists, hits: 1.0 / hits.rank,
}
"""The utilities, by name."""


class _Satisfied(Measure):
    """The base class: a relevant document with gain g satisfies with probability g / (the highest gain + 1)."""

    gain: GainLike = LINEAR
    rel: float = 1
    max_grade: Positive | None = None
    largest: str = "judgments"

    def check(self) -> None:
        check.one_of(self.name, LARGEST, largest=self.largest)

    def stops(self, lists: Assessed) -> tuple[Hits, dict[str, Array]]:
        """The relevant documents, and the share of readers who stop at each."""
        hits, gain = lists.relevant(self.rel, self.k), Gain.of(self.gain)
        highest: Array | float = gain.most(highest_grade(self.name, self.max_grade, lists))
        if self.largest == "topic":
            highest = largest_gain_of_topics(lists, gain)[hits.row]
        return hits, stopping(hits, gain(hits.grade) / (highest + 1.0))

    def note(self, lists: Assessed) -> str | None:
        return note_max_grade(self.max_grade, lists) if self.largest == "judgments" else None


@measure
class EBR(_Satisfied):
    r"""Expected blended ratio: the blended ratio at the document that satisfies a reader who goes down the list.

    .. math:: \sum_r BR(r)\, p_r \prod_{k<r}(1 - p_k), \qquad p_r = \frac{g(r)}{g_{\max} + 1}

    BR(r) and `beta` are as for Q; it is ERR with the blended ratio instead of 1/r. g_max is the gain of `max_grade`, by
    default the largest in the judgments; `largest="topic"` takes the largest of each topic, as NTCIREVAL does for
    global gains (D-EBR).
    No relevant documents: 0.
    Reference: Sakai & Zeng, Retrieval Evaluation Measures that Agree with Users' SERP Preferences, TOIS 39(2), 2020,
    doi:10.1145/3431813

    >>> EBR().of([1, 0, 1])  # 1/2 · 1 + 1/4 · (2 + 2)/(3 + 2)
    0.7
    """

    beta: NotNegative = 1

    top_down = True
    properties = Properties(graded=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, columns = self.stops(lists)
        ratio = Q(beta=self.beta, rel=self.rel, gain=self.gain, cutoff=self.cutoff).terms(lists).adds
        return Terms(hits, ratio * columns["stops here"], 1.0, {**columns, "blended ratio": ratio})


@measure
class iRBU(_Satisfied):
    r"""Intentwise rank-biased utility: how early a reader is satisfied, with a weight that falls with the rank.

    .. math:: \sum_r p^r\, p_r \prod_{k<r}(1 - p_k), \qquad p_r = \frac{g(r)}{g_{\max} + 1}

    `p` is the persistence; `gain`, `max_grade` and `largest` are as for EBR. It is RBU of one intent without effort.
    No relevant documents: 0.
    Reference: Sakai & Zeng, Retrieval Evaluation Measures that Agree with Users' SERP Preferences, TOIS 39(2), 2020,
    doi:10.1145/3431813

    >>> iRBU(p=0.5).of([1, 0, 1])  # 1/2 · 1/2 + 1/8 · 1/4
    0.28125
    """

    p: Persistence = 0.99

    top_down = True
    properties = Properties(graded=True, recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, columns = self.stops(lists)
        weight = np.asarray(self.p**hits.rank, dtype=np.float64)
        return Terms(hits, weight * columns["stops here"], 1.0, {**columns, "weight": weight})
