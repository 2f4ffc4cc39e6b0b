"""Random parts of a collection of documents: which documents are in each, and runs and judgments of one part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield import check
from cranfield.collection.qrels import Qrels
from cranfield.collection.records import Records
from cranfield.types import Index64

R = TypeVar("R", bound=Records)
_BLOCK = 4_000_000
"""The number of characters in memory at once; it does not change results."""


def shard_numbers(documents: Sequence[str], shards: int, seed: int = 0) -> Index64:
    """The shard of each document, from 0: a random number that depends only on the id of the document and the seed.

    So a document is in the same shard in all runs, topics and judgments, and shards have about the same size.

    >>> shard_numbers(["d1", "d2", "d3", "d1"], 2).tolist()
    [0, 1, 1, 0]
    """
    check.whole("shards", shards=shards)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise check.wrong("shards", "seed", seed, "a whole number, 0 or more and below 2**64")
    longest = max(map(len, documents), default=0)
    step = max(1, _BLOCK // max(1, longest))
    parts = [_hashes(documents[begin : begin + step], seed) for begin in range(0, len(documents), step)]
    hashes = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
    return np.asarray(np.minimum((hashes >> np.uint64(11)) * (2.0**-53 * shards), shards - 1), dtype=np.int64)


def shards_of(records: R, shards: int, seed: int = 0) -> list[R]:
    """The parts of a run, or of judgments, in each shard.

    Topics without a document in a shard are left out of it; of judgments, topics without a relevant document (a grade
    above 0), because no system can do well on them.

    >>> from cranfield.collection.run import Run
    >>> run = Run.of({"q": {"d1": 3, "d2": 2, "d3": 1}})
    >>> [part.to_dict() for part in shards_of(run, 2)]
    [{'q': {'d1': 3.0}}, {'q': {'d2': 2.0, 'd3': 1.0}}]
    """
    numbers = shard_numbers(records.table.docs(0, len(records)), shards, seed)
    parts = []
    for shard in range(shards):
        chosen = numbers == shard
        if isinstance(records, Qrels):
            topic = np.repeat(np.arange(len(records.topics)), np.diff(records.starts))
            relevant = np.bincount(topic, chosen & (records.values > 0), minlength=len(records.topics))
            chosen = chosen & (relevant > 0)[topic]
        parts.append(records.of_rows(np.flatnonzero(chosen)))
    return parts


def _hashes(documents: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """A random 64-bit number for each id: FNV-1a of its characters and the seed, mixed by splitmix64."""
    texts = np.array(documents, dtype=np.str_)
    characters = texts.view(np.uint32).reshape(len(texts), -1)
    with np.errstate(over="ignore"):
        state = np.full(len(texts), _mixed(np.array([seed], dtype=np.uint64))[0] ^ np.uint64(0xCBF29CE484222325))
        for column in characters.T:
            # Ids are padded with 0 at the end, which must not count.
            state = np.where(column > 0, (state ^ column) * np.uint64(0x100000001B3), state)
        return _mixed(state)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output function of splitmix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))
