"""Relevant or not against retrieved or not: the table of both, and measures that look at the whole collection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, divide, measure
from cranfield.measures.retrieved import num_retrieved
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Confusion:
    """The contingency table of every list: one number per list (row) in each cell.

    `true_negative` is None when the collection size is not known.
    """

    true_positive: Array
    false_positive: Array
    false_negative: Array
    true_negative: Array | None = None

    def __repr__(self) -> str:
        cells = {name: value for name, value in vars(self).items() if value is not None}
        return f"Confusion({', '.join(f'{name}={value.tolist()}' for name, value in cells.items())})"


def confusion(lists: Assessed, rel: float = 1, N: int | None = None, cutoff: int | None = None) -> Confusion:
    """Relevant or not against retrieved or not, for every list (confusion matrix); `N` is the size of the collection.

    >>> confusion(Assessed.one([1, 0, None], missed=[1]), N=10)
    Confusion(true_positive=[1.0], false_positive=[2.0], false_negative=[1.0], true_negative=[6.0])
    """
    found = lists.relevant(rel, cutoff).count
    others, missed = num_retrieved(lists, cutoff) - found, lists.num_rel(rel) - found
    if N is None:
        return Confusion(found, others, missed)
    check.positive("confusion", N=N)
    rest = N - found - others - missed
    if len(rest) and rest.min() < -1e-6:  # over tied documents the counts are means: a last bit can be off
        at_least = int(N - rest.min())
        raise UsageError(f"N == {N}, but a topic has {at_least} documents retrieved or relevant; give the whole size")
    return Confusion(found, others, missed, np.maximum(rest, 0.0))


class _OfCollection(Measure):
    """Measures that also look at what is neither relevant nor retrieved, so they need the size of the collection."""

    def table(self, lists: Assessed, rel: float, N: int | None) -> tuple[Array, Array, Array, Array]:
        if N is None:
            raise UsageError(
                f"{self.name} needs the number of documents in the collection: write {self.name}(N=528155)"
                + (" (ir_measures' measure of this name is another one)" if self.name == "Accuracy" else "")
            )
        cells = confusion(lists, rel, N, self.k)
        assert cells.true_negative is not None
        return cells.true_positive, cells.false_positive, cells.false_negative, cells.true_negative


def _check_size(who: str, N: int | None) -> None:
    if N is not None:
        check.finite(who, N=N)
        check.positive(who, N=N)


@measure
class Accuracy(_OfCollection):
    r"""The share of all documents in the collection that is rightly retrieved or rightly left out.

    .. math:: \frac{TP + TN}{N}

    `N`, the size of the collection, must be given. Nearly 1 for any run on any large collection.
    No relevant documents: the share that is rightly left out.
    Reference: Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, chapter 8

    >>> Accuracy(N=10).of([1, 0, 0], missed=[1])
    0.7
    """

    N: int | None = None
    rel: float = 1

    properties = Properties(additive=True, scale="interval")

    def check(self) -> None:
        _check_size(self.name, self.N)

    def score(self, lists: Assessed) -> Array:
        tp, fp, fn, tn = self.table(lists, self.rel, self.N)
        return divide(tp + tn, tp + fp + fn + tn)


@measure
class Fallout(_OfCollection):
    r"""False positive rate: the share of the collection's non-relevant documents that was retrieved; lower is better.

    .. math:: \frac{FP}{FP + TN}

    `N`, the size of the collection, must be given.
    No relevant documents: the share of the collection that was retrieved.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> Fallout(N=10).of([1, 0, 0], missed=[1])
    0.25
    """

    N: int | None = None
    rel: float = 1

    properties = Properties(additive=True, better="lower", scale="interval")

    def check(self) -> None:
        _check_size(self.name, self.N)

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists, self.rel, self.N)
        return divide(fp, fp + tn)


@measure
class Specificity(_OfCollection):
    r"""True negative rate: the share of the collection's non-relevant documents that was left out.

    .. math:: \frac{TN}{FP + TN}

    `N`, the size of the collection, must be given.
    No relevant documents: the share of the collection that was left out.
    Reference: Fawcett, Pattern Recognition Letters 27(8), 2006, doi:10.1016/j.patrec.2005.10.010

    >>> Specificity(N=10).of([1, 0, 0], missed=[1])
    0.75
    """

    N: int | None = None
    rel: float = 1

    properties = Properties(additive=True, scale="interval")

    def check(self) -> None:
        _check_size(self.name, self.N)

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists, self.rel, self.N)
        return divide(tn, fp + tn)
