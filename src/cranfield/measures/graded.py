"""Average precision for graded judgments: two ways to let a better document count more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure, normalised_unless_cut
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.retrieved import gained
from cranfield.types import Array


@measure
class gAP(Measure):
    r"""Generalised average precision: the mean gain down to each relevant document, as a share of the ideal list's.

    .. math:: \frac{\sum_r I(r)\,cg(r)/r}{\sum_r I^*(r)\,cg^*(r)/r}

    A document is relevant where it gains something; AP where all of them gain the same. `@l` stops at rank l and still
    divides by the whole ideal list, as AP does; `norm="min"` cuts the ideal list too.
    No relevant documents: undefined.
    Reference: Kishida, Property of Average Precision and its Generalization, NII Technical Report NII-2005-014E, 2005

    >>> gAP().of([1, 3])
    0.6
    """

    gain: GainLike = LINEAR
    norm: str = "R"

    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def check(self) -> None:
        check.one_of(self.name, ("R", "min"), norm=self.norm)

    def terms(self, lists: Assessed) -> Terms:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        so_far = hits.running(gains)
        ideal, deep = lists.ideal(gain), self.k if self.norm == "min" else None
        best = lists._once(
            ("ideal mean gain", gain, deep),
            lambda: ideal.sum(ideal.hits.running(ideal.gain) / ideal.hits.rank, deep),
        )
        mean = np.where(gains > 0, so_far / hits.rank, 0.0)
        return Terms(hits, mean, best, {"gain": gains, "cg": so_far, "mean gain": mean})


@dataclass(frozen=True)
class _Takes:
    """The chance that a reader takes a grade for relevant: that the lowest grade this reader accepts is no higher."""

    g: tuple[float, ...] | None
    highest: float

    def __call__(self, grade: Array) -> Array:
        level = np.floor(np.maximum(grade, 0.0))  # the thresholds are whole grades: 1.5 is taken by whoever takes 1
        if self.g is None:
            return level / (self.highest or 1.0)
        return np.concatenate(([0.0], np.cumsum(self.g)))[level.astype(np.int64)]


@measure
class GAP(Measure):
    r"""Graded average precision: AP for readers who differ in the lowest grade they take for relevant.

    .. math::
        \frac{\sum_r \frac{1}{r}\sum_{k \le r}\sum_{j=1}^{\min(i_k, i_r)} g_j}{\sum_{i=1}^{c} R_i \sum_{j=1}^{i} g_j}
        = \frac{\sum_j g_j\,R_{\ge j}\,AP_{\ge j}}{\sum_j g_j\,R_{\ge j}}

    i_r is the grade at rank r, R_i the number of documents of grade i; `g` gives the probabilities that grade 1, 2, ...
    c is the lowest one accepted, for instance `[0.5, 0.3, 0.2]`. By default all grades from 1 to the highest in the
    judgments are equally likely. With one threshold, `g=[0, 1]`, this is AP(rel=2). `@l` stops at rank l and still
    divides by all documents, as AP does; `norm="min"` cuts the ideal list too.
    No relevant documents: undefined.
    Reference: Robertson, Kanoulas & Yilmaz, SIGIR 2010, doi:10.1145/1835449.1835550

    >>> GAP().of([1, 2])
    0.8333333333333334
    """

    g: Sequence[float] | None = None
    norm: str = "R"

    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def check(self) -> None:
        check.one_of(self.name, ("R", "min"), norm=self.norm)
        if self.g is None:
            return
        try:
            chances = tuple(self.g)
        except TypeError:
            chances = ()
        if not chances:
            raise UsageError(f"GAP: g == {self.g!r}, must be probabilities of grade 1, 2, ... such as [0.5, 0.5]")
        for chance in chances:
            check.finite(self.name, g=chance)
            check.not_negative(self.name, g=chance)
        if not math.isclose(sum(chances), 1, abs_tol=1e-6):
            raise UsageError(f"GAP: g == {list(chances)!r} adds up to {sum(chances):g}, must add up to 1")
        object.__setattr__(self, "g", tuple(float(chance) for chance in chances))

    def takes(self, lists: Assessed) -> _Takes:
        highest = math.floor(lists.max_grade)
        if self.g is not None and highest > len(self.g):
            raise UsageError(
                f"GAP: g has probabilities for {len(self.g)} grades, but the judgments go up to {highest}; add them"
            )
        return _Takes(None if self.g is None else tuple(self.g), highest)

    def terms(self, lists: Assessed) -> Terms:
        takes = self.takes(lists)
        hits = lists.relevant(1, self.k)
        levels = np.unique(np.floor(lists.judged.grade[lists.judged.grade >= 1]))
        agreed = np.zeros(len(hits))
        for level, share in zip(levels, np.diff(takes(levels), prepend=0.0), strict=True):
            taken = hits.grade >= level
            agreed += share * np.where(taken, hits.running(taken), 0.0)
        ideal, deep = lists.ideal(takes), self.k if self.norm == "min" else None
        columns = {"taken by": takes(hits.grade), "expected precision": agreed / hits.rank}
        return Terms(hits, agreed / hits.rank, ideal.sum(ideal.gain, deep), columns)

    def note(self, lists: Assessed) -> str | None:
        if self.g is not None:
            return None
        return f"thresholds are equally likely at the grades 1 to {math.floor(lists.max_grade)}, the largest there is"
