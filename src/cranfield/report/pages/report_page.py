"""A report as one HTML file: contents, sections, tables that sort, figures, and files to save."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cranfield.errors import UsageError
from cranfield.report.pages.figure_worker import DrawnHere
from cranfield.report.pages.html_page import environment, html_page
from cranfield.report.pages.report_parts import Drawing, FigureBlock, Report

STYLES = ("page.css", "report.css")
SCRIPTS = ("tables.js", "saving.js")


def report_page(report: Report, drawing: Drawing | None = None) -> str:
    """The whole page. It makes no request: tables, figures and the files that can be saved are inside it.

    `drawing` is what draws the figures; by default they are drawn here, one after the other.
    """
    blocks = [block for section in report.sections for block in section.blocks]
    for what, names in (("blocks", [block.name for block in blocks]), ("sections", [s.key for s in report.sections])):
        name, count = Counter(names).most_common(1)[0] if names else ("", 0)
        if count > 1:
            use = "a file" if what == "blocks" else "a place in the page"
            raise UsageError(f"report: two {what} have the name {name!r}; the name is that of {use}")
    environment()
    from markupsafe import Markup

    drawing = drawing or DrawnHere()

    def svg(block: FigureBlock) -> Any:
        return Markup(drawing.svg(block))

    return html_page(
        "report.html", report.title, lead=report.lead, footer=report.footer, styles=STYLES, scripts=SCRIPTS,
        report=report, svg=svg,
    )  # fmt: skip
