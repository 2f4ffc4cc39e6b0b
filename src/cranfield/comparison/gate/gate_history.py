"""The history of a gate: a file with a line of JSON for each candidate of each build."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.doors import reads
from cranfield.collection.source import read_bytes
from cranfield.comparison.gate.gate_result import GateResult
from cranfield.errors import DataError, UsageError
from cranfield.record import Record
from cranfield.scores.basis import CHANGES
from cranfield.scores.scores import Scores
from cranfield.text import listed


@dataclass(frozen=True)
class Build:
    """A candidate of a build: its mean scores, and whether it passed."""

    build: str
    time: str
    candidate: str
    passed: bool
    means: dict[str, float]
    digests: dict[str, str]
    """Digests of judgments, topics, measures and rules; empty if the file does not have them."""


@dataclass(frozen=True, repr=False)
class GateHistory(Record):
    """The builds of a file, oldest first."""

    builds: tuple[Build, ...]
    measures: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the means before and after are not comparable, because they are of other judgments, topics or rules."""
        notes = []
        known = [build for build in self.builds if build.digests]
        for before, build in pairwise(known):
            changed = [kind for kind in CHANGES if before.digests.get(kind) != build.digests.get(kind)]
            if changed:
                notes.append(f"{build.build}: not the {' and '.join(changed)} of {before.build}")
        return tuple(notes)

    @staticmethod
    @reads
    def read(path: str, measures: list[str] | None = None) -> GateHistory:
        """The history in a file, by all measures in it or by some."""
        builds = []
        for number, line in enumerate(read_bytes(path).decode("utf-8", "replace").split("\n"), 1):
            if line.strip():
                builds.append(_build(line, path, number))
        if not builds:
            raise DataError(path, None, "is empty, expected a line of JSON for each build")
        known = tuple(dict.fromkeys(measure for build in builds for measure in build.means))
        for measure in measures or ():
            if measure not in known:
                raise UsageError(f"{path}: no build has {measure}; there are {listed(known)}")
        return GateHistory(tuple(builds), tuple(measures or known))

    def columns(self) -> dict[str, NDArray[Any]]:
        def means(measure: str) -> NDArray[Any]:
            return np.array([build.means.get(measure, np.nan) for build in self.builds], dtype=np.float64)

        return {
            **{
                name: np.array([getattr(build, name) for build in self.builds], dtype=object)
                for name in ("build", "time", "candidate")
            },
            **{measure: means(measure) for measure in self.measures},
            "passed": np.array(["yes" if build.passed else "no" for build in self.builds], dtype=object),
        }


def _build(line: str, path: str, number: int) -> Build:
    try:
        entry = json.loads(line)
        means = {str(name): float(mean) for name, mean in entry["means"].items()}
        build, time, candidate = (str(entry[name]) for name in ("build", "time", "candidate"))
        return Build(build, time, candidate, bool(entry["passed"]), means, dict(entry.get("digests", {})))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        what = f"{line[:40]!r} is not a build: expected JSON with build, time, candidate, passed and means"
        raise DataError(path, number, what) from None


def add_build(path: str, scores: Scores, result: GateResult, build: str | None = None) -> None:
    """Append the candidates of a build to a history; `build` is its name, by default its number in the file."""
    count = 0
    if os.path.exists(path):
        count = len({one.build for one in GateHistory.read(path).builds}) if os.path.getsize(path) else 0
    name = build or str(count + 1)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digests = {} if scores.basis is None else scores.basis.digests(scores.topics, scores.measures)
    lines = []
    for run, means in scores.mean().items():
        passed = all(check.passed for check in result.checks if check.candidate == run)
        finite = {measure: mean for measure, mean in means.items() if np.isfinite(mean)}
        entry = {"build": name, "time": now, "candidate": run, "passed": passed, "means": finite, "digests": digests}
        lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(lines))
    except OSError as error:
        raise DataError(path, None, f"cannot be written: {error.strerror or error}") from None
