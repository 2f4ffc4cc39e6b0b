"""Assessed lists: every ranked list as the judged documents in it.

A run is joined with the judgments once. The result is flat arrays with one entry per judged retrieved document (a
*hit*), for all runs and topics together, sorted by list and rank. A measure is a line or two of segment operations on
these arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.assessed.attachment import Attachment
from cranfield.assessed.segments import (
    MANY,
    Gains,
    Hits,
    Ideal,
    Judged,
    position_in_segment,
    ranges,
    starts_of,
)
from cranfield.errors import UsageError
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.attachment import ByRank, TopicNumbers
    from cranfield.assessed.dimensions import Dimensions
    from cranfield.assessed.intents import Intents
    from cranfield.assessed.lengths import Lengths
    from cranfield.assessed.sampling import Sample

T = TypeVar("T")


ROW_COLUMNS = ("run", "topic", "retrieved", "missing", "set_of_row")
HIT_COLUMNS = ("rank", "grade", "tie_first", "tie_last", "weight", "place", "document")
ATTACHMENTS = ("lengths", "scores", "intents", "sample", "dimensions", "topic_numbers")


@dataclass(frozen=True, eq=False)
class Assessed:
    """Every list (run × topic) as its hits, with the judged documents of its topic.

    | array | one per | meaning |
    |---|---|---|
    | `row`, `rank`, `grade` | hit | which list, 1-based rank after the tie rule, judged grade |
    | `tie_first`, `tie_last` | hit | first and last rank of the documents with the same score |
    | `weight` | hit | how much the hit counts; None: each counts 1 |
    | `place` | hit | which document of the ranking it is; only kept to explain one list |
    | `document` | hit | which judged document it is |
    | `run`, `topic` | row | which run and which topic the list belongs to |
    | `retrieved` | row | how many documents were retrieved |
    | `missing` | row | whether the run has no list for this topic |
    | `set_of_row` | row | which entry of `judged` holds the judged documents of the topic |

    `attachments` holds what is known beyond ranks and grades, by name: `lengths`, `scores`, `intents`, `sample`,
    `dimensions` and `topic_numbers`. Each is also a property, None if it is not known, and an argument of `replace`.
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
    attachments: Mapping[str, Attachment] = field(default_factory=dict)
    every_gain_counts: bool = False
    notes: tuple[str, ...] = ()
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def grid(cls, runs: Sequence[str], topics: Sequence[str], **columns: Any) -> Self:
        """Lists of every run on every topic; row number = run × topics + topic. `columns` are the other fields."""
        topic = np.tile(np.arange(len(topics)), len(runs))
        run = np.repeat(np.arange(len(runs)), len(topics))
        return cls(tuple(runs), tuple(topics), run=run, topic=topic, set_of_row=topic, **columns)

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

        `judged` gives the grades of all judged documents of each topic; `retrieved` gives the length of each list
        by (run, topic). A pair that is not in `retrieved` is a topic that the run lacks.

        >>> lists = Assessed.from_table(["a", "a"], ["1", "1"], [1, 3], [1, 0],
        ...                             judged={"1": [1, 1, 0]}, retrieved={("a", "1"): 10})
        >>> lists.relevant(1).rank.tolist()
        [1]
        """
        runs, topics = list(dict.fromkeys(name for name, _ in retrieved)), list(judged)
        row_of = {pair: number for number, pair in enumerate(product(runs, topics))}
        try:
            row = np.array([row_of[pair] for pair in zip(run, topic, strict=True)], dtype=np.int64)
        except KeyError as unknown:
            raise UsageError(f"(run, topic) {unknown} has hits, but is not in `retrieved` and `judged`") from None
        ranks = np.asarray(rank, dtype=np.int64)
        in_order = np.lexsort((ranks, row))
        grades = [(number, grade) for number, values in enumerate(judged.values()) for grade in values]
        topic_of_grade, judged_grade = np.array(grades, dtype=np.float64).reshape(-1, 2).T
        return Assessed.grid(
            runs,
            topics,
            retrieved=np.array([retrieved.get(pair, 0) for pair in row_of], dtype=np.int64),
            missing=np.array([pair not in retrieved for pair in row_of], dtype=bool),
            row=row[in_order],
            rank=ranks[in_order],
            grade=np.asarray(grade, dtype=np.float64)[in_order],
            judged=Judged.of(topic_of_grade.astype(np.int64), judged_grade, len(topics)),
        )

    @staticmethod
    def one(grades: Sequence[float | None], missed: Sequence[float] = ()) -> Assessed:
        """A single list, given as its grades from the top down; None is an unjudged document.

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
            grade=np.array([g for _, g in hit], dtype=np.float64),
            judged=Judged.of(np.zeros(len(judged), dtype=np.int64), judged, 1),
        )

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        if key not in self._cache:
            self._cache[key] = make()
        return cast(T, self._cache[key])

    def __len__(self) -> int:
        return len(self.run)

    @property
    def rows(self) -> int:
        """The number of lists."""
        return len(self.run)

    @property
    def lengths(self) -> Lengths | None:
        """How long the retrieved documents are."""
        return cast("Lengths | None", self.attachments.get("lengths"))

    @property
    def scores(self) -> ByRank | None:
        """The scores that the runs gave the retrieved documents."""
        return cast("ByRank | None", self.attachments.get("scores"))

    @property
    def intents(self) -> Intents | None:
        """The intents of the topics."""
        return cast("Intents | None", self.attachments.get("intents"))

    @property
    def sample(self) -> Sample | None:
        """How the judged documents were sampled."""
        return cast("Sample | None", self.attachments.get("sample"))

    @property
    def dimensions(self) -> Dimensions | None:
        """Grades in further dimensions."""
        return cast("Dimensions | None", self.attachments.get("dimensions"))

    @property
    def topic_numbers(self) -> TopicNumbers | None:
        """Numbers of the topics that measures use as parameters."""
        return cast("TopicNumbers | None", self.attachments.get("topic_numbers"))

    @cached_property
    def max_grade(self) -> float:
        """The largest grade in the judgments, at least 0."""
        return max(0.0, self.judged.highest)

    def hits(self, cutoff: int | None = None) -> Hits:
        """All judged documents retrieved at `cutoff` or above."""

        def make() -> Hits:
            if cutoff is None:
                return self.as_hits(self.row, self.rank, self.grade, self.weight)
            return self.hits().where(self.rank <= cutoff) if cutoff < self.deepest else self.hits()

        return self._once(("hits", cutoff), make)

    @property
    def ranks_on_demand(self) -> bool:
        """Whether it is cheaper to ask for the hits down to a cutoff than to choose among all hits."""
        return False

    def as_hits(self, row: Index, rank: Index, grade: Array, weight: Array | None) -> Hits:
        """Hits of these lists."""
        return Hits(self.rows, row, rank, grade, weight)

    @property
    def deepest(self) -> int:
        """The rank of the lowest hit of all lists."""
        return self._once("deepest", lambda: int(self.rank.max(initial=0)))

    def every(self, cutoff: int | None = None) -> Hits:
        """Every retrieved document down to `cutoff`; the grade of an unjudged document is NaN."""

        def make() -> Hits:
            reach = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
            start = starts_of(reach)
            grade = np.full(start[-1], np.nan)
            hits = self.hits(cutoff)
            grade[start[hits.row] + hits.rank - 1] = hits.grade
            return Hits(self.rows, np.repeat(np.arange(self.rows), reach), position_in_segment(start), grade)

        return self._once(("every", cutoff), make)

    def relevant(self, rel: float = 1, cutoff: int | None = None) -> Hits:
        """The hits of grade `rel` or better, down to rank `cutoff`."""

        def make() -> Hits:
            if cutoff is not None:
                if self.ranks_on_demand:
                    top = self.hits(cutoff)
                    return top.where(self.counts(top.grade, rel))
                every = self.relevant(rel)
                return every.where(every.rank <= cutoff) if cutoff < self.deepest else every
            return self.hits().where(self.counts(self.grade, rel))

        return self._once(("relevant", rel, cutoff), make)

    def counts(self, grade: Array, rel: float) -> NDArray[np.bool_]:
        """Which grades count as relevant: `rel` or better; any above 0 if grades are gains over several intents."""
        return np.asarray(grade > 0 if self.every_gain_counts else grade >= rel)

    def num_rel(self, rel: float = 1) -> Array:
        """R of each row: judged documents of grade `rel` or better, retrieved or not."""
        return self._once(
            ("num_rel", rel),
            lambda: self.judged.count_once((self.every_gain_counts, rel), lambda g: self.counts(g, rel))[
                self.set_of_row
            ],
        )

    def num_judged(self) -> Array:
        """How many judged documents the topic of each row has."""
        return self._once("num_judged", lambda: np.diff(self.judged.start).astype(np.float64)[self.set_of_row])

    def ideal(self, gain: Gains) -> Ideal:
        """The ideal list of each topic when a grade is worth `gain(grade)`."""

        return self._once(("ideal", gain), lambda: self.judged.ideal(gain).for_rows(self.set_of_row))

    def ideal_down_to(self, gain: Gains, cutoff: int | None) -> Ideal:
        """The ideal list of each topic, at least down to rank `cutoff`."""
        if cutoff is None or len(self.judged) <= MANY or ("ideal", gain) in self._cache:
            return self.ideal(gain)
        return self._once(("ideal", gain, cutoff), lambda: self.judged.ideal(gain, cutoff).for_rows(self.set_of_row))

    @cached_property
    def document_start(self) -> NDArray[np.int64]:
        """Where each list begins if all retrieved documents stand one after the other, with their number at the end."""
        return starts_of(self.retrieved)

    def take(self, rows: Index | slice) -> Assessed:
        """The lists at these rows, or from one row up to another, with their hits and attachments.

        >>> lists = Assessed.from_table(["a", "b"], ["1", "1"], [1, 3], [1, 0],
        ...                             judged={"1": [1, 0]}, retrieved={("a", "1"): 9, ("b", "1"): 9})
        >>> lists.take(np.array([1, 0, 1])).rank.tolist()
        [3, 1, 3]
        """
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(self.rows)
            if (begin, end) == (0, self.rows):
                return self
            hits = slice(*np.searchsorted(self.row, [begin, end]))
            return self.take_hits(rows, hits, self.row[hits] - begin)
        start = self.hits().start
        sizes = np.diff(start)[rows]
        return self.take_hits(rows, ranges(start[rows], sizes), np.repeat(np.arange(len(rows)), sizes))

    def take_hits(self, rows: Index | slice, hits: Index | slice, row: Index) -> Assessed:
        """The lists at `rows` with the hits at the positions `hits`; `row` is the new list of each hit."""
        columns = {name: column[hits] for name in HIT_COLUMNS if (column := getattr(self, name)) is not None}
        return self.without_hits(rows).replace(row=row, **columns)

    def without_hits(self, rows: Index | slice) -> Assessed:
        """The lists at these rows without their hits, for callers that put in other hits by `replace`."""
        none: dict[str, Any] = {**dict.fromkeys(HIT_COLUMNS), "rank": np.zeros(0, dtype=np.int64), "grade": np.zeros(0)}
        return self.replace(
            **{name: getattr(self, name)[rows] for name in ROW_COLUMNS},
            **{name: attachment.take(rows) for name, attachment in self.attachments.items()},
            **none,
            row=none["rank"],
        )

    def replace(self, **changes: Any) -> Assessed:
        """A copy with some arrays or attachments changed; an attachment that is None is removed."""
        attached = {name: changes.pop(name) for name in ATTACHMENTS if name in changes}
        if attached:
            every = {**self.attachments, **attached}
            changes["attachments"] = {name: known for name, known in every.items() if known is not None}
        return replace(self, _cache={}, **changes)
