"""Assessed lists: every ranked list as the judged documents in it.

A run is joined with the judgments once. What remains are flat arrays, one entry per judged retrieved document (a
*hit*), all runs and topics together, sorted by list and rank. A measure is a line or two of segment operations on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.errors import UsageError
from cranfield.lengths import Lengths

if TYPE_CHECKING:
    from cranfield.intents import Intents
    from cranfield.sampling import Sample

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]
T = TypeVar("T")

LONG = 256
"""Lists with more hits than this are accumulated one by one, shorter ones side by side."""


def segment_starts(group: Index, groups: int) -> NDArray[np.int64]:
    """Where each group begins in the sorted array `group`, with the total length at the end.

    >>> segment_starts(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    starts = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=groups), out=starts[1:])
    return starts


def position_in_segment(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The 1-based position of every entry within its segment.

    >>> position_in_segment(np.array([0, 2, 2, 3])).tolist()
    [1, 2, 1]
    """
    lengths = np.diff(starts)
    return np.arange(1, starts[-1] + 1) - np.repeat(starts[:-1], lengths)


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
        """Where each list begins; one more entry than there are lists."""
        return segment_starts(self.row, self.rows)

    @cached_property
    def nth(self) -> NDArray[np.int64]:
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
        if np.array_equal(values, np.rint(values)):  # whole numbers: nothing is lost by taking off a total
            before = np.concatenate(([0.0], total))[self.start[:-1]]
            return np.asarray(total - before[self.row])
        return self._accumulate(np.add, values)

    def running_product(self, values: ArrayLike) -> Array:
        """The product of `values` down to and including each hit, within its list."""
        return self._accumulate(np.multiply, values)

    def running_max_from_below(self, values: ArrayLike) -> Array:
        """The largest of `values` from each hit down to the last of its list."""
        upward = Hits(self.rows, self.rows - 1 - self.row[::-1], self.rank[::-1], self.grade[::-1])
        return upward._accumulate(np.maximum, np.asarray(values, dtype=np.float64)[::-1])[::-1]

    def _accumulate(self, operation: np.ufunc, values: ArrayLike) -> Array:
        """Every list on its own and in rank order, so a score never depends on which other lists are scored with it."""
        out = np.array(values, dtype=np.float64)
        begin, length = self.start[:-1], np.diff(self.start)
        for one in np.flatnonzero(length > LONG):
            piece = slice(begin[one], begin[one] + length[one])
            operation.accumulate(out[piece], out=out[piece])
        short = np.flatnonzero((length > 1) & (length <= LONG))
        longest_first = short[np.argsort(-length[short], kind="stable")]
        at, length = begin[longest_first], length[longest_first]
        reaching = np.searchsorted(-length, -np.arange(1, int(length.max(initial=1)) + 1), side="right")
        for nth, lists in enumerate(reaching[1:].tolist(), 1):
            here = at[:lists] + nth
            out[here] = operation(out[here - 1], out[here])
        return out

    def previous(self, values: ArrayLike, first: float) -> Array:
        """`values` of the hit before each hit in its list; `first` where there is none."""
        values = np.asarray(values, dtype=np.float64)
        out = np.empty_like(values)
        out[1:] = values[:-1]
        begins = self.start[:-1]
        out[begins[begins < self.start[1:]]] = first
        return out

    def first(self, values: ArrayLike, default: float) -> Array:
        """`values` of the first hit in each list; `default` where a list has none."""
        values = np.asarray(values, dtype=np.float64)
        out = np.full(self.rows, default)
        some = self.start[:-1] < self.start[1:]
        out[some] = values[self.start[:-1][some]]
        return out

    def where(self, keep: NDArray[np.bool_]) -> Hits:
        """The hits for which `keep` is true."""
        return self if keep.all() else self.at(np.flatnonzero(keep))

    def at(self, index: Index) -> Hits:
        """The hits at these positions, which must be in order."""
        weight = None if self.weight is None else self.weight[index]
        return Hits(self.rows, self.row[index], self.rank[index], self.grade[index], weight)


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged documents of every topic: grades, best first, topic after topic."""

    start: NDArray[np.int64]
    grade: Array

    @staticmethod
    def of(topic: Index, grade: ArrayLike, topics: int) -> Judged:
        """From one entry per judged document, in any order."""
        grades = np.asarray(grade, dtype=np.float64)
        best_first = np.lexsort((-grades, topic))
        return Judged(segment_starts(np.asarray(topic), topics), grades[best_first])

    @cached_property
    def topic(self) -> NDArray[np.int64]:
        """The topic of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def nth(self) -> NDArray[np.int64]:
        """1 for the best document of its topic, 2 for the next, ..."""
        return position_in_segment(self.start)

    def count(self, keep: NDArray[np.bool_]) -> Array:
        """How many judged documents of each topic satisfy `keep`."""
        return _per_list(self.topic, keep.astype(np.float64), len(self.start) - 1)


Gains = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Ideal:
    """The ideal list of every topic: all gains above zero, largest first."""

    start: NDArray[np.int64]
    gain: Array
    set_of_row: Index

    @cached_property
    def hits(self) -> Hits:
        """The ideal lists as hits, one list per topic, ranked 1, 2, 3 ..."""
        topics = len(self.start) - 1
        topic = np.repeat(np.arange(topics), np.diff(self.start))
        return Hits(topics, topic, position_in_segment(self.start), self.gain)

    @cached_property
    def _cumulative(self) -> Array:
        return self.hits.running(self.gain)

    def cumulative(self, row: Index, rank: Index) -> Array:
        """cg*(rank) of the ideal list that belongs to each row."""
        return self.at(self._cumulative, row, rank)

    def at(self, running: Array, row: Index, rank: Index) -> Array:
        """A running value (one per ideal entry) at `rank` of each row's ideal list; its last one beyond the end."""
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
        values = np.asarray(values, dtype=np.float64)
        if cutoff is not None:
            values = np.where(self.hits.rank <= cutoff, values, 0.0)
        return np.asarray(self.hits.sum(values)[self.set_of_row])


@dataclass(frozen=True, eq=False)
class Assessed:
    """Every list (run × topic) as its hits, beside the judged set of its topic.

    | array | one per | meaning |
    |---|---|---|
    | `row`, `rank`, `grade` | hit | which list, 1-based rank after the tie rule, judged grade |
    | `tie_first`, `tie_last` | hit | ranks between which the document could stand, its score being tied |
    | `place` | hit | which document of the ranking it is; only kept to explain one list |
    | `document` | hit | which judged document it is, where the judgments have intents or are a sample |
    | `lengths` | row and rank | how long the documents are, where a table of lengths was given |
    | `run`, `topic` | row | which run and which topic the list belongs to |
    | `retrieved` | row | how many documents were retrieved |
    | `missing` | row | the run has no list for this topic |
    | `set_of_row` | row | which entry of `judged` is the topic's judged set |
    """

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    run: Index
    topic: Index
    retrieved: Index
    missing: NDArray[np.bool_]
    row: Index
    rank: Index
    grade: Array
    judged: Judged
    set_of_row: Index
    tie_first: Index | None = None
    tie_last: Index | None = None
    weight: Array | None = None
    place: Index | None = None
    document: Index | None = None
    intents: Intents | None = None
    lengths: Lengths | None = None
    sample: Sample | None = None
    every_gain_counts: bool = False
    notes: tuple[str, ...] = ()
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def grid(
        runs: Sequence[str],
        topics: Sequence[str],
        *,
        retrieved: Index,
        missing: NDArray[np.bool_],
        row: Index,
        rank: Index,
        grade: ArrayLike,
        judged: Judged,
        tie_first: Index | None = None,
        tie_last: Index | None = None,
        notes: Sequence[str] = (),
    ) -> Assessed:
        """Lists of every run on every topic; row number = run × topics + topic."""
        n_runs, n_topics = len(runs), len(topics)
        topic = np.tile(np.arange(n_topics), n_runs)
        return Assessed(
            runs=tuple(runs),
            topics=tuple(topics),
            run=np.repeat(np.arange(n_runs), n_topics),
            topic=topic,
            retrieved=retrieved,
            missing=missing,
            row=row,
            rank=rank,
            grade=np.asarray(grade, dtype=np.float64),
            judged=judged,
            set_of_row=topic,
            tie_first=tie_first,
            tie_last=tie_last,
            notes=tuple(notes),
        )

    @staticmethod
    def from_table(
        run: Sequence[str],
        topic: Sequence[str],
        rank: ArrayLike,
        grade: ArrayLike,
        *,
        judged: Mapping[str, Iterable[float]],
        retrieved: Mapping[tuple[str, str], int],
    ) -> Assessed:
        """From a table of hits that another engine joined.

        `judged` gives the grades of all judged documents of each topic; `retrieved` the length of each list
        by (run, topic): a pair that is not there is a topic the run lacks.

        >>> lists = Assessed.from_table(["a", "a"], ["1", "1"], [1, 3], [1, 0],
        ...                             judged={"1": [1, 1, 0]}, retrieved={("a", "1"): 10})
        >>> lists.relevant(1).rank.tolist()
        [1]
        """
        runs = list(dict.fromkeys(name for name, _ in retrieved))
        topics = list(judged)
        run_number = {name: i for i, name in enumerate(runs)}
        topic_number = {name: i for i, name in enumerate(topics)}
        try:
            pairs = zip(run, topic, strict=True)
            row = np.array([run_number[r] * len(topics) + topic_number[t] for r, t in pairs], dtype=np.int64)
        except KeyError as unknown:
            raise UsageError(f"{unknown} has hits, but is not in `retrieved` or `judged`") from None
        ranks = np.asarray(rank, dtype=np.int64)
        in_order = np.lexsort((ranks, row))
        length = np.zeros(len(runs) * len(topics), dtype=np.int64)
        missing = np.ones(len(length), dtype=bool)
        for (r, t), n in retrieved.items():
            if t in topic_number:
                length[run_number[r] * len(topics) + topic_number[t]] = n
                missing[run_number[r] * len(topics) + topic_number[t]] = False
        of = np.repeat(np.arange(len(topics)), [len(list(g)) for g in judged.values()])
        grades = np.array([g for grades in judged.values() for g in grades], dtype=np.float64)
        return Assessed.grid(
            runs,
            topics,
            retrieved=length,
            missing=missing,
            row=row[in_order],
            rank=ranks[in_order],
            grade=np.asarray(grade, dtype=np.float64)[in_order],
            judged=Judged.of(of, grades, len(topics)),
        )

    @staticmethod
    def one(grades: Sequence[float | None], missed: Sequence[float] = ()) -> Assessed:
        """A single list given as its grades from the top; None is an unjudged document.

        `missed` are the grades of judged documents that were not retrieved.

        >>> Assessed.one([1, None, 0]).rank.tolist()
        [1, 3]
        """
        hit = [(r, g) for r, g in enumerate(grades, 1) if g is not None]
        judged = np.array([g for _, g in hit] + list(missed), dtype=np.float64)
        return Assessed.grid(
            ["run"],
            ["topic"],
            retrieved=np.array([len(grades)]),
            missing=np.array([False]),
            row=np.zeros(len(hit), dtype=np.int64),
            rank=np.array([r for r, _ in hit], dtype=np.int64),
            grade=[g for _, g in hit],
            judged=Judged.of(np.zeros(len(judged), dtype=np.int64), judged, 1),
        )

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        if key not in self._cache:
            self._cache[key] = make()
        found: T = self._cache[key]
        return found

    def __len__(self) -> int:
        return len(self.run)

    @property
    def rows(self) -> int:
        """How many lists there are."""
        return len(self.run)

    @cached_property
    def max_grade(self) -> float:
        """The largest grade in the judgments; 0 when there is none above."""
        return float(self.judged.grade.max(initial=0.0))

    def hits(self, cutoff: int | None = None) -> Hits:
        """All judged documents retrieved at `cutoff` or above."""

        def make() -> Hits:
            every = Hits(self.rows, self.row, self.rank, self.grade, self.weight)
            return every if cutoff is None else every.where(self.rank <= cutoff)

        return self._once(("hits", cutoff), make)

    def every(self, cutoff: int | None = None) -> Hits:
        """Every retrieved document down to `cutoff`, judged or not; the grade of an unjudged one is NaN."""

        def make() -> Hits:
            reach = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
            start = np.zeros(self.rows + 1, dtype=np.int64)
            np.cumsum(reach, out=start[1:])
            grade = np.full(start[-1], np.nan)
            hits = self.hits(cutoff)
            grade[start[hits.row] + hits.rank - 1] = hits.grade
            return Hits(self.rows, np.repeat(np.arange(self.rows), reach), position_in_segment(start), grade)

        return self._once(("every", cutoff), make)

    def relevant(self, rel: float = 1, cutoff: int | None = None) -> Hits:
        """The hits of grade `rel` or better, down to rank `cutoff`."""

        def make() -> Hits:
            if cutoff is not None:
                every = self.relevant(rel)
                return every.where(every.rank <= cutoff)
            return self.hits().where(self.counts(self.grade, rel))

        return self._once(("relevant", rel, cutoff), make)

    def counts(self, grade: Array, rel: float) -> NDArray[np.bool_]:
        """Which grades count as relevant: `rel` or better; any above 0 where grades are gains over several intents."""
        return np.asarray(grade > 0 if self.every_gain_counts else grade >= rel)

    def num_rel(self, rel: float = 1) -> Array:
        """R of each row: judged documents of grade `rel` or better, retrieved or not."""
        return self._once(
            ("num_rel", rel), lambda: self.judged.count(self.counts(self.judged.grade, rel))[self.set_of_row]
        )

    def num_judged(self) -> Array:
        """How many judged documents the topic of each row has."""
        return self._once("num_judged", lambda: np.diff(self.judged.start).astype(np.float64)[self.set_of_row])

    def ideal(self, gain: Gains) -> Ideal:
        """The ideal list of each topic when a grade is worth `gain(grade)`."""

        def make() -> Ideal:
            gains = gain(self.judged.grade)
            worth = gains > 0
            topic, gains = self.judged.topic[worth], gains[worth]
            best_first = np.lexsort((-gains, topic))
            return Ideal(segment_starts(topic, len(self.judged.start) - 1), gains[best_first], self.set_of_row)

        return self._once(("ideal", gain), make)

    def rows_at(self, index: Index | slice) -> Assessed:
        """The lists at these rows without their hits, which the caller puts in by `replace`."""
        none = np.zeros(0, dtype=np.int64)
        return self.replace(
            run=self.run[index],
            topic=self.topic[index],
            retrieved=self.retrieved[index],
            missing=self.missing[index],
            set_of_row=self.set_of_row[index],
            lengths=None if self.lengths is None else self.lengths.rows(index),
            row=none,
            rank=none,
            grade=np.zeros(0),
            tie_first=None,
            tie_last=None,
            weight=None,
            place=None,
            document=None,
        )

    def replace(self, **changes: Any) -> Assessed:
        """A copy with some arrays changed."""
        return replace(self, _cache={}, **changes)
