"""Documents that were judged twice, by people and by a machine or by two machines; and scores of runs with either."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.join_options import JoinOptions
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.errors import CranfieldWarning, DataError, UsageError, warn_caller
from cranfield.evaluation.evaluator import Evaluator, score
from cranfield.frames import need
from cranfield.notes import Notes
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Index64


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The two grades of every document that both judged, in the order of the first file.

    >>> pairs = JudgedPairs.of(Qrels.of({"q": {"a": 1, "b": 0}}), Qrels.of({"q": {"b": 1, "c": 1, "a": 1}}))
    >>> pairs.docs, pairs.human.tolist(), pairs.machine.tolist(), pairs.only_machine
    (('a', 'b'), [1.0, 0.0], [1.0, 1.0], 1)
    """

    name: str
    """The machine judge."""
    topics: tuple[str, ...]
    """The topics with such documents."""
    topic: Index64
    """The number of the topic of each document."""
    docs: tuple[str, ...]
    human: Array
    machine: Array
    human_rows: Index64
    """The row of each document in the human judgments, ascending."""
    machine_rows: Index64
    only_human: int
    """How many judgments only the human file has."""
    only_machine: int
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(human: Qrels, machine: Qrels, name: str = "machine") -> JudgedPairs:
        """Match judgments by topic and document; no match is an error."""
        for qrels in (human, machine):
            if qrels.has_intents:
                message = "judged by intent, which an audit cannot compare; give one grade for each document"
                raise DataError(qrels.path or qrels.name, None, message)
        ours, theirs = human.columns(), machine.columns()
        place = dict(zip(zip(theirs.topics, theirs.docs, strict=True), range(len(machine)), strict=True))
        keys = list(zip(ours.topics, ours.docs, strict=True))
        row_of = np.fromiter((place.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))
        rows = np.flatnonzero(row_of >= 0)
        if not len(rows):
            raise UsageError(_no_overlap(human, machine, name))
        shared = [keys[row] for row in rows.tolist()]
        topics = tuple(dict.fromkeys(topic for topic, _ in shared))
        number = {topic: i for i, topic in enumerate(topics)}
        pairs = JudgedPairs(
            name,
            topics,
            np.array([number[topic] for topic, _ in shared], dtype=np.int64),
            tuple(doc for _, doc in shared),
            human.values[rows].astype(np.float64),
            machine.values[row_of[rows]].astype(np.float64),
            rows,
            row_of[rows],
            len(human) - len(rows),
            len(machine) - len(rows),
        )
        return replace(pairs, notes=tuple(pairs._notes(human, machine)))

    def _notes(self, human: Qrels, machine: Qrels) -> list[str]:
        notes = Notes()
        outside = ~np.isin(machine.values, human.values)
        if outside.any():
            unknown = listed(f"{grade:g}" for grade in np.unique(machine.values[outside]).tolist())
            count = counted(int(outside.sum()), "judgment")
            notes.caution(f"{self.name}: {count} with a grade that the human judgments do not have ({unknown})")
        for who, grades in (("the human judgments", self.human), (self.name, self.machine)):
            if len(np.unique(grades)) == 1:
                notes.caution(
                    f"{self.name}: {who} give all documents that both judged the grade {grades[0]:g}: κ is "
                    "undefined or 0"
                )
        common = set(self.topics)
        lost = [topic for topic in human.topics if topic not in common]
        if lost:
            notes.caution(f"{self.name}: {counted(len(lost), 'topic')} without common documents: {listed(lost)}")
        return notes

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def grades(self) -> tuple[float, ...]:
        """All grades that occur, lowest first."""
        return tuple(np.unique(np.concatenate([self.human, self.machine])).tolist())

    @cached_property
    def topic_confusions(self) -> Index64:
        """topics × grades × grades: how many documents have this human grade (row) and this machine grade (column)."""
        size = len(self.grades)
        human, machine = (np.searchsorted(self.grades, grades) for grades in (self.human, self.machine))
        cell = (self.topic * size + human) * size + machine
        return np.bincount(cell, minlength=len(self.topics) * size * size).reshape(-1, size, size)

    @cached_property
    def confusion(self) -> Index64:
        """The same for all topics together."""
        return np.asarray(self.topic_confusions.sum(axis=0))

    @cached_property
    def difference(self) -> Array:
        """Machine minus human grade of each document."""
        return self.machine - self.human

    def by_topic(self, values: NDArray[Any]) -> Array:
        """The sum over the documents of each topic."""
        return np.asarray(np.bincount(self.topic, weights=values, minlength=len(self.topics)), dtype=np.float64)


def clustered_mean(values: Array, topic: Index64, topics: int, level: float = 0.95) -> tuple[float, float, float]:
    r"""The mean over documents, with an interval that takes the documents of a topic as one cluster.

    .. math:: \bar d = \frac{\sum_t s_t}{\sum_t n_t}, \qquad
        \operatorname{Var} = \frac{T}{T - 1} \frac{\sum_t (s_t - n_t \bar d)^2}{(\sum_t n_t)^2}

    s is the sum and n the number of documents of a topic; Student's t with T − 1 degrees of freedom. NaN ends for a
    single topic. Reference: Cochran, Sampling Techniques, 3rd edition, 1977, § 2.11 (the ratio estimator)

    >>> clustered_mean(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0, 0, 1, 2]), 3)[0]
    0.25
    """
    sums = np.bincount(topic, weights=values, minlength=topics)
    counts = np.bincount(topic, minlength=topics)
    used = int((counts > 0).sum())
    if not used:
        return np.nan, np.nan, np.nan
    mean = float(sums.sum() / counts.sum())
    if used < 2:
        return mean, np.nan, np.nan
    variance = used / (used - 1) * float(((sums - counts * mean) ** 2).sum()) / float(counts.sum()) ** 2
    half = float(need("scipy.special", "an interval").stdtrit(used - 1, (1 + level) / 2)) * np.sqrt(variance)
    return mean, mean - half, mean + half


def _no_overlap(human: Qrels, machine: Qrels, name: str) -> str:
    topics = set(human.topics) & set(machine.topics)
    where = f"{counted(len(topics), 'topic')} in common" if topics else (
        f"no topic in common: {listed(human.topics, 3)} and {listed(machine.topics, 3)}"
    )  # fmt: skip
    first, second = (listed(qrels.table.docs(0, min(3, len(qrels))), 3) for qrels in (human, machine))
    return (
        f"no document is judged by both the human judgments and {name} ({where}; the first documents are {first} and "
        f"{second}); are both of the same collection?"
    )


BOTH, ALL = "both", "all"
DOCUMENTS = {BOTH: "only documents that both judged", ALL: "all judgments of each file"}
"""Which judgments count, on topics that both have."""


@dataclass(frozen=True, eq=False)
class ScoredTwice:
    """The scores of all runs with human and with machine judgments, on the same topics."""

    judge: str
    documents: str
    """`both` or `all`, see `DOCUMENTS`."""
    human: Scores
    machine: Scores
    left_out: tuple[str, ...]
    """The topics on which a score is undefined with human or machine judgments."""
    notes: tuple[str, ...] = ()
    """Warnings about the runs, such as topics that they lack."""


def score_twice(
    human: Qrels, machine: Qrels, pairs: JudgedPairs, runs: Mapping[str, Run], measures: Any, **options: Any
) -> list[ScoredTwice]:
    """Scores on documents that both judged, and on all judgments; only topics with such documents count.

    If both judged the same documents of these topics, there is only the first. A topic on which a score is undefined
    with either judgments is left out of both.
    """
    common = set(pairs.topics)
    used = {BOTH: (human.of_rows(pairs.human_rows), machine.of_rows(np.sort(pairs.machine_rows)))}
    whole = _on_topics(human, common), _on_topics(machine, common)
    if any(len(qrels) > len(pairs) for qrels in whole):
        used[ALL] = whole
    return [
        _scored(pairs.name, documents, *judgments, runs=runs, measures=measures, **options)
        for documents, judgments in used.items()
    ]


def _scored(judge: str, documents: str, human: Qrels, machine: Qrels, **options: Any) -> ScoredTwice:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        by_human, by_machine = (_scores(qrels, **options) for qrels in (human, machine))
    messages = _repeated(caught)
    by_machine = by_machine.select(topics=by_human.topics)
    undefined = np.asarray(np.isnan(by_human.values + by_machine.values).any(axis=(0, 1)))
    if undefined.all():
        raise UsageError(
            f"{judge}: no topic has a score of every run and measure with both judgments; choose measures that are "
            "defined without relevant documents, or other runs"
        )
    lost = tuple(topic for topic, gone in zip(by_human.topics, undefined.tolist(), strict=True) if gone)
    if lost:
        kept = [topic for topic in by_human.topics if topic not in lost]
        by_human, by_machine = by_human.select(topics=kept), by_machine.select(topics=kept)
    return ScoredTwice(judge, documents, by_human, by_machine, lost, messages)


def _scores(qrels: Qrels, *, runs: Mapping[str, Run], measures: Any, missing: str = "zero", **options: Any) -> Scores:
    evaluator = Evaluator(qrels, measures, missing=missing, options=JoinOptions(**options))
    lists = evaluator.assess(dict(runs))
    hits = np.bincount(lists.run[lists.row], minlength=len(lists.runs))
    if (hits == 0).any():
        empty = [run for run, count in zip(lists.runs, hits.tolist(), strict=True) if not count]
        message = f"{counted(len(empty), 'run')} without any judged document: {listed(empty)}"
        warn_caller(message, CranfieldWarning)
    return score(lists, evaluator.measures, missing=missing)


def _repeated(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """The warnings about scores, for notes. An audit uses some topics only, and names undefined scores itself."""
    messages = []
    for warning in caught:
        text = str(warning.message)
        if not isinstance(warning.message, CranfieldWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not re.search("without judgments ignored|undefined", text):
            messages.append(text)
    return tuple(dict.fromkeys(messages))


def _on_topics(qrels: Qrels, topics: set[str]) -> Qrels:
    rows = np.array([row for row, topic in enumerate(qrels.row_topics) if topic in topics], dtype=np.int64)
    return qrels.of_rows(rows)
