"""What runs contributed to a pool, and what the pool lacks of new ones: documents at their top that nobody judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assessed.changed_lists.judged_documents import JudgedDocuments
from cranfield.assessed.join_options import JoinOptions
from cranfield.building.pools.pool_building import places_in_topics, pool_of
from cranfield.building.pools.pool_file import Pool
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Belongs, belongs
from cranfield.declared.operation import about, operation
from cranfield.meta.complete_scores import Rel
from cranfield.meta.judgments.leave_out import run_groups
from cranfield.record import Record, crossed, table_of
from cranfield.table import Table
from cranfield.text import counted, listed
from cranfield.types import Index64, Progress


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Record):
    """For each run or team: the judged documents in its first `depth`, and those that no other has there."""

    facts = ("by", "depth")

    by: str
    """`run` or `team`."""
    names: tuple[str, ...]
    depth: int | None
    runs: Index64
    """The number of runs of each."""
    judged: Index64
    relevant: Index64
    unique: Index64
    """Judged documents that no other has."""
    unique_relevant: Index64
    all_relevant: int
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """run or team, runs, judged, relevant, unique, unique relevant, share of all relevant; most unique first."""
        order = np.lexsort((np.arange(len(self.names)), -self.unique_relevant))
        columns = {
            self.by: np.array(self.names, dtype=object),
            "runs": self.runs,
            "judged": self.judged,
            "relevant": self.relevant,
            "unique": self.unique,
            "unique relevant": self.unique_relevant,
            "share": self.unique_relevant / max(self.all_relevant, 1),
        }
        if self.by == "run":
            del columns["runs"]
        return {name: column[order] for name, column in columns.items()}


@operation
def pool_contributions(
    qrels: Any,
    runs: Any,
    *,
    teams: Belongs | None = None,
    depth: Annotated[
        int | None,
        about("The first N documents of each list; default: whole lists.", least=1, spelled="--pool-depth N"),
    ] = None,
    rel: Rel = 1,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> Contributions:
    """The judged documents that each run, or each team, has in its first `depth` (None: whole lists).

    teams: {run: team}, or a file of run and team; a run without a team counts for itself.

    Reference: Zobel, SIGIR 1998, doi:10.1145/290941.291014

    >>> runs = {"x": {"q": {"a": 3, "b": 2}}, "y": {"q": {"a": 3, "c": 2}}}
    >>> result = pool_contributions({"q": {"a": 1, "b": 1, "c": 0}}, runs)
    >>> result.unique.tolist(), result.unique_relevant.tolist()
    ([1, 1], [1, 0])
    """
    documents = JudgedDocuments.of(qrels, runs, options, progress)
    names, group = run_groups(documents.lists.runs, None if teams is None else belongs(teams, "team"), runs)
    pool = documents.pool(group, names, depth)
    relevant = documents.grade >= rel
    outside = int((~pool.contributed.any(axis=0)).sum())
    where = "whole lists" if depth is None else f"the first {depth} documents of each list"
    notes = [*documents.lists.notes, f"{where}; {counted(int(relevant.sum()), 'relevant document')} in all"]
    if outside:
        what = counted(outside, "judged document is", "judged documents are")
        notes.append(f"{what} in no list{'' if depth is None else ' to that depth'}")

    def count(mask: NDArray[np.bool_]) -> Index64:
        return np.asarray(mask.sum(axis=1), dtype=np.int64)

    return Contributions(
        "run" if teams is None else "team", names, depth, np.bincount(group, minlength=len(names)),
        count(pool.contributed), count(pool.contributed[:, relevant]), pool.owned(), pool.owned(relevant),
        int(relevant.sum()), tuple(notes),
    )  # fmt: skip


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
        counts = {"documents": self.documents.T, "unjudged": self.unjudged.T}
        return crossed({"run": self.runs, "topic": self.topics}, counts)

    def topic_table(self) -> Table:
        """A row per list."""
        return table_of(self.by_topic())


@operation
def pool_holes(
    qrels: Any,
    runs: Any,
    k: Annotated[int, about("Look at the first N documents of each list.", least=1, spelled="--cutoff, -k N")] = 10,
    **reading: Any,
) -> Holes:
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
    order, none = places_in_topics(lists, documents), np.full(len(documents), np.nan)
    pool = pool_of(lists, documents, order, lists.first[documents], none, method="holes")
    notes = list(lists.notes)
    known = set(judgments.topics)
    unknown = [topic for topic in lists.topics if topic not in known]
    if unknown:
        notes.append(f"{counted(len(unknown), 'topic')} without any judgment: {listed(unknown)}")
    notes.append(f"{counted(len(documents), 'different document')} to judge")
    sizes = np.diff(lists.list_start).reshape(shape)
    return Holes(k, lists.topics, lists.runs, sizes, holes.reshape(shape), pool, tuple(notes))
