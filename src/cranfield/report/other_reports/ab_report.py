"""The report of an A/B test: the verdict, the effects, segments and days, and how they were computed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

from cranfield.errors import UsageError
from cranfield.online.experiments.ab_record import Analysis
from cranfield.record import Record, table_of
from cranfield.report.figures import describe_arm_effects
from cranfield.report.pages.report_parts import (
    Block,
    FigureBlock,
    Outline,
    Part,
    Report,
    Section,
    TableBlock,
    report_of,
)
from cranfield.text import counted, listed

SECTIONS = {
    "verdict": "Verdict",
    "effects": "Effects",
    "segments": "Segments",
    "days": "Days since exposure",
    "methods": "Methods",
}
"""{name: title} in the order of the page."""


def ab_report(result: Analysis, outline: Outline | None = None) -> Report:
    """The report of an analysis, ready for `report_page`.

    >>> from cranfield.online.experiments import analyse
    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["A"] * 3 + ["B"] * 3, "revenue": [5, 6, 7, 8, 9, 13]})
    >>> report = ab_report(analyse(table, "revenue"))
    >>> [section.key for section in report.sections], report.lead
    (['verdict', 'effects', 'methods'], 'B against A, by 1 metric')
    """
    makers = {
        "verdict": partial(_verdict, result),
        "effects": partial(_effects, result),
        "segments": partial(_of_parts, "segments", result.by_segment, "no segments were asked for"),
        "days": partial(_of_parts, "days", result.by_day, "no days were asked for"),
        "methods": partial(_methods, result),
    }
    there = {"segments": result.by_segment is not None, "days": result.by_day is not None}
    parts = {name: Part(title, makers[name], there.get(name, True)) for name, title in SECTIONS.items()}
    lead = f"{listed(result.arms)} against {result.control}, by {counted(len(result.metrics), 'metric')}"
    return report_of(parts, "A/B test", lead, outline)


def _verdict(result: Analysis) -> Section:
    verdict = result.verdict[0].upper() + result.verdict[1:]
    return Section("verdict", SECTIONS["verdict"], (f"{verdict}.",), (result.ratio.sentence(),))


def _effects(result: Analysis) -> Section:
    blocks: list[Block] = []
    with suppress(UsageError):  # no metric has an interval of the relative difference: the table says so
        blocks.append(FigureBlock("effects_figure", replace(describe_arm_effects(result), notes=())))
    table = replace(result.table(), notes=())
    blocks.append(TableBlock("effects", table, data=table_of(result.columns())))
    return Section("effects", SECTIONS["effects"], blocks=tuple(blocks))


def _of_parts(name: str, part: Record | None, otherwise: str) -> Section:
    if part is None:
        raise UsageError(otherwise)
    return Section(name, SECTIONS[name], blocks=(TableBlock(name, part.table(), tools=True),))


def _methods(result: Analysis) -> Section:
    facts = (
        f"significance level: {result.alpha:g}",
        f"correction of p-values: {result.correction}",
        f"looks at the result: {result.sequential}",
        *result.remarks,
    )
    return Section("methods", SECTIONS["methods"], points=facts)
