"""Average precision with grades: two forms in which a better document counts more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, Terms, measure, normalised_unless_cut, number_tuple
from cranfield.measures.declarations import Norm
from cranfield.measures.gain import LINEAR, Gain, GainLike, gained
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
        return f"thresholds at grades 1 to {highest}, the largest in the judgments, are equally likely"
