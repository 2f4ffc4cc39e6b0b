"""Measures of relevance in several dimensions: what is relevant, and can also be understood, believed, ..."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from cranfield import check
from cranfield.assessed.dimensions import RELEVANCE, Dimensions, lacking
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, by_parameters, measure
from cranfield.measures.gain import number
from cranfield.measures.naming.parse import parse
from cranfield.measures.ranked import AP, check_persistence, persistence
from cranfield.types import Array
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Unjudged
from cranfield.views.view import View


class BiasedRBP(Measure):
    """Rank-biased precision where a document counts as much as all its dimensions allow: the product of their gains.

    A gain is `binary` (1 from grade `rel` on) or `linear` (the grade divided by the largest of that dimension, none
    below 0). A document that a dimension does not judge has no gain.
    """

    p: float = 0.8
    rel: float = 1

    needs = "dimensions"

    def check(self) -> None:
        check_persistence(self.name, self.p)

    def factors(self) -> tuple[tuple[str, str], ...]:
        """(dimension, gain): what is multiplied."""
        raise NotImplementedError

    def looks_at(self) -> frozenset[str]:
        """Only what is judged for relevance counts, unless what is not is read as if it were."""
        unjudged = any(isinstance(view, Unjudged) for view in self.views)
        return frozenset({self.needs, "places"} if unjudged else {self.needs})

    def terms(self, lists: Assessed) -> Terms:
        factors = self.factors()
        given = _given(lists, self.name, factors[-1][0])
        if lists.document is None:
            raise UsageError(f"{self.name}: these lists do not say which judged document each hit is")
        places = [given.column(dimension, self.name) for dimension, _ in factors]
        keep = np.ones(len(lists.row), dtype=bool) if self.k is None else lists.rank <= self.k
        hits, document = lists.hits().where(keep), lists.document[keep]
        worth = {
            f"{dimension} gain": _worth(given, place, kind, self.rel)[document]
            for (dimension, kind), place in zip(factors, places, strict=True)
        }
        weight = (1.0 - self.p) * persistence(self.p, hits.rank)
        adds = np.multiply.reduce([*worth.values(), weight])
        in_all = np.all(given.judged[places], axis=0)[lists.topic]
        return Terms(hits, adds, np.where(in_all, 1.0, np.nan), {**worth, "weight": weight})

    def note(self, lists: Assessed) -> str | None:
        told = [
            f"{dimension} is divided by {largest:g}, the largest grade in its judgments"
            for dimension, kind in self.factors()
            if kind == "linear" and lists.dimensions is not None
            for largest in [lists.dimensions.largest[lists.dimensions.column(dimension, self.name)]]
        ]
        return "; ".join(told) or None


def _worth(given: Dimensions, place: int, kind: str, rel: float) -> Array:
    """The gain of every document in one dimension, from 0 to 1; 0 where it is not judged."""
    grade = given.grade[place]
    if kind == "binary":
        return np.asarray(grade >= rel, dtype=np.float64)
    return np.asarray(np.maximum(np.nan_to_num(grade), 0.0) / (given.largest[place] or 1.0))


def _given(lists: Assessed, who: str, name: str | None = None) -> Dimensions:
    if lists.dimensions is None:
        raise lacking(who, name)
    return lists.dimensions


@measure
class uRBP(BiasedRBP):
    r"""Rank-biased precision that counts a relevant document as far as it can be understood.

    .. math:: (1 - p) \sum_r p^{r-1}\, P(R \mid r)\, P(U \mid r)

    Understandability has judgments of its own, given as the dimension of that name. Both are binary: 1 from grade
    `rel` on. With `graded=True` (uRBPgr) understandability is its grade divided by the largest. A document that is not
    judged in both counts nothing; a topic that is not is undefined.
    No relevant documents: 0.
    Reference: Zuccon, Understandability Biased Evaluation for Information Retrieval, ECIR 2016

    >>> uRBP(p=0.5).of([1, 1, 0], dimensions={"understandability": [0, 2, 1]})
    0.25
    >>> graded = uRBP(p=0.5, graded=True)
    >>> graded.of([1, 1, 0], dimensions={"understandability": [1, 2, 1]})
    0.5
    """

    graded: bool = False

    aliases = ("uRBPgr",)
    properties = Properties(graded=True, recall_free=True, additive=True)

    def factors(self) -> tuple[tuple[str, str], ...]:
        return (RELEVANCE, "binary"), ("understandability", "linear" if self.graded else "binary")


@measure
class cRBP(BiasedRBP):
    r"""Rank-biased precision that counts a relevant document as far as it can be believed.

    .. math:: (1 - p) \sum_r p^{r-1}\, P(R \mid r)\, P(C \mid r)

    Credibility has judgments of its own, given as the dimension of that name. Both are binary: 1 from grade `rel` on.
    With `graded=True` (cRBPgr) credibility is its grade divided by the largest. A document that is not judged in both
    counts nothing; a topic that is not is undefined.
    No relevant documents: 0.
    Reference: Goeuriot et al., Overview of the CLEF eHealth Evaluation Lab 2020, CLEF 2020

    >>> cRBP(p=0.5).of([1, 1, 0], dimensions={"credibility": [1, 0, 1]})
    0.5
    """

    graded: bool = False

    aliases = ("cRBPgr",)
    properties = Properties(graded=True, recall_free=True, additive=True)

    def factors(self) -> tuple[tuple[str, str], ...]:
        return (RELEVANCE, "binary"), ("credibility", "linear" if self.graded else "binary")


class OverDimensions(Measure):
    """A mean over the dimensions of what another measure scores in each."""

    inner: Any = AP()
    weights: Any = ()

    needs = "dimensions"

    def check(self) -> None:
        inner = parse(self.inner) if isinstance(self.inner, str) else self.inner
        if isinstance(inner, type) and issubclass(inner, Measure):
            inner = inner()
        if not isinstance(inner, Measure):
            raise UsageError(f"{self.name}: inner == {self.inner!r}, must be a measure such as AP or nDCG@10")
        if self.cutoff is not None:
            inner = inner @ self.cutoff
        if inner.needs == "dimensions":
            raise UsageError(f"{self.name}({inner}): {inner} looks at several dimensions itself")
        pairs = self._pairs()
        for dimension, weight in pairs:
            check.finite(self.name, **{f"weights[{dimension!r}]": weight})
            check.not_negative(self.name, **{f"weights[{dimension!r}]": weight})
        if pairs and not sum(weight for _, weight in pairs):
            raise UsageError(f"{self.name}: all weights are 0, one must be above")
        # A cutoff and views are those of the measure within: CAM(AP)@10 is CAM(AP@10). But documents are tied in all
        # dimensions at once, and stand in one order: MM(AP[ties]) is MM(AP)[ties].
        ties = tuple(view for view in (*inner.views, *self.views) if isinstance(view, Ties))
        others = [view for view in self.views if not isinstance(view, Ties)]
        inner = inner.replace(views=tuple(view for view in inner.views if not isinstance(view, Ties))).view(*others)
        self.__dict__.update(inner=inner, weights=pairs, cutoff=None, views=ties)

    def looks_at(self) -> frozenset[str]:
        within: frozenset[str] = self.inner.looks_at()
        return within | {"places", self.needs}

    def _pairs(self) -> tuple[tuple[str, float], ...]:
        try:
            return tuple((str(dimension), weight) for dimension, weight in dict(self.weights).items())
        except (TypeError, ValueError):
            raise UsageError(
                f"{self.name}: weights == {self.weights!r}, must be a table such as {{relevance: 3, credibility: 1}}"
            ) from None

    def declares(self, default: Properties) -> Properties:
        """What a mean keeps of the measure within."""
        told: Properties = self.inner.properties
        return default.replace(
            graded=told.graded, recall_free=told.recall_free, low=told.low, high=told.high, better=told.better,
            lengths=told.lengths,
        )  # fmt: skip

    def shares(self, given: Dimensions) -> dict[str, float]:
        """How much each dimension counts; those that count nothing are left out."""
        weights = dict(self.weights) if self.weights else dict.fromkeys(given.names, 1.0)
        for dimension in weights:
            given.column(dimension, f"{self.name}: weights")
        unweighted = [name for name in given.names if name not in weights]
        if unweighted:
            raise UsageError(
                f"{self.name}: weights of {', '.join(weights)}, but not of {', '.join(unweighted)}; 0 leaves one out"
            )
        total = sum(weights.values())
        return {name: weights[name] / total for name in given.names if weights[name] > 0}

    def by_dimension(self, lists: Assessed, inner: Measure | None = None) -> dict[str, Array]:
        """What the measure within scores in each dimension that counts; NaN where a topic is not judged in it."""
        given = _given(lists, self.name)
        found = {}
        for name in self.shares(given):
            place = given.column(name, self.name)
            judged = given.judged[place][lists.topic]
            found[name] = np.where(judged, (inner or self.inner).evaluate(lists_of(lists, name)), np.nan)
        return found

    def score(self, lists: Assessed, inner: Measure | None = None) -> Array:
        values = np.stack(list(self.by_dimension(lists, inner).values()))
        shares = np.array(list(self.shares(_given(lists, self.name)).values()))
        return self.mean(values, shares[:, None])

    def mean(self, values: Array, share: Array) -> Array:
        """dimensions × lists to one number per list."""
        raise NotImplementedError

    def first_through(self, view: View) -> Self:
        """The measure within reads through it: which documents are judged differs by dimension."""
        return self.replace(inner=self.inner.first_through(view))

    def remarks(self, lists: Assessed) -> list[str]:
        """Each dimension's part in the score of the first list."""
        shares = self.shares(_given(lists, self.name))
        return [
            f"{name}: {self.inner} {values[0]:.4f}, weight {shares[name]:.4f}"
            for name, values in self.by_dimension(lists).items()
        ]

    def note(self, lists: Assessed) -> str | None:
        return None if lists.dimensions is None else f"dimensions: {', '.join(self.shares(lists.dimensions))}"

    def __str__(self) -> str:
        weights = ",".join(f"{dimension}:{number(weight)}" for dimension, weight in self.weights)
        return f"{self.name}({self.inner.view(*self.views)}{f',weights={{{weights}}}' if weights else ''})"

    __repr__ = __str__


def lists_of(lists: Assessed, name: str) -> Assessed:
    """The same lists, judged in one dimension."""
    given = _given(lists, "dimensions")
    if name == RELEVANCE:
        return lists

    def make() -> Assessed:
        place = given.column(name, "dimensions")
        row, at = given.hits(place, lists.retrieved)
        known = ~np.isnan(given.grade[place])
        return lists.replace(
            row=row,
            rank=given.rank[at],
            grade=given.grade[place, given.document[at]],
            judged=Judged.of(given.topic[known], given.grade[place, known], len(lists.topics)),
            set_of_row=lists.topic,
            tie_first=None if given.tie_first is None else given.tie_first[at],
            tie_last=None if given.tie_last is None else given.tie_last[at],
            place=None,
            document=None,
            dimensions=None,
        )

    return lists._once(("dimension", name), make)


@measure
class CAM(OverDimensions):
    r"""The convex aggregating measure: the weighted mean of a measure over the dimensions of relevance.

    .. math:: \sum_i \lambda_i M_i, \quad \sum_i \lambda_i = 1

    Written with the measure in brackets, `inner`: CAM(AP), CAM(nDCG@10). The dimensions are the judgments, called
    relevance, and all that are given besides. `weights` are divided by their sum:
    CAM(AP,weights={relevance:3,credibility:1}); left out, all are the same. A topic that is not judged in all
    dimensions is undefined. Tied documents stand in one order in all dimensions: `[ties=best]` is the best of these.
    No relevant documents: as the measure within; undefined in one dimension is undefined.
    Reference: Lioma, Simonsen & Larsen, Evaluation Measures for Relevance and Credibility in Ranked Lists, ICTIR 2017

    >>> mostly_relevance = CAM("RR", weights={"relevance": 3, "credibility": 1})
    >>> mostly_relevance.of([1, 0], dimensions={"credibility": [0, 1]})
    0.875
    """

    properties: ClassVar[Any] = by_parameters(Properties())

    def evaluate(self, lists: Assessed) -> Array:
        if Ties("expected") in self.views:  # of a sum: the sum of each, which is exact where the measure within is
            return self.score(lists, self.inner.view(*self.views))
        return super().evaluate(lists)

    def mean(self, values: Array, share: Array) -> Array:
        return np.asarray((values * share).sum(axis=0))


@measure
class MM(OverDimensions):
    r"""The multidimensional measure: the weighted harmonic mean of a measure over the dimensions of relevance.

    .. math:: \frac{1}{\sum_i w_i / M_i}, \quad \sum_i w_i = 1

    Written with the measure in brackets, `inner`: MM(RBP), MM(nDCG@10). The dimensions and `weights` are as in CAM. 0
    where one of the dimensions scores 0: no dimension makes up for another.
    No relevant documents: as the measure within; undefined in one dimension is undefined.
    Reference: Palotti, Zuccon & Hanbury, MM: A New Framework for Multidimensional Evaluation of Search Engines, CIKM
    2018

    >>> round(MM("RR").of([1, 0], dimensions={"credibility": [0, 1]}), 4)
    0.6667
    """

    properties: ClassVar[Any] = by_parameters(Properties())

    def mean(self, values: Array, share: Array) -> Array:
        if (values < 0).any():
            raise UsageError(f"{self}: a score below 0; a harmonic mean needs scores of 0 or more")
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (share / values).sum(axis=0))
