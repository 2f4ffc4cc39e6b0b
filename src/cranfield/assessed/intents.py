"""Topics with several meanings: intents with probabilities and types, judgments by intent, and their statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.attachment import Attachment
from cranfield.assessed.intent_files import (
    described_intents,
    navigational_intents,
    probabilities_of_intents,
    read_probabilities,
)
from cranfield.assessed.segments import Judged, position_in_segment, ranges, row_blocks, segment_starts, starts_of
from cranfield.collection.qrels import Qrels, intent_labels
from cranfield.errors import CranfieldWarning, warn_caller
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed


from cranfield.collection.stats import Spread

T = TypeVar("T")

MOST_ENTRIES = 1_000_000
"""Unjudged documents are added for lists with up to this many entries at a time, to bound memory."""


@dataclass(frozen=True, eq=False)
class Intents(Attachment):
    """The intents of every topic, and the grades of each judged document for them.

    | array | one per | meaning |
    |---|---|---|
    | `start` | topic | where its intents begin, with their number at the end |
    | `names`, `probability`, `navigational` | intent | name, Pr(intent \\| topic), type |
    | `document_start` | judged document | where its entries begin, with their number at the end |
    | `intent`, `grade` | entry | the grade of the document for the intent |
    | `topic_of_document` | judged document | its topic |
    """

    start: NDArray[np.int64]
    names: tuple[str, ...]
    probability: Array
    navigational: NDArray[np.bool_]
    document_start: NDArray[np.int64]
    intent: Index
    grade: Array
    topic_of_document: Index
    keep_empty: bool = False
    """Whether intents without relevant documents count as intents of their topic."""
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def topics(self) -> int:
        return len(self.start) - 1

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """How many intents each topic has."""
        return np.diff(self.start)

    @cached_property
    def topic(self) -> NDArray[np.int64]:
        """The topic of each intent."""
        return np.repeat(np.arange(self.topics), self.count)

    @cached_property
    def document(self) -> NDArray[np.int64]:
        """The document of each entry."""
        return np.repeat(np.arange(len(self.topic_of_document)), np.diff(self.document_start))

    @cached_property
    def nth(self) -> NDArray[np.int64]:
        """0 for the first intent of its topic, 1 for the next, ..."""
        return position_in_segment(self.start) - 1

    @cached_property
    def judged_count(self) -> NDArray[np.int64]:
        """How many intents of each topic have an entry; if empty intents are kept, how many there are."""
        if self.keep_empty:
            return self.count
        judged = np.bincount(self.intent, minlength=len(self)) > 0
        return np.bincount(self.topic[judged], minlength=self.topics)

    @cached_property
    def judged(self) -> Judged:
        """The judged documents of every intent."""
        return Judged.of(self.intent, self.grade, len(self))

    def above(self, lowest: float) -> Intents:
        """The same intents and documents without entries of a grade below `lowest`."""

        def make() -> Intents:
            kept = np.flatnonzero(self.grade >= lowest)
            start = np.searchsorted(kept, self.document_start)
            return replace(self, document_start=start, intent=self.intent[kept], grade=self.grade[kept], _cache={})

        return self.once(("above", lowest), make)

    @cached_property
    def entries(self) -> Array:
        """How many entries the documents of each topic have."""
        entries = np.diff(self.document_start).astype(np.float64)
        return np.bincount(self.topic_of_document, entries, self.topics).astype(np.float64)

    def blocks(self, lists: Assessed) -> list[tuple[int, int]]:
        added = lists.retrieved * self.count[lists.topic]
        return row_blocks(self.entries[lists.topic] + added, MOST_ENTRIES)

    def with_unjudged(self, lists: Assessed, row: Index, hits: Index, grade: float) -> dict[str, Any]:
        """Add unjudged documents, with `grade` for every intent of their topic.

        Each list then has its own judged documents, and so becomes a topic of its own.
        """
        if lists.document is None:
            return {}
        topic, unjudged = lists.topic, np.ones(len(row), dtype=bool)
        unjudged[hits] = False
        by_topic = np.argsort(self.topic_of_document, kind="stable")
        start = segment_starts(self.topic_of_document, self.topics)
        judged, added = np.diff(start)[topic], np.bincount(row[unjudged], minlength=lists.rows)
        begin = starts_of(judged + added)
        place = np.empty(len(by_topic), dtype=np.int64)
        place[by_topic] = position_in_segment(start) - 1
        source, old = by_topic[ranges(start[topic], judged)], ranges(begin[:-1], judged)
        new = ranges(begin[:-1] + judged, added)
        intent_start = starts_of(self.count[topic])
        # One more topic, which no list has, keeps the largest grade of topics without a list here.
        size = np.ones(begin[-1] + 1, dtype=np.int64)
        size[old], size[new] = np.diff(self.document_start)[source], self.count[topic][row[unjudged]]
        entries = starts_of(size)
        intent = np.full(entries[-1], intent_start[-1])
        grades = np.full(entries[-1], self.grade.max(initial=0.0))
        from_entry, to_entry = ranges(self.document_start[source], size[old]), ranges(entries[old], size[old])
        list_of_entry = np.repeat(np.repeat(np.arange(lists.rows), judged), size[old])
        intent[to_entry] = intent_start[list_of_entry] + self.nth[self.intent[from_entry]]
        grades[to_entry] = self.grade[from_entry]
        to_entry = ranges(entries[new], size[new])
        intent[to_entry], grades[to_entry] = ranges(intent_start[row[unjudged]], size[new]), grade
        copied = ranges(self.start[topic], self.count[topic])
        document = np.empty(len(row), dtype=np.int64)
        document[hits], document[unjudged] = begin[lists.row] + place[lists.document], new
        intents = Intents(
            start=np.append(intent_start, intent_start[-1] + 1),
            names=(*(self.names[number] for number in copied.tolist()), ""),
            probability=np.append(self.probability[copied], 1.0),
            navigational=np.append(self.navigational[copied], False),
            document_start=entries,
            intent=intent,
            grade=grades,
            topic_of_document=np.append(np.repeat(np.arange(lists.rows), judged + added), lists.rows),
            keep_empty=self.keep_empty,
        )
        topics = tuple(lists.topics[number] for number in topic.tolist())
        return {"intents": intents, "document": document, "topic": np.arange(lists.rows), "topics": topics}

    def only(self, documents: NDArray[np.bool_], intents: NDArray[np.bool_] | None = None) -> Intents:
        """Without the other documents and intents, and (unless kept) intents that then have no relevant document."""
        entries = documents[self.document]
        if intents is not None:
            entries &= intents[self.intent]
        useful = np.bincount(self.intent[entries & (self.grade >= 1)], minlength=len(self)) > 0
        if self.keep_empty:
            useful = (np.bincount(self.topic[useful], minlength=self.topics) > 0)[self.topic]
            useful &= True if intents is None else intents
        entries &= useful[self.intent]
        topic, probability = self.topic[useful], self.probability[useful]
        as_they_are = self.keep_empty and intents is None
        total = np.ones(self.topics) if as_they_are else np.bincount(topic, probability, self.topics)
        return replace(
            self,
            start=segment_starts(topic, self.topics),
            names=tuple(name for name, kept in zip(self.names, useful.tolist(), strict=True) if kept),
            probability=probability / np.where(total > 0, total, 1.0)[topic],
            navigational=self.navigational[useful],
            document_start=starts_of(entries.astype(np.int64))[self.document_start],
            intent=(np.cumsum(useful) - 1)[self.intent[entries]],
            grade=self.grade[entries],
            _cache={},
        )

    def described(self, probabilities: Any, types: Any) -> Intents:
        """The intents of a single topic with probabilities {intent: p} and types {intent: type}, or as for a file."""
        topic, labels, topics = self.topic, list(self.names), ["topic"]
        likely = {topics[0]: probabilities} if isinstance(probabilities, Mapping) else probabilities
        return replace(
            self,
            probability=probabilities_of_intents(likely, topic, labels, topics, self.start),
            navigational=navigational_intents(None if types is None else {topics[0]: types}, topic, labels, topics),
            _cache={},
        )

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The result of `make`, which depends only on the judgments; computed once."""
        if key not in self._cache:
            self._cache[key] = make()
        return cast(T, self._cache[key])

    @cached_property
    def entry_nth(self) -> NDArray[np.int32]:
        """For each entry: 0 if its intent is the first of its topic, 1 if it is the next, ..."""
        return self.nth[self.intent].astype(np.int32)


def judged_by_intent(
    qrels: Qrels, probabilities: Any = None, types: Any = None, *, keep_empty: bool = False
) -> tuple[_core.Judged, Intents]:
    """The documents of judgments, ready to be joined, and the intents.

    `probabilities` gives Pr(intent | topic), and `types` says which intents are `informational` or `navigational`.
    Each is {topic: {intent: value}} or a file with lines `topic intent value`. By default all intents are equally
    likely and informational. Probabilities can also be `uniform` or `nonuniform`, by which every intent is half as
    likely as the one before it: 2^(n−j+1) / Σ 2^k for the j-th of n (Sakai 2013 Table 1; Sakai & Song, SIGIR 2011).
    Intents without relevant documents are left out, and the other intents share their probability; with `keep_empty`
    they are kept, also those that only `probabilities` names, in topics that have relevant documents. The label 0 of
    documents that are relevant to nothing is not an intent (`intent_labels`); the documents count as judged.
    """
    table = qrels.table
    topics, codes = table.topics, max(len(table.labels), 1)
    place = np.empty(codes, dtype=np.int64)
    names = table.labels or ["0"]
    place[sorted(range(codes), key=lambda code: _natural(names[code]))] = np.arange(codes)
    judged, document_start, intent, grade, of_list, label, *empty = _core.documents_by_intent(table, place)
    of_topic = table.list_topic[of_list].astype(np.int64)
    labels = [names[code] for code in label.tolist()]
    known = set(intent_labels(table)) or set(names)
    without = [
        (topic, names[code])
        for topic, code in zip(table.list_topic[empty[0]].tolist(), empty[1].tolist(), strict=True)
        if names[code] in known
    ]
    if keep_empty:
        probabilities = read_probabilities(probabilities)
        without += described_intents(probabilities, topics)
        of_topic, labels, intent = _with_empty(of_topic, labels, intent, without)
    else:
        _warn_empty([f"{topics[topic]}/{label}" for topic, label in without])
    start = segment_starts(of_topic, len(topics))
    return judged, Intents(
        start=start,
        names=tuple(labels),
        probability=probabilities_of_intents(probabilities, of_topic, labels, topics, start, keep_empty=keep_empty),
        navigational=navigational_intents(types, of_topic, labels, topics),
        document_start=document_start,
        intent=intent,
        grade=grade,
        topic_of_document=np.repeat(table.list_topic, np.diff(judged.start)).astype(np.int64),
        keep_empty=keep_empty,
    )


def _with_empty(
    of_topic: NDArray[np.int64], labels: list[str], intent: NDArray[np.int64], without: list[tuple[int, str]]
) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
    """The topic and name of each intent, and the intent of each entry, with further intents that have no entries."""
    useful = list(zip(of_topic.tolist(), labels, strict=True))
    topics = {topic for topic, _ in useful}
    every = {*useful, *(pair for pair in without if pair[0] in topics)}
    in_order = sorted(every, key=lambda pair: (pair[0], _natural(pair[1])))
    number = {pair: place for place, pair in enumerate(in_order)}
    renumbered = np.array([number[pair] for pair in useful], dtype=np.int64)
    return np.array([topic for topic, _ in in_order]), [label for _, label in in_order], renumbered[intent]


def _natural(name: str) -> tuple[int, int, str]:
    """A key that sorts intents by number if their names are numbers, else by name."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


def _warn_empty(names: list[str]) -> None:
    if names:
        intents = counted(len(names), "intent without relevant documents is", "intents without relevant documents are")
        message = f"{intents} left out: {listed(names)}"
        warn_caller(message, CranfieldWarning)


@dataclass(frozen=True)
class IntentGroup:
    """The intents of one type, or all."""

    kind: str
    """`all`, `informational` or `navigational`."""
    per_topic: Spread
    """Intents with a relevant document per topic; the total is their number."""
    relevant: Spread
    """Relevant documents per intent; a document that is relevant to two intents counts twice in the total."""
    by_level: Mapping[float, int]
    """The number of these with each grade."""


@dataclass(frozen=True)
class IntentStatistics:
    """The intents of diversity judgments.

    >>> statistics = of_intents(b"1 1 d1 2\\n1 2 d1 1\\n1 2 d2 1\\n", types={"1": {"1": "nav", "2": "inf"}})
    >>> [(group.kind, group.per_topic.total, group.relevant.total) for group in statistics.groups]
    [('all', 2, 3), ('informational', 1, 2), ('navigational', 1, 1)]
    """

    topics: int
    groups: tuple[IntentGroup, ...]
    """All intents, then those of each type if types are given."""
    per_document: Spread
    """Intents to which a document is relevant, over the documents that are relevant to one or more."""
    relevant_documents: int
    """The number of these documents."""


def of_intents(qrels: Any, types: Any = None, rel: float = 1) -> IntentStatistics:
    """Statistics of judgments by intent; `types` is {topic: {intent: type}} or a file, as in `JoinOptions`.

    Intents without relevant documents are left out, with a warning.
    """
    judgments = Qrels.of(qrels)
    if types is not None and not judgments.has_intents:
        judgments = judgments.with_intents()
    _, intents = judged_by_intent(judgments, None, types)
    every = np.ones(len(intents), dtype=bool)
    groups = [_group("all", intents, every, rel)]
    if types is not None:
        groups.append(_group("informational", intents, ~intents.navigational, rel))
        groups.append(_group("navigational", intents, intents.navigational, rel))
    relevant = np.bincount(intents.document[intents.grade >= rel], minlength=len(intents.topic_of_document))
    relevant = relevant[relevant > 0]
    return IntentStatistics(len(judgments.topics), tuple(groups), Spread.of(relevant), len(relevant))


def _group(kind: str, intents: Intents, kept: NDArray[np.bool_], rel: float) -> IntentGroup:
    relevant = (intents.grade >= rel) & kept[intents.intent]
    levels, counts = np.unique(intents.grade[relevant], return_counts=True)
    return IntentGroup(
        kind,
        Spread.of(np.bincount(intents.topic[kept], minlength=intents.topics)),
        Spread.of(np.bincount(intents.intent[relevant], minlength=len(intents))[kept]),
        dict(zip(levels.tolist(), counts.tolist(), strict=True)),
    )
