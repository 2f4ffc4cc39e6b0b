"""Arrays in segments: hits by list, judged documents and ideal lists by topic, and sums over each segment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield import _core
    from cranfield.assessed.ideal_of_sets import Reward, Units

T = TypeVar("T")

LONG = 256
"""Lists with more hits than this are accumulated one at a time, shorter lists side by side."""
MANY = 1 << 18
"""More judged documents than this are handled some topics at a time, so that arrays made on the way stay small."""


def segment_starts(group: Index, groups: int) -> NDArray[np.int64]:
    """Where each group begins in the sorted array `group`, with the total length at the end.

    >>> segment_starts(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return starts_of(np.bincount(group, minlength=groups))


def starts_of(sizes: Index) -> NDArray[np.int64]:
    """Where segments of these sizes begin, with the total length at the end.

    >>> starts_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def position_in_segment(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The 1-based position of every entry within its segment.

    >>> position_in_segment(np.array([0, 2, 2, 3])).tolist()
    [1, 2, 1]
    """
    return np.arange(1, starts[-1] + 1) - np.repeat(starts[:-1], np.diff(starts))


def ranges(begin: Index, sizes: Index) -> NDArray[np.int64]:
    """begin, begin + 1, ... for each segment, as many numbers as its size.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    return np.repeat(begin, sizes) + position_in_segment(starts_of(sizes)) - 1


def distinct(values: Array) -> Array:
    """The distinct values in ascending order.

    np.unique does the same, but imports numpy.ma when it is first called, which takes longer than evaluating a run.

    >>> distinct(np.array([2.0, 0.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def row_blocks(size: ArrayLike, most: float) -> list[tuple[int, int]]:
    """Consecutive rows in blocks (begin, end) of a total size of at most `most`; a larger row is a block of its own.

    >>> row_blocks([3, 1, 2, 9], 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    before = np.concatenate(([0.0], np.cumsum(size)))
    rows, blocks, begin = len(before) - 1, [], 0
    while begin < rows:
        end = int(np.searchsorted(before, before[begin] + most, side="right")) - 1
        blocks.append((begin, min(max(end, begin + 1), rows)))
        begin = blocks[-1][1]
    return blocks or [(0, 0)]


def _per_list(group: Index, values: Array, groups: int) -> Array:
    return np.asarray(np.bincount(group, values, groups), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Hits:
    """Some of the judged documents in the lists: row (which list), rank, grade, sorted by row and rank."""

    rows: int
    row: Index
    rank: Index
    grade: Array
    weight: Array | None = None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where each list begins, with the number of hits at the end."""
        return segment_starts(self.row, self.rows)

    def knowing(self, start: NDArray[np.int64], nth: Index) -> Hits:
        """These hits, with `start` and `nth` already counted."""
        self.__dict__.update(start=start, nth=nth)
        return self

    @cached_property
    def nth(self) -> Index:
        """1 for the first of these hits in its list, 2 for the second, ..."""
        return position_in_segment(self.start)

    @cached_property
    def count(self) -> Array:
        """How many of these hits each list has."""
        if self.weight is not None:
            return _per_list(self.row, self.weight, self.rows)
        return np.diff(self.start).astype(np.float64)

    def sum(self, values: ArrayLike) -> Array:
        """The sum of `values` (one per hit) over each list; added in rank order."""
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), len(self.row))
        if self.weight is not None:
            values = values * self.weight
        return _per_list(self.row, values, self.rows)

    def running(self, values: ArrayLike) -> Array:
        """The sum of `values` down to and including each hit, within its list; added in rank order."""
        values = np.asarray(values, dtype=np.float64)
        total = np.cumsum(values)
        if np.array_equal(values, np.rint(values)):  # differences of whole numbers are exact
            before = np.concatenate(([0.0], total))[self.start[:-1]]
            return np.asarray(total - before[self.row])
        return self._accumulate(np.add, values)

    def running_product(self, values: ArrayLike) -> Array:
        """The product of `values` down to and including each hit, within its list."""
        return self._accumulate(np.multiply, values)

    def running_max_from_below(self, values: ArrayLike) -> Array:
        """The largest of `values` from each hit down to the last hit of its list."""
        upward = Hits(self.rows, self.rows - 1 - self.row[::-1], self.rank[::-1], self.grade[::-1])
        return upward._accumulate(np.maximum, np.asarray(values, dtype=np.float64)[::-1])[::-1]

    def _accumulate(self, operation: np.ufunc, values: ArrayLike) -> Array:
        """Each list by itself and in rank order, so that a score does not depend on the lists scored with it."""
        out = np.array(values, dtype=np.float64)
        begin, length = self.start[:-1], np.diff(self.start)
        for row in np.flatnonzero(length > LONG):
            hits = slice(begin[row], begin[row] + length[row])
            operation.accumulate(out[hits], out=out[hits])
        short = np.flatnonzero((length > 1) & (length <= LONG))
        longest_first = short[np.argsort(-length[short], kind="stable")]
        at, length = begin[longest_first], length[longest_first]
        reaching = np.searchsorted(-length, -np.arange(1, int(length.max(initial=1)) + 1), side="right")
        for nth, lists in enumerate(reaching[1:].tolist(), 1):
            hit = at[:lists] + nth
            out[hit] = operation(out[hit - 1], out[hit])
        return out

    def previous(self, values: ArrayLike, first: float) -> Array:
        """`values` of the hit before each hit in its list; `first` for the first hit."""
        out = np.roll(np.asarray(values, dtype=np.float64), 1)
        begins = self.start[:-1]
        out[begins[begins < self.start[1:]]] = first
        return out

    def first(self, values: ArrayLike, default: float) -> Array:
        """`values` of the first hit in each list; `default` for lists without hits."""
        out, has_hits = self.value_at_nth(values, np.ones(self.rows))
        return np.where(has_hits, out, default)

    def last(self, values: ArrayLike) -> Array:
        """`values` of the last hit in each list; 0 for lists without hits."""
        size = np.diff(self.start)
        return np.where(size > 0, self.value_at_nth(values, np.maximum(size, 1))[0], 0.0)

    def value_at_nth(self, values: ArrayLike, nth: Array | Index) -> tuple[Array, NDArray[np.bool_]]:
        """`values` of the `nth` hit of each list (0 if it has fewer hits), and which lists have that many hits."""
        at = self.start[:-1] + nth.astype(np.int64) - 1
        reached = at < self.start[1:]
        out = np.zeros(self.rows)
        out[reached] = np.asarray(values)[at[reached]]
        return out, reached

    def where(self, keep: NDArray[np.bool_]) -> Hits:
        """The hits for which `keep` is true."""
        return self if keep.all() else self.at(np.flatnonzero(keep))

    def at(self, index: Index) -> Hits:
        """The hits at these positions, which must be in order."""
        weight = None if self.weight is None else self.weight.take(index)  # faster than indexing
        return Hits(self.rows, self.row.take(index), self.rank.take(index), self.grade.take(index), weight)


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged documents of every topic: grades, best first, topic after topic."""

    start: NDArray[np.int64]
    grade: Array
    size: Array | None = None
    """How many ranks each takes in an ideal list, for sets of documents; None: each takes one."""
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(topic: Index, grade: ArrayLike, topics: int, size: Array | None = None) -> Judged:
        """From one entry per judged document, in any order."""
        grades = np.asarray(grade, dtype=np.float64)
        best_first = np.lexsort((-grades, topic))
        size = None if size is None else size[best_first]
        return Judged(segment_starts(np.asarray(topic), topics), grades[best_first], size)

    @staticmethod
    def of_table(table: _core.Judged) -> Judged:
        """The judged documents of a table, in little memory if there are many and only a few different grades."""
        topics, levels = len(table.start) - 1, len(table.levels)
        if 0 < topics * levels <= table.start[-1]:
            grades, documents = table.grade_counts()
            return JudgedLevels(grades, documents.reshape(topics, levels))
        return Judged(table.start, table.best_first())

    @staticmethod
    def in_order(start: NDArray[np.int64], grade: Array) -> Judged:
        """From the judged documents topic after topic, where `start` says where each topic begins.

        >>> Judged.in_order(np.array([0, 2, 2, 4]), np.array([0.0, 1.0, 2.0, 3.0])).grade.tolist()
        [1.0, 0.0, 3.0, 2.0]
        """
        best_first = np.empty(len(grade))
        for first, last in row_blocks(np.diff(start), MANY):
            begin, end = start[first], start[last]
            topic = np.repeat(np.arange(last - first), np.diff(start[first : last + 1]))
            best_first[begin:end] = grade[begin:end][np.lexsort((-grade[begin:end], topic))]
        return Judged(start, best_first)

    def __len__(self) -> int:
        return int(self.start[-1])

    @cached_property
    def topic(self) -> NDArray[np.int64]:
        """The topic of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def highest(self) -> float:
        """The highest grade; minus infinity if no document is judged."""
        return float(self.grade.max(initial=-np.inf))

    def count(self, keep: NDArray[np.bool_]) -> Array:
        """How many judged documents of each topic satisfy `keep`."""
        if len(keep) > MANY:
            return np.concatenate([part._count(keep[entries]) for part, entries in self._parts()])
        return self._count(keep)

    def _count(self, keep: NDArray[np.bool_]) -> Array:
        return _per_list(self.topic, keep.astype(np.float64), len(self.start) - 1)

    def count_once(self, key: Any, keep: Callable[[Array], NDArray[np.bool_]]) -> Array:
        """How many judged documents of each topic have a grade that satisfies `keep`; cached under `key`."""

        def make() -> Array:
            if len(self) <= MANY:
                return self._count(keep(self.grade))
            return np.concatenate([part._count(keep(part.grade)) for part, _ in self._parts()])

        return self.once(("count", key), make)

    def _parts(self) -> Iterator[tuple[Judged, slice]]:
        """Some topics after the other, with the places of their entries."""
        for first, last in row_blocks(np.diff(self.start), MANY):
            start, entries = self.start[first : last + 1], slice(self.start[first], self.start[last])
            size = None if self.size is None else self.size[entries]
            yield Judged(start - start[0], self._grades(first, last), size), entries

    def _grades(self, first: int, last: int) -> Array:
        """The grades of the topics from `first` up to `last`."""
        return self.grade[self.start[first] : self.start[last]]

    def _down_to(self, cutoff: int | None) -> Judged:
        """At least those judged documents that can be among the first `cutoff` of an ideal list."""
        return self

    def ideal(self, gain: Gains, cutoff: int | None = None) -> Ideal:
        """The ideal list of each topic when a grade is worth `gain(grade)`; down to `cutoff`, if there are many."""
        large = len(self) > MANY and self.size is None

        def make() -> Ideal:
            if not large:
                return self._ideal(gain)
            return Ideal.joined([part._ideal(gain).down_to(cutoff) for part, _ in self._down_to(cutoff)._parts()])

        if isinstance(
            gain, FunctionType | MethodType | partial
        ):  # a function: the next one may look the same and be another
            return make()
        return self.once(("ideal", gain, cutoff if large else None), make)

    def _ideal(self, gain: Gains) -> Ideal:
        gains = gain(self.grade)
        worth = gains > 0
        topic, gains = self.topic[worth], gains[worth]
        topics = len(self.start) - 1
        start = segment_starts(topic, topics)
        if self.size is not None:
            from cranfield.assessed.ideal_of_sets import Units

            units = Units(start, gains, self.size[worth].astype(np.int64))
            return Ideal(*units.ideal(), np.arange(topics), units)
        if ((gains[1:] > gains[:-1]) & (topic[1:] == topic[:-1])).any():  # a higher grade may gain less
            gains = gains[np.lexsort((-gains, topic))]
        return Ideal(start, gains, np.arange(topics))

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What `make` computes from the judgments alone; computed once for all runs, and cached under `key`."""
        if key not in self._cache:
            self._cache[key] = make()  # two threads may both compute it, with the same result
        return cast(T, self._cache[key])


class JudgedLevels(Judged):
    """Many judged documents with few different grades: only how many documents of each topic have each grade is kept.

    >>> judged = JudgedLevels(np.array([2.0, 0.0]), np.array([[1, 2], [0, 1]]))
    >>> judged.start.tolist(), judged.grade.tolist()
    ([0, 3, 4], [2.0, 0.0, 0.0, 0.0])
    """

    levels: Array
    """The grades, best first."""
    documents: NDArray[np.int32]
    """topics × levels: the number of documents."""

    def __init__(self, levels: Array, documents: NDArray[np.int32]) -> None:
        start = starts_of(documents.sum(axis=1))
        self.__dict__.update(start=start, levels=levels, documents=documents, size=None, _cache={})

    @property
    def grade(self) -> Array:
        """The grade of every document; made whenever it is asked for."""
        return self._grades(0, len(self.documents))

    @cached_property
    def highest(self) -> float:
        return max(self.levels[self.documents.any(axis=0)].tolist(), default=-np.inf)

    def count_once(self, key: Any, keep: Callable[[Array], NDArray[np.bool_]]) -> Array:
        return self.once(("count", key), lambda: self.documents[:, keep(self.levels)].sum(axis=1).astype(np.float64))

    def _grades(self, first: int, last: int) -> Array:
        documents = self.documents[first:last]
        return np.repeat(np.broadcast_to(self.levels, documents.shape).ravel(), documents.ravel())

    def _down_to(self, cutoff: int | None) -> Judged:
        return self if cutoff is None else JudgedLevels(self.levels, np.minimum(self.documents, cutoff))


Gains = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Ideal:
    """The ideal list of every topic: all gains above zero, largest first.

    With sets of documents that are relevant only together (`units`), the gains down to a rank are the most that any
    list can have there.
    """

    start: NDArray[np.int64]
    gain: Array
    set_of_row: Index
    units: Units | None = None
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def joined(parts: Sequence[Ideal]) -> Ideal:
        """The ideal lists of several parts, one after the other."""
        start = starts_of(np.concatenate([np.diff(part.start) for part in parts]))
        return Ideal(start, np.concatenate([part.gain for part in parts]), np.arange(len(start) - 1))

    def down_to(self, cutoff: int | None) -> Ideal:
        """The first `cutoff` documents of each list.

        >>> Ideal(np.array([0, 3, 4]), np.array([3.0, 2.0, 1.0, 1.0]), np.arange(2)).down_to(2).gain.tolist()
        [3.0, 2.0, 1.0]
        """
        if cutoff is None:
            return self
        sizes = np.minimum(np.diff(self.start), cutoff)
        return Ideal(starts_of(sizes), self.gain[ranges(self.start[:-1], sizes)], self.set_of_row)

    def by_parts(self, make: Callable[[Ideal], Array]) -> Array:
        """What `make` computes for each topic; of many judged documents, some topics at a time."""
        if len(self.gain) <= MANY or self.units is not None:
            return make(self)
        numbers = []
        for first, last in row_blocks(np.diff(self.start), MANY):
            start = self.start[first : last + 1]
            numbers.append(make(Ideal(start - start[0], self.gain[start[0] : start[-1]], np.arange(last - first))))
        return np.concatenate(numbers)

    @property
    def hits(self) -> Hits:
        """The ideal lists as hits, one list per topic, ranked 1, 2, 3 ..."""
        if "hits" not in self._known:
            topics = len(self.start) - 1
            topic = np.repeat(np.arange(topics), np.diff(self.start))
            self._known["hits"] = Hits(topics, topic, position_in_segment(self.start), self.gain)
        return cast(Hits, self._known["hits"])

    @cached_property
    def _cumulative(self) -> Array:
        return self.hits.running(self.gain)

    def cumulative(self, row: Index, rank: Index) -> Array:
        """cg*(rank) of the ideal list that belongs to each row."""
        return self.at(self._cumulative, row, rank)

    def at(self, running: Array, row: Index, rank: Index) -> Array:
        """A running value (one per ideal entry) at `rank` of each row's ideal list; beyond the end, its last value."""
        topic = self.set_of_row[row]
        begin, end = self.start[topic], self.start[topic + 1]
        last = np.minimum(begin + rank, end) - 1
        if not len(running):
            return np.zeros(len(last))
        return np.where(last >= begin, running[np.maximum(last, 0)], 0.0)

    @cached_property
    def length(self) -> Array:
        """Per row: how many documents its ideal list has."""
        return np.asarray(np.diff(self.start)[self.set_of_row], dtype=np.float64)

    def sum(self, values: ArrayLike, cutoff: int | None = None) -> Array:
        """Per row: the sum of `values` (one per ideal entry) over its topic's ideal list, down to `cutoff`."""
        return np.asarray(self._sums(values, cutoff)[self.set_of_row])

    def for_rows(self, set_of_row: Index) -> Ideal:
        """The same ideal lists, for other rows; what is already computed is kept."""
        return Ideal(self.start, self.gain, set_of_row, self.units, self._known)

    def once(self, key: Any, make: Callable[[], Array]) -> Array:
        """Per row: what `make` computes for each topic; computed once for all runs, and cached under `key`."""
        if key not in self._known:
            self._known[key] = make()
        return np.asarray(self._known[key][self.set_of_row])

    def _sums(self, values: ArrayLike, cutoff: int | None) -> Array:
        values = np.asarray(values, dtype=np.float64)
        if cutoff is not None:
            values = np.where(self.hits.rank <= cutoff, values, 0.0)
        return self.hits.sum(values)

    def best_sum(
        self, values: ArrayLike, cutoff: int | None, reward: Reward, change: Callable[[Array], Array] = np.asarray
    ) -> Array:
        """As `sum`; with sets of documents, the largest sum of rewards that an order of them can reach."""
        return np.asarray(self.best_sums(values, cutoff, reward, change)[self.set_of_row])

    def best_sums(
        self, values: ArrayLike, cutoff: int | None, reward: Reward, change: Callable[[Array], Array] = np.asarray
    ) -> Array:
        """As `best_sum`, but per topic."""
        sums = self._sums(values, cutoff)
        return sums if self.units is None else self.units.best(reward, sums, cutoff, change)

    def largest(self, empty: float) -> Array:
        """Per row: the largest gain of its topic; `empty` if nothing gains."""
        if self.units is None:
            return np.asarray(self.hits.first(self.gain, empty)[self.set_of_row], dtype=np.float64)
        return np.nan_to_num(self.units.largest(), nan=empty)[self.set_of_row]
