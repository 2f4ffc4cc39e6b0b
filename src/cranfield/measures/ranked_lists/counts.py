"""Counts: numbers that describe a list or a topic and do not rate it."""

from __future__ import annotations

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.measures.base import Measure, Properties, Terms, divide, measure
from cranfield.measures.gain import num_retrieved, ones
from cranfield.types import Array


@measure
class NumRet(Measure):
    r"""The number of retrieved documents.

    .. math:: |\text{retrieved}|

    No relevant documents: the same count.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> NumRet().of([1, None, 0])
    3.0
    """

    aliases = ("num_ret",)
    top_down = True
    properties = Properties(recall_free=True, additive=True, high=np.inf, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        return num_retrieved(lists, self.k).copy()


@measure
class NumRel(Measure):
    r"""The number of relevant documents of the topic, retrieved or not.

    .. math:: R

    No relevant documents: 0.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> NumRel().of([1, 0], missed=[2])
    2.0
    """

    rel: float = 1

    aliases = ("num_rel",)
    cutoff_kind = "none"
    top_down = True
    properties = Properties(additive=True, high=np.inf, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        return lists.num_rel(self.rel).copy()


@measure
class NumRelRet(Measure):
    r"""The number of relevant documents that were retrieved.

    .. math:: C(l)

    No relevant documents: 0.
    Reference: Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation in IR, 2005

    >>> NumRelRet().of([1, 0, 2], missed=[1])
    2.0
    """

    rel: float = 1

    aliases = ("num_rel_ret",)
    top_down = True
    properties = Properties(recall_free=True, additive=True, high=np.inf, scale="ratio")

    def terms(self, lists: Assessed) -> Terms:
        hits = lists.relevant(self.rel, self.k)
        return Terms(hits, ones(hits), 1.0, {"relevant": ones(hits)})


@measure
class Judged(Measure):
    r"""The fraction of the retrieved documents that is judged.

    .. math:: \frac{|\text{judged} \cap \text{retrieved}|}{|\text{retrieved}|}

    `@l` counts the first `l` documents, or all if fewer were retrieved. A negative grade is not a judgment: the
    document was in the pool, but not judged.
    Nothing retrieved: undefined. No relevant documents: the same fraction.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> (Judged @ 2).of([1, None, 0])
    0.5
    """

    top_down = True
    properties = Properties(recall_free=True, additive=True, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        return divide(lists.relevant(0, self.k).count, num_retrieved(lists, self.k))


@measure
class Unjudged(Measure):
    r"""The fraction of the retrieved documents that is not judged.

    .. math:: 1 - \text{Judged}

    `@l` counts the first `l` documents, or all if fewer were retrieved. A negative grade is not a judgment: the
    document was in the pool, but not judged.
    Nothing retrieved: undefined. No relevant documents: the same fraction.
    Reference: Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756

    >>> (Unjudged @ 2).of([1, None, 0])
    0.5
    """

    top_down = True
    properties = Properties(recall_free=True, additive=True, better="neither", scale="ratio")

    def score(self, lists: Assessed) -> Array:
        retrieved = num_retrieved(lists, self.k)
        return divide(retrieved - lists.relevant(0, self.k).count, retrieved)
