"""Contestants of a benchmark: run them in turns, each in its own process, and hold the times against targets."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.peers import Job

HERE = Path(__file__).parent
TOLERANCE = {"trec_eval": 6e-5}  # prints four decimals
PATIENCE = 40  # a contestant is not repeated after this many seconds


class Entry(NamedTuple):
    label: str
    contestant: str
    job: Job


class Target(NamedTuple):
    what: str
    value: float | None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.at_least if self.at_least is not None else self.value <= (self.at_most or 0)


class Part(NamedTuple):
    title: str
    rows: dict[str, dict[str, Any]]
    targets: list[Target]


def processes(commands: dict[str, list[str]], rounds: int) -> dict[str, dict[str, Any]]:
    """Time whole processes in turns; the best time of each counts."""
    rows: dict[str, dict[str, Any]] = {label: {} for label in commands}
    for _ in range(rounds):
        for label, command in commands.items():
            began = time.perf_counter()
            try:
                done = subprocess.run(command, check=False, capture_output=True, text=True)
            except FileNotFoundError:
                rows[label] = {"missing": f"{command[0]} is not installed"}
                continue
            seconds = time.perf_counter() - began
            if done.returncode:
                rows[label] = {"broken": last_line(done.stderr)}
            elif "broken" not in rows[label]:
                rows[label]["seconds"] = min(seconds, rows[label].get("seconds", seconds))
    return rows


def in_turns(module: str, labels: Iterable[str], repeats: int, *words: str) -> dict[str, dict[str, Any]]:
    """Run the contestants of a module, round after round; `words` are passed on after the label."""
    tries: dict[str, list[dict[str, Any]]] = {label: [] for label in labels}
    for _ in range(repeats):
        for label, so_far in tries.items():
            if sum(run.get("spent", PATIENCE) for run in so_far) < PATIENCE:
                print(f"  {label} ...", file=sys.stderr, flush=True)
                so_far.append(alone(module, label, *words))
    return {label: best_of(runs) for label, runs in tries.items()}


def race(entries: list[Entry], repeats: int) -> dict[str, dict[str, Any]]:
    """Run the entries in turns, so that a slow minute of the machine affects all of them."""
    tries: dict[str, list[dict[str, Any]]] = {entry.label: [] for entry in entries}
    warm({path for entry in entries for path in (entry.job.qrels, *entry.job.runs)})
    for _ in range(repeats):
        for entry in entries:
            so_far = tries[entry.label]
            if sum(run.get("with_imports", PATIENCE) for run in so_far) < PATIENCE:
                print(f"  {entry.label} ...", file=sys.stderr, flush=True)
                so_far.append(run_alone(entry))
    rows = {label: best_of(runs) for label, runs in tries.items()}
    check_agreement(entries, rows)
    return rows


def best_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    if faults := [run for run in runs if "seconds" not in run]:
        return faults[0]
    best = min(runs, key=lambda run: run["seconds"])
    return {**best, "repeats": len(runs), "peak": max(run["peak"] for run in runs)}


def run_alone(entry: Entry) -> dict[str, Any]:
    return alone("bench.peers", entry.contestant, json.dumps(entry.job._asdict()))


def alone(module: str, *words: str) -> dict[str, Any]:
    """Run a contestant in its own process and return what it prints."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=HERE.parent)
    if done.returncode:
        return {"broken": last_line(done.stderr)}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def check_agreement(entries: list[Entry], rows: dict[str, dict[str, Any]]) -> None:
    """Add to each row how far its means are from those of the first entry with the same job."""
    first: dict[str, str] = {}
    for label, contestant, job in entries:
        if "means" not in rows[label]:
            continue
        reference = rows[first.setdefault(str(job), label)]["means"]
        gaps = {
            measure: max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
            for measure, mine, theirs in zip(job.measures, rows[label]["means"], reference, strict=True)
        }
        tolerance = TOLERANCE.get(contestant, 1e-6)
        # `not gap <= tolerance` counts NaN as a disagreement.
        rows[label]["disagrees"] = {measure: gap for measure, gap in gaps.items() if not gap <= tolerance}


def script(name: str) -> str:
    """Return the command that is installed with this Python, or else the one on the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name) or name


def warm(paths: Iterable[str]) -> None:
    """Read files into the page cache, so that the disk is not timed."""
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def ratio(rows: dict[str, dict[str, Any]], above: str, below: str) -> float | None:
    return quotient(rows[above].get("seconds"), rows[below].get("seconds"))


def quotient(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["failed without a message"])[-1]
