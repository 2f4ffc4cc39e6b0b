"""What a report holds: sections of text, tables, figures and listings. `report_page` makes a page of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cranfield.report.figures.figure import Figure
from cranfield.report.pages.sortable_table import HtmlColumn, table_columns
from cranfield.table import Table


@dataclass(frozen=True)
class TableBlock:
    """A table. `name` is that of its CSV file, and no other block of the report has it."""

    name: str
    table: Table
    title: str = ""
    columns: Sequence[HtmlColumn] | None = None
    """The columns that the page shows, if not those of the table."""
    data: Table | None = None
    """The content of the CSV file, if it has more than the page shows."""
    tools: bool = False
    """Can rows be filtered?"""
    printed: int | None = 40
    """The most rows on paper; None: all."""

    kind: ClassVar = "table"

    @property
    def heading(self) -> str:
        """The title, or the caption of the table."""
        return self.title or self.table.caption

    @property
    def cut(self) -> bool:
        """Are there rows that are not on paper?"""
        return self.printed is not None and len(self.table.rows) > self.printed

    def shown_columns(self) -> Sequence[HtmlColumn]:
        """The columns that the page shows."""
        return table_columns(self.table) if self.columns is None else self.columns

    def csv(self) -> str:
        """The content of the CSV file."""
        return (self.table if self.data is None else self.data).csv()


@dataclass(frozen=True)
class FigureBlock:
    """A figure, and possibly its numbers. `name` is that of its SVG file and of its CSV file."""

    name: str
    figure: Figure
    data: Table | None = None

    kind: ClassVar = "figure"


@dataclass(frozen=True)
class ListingBlock:
    """Text to be copied, such as BibTeX. `suffix` is that of its file."""

    name: str
    text: str
    title: str = ""
    suffix: str = "txt"

    kind: ClassVar = "listing"


Block = TableBlock | FigureBlock | ListingBlock


@dataclass(frozen=True)
class Section:
    """A part of a report. `key` is its name in options and the anchor in the page."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    """Paragraphs."""
    points: tuple[str, ...] = ()
    """A list of short sentences, after the paragraphs."""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Report:
    """A title, a line below it, and sections."""

    title: str
    sections: tuple[Section, ...]
    lead: str = ""
    introduction: tuple[str, ...] = ()
    """Paragraphs before the first section."""
    footer: str = ""
