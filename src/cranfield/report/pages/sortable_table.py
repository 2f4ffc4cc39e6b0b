"""A table that sorts by a click on a heading, and shows only the rows with some words or of one value of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cranfield.report.pages.html_page import shown_text
from cranfield.table import DIGITS

BAR_WIDTH = 160
MARGIN = 6


class HtmlCell(NamedTuple):
    """What a cell shows, as HTML, and the number or text that its column is sorted and filtered by."""

    html: str
    key: str | float


@dataclass(frozen=True)
class HtmlColumn:
    """A heading, the cells below it, and what can be done with them."""

    header: str
    cells: Sequence[HtmlCell]
    kind: str = "text"
    """`text`, `short` (on one line), `name` (which stays in sight on a narrow screen), `number` or `picture`, which
    does not sort."""
    best_first: str = "ascending"
    """The order of the first click."""
    chosen: bool = False
    """Can rows be chosen by a value of this column?"""


def text_column(header: str, texts: Sequence[str], *, name: bool = False, chosen: bool = False) -> HtmlColumn:
    """A column of text."""
    return HtmlColumn(
        header, [HtmlCell(shown_text(text), text) for text in texts], "name" if name else "text", chosen=chosen
    )


def number_column(
    header: str,
    values: Sequence[float],
    *,
    digits: int = DIGITS,
    better: str = "higher",
    shown: Sequence[str] | None = None,
) -> HtmlColumn:
    """A column of numbers, the best in bold; `shown` is what is written instead of the numbers."""
    rounded = [round(value, digits) for value in values if not math.isnan(value)]
    best = (max if better == "higher" else min)(rounded) if len(rounded) > 1 and better in ("higher", "lower") else None
    cells = []
    for at, value in enumerate(values):
        if math.isnan(value):
            cells.append(HtmlCell("–", ""))
            continue
        text = shown_text(shown[at]) if shown is not None else f"{value:.{digits}f}"
        strong = best is not None and round(value, digits) == best
        cells.append(HtmlCell(f'<span class="best">{text}</span>' if strong else text, value))
    return HtmlColumn(header, cells, "number", "descending" if better == "higher" else "ascending")


def interval_column(header: str, low: Sequence[float], value: Sequence[float], high: Sequence[float]) -> HtmlColumn:
    """A picture of values and intervals, on one scale for all rows."""
    ends = [end for column in (low, value, high) for end in column if not math.isnan(end)]
    start, span = (min(ends), (max(ends) - min(ends)) or 1.0) if ends else (0.0, 1.0)

    def x(number: float, otherwise: float) -> str:
        shown = otherwise if math.isnan(number) else number
        return f"{MARGIN + (BAR_WIDTH - 2 * MARGIN) * (shown - start) / span:.1f}"

    cells = []
    for lowest, middle, highest in zip(low, value, high, strict=True):
        if math.isnan(middle):
            cells.append(HtmlCell("", ""))
            continue
        lines = f'<line class="line" x1="{x(lowest, middle)}" y1="8" x2="{x(highest, middle)}" y2="8"/>'
        dot = f'<circle class="dot" cx="{x(middle, middle)}" cy="8" r="4.5"/>'
        axis = f'<line class="axis" x1="0" y1="8" x2="{BAR_WIDTH}" y2="8"/>'
        size = f'viewBox="0 0 {BAR_WIDTH} 16" width="{BAR_WIDTH}" height="16"'
        cells.append(HtmlCell(f'<svg class="bar" {size} aria-hidden="true">{axis}{lines}{dot}</svg>', middle))
    return HtmlColumn(header, cells, "picture")


def sortable_table(columns: Sequence[HtmlColumn], label: str, *, tools: bool = True) -> str:
    """The table with its tools, as HTML. `label` says what it holds, for those who do not see it."""
    head = "".join(_head(column) for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    body = "\n".join(f"<tr>{''.join(map(_cell, row, columns))}</tr>" for row in rows)
    parts = [
        f'<section class="card" data-table aria-label="{shown_text(label)}">',
        *([_tools(columns)] if tools else []),
        f'<div class="scroll" role="group" tabindex="0" aria-label="{shown_text(label)}">',
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>",
        "</div>",
        "</section>",
    ]
    return "\n".join(parts)


def _head(column: HtmlColumn) -> str:
    text = shown_text(column.header)
    if column.kind == "picture":
        return f'<th scope="col"><span class="unseen">{text}</span></th>'
    sort = "number" if column.kind == "number" else "text"
    style = {"number": ' class="number"', "name": ' class="name"'}.get(column.kind, "")
    return f'<th scope="col"{style} data-sort="{sort}" data-first="{column.best_first}">{text}</th>'


def _cell(cell: HtmlCell, column: HtmlColumn) -> str:
    classes = {"number": "number", "name": "name strong", "short": "nowrap"}
    style = f' class="{classes[column.kind]}"' if column.kind in classes else ""
    key = repr(cell.key) if isinstance(cell.key, float) else str(cell.key)
    return f'<td{style} data-key="{shown_text(key)}">{cell.html}</td>'


def _tools(columns: Sequence[HtmlColumn]) -> str:
    """The controls, which a script shows: without it they would do nothing."""
    parts = ['<div class="tools" hidden><label>Filter<input type="search" placeholder="words in a row"></label>']
    for at, column in enumerate(columns):
        if column.chosen:
            values = sorted({str(cell.key) for cell in column.cells if cell.key != ""}, key=str.casefold)
            choices = "".join(f'<option value="{shown_text(value)}">{shown_text(value)}</option>' for value in values)
            every = f'<option value="">all</option>{choices}'
            parts.append(f'<label>{shown_text(column.header)}<select data-column="{at}">{every}</select></label>')
    parts.append('<button type="button">Reset</button><span class="count" role="status"></span></div>')
    return "".join(parts)
