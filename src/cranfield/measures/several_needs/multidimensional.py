"""Relevance in several dimensions: measures that also count, for example, understandability or credibility."""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from cranfield import check
from cranfield.assessed.dimensions import RELEVANCE, Dimensions, no_judgments
from cranfield.assessed.hits_by_intent import documents_of
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, distinct
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.declarations import Persistence
from cranfield.measures.gain import number
from cranfield.measures.naming.parse import parse
from cranfield.measures.ranked_lists.ranked import AP, persistence
from cranfield.notes import method_note
from cranfield.types import Array
from cranfield.views.ties import Ties
from cranfield.views.unjudged import Unjudged
from cranfield.views.view import View


class BiasedRBP(Measure):
    """Rank-biased precision in which the gain of a document is the product of its gains in several dimensions.

    A gain is `binary` (1 from grade `rel` on) or `linear` (the grade divided by the largest of that dimension, at least
    0). A document that is not judged in a dimension has no gain.
    """

    p: Persistence = 0.8
    rel: float = 1

    needs = "dimensions"

    @abstractmethod
    def factors(self) -> tuple[tuple[str, str], ...]:
        """The dimensions whose gains are multiplied, each with its kind of gain."""

    def looks_at(self) -> frozenset[str]:
        """The ranks of documents not judged for relevance matter only if a view counts these as judged."""
        return frozenset({self.needs, "places"} if self.find_view(Unjudged) else {self.needs})

    def terms(self, lists: Assessed) -> Terms:
        factors = self.factors()
        dimensions = dimensions_of(lists, self.name, factors[-1][0])
        columns = [dimensions.column(name, self.name) for name, _ in factors]
        keep = np.ones(len(lists.row), dtype=bool) if self.k is None else lists.rank <= self.k
        hits, document = lists.hits().where(keep), documents_of(lists)[keep]
        gains = {
            f"{name} gain": _gain(dimensions, column, kind, self.rel)[document]
            for (name, kind), column in zip(factors, columns, strict=True)
        }
        weight = (1.0 - self.p) * persistence(self.p, hits.rank)
        adds = np.multiply.reduce([*gains.values(), weight])
        in_all = np.all(dimensions.judged[columns], axis=0)[lists.topic]
        return Terms(hits, adds, np.where(in_all, 1.0, np.nan), {**gains, "weight": weight})

    def note(self, lists: Assessed) -> str | None:
        notes = [
            method_note(f"{dimension} is divided by {largest:g}, the largest grade in its judgments")
            for dimension, kind in self.factors()
            if kind == "linear" and lists.dimensions is not None
            for largest in [lists.dimensions.largest[lists.dimensions.column(dimension, self.name)]]
        ]
        return "; ".join(notes) or None


def _gain(dimensions: Dimensions, column: int, kind: str, rel: float) -> Array:
    """The gain of every document in one dimension, from 0 to 1; 0 if it is not judged."""
    grade = dimensions.grade[column]
    if kind == "binary":
        return np.asarray(grade >= rel, dtype=np.float64)
    return np.asarray(np.maximum(np.nan_to_num(grade), 0.0) / (dimensions.largest[column] or 1.0))


def dimensions_of(lists: Assessed, caller: str, name: str | None = None) -> Dimensions:
    if lists.dimensions is None:
        raise UsageError(f"{caller}: {no_judgments(name)}")
    return lists.dimensions


class _TwoDimensions(BiasedRBP):
    """The base class of uRBP and cRBP: relevance times one other dimension."""

    graded: bool = False

    dimension: ClassVar[str] = ""

    def factors(self) -> tuple[tuple[str, str], ...]:
        return (RELEVANCE, "binary"), (self.dimension, "linear" if self.graded else "binary")


@measure
class uRBP(_TwoDimensions):
    r"""Rank-biased precision in which only understandable relevant documents count.

    .. math:: (1 - p) \sum_r p^{r-1}\, P(R \mid r)\, P(U \mid r)

    Understandability has its own judgments, the dimension of that name. Both are binary: 1 from grade `rel` on. With
    `graded=True` (uRBPgr) understandability is the grade divided by the largest. A document must be judged in both to
    count; a topic that is not judged in both is undefined.
    No relevant documents: 0.
    Reference: Zuccon, Understandability Biased Evaluation for Information Retrieval, ECIR 2016

    >>> uRBP(p=0.5).of([1, 1, 0], dimensions={"understandability": [0, 2, 1]})
    0.25
    >>> graded = uRBP(p=0.5, graded=True)
    >>> graded.of([1, 1, 0], dimensions={"understandability": [1, 2, 1]})
    0.5
    """

    aliases = ("uRBPgr",)
    top_down = True
    properties = Properties(graded=True, recall_free=True, additive=True)
    dimension = "understandability"


@measure
class cRBP(_TwoDimensions):
    r"""Rank-biased precision in which only credible relevant documents count.

    .. math:: (1 - p) \sum_r p^{r-1}\, P(R \mid r)\, P(C \mid r)

    Credibility has its own judgments, the dimension of that name. Both are binary: 1 from grade `rel` on. With
    `graded=True` (cRBPgr) credibility is the grade divided by the largest. A document must be judged in both to count;
    a topic that is not judged in both is undefined.
    No relevant documents: 0.
    Reference: Goeuriot et al., Overview of the CLEF eHealth Evaluation Lab 2020, CLEF 2020

    >>> cRBP(p=0.5).of([1, 1, 0], dimensions={"credibility": [1, 0, 1]})
    0.5
    """

    aliases = ("cRBPgr",)
    top_down = True
    properties = Properties(graded=True, recall_free=True, additive=True)
    dimension = "credibility"


class OverDimensions(Measure):
    """The base class of means over dimensions of the scores of another measure, `inner`."""

    inner: Any = AP()
    weights: Any = ()

    needs = "dimensions"

    def normalised(self) -> dict[str, Any]:
        """A cutoff and views go to the inner measure: CAM(AP)@10 is CAM(AP@10).

        Views of ties stay, because documents are tied in all dimensions at once: MM(AP[ties]) is MM(AP)[ties].
        """
        inner = parse(self.inner) if isinstance(self.inner, str) else self.inner
        if isinstance(inner, type) and issubclass(inner, Measure):
            inner = inner()
        if not isinstance(inner, Measure):
            raise UsageError(f"{self.name}: inner == {self.inner!r}, must be a measure such as AP or nDCG@10")
        views = (*inner.views, *self.views)
        ties = tuple(view for view in views if isinstance(view, Ties))
        cutoff = inner.cutoff if self.cutoff is None else self.cutoff
        inner = inner.replace(cutoff=cutoff, views=tuple(view for view in views if view not in ties))
        try:
            weights = tuple((str(dimension), weight) for dimension, weight in dict(self.weights).items())
        except (TypeError, ValueError):
            raise UsageError(
                f"{self.name}: weights == {self.weights!r}, must be a table such as {{relevance: 3, credibility: 1}}"
            ) from None
        return {"inner": inner, "weights": weights, "cutoff": None, "views": ties}

    def check(self) -> None:
        if self.inner.needs == "dimensions":
            raise UsageError(f"{self.name}({self.inner}): {self.inner} uses several dimensions itself")
        for dimension, weight in self.weights:
            check.finite(self.name, **{f"weights[{dimension!r}]": weight})
            check.not_negative(self.name, **{f"weights[{dimension!r}]": weight})
        if self.weights and not any(weight for _, weight in self.weights):
            raise UsageError(f"{self.name}: all weights are 0, at least one must be above 0")

    def looks_at(self) -> frozenset[str]:
        return frozenset({"places", self.needs, *self.inner.looks_at()})

    def declares(self, default: Properties) -> Properties:
        """The properties of the inner measure that a mean keeps."""
        kept = ("graded", "recall_free", "low", "high", "better", "lengths")
        return default.replace(**{name: getattr(self.inner.properties, name) for name in kept})

    def shares(self, dimensions: Dimensions) -> dict[str, float]:
        """The weight of each dimension, as a fraction of their sum; dimensions with weight 0 are left out."""
        weights = dict(self.weights) if self.weights else dict.fromkeys(dimensions.names, 1.0)
        for name in weights:
            dimensions.column(name, f"{self.name}: weights")
        unweighted = [name for name in dimensions.names if name not in weights]
        if unweighted:
            raise UsageError(
                f"{self.name}: weights has {', '.join(weights)} but not {', '.join(unweighted)}; give a dimension "
                "weight 0 to leave it out"
            )
        total = sum(weights.values())
        return {name: weights[name] / total for name in dimensions.names if weights[name] > 0}

    def by_dimension(self, lists: Assessed, inner: Measure | None = None) -> dict[str, Array]:
        """The scores of the inner measure in each dimension with a weight; NaN if a topic is not judged in it."""
        dimensions = dimensions_of(lists, self.name)
        scores = {}
        for name in self.shares(dimensions):
            judged = dimensions.judged[dimensions.column(name, self.name)][lists.topic]
            scores[name] = np.where(judged, (inner or self.inner).evaluate(judged_in(lists, name)), np.nan)
        return scores

    @abstractmethod
    def score(self, lists: Assessed, inner: Measure | None = None) -> Array:
        """The scores, also with another measure inside."""

    def first_through(self, view: View) -> Self:
        """The inner measure reads through the view, because dimensions judge different documents."""
        return self.replace(inner=self.inner.first_through(view))

    def remarks(self, lists: Assessed) -> list[str]:
        """The score and weight of each dimension, for the first list."""
        shares = self.shares(dimensions_of(lists, self.name))
        return [
            f"{name}: {self.inner} {values[0]:.4f}, weight {shares[name]:.4f}"
            for name, values in self.by_dimension(lists).items()
        ]

    def note(self, lists: Assessed) -> str | None:
        return (
            None if lists.dimensions is None else method_note(f"dimensions: {', '.join(self.shares(lists.dimensions))}")
        )

    def __str__(self) -> str:
        weights = ",".join(f"{dimension}:{number(weight)}" for dimension, weight in self.weights)
        return f"{self.name}({self.inner.view(*self.views)}{f',weights={{{weights}}}' if weights else ''})"

    __repr__ = __str__


def judged_in(lists: Assessed, name: str) -> Assessed:
    """The same lists with the judgments of one dimension."""
    dimensions = dimensions_of(lists, "dimensions")
    if name == RELEVANCE:
        return lists

    def build() -> Assessed:
        return with_grades(lists, dimensions, dimensions.grade[dimensions.column(name, "dimensions")])

    return lists._once(("dimension", name), build)


def with_grades(lists: Assessed, dimensions: Dimensions, grade: Array) -> Assessed:
    """The same lists with other grades of the documents, one for each of `dimensions`; NaN is unjudged."""
    row, at = dimensions.hits(grade, lists.retrieved)
    known = ~np.isnan(grade)
    return lists.replace(
        row=row,
        rank=dimensions.rank[at],
        grade=grade[dimensions.document[at]],
        judged=Judged.of(dimensions.topic[known], grade[known], len(lists.topics)),
        set_of_row=lists.topic,
        tie_first=None if dimensions.tie_first is None else dimensions.tie_first[at],
        tie_last=None if dimensions.tie_last is None else dimensions.tie_last[at],
        place=None,
        document=None,
        dimensions=None,
    )


class _MeanOverDimensions(OverDimensions):
    """The base class of measures that average the scores of the inner measure in each dimension."""

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        dimensions = dimensions_of(lists, self.name)
        shares, scores = self.shares(dimensions), []
        for name in shares:
            judged = dimensions.judged[dimensions.column(name, self.name), lists.topic[0]]
            values = self.inner.evaluate_prefixes(judged_in(lists, name), ranks) if judged else np.nan
            scores.append(np.broadcast_to(values, ranks))
        return self.mean(np.stack(scores), np.array(list(shares.values()))[:, None])

    def score(self, lists: Assessed, inner: Measure | None = None) -> Array:
        values = np.stack(list(self.by_dimension(lists, inner).values()))
        shares = np.array(list(self.shares(dimensions_of(lists, self.name)).values()))
        return self.mean(values, shares[:, None])

    @abstractmethod
    def mean(self, values: Array, share: Array) -> Array:
        """One number per list, from values by dimension and list."""


@measure
class CAM(_MeanOverDimensions):
    r"""Convex aggregating measure: the weighted mean of another measure over the dimensions of relevance.

    .. math:: \sum_i \lambda_i M_i, \quad \sum_i \lambda_i = 1

    The other measure, `inner`, is written in brackets: CAM(AP), CAM(nDCG@10). The dimensions are the judgments, called
    relevance, and all further dimensions that are given. `weights` are divided by their sum:
    CAM(AP,weights={relevance:3,credibility:1}); by default all are equal. A topic that is not judged in all dimensions
    is undefined. Tied documents are in the same order in all dimensions, and `[ties=best]` is the best such order.
    No relevant documents: as for the inner measure; undefined if one dimension is.
    Reference: Lioma, Simonsen & Larsen, Evaluation Measures for Relevance and Credibility in Ranked Lists, ICTIR 2017

    >>> mostly_relevance = CAM("RR", weights={"relevance": 3, "credibility": 1})
    >>> mostly_relevance.of([1, 0], dimensions={"credibility": [0, 1]})
    0.875
    """

    properties = Properties()

    def evaluate(self, lists: Assessed) -> Array:
        if Ties("expected") in self.views:  # the mean of a sum is the sum of the means, exact if the inner measure is
            return self.score(lists, self.inner.view(*self.views))
        return super().evaluate(lists)

    def mean(self, values: Array, share: Array) -> Array:
        return np.asarray((values * share).sum(axis=0))


@measure
class MM(_MeanOverDimensions):
    r"""Multidimensional measure: the weighted harmonic mean of another measure over the dimensions of relevance.

    .. math:: \frac{1}{\sum_i w_i / M_i}, \quad \sum_i w_i = 1

    The other measure, `inner`, is written in brackets: MM(RBP), MM(nDCG@10). The dimensions and `weights` are as for
    CAM. The score is 0 if one of the dimensions scores 0: no dimension makes up for another.
    No relevant documents: as for the inner measure; undefined if one dimension is.
    Reference: Palotti, Zuccon & Hanbury, MM: A New Framework for Multidimensional Evaluation of Search Engines, CIKM
    2018

    >>> round(MM("RR").of([1, 0], dimensions={"credibility": [0, 1]}), 4)
    0.6667
    """

    properties = Properties()

    def mean(self, values: Array, share: Array) -> Array:
        if (values < 0).any():
            raise UsageError(f"{self}: a score is below 0; a harmonic mean needs scores of 0 or more")
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (share / values).sum(axis=0))


DISTANCES = ("euclidean", "manhattan", "chebyshev")
MOST_TUPLES = 1_000_000
"""The largest number of tuples of labels whose distances are computed."""


@measure
class TOMA(OverDimensions):
    r"""Total order multi-aspect: another measure, on grades that follow the distance to the best labels in all aspects.

    .. math:: d(t) = \left(\sum_i \left|w_i\,(t^*_i - t_i)\right|^q\right)^{1/q}

    A document has a tuple t of labels, one in each dimension; t* is the tuple of the largest labels. A tuple that is
    better in some dimensions and worse in others cannot be compared with another; the distance d to t* puts all tuples
    in order. `distance` is `"euclidean"` (q = 2), `"manhattan"` (q = 1) or `"chebyshev"` (the largest difference). With
    `grades="order"` the grade of a document is the number of the distances, of all possible tuples, that are longer
    than its own: 0 for the worst tuple, 1, 2, ... With `grades="distance"` it is the distance of the worst tuple minus
    its own. The other measure, `inner`, scores these grades: TOMA(nDCG@10), TOMA(AP(rel=3),distance="chebyshev").

    The dimensions are as for CAM. `weights` stretch them (by w_i, as given; by default 1), and weight 0 leaves a
    dimension out. Labels below 0 count as 0, and so does a dimension that does not judge a document which others judge.
    The possible tuples are those of the labels in the judgments and 0. These rules are ours where the paper leaves a
    choice. A topic that is not judged in all dimensions is undefined.
    No relevant documents: as for the inner measure.
    Reference: Maistro, Lima, Simonsen & Lioma, CIKM 2021, doi:10.1145/3459637.3482287

    >>> credible = [0, 2, 1]  # distances 2, 2 and √2: grades 2 + 2 + 3
    >>> TOMA("CG").of([2, 0, 1], dimensions={"credibility": credible})
    7.0
    """

    distance: str = "euclidean"
    grades: str = "order"

    properties = Properties(graded=True)

    def check(self) -> None:
        super().check()
        check.one_of(self.name, DISTANCES, distance=self.distance)
        check.one_of(self.name, ("order", "distance"), grades=self.grades)

    def _factors(self, dimensions: Dimensions) -> dict[str, float]:
        """The weight of each dimension that counts."""
        shares = self.shares(dimensions)
        return {name: float(dict(self.weights).get(name, 1.0)) for name in shares}

    def _distances(self, below: list[Array]) -> Array:
        """The distance to the best tuple, from the weighted differences in each dimension."""
        if self.distance == "euclidean":
            return np.asarray(np.sqrt(reduce(np.add, [difference**2 for difference in below])))
        return np.asarray(reduce(np.add if self.distance == "manhattan" else np.maximum, below))

    def grade_documents(self, dimensions: Dimensions) -> Array:
        """The grade of every document from its labels in all dimensions; NaN if none of them judges it."""
        factors = self._factors(dimensions)
        columns = [dimensions.column(name, self.name) for name in factors]
        labels = np.maximum(np.nan_to_num(dimensions.grade[columns]), 0.0)
        best = np.maximum(dimensions.largest[columns], 0.0)
        weights = np.array(list(factors.values()))
        distance = self._distances(list(weights[:, None] * (best[:, None] - labels)))
        if self.grades == "distance":
            grade = self._distances(list((weights * best)[:, None]))[0] - distance
        else:
            kinds = [distinct(np.append(row, [0.0, top])) for row, top in zip(labels, best, strict=True)]
            if np.prod([float(len(kind)) for kind in kinds]) > MOST_TUPLES:
                raise UsageError(f'{self}: more than {MOST_TUPLES:,} tuples of labels; give grades="distance"')
            tuples = np.meshgrid(*(w * (top - kind) for w, top, kind in zip(weights, best, kinds, strict=True)))
            levels = distinct(self._distances([axis.ravel() for axis in tuples]).round(9))
            grade = len(levels) - 1.0 - np.searchsorted(levels, distance.round(9))
        return np.where(np.isnan(dimensions.grade[columns]).all(axis=0), np.nan, grade)

    def read(self, lists: Assessed) -> Assessed:
        """The lists with these grades."""
        dimensions = dimensions_of(lists, self.name)

        def build() -> Assessed:
            return with_grades(lists, dimensions, self.grade_documents(dimensions))

        return lists._once((self.name, self.weights, self.distance, self.grades), build)

    def score(self, lists: Assessed, inner: Measure | None = None) -> Array:
        return self._defined(lists, (inner or self.inner).evaluate(self.read(lists)))

    def score_prefixes(self, lists: Assessed, ranks: int) -> Array:
        return self._defined(lists, self.inner.evaluate_prefixes(self.read(lists), ranks))

    def _defined(self, lists: Assessed, scores: Array) -> Array:
        dimensions = dimensions_of(lists, self.name)
        columns = [dimensions.column(name, self.name) for name in self._factors(dimensions)]
        judged = np.all(dimensions.judged[columns], axis=0)[lists.topic]
        return np.where(judged, scores, np.nan)

    def terms(self, lists: Assessed) -> Terms | None:
        return None if self.inner.views else self.inner.terms(self.read(lists))

    def remarks(self, lists: Assessed) -> list[str]:
        best = dimensions_of(lists, self.name)
        labels = [f"{name} {best.largest[best.column(name, self.name)]:g}" for name in self._factors(best)]
        return [f"the best labels are {', '.join(labels)}; grades follow the {self.distance} distance to them"]

    def __str__(self) -> str:
        written = super().__str__()
        for name in ("distance", "grades"):
            if (value := self.__dict__[name]) != self.parameters()[name]:
                written = f'{written[:-1]},{name}="{value}")'
        return written

    __repr__ = __str__
