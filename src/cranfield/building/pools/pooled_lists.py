"""The documents that runs retrieve for each topic, numbered: what every pool is chosen from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield import _core, check
from cranfield.assessed.given_runs import pooled_documents
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.segments import segment_starts, starts_of
from cranfield.collection.accepted_inputs import RunsLike
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.text import counted, listed
from cranfield.types import Array, Index, Index64, Progress

Mask = NDArray[np.bool_]
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class PooledLists:
    """The first documents of every list (topic × run). Documents are numbered topic by topic.

    Within a topic, documents are in the order of a depth-k pool: all first ranks, then all second ranks, and so on; at
    the same rank, in the order of the runs. All policies break ties by this number.

    | array | one per | meaning |
    |---|---|---|
    | `start` | topic | its first document; the last entry is the number of documents |
    | `list_start` | list (topic × run) | its first entry |
    | `document`, `rank` | entry, by list and rank | the document and its rank |
    """

    topics: tuple[str, ...]
    runs: tuple[str, ...]
    start: Index64
    list_start: Index64
    document: Index64
    rank: Index64
    names: DocumentNames = field(repr=False)
    notes: tuple[str, ...] = ()
    topics_chosen: bool = False
    """Were topics chosen by name, so that others are left out on purpose?"""

    @staticmethod
    def of(
        runs: RunsLike,
        *,
        depth: int | None = 100,
        topics: Iterable[str] | None = None,
        options: JoinOptions | None = None,
        progress: Progress | None = None,
    ) -> PooledLists:
        """The first `depth` documents of every list (None: all), of all topics or of some.

        `runs` is anything that `evaluate` takes: files, patterns, dicts, frames, `Run`s, or {name: run}.

        >>> lists = PooledLists.of({"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"c": 3, "a": 2}}})
        >>> lists.docs(0)  # rank 1 of x and of y, then rank 2
        ['a', 'c', 'b']
        """
        check.whole("", depth=depth)
        pooled, names, _ = pooled_documents(runs, depth, options or JoinOptions(), progress)
        if not names:
            raise UsageError("no runs given")
        lists = _numbered(pooled, names)
        if not lists.size:
            raise UsageError(f"{counted(len(names), 'run')} without any document: {listed(lists.runs)}")
        if topics is not None:
            lists = lists.of_topics(topics)
        return replace(lists, notes=(*lists.notes, *lists._about_runs()))

    # -- sizes and names

    @property
    def size(self) -> int:
        """The number of documents of all topics."""
        return int(self.start[-1])

    @cached_property
    def topic(self) -> Index64:
        """For each document, its topic."""
        return np.repeat(np.arange(len(self.topics)), np.diff(self.start))

    @cached_property
    def run(self) -> Index64:
        """For each entry, its run."""
        return np.repeat(np.tile(np.arange(len(self.runs)), len(self.topics)), np.diff(self.list_start))

    def docs(self, topic: int) -> list[str]:
        """The ids of the documents of a topic, by number."""
        return self.names.of(int(self.start[topic]), int(self.start[topic + 1]))

    def number_of(self, topic: int) -> dict[str, int]:
        """{id: document} of a topic."""
        if topic not in self._numbers:
            self._numbers[topic] = {doc: int(self.start[topic]) + n for n, doc in enumerate(self.docs(topic))}
        return self._numbers[topic]

    def place(self, topic: str, doc: str) -> int | None:
        """The number of a document of a topic; None if no run retrieved it."""
        number = self.topic_number.get(topic)
        return None if number is None else self.number_of(number).get(doc)

    @cached_property
    def _numbers(self) -> dict[int, dict[str, int]]:
        return {}

    @cached_property
    def topic_number(self) -> dict[str, int]:
        """{topic: its number}."""
        return {topic: number for number, topic in enumerate(self.topics)}

    # -- the lists that retrieved a document

    @cached_property
    def by_document(self) -> Index64:
        """All entries, sorted by document and then by run."""
        return np.argsort(self.document, kind="stable")

    @cached_property
    def document_start(self) -> Index64:
        """For each document, where its entries begin in `by_document`."""
        return segment_starts(self.document[self.by_document], self.size)

    @cached_property
    def first(self) -> Index64:
        """For each document, the entry with its best rank (of the first run, if several have it)."""
        order = np.lexsort((self.run, self.rank, self.document))
        return np.asarray(order[segment_starts(self.document[order], self.size)[:-1]])

    def entry(self, topic: str, run: str, rank: int) -> int:
        """The entry of a list at a rank that it has."""
        row = self.topic_number[topic] * len(self.runs) + self.runs.index(run)
        begin, end = int(self.list_start[row]), int(self.list_start[row + 1])
        return begin + int(np.searchsorted(self.rank[begin:end], rank))

    def grades(self, qrels: Qrels) -> Array:
        """The grade of each document, the highest if it is judged by intent; NaN if it is not judged."""
        judged = _core.by_document(qrels.table, np.arange(max(len(qrels.table.labels), 1), dtype=np.int64))[0]
        return self.names.grades(judged)

    # -- parts

    def of_topics(self, wanted: Iterable[str]) -> PooledLists:
        """The lists of some topics; a note names topics that no run has."""
        names = list(dict.fromkeys(str(topic) for topic in wanted))
        known = {topic for topic, docs in zip(self.topics, np.diff(self.start), strict=True) if docs}
        absent = [topic for topic in names if topic not in known]
        chosen = known & set(names)
        kept = [number for number, topic in enumerate(self.topics) if topic in chosen]
        if not kept:
            raise UsageError(f"no run has any of the topics {listed(names)}; the runs have {listed(self.topics)}")
        what = counted(len(absent), "topic is", "topics are")
        notes = (f"{what} in no run: {listed(absent)}",) if absent else ()
        lists = self.only(np.isin(self.topic, kept))
        return replace(lists._of_rows(kept), notes=(*self.notes, *notes), topics_chosen=True)

    def only(self, documents: Mask) -> PooledLists:
        """The lists with some of their documents, at their old ranks."""
        return self._taken(np.flatnonzero(documents), documents[self.document])

    def of_runs(self, runs: Mask) -> tuple[PooledLists, Index64]:
        """The lists of some runs, and the old number of each document; the other runs keep empty lists."""
        entries = runs[self.run]
        best = best_ranks(self.document[entries], self.rank[entries], self.run[entries], self.size, len(self.runs))
        kept = np.flatnonzero(best < NEVER)
        kept = kept[np.lexsort((best[kept], self.topic[kept]))]
        return self._taken(kept, entries), kept

    def _taken(self, kept: Index64, entries: Mask) -> PooledLists:
        """Some entries, and the documents that they are about in their new order."""
        number = np.full(self.size, -1)
        number[kept] = np.arange(len(kept))
        rows = np.repeat(np.arange(len(self.list_start) - 1), np.diff(self.list_start))[entries]
        return replace(
            self,
            start=segment_starts(self.topic[kept], len(self.topics)),
            list_start=segment_starts(rows, len(self.list_start) - 1),
            document=number[self.document[entries]],
            rank=self.rank[entries],
            names=self.names.take(kept),
        )

    def _of_rows(self, topics: Sequence[int]) -> PooledLists:
        """The lists of some topics, which must hold all documents that are left."""
        lists = (np.asarray(topics)[:, None] * len(self.runs) + np.arange(len(self.runs))).ravel()
        sizes = np.diff(self.list_start)
        return replace(
            self,
            topics=tuple(self.topics[number] for number in topics),
            start=starts_of(np.diff(self.start)[topics]),
            list_start=starts_of(sizes[lists]),
            names=self.names,
        )

    @staticmethod
    def stacked(parts: Sequence[PooledLists]) -> PooledLists:
        """Several collections of lists of the same runs below one another; topics may repeat."""
        sizes = np.cumsum([0] + [part.size for part in parts])
        return replace(
            parts[0],
            topics=tuple(topic for part in parts for topic in part.topics),
            start=starts_of(np.concatenate([np.diff(part.start) for part in parts])),
            list_start=starts_of(np.concatenate([np.diff(part.list_start) for part in parts])),
            document=np.concatenate([part.document + size for part, size in zip(parts, sizes[:-1], strict=True)]),
            rank=np.concatenate([part.rank for part in parts]),
        )

    # -- what is odd

    def _about_runs(self) -> Iterator[str]:
        sizes = np.diff(self.list_start).reshape(len(self.topics), len(self.runs))
        lacking = (sizes == 0).any(axis=0)
        if lacking.any():
            lists = counted(int((sizes == 0).sum()), "list is", "lists are")
            runs = listed(self.runs[number] for number in np.flatnonzero(lacking))
            yield f"{lists} missing or empty (a run lacks a topic that others have): {runs}"
        same: dict[tuple[bytes, bytes], list[str]] = {}
        for number, name in enumerate(self.runs):
            documents = self.document[self.run == number]
            same.setdefault((documents.tobytes(), sizes[:, number].tobytes()), []).append(name)
        for names in same.values():
            if len(names) > 1:
                yield (
                    f"{counted(len(names), 'run')} retrieve the same documents in the same order, as deep as they are "
                    f"pooled: {listed(names)}; methods that count runs count them all"
                )


@dataclass(frozen=True, eq=False)
class DocumentNames:
    """The ids of documents: rows of a table of the core."""

    table: _core.Table
    row: Index64

    def of(self, begin: int, end: int) -> list[str]:
        rows = self.row[begin:end]
        if not len(rows):
            return []
        low, high = int(rows.min()), int(rows.max()) + 1  # the documents of a topic are close together
        names = self.table.docs(low, high)
        return [names[row] for row in (rows - low).tolist()]

    def take(self, documents: Index64) -> DocumentNames:
        return DocumentNames(self.table, self.row[documents])

    def grades(self, judged: _core.Judged) -> Array:
        joined = _core.join_tables(judged, [self.table], "file", False, 0)
        list_of = {self.table.topics[topic]: place for place, topic in enumerate(self.table.list_topic.tolist())}
        first = np.array([self.table.list_start[list_of[name]] if name in list_of else -1 for name in judged.topics])
        grade = np.full(len(self.table), np.nan)
        if len(joined["row"]):
            grade[first[joined["row"]] + joined["rank"] - 1] = np.asarray(judged.grade)[joined["document"]]
        return np.asarray(grade[self.row])


def best_ranks(document: Index, rank: Index, run: Index, documents: int, runs: int) -> Index64:
    """A number per document that orders them by best rank, then by run; `NEVER` if there is no entry."""
    best = np.full(documents, NEVER)
    np.minimum.at(best, document, rank * runs + run)
    return best


def _numbered(pooled: _core.PooledDocuments, runs: tuple[str, ...]) -> PooledLists:
    """The lists with documents numbered by topic, best rank and run."""
    table = pooled.documents()
    topics, topic_start = tuple(table.topics), np.asarray(table.list_start)
    sizes = np.diff(pooled.list_start)
    entry_topic, entry_run = np.repeat(pooled.list_topic, sizes), np.repeat(pooled.list_run, sizes)
    rank = np.arange(len(entry_topic)) - np.repeat(pooled.list_start[:-1], sizes) + 1
    row = topic_start[entry_topic] + pooled.document
    best = best_ranks(row, rank, entry_run, len(table), len(runs))
    row_topic = np.repeat(np.arange(len(topics)), np.diff(topic_start))
    order = np.lexsort((best, row_topic))
    number = np.empty(len(table), dtype=np.int64)
    number[order] = np.arange(len(table))
    lists = entry_topic.astype(np.int64) * len(runs) + entry_run
    by_list = np.argsort(lists, kind="stable")  # entries of a list stay in the order of their ranks
    return PooledLists(
        topics,
        runs,
        np.asarray(topic_start, dtype=np.int64),
        segment_starts(lists[by_list], len(topics) * len(runs)),
        number[row[by_list]],
        rank[by_list].astype(np.int64),
        DocumentNames(table, order),
    )
