"""Cycles: a is preferred to b, b to c, and c to a."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Pair = tuple[str, str]
"""The better and the worse of two things."""


@dataclass(frozen=True)
class Cycle:
    """Things of which each is preferred to the next, and the last to the first."""

    query: str
    """The query that the documents are of; empty for systems."""
    members: tuple[str, ...]

    def __str__(self) -> str:
        path = " > ".join([*self.members, self.members[0]])
        return f"{path} (query {self.query!r})" if self.query else path


def majority(counts: Mapping[Pair, float]) -> set[Pair]:
    """The pairs in which the first is preferred more often than the second.

    >>> majority({("a", "b"): 3, ("b", "a"): 1, ("b", "c"): 2, ("c", "b"): 2})
    {('a', 'b')}
    """
    return {(first, second) for (first, second), n in counts.items() if n > counts.get((second, first), 0)}


def in_cycles(pairs: Iterable[Pair]) -> set[Pair]:
    """The pairs that are part of some cycle: both are in one strongly connected component.

    >>> sorted(in_cycles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    [('a', 'b'), ('b', 'c'), ('c', 'a')]
    """
    chosen = list(pairs)
    component = _components(chosen)
    return {(first, second) for first, second in chosen if component[first] == component[second]}


def shortest_cycle(pairs: Iterable[Pair], query: str = "") -> Cycle | None:
    """A cycle with the fewest members; None if there is none. Of several, the first in the order of names.

    >>> print(shortest_cycle([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "a")]))
    a > b > c > a
    """
    looped = in_cycles(pairs)
    below: dict[str, list[str]] = {}
    for first, second in sorted(looped):
        below.setdefault(first, []).append(second)
    best: tuple[str, ...] | None = None
    for start in sorted(below):
        path = _way_back(start, below, len(best) if best else None)
        if path is not None and (best is None or len(path) < len(best)):
            best = path
            if len(best) == 2:
                break
    return None if best is None else Cycle(query, best)


def _way_back(start: str, below: Mapping[str, list[str]], limit: int | None) -> tuple[str, ...] | None:
    """The shortest way from a member back to itself, shorter than the limit: breadth first."""
    before: dict[str, str | None] = {start: None}
    depth = {start: 1}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if limit is not None and depth[here] >= limit:
            return None
        for there in below.get(here, ()):
            if there == start:
                path = [here]
                while (earlier := before[path[-1]]) is not None:
                    path.append(earlier)
                return tuple(reversed(path))
            if there not in before:
                before[there], depth[there] = here, depth[here] + 1
                queue.append(there)
    return None


def _components(pairs: list[Pair]) -> dict[str, int]:
    """The number of the strongly connected component of each member."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    names = sorted({name for pair in pairs for name in pair})
    if not names:
        return {}
    number = {name: i for i, name in enumerate(names)}
    first, second = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    graph = csr_array((np.ones(len(pairs)), (first, second)), shape=(len(names), len(names)))
    labels = connected_components(graph, directed=True, connection="strong")[1]
    return dict(zip(names, labels.tolist(), strict=True))
