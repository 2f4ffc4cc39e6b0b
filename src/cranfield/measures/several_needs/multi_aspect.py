"""Several aspects of relevance in one order: grades by the distance to the best labels, for any measure."""

from __future__ import annotations

from functools import reduce

import numpy as np

from cranfield import check
from cranfield.assessed.dimensions import Dimensions
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import distinct
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.several_needs.multidimensional import OverDimensions, dimensions_of, with_grades
from cranfield.types import Array

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
