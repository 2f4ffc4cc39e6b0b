"""Which candidates have the rankings of the baseline? These have not changed, whatever a test of scores can show."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.assessed.joined_runs import each_run
from cranfield.collection.run import Run
from cranfield.collection.run_digest import ranking_digest
from cranfield.collection.source import is_pipe
from cranfield.errors import CranfieldWarning
from cranfield.scores.scores import Scores

_NOTE = "digest of the ranking"


def may_be_same(scores: Scores, against: Scores) -> bool:
    """Whether a candidate has the scores of the baseline on every topic, so that it is worth reading again."""
    if set(scores.topics) != set(against.topics) or not {*scores.measures} <= {*against.measures}:
        return False
    other = against.select(measures=scores.measures, topics=scores.topics).values
    return bool(((scores.values == other) | (np.isnan(scores.values) & np.isnan(other))).all(axis=(0, 2)).any())


def digests(scores: Scores, runs: Any, options: Mapping[str, Any]) -> dict[str, str]:
    """{run: digest of all its lists}; empty if a file holds several runs, or cannot be read again."""
    things = [run for _, run in each_run(runs)]
    if len(things) != len(scores.runs) or any(isinstance(thing, str) and is_pipe(thing) for thing in things):
        return {}
    reading = {name: options[name] for name in ("format", "on_duplicate") if options.get(name) is not None}
    found = {}
    for name, thing in zip(scores.runs, things, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)  # it was given when the run was scored
            run = Run.of(thing, **reading)
        found[name] = ranking_digest(run, options.get("order") or "score", options.get("ties") or "z-a")
    return found


def with_digest(scores: Scores, digest: str | None) -> Scores:
    """Scores of one run that remember its rankings when they are saved."""
    return scores if digest is None else replace(scores, notes=(*scores.notes, f"{_NOTE}: {digest}"))


def saved_digest(scores: Scores) -> str | None:
    """The digest that saved scores remember."""
    notes = [note.removeprefix(f"{_NOTE}: ") for note in scores.notes if note.startswith(_NOTE)]
    return notes[0] if notes else None
