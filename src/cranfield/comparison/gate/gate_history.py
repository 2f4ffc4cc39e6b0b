"""The history of a gate: a file with a line of JSON for each candidate of each build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.doors import reads
from cranfield.collection.source import read_bytes
from cranfield.comparison.gate.gate_checks import GateResult
from cranfield.declared.operation import operation
from cranfield.errors import DataError, UsageError
from cranfield.record import Record, columns_of
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

    figure = "describe_gate_history"

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

    def columns(self) -> dict[str, NDArray[Any]]:
        def means(measure: str) -> NDArray[Any]:
            return np.array([build.means.get(measure, np.nan) for build in self.builds], dtype=np.float64)

        return {
            **columns_of(self.builds, Build, "build", "time", "candidate"),
            **{measure: means(measure) for measure in self.measures},
            "passed": np.array(["yes" if build.passed else "no" for build in self.builds], dtype=object),
        }


@operation
@reads
def gate_history(path: str, measures: Sequence[str] | None = None) -> GateHistory:
    """The history in a file, by all measures in it or by some.

    A last line that is not complete, because the program was killed while it wrote, is left out.
    """
    builds = []
    data = read_bytes(path)
    for number, line in enumerate(data[: _whole(data)].decode("utf-8", "replace").split("\n"), 1):
        if line.strip():
            builds.append(_build(line, path, number))
    if not builds:
        raise DataError(path, None, "is empty, expected a line of JSON for each build")
    known = tuple(dict.fromkeys(measure for build in builds for measure in build.means))
    for measure in measures or ():
        if measure not in known:
            raise UsageError(f"{path}: no build has {measure}; there are {listed(known)}")
    return GateHistory(tuple(builds), tuple(measures or known))


def _build(line: str, path: str, number: int) -> Build:
    try:
        entry = json.loads(line)
        means = {str(name): float(mean) for name, mean in entry["means"].items()}
        build, time, candidate = (str(entry[name]) for name in ("build", "time", "candidate"))
        return Build(build, time, candidate, bool(entry["passed"]), means, dict(entry.get("digests", {})))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        what = f"{line[:40]!r} is not a build: expected JSON with build, time, candidate, passed and means"
        raise DataError(path, number, what) from None


def _whole(data: bytes) -> int:
    """The bytes of a history without a last line that was begun and not finished."""
    end = data.rfind(b"\n") + 1
    if end == 0:  # the only line: if it is not a build, this is perhaps another file
        return len(data)
    try:
        json.loads(data[end:])
    except (ValueError, RecursionError):
        return end
    return len(data)


def add_build(path: str, scores: Scores, result: GateResult, build: str | None = None) -> None:
    """Append the candidates of a build to a history; `build` is its name, by default its number in the file.

    All lines are appended or none. Builds that end at the same time wait for each other.
    """
    try:
        with open(path, "a+b", buffering=0) as file:
            _lock(file)
            file.seek(0)
            data = file.read()
            size = _whole(data)
            count = len({known.build for known in gate_history(path).builds}) if data else 0
            lines = _lines(scores, result, build or str(count + 1))
            start = b"" if data[:size].endswith(b"\n") or not size else b"\n"
            try:
                if size < len(data):
                    file.truncate(size)
                _write_all(file, start + "".join(lines).encode("utf-8", "backslashreplace"))
            except BaseException:
                file.truncate(size)
                raise
    except OSError as error:
        raise DataError(path, None, f"cannot be written: {error.strerror or error}") from None


def _write_all(file: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # a disk that is nearly full takes a part
        rest = rest[file.write(rest) :]


def _lock(file: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def _lines(scores: Scores, result: GateResult, name: str) -> list[str]:
    """A line for each candidate."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digests = {} if scores.basis is None else scores.basis.digests(scores.topics, scores.measures)
    lines = []
    for run, means in scores.mean().items():
        passed = all(check.passed for check in result.checks if check.candidate == run)
        finite = {measure: mean for measure, mean in means.items() if np.isfinite(mean)}
        entry = {"build": name, "time": now, "candidate": run, "passed": passed, "means": finite, "digests": digests}
        lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
    return lines
