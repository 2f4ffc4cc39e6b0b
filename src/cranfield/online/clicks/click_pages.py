"""Result pages with clicks, each distinct page once with the number of its sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.text import counted
from cranfield.types import Array, Index64

SPLITS = ("session", "time")
"""How sessions are held out: at random by a hash of the session, or the latest ones."""
DENSE = 8
"""Counting uses a table of all places if that table has at most this many entries per impression."""


def sums(group: NDArray[Any], weight: Array, size: int) -> Array:
    """The sum of the weights of each group."""
    return np.asarray(np.bincount(group, weight, size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PairNames:
    """Pairs of a query and a document, one entry each."""

    queries: tuple[str, ...]
    """The distinct queries."""
    query: Index64
    """The number of the query of each pair."""
    doc: NDArray[Any]
    """The name of the document of each pair."""

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """The names of query and document."""
        names = self.queries
        return [(names[q], doc) for q, doc in zip(self.query.tolist(), self.doc.tolist(), strict=True)]

    def numbers_in(self, other: PairNames) -> Index64:
        """For each pair of `other`: its number here, or -1."""
        if other is self:
            return np.arange(len(self))
        return np.array([self._place.get(key, -1) for key in other.keys], dtype=np.int64)

    @cached_property
    def _place(self) -> dict[tuple[str, str], int]:
        return {key: i for i, key in enumerate(self.keys)}


@dataclass(frozen=True, eq=False)
class Cells:
    """How often each pair was shown at each rank, and clicked there."""

    names: PairNames
    pair: Index64
    rank: Index64
    """1-based."""
    shown: Array
    clicked: Array
    notes: tuple[str, ...] = ()

    @property
    def ranks(self) -> int:
        return int(self.rank.max(initial=0))

    @property
    def sessions(self) -> int | None:
        return None

    @property
    def impressions(self) -> int:
        return int(self.shown.sum())

    def pair_counts(self) -> tuple[Array, Array]:
        """pairs: how often each was shown, and clicked."""
        size = len(self.names)
        return sums(self.pair, self.shown, size), sums(self.pair, self.clicked, size)


@dataclass(frozen=True, eq=False)
class Pages:
    """Distinct pages: a query, a list of documents and the clicks on them, with the number of sessions that had it.

    The rows of `pair` and `clicked` are pages, the columns ranks. A pair of -1 is a rank without a document.

    >>> pages = Pages.of(["cats", "cats"], [["d1", "d2"], ["d1", "d2"]], [[1, 0], [1, 0]])
    >>> pages.sessions.tolist(), pages.clicked.tolist()
    ([2], [[True, False]])
    """

    names: PairNames
    pair: Index64
    clicked: NDArray[np.bool_]
    sessions: Index64
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, queries: Sequence[Any], docs: Any, clicks: Any) -> Pages:
        """Pages from arrays: a query per session, and sessions × ranks of documents and of clicks.

        docs: names; None or "" after the end of a shorter list. clicks: numbers of clicks, 0 for none.
        """
        names, listed, present = _listed(queries, docs)
        counts = _matrix(clicks, len(names), "clicks", 0, np.float64)
        if counts.shape != listed.shape:
            raise UsageError(f"clicks.shape == {counts.shape}, must be that of docs, {listed.shape}")
        if not np.all((counts >= 0) & np.isfinite(counts)):
            raise UsageError("clicks must be numbers of clicks, 0 or more")
        if (counts[~present] > 0).any():
            raise UsageError("there are clicks at ranks without a document")
        repeated = int((counts > 1).sum())
        notes = (repeated_clicks(repeated),) if repeated else ()
        return distinct_pages(*_coded(names, listed, present), counts > 0, np.ones(len(names)), notes)

    @classmethod
    def lists(cls, queries: Sequence[Any], docs: Any) -> Pages:
        """Pages without clicks, a page per session in the given order, from a query and a list of documents each."""
        names, listed, present = _listed(queries, docs)
        coded, pair = paired(*_coded(names, listed, present))
        return cls(coded, pair, np.zeros(listed.shape, dtype=bool), np.ones(len(names), dtype=np.int64))

    @property
    def ranks(self) -> int:
        """The length of the longest list."""
        return int(self.pair.shape[1])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where there is a document."""
        return np.asarray(self.pair >= 0)

    @property
    def impressions(self) -> int:
        return int((self.present.sum(axis=1) * self.sessions).sum())

    @cached_property
    def last(self) -> Index64:
        """The column of the lowest click of each page; -1 without clicks."""
        columns = np.arange(self.ranks)
        return np.asarray(np.where(self.clicked, columns, -1).max(axis=1, initial=-1), dtype=np.int64)

    @cached_property
    def query(self) -> Index64:
        """The number of the query of each page; -1 for an empty page."""
        first = self.pair.max(axis=1, initial=-1)
        return np.where(first >= 0, self.names.query[first] if len(self.names) else -1, -1)

    @property
    def several_clicks(self) -> int:
        """The number of sessions with clicks on several documents."""
        return int(self.sessions[self.clicked.sum(axis=1) > 1].sum())

    def first_clicks(self) -> Pages:
        """The same pages with only the highest click of each."""
        return replace(self, clicked=self.clicked & (np.cumsum(self.clicked, axis=1) == 1))

    def pair_counts(self) -> tuple[Array, Array]:
        """pairs: how often each was shown, and clicked."""
        weight = np.broadcast_to(self.sessions.astype(np.float64)[:, None], self.pair.shape)
        shown, clicked = (
            sums(self.pair[where], weight[where], len(self.names)) for where in (self.present, self.clicked)
        )
        return shown, clicked

    def cells(self) -> Cells:
        """How often each pair was shown and clicked at each rank."""
        columns = np.broadcast_to(np.arange(self.ranks), self.pair.shape)
        pair, column, shown, clicked = self.counts_by(columns, self.ranks)
        return Cells(self.names, pair, column + 1, shown, clicked, self.notes)

    def counts_by(self, place: Index64, places: int) -> tuple[Index64, Index64, Array, Array]:
        """How often each pair was shown and clicked at each place: pair, place, shown, clicked.

        place: pages × ranks, from 0 to places - 1.
        """
        present = self.present
        key = self.pair[present] * places + place[present]
        weight = np.broadcast_to(self.sessions.astype(np.float64)[:, None], self.pair.shape)[present]
        clicks = weight * self.clicked[present]
        size = len(self.names) * places
        if size <= DENSE * len(key):
            shown = sums(key, weight, size)
            used = np.flatnonzero(shown)
            shown, clicked = shown[used], sums(key, clicks, size)[used]
        else:
            used, cell = numbered(key)
            shown, clicked = sums(cell, weight, len(used)), sums(cell, clicks, len(used))
        return used // max(places, 1), used % max(places, 1), shown, clicked


def repeated_clicks(count: int) -> str:
    """The note on documents that were clicked more than once."""
    documents = counted(count, "document was", "documents were")
    return f"{documents} clicked more than once in a session; that counts as one click"


def _listed(queries: Sequence[Any], docs: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """The queries, sessions × ranks of documents, and where there is one."""
    names = np.array([str(query) for query in queries], dtype=object)
    listed = _matrix(docs, len(names), "docs", "", object)
    return names, listed, np.asarray((listed != "") & (listed != np.array(None)), dtype=bool)


def _matrix(values: Any, rows: int, name: str, empty: Any, kind: Any) -> NDArray[Any]:
    """A matrix of a row per session; shorter rows are filled up."""
    if len(values) != rows:
        raise UsageError(f"{name} has {len(values):,} rows, must have one per query, {rows:,}")
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return values.astype(kind)
    lists = [list(row) for row in values]
    filled = np.full((rows, max(map(len, lists), default=0)), empty, dtype=kind)
    for i, row in enumerate(lists):
        filled[i, : len(row)] = row
    return filled


def _coded(
    names: NDArray[Any], listed: NDArray[Any], present: NDArray[np.bool_]
) -> tuple[tuple[str, ...], Index64, NDArray[Any], Index64]:
    """Distinct queries and the query of each session, distinct documents and the documents of each session."""
    queries, query = np.unique(names, return_inverse=True)
    words, doc = np.unique(listed[present].astype(str), return_inverse=True)
    code = np.full(listed.shape, -1, dtype=np.int64)
    code[present] = doc
    return tuple(queries.tolist()), query, words.astype(object), code


def distinct_pages(
    queries: tuple[str, ...],
    query: Index64,
    words: NDArray[Any],
    doc: Index64,
    clicked: NDArray[np.bool_],
    sessions: NDArray[Any],
    notes: tuple[str, ...] = (),
) -> Pages:
    """Pages from numbers of queries and documents (-1: none), with equal pages put together."""
    names, pair = paired(queries, query, words, doc)
    rows = np.column_stack([query, 2 * pair + clicked])
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    total = sums(place.ravel(), sessions, len(first)).astype(np.int64)
    return Pages(names, pair[first], clicked[first], total, notes)


def numbered(keys: Index64) -> tuple[Index64, Index64]:
    """The distinct keys in their order, and the place of each key among them."""
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, place


def paired(
    queries: tuple[str, ...],
    query: Index64,
    words: NDArray[Any],
    doc: Index64,
    numbered: Callable[[Index64], tuple[Index64, Index64]] = numbered,
) -> tuple[PairNames, Index64]:
    """The distinct pairs of a query and a document, and the number of the pair at each place of `doc`."""
    size = max(len(words), 1)
    key = np.where(doc >= 0, query.reshape(-1, *[1] * (doc.ndim - 1)) * size + doc, -1)
    distinct, place = numbered(key.ravel())
    absent = int(len(distinct) > 0 and distinct[0] == -1)
    pair = place.reshape(doc.shape).astype(np.int64) - absent
    used = distinct[absent:]
    return PairNames(queries, used // size, words[used % size] if len(words) else words), pair
