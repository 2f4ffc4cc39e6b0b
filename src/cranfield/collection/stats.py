"""Statistics of a collection: topics, judgments and relevant documents by level, and how many of them runs retrieve.

These are the numbers that papers report about their data: topics, relevant documents per topic, and the same by level
(Sakai, On the Properties of Evaluation Metrics for Finding One Highly Relevant Document, Table 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import DATASET_PREFIXES
from cranfield.collection.run import Run, runs_of
from cranfield.collection.source import expand
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError

DEPTHS = (10, 100)
"""Depths at which the share of judged documents is reported, in addition to the whole list."""


@dataclass(frozen=True)
class Spread:
    """The distribution of a count over topics.

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
        """The spread of these counts; all zeros if there are none."""
        if not len(counts):
            return cls(0, 0.0, 0, 0.0, 0)
        values = np.asarray(counts)
        low, high = int(values.min()), int(values.max())
        return cls(int(values.sum()), float(values.mean()), low, float(np.median(values)), high)


def _spread(count: str) -> Any:
    """A property of a record with `per_topic`: the spread of this count."""
    return property(lambda self: Spread.of([getattr(topic, count) for topic in self.per_topic]))


class _PerTopic:
    per_topic: tuple[Any, ...]

    @property
    def topics(self) -> int:
        """The number of judged topics."""
        return len(self.per_topic)


@dataclass(frozen=True)
class TopicJudgments:
    """The judgments of one topic."""

    topic: str
    judged: int
    relevant: int
    by_level: tuple[int, ...]
    """The number of documents with each grade, in the order of the levels of the collection."""


@dataclass(frozen=True)
class QrelsStatistics(_PerTopic):
    """The judgments of a collection. Documents judged by intent count once, with their highest grade.

    >>> of_qrels({"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d1": 0}}).relevant
    Spread(total=2, mean=1.0, min=0, median=1.0, max=2)
    """

    name: str
    rel: float
    """Documents of this grade and above are relevant."""
    levels: tuple[float, ...]
    """All grades, ascending."""
    per_topic: tuple[TopicJudgments, ...]
    intents: tuple[str, ...]

    judged = _spread("judged")
    """Judged documents per topic."""
    relevant = _spread("relevant")
    """Relevant documents per topic."""

    @property
    def by_level(self) -> Mapping[float, Spread]:
        """Documents of each grade per topic."""
        return {
            level: Spread.of([topic.by_level[place] for topic in self.per_topic])
            for place, level in enumerate(self.levels)
        }

    @property
    def without_relevant(self) -> tuple[str, ...]:
        """Topics without relevant documents, for which measures such as AP are undefined."""
        return tuple(topic.topic for topic in self.per_topic if not topic.relevant)


@dataclass(frozen=True)
class TopicRetrieved:
    """The documents that a run retrieved for one judged topic."""

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
        """The number of retrieved documents without a judgment."""
        return self.retrieved - self.judged


@dataclass(frozen=True)
class RunStatistics(_PerTopic):
    """The documents that a run retrieved for its judged topics."""

    name: str
    per_topic: tuple[TopicRetrieved, ...]
    missing_topics: tuple[str, ...]
    """Judged topics that the run lacks."""
    unjudged_topics: tuple[str, ...]
    """Topics of the run without judgments."""

    retrieved = _spread("retrieved")
    """Retrieved documents per topic."""
    relevant = _spread("relevant")
    """Retrieved relevant documents per topic."""
    unjudged = _spread("unjudged")
    """Retrieved unjudged documents per topic."""

    def judged_share(self, depth: int | None = None) -> float:
        """The share of judged documents among the first `depth` (10 or 100) or all retrieved ones, mean over topics.

        In a list shorter than `depth` it is the share of its documents. No topics: 0.
        """
        if depth is not None and depth not in DEPTHS:
            raise UsageError(f"depth == {depth!r}, must be one of {', '.join(map(str, DEPTHS))} or None")
        return _mean([
            topic.judged / max(1, topic.retrieved) if depth is None else topic.judged_at[depth]
            for topic in self.per_topic
        ])  # fmt: skip

    @property
    def tied_share(self) -> float:
        """The share of lists in which some documents have the same score."""
        return _mean([topic.tied for topic in self.per_topic])


def _mean(shares: Sequence[float]) -> float:
    return float(np.mean(shares)) if shares else 0.0


@dataclass(frozen=True)
class CollectionStatistics:
    """Statistics of judgments, and of runs on them."""

    qrels: QrelsStatistics
    runs: tuple[RunStatistics, ...]


@operation
def of_collection(
    qrels: Any,
    runs: Any = (),
    rel: Annotated[float, about("The lowest grade that counts as relevant.", spelled="--rel GRADE")] = 1,
) -> CollectionStatistics:
    """Statistics of judgments and of any number of runs; paths may be globs."""
    judgments = Qrels.of(qrels)
    several = runs if isinstance(runs, Iterable) and not isinstance(runs, str | bytes | Mapping | Run) else [runs]
    opened: list[Run] = []
    for run in several:
        is_path = isinstance(run, str) and not run.startswith(DATASET_PREFIXES)
        opened.extend(member for path in (expand([run]) if is_path else [run]) for member in runs_of(path))
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
        TopicJudgments(name, int(row.sum()), int(total), tuple(row.tolist()))
        for name, row, total in zip(judged.topics, counts, relevant, strict=True)
    )
    return QrelsStatistics(judgments.name, rel, tuple(levels.tolist()), per_topic, judgments.intents)


def of_run(run: Any, qrels: Any, rel: float = 1) -> RunStatistics:
    """Statistics of one run on these judgments."""
    run = Run.of(run)
    judged = Qrels.of(qrels).judged("max")
    names = judged.topics
    joined = _core.join_tables(judged, [run.table], "score", False, 0)
    retrieved, row = joined["retrieved"], joined["row"]
    judged_documents = np.bincount(row, minlength=len(names))
    relevant = np.bincount(row[judged.grade[joined["document"]] >= rel], minlength=len(names))
    at = {depth: np.bincount(row[joined["rank"] <= depth], minlength=len(names)) for depth in DEPTHS}
    with_ties = tied_topics(run)
    present = np.flatnonzero(joined["missing"] == 0).tolist()
    per_topic = tuple(
        TopicRetrieved(
            names[t], int(retrieved[t]), int(judged_documents[t]), int(relevant[t]),
            {depth: int(at[depth][t]) / max(1, min(depth, int(retrieved[t]))) for depth in DEPTHS},
            names[t] in with_ties,
        )
        for t in present
    )  # fmt: skip
    missing = tuple(names[t] for t in np.flatnonzero(joined["missing"]).tolist())
    return RunStatistics(run.name, per_topic, missing, tuple(joined["unjudged_topics"][0]))


def tied_topics(run: Run) -> frozenset[str]:
    """Topics with documents of the same score in their list.

    >>> sorted(tied_topics(Run.of({"q1": {"a": 1, "b": 1}, "q2": {"a": 1, "b": 2}})))
    ['q1']
    """
    lists = np.repeat(np.arange(len(run.topics)), np.diff(run.starts))
    order = np.lexsort((run.values, lists))
    values, lists = run.values[order], lists[order]
    tied = (values[1:] == values[:-1]) & (lists[1:] == lists[:-1])
    return frozenset(run.topics[place] for place in np.unique(lists[1:][tied]).tolist())
