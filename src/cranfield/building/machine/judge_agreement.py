"""How well machine judges agree with people: κ, confusion, leniency; overall, by topic, and among machine judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.building.agreement.chance_corrected import closeness, cohen_of
from cranfield.building.machine.judged_pairs import JudgedPairs, clustered_mean
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.meta.complete_scores import central_interval, resampled_topics
from cranfield.notes import caution_note, method_note
from cranfield.record import Record, column, interval, table_of
from cranfield.table import Cell, Column, Table
from cranfield.text import listed
from cranfield.types import Array, Index64

WEIGHTS = {"kappa": "identity", "weighted kappa": "quadratic"}
"""The two κ: all disagreements count alike, or by the squared difference of the grades."""
NEEDED = 2
"""Topics that an interval needs."""
FEW = 10
"""With fewer topics than this, a bootstrap over topics is rough, and a note warns of it."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement(Record):
    """Agreement of every machine judge with the human judgments: a row per judge."""

    caption = "Agreement with the human judgments"
    facts = ("rel", "level", "resamples", "seed")

    judge: Annotated[NDArray[Any], column()]
    counts: Annotated[Index64, column("topics", "both", "only human", "only machine")]
    """topics, judged by both, only by people, only by the machine; × judges."""
    agreement: Annotated[Array, column()]
    kappa: Annotated[Array, interval("kappa", shown="κ")]
    """value, low, high × judges."""
    weighted: Annotated[Array, interval("weighted kappa", shown="weighted κ")]
    """Weighted κ, as `kappa`."""
    relevant: Annotated[Array, column("human relevant", "machine relevant")]
    """The share of relevant documents of people and of the machine; × judges."""
    leniency: Annotated[Array, interval("leniency")]
    """Mean machine minus human grade: value, low, high × judges."""
    rel: float
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class JudgeConfusion(Record):
    """How many documents have each pair of grades: a row per judge, human grade and machine grade."""

    figure = "describe_judge_confusion"

    judge: Annotated[NDArray[Any], column()]
    human: Annotated[Array, column("human grade")]
    machine: Annotated[Array, column("machine grade")]
    documents: Annotated[Index64, column()]
    share: Annotated[Array, column()]
    """Of the documents with this human grade; NaN without any."""
    notes: tuple[str, ...] = ()

    def matrix(self, judge: str) -> tuple[tuple[float, ...], Index64]:
        """The grades, and human × machine grades."""
        mine = self.judge == judge
        grades = tuple(np.unique(self.human[mine]).tolist())
        return grades, self.documents[mine].reshape(len(grades), len(grades))

    def table(self) -> Table:
        """A row per judge and human grade, a column per machine grade."""
        grades = np.unique(self.machine).tolist()
        rows: list[tuple[Cell, ...]] = []
        for judge in dict.fromkeys(self.judge.tolist()):
            own, matrix = self.matrix(judge)
            for grade, counts in zip(own, matrix.tolist(), strict=True):
                by_grade: dict[float, int] = dict(zip(own, counts, strict=True))
                rows.append((judge, f"{grade:g}", *(by_grade.get(other, 0) for other in grades)))
        heads = (Column("judge"), Column("human grade"), *(Column(f"machine {grade:g}", "count") for grade in grades))
        return Table(heads, tuple(rows), "Confusion: documents by human and machine grade", self.notes)


@dataclass(frozen=True, eq=False, repr=False)
class TopicAgreement(Record):
    """Agreement on every topic: a row per judge and topic."""

    figure = "describe_topic_leniency"

    judge: Annotated[NDArray[Any], column()]
    topic: Annotated[NDArray[Any], column()]
    documents: Annotated[Index64, column()]
    agreement: Annotated[Array, column()]
    kappa: Annotated[Array, column()]
    """NaN where both give all documents the same grade."""
    leniency: Annotated[Array, column()]
    human_relevant: Annotated[Index64, column()]
    """The number of documents that people call relevant."""
    machine_relevant: Annotated[Index64, column()]
    notes: tuple[str, ...] = ()

    def worst(self, most: int = 5) -> Table:
        """The topics of each judge with the lowest agreement."""
        order = np.argsort(self.agreement, kind="stable")
        judges = dict.fromkeys(self.judge.tolist())
        lowest = np.concatenate([order[self.judge[order] == judge][:most] for judge in judges])
        return table_of(self.columns(), lowest, caption="Topics with the lowest agreement", notes=self.notes)


@dataclass(frozen=True, eq=False, repr=False)
class JudgesTogether(Record):
    """Agreement among the machine judges: a row per pair."""

    caption = "Agreement among the machine judges"

    first: Annotated[NDArray[Any], column("judge")]
    second: Annotated[NDArray[Any], column("other")]
    documents: Annotated[Index64, column("both")]
    agreement: Annotated[Array, column()]
    kappa: Annotated[Array, column()]
    weighted: Annotated[Array, column("weighted kappa")]
    leniency: Annotated[Array, column()]
    """Mean grade of the second minus that of the first."""
    notes: tuple[str, ...] = ()


def kappas(confusions: NDArray[Any], grades: Sequence[float], weights: str) -> Array:
    """Cohen's κ of confusion matrices (… × grades × grades); see `WEIGHTS`."""
    return cohen_of(confusions.astype(np.float64), closeness(weights, np.array(grades, dtype=np.float64)))[1]


def judge_agreement(
    judges: Sequence[JudgedPairs], *, rel: float = 1, level: float = 0.95, resamples: int = 1_000, seed: int = 0
) -> tuple[JudgeAgreement, JudgeConfusion, TopicAgreement]:
    """Agreement of machine judges with people: overall, the confusion of grades, and topic by topic.

    Intervals of κ have the topic as unit, those of leniency take topics as clusters
    (`clustered_mean`): the documents of a topic are not independent. A single topic has no interval.
    """
    rows: list[tuple[Any, ...]] = []
    for pairs in judges:
        confusions = pairs.topic_confusions
        total = confusions.sum(axis=0)
        ends = [_kappa_interval(confusions, pairs.grades, kind, level, resamples, seed) for kind in WEIGHTS.values()]
        counts = len(pairs.topics), len(pairs), pairs.only_human, pairs.only_machine
        shares = (pairs.human >= rel).mean(), (pairs.machine >= rel).mean()
        lenient = clustered_mean(pairs.difference, pairs.topic, len(pairs.topics), level)
        agreed = np.trace(total) / total.sum()
        rows.append((pairs.name, counts, agreed, *ends, shares, lenient))
    notes = [
        method_note(
            "weighted κ: quadratic weights; leniency: mean machine minus human grade of documents that both judged"
        ),
        method_note(
            f"{100 * level:g}% intervals of κ over {resamples:,} resamples of topics, of leniency with topics "
            "as clusters"
        ),
        method_note(f"relevant: the share of these documents with grade {rel:g} or more"),
        *(note for pairs in judges for note in pairs.notes),
    ]
    if any(len(pairs.topics) < NEEDED for pairs in judges):
        notes.append("a single topic has no intervals")
    if few := [pairs.name for pairs in judges if NEEDED <= len(pairs.topics) < FEW]:
        notes.append(caution_note(f"fewer than {FEW} topics, so that intervals of κ are too narrow: {listed(few)}"))
    unique = tuple(dict.fromkeys(notes))
    agreement = JudgeAgreement.of_rows(rows, rel=rel, level=level, resamples=resamples, seed=seed, notes=unique)
    return agreement, _confusion(judges), _by_topic(judges, rel)


def agreement_among(judges: Sequence[JudgedPairs], qrels: Sequence[Qrels]) -> JudgesTogether | None:
    """Agreement of every pair of machine judges on the documents that both judged; None for a single judge."""
    if len(judges) < 2:
        return None
    rows: list[tuple[Any, ...]] = []
    for (a, first), (b, second) in combinations(enumerate(judges), 2):
        try:
            pairs = JudgedPairs.of(qrels[a], qrels[b], second.name)
        except UsageError:  # no document in common
            rows.append((first.name, second.name, 0, np.nan, np.nan, np.nan, np.nan))
            continue
        matrix = pairs.confusion
        both = [float(kappas(matrix, pairs.grades, kind)) for kind in WEIGHTS.values()]
        share = float(np.trace(matrix) / matrix.sum())
        rows.append((first.name, second.name, len(pairs), share, *both, float(pairs.difference.mean())))
    return JudgesTogether.of_rows(rows, notes=("leniency: mean grade of the second minus that of the first",))


def _kappa_interval(
    confusions: Index64, grades: Sequence[float], weights: str, level: float, resamples: int, seed: int
) -> tuple[float, float, float]:
    value = float(kappas(confusions.sum(axis=0), grades, weights))
    if len(confusions) < NEEDED or not resamples or np.isnan(value):
        return value, np.nan, np.nan
    flat = confusions.reshape(len(confusions), -1)
    drawn = [
        kappas((times @ flat).reshape(-1, *confusions.shape[1:]), grades, weights)
        for times in resampled_topics(len(confusions), resamples, seed, 1_000)
    ]
    low, high = central_interval(np.concatenate(drawn), level)
    return value, float(low), float(high)


def _confusion(judges: Sequence[JudgedPairs]) -> JudgeConfusion:
    rows: list[tuple[Any, ...]] = []
    for pairs in judges:
        for human, counts in zip(pairs.grades, pairs.confusion.tolist(), strict=True):
            total = sum(counts)
            for machine, count in zip(pairs.grades, counts, strict=True):
                rows.append((pairs.name, human, machine, count, count / total if total else np.nan))
    return JudgeConfusion.of_rows(rows)


def _by_topic(judges: Sequence[JudgedPairs], rel: float) -> TopicAgreement:
    rows: list[tuple[Any, ...]] = []
    for pairs in judges:
        confusions = pairs.topic_confusions
        count = confusions.sum(axis=(1, 2))
        relevant = (pairs.by_topic(grades >= rel).astype(np.int64) for grades in (pairs.human, pairs.machine))
        agreed = np.trace(confusions, axis1=1, axis2=2) / count
        kappa, leniency = kappas(confusions, pairs.grades, "identity"), pairs.by_topic(pairs.difference) / count
        names = [pairs.name] * len(count)
        rows += zip(names, pairs.topics, count, agreed, kappa, leniency, *relevant, strict=True)
    return TopicAgreement.of_rows(rows)
