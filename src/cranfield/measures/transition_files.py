"""Files of moves between ranks, and how often a reader who moves like that is at each rank."""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np

from cranfield.collection.source import PathLike
from cranfield.collection.tables.table_schema import Numbers, Schema
from cranfield.errors import DataError, UsageError
from cranfield.types import Array

MOST_RANKS = 5_000
"""The deepest rank of a file of transitions: a matrix of 5,000 × 5,000 numbers takes 200 MB."""


MOVES = Schema(
    "from to weight",
    mixed=True,
    comments=True,
    left=Numbers(("from", "left"), "rank", least=1, most=MOST_RANKS, whole=True),
    reached=Numbers(("to", "reached"), "rank", least=1, most=MOST_RANKS, whole=True),
    weight=Numbers(("weight", "count", "clicks", "probability"), least=0),
)


def read_transitions(path: PathLike) -> Array:
    """The weights of moves from rank to rank: a row per rank that is left, a column per rank that is reached.

    The file has lines `from to weight`; a weight is a count or a probability, and a pair of ranks that appears several
    times counts with the sum of its weights.
    """
    moves = MOVES.read(path)
    weight = moves["weight"]
    if not (weight > 0).any():
        raise DataError(moves.origin, None, "no move has a weight above 0")
    first, second = moves["left"].astype(np.int64), moves["reached"].astype(np.int64)
    deepest = int(max(first.max(), second.max()))
    weights = np.zeros((deepest, deepest))
    np.add.at(weights, (first - 1, second - 1), weight)
    return weights


def invariant_distribution(weights: Array, origin: str = "transitions") -> Array:
    r"""How often a Markov chain is in each state in the long run: :math:`\pi = \pi P`, where P has rows that sum to 1.

    `weights` are counts or probabilities of moves. States that no move enters or leaves get 0. The chain must be able
    to come back from everywhere, otherwise it has no single invariant distribution.

    >>> invariant_distribution(np.array([[0.0, 1.0], [0.5, 0.5]])).round(4).tolist()
    [0.3333, 0.6667]
    """
    used = np.flatnonzero(weights.sum(axis=0) + weights.sum(axis=1) > 0)
    inside = weights[np.ix_(used, used)]
    leaving = inside.sum(axis=1)
    if not (leaving > 0).all():
        stuck = used[leaving == 0] + 1
        raise UsageError(f"{origin}: no move leaves rank {stuck[0]}, so that readers end there; add one")
    moves = inside / leaving[:, None]
    reached = _reachable(moves)
    if not (reached.all() and _reachable(moves.T).all()):
        cut_off = used[~(reached & _reachable(moves.T))] + 1
        raise UsageError(
            f"{origin}: readers cannot come to rank {cut_off[0]} and back to rank {used[0] + 1}, so that there is no "
            "single invariant distribution; add moves, such as a small weight from every rank to rank 1"
        )
    n = len(used)
    # π (I − P + 1) = 1, where 1 is a matrix and a vector of ones: the sum of π is part of every equation
    shares = np.linalg.solve((np.eye(n) - moves + np.ones((n, n))).T, np.ones(n))
    out = np.zeros(len(weights))
    out[used] = np.maximum(shares, 0.0)
    return np.asarray(out / out.sum())


def _reachable(moves: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which states can be reached from the first."""
    reached = np.zeros(len(moves), dtype=bool)
    reached[0] = True
    newly = reached
    while newly.any():
        newly = (moves[newly] > 0).any(axis=0) & ~reached
        reached = reached | newly
    return reached


def visits_in_file(path: str) -> Array:
    """The invariant distribution of the moves in a file; the file is read again only if it has changed."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror or error}") from None
    return _visits(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _visits(path: str, changed: int, size: int) -> Array:
    return invariant_distribution(read_transitions(path), path)
