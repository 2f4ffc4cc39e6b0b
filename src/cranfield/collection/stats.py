"""Statistics of a collection: topics, judgments and relevant documents by level, and what runs retrieve of them.

The table that papers open their experiments with: topics, relevant documents a topic, and these by level (Sakai, On the
Properties of Evaluation Metrics for Finding One Highly Relevant Document, Table 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import expand
from cranfield.errors import UsageError

DEPTHS = (10, 100)
"""Ranks down to which the share of judged documents is told, beside the whole list."""


@dataclass(frozen=True)
class Spread:
    """How a count is spread over topics.

    >>> Spread.of([1, 2, 9])
    Spread(total=12, mean=4.0, min=1, median=2.0, max=9)
    """

    total: int
    mean: float
    min: int
    median: float
    max: int

    @classmethod
    def of(cls, counts: Sequence[int] | NDArray[Any]) -> Spread:
        """The spread of some counts; of none, all zeros."""
        if not len(counts):
            return cls(0, 0.0, 0, 0.0, 0)
        values = np.asarray(counts)
        return cls(
            int(values.sum()), float(values.mean()), int(values.min()), float(np.median(values)), int(values.max())
        )


@dataclass(frozen=True)
class TopicJudgments:
    """What is judged for one topic."""

    topic: str
    judged: int
    relevant: int
    by_level: tuple[int, ...]
    """How many documents have each grade, in the order of the collection's levels."""


@dataclass(frozen=True)
class QrelsStatistics:
    """What is judged in a collection. Documents judged by intent count once, with their highest grade.

    >>> of_qrels({"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d1": 0}}).relevant
    Spread(total=2, mean=1.0, min=0, median=1.0, max=2)
    """

    name: str
    rel: float
    """Documents of this grade and above are relevant."""
    levels: tuple[float, ...]
    """Every grade there is, ascending."""
    per_topic: tuple[TopicJudgments, ...]
    intents: tuple[str, ...]

    @property
    def topics(self) -> int:
        """How many topics are judged."""
        return len(self.per_topic)

    @property
    def judged(self) -> Spread:
        """Judged documents a topic."""
        return Spread.of([topic.judged for topic in self.per_topic])

    @property
    def relevant(self) -> Spread:
        """Relevant documents a topic."""
        return Spread.of([topic.relevant for topic in self.per_topic])

    @property
    def by_level(self) -> Mapping[float, Spread]:
        """Documents a topic of each grade."""
        return {
            level: Spread.of([topic.by_level[place] for topic in self.per_topic])
            for place, level in enumerate(self.levels)
        }

    @property
    def without_relevant(self) -> tuple[str, ...]:
        """Topics that have no relevant document, for which measures such as AP are undefined."""
        return tuple(topic.topic for topic in self.per_topic if not topic.relevant)


@dataclass(frozen=True)
class TopicRetrieved:
    """What a run retrieved for one judged topic."""

    topic: str
    retrieved: int
    judged: int
    relevant: int
    judged_at: Mapping[int, float]
    """Share of judged documents among the first 10, 100 retrieved."""
    tied: bool
    """Some documents have the same score."""

    @property
    def unjudged(self) -> int:
        """Retrieved documents that nobody judged."""
        return self.retrieved - self.judged


@dataclass(frozen=True)
class RunStatistics:
    """What a run retrieved, on the judged topics it has."""

    name: str
    per_topic: tuple[TopicRetrieved, ...]
    missing_topics: tuple[str, ...]
    """Judged topics the run lacks."""
    unjudged_topics: tuple[str, ...]
    """Topics of the run that nobody judged."""

    @property
    def topics(self) -> int:
        """Judged topics that the run has."""
        return len(self.per_topic)

    @property
    def retrieved(self) -> Spread:
        """Retrieved documents a topic."""
        return Spread.of([topic.retrieved for topic in self.per_topic])

    @property
    def relevant(self) -> Spread:
        """Relevant documents retrieved a topic."""
        return Spread.of([topic.relevant for topic in self.per_topic])

    @property
    def unjudged(self) -> Spread:
        """Unjudged documents retrieved a topic."""
        return Spread.of([topic.unjudged for topic in self.per_topic])

    def judged_share(self, depth: int | None = None) -> float:
        """Share of judged documents in the first `depth` (10 or 100) or in all retrieved, mean over topics.

        A list shorter than `depth` is counted by what it has. No topics: 0.
        """
        if depth is not None and depth not in DEPTHS:
            raise UsageError(f"depth == {depth!r}, must be one of {', '.join(map(str, DEPTHS))} or None")
        shares = [
            topic.judged_at[depth] if depth is not None else topic.judged / topic.retrieved if topic.retrieved else 0.0
            for topic in self.per_topic
        ]
        return float(np.mean(shares)) if shares else 0.0

    @property
    def tied_share(self) -> float:
        """Share of lists in which some documents have the same score."""
        return float(np.mean([topic.tied for topic in self.per_topic])) if self.per_topic else 0.0


@dataclass(frozen=True)
class CollectionStatistics:
    """Judgments, and runs on them."""

    qrels: QrelsStatistics
    runs: tuple[RunStatistics, ...]


def of_collection(qrels: Any, runs: Any = (), rel: float = 1) -> CollectionStatistics:
    """Statistics of judgments and of any number of runs; paths and globs are read."""
    judgments = Qrels.of(qrels)
    several = runs if isinstance(runs, Iterable) and not isinstance(runs, str | bytes | Mapping | Run) else [runs]
    opened: list[Run] = []
    for run in several:
        paths = expand([run]) if isinstance(run, str) and not run.startswith(("irds:", "ir_datasets:")) else [run]
        opened.extend(one for path in paths for one in runs_of(path))
    return CollectionStatistics(of_qrels(judgments, rel), tuple(of_run(run, judgments, rel) for run in opened))


def of_qrels(qrels: Any, rel: float = 1) -> QrelsStatistics:
    """Statistics of judgments."""
    judgments = Qrels.of(qrels)
    judged = judgments.judged("max")
    grades, starts = judged.grade, judged.start
    levels, level = np.unique(grades, return_inverse=True)
    topic = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    counts = np.zeros((len(starts) - 1, len(levels)), dtype=np.int64)
    np.add.at(counts, (topic, level.reshape(-1)), 1)
    relevant = counts[:, levels >= rel].sum(axis=1)
    per_topic = tuple(
        TopicJudgments(name, int(row.sum()), int(found), tuple(row.tolist()))
        for name, row, found in zip(judged.topics, counts, relevant, strict=True)
    )
    return QrelsStatistics(judgments.name, rel, tuple(levels.tolist()), per_topic, judgments.intents)


def of_run(run: Any, qrels: Any, rel: float = 1) -> RunStatistics:
    """Statistics of one run on some judgments."""
    one, judgments = Run.of(run), Qrels.of(qrels)
    judged = judgments.judged("max")
    names = judged.topics
    joined = _core.join_tables(judged, [one.table], "score", False, 0)
    retrieved, row = joined["retrieved"], joined["row"]
    found = np.bincount(row, minlength=len(names))
    relevant = np.bincount(row[judged.grade[joined["document"]] >= rel], minlength=len(names))
    at = {depth: np.bincount(row[joined["rank"] <= depth], minlength=len(names)) for depth in DEPTHS}
    with_ties = tied_topics(one)
    there = np.flatnonzero(joined["missing"] == 0).tolist()
    per_topic = tuple(
        TopicRetrieved(
            names[t],
            int(retrieved[t]),
            int(found[t]),
            int(relevant[t]),
            {depth: int(at[depth][t]) / max(1, min(depth, int(retrieved[t]))) for depth in DEPTHS},
            names[t] in with_ties,
        )
        for t in there
    )
    missing = tuple(names[t] for t in np.flatnonzero(joined["missing"]).tolist())
    return RunStatistics(one.name, per_topic, missing, tuple(joined["unjudged_topics"][0]))


def tied_topics(run: Run) -> frozenset[str]:
    """Topics in whose lists some documents have the same score.

    >>> sorted(tied_topics(Run.of({"q1": {"a": 1, "b": 1}, "q2": {"a": 1, "b": 2}})))
    ['q1']
    """
    lists = np.repeat(np.arange(len(run.topics)), np.diff(run.starts))
    order = np.lexsort((run.values, lists))
    values, lists = run.values[order], lists[order]
    tied = (values[1:] == values[:-1]) & (lists[1:] == lists[:-1])
    return frozenset(run.topics[place] for place in np.unique(lists[1:][tied]).tolist())
