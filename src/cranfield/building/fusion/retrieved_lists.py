"""The lists of several runs as arrays: for each retrieved document its number, rank and score."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import distinct_names, each_run
from cranfield.building.pools.pooled_lists import read_each
from cranfield.errors import UsageError
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
    def of(runs: Any, *, depth: int | None, options: JoinOptions, progress: Progress | None = None) -> RetrievedLists:
        """The lists of anything that `evaluate` takes, down to `depth`."""
        reading: dict[str, Any] = {
            "on_duplicate": options.on_duplicate, "split_tags": options.split_tags, "format": options.format,
        }  # fmt: skip
        pooled = _core.PooledDocuments()
        names, paths, threads = [], [], options.threads or os.cpu_count() or 1
        sources = each_run(runs)
        for number, together in enumerate(read_each(sources, reading, threads)):
            for run in together:
                try:
                    pooled.add(run.table, options.order or "score", options.precision == 32, depth or 0, threads, True)
                except ValueError as error:
                    raise UsageError(f"{run.path or run.name}: {error}") from None
                names.append(run.name)
                paths.append(run.path or "")
            if progress is not None:
                progress(number + 1, len(sources))
        documents = pooled.documents()
        start = documents.list_start.astype(np.int64)
        list_topic, list_start = pooled.list_topic.astype(np.int64), pooled.list_start.astype(np.int64)
        return RetrievedLists(
            topics=tuple(documents.topics), runs=tuple(distinct_names(names, paths)), paths=tuple(paths),
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
