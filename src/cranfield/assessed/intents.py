"""Topics that may mean several things: intents with probabilities and types, and judgments given for each intent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.intent_files import navigational_intents, probabilities_of_intents
from cranfield.assessed.segments import Judged, position_in_segment, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.errors import CranfieldWarning
from cranfield.types import Array, Index

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Intents:
    """The intents of every topic, topic after topic, and what each judged document is worth to each.

    | array | one per | meaning |
    |---|---|---|
    | `start` | topic | where its intents begin; one more entry than there are topics |
    | `names`, `probability`, `navigational` | intent | name, Pr(intent \\| topic), type |
    | `document_start` | judged document | where its entries begin; one more entry than there are documents |
    | `intent`, `grade` | entry | the grade of the document for that intent |
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
        """How many intents of each topic have an entry at all."""
        there = np.bincount(self.intent, minlength=len(self)) > 0
        return np.bincount(self.topic[there], minlength=self.topics)

    @cached_property
    def judged(self) -> Judged:
        """The judged documents of every intent."""
        return Judged.of(self.intent, self.grade, len(self))

    def above(self, lowest: float) -> Intents:
        """The same intents and documents, without the entries of a grade below `lowest`."""

        def make() -> Intents:
            kept = np.flatnonzero(self.grade >= lowest)
            start = np.searchsorted(kept, self.document_start)
            return replace(self, document_start=start, intent=self.intent[kept], grade=self.grade[kept], _cache={})

        return self.once(("above", lowest), make)

    def with_unjudged(self, topic: Index, row: Index, document: Index, more: Index, grade: float) -> WithUnjudged:
        """Documents more, judged for every intent of their topic with `grade`: each list has intents of its own then.

        `topic` is the topic of each list; `row` and `document` say of each hit which list it is in and which document
        it is; `more` says of each further document in which list it is, in ascending order.
        """
        lists = len(topic)
        by_topic = np.argsort(self.topic_of_document, kind="stable")
        start = segment_starts(self.topic_of_document, self.topics)
        before, added = np.diff(start)[topic], np.bincount(more, minlength=lists)
        begin = np.concatenate(([0], np.cumsum(before + added)))
        place = np.empty(len(by_topic), dtype=np.int64)
        place[by_topic] = position_in_segment(start) - 1
        of_list = np.repeat(np.arange(lists), before)
        known, known_as = by_topic[_ranges(start[topic], before)], _ranges(begin[:-1], before)
        added_as = _ranges(begin[:-1] + before, added)
        intent_start = np.concatenate(([0], np.cumsum(self.count[topic])))
        # One topic more, which is no list's, keeps the largest grade that topics without a list here have.
        size = np.ones(begin[-1] + 1, dtype=np.int64)
        size[known_as], size[added_as] = np.diff(self.document_start)[known], self.count[topic][more]
        entries = np.concatenate(([0], np.cumsum(size)))
        intent = np.full(entries[-1], intent_start[-1])
        grades = np.full(entries[-1], self.grade.max(initial=0.0))
        source, target = _ranges(self.document_start[known], size[known_as]), _ranges(entries[known_as], size[known_as])
        intent[target] = intent_start[np.repeat(of_list, size[known_as])] + self.nth[self.intent[source]]
        grades[target] = self.grade[source]
        target = _ranges(entries[added_as], size[added_as])
        intent[target], grades[target] = _ranges(intent_start[more], size[added_as]), grade
        same = _ranges(self.start[topic], self.count[topic])
        intents = Intents(
            start=np.append(intent_start, intent_start[-1] + 1),
            names=(*(self.names[one] for one in same.tolist()), ""),
            probability=np.append(self.probability[same], 1.0),
            navigational=np.append(self.navigational[same], False),
            document_start=entries,
            intent=intent,
            grade=grades,
            topic_of_document=np.append(np.repeat(np.arange(lists), before + added), lists),
        )
        return WithUnjudged(intents, begin[row] + place[document], added_as)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What `make` gives, which is made once and depends on the judgments only."""
        if key not in self._cache:
            self._cache[key] = make()
        found: T = self._cache[key]
        return found

    @cached_property
    def entry_nth(self) -> NDArray[np.int32]:
        """Of each entry: 0 if its intent is the first of its topic, ..."""
        return self.nth[self.intent].astype(np.int32)


class WithUnjudged(NamedTuple):
    """Intents that know documents more, and the numbers that hits and these documents have there."""

    intents: Intents
    hits: Index
    more: Index


def _ranges(start: Index, size: Index) -> NDArray[np.int64]:
    """start, start + 1, ... for each, `size` of them."""
    return np.repeat(start, size) + position_in_segment(np.concatenate(([0], np.cumsum(size)))) - 1


# -- from judgments


@dataclass(frozen=True, eq=False)
class ByDocument:
    """Judgments by intent, ready to be joined: each document once, and what it is worth to each intent."""

    judged: _core.Judged
    """Documents by topic; the grade of each is its number among all."""
    grade: Array
    """The highest grade of each document over the intents."""
    intents: Intents


def by_document(qrels: Qrels, probabilities: Any = None, types: Any = None) -> ByDocument:
    """The documents and intents of judgments.

    `probabilities` gives Pr(intent | topic) and `types` says which intents are `informational` or `navigational`; each
    is {topic: {intent: value}} or a file with lines `topic intent value`. Without them intents are equally likely, and
    informational. Probabilities may also be named: `uniform`, or `nonuniform`, by which every intent is half as likely
    as the one before, 2^(n−j+1) / Σ 2^k for the j-th of n (Sakai 2013 Table 1; Sakai & Song, SIGIR 2011). An intent to
    which nothing is relevant is left out, and the others share its probability.
    """
    table = qrels.table
    names, codes = table.topics, max(len(table.labels), 1)
    place = np.empty(codes, dtype=np.int64)
    place[sorted(range(codes), key=lambda code: _natural(table.labels, code))] = np.arange(codes)
    made = _core.documents_by_intent(table, place)
    judged, highest, document_start, intent, grade, of_list, label, *empty = made
    _warn_empty(table.list_topic[empty[0]].tolist(), empty[1].tolist(), names, table.labels)
    of_topic = table.list_topic[of_list].astype(np.int64)
    labels = [table.labels[code] if table.labels else "0" for code in label.tolist()]
    start = segment_starts(of_topic, len(names))
    intents = Intents(
        start=start,
        names=tuple(labels),
        probability=probabilities_of_intents(probabilities, of_topic, labels, names, start),
        navigational=navigational_intents(types, of_topic, labels, names),
        document_start=document_start,
        intent=intent,
        grade=grade,
        topic_of_document=np.repeat(table.list_topic, np.diff(judged.start)).astype(np.int64),
    )
    return ByDocument(judged, highest, intents)


def _natural(labels: list[str], code: int) -> tuple[int, int, str]:
    """Intents by number where they have one, by name otherwise."""
    name = labels[code] if labels else "0"
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


def _warn_empty(of_topic: list[int], label: list[int], topics: list[str], labels: list[str]) -> None:
    if label:
        few = zip(of_topic[:5], label[:5], strict=True)
        some = ", ".join(f"{topics[t]}/{labels[code] if labels else '0'}" for t, code in few)
        more = f" and {len(label) - 5} more" if len(label) > 5 else ""
        many, are = ("1 intent", "is") if len(label) == 1 else (f"{len(label)} intents", "are")
        told = f"{many} to which no document is relevant {are} left out: {some}{more}"
        warnings.warn(told, CranfieldWarning, stacklevel=3)
