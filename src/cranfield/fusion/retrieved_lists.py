"""The lists of several runs as arrays: for each retrieved document its number, rank and score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.retrieved_documents import pooled_documents
from cranfield.collection.accepted_inputs import RunsLike
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
