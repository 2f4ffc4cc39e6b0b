"""Holes: documents at the top of new runs that nobody has judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.segments import position_in_segment, segment_starts
from cranfield.building.pools.pool_building import ids_of
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.collection.qrels import Qrels
from cranfield.record import Record, table_of
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Index64


@dataclass(frozen=True, eq=False, repr=False)
class Holes(Record):
    """Unjudged documents in the first k of every list. Arrays are topics × runs."""

    facts = ("k",)

    k: int
    topics: tuple[str, ...]
    runs: tuple[str, ...]
    documents: Index64
    """Documents in the first k."""
    unjudged: Index64
    pool: Pool
    """The unjudged documents, each once, with the run that has it highest."""
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """run, documents, unjudged, share, topics: for each run, over all topics; topics with an unjudged document."""
        documents, unjudged = self.documents.sum(axis=0), self.unjudged.sum(axis=0)
        return {
            "run": np.array(self.runs, dtype=object),
            "documents": documents,
            "unjudged": unjudged,
            "share": unjudged / np.maximum(documents, 1),
            "topics with holes": (self.unjudged > 0).sum(axis=0),
        }

    def by_topic(self) -> dict[str, NDArray[Any]]:
        """run, topic, documents, unjudged: a row per list."""
        run, topic = (axis.ravel() for axis in np.indices((len(self.runs), len(self.topics))))
        return {
            "run": np.array(self.runs, dtype=object)[run],
            "topic": np.array(self.topics, dtype=object)[topic],
            "documents": self.documents[topic, run],
            "unjudged": self.unjudged[topic, run],
        }

    def topic_table(self) -> Table:
        """A row per list."""
        return table_of(self.by_topic())


def pool_holes(qrels: Any, runs: Any, k: int = 10, **reading: Any) -> Holes:
    """The unjudged documents in the first `k` of runs; `reading` is passed to `PooledLists.of`.

    >>> holes = pool_holes({"q": {"a": 1}}, {"new": {"q": {"a": 3, "b": 2, "c": 1}}}, k=2)
    >>> holes.unjudged.tolist(), holes.pool.docs("q")
    ([[1]], ['b'])
    """
    judgments = Qrels.of(qrels)
    lists = runs if isinstance(runs, PooledLists) else PooledLists.of(runs, depth=k, **reading)
    unjudged = np.isnan(lists.grades(judgments))
    row = np.repeat(np.arange(len(lists.list_start) - 1), np.diff(lists.list_start))
    shape = (len(lists.topics), len(lists.runs))
    holes = np.bincount(row, unjudged[lists.document], minlength=shape[0] * shape[1]).astype(np.int64)
    documents = np.flatnonzero(unjudged)
    entry = lists.first[documents]
    order = position_in_segment(segment_starts(lists.topic[documents], len(lists.topics)))
    pool = Pool(
        np.array(lists.topics, dtype=object)[lists.topic[documents]],
        ids_of(lists, documents),
        order,
        np.array(lists.runs, dtype=object)[lists.run[entry]],
        lists.rank[entry],
        np.full(len(documents), np.nan),
        method="holes",
    )
    notes = list(lists.notes)
    known = set(judgments.topics)
    unknown = [topic for topic in lists.topics if topic not in known]
    if unknown:
        notes.append(f"{counted(len(unknown), 'topic')} without any judgment: {listed(unknown)}")
    notes.append(f"{counted(len(documents), 'different document')} to judge")
    sizes = np.diff(lists.list_start).reshape(shape)
    return Holes(k, lists.topics, lists.runs, sizes, holes.reshape(shape), pool, tuple(notes))
