"""A report of runs: its sections, chosen by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module

from cranfield.report.pages.report_parts import (
    Block,
    Drawing,
    FigureBlock,
    Outline,
    Part,
    Report,
    Section,
    TableBlock,
    report_of,
)
from cranfield.report.run_report.experiment import Experiment
from cranfield.text import counted

SECTIONS = {
    "summary": ("In short", "runs_sections:summary_section"),
    "evaluated": ("What was evaluated", "data_sections:evaluated_section"),
    "leaderboard": ("Leaderboard", "runs_sections:leaderboard_section"),
    "pairs": ("Pairs of runs", "runs_sections:pairs_section"),
    "topics": ("Topics", "topics_sections:topics_section"),
    "explain": ("Explained topics", "topics_sections:explained_section"),
    "curves": ("Curves", "runs_sections:curves_section"),
    "measures": ("Measures", "measures_section:measures_section"),
    "judgments": ("Judgments", "data_sections:judgments_section"),
    "efficiency": ("Efficiency", "runs_sections:efficiency_section"),
    "methods": ("Methods", "citations:methods_section"),
}
"""{name: (title, module:function)} in the order of the page."""
TITLE = "Evaluation report"


def make_report(experiment: Experiment, outline: Outline | None = None, drawing: Drawing | None = None) -> Report:
    """The report of an experiment, ready for `report_page`.

    Without a choice of sections, it has all for which there is data. A section that cannot be made, for example because
    there is one run, says why.

    >>> from cranfield.scores.scores import Scores
    >>> scores = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8], [0.6, 0.8]], runs=["x", "y"], measure="AP")
    >>> report = make_report(Experiment(scores), Outline(sections=("summary",)))
    >>> report.sections[0].points[0]
    'y is the best of 2 runs by AP: 0.8333 (95% interval 0.3311 to 0.9374) on 3 topics.'
    """
    scores = experiment.scores
    lead = (
        f"{counted(len(scores.runs), 'run')} on {counted(len(scores.topics), 'topic')}, ranked by {experiment.measure}"
    )
    report = report_of(run_parts(experiment), TITLE, lead, outline, drawing)
    if any(section.key == "evaluated" for section in report.sections):
        # It has the notes of the evaluation, which need not be below every table.
        notes = frozenset(scores.notes)
        report = replace(report, sections=tuple(_without_notes(section, notes) for section in report.sections))
    return report


def run_parts(experiment: Experiment) -> dict[str, Part]:
    """The sections that can be made of an experiment."""
    return {
        name: Part(title, partial(_section, where, experiment), _has_data(name, experiment))
        for name, (title, where) in SECTIONS.items()
    }


def _has_data(name: str, experiment: Experiment) -> bool:
    if name == "efficiency":
        return experiment.times is not None
    return bool(experiment.runs) or name not in ("explain", "curves", "judgments")


def _section(where: str, experiment: Experiment) -> Section:
    module, _, function = where.partition(":")
    make: Callable[[Experiment], Section] = getattr(import_module(f"cranfield.report.run_report.{module}"), function)
    return make(experiment)


def _without_notes(section: Section, notes: frozenset[str]) -> Section:
    """The section without these notes below its tables and figures."""
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, TableBlock):
            kept = tuple(note for note in block.table.notes if note not in notes)
            block = replace(block, table=replace(block.table, notes=kept))
        elif isinstance(block, FigureBlock):
            kept = tuple(note for note in block.figure.notes if note not in notes)
            block = replace(block, figure=replace(block.figure, notes=kept))
        blocks.append(block)
    return replace(section, blocks=tuple(blocks))
