"""A whole paper's worth of meta-evaluation from one file: nothing is computed twice; it can be stopped at any time."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.source import PathLike, write_bytes
from cranfield.collection.writing import to_delimited
from cranfield.errors import CranfieldError
from cranfield.frames import Tidy
from cranfield.meta.study.cache import Cache, key_of, make_folder, table_from_plain, table_to_plain
from cranfield.meta.study.inputs import Inputs
from cranfield.meta.study.report_text import page, section
from cranfield.meta.study.steps import COLLECTION, MEASURES
from cranfield.meta.study.study_file import Collection, Study, Task, read_study
from cranfield.table import Column, Table
from cranfield.types import Progress

PARTS = 1000
"""Progress is told in so many parts of a step."""
SUFFIXES = {"csv": "csv", "json": "json", "latex": "tex"}
"""The formats that every table is written in, and how their files end."""
MOST_ROWS_OF_LATEX = 500
"""Longer tables are data, and no page of a paper holds them."""


@dataclass(frozen=True)
class Step:
    """One method on one collection."""

    label: str
    method: str
    collection: str
    """Empty for a method that works on measures alone."""
    state: str
    """`computed`, `cached` or `failed`."""
    seconds: float
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Outcome(Tidy):
    """What became of every step of a study."""

    title: str
    output: str
    report: str
    steps: tuple[Step, ...]

    @property
    def failed(self) -> tuple[Step, ...]:
        return tuple(one for one in self.steps if one.state == "failed")

    def columns(self) -> dict[str, NDArray[Any]]:
        """label, method, collection, state, seconds, error; a row per step."""
        kinds = {"seconds": np.float64}
        names = ("label", "method", "collection", "state", "seconds", "error")
        return {
            name: np.array([getattr(one, name) for one in self.steps], dtype=kinds.get(name, object)) for name in names
        }

    def table(self) -> Table:
        """A row per step: what was done, and where its tables are."""
        heads = (Column("method"), Column("collection"), Column("state"), Column("seconds", "number"), Column("tables"))
        rows = tuple(
            (
                one.label,
                one.collection,
                one.state,
                one.seconds,
                one.error or ", ".join(file for file in one.files if file.endswith(".csv") and ".data." not in file),
            )
            for one in self.steps
        )
        counts = {state: sum(one.state == state for one in self.steps) for state in ("computed", "cached", "failed")}
        told = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
        return Table(heads, rows, self.title, (f"{told}; report: {self.report}",), digits=2)

    def __str__(self) -> str:
        return self.table().text()


@dataclass(frozen=True)
class Result:
    """The tables of one step, and its tidy data as CSV."""

    tables: dict[str, Table]
    data: str

    def to_bytes(self) -> bytes:
        held = {"tables": {part: table_to_plain(table) for part, table in self.tables.items()}, "data": self.data}
        return json.dumps(held).encode("ascii")

    @staticmethod
    def from_bytes(content: bytes) -> Result:
        held = json.loads(content)
        return Result({part: table_from_plain(table) for part, table in held["tables"].items()}, held["data"])


def run_study(study: Study | PathLike, *, progress: Progress | None = None) -> Outcome:
    """Do what a study file asks for: every method on every collection, tables and a report in its output folder.

    Scores and results are kept in the cache folder under a name made of the bytes of the files, the measures, the
    options and the code, so that a second run of the study, or of one that was stopped, does only what is new. A step
    that cannot be done is told in the outcome and in the report; the others are done.
    """
    plan = study if isinstance(study, Study) else read_study(study)
    make_folder(plan.output)
    cache = Cache(plan.cache)
    inputs = Inputs(plan, cache)
    todo = list(_todo(plan))
    steps: list[Step] = []
    sections: list[str] = []
    with _no_half_results() as interrupted:
        for number, (task, collection) in enumerate(todo):

            def partly(done: int, total: int, number: int = number) -> None:
                if progress is not None:
                    progress(number * PARTS + PARTS * min(done, total) // max(total, 1), len(todo) * PARTS)

            partly(0, 1)
            began = time.monotonic()
            result, state, error = _done(plan, task, collection, inputs, cache, partly, interrupted)
            files = _written(plan, task, collection, result) if result else ()
            name = collection.name if collection else ""
            step = Step(task.label, task.method.name, name, state, time.monotonic() - began, files, error)
            steps.append(step)
            sections.append(section(plan, task.label, name, result.tables if result else {}, error))
    if progress is not None:
        progress(len(todo) * PARTS, len(todo) * PARTS)
    where = os.path.join(plan.output, plan.report)
    write_bytes(where, page(plan, sections).encode("utf-8", "backslashreplace"))
    return Outcome(plan.title, plan.output, where, tuple(steps))


def _todo(plan: Study) -> Iterator[tuple[Task, Collection | None]]:
    """Collection by collection, so that the scores of one at a time are held."""
    for task in plan.tasks:
        if task.method.takes == MEASURES:
            yield task, None
    for collection in plan.collections:
        for task in plan.tasks:
            if collection.name in task.collections:
                yield task, collection


def _done(
    plan: Study,
    task: Task,
    collection: Collection | None,
    inputs: Inputs,
    cache: Cache,
    progress: Progress,
    interrupted: list[int],
) -> tuple[Result | None, str, str]:
    """The result of a step, from the cache or computed; what is wrong with it, if it cannot be done."""
    try:
        key = key_of(
            method=task.method.name,
            options={name: inputs.content(task, name, value) for name, value in task.options.items()},
            **inputs.facts(task, collection),
        )
        held = cache.get(key)
        if held is not None:
            return Result.from_bytes(held), "cached", ""
        record = _computed(plan, task, collection, inputs, progress)
        if interrupted:  # a method that answers from what it has by then, which is not what was asked for
            raise KeyboardInterrupt
        result = Result(task.method.found_tables(record), _tidy(record))
        cache.put(key, result.to_bytes())
    except CranfieldError as error:
        return None, "failed", str(error)
    except Exception as error:  # hours of other steps are not to be lost to one
        return None, "failed", f"{type(error).__name__}: {error}; an option of the wrong kind, or a bug in cranfield"
    return result, "computed", ""


def _computed(plan: Study, task: Task, collection: Collection | None, inputs: Inputs, progress: Progress) -> Any:
    method, options = task.method, dict(task.options)
    if method.accepts("progress"):
        options["progress"] = progress
    measures = list(plan.measures_of(task, collection))
    if collection is None:
        return method.function(measures, **options)
    if method.takes == COLLECTION:
        for name, value in (
            ("measures", measures),
            ("missing", collection.missing),
            ("options", collection.options),
            ("teams", collection.teams),
        ):
            if method.accepts(name):
                options[name] = value
        qrels, runs = inputs.read(collection)
        return method.function(qrels, runs, **options)
    scores = inputs.scores(collection, lambda done, total: progress(done, 2 * total))
    if method.accepts("progress"):
        options["progress"] = lambda done, total: progress(total + done, 2 * total)
    further = plan.further_measures(task)
    wanted = list(dict.fromkeys((*(measures or scores.measures), *further)))
    if further and method.accepts("measures"):
        options["measures"] = measures or [name for name in scores.measures if name not in further]
    return method.function(scores.select(measures=wanted), **options)


def _tidy(record: Any) -> str:
    """The record's columns as CSV; undefined is empty."""
    if not isinstance(record, Tidy):
        return ""
    columns: dict[str, list[Any]] = {}
    for name, column in record.columns().items():
        values = column.tolist()
        columns[name] = [None if x != x else x for x in values] if column.dtype.kind == "f" else values
    return to_delimited(columns, ",")


def _written(plan: Study, task: Task, collection: Collection | None, result: Result) -> tuple[str, ...]:
    """The files of a step, relative to the output folder."""
    folder = collection.name if collection else ""
    make_folder(os.path.join(plan.output, folder))
    files: dict[str, str] = {}
    for part, table in result.tables.items():
        name = f"{task.label}-{part}" if part else task.label
        for format, suffix in SUFFIXES.items():
            if format == "latex" and len(table.rows) > MOST_ROWS_OF_LATEX:
                continue
            files[os.path.join(folder, f"{name}.{suffix}")] = table.render(format) + "\n"
    if result.data:
        files[os.path.join(folder, f"{task.label}.data.csv")] = result.data
    for name, text in files.items():
        kind = "backslashreplace" if name.endswith(".json") else "surrogateescape"
        write_bytes(os.path.join(plan.output, name), text.encode("utf-8", kind))
    return tuple(files)


@contextmanager
def _no_half_results() -> Iterator[list[int]]:
    """A list that is no longer empty once Ctrl-C was pressed, whoever caught it."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
