"""Normalised cumulative utility: where readers stop, and what the list down to there is worth to them.

A distribution over the relevant documents at which readers stop, times a utility of the list down to each of them.
Both are functions of the hits that give one number per relevant document, kept by name in `STOPS` and `UTILITIES`;
more can be added there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, by_parameters, divide, measure
from cranfield.measures.first import cascade, check_highest, down_to_preferred, highest_grade, note_highest, preferred
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.ranked import FromGrade, Q, normaliser, persistence
from cranfield.types import Array


@measure
class NCU(Measure):
    r"""Normalised cumulative utility: the utility of the list down to where readers stop, averaged over the readers.

    .. math:: \sum_r p(r)\, u(r)

    `stop` says which share of the readers stops at each relevant document, p(r): `"uniform"` the same at all R;
    `"graded-uniform"` by the `weight` of its grade (a table; by default the gain); `"rank-biased"` each time `gamma`
    times the share of the one before; `"cascade"` as in ERR, satisfied with probability (2^g − 1) / 2^`max_grade` and
    not before; `"first"` all at the first relevant document of the list; `"preferred"` all at the first of its best
    documents; `"to-preferred"` the same at all down to that one. Who finds no place to stop has nothing.

    `utility` is what the list down to rank r is worth, u(r): `"P"` precision, `"BR"` the blended ratio with `beta`,
    `"nCG"` cumulative gain as a share of the ideal list's, `"RR"` one over the rank.

    Members: AP (uniform, P) and Q (uniform, BR); RR (first, P) and O (first, BR), which are also rank-biased with
    gamma = 0; P-measure (preferred, BR) and P+ (to-preferred, BR); ERR (cascade, RR).

    `@l` still divides among all R; `norm="min"` among as many as have room in l ranks, the heaviest. With the cascade
    or the utility RR an ideal list need not score 1. When nothing is relevant, stops that look at the list alone
    (cascade, first, preferred, to-preferred) give 0 as their members do.
    No relevant documents: undefined.
    Reference: Sakai & Robertson, Modelling A User Population for Designing Information Retrieval Metrics, EVIA 2008

    >>> NCU(stop="rank-biased", utility="P", gamma=0.5).of([1, 0, 1])
    0.8888888888888888
    """

    stop: str = "uniform"
    utility: str = "BR"
    gamma: float = 0.95
    beta: float = 1
    rel: float = 1
    gain: GainLike = LINEAR
    weight: GainLike | None = None
    max_grade: float | None = None
    norm: str = "R"

    members: ClassVar[dict[str, dict[str, str]]] = {
        f"NCU{short}{utility}": {"stop": stop, "utility": utility}
        for short, stop in (("gu", "graded-uniform"), ("rb", "rank-biased"))
        for utility in ("P", "BR")
    }
    """What NTCIREVAL calls four of them."""
    aliases = tuple(members)
    properties: ClassVar[Any] = by_parameters(Properties(graded=True, normalised=True))

    def declares(self, default: Properties) -> Properties:
        """What follows from the stop and the utility; tests try every pair of them."""
        utility = "P" if self.utility == "BR" and self.beta == 0 else self.utility
        first = self.stop == "first" or (self.stop == "rank-biased" and self.gamma == 0)
        even = self.stop in ("uniform", "graded-uniform") or (self.stop == "rank-biased" and self.gamma == 1)
        fewer = self.stop in ("cascade", "rank-biased") and not even  # stop at a document the more were above it
        from_the_list = self.stop in ("cascade", "first", "preferred", "to-preferred")
        all_share = self.cutoff is None or self.norm == "min" or first or from_the_list  # else who stops below l has 0
        return default.replace(
            graded=self.stop in GRADED or utility in GRADED,
            # nobody is surely satisfied, and a mean of 1/r over several ranks is below 1 even for the ideal list
            normalised=self.stop != "cascade" and (utility != "RR" or first or from_the_list) and all_share,
            recall_free=from_the_list and utility in ("P", "RR"),
            additive=even and utility == "RR",
            diminishing=(first and utility in ("P", "RR")) or (fewer and utility == "RR"),
        )

    def check(self) -> None:
        check.one_of(self.name, tuple(STOPS), stop=self.stop)
        check.one_of(self.name, tuple(UTILITIES), utility=self.utility)
        check.one_of(self.name, ("R", "min"), norm=self.norm)
        check.between(self.name, low=0, high=1, gamma=self.gamma)
        check.not_negative(self.name, beta=self.beta)
        check_highest(self.name, self.max_grade)
        if self.weight is not None:
            try:
                object.__setattr__(self, "weight", Gain.of(self.weight))
            except UsageError as wrong:
                raise UsageError(f"{self.name}: weight as a {wrong}") from None
        for grade, share in self.weights.table:
            if self.stop == "graded-uniform" and share < 0:
                raise UsageError(f"{self.name}: weight == {share:g} for grade {grade:g}, must be 0 or above")

    @property
    def weights(self) -> Gain:
        """By what the graded-uniform stop divides the readers."""
        return Gain.of(self.gain if self.weight is None else self.weight)

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        share, total = STOPS[self.stop](self, lists, hits)
        chance = divide(share, total[hits.row])
        worth = UTILITIES[self.utility](self, lists, hits)
        return Terms(hits, chance * worth, np.sign(total), {"stops here": chance, "utility": worth})

    def note(self, lists: Assessed) -> str | None:
        return note_highest(self.max_grade, lists) if self.stop == "cascade" else None


GRADED = ("graded-uniform", "cascade", "preferred", "to-preferred", "BR", "nCG")
"""Stops and utilities that look at grades."""


# -- where readers stop: the share of them at each hit, and what the shares of all of them add up to in each list

Stop = Callable[[NCU, Assessed, Hits], tuple[Array, Array]]


def uniform(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """The same at every relevant document, retrieved or not."""
    return np.ones(len(hits)), normaliser(lists.num_rel(to.rel), to.k, to.norm)


def graded_uniform(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """At every relevant document by the weight of its grade."""
    weight = FromGrade(to.weights, to.rel)
    ideal = lists.ideal(weight)
    return weight(hits.grade), ideal.sum(ideal.gain, to.k if to.norm == "min" else None)


def rank_biased(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """1 at the first relevant document, γ at the second, γ² at the third, ..."""
    documents = normaliser(lists.num_rel(to.rel), to.k, to.norm).astype(np.int64)
    shares = persistence(to.gamma, np.arange(1, int(documents.max(initial=1)) + 1))
    return persistence(to.gamma, hits.nth), np.concatenate(([0.0], np.cumsum(shares)))[documents]


def satisfied(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """At the document that satisfies, after all before did not."""
    highest = highest_grade(to.name, to.max_grade, lists)
    return cascade(hits, hits.grade, highest)["stops here"], np.ones(lists.rows)


def at_first(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """All at r1."""
    return (hits.nth == 1).astype(np.float64), np.ones(lists.rows)


def at_preferred(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """All at rp."""
    share = np.zeros(len(hits))
    share[preferred(hits)] = 1.0
    return share, np.ones(lists.rows)


def to_preferred(to: NCU, lists: Assessed, hits: Hits) -> tuple[Array, Array]:
    """The same at every relevant document from r1 to rp."""
    share, count = down_to_preferred(hits)
    return share.astype(np.float64), np.maximum(count, 1.0)


STOPS: dict[str, Stop] = {
    "uniform": uniform,
    "graded-uniform": graded_uniform,
    "rank-biased": rank_biased,
    "cascade": satisfied,
    "first": at_first,
    "preferred": at_preferred,
    "to-preferred": to_preferred,
}
"""Where readers stop, by name."""


# -- what the list down to each hit is worth to a reader who stops there

Worth = Callable[[NCU, Assessed, Hits], Array]


def precision(to: NCU, lists: Assessed, hits: Hits) -> Array:
    """C(r) / r."""
    return hits.nth / hits.rank


def blended_ratio(to: NCU, lists: Assessed, hits: Hits) -> Array:
    """(C(r) + β cg(r)) / (r + β cg*(r)), as Q counts it."""
    return Q(beta=to.beta, rel=to.rel, gain=to.gain, cutoff=to.cutoff).terms(lists).adds


def cumulative_gain(to: NCU, lists: Assessed, hits: Hits) -> Array:
    """cg(r) / cg*(r); 0 where even the ideal list has gained nothing."""
    columns = Q(rel=to.rel, gain=to.gain, cutoff=to.cutoff).terms(lists).columns
    return np.nan_to_num(divide(columns["cg"], columns["ideal cg"]))


def reciprocal_rank(to: NCU, lists: Assessed, hits: Hits) -> Array:
    """1 / r."""
    return 1.0 / hits.rank


UTILITIES: dict[str, Worth] = {
    "P": precision,
    "BR": blended_ratio,
    "nCG": cumulative_gain,
    "RR": reciprocal_rank,
}
"""What a list is worth, by name."""
