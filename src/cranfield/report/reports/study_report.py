"""The report of a study: what was studied, and the tables and figures of each method on each collection."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

from cranfield import __version__
from cranfield.assessed.intent_files import DISTRIBUTIONS
from cranfield.collection.source import expand
from cranfield.meta.study.study import Outcome, Step
from cranfield.meta.study.study_file import FILES, Collection, Study, Task
from cranfield.report.figures.result_figures import drawn_figures
from cranfield.report.pages.report_parts import (
    MADE_WITH,
    Block,
    Content,
    FigureBlock,
    Outline,
    Part,
    Report,
    TableBlock,
    files_block,
    report_of,
)
from cranfield.report.reports.citations import METHODS_TEXT, Works, citations_of, cited_in, paragraph_blocks
from cranfield.table import Cell, Column, Table, escape_latex
from cranfield.text import counted, enumerated, listed

FIXED = ("summary", "studied", "methods")
"""The sections that are not about a method."""
MOST_ROWS = 300
"""The most rows of a table on the page; its CSV file has all."""
FEW_ROWS = 20


def study_sections(plan: Study) -> dict[str, Part[Outcome]]:
    """The sections of a report, in the order of the page: a section per method of the study.

    A method whose label is the name of another section has `method-` before it.
    """
    return {
        "summary": Part("In short", partial(_summary, plan)),
        "studied": Part("What was studied", lambda outcome: _studied(plan)),
        **{_key(task): Part(_title(task), partial(_method, task)) for task in plan.tasks},
        "methods": Part("Methods", lambda outcome: _methods(plan)),
    }


def _key(task: Task) -> str:
    return f"method-{task.label}" if task.label in FIXED else task.label


def _title(task: Task) -> str:
    return task.label if task.label == task.method.name else f"{task.label} ({task.method.name})"


def study_report(plan: Study, outcome: Outcome, outline: Outline | None = None) -> Report:
    """The report of a study that has run, ready for `report_page`.

    Figures are there if `run_study` was called with `figures=plain_figures`.
    """
    names = [collection.name for collection in plan.collections]
    lead = f"{counted(len(plan.tasks), 'method')} on {listed(names)}" if names else counted(len(plan.tasks), "method")
    return report_of(study_sections(plan), outcome, plan.title, lead, outline)


def _summary(plan: Study, outcome: Outcome) -> Content:
    states = Counter(step.state for step in outcome.steps)
    done = len(outcome.steps) - states["failed"]
    points = [f"{done} of {counted(len(outcome.steps), 'step')} are done; a step is a method on a collection."]
    points += [f"{_where(step)} failed: {step.error}." for step in outcome.failed]
    rows: list[tuple[Cell, ...]] = [
        (task.label, task.method.question, ", ".join(task.collections) or "measures alone") for task in plan.tasks
    ]
    table = Table((Column("method"), Column("question"), Column("on")), tuple(rows))
    return Content(points=points, blocks=(TableBlock("questions", table),))


def _where(step: Step) -> str:
    return f"{step.label} on {step.collection}" if step.collection else step.label


def _studied(plan: Study) -> Content:
    """Collections with their files and rules, measures, and versions."""
    rows: list[tuple[Cell, ...]] = []
    files: list[tuple[str, str]] = [("study", plan.path)]
    for collection in plan.collections:
        own = _files(collection)
        files += own
        kinds = Counter(what for what, _ in own)
        sizes = ", ".join(f"{count} of {what}" for what, count in kinds.items())
        rules = ", ".join(f"{name} = {value}" for name, value in collection.join.items() if name not in FILES)
        measures = ", ".join(collection.measures or plan.measures)
        rows.append((collection.name, sizes, measures, collection.missing, rules))
    names = ("collection", "files", "measures", "missing topics", "rules")
    blocks: list[Block] = []
    if rows:
        blocks.append(TableBlock("collections", Table(tuple(map(Column, names)), tuple(rows)), "Collections"))
    blocks.append(files_block(list(dict.fromkeys(files))))
    text = [f"Made with {MADE_WITH}."]
    text += [f"Measures: {', '.join(plan.measures)}."] if plan.measures and not plan.collections else []
    return Content(text, blocks=blocks)


def _files(collection: Collection) -> list[tuple[str, str]]:
    files = [("judgments", collection.qrels)] if collection.qrels else []
    for what, patterns in (("run", collection.runs), ("scores", collection.scores)):
        files += [(what, path) for path in (expand(patterns) if patterns else ())]
    side = {"teams": collection.teams, **{name: collection.join.get(name) for name in FILES}}
    named = {name: path for name, path in side.items() if isinstance(path, str) and path not in DISTRIBUTIONS}
    return files + [(name.replace("_", " "), path) for name, path in named.items()]


def _method(task: Task, outcome: Outcome) -> Content:
    """The figures and tables of a method, one collection after the other."""
    text = [task.about or f"{task.method.question[0].upper()}{task.method.question[1:]}."]
    if task.options:
        text.append(f"Options: {', '.join(f'{name} = {_shown(value)}' for name, value in task.options.items())}.")
    blocks: list[Block] = []
    for step in (step for step in outcome.steps if step.label == task.label):
        if step.state == "failed":
            text.append(f"{_where(step)} failed: {step.error}.")
            continue
        result = outcome.results[step.label, step.collection]
        prefix = f"{step.collection}_{task.label}" if step.collection else task.label
        several = len(task.collections) > 1
        below = {note for table in result.tables.values() for note in table.notes}
        for number, figure in enumerate(drawn_figures(result.figures), 1):
            title = f"{step.collection}: {figure.title}" if several else figure.title
            notes = tuple(note for note in figure.notes if note not in below)
            blocks.append(FigureBlock(f"{prefix}_figure_{number}", replace(figure, title=title, notes=notes)))
        for suffix, table in result.tables.items():
            name = f"{prefix}_{suffix}" if suffix else prefix
            notes = tuple(note for note in table.notes if note in below)
            below -= set(notes)  # each note once
            blocks.append(_table_block(name, replace(table, notes=notes), step.collection if several else ""))
    return Content(text, blocks=blocks)


def _table_block(name: str, table: Table, collection: str) -> TableBlock:
    """A table of a result; of a long one, the page has the first rows."""
    title = ": ".join(part for part in (collection, table.caption) if part)
    tools = len(table.rows) > FEW_ROWS
    if len(table.rows) <= MOST_ROWS:
        return TableBlock(name, replace(table, caption=""), title, tools=tools)
    note = f"the first {MOST_ROWS} of {len(table.rows):,} rows; the CSV file has all"
    shown = replace(table, caption="", rows=table.rows[:MOST_ROWS], notes=(note, *table.notes))
    return TableBlock(name, shown, title, data=table, tools=tools)


def _shown(value: Any) -> str:
    """An option as the study file has it.

    >>> _shown(["tau-b", "tau-ap"]), _shown(True)
    ('tau-b, tau-ap', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _methods(plan: Study) -> Content:
    """A paragraph that says what was asked, with the references of methods and measures."""
    works = Works()
    names = dict.fromkeys(
        name
        for task in plan.tasks
        for collection in (*plan.collections, None)
        for name in plan.measures_of(task, collection)
    )
    known = citations_of(names)
    measures = enumerated([f"{escape_latex(name)}{works.cite(known.get(name))}" for name in names])
    questions = {task.method.name: task.method for task in plan.tasks}.values()
    asked = enumerated(
        [f"{escape_latex(method.question)}{works.cite(cited_in(method.function))}" for method in questions]
    )
    collections = counted(len(plan.collections), "collection")
    sentences = [
        f"With cranfield {escape_latex(__version__)}, we studied "
        + (f"the measures {measures}" if names else "measures")
        + (f" on {collections}" if plan.collections else "")
        + f": {asked}."
    ]
    seeds = sorted({task.options["seed"] for task in plan.tasks if "seed" in task.options})
    if seeds:
        sentences.append(f"Random numbers had the seed {', '.join(map(str, seeds))}.")
    return Content((METHODS_TEXT,), blocks=paragraph_blocks(sentences, works))
