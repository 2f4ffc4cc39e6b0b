"""What a list holds down to a cutoff: how many documents, the divisor of precision, and the gains."""

from __future__ import annotations

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.measures.gain import Gain
from cranfield.types import Array


def num_retrieved(lists: Assessed, cutoff: int | None) -> Array:
    """The number of documents in each list down to the cutoff."""
    last = np.inf if cutoff is None else cutoff
    return lists._once(("num_retrieved", cutoff), lambda: np.minimum(lists.retrieved, last, dtype=np.float64))


def precision_divisor(lists: Assessed, cutoff: int | None) -> Array:
    """The cutoff, even for a shorter list; without a cutoff the number of retrieved documents (at least 1)."""
    if cutoff is not None:
        return np.full(lists.rows, float(cutoff))
    return lists._once("precision divisor", lambda: np.maximum(num_retrieved(lists, None), 1.0))


def ones(hits: Hits) -> Array:
    return np.ones(len(hits))


def gained(lists: Assessed, gain: Gain, cutoff: int | None = None) -> tuple[Hits, Array]:
    """The hits with a gain other than 0 down to the cutoff, and their gains."""

    def find() -> tuple[Hits, Array]:
        if cutoff is not None and lists.ranks_on_demand:
            hits = lists.hits(cutoff)
            gains = gain(hits.grade)
            gaining = np.flatnonzero(gains if gain.kind == "table" else hits.grade > 0)
            return hits.at(gaining), gains[gaining]
        if cutoff is not None:
            hits, gains = gained(lists, gain)
            inside = np.flatnonzero(hits.rank <= cutoff)
            return hits.at(inside), gains[inside]
        if gain.kind == "table":
            gains = gain(lists.grade)
            gaining = np.flatnonzero(gains)
            return lists.hits().at(gaining), gains[gaining]
        gaining = np.flatnonzero(lists.grade > 0)
        return lists.hits().at(gaining), gain(lists.grade[gaining])

    return lists._once(("gained", gain, cutoff), find)


def total_gain(lists: Assessed, gain: Gain) -> Array:
    """What all judged documents of each list's topic gain together."""
    ideal = lists.ideal(gain)
    return lists._once(("total gain", gain), lambda: ideal.sum(ideal.gain))
