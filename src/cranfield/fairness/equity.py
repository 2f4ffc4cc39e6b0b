"""Equity of attention: compare attention with relevance over a sequence of rankings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.qrels import Qrels
from cranfield.fairness.attention import GEOMETRIC, Attention, rankings_of
from cranfield.fairness.groups import Groups
from cranfield.record import Shown
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class EquityOfAttention(Shown):
    """The attention that documents or groups received and deserved over a sequence of rankings."""

    subjects: tuple[str, ...]
    """Documents, or groups if groups were given."""
    attention: Array
    """The attention that each subject received."""
    relevance: Array
    """The attention that each subject deserved."""
    steps: tuple[tuple[str, float], ...]
    """(topic, unfairness so far) after each ranking."""
    left_out: tuple[str, ...]
    """Topics without relevant documents, or without any document shown."""

    @cached_property
    def unfairness(self) -> float:
        """The sum of absolute differences between received and deserved attention; 0 is fair."""
        return float(np.abs(self.attention - self.relevance).sum())

    def columns(self) -> dict[str, NDArray[Any]]:
        subjects = np.array(self.subjects, dtype=object)
        return {"subject": subjects, "attention": self.attention, "relevance": self.relevance}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        pairs = zip(self.subjects, self.attention.tolist(), self.relevance.tolist(), strict=True)
        return {
            "unfairness": self.unfairness,
            "steps": [{"topic": topic, "unfairness": value} for topic, value in self.steps],
            "left_out": list(self.left_out),
            "subjects": {subject: {"attention": a, "relevance": r} for subject, a, r in pairs},
        }


def equity_of_attention(
    qrels: Any, rankings: Any, groups: Any = None, *, attention: Attention = GEOMETRIC
) -> EquityOfAttention:
    r"""Sum up attention and relevance over a sequence of rankings, and return how far they are apart.

    .. math:: \sum_i \lvert A_i - R_i \rvert, \quad A_i = \sum_j a_i^j, \quad R_i = \sum_j r_i^j

    In each ranking j the attention sums to 1. So does relevance: the grades above 0 of the topic, divided by their sum.
    The sequence follows the order of `rankings`: topic by topic, and within a topic one ranking after the other. A
    ranking is left out if its topic has no relevant documents, or if no document of it gets attention.

    Reference: Biega, Gummadi & Weikum, Equity of Attention: Amortizing Individual Fairness in Rankings, SIGIR 2018

    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> equity = equity_of_attention(qrels, {"q1": [["d1", "d2"], ["d2", "d1"]]}, attention=Attention(cutoff=1))
    >>> equity.steps
    (('q1', 1.0), ('q1', 0.0))
    """
    grades = Qrels.of(qrels).to_dict()
    shown = rankings_of(rankings)
    table = None if groups is None else Groups.of(groups)
    worth = {topic: {doc: float(g) for doc, g in grades.get(topic, {}).items() if g > 0} for topic in shown}
    docs = list(dict.fromkeys(doc for topic, lists in shown.items() for part in [worth[topic], *lists] for doc in part))
    place = {doc: i for i, doc in enumerate(docs)}
    subjects = tuple(docs) if table is None else table.names
    received, deserved = np.zeros(len(subjects)), np.zeros(len(subjects))

    def add(total: Array, shares: Array, documents: list[str]) -> None:
        if table is None:
            total[[place[doc] for doc in documents]] += shares
        else:
            total += shares @ table.of_documents(documents)

    steps: list[tuple[str, float]] = []
    left_out: dict[str, None] = {}
    for topic, lists in shown.items():
        merit = np.array(list(worth[topic].values()))
        for ranking in lists:
            weight = attention.of(np.array([doc in worth[topic] for doc in ranking], dtype=bool))
            if not len(merit) or weight.sum() == 0:
                left_out[topic] = None
                continue
            add(received, weight / weight.sum(), ranking)
            add(deserved, merit / merit.sum(), list(worth[topic]))
            steps.append((topic, float(np.abs(received - deserved).sum())))
    return EquityOfAttention(subjects, received, deserved, tuple(steps), tuple(left_out))
