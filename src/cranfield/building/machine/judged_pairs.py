"""Documents that were judged twice: by people and by a machine, or by two machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.qrels import Qrels
from cranfield.errors import DataError, UsageError
from cranfield.frames import need
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
        found = np.fromiter((place.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))
        rows = np.flatnonzero(found >= 0)
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
            machine.values[found[rows]].astype(np.float64),
            rows,
            found[rows],
            len(human) - len(rows),
            len(machine) - len(rows),
        )
        return JudgedPairs(**{**vars(pairs), "notes": tuple(pairs._notes(human, machine))})

    def _notes(self, human: Qrels, machine: Qrels) -> list[str]:
        notes = []
        outside = ~np.isin(machine.values, human.values)
        if outside.any():
            unknown = listed(f"{grade:g}" for grade in np.unique(machine.values[outside]).tolist())
            count = counted(int(outside.sum()), "judgment")
            notes.append(f"{self.name}: {count} with a grade that the human judgments do not have ({unknown})")
        for who, grades in (("the human judgments", self.human), (self.name, self.machine)):
            if len(np.unique(grades)) == 1:
                notes.append(
                    f"{self.name}: {who} give all documents that both judged the grade {grades[0]:g}: κ is undefined "
                    "or 0"
                )
        common = set(self.topics)
        lost = [topic for topic in human.topics if topic not in common]
        if lost:
            notes.append(f"{self.name}: {counted(len(lost), 'topic')} without common documents: {listed(lost)}")
        return notes

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def grades(self) -> tuple[float, ...]:
        """All grades that occur, lowest first."""
        return tuple(np.unique(np.concatenate([self.human, self.machine])).tolist())

    @cached_property
    def confusion(self) -> Index64:
        """grades × grades: how many documents have this human grade (row) and this machine grade (column)."""
        return confusion_of(self.human, self.machine, self.grades)

    @cached_property
    def difference(self) -> Array:
        """Machine minus human grade of each document."""
        return self.machine - self.human

    def by_topic(self, values: Array) -> Array:
        """The sum over the documents of each topic."""
        return np.asarray(np.bincount(self.topic, weights=values, minlength=len(self.topics)), dtype=np.float64)


def confusion_of(first: Array, second: Array, grades: tuple[float, ...]) -> Index64:
    """How many documents have each pair of grades.

    >>> confusion_of(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]), (0.0, 1.0)).tolist()
    [[0, 1], [0, 2]]
    """
    size = len(grades)
    a, b = np.searchsorted(grades, first), np.searchsorted(grades, second)
    return np.bincount(a * size + b, minlength=size * size).reshape(size, size)


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


def shares(flags: NDArray[np.bool_]) -> float:
    """The share of true entries; NaN without entries."""
    return float(flags.mean()) if len(flags) else np.nan


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
