"""NTCIR's measures for a reader who stops at a satisfying document, with probability g / (highest gain + 1)."""

from __future__ import annotations

import numpy as np

from cranfield import check
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.measures.base import Measure, Properties, Terms, measure
from cranfield.measures.declarations import NotNegative, Persistence, Positive
from cranfield.measures.gain import LINEAR, Gain, GainLike
from cranfield.measures.ranked_lists.first import highest_grade, note_max_grade, stopping
from cranfield.measures.ranked_lists.ranked import LARGEST, Q, largest_gain_of_topics
from cranfield.types import Array


class _Satisfied(Measure):
    """The base class: a relevant document with gain g satisfies with probability g / (the highest gain + 1)."""

    gain: GainLike = LINEAR
    rel: float = 1
    max_grade: Positive | None = None
    largest: str = "judgments"

    def check(self) -> None:
        check.one_of(self.name, LARGEST, largest=self.largest)

    def stops(self, lists: Assessed) -> tuple[Hits, dict[str, Array]]:
        """The relevant documents, and the share of readers who stop at each."""
        hits, gain = lists.relevant(self.rel, self.k), Gain.of(self.gain)
        highest: Array | float = gain.most(highest_grade(self.name, self.max_grade, lists))
        if self.largest == "topic":
            highest = largest_gain_of_topics(lists, gain)[hits.row]
        return hits, stopping(hits, gain(hits.grade) / (highest + 1.0))

    def note(self, lists: Assessed) -> str | None:
        return note_max_grade(self.max_grade, lists) if self.largest == "judgments" else None


@measure
class EBR(_Satisfied):
    r"""Expected blended ratio: the blended ratio at the document that satisfies a reader who goes down the list.

    .. math:: \sum_r BR(r)\, p_r \prod_{k<r}(1 - p_k), \qquad p_r = \frac{g(r)}{g_{\max} + 1}

    BR(r) and `beta` are as for Q; it is ERR with the blended ratio instead of 1/r. g_max is the gain of `max_grade`, by
    default the largest in the judgments; `largest="topic"` takes the largest of each topic, as NTCIREVAL does for
    global gains (D-EBR).
    No relevant documents: 0.
    Reference: Sakai & Zeng, Retrieval Evaluation Measures that Agree with Users' SERP Preferences, TOIS 39(2), 2020,
    doi:10.1145/3431813

    >>> EBR().of([1, 0, 1])  # 1/2 · 1 + 1/4 · (2 + 2)/(3 + 2)
    0.7
    """

    beta: NotNegative = 1

    top_down = True
    properties = Properties(graded=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, columns = self.stops(lists)
        ratio = Q(beta=self.beta, rel=self.rel, gain=self.gain, cutoff=self.cutoff).terms(lists).adds
        return Terms(hits, ratio * columns["stops here"], 1.0, {**columns, "blended ratio": ratio})


@measure
class iRBU(_Satisfied):
    r"""Intentwise rank-biased utility: how early a reader is satisfied, with a weight that falls with the rank.

    .. math:: \sum_r p^r\, p_r \prod_{k<r}(1 - p_k), \qquad p_r = \frac{g(r)}{g_{\max} + 1}

    `p` is the persistence; `gain`, `max_grade` and `largest` are as for EBR. It is RBU of one intent without effort.
    No relevant documents: 0.
    Reference: Sakai & Zeng, Retrieval Evaluation Measures that Agree with Users' SERP Preferences, TOIS 39(2), 2020,
    doi:10.1145/3431813

    >>> iRBU(p=0.5).of([1, 0, 1])  # 1/2 · 1/2 + 1/8 · 1/4
    0.28125
    """

    p: Persistence = 0.99

    top_down = True
    properties = Properties(graded=True, recall_free=True, diminishing=True)

    def terms(self, lists: Assessed) -> Terms:
        hits, columns = self.stops(lists)
        weight = np.asarray(self.p**hits.rank, dtype=np.float64)
        return Terms(hits, weight * columns["stops here"], 1.0, {**columns, "weight": weight})
