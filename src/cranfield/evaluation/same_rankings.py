"""Runs that are the same under two names."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.collection.run import Run
from cranfield.collection.run_digest import ranking_digest
from cranfield.collection.source import is_pipe
from cranfield.errors import CranfieldWarning
from cranfield.scores.scores import Scores


@dataclass(frozen=True)
class SameRankings:
    """Groups of runs that are the same, by their names."""

    groups: tuple[tuple[str, ...], ...]
    """Runs with the same documents in the same order on every topic."""
    unchecked: tuple[tuple[str, ...], ...] = ()
    """Runs with the same scores on every topic, whose documents could not be compared."""


def same_rankings(
    scores: Scores, runs: Mapping[str, Any], order: str | None = None, ties: str = "z-a", **reading: Any
) -> SameRankings:
    """Find the runs that have the same documents in the same order on every topic.

    Equal lists have equal scores, so only runs with equal scores are read again; `runs` is {name: run or file}. Those
    that are not in it, and pipes, cannot be read again. `reading` holds options of `Run.of`.

    >>> scores = Scores.from_matrix([[0.5, 0.5, 0.5]], runs=["x", "y", "z"])
    >>> runs = {"x": {"1": {"a": 2, "b": 1}}, "y": {"1": {"a": 9, "b": 3}}, "z": {"1": {"a": 2, "c": 1}}}
    >>> same_rankings(scores, runs).groups
    (('x', 'y'),)
    """
    alike = _together({run: _bytes_of(scores, at) for at, run in enumerate(scores.runs)})
    groups: list[tuple[str, ...]] = []
    unchecked: list[tuple[str, ...]] = []
    for names in alike:
        digests: dict[str, Hashable] = {}
        for name in names:
            thing = runs.get(name)
            if thing is None or (isinstance(thing, str) and is_pipe(thing)):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CranfieldWarning)  # it was given when the run was scored
                run = Run.of(thing, **reading)
            digests[name] = ranking_digest(run, order or "score", ties)
        groups += _together(digests)
        if len(digests) < len(names):
            unchecked.append(names)
    return SameRankings(tuple(groups), tuple(unchecked))


def _bytes_of(scores: Scores, run: int) -> bytes:
    return bytes(scores.values[:, run].tobytes() + scores.missing[run].tobytes())


def _together(keys: Mapping[str, Hashable]) -> list[tuple[str, ...]]:
    """The names that share a key, in groups of two or more."""
    groups: dict[Hashable, list[str]] = {}
    for name, key in keys.items():
        groups.setdefault(key, []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]
