"""Interleaved lists of many queries at once, as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield import _core
from cranfield.assessed.join_options import JoinOptions
from cranfield.assessed.segments import starts_of
from cranfield.building.pools.pooled_lists import PooledLists
from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import UsageError
from cranfield.online.interleaving.attribution_log import LoggedList
from cranfield.online.interleaving.interleaved import MOST_SEED, Interleaved, Interleaver, check_repeated
from cranfield.online.interleaving.mixing_methods import (
    Clicks,
    MixingMethod,
    Ranks,
    balanced_credit,
    pairwise_credit,
    sample_only_worth,
    worth_credit,
)
from cranfield.online.interleaving.optimised_lists import filled
from cranfield.text import counted, listed
from cranfield.types import Array, Index64, Progress

Seeds = NDArray[np.uint64]
ListLength = Annotated[int, about("Documents in each interleaved list.", least=1, spelled="--length N")]
MixedDepth = Annotated[int | None, about("Mix only the first N documents of each run; default: --length.", least=1)]


@dataclass(frozen=True, eq=False)
class QueryLists:
    """The rankings of the same systems for many queries. Documents are numbered query by query."""

    queries: tuple[str, ...]
    systems: tuple[str, ...]
    start: Index64
    """For each query and system where its list begins, and where the last one ends."""
    document: NDArray[np.int32]
    """For each place of a list, the number of its document within the query, from 0 on."""
    names: tuple[tuple[str, ...], ...]
    """For each query, the ids of its documents."""

    @staticmethod
    def of(rankings: Mapping[str, Mapping[str, Sequence[str]]]) -> QueryLists:
        """{query: {system: documents, best first}}; a query without a list of some system has an empty one.

        >>> lists = QueryLists.of({"q1": {"bm25": ["a", "b"], "dense": ["b"]}, "q2": {"bm25": ["c"]}})
        >>> lists.systems, lists.start.tolist(), lists.document.tolist()
        (('bm25', 'dense'), [0, 2, 3, 4, 4], [0, 1, 1, 0])
        """
        systems = tuple(dict.fromkeys(system for of_query in rankings.values() for system in of_query))
        documents: list[int] = []
        sizes: list[int] = []
        names = []
        for query, of_query in rankings.items():
            lists = [of_query.get(system, ()) for system in systems]
            try:
                check_repeated(systems, lists)
            except UsageError as error:
                raise UsageError(f"query {query!r}: {error}") from None
            number: dict[str, int] = {}
            for ranking in lists:
                documents += [number.setdefault(doc, len(number)) for doc in ranking]
                sizes.append(len(ranking))
            names.append(tuple(number))
        return QueryLists(
            tuple(rankings), systems, starts_of(np.array(sizes, dtype=np.int64)), np.array(documents, dtype=np.int32),
            tuple(names),
        )  # fmt: skip

    @staticmethod
    def from_runs(lists: PooledLists) -> QueryLists:
        """The first documents of runs."""
        topic = np.repeat(np.arange(len(lists.topics)), len(lists.runs)).repeat(np.diff(lists.list_start))
        local = (lists.document - lists.start[topic]).astype(np.int32)
        names = tuple(tuple(lists.docs(topic)) for topic in range(len(lists.topics)))
        return QueryLists(lists.topics, lists.runs, lists.list_start, local, names)

    def rankings(self, query: int) -> list[tuple[str, ...]]:
        """The lists of a query, a tuple of documents for each system."""
        return [tuple(self.names[query][doc] for doc in ranking) for ranking in self.numbers(query)]

    def numbers(self, query: int) -> list[list[int]]:
        """The lists of a query, as numbers of documents."""
        first = query * len(self.systems)
        bounds = self.start[first : first + len(self.systems) + 1].tolist()
        return [self.document[begin:end].tolist() for begin, end in pairwise(bounds)]

    def only(self, systems: Sequence[int]) -> QueryLists:
        """The lists of some systems."""
        rows = (np.arange(len(self.queries))[:, None] * len(self.systems) + np.asarray(systems)).ravel()
        parts = [self.document[self.start[row] : self.start[row + 1]] for row in rows.tolist()]
        return QueryLists(
            self.queries, tuple(self.systems[number] for number in systems), starts_of(np.diff(self.start)[rows]),
            np.concatenate([np.zeros(0, dtype=np.int32), *parts]), self.names,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class InterleavedBatch:
    """Interleaved lists, each of a query and with a seed. Places beyond the end of a short list hold -1."""

    maker: Interleaver
    lists: QueryLists
    query: Index64
    seed: Seeds
    document: NDArray[np.int32]
    """lists × places: the number of the document within its query."""
    team: NDArray[np.int32]
    worth: Array
    """lists × places × systems: what a click adds; empty if credit follows from ranks."""
    rank: Ranks
    choices: Array

    @property
    def shown(self) -> Clicks:
        """lists × places: is there a document?"""
        return self.document >= 0

    def credit(self, clicks: Clicks) -> Array:
        """lists × systems: the credit for clicks."""
        clicks = clicks & self.shown
        kind = self.maker.method.family.credit
        if kind == "worth":
            return worth_credit(self.worth, clicks)
        if kind == "balanced":
            return balanced_credit(self.rank, self.team >= 0, clicks)
        return pairwise_credit(self.rank, self.choices, clicks)

    def record(self, number: int) -> Interleaved:
        """The attribution record of one list."""
        return self.maker(
            dict(zip(self.lists.systems, self.lists.rankings(int(self.query[number])), strict=True)),
            int(self.seed[number]),
        )


def list_seeds(seed: int, count: int) -> Seeds:
    """A seed for each of `count` lists; the first ones do not depend on how many there are."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.integers(0, MOST_SEED, size=count, dtype=np.uint64)


def interleave_many(
    lists: QueryLists, maker: Interleaver, query: Index64, seed: Seeds, *, threads: int | None = None
) -> InterleavedBatch:
    """Interleave the lists of queries: list i is of query `query[i]`, with `seed[i]`, as `maker` would make it.

    >>> lists = QueryLists.of({"q": {"bm25": ["a", "b", "c"], "dense": ["b", "d", "a"]}})
    >>> batch = interleave_many(lists, Interleaver(length=3), np.array([0]), np.array([7], dtype=np.uint64))
    >>> [lists.names[0][doc] for doc in batch.document[0]]
    ['b', 'a', 'c']
    """
    method = maker.method
    systems, length, n = len(lists.systems), maker.length, len(query)
    method.check_systems(systems)
    query = np.ascontiguousarray(query, dtype=np.int64)
    seed = np.ascontiguousarray(seed, dtype=np.uint64)
    if not maker.core:
        return _from_policies(lists, maker, query, seed)
    flat = _core.interleave_lists(
        np.ascontiguousarray(lists.document), np.ascontiguousarray(lists.start), systems, query, seed, maker.core,
        length, maker.tau, maker.skip_shared, threads or os.cpu_count() or 1,
    )  # fmt: skip
    document, team, worth, rank, choices = flat
    by_system = (n, length, systems)
    ranks = rank.reshape(by_system)
    worths = worth.reshape(by_system)
    if method.name == "sosm":
        worths = sample_only_worth(ranks, maker.tau)
    return InterleavedBatch(
        maker, lists, query, seed, document.reshape(n, length), team.reshape(n, length), worths, ranks,
        choices.reshape(n, -1) if len(choices) else np.zeros((n, length)),
    )  # fmt: skip


def _from_policies(lists: QueryLists, maker: Interleaver, query: Index64, seed: Seeds) -> InterleavedBatch:
    n, length, systems = len(query), maker.length, len(lists.systems)
    document = np.full((n, length), -1, dtype=np.int32)
    worth = np.zeros((n, length, systems))
    rank = np.zeros((n, length, systems), dtype=np.int32)
    uniform = np.array([_core.seeded_uniform(number, 0) for number in seed.tolist()])
    for number in np.unique(query).tolist():
        numbers: list[Any] = lists.numbers(number)
        policy = maker.policy(numbers)
        mine = np.flatnonzero(query == number)
        chosen = np.searchsorted(np.cumsum(policy.probability), uniform[mine], side="right")
        chosen = np.minimum(chosen, len(policy.lists) - 1)
        pages = np.array([filled(documents, numbers, length) for documents in policy.lists], dtype=np.int32)
        shown = pages[chosen]
        places = shown.shape[1]
        document[mine, :places] = shown
        worth[mine, : policy.worth.shape[1]] = policy.worth[chosen]
        of_document = np.zeros((len(lists.names[number]), systems), dtype=np.int32)
        for system, ranking in enumerate(numbers):
            of_document[ranking, system] = np.arange(1, len(ranking) + 1)
        rank[mine, :places] = of_document[shown]
    team = np.full((n, length), -1, dtype=np.int32)
    return InterleavedBatch(maker, lists, query, seed, document, team, worth, rank, np.zeros((n, length)))


def biased_policies(batch: InterleavedBatch) -> list[str]:
    """A note if optimised interleaving could not be made fair for some queries."""
    if batch.maker.core or batch.maker.method.name != "optimised":
        return []
    used = np.unique(batch.query).tolist()
    biased = [batch.lists.queries[query] for query in used if batch.maker.policy(batch.lists.numbers(query)).bias]
    if not biased:
        return []
    number = counted(len(biased), "query", "queries")
    which = f"{number} of {len(used)} without fair probabilities, random clicks favour a system"
    return [f"{batch.maker.method}: {which}: {listed(biased)}"]


@dataclass(frozen=True, eq=False)
class InterleavedRuns:
    """The interleaved lists of runs."""

    lists: tuple[LoggedList, ...]
    topics: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The notes, and a row per list: its attribution record."""
        return {"notes": list(self.notes), "rows": [logged.to_dict() for logged in self.lists]}


@operation
def interleave_runs(
    runs: Any,
    method: Annotated[
        str, about("{names}.", names="online.interleaving.mixing_methods:MIXING_METHODS", spelled="--method METHOD")
    ] = "team-draft",
    *,
    length: ListLength = 10,
    depth: MixedDepth = None,
    topics: Iterable[str] | None = None,
    copies: Annotated[int, about("Lists of each topic, each with a seed of its own.", least=1)] = 1,
    seed: Seed = 0,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
) -> InterleavedRuns:
    """Interleave the lists of two or more runs, topic by topic, with an attribution record for each list.

    topics: only these; default: all.

    >>> runs = {"bm25": {"q": {"a": 3, "b": 2, "c": 1}}, "dense": {"q": {"b": 3, "d": 2, "a": 1}}}
    >>> interleave_runs(runs, length=3, seed=1).lists[0].record.documents
    ['a', 'b', 'c']
    """
    maker = Interleaver(MixingMethod.of(method), length=length)
    pooled = PooledLists.of(runs, depth=depth or length, topics=topics, options=options, progress=progress)
    lists = QueryLists.from_runs(pooled)
    query = np.repeat(np.arange(len(lists.queries)), copies)
    batch = interleave_many(lists, maker, query, list_seeds(seed, len(query)))
    logged = [
        LoggedList(batch.record(number), f"i{number + 1}", query=lists.queries[topic])
        for number, topic in enumerate(query.tolist())
    ]
    return InterleavedRuns(tuple(logged), len(lists.queries), (*pooled.notes, *biased_policies(batch)))
