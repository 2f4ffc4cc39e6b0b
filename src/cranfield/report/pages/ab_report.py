"""The report of an A/B test: the verdict, the effects, segments and days, and how they were computed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from cranfield import __version__
from cranfield.errors import UsageError
from cranfield.online.experiments.ab_record import Analysis
from cranfield.record import table_of
from cranfield.report.figures import describe_arm_effects
from cranfield.report.pages.report_parts import Block, FigureBlock, Report, Section, TableBlock
from cranfield.text import counted, listed


def ab_report(result: Analysis, title: str = "A/B test") -> Report:
    """The report of an analysis, ready for `report_page`.

    >>> from cranfield.online.experiments import analyse
    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["A"] * 3 + ["B"] * 3, "revenue": [5, 6, 7, 8, 9, 13]})
    >>> report = ab_report(analyse(table, "revenue"))
    >>> [section.key for section in report.sections], report.lead
    (['verdict', 'effects', 'methods'], 'B against A, by 1 metric')
    """
    verdict = result.verdict[0].upper() + result.verdict[1:]
    table = result.table()
    effects: list[Block] = []
    with suppress(UsageError):  # no metric has an interval of the relative difference: the table says so
        effects.append(FigureBlock("effects_figure", replace(describe_arm_effects(result), notes=())))
    effects.append(TableBlock("effects", replace(table, notes=()), data=table_of(result.columns())))
    sections = [
        Section("verdict", "Verdict", (f"{verdict}.",), (result.ratio.sentence(),)),
        Section("effects", "Effects", blocks=tuple(effects)),
    ]
    for key, heading, part in (
        ("segments", "Segments", result.by_segment), ("days", "Days since exposure", result.by_day),
    ):  # fmt: skip
        if part is not None:
            sections.append(Section(key, heading, blocks=(TableBlock(key, part.table(), tools=True),)))
    facts = (
        f"significance level: {result.alpha:g}",
        f"correction of p-values: {result.correction}",
        f"looks at the result: {result.sequential}",
        *result.remarks,
    )
    sections.append(Section("methods", "Methods", points=facts))
    lead = f"{listed(result.arms)} against {result.control}, by {counted(len(result.metrics), 'metric')}"
    return Report(title, tuple(sections), lead, footer=f"Made by cranfield {__version__}.")
