"""The lists of several runs as arrays, and normalisations: their scores on one scale, list by list.

| name | a score s of a list becomes |
|---|---|
| `min-max` | (s − min) / (max − min); 1 if all scores of the list are equal |
| `min-max-inverted` | (max − s) / (max − min), for distances, of which the lowest is best; 1 if all are equal |
| `max` | s / max; the highest score must be above 0 |
| `sum` | (s − min) / Σ (s − min); 1 / n if all n scores are equal |
| `z` | (s − mean) / standard deviation (divided by n); 0 if all scores are equal |
| `rank` | 1 − (rank − 1) / n, whatever the scores |
| `none` | s |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.retrieved_documents import pooled_documents
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.declared.registry import Registry
from cranfield.errors import DataError
from cranfield.types import Array, Index64, Progress


@dataclass(frozen=True, eq=False)
class RetrievedLists:
    """All lists (run × topic), one after the other. Documents are numbered topic by topic.

    | array | one per | meaning |
    |---|---|---|
    | `list_run`, `list_topic`, `list_start` | list | its run, its topic, and its first entry |
    | `document`, `score` | entry, by list and rank | the number of the document, and its score |
    | `start` | topic | its first document; the last entry is the number of documents |
    """

    topics: tuple[str, ...]
    runs: tuple[str, ...]
    paths: tuple[str, ...]
    list_run: Index64
    list_topic: Index64
    list_start: Index64
    document: Index64
    score: Array
    start: Index64
    pooled: _core.PooledDocuments

    @staticmethod
    def of(
        runs: RunsLike, *, depth: int | None, options: JoinOptions, progress: Progress | None = None
    ) -> RetrievedLists:
        """The lists of anything that `evaluate` takes, down to `depth`."""
        pooled, names, paths = pooled_documents(runs, depth, options, progress, scores=True)
        documents = pooled.documents()
        start = documents.list_start.astype(np.int64)
        list_topic, list_start = pooled.list_topic.astype(np.int64), pooled.list_start.astype(np.int64)
        return RetrievedLists(
            topics=tuple(documents.topics), runs=names, paths=paths,
            list_run=pooled.list_run.astype(np.int64), list_topic=list_topic, list_start=list_start,
            document=pooled.document.astype(np.int64) + np.repeat(start[list_topic], np.diff(list_start)),
            score=pooled.score, start=start, pooled=pooled,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """The number of documents of all topics."""
        return int(self.start[-1])

    @cached_property
    def length(self) -> Index64:
        """For each list, the number of its documents."""
        return np.diff(self.list_start)

    @cached_property
    def rank(self) -> Index64:
        """For each entry, its rank in its list."""
        return np.arange(len(self.document)) - np.repeat(self.list_start[:-1], self.length) + 1

    def per_entry(self, numbers: Array | Index64) -> Any:
        """A number for each list, repeated for each of its entries."""
        return np.repeat(numbers, self.length)

    def by_run(self) -> Iterator[slice]:
        """The entries of each run: its lists follow one another."""
        ends = self.list_start[np.searchsorted(self.list_run, np.arange(len(self.runs) + 1))]
        return (slice(begin, end) for begin, end in pairwise(ends.tolist()))

    def where(self, list_number: int) -> str:
        """A list, for messages: the file or the run, and the topic."""
        run = int(self.list_run[list_number])
        return f"{self.paths[run] or self.runs[run]}: topic {self.topics[int(self.list_topic[list_number])]!r}"

    def with_scores(self, score: Array) -> RetrievedLists:
        """The same lists with other scores."""
        return replace(self, score=score)


class Normalisation(NamedTuple):
    """From the scores of a list to scores on a common scale."""

    name: str
    of: Callable[[RetrievedLists], Array]
    aliases: tuple[str, ...] = ()


def _reduced(lists: RetrievedLists, reduce: np.ufunc, scores: Array) -> Array:
    """A number for each list from its scores; 0 for an empty list, which has no entries that could use it."""
    filled = np.flatnonzero(lists.length)
    numbers = np.zeros(len(lists.length))
    if len(filled):
        numbers[filled] = reduce.reduceat(scores, lists.list_start[:-1][filled])
    return numbers


def _ratio(above: Array, below: Array, otherwise: Array | float) -> Array:
    result = np.empty_like(above)
    result[...] = otherwise
    return np.divide(above, below, out=result, where=below > 0)


def min_max(lists: RetrievedLists) -> Array:
    """(s − min) / (max − min)."""
    low, high = _reduced(lists, np.minimum, lists.score), _reduced(lists, np.maximum, lists.score)
    return _ratio(lists.score - lists.per_entry(low), lists.per_entry(high - low), 1.0)


def min_max_inverted(lists: RetrievedLists) -> Array:
    """(max − s) / (max − min)."""
    low, high = _reduced(lists, np.minimum, lists.score), _reduced(lists, np.maximum, lists.score)
    return _ratio(lists.per_entry(high) - lists.score, lists.per_entry(high - low), 1.0)


def by_maximum(lists: RetrievedLists) -> Array:
    """s / max."""
    high = _reduced(lists, np.maximum, lists.score)
    low = np.flatnonzero((high <= 0) & (lists.length > 0))
    if len(low):
        message = f"the highest score is {high[low[0]]:g}, must be above 0 for max; min-max and z take any scores"
        raise DataError(lists.where(int(low[0])), None, message)
    return np.asarray(lists.score / lists.per_entry(high))


def by_sum(lists: RetrievedLists) -> Array:
    """(s − min) / Σ (s − min)."""
    above = lists.score - lists.per_entry(_reduced(lists, np.minimum, lists.score))
    total = _reduced(lists, np.add, above)
    return _ratio(above, lists.per_entry(total), lists.per_entry(1 / np.maximum(lists.length, 1)))


def z_score(lists: RetrievedLists) -> Array:
    """(s − mean) / standard deviation."""
    length = np.maximum(lists.length, 1)
    from_mean = lists.score - lists.per_entry(_reduced(lists, np.add, lists.score) / length)
    deviation = np.sqrt(_reduced(lists, np.add, from_mean**2) / length)
    constant = _reduced(lists, np.minimum, lists.score) == _reduced(lists, np.maximum, lists.score)
    return _ratio(from_mean, lists.per_entry(np.where(constant, 0.0, deviation)), 0.0)


def by_rank(lists: RetrievedLists) -> Array:
    """1 − (rank − 1) / n."""
    return np.asarray(1 - (lists.rank - 1) / lists.per_entry(lists.length))


INVERTED = "min-max-inverted"
"""The normalisation of scores of which the lowest is best."""
NORMALISATIONS: Registry[Normalisation] = Registry(
    "normalisation",
    (
        Normalisation("min-max", min_max),
        Normalisation(INVERTED, min_max_inverted),
        Normalisation("max", by_maximum),
        Normalisation("sum", by_sum),
        Normalisation("z", z_score, ("zmuv", "z-score")),
        Normalisation("rank", by_rank),
        Normalisation("none", lambda lists: lists.score),
    ),
)


def normalised(lists: RetrievedLists, name: str) -> RetrievedLists:
    """The same lists with normalised scores."""
    chosen = NORMALISATIONS.find(name)
    if chosen.name not in ("rank", "none") and not np.isfinite(lists.score).all():
        entry = int(np.flatnonzero(~np.isfinite(lists.score))[0])
        place = int(np.searchsorted(lists.list_start, entry, side="right")) - 1
        message = f"the score of rank {int(lists.rank[entry])} is {lists.score[entry]}; {name} needs finite scores"
        raise DataError(lists.where(place), None, f"{message}: use rank, or a method of ranks such as rrf")
    return lists.with_scores(chosen.of(lists))
