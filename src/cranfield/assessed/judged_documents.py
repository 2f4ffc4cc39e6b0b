"""Lists that remember which judged document each hit is: what if fewer documents had been judged, or otherwise?

Runs are joined once; the lists that other judgments would give are made from the hits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.intents import Intents
from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.joined_runs import joined
from cranfield.assessed.lists import Assessed
from cranfield.assessed.sampling import has_strata
from cranfield.assessed.segments import Judged, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.errors import UsageError
from cranfield.types import Array, Index, Progress

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class JudgedDocuments:
    """Lists of every run on every judged topic, and the judged documents one by one.

    | array | one per | meaning |
    |---|---|---|
    | `topic`, `grade` | judged document | its topic and its grade (the highest, where it is judged by intent) |
    | `document` | line of the judgments | which document it judges |
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
        >>> documents.judged(keep=np.array([False, True])).rank.tolist()  # had only b been judged
        [1]
        """
        options = options or JoinOptions()
        judgments = Qrels.of(qrels, on_duplicate=options.on_duplicate)
        if options.inclusion is not None or options.dimensions is not None or has_strata(judgments):
            kind = "in several dimensions" if options.dimensions is not None else "of a sample"
            raise UsageError(f"judgments {kind} cannot be changed document by document; give plain judgments")
        table = judgments.table
        numbered, order, start = _core.by_document(table, np.arange(max(len(table.labels), 1), dtype=np.int64))
        topic = np.repeat(table.list_topic, np.diff(numbered.start)).astype(np.int64)
        grade = np.maximum.reduceat(table.values[order], start[:-1])
        if not (grade >= 1).any():
            raise UsageError(f"{judgments.path or 'the judgments'}: no document is judged relevant (grade 1 or more)")
        document = np.empty(len(order), dtype=np.int64)
        document[order] = np.repeat(np.arange(len(grade)), np.diff(start))
        described = options.intent_probabilities is not None or options.intent_types is not None
        if judgments.has_intents or described:
            lists = join(judgments, runs, options, progress)
        else:
            lists = joined(numbered, runs, options, progress)
            number = lists.grade.astype(np.int64)
            lists = lists.replace(
                document=number,
                grade=grade[number],
                judged=Judged.of(topic, grade, len(lists.topics)),
                notes=(*lists.notes, *judgments.notes),
            )
        return JudgedDocuments(judgments, lists, topic, grade, document)

    def __len__(self) -> int:
        """How many judged documents there are."""
        return len(self.grade)

    def without_ties(self) -> JudgedDocuments:
        """The same without what is known of ties, for measures that do not ask: fewer arrays to carry along."""
        return replace(self, lists=self.lists.replace(tie_first=None, tie_last=None))

    @cached_property
    def _best_first(self) -> Index:
        return np.lexsort((-self.grade, self.topic))

    @cached_property
    def _run_start(self) -> NDArray[np.int64]:
        return segment_starts(self.lists.run[self.lists.row], len(self.lists.runs))

    def judged(self, *, keep: Mask | None = None, grade: Array | None = None, runs: Index | None = None) -> Assessed:
        """The lists had only the documents of `keep` been judged, or had they been given these grades.

        `runs` are the numbers of the runs that are wanted, in ascending order; default: all.
        """
        lists = self.lists
        grades = self.grade if grade is None else grade
        if grade is not None and lists.intents is not None:
            raise UsageError("judgments by intent cannot be given other grades; give judgments without intents")
        hits: Index | slice = slice(None)
        if runs is not None:
            topics = len(lists.topics)
            hits = np.concatenate([np.arange(*self._run_start[run : run + 2]) for run in runs] or [np.arange(0)])
            rows = (runs[:, None] * topics + np.arange(topics)).ravel()
            some = lists.rows_at(rows).replace(
                runs=tuple(lists.runs[run] for run in runs), run=np.repeat(np.arange(len(runs)), topics)
            )
            new_row = np.empty(lists.rows, dtype=np.int64)
            new_row[rows] = np.arange(len(rows))
        document = lists.document
        assert document is not None
        if keep is not None:
            within = np.flatnonzero(keep[document[hits]])
            hits = within if isinstance(hits, slice) else hits[within]
        order = self._best_first if grade is None else np.lexsort((-grades, self.topic))
        left = order if keep is None else order[keep[order]]
        return (lists if runs is None else some).replace(
            row=lists.row[hits] if runs is None else new_row[lists.row[hits]],
            rank=lists.rank[hits],
            grade=grades[document[hits]],
            document=document[hits],
            tie_first=None if lists.tie_first is None else lists.tie_first[hits],
            tie_last=None if lists.tie_last is None else lists.tie_last[hits],
            judged=Judged(segment_starts(self.topic[left], len(lists.topics)), grades[left]),
            intents=lists.intents if lists.intents is None or keep is None else _kept(lists.intents, keep),
        )

    def first_ranks(self, group: Index, groups: int) -> NDArray[np.int32]:
        """groups × documents: at which rank the runs of each group have a document first; 0 where they have it not."""
        lists = self.lists
        assert lists.document is not None
        never = np.iinfo(np.int32).max
        first = np.full(groups * len(self), never, dtype=np.int32)
        np.minimum.at(first, group[lists.run[lists.row]] * len(self) + lists.document, lists.rank.astype(np.int32))
        first[first == never] = 0
        return first.reshape(groups, len(self))

    def pool(self, group: Index, names: tuple[str, ...], depth: int | None) -> Pool:
        """What each group of runs brought to a pool of their first `depth` documents (None: of whole lists)."""
        first = self.first_ranks(group, len(names))
        found = first > 0 if depth is None else (first > 0) & (first <= depth)
        finders = found.sum(axis=0)
        owner = np.where(finders == 1, found.argmax(axis=0), -1)
        return Pool(self, names, depth, found, owner)


@dataclass(frozen=True, eq=False)
class Pool:
    r"""Who found what: contributions :math:`C_j` of each group, and :math:`U_j = C_j - \bigcup_{j' \ne j} C_{j'}`."""

    documents: JudgedDocuments
    names: tuple[str, ...]
    """The groups."""
    depth: int | None
    found: Mask
    """groups × judged documents: it is among the first documents of a run of the group."""
    owner: Index
    """Of each judged document: the one group that found it, or −1."""

    def left(self, group: int) -> Mask:
        """The judged documents that stay judged without the unique contributions of a group."""
        return np.asarray(self.owner != group)

    def without(self, group: int) -> Qrels:
        """The judgments without the unique contributions of a group."""
        qrels, name = self.documents.qrels, self.names[group]
        kept = np.flatnonzero(self.left(group)[self.documents.document])
        return Qrels(qrels.table.take(kept, ""), f"{qrels.name} without {name}", "", qrels.notes)


def _kept(intents: Intents, keep: Mask) -> Intents:
    """Without the entries of documents that are not kept, and without intents to which nothing is relevant any more."""
    entries = keep[intents.document]
    useful = np.bincount(intents.intent[entries & (intents.grade >= 1)], minlength=len(intents)) > 0
    entries &= useful[intents.intent]
    number = np.cumsum(useful) - 1
    probability = intents.probability[useful]
    topic = intents.topic[useful]
    total = np.bincount(topic, probability, intents.topics)
    return replace(
        intents,
        start=segment_starts(topic, intents.topics),
        names=tuple(name for name, some in zip(intents.names, useful.tolist(), strict=True) if some),
        probability=probability / np.where(total > 0, total, 1.0)[topic],
        navigational=intents.navigational[useful],
        document_start=np.concatenate(([0], np.cumsum(entries)))[intents.document_start],
        intent=number[intents.intent[entries]],
        grade=intents.grade[entries],
        _cache={},
    )
