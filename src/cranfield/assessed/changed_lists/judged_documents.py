"""Lists under other judgments: if fewer documents had been judged, or if they had other grades.

Runs are joined once; the lists under other judgments are made from the hits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.intents import Intents
from cranfield.assessed.join import is_sample, join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import JudgedIndex, join_runs
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Judged, ranges, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.types import Array, Index, Progress

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class JudgedDocuments:
    """Lists of every run on every judged topic, and the judged documents.

    | array | one per | meaning |
    |---|---|---|
    | `topic`, `grade` | judged document | its topic and its grade (the highest, if it is judged by intent) |
    | `document` | line of the judgments | the document that it judges |
    """

    qrels: Qrels
    lists: Assessed
    topic: NDArray[np.int64]
    grade: Array
    document: NDArray[np.int64]

    @staticmethod
    def of(
        qrels: Any, runs: Any, options: JoinOptions | None = None, progress: Progress | None = None
    ) -> JudgedDocuments:
        """Runs joined with judgments; both are anything that `join` takes.

        >>> documents = JudgedDocuments.of({"q": {"a": 1, "b": 0}}, {"mine": {"q": {"b": 2.0, "a": 1.0}}})
        >>> documents.judged(keep=np.array([False, True])).rank.tolist()  # if only b had been judged
        [1]
        """
        options = options or JoinOptions()
        judgments = Qrels.of(qrels, on_duplicate=options.on_duplicate)
        if options.together is not None:
            raise UsageError("together: judgments of sets of documents cannot be changed document by document")
        if options.dimensions is not None or is_sample(judgments, options):
            kind = "in several dimensions" if options.dimensions is not None else "of a sample"
            raise UsageError(f"judgments {kind} cannot be changed document by document; give plain judgments")
        table = judgments.table
        judged, order, start = _core.by_document(table, np.arange(max(len(table.labels), 1), dtype=np.int64))
        topic = np.repeat(table.list_topic, np.diff(judged.start)).astype(np.int64)
        grade = np.array(judged.grade)
        if not (grade >= 1).any():
            raise UsageError(f"{judgments.path or 'the judgments'}: no document is judged relevant (grade 1 or more)")
        document = np.empty(len(order), dtype=np.int64)
        document[order] = np.repeat(np.arange(len(grade)), np.diff(start))
        if judgments.has_intents or options.described_intents:
            lists = join(judgments, runs, options, progress)
        else:
            lists = join_runs(JudgedIndex.of(judged), runs, options, progress, judgments)
            lists = lists.replace(notes=(*lists.notes, *judgments.notes))
        return JudgedDocuments(judgments, lists, topic, grade, document)

    def __len__(self) -> int:
        return len(self.grade)

    def without_ties(self) -> JudgedDocuments:
        """The same without ties, to save time for measures that do not need them."""
        return replace(self, lists=self.lists.replace(tie_first=None, tie_last=None))

    @cached_property
    def _best_first(self) -> Index:
        return np.lexsort((-self.grade, self.topic))

    @cached_property
    def _run_start(self) -> NDArray[np.int64]:
        return segment_starts(self.lists.run[self.lists.row], len(self.lists.runs))

    def judged(
        self,
        *,
        keep: Mask | None = None,
        grade: Array | None = None,
        intents: Mask | None = None,
        runs: Index | None = None,
    ) -> Assessed:
        """The lists as if only the documents of `keep` had been judged, or as if they had these grades.

        With `intents`, as if topics had only these intents; documents judged for none of them are then not judged.
        `runs` are the numbers of the wanted runs in ascending order; None: all runs.
        """
        lists, document = self.lists, self.lists.document
        assert document is not None
        grades = self.grade if grade is None else grade
        if grade is not None and lists.intents is not None:
            raise UsageError("judgments by intent cannot have other grades; give judgments without intents")
        by_intent = lists.intents
        if intents is not None:
            assert by_intent is not None
            stay, grades = self._for_intents(by_intent, intents)
            grade, keep = grades, stay if keep is None else keep & stay
        rows: Index | slice = slice(None)
        hits: Index | slice = slice(None)
        row, names, run = lists.row, lists.runs, lists.run
        if runs is not None:
            topics = len(lists.topics)
            rows = (runs[:, None] * topics + np.arange(topics)).ravel()
            hits = ranges(self._run_start[runs], np.diff(self._run_start)[runs])
            new_row = np.empty(lists.rows, dtype=np.int64)
            new_row[rows] = np.arange(len(rows))
            row = new_row[row[hits]]
            names, run = tuple(names[number] for number in runs), np.repeat(np.arange(len(runs)), topics)
        if keep is not None:
            kept = np.flatnonzero(keep[document[hits]])
            hits, row = kept if isinstance(hits, slice) else hits[kept], row[kept]
        order = self._best_first if grade is None else np.lexsort((-grades, self.topic))
        judged = order if keep is None else order[keep[order]]
        return lists.take_hits(rows, hits, row).replace(
            runs=names,
            run=run,
            grade=grades[document[hits]],
            judged=Judged(segment_starts(self.topic[judged], len(lists.topics)), grades[judged]),
            intents=by_intent if by_intent is None or keep is None else by_intent.only(keep, intents),
        )

    def _for_intents(self, by_intent: Intents, kept: Mask) -> tuple[Mask, Array]:
        """Which documents are judged for one of these intents or for none at all, and their highest grade for them."""
        entries = kept[by_intent.intent]
        document = by_intent.document
        stay = np.bincount(document, minlength=len(self)) == 0
        grades = np.where(stay, self.grade, -np.inf)
        stay[document[entries]] = True
        np.maximum.at(grades, document[entries], by_intent.grade[entries])
        return stay, np.where(stay, grades, self.grade)

    def first_ranks(self, group: Index, groups: int) -> NDArray[np.int32]:
        """groups × documents: the best rank of a document in the runs of a group; 0 if none retrieved it."""
        lists = self.lists
        assert lists.document is not None
        never = np.iinfo(np.int32).max
        first = np.full(groups * len(self), never, dtype=np.int32)
        np.minimum.at(first, group[lists.run[lists.row]] * len(self) + lists.document, lists.rank.astype(np.int32))
        first[first == never] = 0
        return first.reshape(groups, len(self))

    def pool(self, group: Index, names: tuple[str, ...], depth: int | None) -> Pool:
        """What each group of runs contributes to a pool of their first `depth` documents (None: whole lists)."""
        first = self.first_ranks(group, len(names))
        contributed = first > 0 if depth is None else (first > 0) & (first <= depth)
        owner = np.where(contributed.sum(axis=0) == 1, contributed.argmax(axis=0), -1)
        return Pool(self, names, depth, contributed, owner)


@dataclass(frozen=True, eq=False)
class Pool:
    r"""The contributions :math:`C_j` of each group of runs to a pool.

    A group owns the documents :math:`U_j = C_j - \bigcup_{j' \ne j} C_{j'}` that no other group contributed.
    """

    documents: JudgedDocuments
    names: tuple[str, ...]
    """The groups."""
    depth: int | None
    contributed: Mask
    """groups × judged documents: whether a run of the group retrieved the document in its first `depth`."""
    owner: Index
    """For each judged document: the only group that contributed it, or −1."""

    def left(self, group: int) -> Mask:
        """Which documents stay judged without the unique contributions of a group."""
        return np.asarray(self.owner != group)

    def owned(self, among: Mask | None = None) -> NDArray[np.int64]:
        """For each group, the number of documents that no other group contributed; `among`: of these documents."""
        owner = self.owner if among is None else self.owner[among]
        return np.bincount(owner[owner >= 0], minlength=len(self.names)).astype(np.int64)

    def without(self, group: int) -> Qrels:
        """The judgments without the unique contributions of a group."""
        qrels, name = self.documents.qrels, self.names[group]
        kept = np.flatnonzero(self.left(group)[self.documents.document])
        return Qrels(qrels.table.take(kept, ""), f"{qrels.name} without {name}", "", qrels.notes)
