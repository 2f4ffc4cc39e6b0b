"""A report: sections of text, tables, figures and listings, the outline that chooses among them, and its HTML page."""

from __future__ import annotations

import hashlib
import os
import platform
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from cranfield import __version__
from cranfield.check import nearest
from cranfield.collection.config_files import only_known, read_toml, typed_entry
from cranfield.collection.source import PathLike, is_pipe, write_bytes
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.report.figures.figure import Figure
from cranfield.report.pages.html_page import environment, html_page
from cranfield.report.pages.sortable_table import HtmlColumn, table_columns
from cranfield.table import Cell, Column, Table

IN_SIGHT = 30
"""A table that is no longer does not scroll down."""
MADE_WITH = f"cranfield {__version__}, numpy {np.__version__}, Python {platform.python_version()}"
"""The programs that made a report."""


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
    def whole(self) -> bool:
        """Are all rows in sight at once? Longer tables scroll."""
        return len(self.table.rows) <= IN_SIGHT

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, a single HTML file that works offline."""
        write_bytes(path, report_page(self).encode("utf-8"))


class Drawing(Protocol):
    """What draws the figures of a page."""

    def begin(self, section: Section) -> None:
        """Begin to draw the figures of a section."""

    def svg(self, block: FigureBlock) -> str:
        """The figure of a block, as an element of a page."""


@dataclass(frozen=True)
class Outline:
    """What a report has: its title, the text before the first section, its sections, and text for some of them."""

    title: str = ""
    """Empty: the usual title of this kind of report."""
    introduction: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    """Empty: all that can be made."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """{section: text at its beginning}."""

    @staticmethod
    def read(path: PathLike, known: Collection[str]) -> Outline:
        """Read a TOML file with `title`, `introduction`, `sections` and a table `notes`; all are optional.

        `known` are the sections that this kind of report can have.
        """

        def made_of(table: Mapping[str, Any]) -> Outline:
            outline = _outline(table)
            outline.check(known)
            return outline

        return read_toml(path, made_of)

    def check(self, known: Collection[str]) -> None:
        """Raise an error for a section that is not known; it suggests the most similar one.

        >>> Outline(sections=("pears",)).check(["pairs", "topics"])
        Traceback (most recent call last):
        cranfield.errors.UsageError: no section 'pears'; did you mean 'pairs'?
        """
        for name in (*self.sections, *self.notes):
            if name not in known:
                raise nearest(name, list(known), "section")


def _outline(table: Mapping[str, Any]) -> Outline:
    only_known(table, ("title", "introduction", "sections", "notes"))
    sections = typed_entry(table, "sections", list, default=[])
    notes = typed_entry(table, "notes", dict, default={})
    for name, value in [
        *(("sections", section) for section in sections),
        *((f"notes.{k}", v) for k, v in notes.items()),
    ]:
        if not isinstance(value, str):
            raise UsageError(f"{name} == {value!r}, must be text")
    text = typed_entry(table, "introduction", str, default="")
    paragraphs = tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())
    return Outline(typed_entry(table, "title", str, default=""), paragraphs, tuple(sections), notes)


def section_names(text: str | Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Names of sections between commas or blanks; unknown ones are errors.

    >>> section_names("leaderboard, pairs", ["leaderboard", "pairs", "topics"])
    ('leaderboard', 'pairs')
    """
    names: Sequence[str] = text.replace(",", " ").split() if isinstance(text, str) else tuple(text)
    if not names:
        raise UsageError(f"no section given; there are {', '.join(known)}")
    Outline(sections=tuple(names)).check(known)
    return tuple(names)


@dataclass(frozen=True)
class Content:
    """What is in a section: paragraphs, a list of short sentences, and blocks."""

    text: Sequence[str] = ()
    points: Sequence[str] = ()
    blocks: Sequence[Block] = ()


T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    """How a section of a kind of report is made from its data."""

    title: str
    make: Callable[[T], Content]
    usual: Callable[[T], bool] = lambda data: True
    """Is it in a report without a choice of sections? If not, there is no data for it."""


def report_of(
    parts: Mapping[str, Part[T]],
    data: T,
    title: str,
    lead: str,
    outline: Outline | None = None,
    drawing: Drawing | None = None,
) -> Report:
    """A report of the sections {name: part}, ready for `report_page`. A section that cannot be made says why.

    `drawing` can begin with the figures of a section when it is made, before the others are.

    >>> parts = {"sum": Part("The sum", lambda data: Content([f"It is {sum(data)}."]))}
    >>> report_of(parts, [1, 2], "Numbers", "two of them").sections
    (Section(key='sum', title='The sum', text=('It is 3.',), points=(), blocks=()),)
    """
    outline = outline or Outline()
    outline.check(parts)
    chosen = dict.fromkeys(outline.sections or (name for name, part in parts.items() if part.usual(data)))
    sections = []
    for name in chosen:
        content = _content(parts[name], data)
        note = [outline.notes[name]] if name in outline.notes else []
        text = (*note, *content.text)
        sections.append(Section(name, parts[name].title, text, tuple(content.points), tuple(content.blocks)))
        if drawing is not None:
            drawing.begin(sections[-1])
    footer = f"Made by cranfield {__version__}."
    return Report(outline.title or title, tuple(sections), lead, outline.introduction, footer)


def _content(part: Part[T], data: T) -> Content:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)  # they were given when the results were computed
            return part.make(data)
    except CranfieldError as error:
        return Content((f"Not computed: {error}.",))


# -- the files that a report is made of

SHOWN_DIGITS = 16
LARGEST_TABLE = 20
"""Longer tables can be filtered."""


def files_block(files: Sequence[tuple[str, str]]) -> TableBlock:
    """A table of files, given as (what it holds, path); the page shows the first digits of each digest."""
    data = files_table(files)
    shown = tuple((*row[:-1], str(row[-1])[:SHOWN_DIGITS]) for row in data.rows)
    note = (f"the first {SHOWN_DIGITS} hexadecimal digits of digests; the CSV file has all 64",)
    table = Table(data.columns, shown, notes=note)
    return TableBlock("files", table, "Files", data=data, tools=len(shown) > LARGEST_TABLE)


def files_table(files: Sequence[tuple[str, str]]) -> Table:
    """A row per file: what it holds, its path, its size and the SHA-256 digest of its bytes."""
    with ThreadPoolExecutor() as pool:  # hashing does not hold the lock of the interpreter
        digests = list(pool.map(_digest, [path for _, path in files]))
    names = shown_paths([path for _, path in files])
    rows: list[tuple[Cell, ...]] = [
        (names[path], what, size, digest) for (what, path), (size, digest) in zip(files, digests, strict=True)
    ]
    columns = (Column("file"), Column("holds"), Column("bytes", "count"), Column("SHA-256"))
    return Table(columns, tuple(rows))


def shown_paths(paths: Iterable[str]) -> dict[str, str]:
    """{path: what readers of a page see}: the name of the file, without the folders of a machine they do not know.

    Of files with the same name, as much of the path as tells them apart.

    >>> shown_paths(["runs/a.run", "/home/me/x/b.run", "../y/b.run", "/home/me/qrels.txt"]).values()
    dict_values(['a.run', 'x/b.run', 'y/b.run', 'qrels.txt'])
    """
    parts = {path: os.path.normpath(path).split(os.sep) for path in paths}
    shown = {}
    for path, names in parts.items():
        others = [other for other in parts.values() if other != names]
        depth = next((n for n in range(1, len(names)) if all(other[-n:] != names[-n:] for other in others)), len(names))
        shown[path] = "/".join(names[-depth:]).lstrip("/")
    return shown


def without_folders(text: str, paths: Iterable[str]) -> str:
    """A text in which the paths of these files are as `shown_paths` has them."""
    for path, shown in sorted(shown_paths(paths).items(), key=lambda pair: -len(pair[0])):
        text = text.replace(path, shown) if os.sep in path else text
    return text


def _digest(path: str) -> tuple[int | None, str]:
    """The size and digest of a file; nothing for standard input, which cannot be read again."""
    if path == "-" or is_pipe(path):
        return None, ""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except OSError:
        return None, ""


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

    from cranfield.report.pages.figure_worker import DrawnHere  # it imports this module

    drawing = drawing or DrawnHere()

    def svg(block: FigureBlock) -> Any:
        return Markup(drawing.svg(block))

    return html_page(
        "report.html", report.title, lead=report.lead, footer=report.footer, styles=("page.css", "report.css"),
        scripts=("tables.js", "saving.js"), report=report, svg=svg,
    )  # fmt: skip
