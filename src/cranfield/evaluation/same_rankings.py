"""Which runs have the same rankings? They are one run under two names, or have not changed since a baseline."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.assessed.given_runs import each_run
from cranfield.collection.run import Run, ranking_digest
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
            if thing is not None and not _is_pipe(thing):
                digests[name] = _digest(thing, order, ties, reading)
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


def _is_pipe(thing: Any) -> bool:
    return isinstance(thing, str) and is_pipe(thing)


def _digest(thing: Any, order: str | None, ties: str | None, reading: Mapping[str, Any]) -> str:
    """The digest of all lists of a run or its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)  # it was given when the run was scored
        run = Run.of(thing, **reading)
    return ranking_digest(run, order or "score", ties or "z-a")


def runs_by_name(scores: Scores, runs: Any) -> dict[str, Any]:
    """{name: run or file} of the runs that were scored; empty if one file holds several runs."""
    things = [run for _, run in each_run(runs)]
    return dict(zip(scores.runs, things, strict=True)) if len(things) == len(scores.runs) else {}


# -- a candidate and its baseline

_NOTE = "digest of the ranking"


def may_be_same(scores: Scores, against: Scores) -> bool:
    """Whether a candidate has the scores of the baseline on every topic, so that it is worth reading again."""
    if set(scores.topics) != set(against.topics) or not {*scores.measures} <= {*against.measures}:
        return False
    other = against.select(measures=scores.measures, topics=scores.topics).values
    return bool(((scores.values == other) | (np.isnan(scores.values) & np.isnan(other))).all(axis=(0, 2)).any())


def digests(scores: Scores, runs: Any, options: Mapping[str, Any]) -> dict[str, str]:
    """{run: digest of all its lists}; empty if a file holds several runs, or cannot be read again."""
    by_name = runs_by_name(scores, runs)
    if any(map(_is_pipe, by_name.values())):
        return {}
    reading = {name: options[name] for name in ("format", "on_duplicate") if options.get(name) is not None}
    return {name: _digest(run, options.get("order"), options.get("ties"), reading) for name, run in by_name.items()}


def with_digest(scores: Scores, digest: str | None) -> Scores:
    """Scores of one run that remember its rankings when they are saved."""
    return scores if digest is None else replace(scores, notes=(*scores.notes, f"{_NOTE}: {digest}"))


def saved_digest(scores: Scores) -> str | None:
    """The digest that saved scores remember."""
    notes = [note.removeprefix(f"{_NOTE}: ") for note in scores.notes if note.startswith(_NOTE)]
    return notes[0] if notes else None
