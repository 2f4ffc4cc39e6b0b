"""The sheets of teams: each run topic by topic, against the median and the best of all runs that count."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cranfield.building.campaign.campaign_results import Results, Sheet
from cranfield.measures.property_tables import better_of
from cranfield.report.pages.report_parts import Block, Section, TableBlock
from cranfield.report.pages.sortable_table import (
    BAR_WIDTH,
    MARGIN,
    HtmlCell,
    HtmlColumn,
    number_column,
    text_column,
)
from cranfield.table import DIGITS, Cell, Column, Table
from cranfield.text import counted

MOST_PRINTED = 1_000
"""With more rows in all, long sheets are cut on paper."""


def sheets_section(results: Results, team: str | None = None) -> Section:
    """A table per team, with all of its runs; or only that of one team."""
    measure = results.measure_of(None)
    teams = [team] if team is not None else list(dict.fromkeys(results.teams.values()))
    sheets = {name: results.sheets(name, measure) for name in teams}
    rows = sum(len(sheet.topic) for of_team in sheets.values() for sheet in of_team)
    text = [
        f"{measure} of each run on each topic, against the median and the best of "
        f"{counted(len(results.teams), 'run')}. In the picture, the dot is the run, the line leads from the median to "
        "it, and the tick is the best run."
    ]
    blocks: list[Block] = []
    for name, of_team in sheets.items():
        if not of_team:
            text.append(f"No run of {name} counts.")
            continue
        table = sheet_table(of_team)
        printed = None if rows <= MOST_PRINTED else 40
        columns = sheet_columns(of_team)
        blocks.append(TableBlock(f"sheet_{name}", table, f"Team {name}", columns, tools=True, printed=printed))
    return Section("sheets", "Sheets of teams", tuple(text), (), tuple(blocks))


def sheet_table(sheets: Sequence[Sheet]) -> Table:
    """The sheets of the runs of a team, one below the other."""
    better = better_of(sheets[0].measure)
    heads = (
        Column("topic"), Column("run"), Column("score", "number", better), Column("median", "number"),
        Column("best", "number"), Column("against median", "difference"), Column("place", "count"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for sheet in sheets:
        numbers = (sheet.score, sheet.median, sheet.best, sheet.score - sheet.median, sheet.place)
        for topic, *values, place in zip(sheet.topic, *(column.tolist() for column in numbers), strict=True):
            rows.append((topic, sheet.run, *values, place or None))
    return Table(heads, tuple(rows))


def sheet_columns(sheets: Sequence[Sheet]) -> list[HtmlColumn]:
    """The columns of a sheet as the page shows them, with a picture of each row."""
    score, median, best = (
        [value for sheet in sheets for value in getattr(sheet, name).tolist()] for name in ("score", "median", "best")
    )
    against = [one - other for one, other in zip(score, median, strict=True)]
    place = [float(one) if one else math.nan for sheet in sheets for one in sheet.place.tolist()]
    return [
        text_column("Topic", [topic for sheet in sheets for topic in sheet.topic], name=True),
        text_column("Run", [sheet.run for sheet in sheets for _ in sheet.topic], chosen=len(sheets) > 1),
        number_column("Score", score, better="neither"),
        number_column("Median", median, better="neither"),
        number_column("Best", best, better="neither"),
        number_column("Against median", against, shown=[_signed(value) for value in against], better="neither"),
        _pictures(score, median, best),
        number_column("Place", place, better="neither", shown=[f"{one:g}" for one in place]),
    ]


def _signed(value: float) -> str:
    """A difference with its sign; 0 has none.

    >>> _signed(0.25), _signed(-0.00001)
    ('+0.2500', '0.0000')
    """
    text = f"{value:+.{DIGITS}f}"
    return text if float(text) else text[1:]


def _pictures(score: Sequence[float], median: Sequence[float], best: Sequence[float]) -> HtmlColumn:
    """A line per row, on one scale for all: from the median to the run, and a tick at the best run."""
    ends = [value for column in (score, median, best) for value in column if value == value]
    low = min([0.0, *ends])
    span = (max([low, *ends]) - low) or 1.0

    def x(value: float) -> str:
        return f"{MARGIN + (BAR_WIDTH - 2 * MARGIN) * (value - low) / span:.1f}"

    cells = []
    for own, middle, top in zip(score, median, best, strict=True):
        if own != own or middle != middle:
            cells.append(HtmlCell("", ""))
            continue
        size = f'viewBox="0 0 {BAR_WIDTH} 16" width="{BAR_WIDTH}" height="16"'
        marks = (
            f'<path class="axis" d="M0 8H{BAR_WIDTH}"/><path class="line" d="M{x(middle)} 8H{x(own)}"/>'
            f'<path class="tick" d="M{x(top)} 2V14"/><circle class="dot" cx="{x(own)}" cy="8" r="4"/>'
        )
        cells.append(HtmlCell(f'<svg class="bar" {size} aria-hidden="true">{marks}</svg>', own - middle))
    return HtmlColumn("Run, median and best as a picture", cells, "picture")
