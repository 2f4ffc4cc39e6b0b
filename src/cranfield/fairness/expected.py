"""The exposure of documents and groups, and its distance from the exposure that a fair policy gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.qrels import Qrels
from cranfield.fairness.attention import GEOMETRIC, Attention, Groups, rankings_of, relevant_grades
from cranfield.record import Shown, column
from cranfield.scores.scores import Scores
from cranfield.types import Array


@dataclass(frozen=True)
class GroupExposure:
    """The exposure of one group on one topic."""

    exposure: float
    """Exposure of all its documents together."""
    share: float
    """Its share of the exposure of all groups."""
    members: float
    """Number of its documents among those ranked; soft labels count by their share."""
    mean: float
    """Exposure per member; NaN without members."""
    merit: float
    """Share of its members that are relevant; NaN without judgments or members."""

    @property
    def per_merit(self) -> float:
        """Exposure per relevant member: equal for all groups if all are treated alike. NaN if the merit is 0."""
        return self.mean / self.merit if self.merit > 0 else np.nan


@dataclass(frozen=True, eq=False)
class Exposure(Shown):
    """The expected exposure of every document, and of every group if groups were given."""

    documents: Mapping[str, Mapping[str, float]]
    """{topic: {document: exposure}}."""
    groups: Mapping[str, Mapping[str, GroupExposure]]
    """{topic: {group: exposure}}."""

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return topic, doc and exposure, one entry per document."""
        cells = [(topic, doc, value) for topic, docs in self.documents.items() for doc, value in docs.items()]
        kinds = {"topic": object, "doc": object, "exposure": np.float64}
        return {name: np.array([row[i] for row in cells], dtype=kinds[name]) for i, name in enumerate(kinds)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `documents` and `groups`, by topic."""
        return {
            "documents": {topic: dict(docs) for topic, docs in self.documents.items()},
            "groups": {
                topic: {name: {**vars(group), "per_merit": group.per_merit} for name, group in groups.items()}
                for topic, groups in self.groups.items()
            },
        }


def exposure(
    rankings: Any, groups: Any = None, qrels: Any = None, *, attention: Attention = GEOMETRIC, rel: float = 1
) -> Exposure:
    r"""Return the attention that documents and groups get, on average over the rankings of a topic.

    .. math:: \varepsilon_d = \frac{1}{n} \sum_{\pi} a(\pi, d), \quad
        \varepsilon_G = \sum_d m_G(d)\, \varepsilon_d, \quad
        \text{mean}_G = \frac{\varepsilon_G}{\sum_d m_G(d)}

    m is how much a document belongs to the group. Singh and Joachims compare the means of the groups (demographic
    parity) or, with judgments, the exposure per merit (disparate treatment); both should be equal.

    Reference: Singh & Joachims, Fairness of Exposure in Rankings, KDD 2018

    >>> exposed = exposure({"q": [["d1", "d2"], ["d2", "d1"]]}, {"d1": "a", "d2": "b"})
    >>> exposed.documents["q"], exposed.groups["q"]["a"].share
    ({'d1': 0.75, 'd2': 0.75}, 0.5)
    """
    grades = {} if qrels is None else Qrels.of(qrels).to_dict()
    table = None if groups is None else Groups.of(groups)
    documents: dict[str, dict[str, float]] = {}
    by_group: dict[str, dict[str, GroupExposure]] = {}
    for topic, lists in rankings_of(rankings).items():
        level = relevant_grades(grades.get(topic, {}), rel)
        docs = list(dict.fromkeys(doc for ranking in lists for doc in ranking))
        exposed = _expected(lists, docs, level, attention)
        documents[topic] = dict(zip(docs, exposed.tolist(), strict=True))
        if table is not None:
            membership = table.of_documents(docs)
            total, members = exposed @ membership, membership.sum(axis=0)
            relevant = np.array([doc in level for doc in docs], dtype=np.float64) @ membership
            whole = total.sum()
            by_group[topic] = {
                name: GroupExposure(
                    exposure=float(total[g]),
                    share=float(total[g] / whole) if whole > 0 else np.nan,
                    members=float(members[g]),
                    mean=float(total[g] / members[g]) if members[g] > 0 else np.nan,
                    merit=float(relevant[g] / members[g]) if members[g] > 0 and qrels is not None else np.nan,
                )
                for g, name in enumerate(table.names)
            }
    return Exposure(documents, by_group)


def expected_exposure(
    qrels: Any,
    rankings: Any,
    groups: Any = None,
    *,
    attention: Attention = GEOMETRIC,
    rel: float = 1,
    missing: str = "zero",
    name: str = "run",
) -> Scores:
    r"""Compare expected exposure with that of a policy that shows equally good documents equally.

    .. math:: \text{EE-L} = \lVert \varepsilon - \varepsilon^* \rVert^2
        = \underbrace{\lVert \varepsilon \rVert^2}_{\text{EE-D}}
        - 2\, \underbrace{\varepsilon^\top \varepsilon^*}_{\text{EE-R}} + \lVert \varepsilon^* \rVert^2

    The target ε* is the mean over all rankings that put better grades before worse ones. All judged or ranked
    documents count; unjudged documents and grades below `rel` are the lowest grade. With groups, exposure and target
    are first summed by group. EE-D is the disparity, EE-R the relevance and EE-L the loss: lower is fairer.
    A topic without rankings has exposure 0 (`missing="zero"`) or is left out (`"skip"`).

    Reference: Diaz, Mitra, Ekstrand, Biega & Carterette, Evaluating Stochastic Rankings with Expected Exposure,
    CIKM 2020

    >>> qrels = {"q": {"d1": 1, "d2": 1}}
    >>> expected_exposure(qrels, {"q": [["d1", "d2"], ["d2", "d1"]]}).mean()["run"]
    {'EE-D': 1.125, 'EE-R': 1.125, 'EE-L': 0.0}
    >>> expected_exposure(qrels, {"q": [["d1", "d2"]]}).mean()["run"]
    {'EE-D': 1.25, 'EE-R': 1.125, 'EE-L': 0.125}
    """
    check.one_of("expected_exposure", ("zero", "skip"), missing=missing)
    judgments = Qrels.of(qrels)
    shown = rankings_of(rankings)
    table = None if groups is None else Groups.of(groups)
    grades = judgments.to_dict()
    values = np.zeros((3, 1, len(judgments.topics)))
    for t, topic in enumerate(judgments.topics):
        lists = shown.get(topic, [])
        docs = list(dict.fromkeys([*grades.get(topic, {}), *(doc for ranking in lists for doc in ranking)]))
        level = relevant_grades(grades.get(topic, {}), rel)
        reached = _expected(lists, docs, level, attention)
        target = _target(docs, level, attention)
        if table is not None:
            membership = table.of_documents(docs)
            reached, target = reached @ membership, target @ membership
        values[:, 0, t] = reached @ reached, reached @ target, ((reached - target) ** 2).sum()
    lacking = np.array([[topic not in shown for topic in judgments.topics]])
    return Scores(("EE-D", "EE-R", "EE-L"), (name,), judgments.topics, values, lacking, missing)


def _expected(lists: list[list[str]], docs: list[str], level: Mapping[str, float], attention: Attention) -> Array:
    place = {doc: i for i, doc in enumerate(docs)}
    total = np.zeros(len(docs))
    for ranking in lists:
        total[[place[doc] for doc in ranking]] += attention.of(np.array([doc in level for doc in ranking], dtype=bool))
    return total / len(lists) if lists else total


def _target(docs: list[str], level: Mapping[str, float], attention: Attention) -> Array:
    """Return the attention of the ideal ranking, shared equally among documents of the same grade."""
    grade = np.array([level.get(doc, -np.inf) for doc in docs])
    best_first = np.argsort(-grade, kind="stable")
    ideal = np.zeros(len(docs))
    ideal[best_first] = attention.of(np.isfinite(grade[best_first]))
    _, block = np.unique(grade, return_inverse=True)
    return np.asarray((np.bincount(block, ideal) / np.bincount(block))[block] if len(docs) else ideal)


@dataclass(frozen=True, eq=False)
class EquityOfAttention(Shown):
    """The attention that documents or groups received and deserved over a sequence of rankings."""

    subjects: Annotated[tuple[str, ...], column("subject")]
    """Documents, or groups if groups were given."""
    attention: Annotated[Array, column()]
    """The attention that each subject received."""
    relevance: Annotated[Array, column()]
    """The attention that each subject deserved."""
    steps: tuple[tuple[str, float], ...]
    """(topic, unfairness so far) after each ranking."""
    left_out: tuple[str, ...]
    """Topics without relevant documents, or without any document shown."""

    @cached_property
    def unfairness(self) -> float:
        """The sum of absolute differences between received and deserved attention; 0 is fair."""
        return float(np.abs(self.attention - self.relevance).sum())

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
