"""Attention over a sequence of rankings, against what relevance deserves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.qrels import Qrels
from cranfield.fairness.attention import GEOMETRIC, Attention, rankings_of
from cranfield.fairness.groups import Groups
from cranfield.frames import Tidy
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class EquityOfAttention(Tidy):
    """What documents, or groups of them, got and deserved over a sequence of rankings."""

    subjects: tuple[str, ...]
    """Documents, or groups where groups were given."""
    attention: Array
    """What each subject got."""
    relevance: Array
    """What each subject deserved."""
    steps: tuple[tuple[str, float], ...]
    """(topic, unfairness so far) after each ranking of the sequence."""
    left_out: tuple[str, ...]
    """Topics that nothing is relevant to or nothing was shown for."""

    @cached_property
    def unfairness(self) -> float:
        """The sum of all differences between what was got and deserved; 0 is fair."""
        return float(np.abs(self.attention - self.relevance).sum())

    def columns(self) -> dict[str, NDArray[Any]]:
        """subject, attention and relevance."""
        subjects = np.array(self.subjects, dtype=object)
        return {"subject": subjects, "attention": self.attention, "relevance": self.relevance}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        got, deserved = self.attention.tolist(), self.relevance.tolist()
        return {
            "unfairness": self.unfairness,
            "steps": [{"topic": topic, "unfairness": value} for topic, value in self.steps],
            "left_out": list(self.left_out),
            "subjects": {
                subject: {"attention": a, "relevance": r}
                for subject, a, r in zip(self.subjects, got, deserved, strict=True)
            },
        }


def equity_of_attention(
    qrels: Any, rankings: Any, groups: Any = None, *, attention: Attention = GEOMETRIC
) -> EquityOfAttention:
    r"""Over a sequence of rankings, how far the attention documents get is from what their relevance deserves.

    .. math:: \sum_i \lvert A_i - R_i \rvert, \quad A_i = \sum_j a_i^j, \quad R_i = \sum_j r_i^j

    In each ranking j attention sums to 1, and so does relevance: the grades above 0 of the topic, divided by their sum.
    The sequence is topic by topic in the order of the rankings given, for each topic one ranking after the other. A
    ranking for a topic without relevant documents, or that shows nothing, is left out.

    Reference: Biega, Gummadi & Weikum, Equity of Attention: Amortizing Individual Fairness in Rankings, SIGIR 2018

    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> found = equity_of_attention(qrels, {"q1": [["d1", "d2"], ["d2", "d1"]]}, attention=Attention(cutoff=1))
    >>> found.steps
    (('q1', 1.0), ('q1', 0.0))
    """
    grades = Qrels.of(qrels).to_dict()
    given = rankings_of(rankings)
    table = None if groups is None else Groups.of(groups)
    worth = {topic: {doc: float(grade) for doc, grade in grades.get(topic, {}).items() if grade > 0} for topic in given}
    docs = list(dict.fromkeys(doc for topic, lists in given.items() for one in [worth[topic], *lists] for doc in one))
    place = {doc: i for i, doc in enumerate(docs)}
    subjects = tuple(docs) if table is None else table.names
    got, deserved = np.zeros(len(subjects)), np.zeros(len(subjects))

    def add(to: Array, shares: Array, of: list[str]) -> None:
        if table is None:
            to[[place[doc] for doc in of]] += shares
        else:
            to += shares @ table.of_documents(of)

    steps: list[tuple[str, float]] = []
    left_out: dict[str, None] = {}
    for topic, lists in given.items():
        merit = np.array(list(worth[topic].values()))
        for one in lists:
            weight = attention.of(np.array([doc in worth[topic] for doc in one], dtype=bool))
            if not len(merit) or weight.sum() == 0:
                left_out[topic] = None
                continue
            add(got, weight / weight.sum(), one)
            add(deserved, merit / merit.sum(), list(worth[topic]))
            steps.append((topic, float(np.abs(got - deserved).sum())))
    return EquityOfAttention(subjects, got, deserved, tuple(steps), tuple(left_out))
