"""Run a study: many methods on many collections from one file, and a report with all tables.

Nothing is computed twice, even after a stop.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from typing import Annotated, Any

from cranfield.assessed.join import join
from cranfield.collection.file_formats.writing import to_delimited
from cranfield.collection.source import PathLike, write_bytes
from cranfield.declared.operation import about, operation
from cranfield.errors import CranfieldError
from cranfield.meta.study.inputs import Cache, Inputs, key_of, make_folder, table_from_plain, table_to_plain
from cranfield.meta.study.study_file import Collection, Given, Study, Task, read_study
from cranfield.meta.study.study_methods import ALONE, COLLECTION, LISTS, NOTHING
from cranfield.notes import caution_note, notes_elsewhere
from cranfield.record import Columns, Record, columns_of
from cranfield.table import Column, Table, escape_markdown, headings
from cranfield.text import cut
from cranfield.types import Progress, part_of, report

Figures = Callable[[str, Any], list[dict[str, Any]]]
"""Takes the name of a method and its result, and describes figures as plain values."""
PARTS = 1000
"""The number of progress units per step."""
SUFFIXES = {"csv": "csv", "json": "json", "latex": "tex"}
"""{format of a table: suffix of its file}."""
MOST_ROWS_OF_LATEX = 500
"""Longer tables are data and do not fit a page of a paper."""


@dataclass(frozen=True)
class Step:
    """One method on one collection."""

    label: str
    method: str
    collection: str
    """Empty for a method that works only on measures."""
    state: str
    """`computed`, `cached` or `failed`."""
    seconds: float
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Result:
    """The tables of one step, its tidy data as CSV, and descriptions of its figures as plain values, if asked for."""

    tables: dict[str, Table]
    data: str
    figures: list[dict[str, Any]] | None = None

    def to_bytes(self) -> bytes:
        tables = {suffix: table_to_plain(table) for suffix, table in self.tables.items()}
        return json.dumps({"tables": tables, "data": self.data, "figures": self.figures}).encode("ascii")

    @staticmethod
    def from_bytes(content: bytes) -> Result:
        plain = json.loads(content)
        tables = {suffix: table_from_plain(table) for suffix, table in plain["tables"].items()}
        return Result(tables, plain["data"], plain["figures"])


@dataclass(frozen=True, repr=False)
class Outcome(Record):
    """The state of every step of a study."""

    facts = ("title", "output", "report")

    title: str
    output: str
    report: str
    steps: tuple[Step, ...]
    results: Mapping[tuple[str, str], Result] = field(default_factory=dict)
    """{(label of a method, collection): its tables and figures}, of the steps that did not fail."""

    @property
    def failed(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.state == "failed")

    @property
    def notes(self) -> tuple[str, ...]:
        states = Counter(step.state for step in self.steps)
        counts = ", ".join(f"{states[state]} {state}" for state in ("computed", "cached", "failed") if states[state])
        return (f"{counts}; report: {self.report}",)

    def columns(self) -> Columns:
        """label, method, collection, state, seconds, error; a row per step."""
        return columns_of(self.steps, Step, "label", "method", "collection", "state", "seconds", "error")

    def table(self) -> Table:
        """A row per step: its state, and the files of its tables."""
        rows = []
        for step in self.steps:
            files = ", ".join(file for file in step.files if file.endswith(".csv") and ".data." not in file)
            rows.append((step.label, step.collection, step.state, step.seconds, step.error or files))
        heads = (*headings("text", "method", "collection", "state"), Column("seconds", "number"), Column("tables"))
        return Table(heads, tuple(rows), self.title, self.notes, digits=2)


@operation
def run_study(
    study: Study | PathLike,
    *,
    given: Given | None = None,
    modules: Annotated[
        Iterable[str],
        about(
            "A Python module that the study may import for measures MODULE:NAME. This runs its code. Repeat it.",
            spelled="--import MODULE",
            solves="modules=",
        ),
    ] = (),
    figures: Figures | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run every method of a study file on every collection; write tables and a report to its output folder.

    Scores and results are cached under a hash of the files, the measures, the options and the code, so that a second
    run of a study, or of one that was stopped, computes only what is new. A step that fails is listed in the outcome
    and in the report, and the other steps still run. `modules` names the modules that the study may import for measures
    `module:name`. `given` has judgments and runs for a study that names none, such as those that come with this
    package. `figures` describes the figures of a result (see `cranfield.report.figures.result_figures`);
    they are cached with it.
    """
    plan = study if isinstance(study, Study) else read_study(study, modules, given)
    make_folder(plan.output)
    inputs = Inputs(plan, Cache(plan.cache))
    pairs = _steps(plan)
    steps: list[Step] = []
    sections: list[str] = []
    results: dict[tuple[str, str], Result] = {}
    with _interrupts() as interrupted:
        for number, (task, source) in enumerate(pairs):

            def step_progress(done: int, total: int, number: int = number) -> None:
                report(progress, number * PARTS + PARTS * min(done, total) // max(total, 1), len(pairs) * PARTS)

            step_progress(0, 1)
            began = time.monotonic()
            result, state, error = _result(inputs, task, source, figures, step_progress, interrupted)
            name = source.name if source else ""
            files = _write_files(plan, task.label, name, result) if result else ()
            if result is not None:
                results[task.label, name] = result
            steps.append(Step(task.label, task.method.name, name, state, time.monotonic() - began, files, error))
            sections.append(section(plan, task, name, result.tables if result else {}, error))
    report(progress, len(pairs) * PARTS, len(pairs) * PARTS)
    path = os.path.join(plan.output, plan.report)
    write_bytes(path, page(plan, sections).encode("utf-8", "backslashreplace"))
    return Outcome(plan.title, plan.output, path, tuple(steps), results)


def _steps(plan: Study) -> list[tuple[Task, Collection | None]]:
    """The steps in the order in which they are done.

    With one collection, that of the file; with several, one after the other, so that the scores of only one are in
    memory.
    """
    if len(plan.collections) == 1:
        return [(task, plan.collections[0] if task.collections else None) for task in plan.tasks]
    pairs: list[tuple[Task, Collection | None]] = [(task, None) for task in plan.tasks if task.method.takes in ALONE]
    for collection in plan.collections:
        pairs += [(task, collection) for task in plan.tasks if collection.name in task.collections]
    return pairs


def _result(
    inputs: Inputs,
    task: Task,
    collection: Collection | None,
    figures: Figures | None,
    progress: Progress,
    interrupted: list[int],
) -> tuple[Result | None, str, str]:
    """The result of a step, from the cache or computed; its state; and its error, if it failed."""
    try:
        key = key_of(
            method=task.method.name,
            options={name: inputs.content(task, name, value) for name, value in task.options.items()},
            **inputs.facts(task, collection),
        )
        content = inputs.cache.get(key)
        if content is not None:
            known = Result.from_bytes(content)
            if figures is None or known.figures is not None:
                return known, "cached", ""
        record = _compute(inputs, task, collection, progress)
        if interrupted:  # the method returned an incomplete result
            raise KeyboardInterrupt
        drawn = None if figures is None else figures(task.method.name, record)
        result = Result(task.method.tables_of(record), _tidy(record), drawn)
        inputs.cache.put(key, result.to_bytes())
    except CranfieldError as error:
        return None, "failed", cut(str(error))
    except Exception as error:  # one failed step must not lose hours of others
        return (
            None,
            "failed",
            f"{type(error).__name__}: {cut(str(error))}; an option of the wrong type, or a bug in cranfield",
        )
    return result, "computed", ""


def _compute(inputs: Inputs, task: Task, collection: Collection | None, progress: Progress) -> Any:
    method, plan = task.method, inputs.study
    measures = list(plan.measures_of(task, collection))
    available: dict[str, Any] = {"progress": progress}
    if collection is None:
        arguments: tuple[Any, ...] = () if method.takes == NOTHING else (measures,)
    elif method.takes in (COLLECTION, LISTS):
        available |= {"measures": measures, "missing": collection.missing}
        available |= {"options": collection.options, "teams": collection.teams}
        arguments = inputs.read(collection)
        if method.takes == LISTS:
            arguments = (join(*arguments, collection.options),)
    else:
        scores = inputs.scores(collection, part_of(progress, 0, 2))
        further = plan.further_measures(task)
        available["progress"] = part_of(progress, 1, 2)
        if further:
            available["measures"] = measures or [name for name in scores.measures if name not in further]
        arguments = (scores.select(measures=list(dict.fromkeys((*(measures or scores.measures), *further)))),)
    accepted = {name: value for name, value in available.items() if method.accepts(name)}
    return method.function(*arguments, **task.options, **accepted)


def _tidy(record: Any) -> str:
    """The record's columns as CSV; undefined values are empty."""
    columns = {name: column.tolist() for name, column in record.columns().items()}
    return to_delimited({name: [None if x != x else x for x in column] for name, column in columns.items()}, ",")


def _write_files(plan: Study, label: str, folder: str, result: Result) -> tuple[str, ...]:
    """Write the files of a step; return their paths relative to the output folder."""
    make_folder(os.path.join(plan.output, folder))
    files: dict[str, str] = {}
    for suffix, table in result.tables.items():
        name = f"{label}-{suffix}" if suffix else label
        for format, extension in SUFFIXES.items():
            if format == "latex" and len(table.rows) > MOST_ROWS_OF_LATEX:
                continue
            with notes_elsewhere(""):
                files[os.path.join(folder, f"{name}.{extension}")] = table.render(format) + "\n"
    files[os.path.join(folder, f"{label}.data.csv")] = result.data
    for name, text in files.items():
        errors = "backslashreplace" if name.endswith(".json") else "surrogateescape"
        write_bytes(os.path.join(plan.output, name), text.encode("utf-8", errors))
    return tuple(files)


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """A list that gets an entry when Ctrl-C is pressed, even if a method handles the exception."""
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


MOST_ROWS = 50
"""Longer tables are cut in the report; their files have all rows."""
STYLE = (
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{padding:.2em .6em;border-bottom:1px solid #ccc}caption{text-align:left;padding:.3em 0}p{color:#333}"
)


def section(study: Study, task: Task, collection: str, tables: Mapping[str, Table], error: str) -> str:
    """The tables of one method on one collection, or its error."""
    html, label = study.report.endswith(".html"), task.label
    blocks = [_heading(f"{label} on {collection}" if collection else label, 2, html)]
    if task.about:
        blocks.append(f"<p>{escape(task.about)}</p>" if html else escape_markdown(task.about))
    if error:
        blocks.append(f"<p>failed: {escape(error)}</p>" if html else escape_markdown(f"failed: {error}"))
    for suffix, table in tables.items():
        name = f"{label}-{suffix}" if suffix else label
        blocks.append(_rendered(shortened(table, os.path.join(collection, f"{name}.csv")), html))
    return "\n\n".join(blocks)


def page(study: Study, sections: Iterable[str]) -> str:
    html = study.report.endswith(".html")
    body = "\n\n".join([_heading(study.title, 1, html), _rendered(_collections(study), html), *sections])
    if not html:
        return body + "\n"
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(study.title)}</title>'
    return f"{head}\n<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"


def _collections(study: Study) -> Table:
    heads = (Column("collection"), Column("judgments"), Column("runs"))
    rows = tuple(
        (collection.name, collection.qrels or "saved scores", ", ".join(collection.runs or collection.scores))
        for collection in study.collections
    )
    return Table(heads, rows, notes=(f"measures: {', '.join(study.measures)}",) if study.measures else ())


def shortened(table: Table, file: str) -> Table:
    """The first rows of a long table, with a note that names the file with all rows."""
    if len(table.rows) <= MOST_ROWS:
        return table
    note = caution_note(f"the first {MOST_ROWS} of {len(table.rows)} rows; all are in {file}")
    return replace(table, rows=table.rows[:MOST_ROWS], notes=(note, *table.notes))


def _rendered(table: Table, html: bool) -> str:
    with notes_elsewhere(""):
        return table.html() if html else table.markdown()


def _heading(text: str, level: int, html: bool) -> str:
    return f"<h{level}>{escape(text)}</h{level}>" if html else f"{'#' * level} {escape_markdown(text)}"
