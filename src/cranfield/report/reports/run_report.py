"""A report of runs: its sections, chosen by name."""

from __future__ import annotations

from dataclasses import replace

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
from cranfield.report.reports.citations import methods_section
from cranfield.report.reports.experiment import Experiment
from cranfield.report.reports.more_sections import ab_section, answers_section, explained_section, log_section
from cranfield.report.reports.run_sections import (
    curves_section,
    efficiency_section,
    evaluated_section,
    judgments_section,
    leaderboard_section,
    measures_section,
    pairs_section,
    summary_section,
    topics_section,
)
from cranfield.text import counted


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
    report = report_of(SECTIONS, experiment, "Evaluation report", lead, outline, drawing)
    if any(section.key == "evaluated" for section in report.sections):
        # It has the notes of the evaluation, which need not be below every table.
        notes = frozenset(scores.notes)
        report = replace(report, sections=tuple(_without_notes(section, notes) for section in report.sections))
    return report


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


def _has_runs(experiment: Experiment) -> bool:
    return bool(experiment.runs)


SECTIONS = {
    "summary": Part("In short", summary_section),
    "leaderboard": Part("Leaderboard", leaderboard_section),
    "pairs": Part("Pairs of runs", pairs_section),
    "topics": Part("Topics", topics_section),
    "explain": Part("Explained topics", explained_section, _has_runs),
    "curves": Part("Curves", curves_section, _has_runs),
    "measures": Part("Measures", measures_section),
    "judgments": Part("Judgments", judgments_section, _has_runs),
    "efficiency": Part("Efficiency", efficiency_section, lambda experiment: experiment.times is not None),
    "answers": Part("Answers", answers_section, lambda experiment: experiment.answers is not None),
    "log": Part("Live traffic", log_section, lambda experiment: experiment.log is not None),
    "ab": Part("A/B test", ab_section, lambda experiment: experiment.ab is not None),
    "methods": Part("Methods", methods_section),
    "evaluated": Part("Data, rules and files", evaluated_section),
}
"""The sections, in the order of the page."""
