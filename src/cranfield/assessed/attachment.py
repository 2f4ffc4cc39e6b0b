"""Attachments of lists: data beyond ranks and grades (lengths, run scores, intents, dimensions, samples)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from cranfield.collection.tables.rows import Rows
from cranfield.collection.tables.table_schema import TOPIC, Numbers, Schema
from cranfield.errors import DataError, UsageError
from cranfield.text import counted, listed
from cranfield.types import Array, Index

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed


class Attachment:
    """Further data about the documents, lists or topics of `Assessed`.

    Each method returns the attachment for changed lists; by default it stays the same.
    """

    follows_order: ClassVar[bool] = False
    """Whether it depends on the order of tied documents."""
    knows_unjudged: ClassVar[bool] = False
    """Whether it differs between tied unjudged documents."""

    def joined(self, lists: Assessed) -> Self:
        """For lists that have just been joined with the judgments."""
        return self

    def take(self, rows: Index | slice) -> Self:
        """For the lists at these rows."""
        return self

    def condensed(self, lists: Assessed) -> Self:
        """For the same lists without unjudged documents."""
        return self

    def reordered(self, lists: Assessed, moves: Moves) -> Self:
        """For the same lists with tied documents in another order."""
        return self

    def with_unjudged(self, lists: Assessed, row: Index, hits: Index, grade: float) -> dict[str, Any]:
        """The changes to `lists` if unjudged documents have a grade.

        `row` is the list of every retrieved document, and `hits` says which of these documents are hits.
        """
        return {}

    def blocks(self, lists: Assessed) -> list[tuple[int, int]]:
        """Rows (begin, end) for which unjudged documents are added together, to bound memory."""
        return [(0, lists.rows)]

    def only_for(self, needs: Collection[str]) -> Self | None:
        """The part of it that matters to measures with these needs, when tied documents change places."""
        return self

    def placed(self, lists: Assessed) -> Placed | None:
        """The documents that it ranks, which may have no grade; None if these are the hits."""
        return None


class Placed(NamedTuple):
    """Ranked documents, by list: the rank, the first and last rank of the tie, and a grade to sort tied documents."""

    row: Index
    rank: Index
    first: Index
    last: Index
    grade: Array


class Moves:
    """Ranks of documents in another order: the document of list `row` at `rank` moves to `new`; others stay.

    `row` and `rank` must be sorted.

    >>> swap = Moves(np.array([0, 0]), np.array([1, 2]), np.array([2, 1]))
    >>> swap.of(np.array([0, 0, 1]), np.array([1, 3, 1])).tolist()
    [2, 3, 1]
    """

    def __init__(self, row: Index, rank: Index, new: Index) -> None:
        self._key, self._new = _key(row, rank), new

    def of(self, row: Index, rank: Index) -> Index:
        """The new rank of the documents at these rows and ranks."""
        key = _key(row, rank)
        at = np.minimum(np.searchsorted(self._key, key), max(len(self._key) - 1, 0))
        return np.where(self._key[at] == key, self._new[at], rank) if len(self._key) else rank


def _key(row: Index, rank: Index) -> Index:
    return np.asarray(row, dtype=np.int64) << 32 | np.asarray(rank, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ByRank(Attachment):
    """Numbers of the retrieved documents of every list, by rank.

    | array | one per | meaning |
    |---|---|---|
    | `begin` | list | where its documents begin in the columns |
    | `columns` | document | numbers, by name |

    Several lists may share documents: a list that is read several times (by intent, cut at every rank) is stored once.

    >>> ByRank.of_list("scores", {"score": [0.9, 0.2]}, 2).at("score", np.array([0]), np.array([2])).tolist()
    [0.2]
    """

    begin: Index
    columns: Mapping[str, Array]

    @classmethod
    def of_list(cls, kind: str, columns: Mapping[str, object], retrieved: int) -> Self:
        """For a single list; each column goes from the top down."""
        arrays = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
        for name, array in arrays.items():
            if array.shape != (retrieved,):
                raise UsageError(f"{kind}: {array.size} numbers for {name}, but the list has {retrieved} documents")
        return cls(np.zeros(1, dtype=np.int64), arrays)

    def take(self, rows: Index | slice) -> Self:
        return type(self)(self.begin[rows], self.columns)

    def condensed(self, lists: Assessed) -> Self:
        return self.picked(lists.hits().start[:-1], lists.row, lists.rank)

    def picked(self, begin: Index, row: Index, rank: Index) -> Self:
        """For new lists that begin at `begin` and have the documents at these rows and ranks."""
        at = self.begin[row] + rank - 1
        return type(self)(begin, {name: column[at] for name, column in self.columns.items()})

    def at(self, name: str, row: Index, rank: Index) -> Array:
        """The column's values for the documents at these rows and ranks."""
        return np.asarray(self.columns[name][self.begin[row] + rank - 1])


# ---- numbers of topics

NUMBERS = Schema(
    "topic N [alpha]",
    key=("topic",),
    any_of=("N", "alpha"),
    topic=TOPIC,
    N=Numbers(("n",), least=1, blank=math.nan, optional=True),
    alpha=Numbers(least=0, most=1, blank=math.nan, optional=True),
)


@dataclass(frozen=True, eq=False)
class TopicNumbers(Attachment):
    """Numbers of the topic of every list, by name; NaN for topics that the table lacks."""

    origin: str
    columns: Mapping[str, Array]

    def take(self, rows: Index | slice) -> TopicNumbers:
        return TopicNumbers(self.origin, {name: column[rows] for name, column in self.columns.items()})


def topic_numbers_of(source: Any, lists: Assessed) -> TopicNumbers:
    """From {name: {topic: number}}, or a file: lines `topic N`, or a header such as `topic,N,alpha` and lines of these.

    Names are `N` and `alpha`; further columns of a file are ignored.
    """
    rows = _table(source)
    columns = {}
    for name in (name for name in NUMBERS.any_of if name in rows):
        values = dict(zip(rows["topic"], rows[name].tolist(), strict=True))
        of_topic = np.array([values.get(topic, math.nan) for topic in lists.topics])
        columns[name] = of_topic[lists.topic]
    return TopicNumbers(rows.origin, columns)


def numbers_of_topics(lists: Assessed, name: str, caller: str) -> Array | None:
    """The number of the topic of each list; None without such a table. A topic that the table lacks is an error."""
    table = lists.topic_numbers
    if table is None or name not in table.columns:
        return None
    values = table.columns[name]
    if np.isnan(values).any():
        lacking = list(dict.fromkeys(lists.topics[topic] for topic in lists.topic[np.isnan(values)].tolist()))
        what = f"{caller}: no {name} for {counted(len(lacking), 'topic')}: {listed(lacking)}"
        raise DataError(table.origin, None, f"{what}; add a line {lacking[0]} {name.upper()}")
    return values


def _table(source: Any) -> Rows:
    if not isinstance(source, Mapping):
        return NUMBERS.read(source, "topic_numbers")
    for name, values in source.items():
        if name not in NUMBERS.any_of or not isinstance(values, Mapping):
            raise UsageError(
                f"topic_numbers == {{{name!r}: ...}}, must be {{name: {{topic: number}}}} with the names "
                f"{' and '.join(NUMBERS.any_of)}"
            )
    topics = dict.fromkeys(topic for values in source.values() for topic in values)
    columns = {name: [values.get(topic) for topic in topics] for name, values in source.items()}
    return NUMBERS.read_columns({"topic": list(topics), **columns}, "topic_numbers")
