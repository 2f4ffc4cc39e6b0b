"""Hits by intent: the intents that each hit is relevant to, and how many hits above it serve the same intent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.intents import Intents
from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits, segment_starts
from cranfield.errors import UsageError
from cranfield.types import Array, Index


def intents_of(lists: Assessed) -> Intents:
    """The intents of the lists; lists without intents are an error."""
    if lists.intents is None:
        raise UsageError(
            "the judgments have no intents: diversity measures need qrels with a line 'topic intent document grade' "
            "for each intent, and no document has two labels in column 2; if that is the intent, read the judgments "
            "with Qrels.read(path, format='diversity')"
        )
    return lists.intents


def documents_of(lists: Assessed) -> Index:
    """The judged document of each hit."""
    if lists.document is None:
        raise UsageError("these lists do not say which judged document each hit is; join runs with judgments to know")
    return lists.document


@dataclass(frozen=True, eq=False)
class HitsByIntent:
    """Every hit once for each intent that it is judged for, sorted by list, intent and rank.

    | array | meaning |
    |---|---|
    | `row` | number of the list by intent: a list of a topic with three intents has three numbers |
    | `hit`, `entry` | which hit of the lists, which entry of the intents |
    """

    row: NDArray[np.int64]
    hit: Index
    entry: NDArray[np.int64]


def hits_by_intent(lists: Assessed, intents: Intents, cutoff: int | None = None) -> HitsByIntent:
    """The hits down to `cutoff`, by intent."""
    inside, columns = _columns(lists, intents, cutoff)
    row, hit, entry = _core.hits_by_intent(*columns)
    return HitsByIntent(row, hit if inside is None else inside[hit], entry)


def lists_by_intent(
    lists: Assessed, intents: Intents, cutoff: int | None = None
) -> tuple[NDArray[np.int64], Index, Index, Array]:
    """Where each list by intent begins; and for each hit down to `cutoff` its number in the list, rank and grade."""
    inside, columns = _columns(lists, intents, cutoff)
    rank = np.ascontiguousarray(lists.rank if inside is None else lists.rank[inside], dtype=np.int32)
    columns = (*columns, rank, np.ascontiguousarray(intents.grade))
    return _core.lists_by_intent(*columns)


def _columns(lists: Assessed, intents: Intents, cutoff: int | None) -> tuple[Index | None, tuple[Any, ...]]:
    """The hits down to `cutoff` (None: all hits), and the arguments of the core."""
    row, document, inside = lists.row, documents_of(lists), None
    if cutoff is not None:
        inside = lists._once(("hits down to", cutoff), lambda: np.flatnonzero(lists.rank <= cutoff))
        row, document = row[inside], document[inside]
    count, start = intents.count[lists.topic], intents.document_start
    whole = [np.ascontiguousarray(column, dtype=np.int64) for column in (row, document, count, start)]
    return inside, (*whole, intents.entry_nth)


@dataclass(frozen=True, eq=False)
class Relevant:
    """The hits that are relevant to any intent, and the intents that they are relevant to.

    `hit` (which of `hits`), `intent`, `before` (how many documents above it are relevant to the intent) and `entry`
    (which entry of `Intents.above`) have one element per hit and intent that it is relevant to, by list and rank.
    """

    hits: Hits
    hit: Index
    intent: Index
    before: NDArray[np.int64]
    entry: NDArray[np.int64]

    def per_hit(self, values: Array) -> Array:
        """The sum of `values` (one per entry) over the intents of each hit."""
        return np.asarray(np.bincount(self.hit, values, len(self.hits)), dtype=np.float64)

    @cached_property
    def new(self) -> Array:
        """How many intents each hit is the first in its list to serve."""
        return self.per_hit((self.before == 0).astype(np.float64))


def relevant_to_intents(lists: Assessed, rel: float, cutoff: int | None) -> Relevant:
    """The hits down to `cutoff` with grade `rel` or better for any intent."""

    def make() -> Relevant:
        intents = intents_of(lists).above(rel)
        inside, columns = _columns(lists, intents, cutoff)
        hit, entry, before = _core.intents_before(*columns)
        begins = np.ones(len(hit), dtype=bool)
        begins[1:] = hit[1:] != hit[:-1]
        relevant = hit[begins]
        hits = lists.hits().at(relevant if inside is None else inside[relevant])
        return Relevant(hits, np.cumsum(begins) - 1, intents.intent[entry], before, entry)

    return lists._once(("relevant to intents", rel, cutoff), make)


def intent_recall(lists: Assessed, cutoff: int | None, rel: float = 1) -> Array:
    """The share of a topic's intents that a document down to `cutoff` is relevant to; NaN without intents."""
    relevant = relevant_to_intents(lists, rel, cutoff)
    count = intents_of(lists).above(rel).judged_count[lists.topic]
    return np.where(count > 0, relevant.hits.sum(relevant.new) / np.maximum(count, 1), np.nan)


def running_intent_recall(lists: Assessed, cutoff: int | None, ranks: int, rel: float = 1) -> Array:
    """`intent_recall` of one list cut after each of its first ranks."""
    relevant = relevant_to_intents(lists, rel, cutoff)
    count = int(intents_of(lists).above(rel).judged_count[lists.topic[0]])
    new = np.bincount(relevant.hits.rank, relevant.new, minlength=ranks + 1)[: ranks + 1]
    return np.cumsum(new)[1:] / count if count else np.full(ranks, np.nan)


def with_intents(
    documents: Sequence[Mapping[str, float] | None],
    missed: Sequence[Mapping[str, float]] = (),
    probabilities: Mapping[str, float] | None = None,
    navigational: Iterable[str] = (),
) -> Assessed:
    """A single list, given as the grades by intent of each document; None is an unjudged document.

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
    with_one_answer = set(navigational)
    intents = Intents(
        start=np.array([0, len(labels)]),
        names=tuple(labels),
        probability=probability / max(probability.sum(), 1e-300),
        navigational=np.array([label in with_one_answer for label in labels], dtype=bool),
        document_start=segment_starts(document.astype(np.int64), len(judged)),
        intent=intent.astype(np.int64),
        grade=grade.astype(np.float64),
        topic_of_document=np.zeros(len(judged), dtype=np.int64),
    )
    highest = [None if d is None else max(d.values(), default=0.0) for d in documents]
    lists = Assessed.one(highest, [max(d.values(), default=0.0) for d in missed])
    return lists.replace(intents=intents, document=np.arange(len(lists.row)))
