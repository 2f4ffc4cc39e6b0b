"""Options of verbs that write a report: its file, sections, title and texts."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, RESULT, Verb, option
from cranfield.cli.printing import check_page, emit
from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.report.pages.report_parts import Drawing, Outline, Report


def sections(names: str, group: str = MORE) -> Any:
    """`--sections`; `names` says where the names of the sections are, as `module:NAME`."""
    return option(
        "--sections NAMES",
        "The sections of the report, in this order: {names}; default: all for which there is data.",
        names=names,
        group=group,
        solves="report of sections without figures",
    )


class Outlined(Verb):
    """What a report has. A verb also has `sections`, with its own names."""

    outline: str | None = option(
        "--outline FILE", "Title, introduction, sections and notes of the report in a TOML file.", reads=True,
        group=MORE,
    )  # fmt: skip
    title: str | None = option("--title TEXT", "The heading of the report.", group=MORE)

    def read_outline(self, known: Collection[str]) -> Outline:
        """The outline of a report that can have these sections."""
        from dataclasses import replace

        from cranfield.report.pages.report_parts import Outline, section_names

        outline = Outline() if self.outline is None else Outline.read(self.outline, known)
        if (chosen := getattr(self, "sections", None)) is not None:
            outline = replace(outline, sections=section_names(chosen, known))
        return outline if self.title is None else replace(outline, title=self.title)


class Reporting(Outlined):
    """As `Outlined`, for verbs that print a result and can also write a report of it."""

    report: str | None = option(
        "--report FILE", "Also write a report, an HTML page in one file that makes no request.", group=RESULT
    )

    def check(self) -> None:
        super().check()
        if self.report is not None:
            check_page(self.report, "--report")
            return
        given = {"--sections": getattr(self, "sections", None), "--outline": self.outline, "--title": self.title}
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} is for a report; add --report FILE")

    def write_report(self, report: Report) -> None:
        """Write the page, if there is to be one."""
        assert self.report is not None
        write_page(report, self.report)


def write_page(report: Report, path: str, drawing: Drawing | None = None) -> None:
    """Write the page of a report; - is standard output."""
    from cranfield.report.pages.report_parts import report_page

    emit(report_page(report, drawing), path, format="html")
