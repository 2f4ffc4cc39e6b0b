"""Browsing paths one by one, and Fig. 9 of Sakai 2014 line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product


def paths(lists: Sequence[Sequence[float]], down: float, reform: float) -> Iterator[tuple[float, list[float]]]:
    """Every browsing path with its probability: the grades of what is read."""
    last = [reform**j for j in range(len(lists))]
    for j, weight in enumerate(last):
        stops = []
        for grades in lists[:j]:
            every = [down**f for f in range(len(grades))]
            stops.append([(f + 1, every[f] / sum(every)) for f in range(len(grades))] or [(0, 1.0)])
        for chosen in product(*stops):
            probability, read = weight / sum(last), []
            for grades, (count, chance) in zip(lists, chosen, strict=False):
                probability *= chance
                read += list(grades[:count])
            yield probability, read + list(lists[j])


def expected(
    lists: Sequence[Sequence[float]], down: float, reform: float, score: Callable[[list[float]], float]
) -> float:
    return sum(probability * score(path) for probability, path in paths(lists, down, reform))


def click_u(clicks: Sequence[tuple[int, int, float]], L: float, F: float, snippet: float, g: float = 0.5) -> float:
    """(query number, clicked rank, document length) sorted by time; snippets are remembered for each query."""
    position, u, done = 0.0, 0.0, {}
    for query, clicked, length in clicks:
        read = done.setdefault(query, {})
        for rank in range(1, clicked + 1):
            if not read.get(rank):
                position += snippet
                read[rank] = True
        position += F * length
        u += g * max(0.0, 1 - position / L)
    return u
