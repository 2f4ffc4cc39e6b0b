"""Topics that may mean several things: intents with probabilities and types, and the readings of lists they give.

Judgments are then given for each intent. A list can be read intent by intent (`nDCG-IA`), or with each document's
gains over all intents taken together (`D-nDCG`).
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield import _core, check
from cranfield.assessed import Array, Assessed, Gains, Hits, Index, Judged, position_in_segment, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import read_bytes
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.views import Score

T = TypeVar("T", bound=np.generic)


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
    _cache: dict[float, Intents] = field(default_factory=dict, repr=False)

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
            enough = self.grade >= lowest
            kept = np.flatnonzero(enough)
            start = np.concatenate(([0], np.cumsum(enough)))[self.document_start]
            return replace(self, document_start=start, intent=self.intent[kept], grade=self.grade[kept], _cache={})

        if lowest not in self._cache:
            self._cache[lowest] = make()
        found: Intents = self._cache[lowest]
        return found

    def entries_of(self, lists: Assessed, cutoff: int | None = None) -> Entries:
        """One entry per hit and intent it is judged for, by list and rank."""
        inside = np.flatnonzero(lists.rank <= cutoff) if cutoff is not None else np.arange(len(lists.rank))
        document = documents_of(lists)[inside]
        begin, end = self.document_start[document], self.document_start[document + 1]
        return Entries(inside, end - begin, _each_from(begin, end))

    def pairs(self, lists: Assessed) -> int:
        """How many pairs there are of a list and an intent of its topic."""
        return int(self.count[lists.topic].sum())

    def by_list(self, lists: Assessed, entries: Entries) -> NDArray[np.int64]:
        """Of each entry: the number of its list and intent, list after list."""
        first = np.cumsum(self.count[lists.topic]) - self.count[lists.topic]
        return entries.repeat(first[lists.row[entries.hits]]) + self.entry_nth[entries.entry]

    @cached_property
    def entry_nth(self) -> NDArray[np.int32]:
        """Of each entry: 0 if its intent is the first of its topic, ..."""
        return self.nth[self.intent].astype(np.int32)


@dataclass(frozen=True, eq=False)
class Entries:
    """Hits by intent: which hits there are, how many entries each has, and the numbers of those."""

    hits: Index
    many: Index
    entry: NDArray[np.int64]

    def repeat(self, values: NDArray[T]) -> NDArray[T]:
        """A value of each hit for each of its entries."""
        return np.repeat(values, self.many)


def _each_from(begin: Index, end: Index) -> NDArray[np.int64]:
    """Every number from `begin` up to `end`, pair after pair.

    >>> _each_from(np.array([5, 0, 7]), np.array([7, 0, 8])).tolist()
    [5, 6, 7]
    """
    some = np.flatnonzero(end > begin)
    begin, end = begin[some], end[some]
    steps = np.ones(int((end - begin).sum()), dtype=np.int64)
    if len(steps):
        steps[0] = begin[0]
        steps[np.cumsum(end - begin)[:-1]] = begin[1:] - end[:-1] + 1
    return np.cumsum(steps)


def _stable_order(numbers: Index, most: int) -> NDArray[np.int64]:
    """The order of numbers below `most`, equal ones as they came; numpy sorts 16 bits at a time by counting.

    >>> _stable_order(np.array([70_000, 3, 70_000, 0]), 100_000).tolist()
    [3, 1, 0, 2]
    """
    if most <= 1 << 16:
        return np.argsort(numbers.astype(np.uint16), kind="stable")
    order = np.argsort((numbers & 0xFFFF).astype(np.uint16), kind="stable")
    return np.asarray(order[_stable_order(numbers[order] >> 16, (most >> 16) + 1)])


@dataclass(frozen=True, eq=False)
class Relevant:
    """The hits that are relevant to some intent, and to which they are.

    `hit` (which of `hits`), `intent` and `before` (how many documents relevant to that intent stand above it) have one
    entry per hit and intent it is relevant to, by list and rank.
    """

    hits: Hits
    hit: Index
    intent: Index
    before: NDArray[np.int64]

    def per_hit(self, values: Array) -> Array:
        """The sum of `values` (one per entry) over the intents of each hit."""
        return np.asarray(np.bincount(self.hit, values, len(self.hits)), dtype=np.float64)

    @cached_property
    def new(self) -> Array:
        """How many intents each hit is the first to serve in its list."""
        return self.per_hit((self.before == 0).astype(np.float64))


def relevant_to_intents(lists: Assessed, rel: float, cutoff: int | None) -> Relevant:
    """The hits down to `cutoff` of grade `rel` or better for some intent."""

    def make() -> Relevant:
        intents = intents_of(lists).above(rel)
        entries = intents.entries_of(lists, cutoff)
        some = np.flatnonzero(entries.many)
        pair = intents.by_list(lists, entries)
        order = _stable_order(pair, intents.pairs(lists))
        in_order = pair[order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = in_order[1:] != in_order[:-1]
        before = np.empty(len(order), dtype=np.int64)
        before[order] = np.arange(len(order)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
        hit = np.repeat(np.arange(len(some)), entries.many[some])
        return Relevant(lists.hits().at(entries.hits[some]), hit, intents.intent[entries.entry], before)

    return lists._once(("relevant to intents", rel, cutoff), make)


def intents_of(lists: Assessed) -> Intents:
    """The intents of the lists, or a complaint that says what would supply them."""
    if lists.intents is None:
        raise UsageError(
            "the judgments have no intents: diversity measures need qrels with a line 'topic intent document grade' "
            "for each intent"
        )
    return lists.intents


def documents_of(lists: Assessed) -> Index:
    """Which judged document each hit is."""
    if lists.document is None:
        raise UsageError("unjudged documents cannot be read as best or worst for intents: nobody knows of which intent")
    return lists.document


TOGETHER = 400_000
"""Lists are read by intent for so many entries at a time: that bounds memory, and what is near is fast."""


def _rows(lists: Assessed, begin: int, end: int) -> Assessed:
    """The lists from row `begin` up to `end`."""
    if (begin, end) == (0, lists.rows):
        return lists
    here = slice(*np.searchsorted(lists.row, [begin, end]))
    return lists.rows_at(slice(begin, end)).replace(
        row=lists.row[here] - begin,
        rank=lists.rank[here],
        grade=lists.grade[here],
        weight=None if lists.weight is None else lists.weight[here],
        document=documents_of(lists)[here],
    )


@dataclass(frozen=True)
class ByIntent:
    """One list per intent, the scores averaged by intent probability: `nDCG-IA`, `ERR-IA`, ... (seed 000 (26)).

    Reference: Agrawal, Gollapudi, Halverson & Ieong, WSDM 2009
    """

    lowest: float | None = field(default=None, compare=False)
    """Grades below this are left out, for a measure that does not look at them; None: all are kept."""

    mark: ClassVar[str] = "-IA"

    def apply(self, lists: Assessed, cutoff: int | None = None) -> Assessed:
        """Each list as often as its topic has intents, with the grades for that intent, of hits down to `cutoff`."""
        intents = intents_of(lists) if self.lowest is None else intents_of(lists).above(self.lowest)
        many = intents.count[lists.topic]
        first = np.concatenate(([0], np.cumsum(many)))
        intent = np.repeat(intents.start[lists.topic], many) + position_in_segment(first) - 1
        entries = intents.entries_of(lists, cutoff)
        row = intents.by_list(lists, entries)
        order = _stable_order(row, len(intent))
        return lists.rows_at(self.parents(lists)).replace(
            row=row[order],
            rank=entries.repeat(lists.rank[entries.hits])[order],
            grade=intents.grade[entries.entry[order]],
            weight=None if lists.weight is None else entries.repeat(lists.weight[entries.hits])[order],
            judged=intents.judged,
            set_of_row=intent,
            intents=None,
        )

    def read(self, lists: Assessed, cutoff: int | None = None) -> Assessed:
        """The same, made once for each cutoff: a measure looks no deeper."""
        return lists._once(("by intent", self.lowest, cutoff), lambda: self.apply(lists, cutoff))

    @staticmethod
    def parents(lists: Assessed) -> NDArray[np.int64]:
        """For each list by intent, the list that it was made of."""
        return np.repeat(np.arange(lists.rows), intents_of(lists).count[lists.topic])

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        def aware(lists: Assessed) -> Array:
            pieces = [_rows(lists, *piece) for piece in self._pieces(lists, cutoff)]
            return np.concatenate([self.mean(some, score(self.read(some, cutoff))) for some in pieces])

        return aware

    def _pieces(self, lists: Assessed, cutoff: int | None) -> list[tuple[int, int]]:
        """Where to part the lists so that no part has more than `TOGETHER` entries, unless it is a single list."""
        intents = intents_of(lists) if self.lowest is None else intents_of(lists).above(self.lowest)
        many = np.diff(intents.document_start)[documents_of(lists)]
        inside = many if cutoff is None else np.where(lists.rank <= cutoff, many, 0)
        before = np.concatenate(([0], np.cumsum(inside)))[lists.hits().start]
        pieces, begin = [], 0
        while begin < lists.rows:
            end = int(np.searchsorted(before, before[begin] + TOGETHER, side="right")) - 1
            pieces.append((begin, min(max(end, begin + 1), lists.rows)))
            begin = pieces[-1][1]
        return pieces or [(0, 0)]

    @staticmethod
    def mean(lists: Assessed, values: Array) -> Array:
        """The mean over the intents of each list, by probability; an intent without a value counts as 0."""
        intents = intents_of(lists)
        many = intents.count[lists.topic]
        first = np.concatenate(([0], np.cumsum(many)))
        intent = np.repeat(intents.start[lists.topic], many) + position_in_segment(first) - 1
        total = np.bincount(ByIntent.parents(lists), np.nan_to_num(values) * intents.probability[intent], lists.rows)
        return np.where(many > 0, total, np.nan)

    def __str__(self) -> str:
        return "IA"


SPENT = float(np.nextafter(0.0, 1.0))
"""The gain of a relevant document that adds nothing: above 0, and lost in any sum."""


@dataclass(frozen=True)
class GlobalGain:
    """Each document's gains for all intents taken together, Σ Pr(i|q) g_i: `D-nDCG`, `D-Q`, ... (seed 000 (27)).

    With `din`, a document gains nothing for a navigational intent that an earlier one has served (`DIN-nDCG`, 000
    (32)); the ideal list stays as it is. `gain` says what a grade for an intent is worth.
    Reference: Sakai & Song, SIGIR 2011; Sakai, EVIA 2012
    """

    gain: Gains
    din: bool = False

    mark: ClassVar[str] = ""

    def apply(self, lists: Assessed) -> Assessed:
        intents = intents_of(lists)
        worth = intents.probability[intents.intent] * self.gain(intents.grade)
        of_document = np.bincount(intents.document, worth, len(intents.topic_of_document))
        grade = self._without_repeats(lists) if self.din else of_document[documents_of(lists)]
        return lists.replace(
            grade=grade,
            judged=Judged.of(intents.topic_of_document, of_document, intents.topics),
            set_of_row=lists.topic,
            every_gain_counts=True,
        )

    def _without_repeats(self, lists: Assessed) -> Array:
        """The global gain of each hit, navigational intents counted at their first relevant document only.

        Such a document is still relevant (002 (10) and (11) change gains only): its gain is above 0, but adds nothing.
        """
        intents = intents_of(lists)
        entries = intents.entries_of(lists)
        intent = intents.intent[entries.entry]
        gain = self.gain(intents.grade[entries.entry])
        worth = intents.probability[intent] * gain
        served = np.flatnonzero(intents.navigational[intent] & (gain > 0))
        _, first = np.unique(intents.by_list(lists, entries)[served], return_index=True)
        again = np.ones(len(served), dtype=bool)
        again[first] = False
        worth[served[again]] = np.where(worth[served[again]] > 0, SPENT, 0.0)
        return np.bincount(entries.repeat(entries.hits), worth, len(lists.row)).astype(np.float64)

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        return lambda lists: score(lists._once(self, lambda: self.apply(lists)))

    def __str__(self) -> str:
        return "DIN" if self.din else "D"


@dataclass(frozen=True)
class Sharp:
    """Intent recall beside the measure, γ · I-rec + (1 − γ) · M: `D#-nDCG`, `DIN#-Q`, `P+Q#` (seed 000 (29)).

    Reference: Sakai & Song, SIGIR 2011
    """

    gamma: float = 0.5

    mark: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check.between("#", low=0, high=1, gamma=self.gamma)

    def apply(self, lists: Assessed) -> Assessed:
        """The lists stay as they are; it is the score that changes."""
        return lists

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        def sharp(lists: Assessed) -> Array:
            return self.gamma * intent_recall(lists, cutoff) + (1 - self.gamma) * score(lists)

        return sharp

    def __str__(self) -> str:
        return "#"


def intent_recall(lists: Assessed, cutoff: int | None, rel: float = 1) -> Array:
    """The share of a topic's intents to which some document down to `cutoff` is relevant; undefined without intents."""
    found = relevant_to_intents(lists, rel, cutoff)
    many = intents_of(lists).above(rel).judged_count[lists.topic]
    return np.where(many > 0, found.hits.sum(found.new) / np.maximum(many, 1), np.nan)


def with_intents(
    documents: Sequence[Mapping[str, float] | None],
    missed: Sequence[Mapping[str, float]] = (),
    probabilities: Mapping[str, float] | None = None,
    navigational: Iterable[str] = (),
) -> Assessed:
    """A single list, each document given as its grades by intent; None is an unjudged document.

    `missed` are judged documents that were not retrieved.

    >>> with_intents([{"a": 1}, None, {"a": 1, "b": 2}]).rank.tolist()
    [1, 3]
    """
    judged = [document for document in [*documents, *missed] if document is not None]
    labels = sorted({str(label) for document in judged for label, grade in document.items() if grade >= 1})
    number = {label: i for i, label in enumerate(labels)}
    entries = [
        (n, number[str(label)], float(grade))
        for n, document in enumerate(judged)
        for label, grade in document.items()
        if str(label) in number
    ]
    document, intent, grade = (np.array([e[i] for e in entries]) for i in range(3))
    probability = np.array(
        [probabilities.get(label, 0.0) for label in labels] if probabilities else [1.0] * len(labels)
    )
    intents = Intents(
        start=np.array([0, len(labels)]),
        names=tuple(labels),
        probability=probability / max(probability.sum(), 1e-300),
        navigational=np.array([label in set(navigational) for label in labels], dtype=bool),
        document_start=segment_starts(document.astype(np.int64), len(judged)),
        intent=intent.astype(np.int64),
        grade=grade.astype(np.float64),
        topic_of_document=np.zeros(len(judged), dtype=np.int64),
    )
    highest = [None if d is None else max(d.values(), default=0.0) for d in documents]
    lists = Assessed.one(highest, [max(d.values(), default=0.0) for d in missed])
    return lists.replace(intents=intents, document=np.arange(len(lists.row)))


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
    as the one before, 2^(n−j+1) / Σ 2^k for the j-th of n (seed 002 Table 1; Sakai & Song, SIGIR 2011). An intent to
    which nothing is relevant is left out, and the others share its probability.
    """
    table = qrels.table
    names, codes = table.topics, max(len(table.labels), 1)
    topic = np.repeat(table.list_topic, np.diff(table.list_start)).astype(np.int64)
    grade = np.array(table.values)
    label = np.array(table.label) if len(table.label) else np.zeros(len(grade), dtype=np.int64)
    ids, document = _numbered(table)
    topic_of_document = np.repeat(table.list_topic, [len(of) for of in ids]).astype(np.int64)
    every = [d for of in ids for d in of]
    unique = _core.table_from_columns(
        None, [names[t] for t in topic_of_document], every, list(range(len(every))), None, None, "error", "number"
    )

    pair = topic * codes + label
    there = np.bincount(pair, minlength=len(names) * codes) > 0
    useful = np.bincount(pair[grade >= 1], minlength=len(names) * codes) > 0
    _warn_empty(np.flatnonzero(there & ~useful), names, table.labels)
    in_order = sorted(np.flatnonzero(useful).tolist(), key=lambda p: (p // codes, _natural(table.labels, p % codes)))
    position = np.full(len(useful), -1)
    position[in_order] = np.arange(len(in_order))
    of_topic = np.array(in_order, dtype=np.int64) // codes
    labels = [table.labels[p % codes] if table.labels else "0" for p in in_order]
    kept = np.flatnonzero(useful[pair])
    kept = kept[_stable_order(position[pair[kept]], len(in_order))]
    kept = kept[_stable_order(document[kept], len(every))]
    highest = np.full(len(every), -np.inf)
    np.maximum.at(highest, document, grade)
    start = segment_starts(of_topic, len(names))
    intents = Intents(
        start=start,
        names=tuple(labels),
        probability=_probabilities(probabilities, of_topic, labels, names, start),
        navigational=_types(types, of_topic, labels, names),
        document_start=segment_starts(document[kept], len(every)),
        intent=position[pair[kept]],
        grade=grade[kept],
        topic_of_document=topic_of_document,
    )
    return ByDocument(_core.judged(unique, "error"), highest, intents)


def _numbered(table: _core.Table) -> tuple[list[list[str]], NDArray[np.int64]]:
    """The documents of every topic in order of their names, and the number of each line's document."""
    docs, starts = table.docs(0, len(table)), table.list_start.tolist()
    ids: list[list[str]] = []
    number = np.empty(len(docs), dtype=np.int64)
    before = 0
    for begin, end in pairwise(starts):
        some = docs[begin:end]
        ids.append(sorted(set(some)))
        at = dict(zip(ids[-1], range(before, before + len(ids[-1])), strict=True))
        number[begin:end] = list(map(at.__getitem__, some))
        before += len(ids[-1])
    return ids, number


def _natural(labels: list[str], code: int) -> tuple[int, int, str]:
    """Intents by number where they have one, by name otherwise."""
    name = labels[code] if labels else "0"
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


def _warn_empty(empty: Index, topics: list[str], labels: list[str]) -> None:
    if len(empty):
        some = ", ".join(f"{topics[p // len(labels)]}/{labels[p % len(labels)]}" for p in empty[:5].tolist())
        more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
        warnings.warn(
            f"{len(empty)} intents to which no document is relevant are left out: {some}{more}", CranfieldWarning, 3
        )


@dataclass(frozen=True)
class _Side:
    """What a side file, or a mapping, says of each intent: {topic: {intent: (value, line)}}."""

    origin: str
    what: str
    rows: dict[str, dict[str, tuple[str, int | None]]]

    @classmethod
    def of(cls, given: Any, what: str) -> _Side:
        """From {topic: {intent: value}}, or from a file of lines `topic intent value`, as NTCIREVAL has them.

        Blanks or tabs stand between the columns, or a `;` or `,`.
        """
        if isinstance(given, Mapping):
            return cls(
                what, what, {str(t): {str(i): (str(v), None) for i, v in row.items()} for t, row in given.items()}
            )
        if not isinstance(given, str | os.PathLike):
            raise UsageError(
                f"intents: {what} from {type(given).__name__}, must be a file or {{topic: {{intent: value}}}}"
            )
        path = os.fspath(given)
        origin = "standard input" if path == "-" else path
        side = cls(origin, what, {})
        text = read_bytes(path).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                side._add(number, line)
        if not side.rows:
            raise DataError(origin, None, f"is empty, expected lines of topic intent {what}")
        return side

    def _add(self, number: int, line: str) -> None:
        cells = line.split()
        if len(cells) == 1 or cells[0][-1] in ";,":
            cells = [cell.strip() for cell in re.split("[;,]", line)]
        if len(cells) != 3 or not all(cells):
            raise DataError(self.origin, number, f"{len(cells)} columns, expected 3: topic intent {self.what}")
        topic, intent, value = cells
        row = self.rows.setdefault(topic, {})
        if intent in row:
            raise DataError(
                self.origin, number,
                f"intent {intent!r} of topic {topic!r} is there twice, first on line {row[intent][1]}",
            )  # fmt: skip
        row[intent] = (value, number)

    def read(self, make: Callable[[str], Any], expected: str) -> dict[str, dict[str, Any]]:
        """The values made of what is written."""
        made: dict[str, dict[str, Any]] = {}
        for topic, row in self.rows.items():
            made[topic] = {}
            for intent, (value, line) in row.items():
                try:
                    made[topic][intent] = make(value)
                except (ValueError, KeyError):
                    raise DataError(
                        self.origin, line,
                        f"topic {topic!r}, intent {intent!r}: {self.what} {value!r}, must be {expected}",
                    ) from None  # fmt: skip
        return made

    def of_intents(
        self, made: dict[str, dict[str, Any]], of_topic: Index, labels: list[str], topics: list[str]
    ) -> list[Any]:
        """The value of each intent that has relevant documents."""
        values = []
        for number, label in zip(of_topic.tolist(), labels, strict=True):
            row = made.get(topics[number], {})
            if label not in row:
                raise DataError(
                    self.origin, None,
                    f"no {self.what} for intent {label!r} of topic {topics[number]!r}"
                    + (f", which has {', '.join(list(row)[:5])}" if row else ""),
                )  # fmt: skip
            values.append(row[label])
        return values


def _probability(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(text)
    return value


def _probabilities(
    given: Any, of_topic: Index, labels: list[str], topics: list[str], start: NDArray[np.int64]
) -> Array:
    many = np.maximum(np.diff(start), 1)[of_topic]
    if given is None or given == "uniform":
        return np.asarray(1.0 / many)
    if given == "nonuniform":
        return np.asarray(np.exp2(-position_in_segment(start)) / (1.0 - np.exp2(-many.astype(np.float64))))
    side = _Side.of(given, "probability")
    table = side.read(_probability, "a number between 0 and 1")
    for topic, row in table.items():
        total = sum(row.values())
        if not math.isclose(total, 1.0, abs_tol=SUM_WITHIN):
            raise DataError(side.origin, None, f"topic {topic!r}: intent probabilities sum to {total:g}, expected 1")
    values = np.array(side.of_intents(table, of_topic, labels, topics), dtype=np.float64)
    whole = np.bincount(of_topic, values, len(topics))[of_topic]
    if (whole <= 0).any():
        topic = topics[int(of_topic[np.flatnonzero(whole <= 0)[0]])]
        raise DataError(
            side.origin, None, f"topic {topic!r}: all intents that have relevant documents have probability 0"
        )
    _warn_unjudged(side, of_topic, labels, topics)
    return np.asarray(values / whole)


def _warn_unjudged(side: _Side, of_topic: Index, labels: list[str], topics: list[str]) -> None:
    """Intents that are likely but cannot be found: the others share their probability."""
    useful = set(zip(of_topic.tolist(), labels, strict=True))
    lost = [
        f"{topic}/{intent}"
        for number, topic in enumerate(topics)
        for intent in side.rows.get(topic, {})
        if (number, intent) not in useful
    ]
    if lost:
        some = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        told = "intent has" if len(lost) == 1 else "intents have"
        warnings.warn(
            f"{side.origin}: {len(lost)} {told} a probability but no relevant document; the other intents of the topic "
            f"share it: {some}", CranfieldWarning, 4,
        )  # fmt: skip


SUM_WITHIN = 0.01
"""Probabilities written with three digits may miss 1 by this much where a topic has twenty intents."""
TYPES = {"informational": False, "inf": False, "navigational": True, "nav": True}


def _types(given: Any, of_topic: Index, labels: list[str], topics: list[str]) -> NDArray[np.bool_]:
    if given is None:
        return np.zeros(len(labels), dtype=bool)
    side = _Side.of(given, "type")
    table = side.read(lambda text: TYPES[text.lower()], "informational (inf) or navigational (nav)")
    return np.array(side.of_intents(table, of_topic, labels, topics), dtype=bool)
