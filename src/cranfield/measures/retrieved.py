"""What a list holds down to a cutoff: how many documents came back, what precision divides by, what is gained."""

from __future__ import annotations

import numpy as np

from cranfield.assessed.lists import Assessed
from cranfield.assessed.segments import Hits
from cranfield.measures.gain import Gain
from cranfield.types import Array


def num_retrieved(lists: Assessed, cutoff: int | None) -> Array:
    """How many documents each list has down to the cutoff."""

    def make() -> Array:
        retrieved = np.asarray(lists.retrieved, dtype=np.float64)
        return retrieved if cutoff is None else np.minimum(retrieved, cutoff)

    return lists._once(("num_retrieved", cutoff), make)


def looked_at(lists: Assessed, cutoff: int | None) -> Array:
    """What precision divides by: the cutoff even when fewer came back, else the retrieved documents (at least 1)."""
    if cutoff is not None:
        return np.full(lists.rows, float(cutoff))
    return lists._once("looked_at", lambda: np.maximum(num_retrieved(lists, None), 1.0))


def ones(hits: Hits) -> Array:
    return np.ones(len(hits))


def gained(lists: Assessed, gain: Gain, cutoff: int | None = None) -> tuple[Hits, Array]:
    """The hits down to the cutoff that gain something (or cost something), and how much."""

    def make() -> tuple[Hits, Array]:
        if cutoff is not None:
            hits, gains = gained(lists, gain)
            inside = np.flatnonzero(hits.rank <= cutoff)
            return hits.at(inside), gains[inside]
        if gain.kind == "table":
            gains = gain(lists.grade)
            some = np.flatnonzero(gains)
            return lists.hits().at(some), gains[some]
        some = np.flatnonzero(lists.grade > 0)
        return lists.hits().at(some), gain(lists.grade[some])

    return lists._once(("gained", gain, cutoff), make)
