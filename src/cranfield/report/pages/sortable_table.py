"""A table that sorts by a click on a heading, and shows only the rows with some words or of one value of a column.

Its HTML is written here, as a page has tens of thousands of cells, too many for a template.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from cranfield.table import DIGITS, Cell, Estimate, Table
from cranfield.text import printable

CLASSES = {"number": "number", "name": "name strong", "short": "nowrap", "long": "words"}
"""The classes of cells, by the kind of their column."""
ONE_LINE = 24
"""A column of texts that are no longer than this is not broken into lines."""
SENTENCE = 80
"""A column with longer texts is wide, so that its rows are not high."""
PLAIN = re.compile(r"[ !#-%(-;=?-~]*")
"""Text in which nothing has to be escaped, as in most cells."""
BAR_WIDTH = 160
MARGIN = 6


def shown_text(text: str) -> str:
    """Text for a page: markup and control characters are escaped.

    >>> shown_text("<b> & \\x1b")
    '&lt;b&gt; &amp; \\\\x1b'
    """
    return text if PLAIN.fullmatch(text) else escape(printable(text))


def shown_texts(texts: Iterable[str]) -> list[str]:
    """As `shown_text`, for many."""
    return [text if PLAIN.fullmatch(text) else shown_text(text) for text in texts]


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
    """`text`, `short` (on one line), `long` (wide), `name` (which stays in sight on a narrow screen), `number` or
    `picture`, which does not sort."""
    best_first: str = "ascending"
    """The order of the first click."""
    chosen: bool = False
    """Can rows be chosen by a value of this column?"""


def text_column(header: str, texts: Sequence[str], *, name: bool = False, chosen: bool = False) -> HtmlColumn:
    """A column of text."""
    kind = "name" if name else "short" if _are_short(texts) else "text"
    return HtmlColumn(header, [HtmlCell(shown_text(text), text) for text in texts], kind, chosen=chosen)


def _are_short(texts: Iterable[object]) -> bool:
    """Can these be on one line?"""
    return all(len(str(text)) <= ONE_LINE for text in texts)


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


def table_columns(table: Table) -> list[HtmlColumn]:
    """The columns of any table, as a page shows them. The first one stays in sight on a narrow screen.

    >>> from cranfield.table import Column
    >>> table = Table((Column("run"), Column("AP", "number", "higher")), (("bm25", 0.25), ("dense", 0.3)))
    >>> [cell.html for cell in table_columns(table)[1].cells]
    ['0.2500', '<span class="best">0.3000</span>']
    """
    shown = table.marked(shown_texts, '<span class="best">', "</span>")
    names = [column.name for column in table.columns]
    columns = []
    for c, column in enumerate(table.columns):
        cells = [HtmlCell(texts[c], _key(row[c])) for row, texts in zip(table.rows, shown, strict=True)]
        short = _are_short(cell.key for cell in cells)
        long = any(len(str(cell.key)) > SENTENCE for cell in cells)
        of_text = "name" if c == 0 else "short" if short else "long" if long else "text"
        kind = "number" if column.kind != "text" else of_text
        first = "descending" if column.better == "higher" or column.kind in ("difference", "percent") else "ascending"
        columns.append(HtmlColumn(names[c], cells, kind, first))
    return columns


def _key(cell: Cell) -> str | float:
    """What a cell is sorted by: a number, or its text; undefined is empty."""
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else float(value)


def sortable_table(columns: Sequence[HtmlColumn], label: str, with_tools: bool = True) -> str:
    """The table as HTML; `label` says what it holds, for those who do not see it."""
    tools = [_tools(columns)] if with_tools else []
    return "\n".join(
        [
            f'<section class="card" data-table aria-label="{shown_text(label)}">',
            *tools,
            f'<div class="scroll" role="group" tabindex="0" aria-label="{shown_text(label)}">',
            f"<table><thead><tr>{''.join(map(_heading, columns))}</tr></thead>",
            f"<tbody>\n{_rows(columns)}\n</tbody></table>",
            "</div>",
            "</section>",
        ]
    )


def _tools(columns: Sequence[HtmlColumn]) -> str:
    """What filters rows. A script shows it: without the script it would do nothing."""
    lines = ['<label>Filter<input type="search" placeholder="words in a row"></label>']
    for place, column in enumerate(columns):
        if column.chosen:
            keys = sorted({str(cell.key) for cell in column.cells if cell.key != ""}, key=str.casefold)
            choices = "".join(f'<option value="{text}">{text}</option>' for text in shown_texts(keys))
            select = f'<select data-column="{place}"><option value="">all</option>{choices}</select>'
            lines.append(f"<label>{shown_text(column.header)}{select}</label>")
    lines.append('<button type="button">Reset</button><span class="count" role="status"></span>')
    return "\n".join(['<div class="tools" hidden>', *lines, "</div>"])


def _heading(column: HtmlColumn) -> str:
    text = shown_text(column.header)
    if not text:
        return "<td></td>"
    if column.kind == "picture":
        return f'<th scope="col"><span class="unseen">{text}</span></th>'
    style = f' class="{column.kind}"' if column.kind in ("number", "name") else ""
    keys = "number" if column.kind == "number" else "text"
    return f'<th scope="col"{style} data-sort="{keys}" data-first="{column.best_first}">{text}</th>'


def _rows(columns: Sequence[HtmlColumn]) -> str:
    """The rows as HTML."""
    begins = [f'<td class="{classes}"' if (classes := _classes(column)) else "<td" for column in columns]
    rows = zip(*([_cell(begin, cell) for cell in column.cells] for begin, column in zip(begins, columns, strict=True)),
               strict=True)  # fmt: skip
    return "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)


def _classes(column: HtmlColumn) -> str:
    classes = CLASSES.get(column.kind, "")
    short = column.kind == "name" and _are_short(cell.key for cell in column.cells)
    return f"{classes} nowrap" if short else classes


def _cell(begin: str, cell: HtmlCell) -> str:
    """A cell. What it is sorted by is written only if that is not what it shows."""
    key = repr(cell.key) if isinstance(cell.key, float) else shown_text(str(cell.key))
    return f"{begin}>{cell.html}</td>" if key == cell.html else f'{begin} data-key="{key}">{cell.html}</td>'


def notes_list(notes: Iterable[str]) -> str:
    """The notes below a table or a figure, as HTML."""
    items = "".join(f"<li>{text}</li>" for text in shown_texts(notes))
    return f'<ul class="notes">{items}</ul>\n' if items else ""
