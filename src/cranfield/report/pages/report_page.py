"""A report as one HTML file: contents, sections, tables that sort, figures, and files to save."""

from __future__ import annotations

from html import escape

from cranfield.errors import UsageError
from cranfield.report.pages.html_page import html_page, notes_list, shown_text
from cranfield.report.pages.inline_figure import inline_svg
from cranfield.report.pages.report_parts import Block, FigureBlock, ListingBlock, Report, Section, TableBlock
from cranfield.report.pages.sortable_table import HtmlCell, HtmlColumn, sortable_table
from cranfield.table import Cell, Estimate, Table, number
from cranfield.text import control_free

ONE_LINE = 24
"""A column of texts that are no longer than this is not broken into lines."""


def report_page(report: Report) -> str:
    """The whole page. It makes no request: tables, figures and the files that can be saved are inside it."""
    names = [block.name for section in report.sections for block in section.blocks]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"report: two blocks have the name {repeated!r}; the name is that of a file")
    links = "".join(f'<li><a href="#{escape(s.key)}">{shown_text(s.title)}</a></li>' for s in report.sections)
    parts = [*map(_paragraph, report.introduction)]
    if len(report.sections) > 1:
        parts.append(f'<nav class="contents" aria-label="Contents"><ol>{links}</ol></nav>')
    parts += map(_section, report.sections)
    return html_page(
        report.title, "\n".join(parts), lead=report.lead, footer=report.footer,
        styles=("page.css", "report.css"), scripts=("tables.js", "saving.js"),
    )  # fmt: skip


def _paragraph(text: str) -> str:
    return f"<p>{shown_text(text)}</p>"


def _section(section: Section) -> str:
    parts = [f'<section class="part" id="{escape(section.key)}">', f"<h2>{shown_text(section.title)}</h2>"]
    parts += map(_paragraph, section.text)
    if section.points:
        parts.append(f'<ul class="points">{"".join(f"<li>{shown_text(point)}</li>" for point in section.points)}</ul>')
    parts += map(_block, section.blocks)
    return "\n".join([*parts, "</section>"])


def _block(block: Block) -> str:
    if isinstance(block, TableBlock):
        return _table(block)
    return _figure(block) if isinstance(block, FigureBlock) else _listing(block)


def _table(block: TableBlock) -> str:
    title = block.title or block.table.caption
    columns = table_columns(block.table) if block.columns is None else block.columns
    rows = len(block.table.rows)
    cut = block.printed is not None and rows > block.printed
    on_paper = f'<p class="on-paper notes">The first {block.printed} of {rows:,} rows; the page has all.</p>'
    return "\n".join(
        [
            f'<div class="block{" cut" if cut else ""}">',
            *([f"<h3>{shown_text(title)}</h3>"] if title else []),
            sortable_table(columns, title or block.name, tools=block.tools),
            *([on_paper] if cut else []),
            notes_list(block.table.notes),
            _saving(block.name, "csv", block.csv()),
            "</div>",
        ]
    )


def _figure(block: FigureBlock) -> str:
    notes = notes_list(block.figure.notes)
    caption = f"<figcaption>{notes}</figcaption>" if notes else ""
    data = "" if block.data is None else _saving(block.name, "csv", block.data.csv())
    svg = inline_svg(block.figure, block.name)
    saving = f'<p class="save" hidden><button type="button" data-save="{escape(block.name)}.svg">SVG</button></p>'
    return f'<figure class="block"><div class="picture">{svg}</div>{caption}{saving}{data}</figure>'


def _listing(block: ListingBlock) -> str:
    title = f"<h3>{shown_text(block.title)}</h3>" if block.title else ""
    text = _safe(block.text)
    saving = _save_button(block.name, block.suffix)
    return f'<div class="block">{title}<pre class="listing">{text}</pre>{saving}</div>'


def _saving(name: str, suffix: str, text: str) -> str:
    """A button that saves a file, and the content of the file, which the page does not show."""
    return f"{_save_button(name, suffix)}<pre hidden>{_safe(text)}</pre>"


def _save_button(name: str, suffix: str) -> str:
    """A button that a script shows: without it, it would do nothing."""
    file = escape(f"{name}.{suffix}")
    return f'<p class="save" hidden><button type="button" data-save="{file}">{suffix.upper()}</button></p>'


def _safe(text: str) -> str:
    """Text of several lines; the parser of HTML would drop a line break at the beginning."""
    lines = "\n".join(map(control_free, text.split("\n")))
    return ("\n" if lines.startswith("\n") else "") + escape(lines).encode("utf-8", "backslashreplace").decode()


def table_columns(table: Table) -> list[HtmlColumn]:
    """The columns of any table, as a page shows them. The first one stays in sight on a narrow screen.

    >>> from cranfield.table import Column
    >>> table = Table((Column("run"), Column("AP", "number", "higher")), (("bm25", 0.25), ("dense", 0.3)))
    >>> [cell.html for cell in table_columns(table)[1].cells]
    ['0.2500', '<span class="best">0.3000</span>']
    """
    shown = table.marked(shown_text, '<span class="best">', "</span>")
    columns = []
    for c, column in enumerate(table.columns):
        cells = []
        for row, texts in zip(table.rows, shown, strict=True):
            cells.append(HtmlCell(texts[c], _key(row[c])))
        short = all(len(str(cell.key)) <= ONE_LINE for cell in cells)
        kind = "number" if column.kind != "text" else "name" if c == 0 else "short" if short else "text"
        first = "descending" if column.better == "higher" or column.kind in ("difference", "percent") else "ascending"
        columns.append(HtmlColumn(column.name, cells, kind, first))
    return columns


def _key(cell: Cell) -> str | float:
    """What a cell is sorted by: a number, or its text; undefined is empty."""
    value = cell.value if isinstance(cell, Estimate) else number(cell)
    if value is None or value != value:
        return cell if isinstance(cell, str) else ""
    return float(value)
