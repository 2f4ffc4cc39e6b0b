"""Topics that may mean several things: intents with probabilities and types, and the readings of lists they give.

Judgments are then given for each intent. A list can be read intent by intent (`nDCG-IA`), or with each document's
gains over all intents taken together (`D-nDCG`).
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield import _core, check
from cranfield.assessed import Array, Assessed, Gains, Hits, Index, Judged, position_in_segment, segment_starts
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import read_bytes
from cranfield.errors import CranfieldWarning, DataError, UsageError
from cranfield.views import Score


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

    def entries_of(self, lists: Assessed, cutoff: int | None = None) -> tuple[Hits, Index]:
        """One entry per hit and intent it is judged for, by list and rank: as hits whose grade is that for the intent,
        and the number of the intent."""

        def make() -> tuple[Hits, Index]:
            inside = np.flatnonzero(lists.rank <= cutoff) if cutoff is not None else np.arange(len(lists.rank))
            document = documents_of(lists)[inside]
            many = np.diff(self.document_start)[document]
            hit = np.repeat(inside, many)
            begins = np.zeros(len(many) + 1, dtype=np.int64)
            np.cumsum(many, out=begins[1:])
            entry = np.repeat(self.document_start[document], many) + position_in_segment(begins) - 1
            weight = None if lists.weight is None else lists.weight[hit]
            return Hits(lists.rows, lists.row[hit], lists.rank[hit], self.grade[entry], weight), self.intent[entry]

        return lists._once(("entries of intents", cutoff), make)


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


@dataclass(frozen=True)
class ByIntent:
    """One list per intent, the scores averaged by intent probability: `nDCG-IA`, `ERR-IA`, ... (seed 000 (26)).

    Reference: Agrawal, Gollapudi, Halverson & Ieong, WSDM 2009
    """

    mark: ClassVar[str] = "-IA"

    def apply(self, lists: Assessed) -> Assessed:
        """Each list as often as its topic has intents, with the grades for that intent."""
        intents = intents_of(lists)
        many = intents.count[lists.topic]
        first = np.concatenate(([0], np.cumsum(many)))
        parent = np.repeat(np.arange(lists.rows), many)
        intent = np.repeat(intents.start[lists.topic], many) + position_in_segment(first) - 1
        entries, of_intent = intents.entries_of(lists)
        row = first[entries.row] + of_intent - intents.start[lists.topic[entries.row]]
        order = np.argsort(row, kind="stable")
        return lists.rows_at(parent).replace(
            row=row[order],
            rank=entries.rank[order],
            grade=entries.grade[order],
            weight=None if entries.weight is None else entries.weight[order],
            judged=Judged.of(intents.intent, intents.grade, len(intents)),
            set_of_row=intent,
            intents=None,
            document=None,
        )

    def around(self, score: Score, *, additive: bool, cutoff: int | None) -> Score:
        def aware(lists: Assessed) -> Array:
            return self.mean(lists, score(lists._once(self, lambda: self.apply(lists))))

        return aware

    @staticmethod
    def mean(lists: Assessed, values: Array) -> Array:
        """The mean over the intents of each list, by probability; an intent without a value counts as 0."""
        intents = intents_of(lists)
        many = intents.count[lists.topic]
        first = np.concatenate(([0], np.cumsum(many)))
        intent = np.repeat(intents.start[lists.topic], many) + position_in_segment(first) - 1
        parent = np.repeat(np.arange(lists.rows), many)
        total = np.bincount(parent, np.nan_to_num(values) * intents.probability[intent], lists.rows)
        return np.where(many > 0, total, np.nan)

    def __str__(self) -> str:
        return "IA"


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
        """The global gain of each hit, navigational intents counted at their first relevant document only."""
        intents = intents_of(lists)
        entries, intent = intents.entries_of(lists)
        gain = self.gain(entries.grade)
        worth = intents.probability[intent] * gain
        served = np.flatnonzero(intents.navigational[intent] & (gain > 0))
        pair = entries.row[served].astype(np.int64) * max(len(intents), 1) + intent[served]
        _, first = np.unique(pair, return_index=True)
        again = np.ones(len(served), dtype=bool)
        again[first] = False
        worth[served[again]] = 0.0
        many = np.diff(intents.document_start)[documents_of(lists)]
        hit = np.repeat(np.arange(len(lists.row)), many)
        return np.bincount(hit, worth, len(lists.row)).astype(np.float64)

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

    def make() -> Array:
        intents = intents_of(lists)
        entries, intent = intents.entries_of(lists, cutoff)
        found = entries.grade >= rel
        pair = np.unique(entries.row[found].astype(np.int64) * max(len(intents), 1) + intent[found])
        covered = np.bincount(pair // max(len(intents), 1), minlength=lists.rows)
        many = intents.count[lists.topic]
        return np.where(many > 0, covered / np.maximum(many, 1), np.nan)

    return lists._once(("intent recall", cutoff, rel), make)


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
    informational. An intent to which nothing is relevant is left out, and the others share its probability.
    """
    table = qrels.table
    topic = np.repeat(table.list_topic, np.diff(table.list_start)).astype(np.int64)
    grade = np.array(table.values)
    label = np.array(table.label) if len(table.label) else np.zeros(len(grade), dtype=np.int64)
    documents = table.docs(0, len(table))
    numbers: dict[tuple[int, str], int] = {}
    for key in zip(topic.tolist(), documents, strict=True):
        numbers.setdefault(key, len(numbers))
    document = np.fromiter(map(numbers.__getitem__, zip(topic.tolist(), documents, strict=True)), np.int64, len(topic))
    topic_of_document = np.array([t for t, _ in numbers], dtype=np.int64)
    names = table.topics
    unique = _core.table_from_columns(
        None, [names[t] for t, _ in numbers], [d for _, d in numbers], list(range(len(numbers))), None, None,
        "error", "number",
    )  # fmt: skip

    pair = topic * max(len(table.labels), 1) + label
    useful = np.unique(pair[grade >= 1])
    _warn_empty(np.setdiff1d(np.unique(pair), useful), names, table.labels)
    position = np.searchsorted(useful, pair)
    kept = np.isin(pair, useful)
    of_topic = useful // max(len(table.labels), 1)
    labels = [table.labels[code] if table.labels else "0" for code in (useful % max(len(table.labels), 1)).tolist()]
    order = np.argsort(document[kept], kind="stable")
    highest = np.full(len(numbers), -np.inf)
    np.maximum.at(highest, document, grade)
    start = segment_starts(of_topic, len(names))
    intents = Intents(
        start=start,
        names=tuple(labels),
        probability=_probabilities(probabilities, of_topic, labels, names, start),
        navigational=_types(types, of_topic, labels, names),
        document_start=segment_starts(document[kept][order], len(numbers)),
        intent=position[kept][order],
        grade=grade[kept][order],
        topic_of_document=topic_of_document,
    )
    return ByDocument(_core.judged(unique, "error"), highest, intents)


def _warn_empty(empty: Index, topics: list[str], labels: list[str]) -> None:
    if len(empty):
        some = ", ".join(f"{topics[p // len(labels)]}/{labels[p % len(labels)]}" for p in empty[:5].tolist())
        more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
        warnings.warn(
            f"{len(empty)} intents to which no document is relevant are left out: {some}{more}", CranfieldWarning, 3
        )


def _side_table(given: Any, what: str) -> tuple[dict[str, dict[str, str]], str]:
    """{topic: {intent: value}} from such a mapping or from a file of lines `topic intent value`."""
    if isinstance(given, Mapping):
        return {str(t): {str(i): str(v) for i, v in row.items()} for t, row in given.items()}, what
    path = os.fspath(given)
    table: dict[str, dict[str, str]] = {}
    for number, line in enumerate(read_bytes(path).decode("utf-8", "surrogateescape").splitlines(), 1):
        cells = line.split()
        if not cells or cells[0].startswith("#"):
            continue
        if len(cells) != 3:
            raise DataError(path, number, f"{len(cells)} columns, expected 3: topic intent {what}")
        row = table.setdefault(cells[0], {})
        if cells[1] in row:
            raise DataError(path, number, f"intent {cells[1]!r} of topic {cells[0]!r} is there twice")
        row[cells[1]] = cells[2]
    return table, path


def _probabilities(given: Any, of_topic: Index, labels: list[str], topics: list[str], start: Index) -> Array:
    many = np.maximum(np.diff(start), 1)
    if given is None:
        return np.asarray(1.0 / many[of_topic])
    table, path = _side_table(given, "probability")
    values = np.empty(len(labels))
    for topic, row in table.items():
        try:
            total = sum(float(value) for value in row.values())
        except ValueError:
            raise DataError(path, None, f"topic {topic!r}: a probability of {row} is not a number") from None
        if not math.isclose(total, 1.0, abs_tol=1e-3) or any(not 0 <= float(v) <= 1 for v in row.values()):
            raise DataError(path, None, f"topic {topic!r}: intent probabilities sum to {total:g}, expected 1")
    for i, (topic_number, label) in enumerate(zip(of_topic.tolist(), labels, strict=True)):
        found = table.get(topics[topic_number], {}).get(label)
        if found is None:
            raise DataError(path, None, f"no probability for intent {label!r} of topic {topics[topic_number]!r}")
        values[i] = float(found)
    whole = np.bincount(of_topic, values, len(topics))[of_topic]
    if (whole <= 0).any():
        topic = topics[int(of_topic[np.flatnonzero(whole <= 0)[0]])]
        raise DataError(path, None, f"topic {topic!r}: all intents that have relevant documents have probability 0")
    return np.asarray(values / whole)


def _types(given: Any, of_topic: Index, labels: list[str], topics: list[str]) -> NDArray[np.bool_]:
    if given is None:
        return np.zeros(len(labels), dtype=bool)
    table, path = _side_table(given, "type")
    known = {"informational": False, "inf": False, "navigational": True, "nav": True}
    for topic, row in table.items():
        for label, kind in row.items():
            if kind.lower() not in known:
                raise DataError(
                    path, None,
                    f"topic {topic!r}, intent {label!r}: type {kind!r}, must be informational (inf) or navigational (nav)",
                )  # fmt: skip
    kinds = []
    for topic_number, label in zip(of_topic.tolist(), labels, strict=True):
        found = table.get(topics[topic_number], {}).get(label)
        if found is None:
            raise DataError(path, None, f"no type for intent {label!r} of topic {topics[topic_number]!r}")
        kinds.append(known[found.lower()])
    return np.array(kinds, dtype=bool)
