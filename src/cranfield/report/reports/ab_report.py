"""The report of an A/B test: the verdict, the effects, segments and days, and how they were computed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from cranfield.errors import UsageError
from cranfield.online.experiments.ab_record import Analysis
from cranfield.record import table_of
from cranfield.report.pages.report_parts import (
    Block,
    Content,
    FigureBlock,
    Outline,
    Part,
    Report,
    TableBlock,
    report_of,
)
from cranfield.text import counted, listed


def ab_report(result: Analysis, outline: Outline | None = None) -> Report:
    """The report of an analysis, ready for `report_page`.

    >>> from cranfield.online.experiments import analyse
    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["A"] * 3 + ["B"] * 3, "revenue": [5, 6, 7, 8, 9, 13]})
    >>> report = ab_report(analyse(table, "revenue"))
    >>> [section.key for section in report.sections], report.lead
    (['verdict', 'effects', 'methods'], 'B against A, by 1 metric')
    """
    lead = f"{listed(result.arms)} against {result.control}, by {counted(len(result.metrics), 'metric')}"
    return report_of(SECTIONS, result, "A/B test", lead, outline)


def verdict_section(result: Analysis) -> Content:
    """Which arm is better, and whether the numbers of users are as designed."""
    verdict = result.verdict[0].upper() + result.verdict[1:]
    return Content((f"{verdict}.",), (result.ratio.sentence(),))


def effects_section(result: Analysis) -> Content:
    """The effect of each arm on each metric."""
    blocks: list[Block] = []
    with suppress(UsageError):  # no metric has an interval of the relative difference: the table says so
        blocks.append(FigureBlock("effects_figure", replace(result.plot(), notes=())))
    table = replace(result.table(), notes=())
    blocks.append(TableBlock("effects", table, data=table_of(result.columns())))
    return Content(blocks=blocks)


def _segments(result: Analysis) -> Content:
    if result.by_segment is None:
        raise UsageError("no segments were asked for")
    return Content(blocks=(TableBlock("segments", result.by_segment.table(), tools=True),))


def _days(result: Analysis) -> Content:
    if result.by_day is None:
        raise UsageError("no days were asked for")
    return Content(blocks=(TableBlock("days", result.by_day.table(), tools=True),))


def _methods(result: Analysis) -> Content:
    facts = (
        f"significance level: {result.alpha:g}",
        f"correction of p-values: {result.correction}",
        f"looks at the result: {result.sequential}",
        *result.remarks,
    )
    return Content(points=facts)


SECTIONS = {
    "verdict": Part("Verdict", verdict_section),
    "effects": Part("Effects", effects_section),
    "segments": Part("Segments", _segments, lambda result: result.by_segment is not None),
    "days": Part("Days since exposure", _days, lambda result: result.by_day is not None),
    "methods": Part("Methods", _methods),
}
"""The sections, in the order of the page."""
