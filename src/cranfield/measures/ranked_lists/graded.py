"""Average precision with grades: forms in which a better document counts more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure, normalised_unless_cut, number_tuple
from cranfield.measures.declarations import Norm, NotNegative
from cranfield.measures.gain import LINEAR, Gain, GainLike, gained
from cranfield.measures.ranked_lists.ranked import normaliser
from cranfield.notes import method_note
from cranfield.types import Array


@measure
class gAP(Measure):
    r"""Generalised average precision: the mean gain down to each relevant document, divided by the ideal list's.

    .. math:: \frac{\sum_r I(r)\,cg(r)/r}{\sum_r I^*(r)\,cg^*(r)/r}

    A document with a gain above 0 is relevant. It is AP if all of them gain the same. `@l` stops at rank l and still
    divides by the whole ideal list, like AP; `norm="min"` cuts the ideal list too.
    No relevant documents: undefined.
    Reference: Kishida, Property of Average Precision and its Generalization, NII Technical Report NII-2005-014E, 2005

    >>> gAP().of([1, 3])
    0.6
    """

    gain: GainLike = LINEAR
    norm: Norm = "R"

    top_down = True
    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def terms(self, lists: Assessed) -> Terms:
        gain = Gain.of(self.gain)
        hits, gains = gained(lists, gain, self.k)
        so_far = hits.running(gains)
        ideal, depth = lists.ideal(gain), self.k if self.norm == "min" else None
        best = lists._once(
            ("ideal mean gain", gain, depth),
            lambda: ideal.best_sum(
                ideal.hits.running(ideal.gain) / ideal.hits.rank, depth, lambda before, after, rank: after / rank
            ),
        )
        mean = np.where(gains > 0, so_far / hits.rank, 0.0)
        return Terms(hits, mean, best, {"gain": gains, "cg": so_far, "mean gain": mean})


@dataclass(frozen=True)
class _Acceptance:
    """The probability that a reader accepts a grade as relevant: that the reader's threshold is not higher."""

    g: tuple[float, ...] | None
    highest: float

    def __call__(self, grade: Array) -> Array:
        level = np.floor(np.maximum(grade, 0.0))  # thresholds are whole grades: a reader who accepts 1 accepts 1.5
        if self.g is None:
            return level / (self.highest or 1.0)
        return np.concatenate(([0.0], np.cumsum(self.g)))[level.astype(np.int64)]


@measure
class GAP(Measure):
    r"""Graded average precision: AP for readers who differ in the lowest grade that they accept as relevant.

    .. math::
        \frac{\sum_r \frac{1}{r}\sum_{k \le r}\sum_{j=1}^{\min(i_k, i_r)} g_j}{\sum_{i=1}^{c} R_i \sum_{j=1}^{i} g_j}
        = \frac{\sum_j g_j\,R_{\ge j}\,AP_{\ge j}}{\sum_j g_j\,R_{\ge j}}

    i_r is the grade at rank r, R_i the number of documents of grade i; `g` are the probabilities that grade 1, 2, ... c
    is the lowest accepted grade, for instance `[0.5, 0.3, 0.2]`. By default all grades from 1 to the highest in the
    judgments are equally likely. With one threshold, `g=[0, 1]`, this is AP(rel=2). `@l` stops at rank l and still
    divides by all documents, like AP; `norm="min"` cuts the ideal list too.
    No relevant documents: undefined.
    Reference: Robertson, Kanoulas & Yilmaz, SIGIR 2010, doi:10.1145/1835449.1835550

    >>> GAP().of([1, 2])
    0.8333333333333334
    """

    g: Sequence[float] | None = None
    norm: Norm = "R"

    top_down = True
    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def normalised(self) -> dict[str, Any]:
        return {"g": number_tuple(self.g)}

    def check(self) -> None:
        if self.g is None:
            return
        if not isinstance(self.g, tuple) or not self.g:
            raise UsageError(f"GAP: g == {self.g!r}, must be probabilities of grade 1, 2, ... such as [0.5, 0.5]")
        for probability in self.g:
            check.finite(self.name, g=probability)
            check.not_negative(self.name, g=probability)
        if not math.isclose(sum(self.g), 1, abs_tol=1e-6):
            raise UsageError(f"GAP: g == {list(self.g)!r} adds up to {sum(self.g):g}, must add up to 1")

    def acceptance(self, lists: Assessed) -> _Acceptance:
        highest = math.floor(lists.max_grade)
        if self.g is not None and highest > len(self.g):
            raise UsageError(
                f"GAP: g has probabilities for {len(self.g)} grades, but the judgments go up to {highest}; add them"
            )
        return _Acceptance(None if self.g is None else tuple(self.g), highest)

    def terms(self, lists: Assessed) -> Terms:
        acceptance = self.acceptance(lists)
        hits = lists.relevant(1, self.k)
        levels = np.unique(np.floor(lists.judged.grade[lists.judged.grade >= 1]))
        count = np.zeros(len(hits))  # of documents down to each hit that readers who accept the hit accept, on average
        for level, share in zip(levels, np.diff(acceptance(levels), prepend=0.0), strict=True):
            accepted = hits.grade >= level
            count += share * np.where(accepted, hits.running(accepted), 0.0)
        ideal, depth = lists.ideal(acceptance), self.k if self.norm == "min" else None
        columns = {"taken by": acceptance(hits.grade), "expected precision": count / hits.rank}
        return Terms(hits, count / hits.rank, ideal.sum(ideal.gain, depth), columns)

    def note(self, lists: Assessed) -> str | None:
        if self.g is not None:
            return None
        highest = math.floor(lists.max_grade)
        return method_note(f"thresholds at grades 1 to {highest}, the largest in the judgments, are equally likely")


@dataclass(frozen=True)
class FromGrade:
    """A gain that is 0 for grades below `rel`."""

    gain: Gain
    rel: float

    def __call__(self, grade: Array) -> Array:
        return np.where(grade >= self.rel, self.gain(grade), 0.0)


class _Blended(Measure):
    """The base class of Q and R-measure: gains of the relevant documents, and the ideal list with these gains."""

    beta: NotNegative = 1
    rel: float = 1
    gain: GainLike = LINEAR

    def declares(self, default: Properties) -> Properties:
        return default.replace(graded=self.beta > 0)

    def blend(self, lists: Assessed) -> tuple[Hits, Array, FromGrade]:
        from_grade = FromGrade(Gain.of(self.gain), 0 if lists.every_gain_counts else self.rel)
        hits = lists.relevant(self.rel, self.k)
        return hits, lists._once(("relevant gain", from_grade, self.k), lambda: from_grade(hits.grade)), from_grade


@measure
class Q(_Blended):
    r"""Q-measure: average precision with the blended ratio instead of precision, so that grades count.

    .. math:: \frac{1}{R}\sum_r I(r)\,BR(r), \qquad BR(r) = \frac{C(r) + \beta\,cg(r)}{r + \beta\,cg^*(r)}

    The larger `beta`, the less a late rank costs; `beta=0` is AP. `@l` divides by min(l, R), as
    Sakai does, also in D-Q@l and DIN-Q@l; `norm="R"` divides by R, like AP@l.
    No relevant documents: undefined.
    Reference: Sakai, Information Processing & Management 43(2), 2007, doi:10.1016/j.ipm.2006.07.020

    >>> Q().of([1, 2])
    0.8333333333333333
    """

    norm: Norm = "min"

    aliases = ("Q-measure", "Qmeasure")
    top_down = True
    properties = normalised_unless_cut(Properties(graded=True, normalised=True))

    def terms(self, lists: Assessed) -> Terms:
        hits, gains, from_grade = self.blend(lists)
        so_far = hits.running(gains)
        best = lists._once(
            ("ideal cg at hits", from_grade, self.k), lambda: lists.ideal(from_grade).cumulative(hits.row, hits.rank)
        )
        ratio = (hits.nth + self.beta * so_far) / (hits.rank + self.beta * best)
        columns = {"gain": gains, "cg": so_far, "ideal cg": best, "blended ratio": ratio}
        return Terms(hits, ratio, normaliser(lists.num_rel(self.rel), self.k, self.norm), columns)

    def note(self, lists: Assessed) -> str | None:
        if self.k is None or self.norm == "R" or not (lists.num_rel(self.rel) > self.k).any():
            return None
        return f'Q@{self.k} divides by min({self.k}, R), AP@{self.k} by R; to divide by R: Q(norm="R")@{self.k}'


@measure
class Rmeasure(_Blended):
    r"""R-measure: the blended ratio at rank R, the number of relevant documents.

    .. math:: BR(R) = \frac{C(R) + \beta\,cg(R)}{R + \beta\,cg^*(R)}

    `beta` is as for Q. The score is 1 if the first R documents are all relevant, in any order.
    No relevant documents: undefined.
    Reference: Sakai, Information Processing & Management 43(2), 2007, doi:10.1016/j.ipm.2006.07.020

    >>> Rmeasure().of([1, 0, 2])
    0.4
    """

    aliases = ("R-measure",)
    cutoff_kind = "none"
    top_down = True
    properties = Properties(graded=True, normalised=True, additive=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, gains, from_grade = self.blend(lists)
        ideal, relevant = lists.ideal(from_grade), lists.num_rel(self.rel)
        inside = np.flatnonzero(hits.rank <= relevant[hits.row])
        gains = gains[inside]
        over = relevant + self.beta * lists._once(("ideal cg", from_grade, None), lambda: ideal.sum(ideal.gain))
        return Terms(hits.at(inside), 1.0 + self.beta * gains, over, {"gain": gains})
