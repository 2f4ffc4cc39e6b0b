"""Sets, within the whole collection: the confusion matrix, and measures that need the size of the collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.topic_numbers import numbers_of_topics
from cranfield.errors import UsageError
from cranfield.measures.base import Measure, Properties, divide, measure
from cranfield.measures.declarations import Whole
from cranfield.measures.gain import num_retrieved
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Confusion:
    """The confusion matrix of every list: each cell is an array with one number per list (row).

    `true_negative` is None if the size of the collection is unknown.
    """

    true_positive: Array
    false_positive: Array
    false_negative: Array
    true_negative: Array | None = None

    def __repr__(self) -> str:
        cells = {name: value for name, value in vars(self).items() if value is not None}
        return f"Confusion({', '.join(f'{name}={value.tolist()}' for name, value in cells.items())})"


def collection_size(caller: str, lists: Assessed, N: int | None) -> Array | None:
    """The size of the collection for each list, from the parameter or the table of topics; None if neither gives it."""
    return numbers_of_topics(lists, "N", caller) if N is None else np.full(lists.rows, float(N))


def confusion(lists: Assessed, rel: float = 1, N: int | Array | None = None, cutoff: int | None = None) -> Confusion:
    """The confusion matrix (relevant or not, retrieved or not) of every list.

    `N` is the size of the collection: one number, or one per list.

    >>> confusion(Assessed.one([1, 0, None], missed=[1]), N=10)
    Confusion(true_positive=[1.0], false_positive=[2.0], false_negative=[1.0], true_negative=[6.0])
    """
    true_positive = lists.relevant(rel, cutoff).count
    false_positive, missed = num_retrieved(lists, cutoff) - true_positive, lists.num_rel(rel) - true_positive
    if N is None:
        return Confusion(true_positive, false_positive, missed)
    sizes = np.broadcast_to(np.asarray(N, dtype=np.float64), lists.rows)
    check.positive("confusion", N=float(sizes.min(initial=np.inf)))
    rest = sizes - true_positive - false_positive - missed
    if len(rest) and rest.min() < -1e-6:  # the counts are means over tied documents: the last bit can be off
        worst = int(rest.argmin())
        topic = "" if np.ndim(N) == 0 else lists.topics[lists.topic[worst]]
        raise collection_too_small(int(sizes[worst]), int(sizes[worst] - rest[worst]), topic)
    return Confusion(true_positive, false_positive, missed, np.maximum(rest, 0.0))


def collection_too_small(N: int, documents: int, topic: str = "") -> UsageError:
    which = f"topic {topic!r}" if topic else "a topic"
    return UsageError(
        f"N == {N}, but {which} has {documents} documents retrieved or relevant; give the size of the whole collection"
    )


class _OfCollection(Measure):
    """The base class of measures that count documents neither relevant nor retrieved."""

    N: Whole | None = None
    rel: float = 1

    another: ClassVar[str] = ""
    """A warning about another measure of the same name."""

    def table(self, lists: Assessed) -> tuple[Array, Array, Array, Array]:
        sizes = collection_size(self.name, lists, self.N)
        if sizes is None:
            needs = f"{self.name} needs the number of documents in the collection: write {self.name}(N=528155)"
            raise UsageError(f"{needs}, or give topic_numbers=, a file with lines of topic and N{self.another}")
        cells = confusion(lists, self.rel, sizes if self.N is None else self.N, self.k)
        assert cells.true_negative is not None
        return cells.true_positive, cells.false_positive, cells.false_negative, cells.true_negative


@measure
class Accuracy(_OfCollection):
    r"""Accuracy: the fraction of the collection that is relevant and retrieved, or neither.

    .. math:: \frac{TP + TN}{N}

    `N`, the size of the collection, must be given; it can differ by topic, in a table of topics (`topic_numbers`). The
    score is close to 1 for any run on a large collection.
    No relevant documents: the fraction of the collection that was not retrieved.
    Reference: Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, chapter 8

    >>> Accuracy(N=10).of([1, 0, 0], missed=[1])
    0.7
    """

    another = " (ir_measures has a different measure of this name)"
    top_down = True
    properties = Properties(additive=True, scale="interval")

    def score(self, lists: Assessed) -> Array:
        tp, fp, fn, tn = self.table(lists)
        return divide(tp + tn, tp + fp + fn + tn)


@measure
class Fallout(_OfCollection):
    r"""False positive rate: the fraction of the non-relevant documents that was retrieved; lower is better.

    .. math:: \frac{FP}{FP + TN}

    `N`, the size of the collection, must be given; it can differ by topic, in a table of topics (`topic_numbers`).
    No relevant documents: the fraction of the collection that was retrieved.
    Reference: Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966

    >>> Fallout(N=10).of([1, 0, 0], missed=[1])
    0.25
    """

    top_down = True
    properties = Properties(additive=True, better="lower", scale="interval", step="relevant")

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists)
        return divide(fp, fp + tn)


@measure
class Specificity(_OfCollection):
    r"""True negative rate: the fraction of the non-relevant documents that was not retrieved.

    .. math:: \frac{TN}{FP + TN}

    `N`, the size of the collection, must be given; it can differ by topic, in a table of topics (`topic_numbers`).
    No relevant documents: the fraction of the collection that was not retrieved.
    Reference: Fawcett, Pattern Recognition Letters 27(8), 2006, doi:10.1016/j.patrec.2005.10.010

    >>> Specificity(N=10).of([1, 0, 0], missed=[1])
    0.75
    """

    top_down = True
    properties = Properties(additive=True, scale="interval", step="relevant")

    def score(self, lists: Assessed) -> Array:
        _, fp, _, tn = self.table(lists)
        return divide(tn, fp + tn)
