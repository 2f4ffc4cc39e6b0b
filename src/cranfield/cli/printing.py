"""How results are shown: the options of all verbs for that, and where text goes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield import check
from cranfield.cli import interrupts
from cranfield.cli.declare import FIGURE_ENDINGS, MORE, RESULT, Verb, check_ending, declared, flag, option
from cranfield.cli.progress import Progress, on_terminal
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.notes import shown_notes
from cranfield.text import counted, printable

if TYPE_CHECKING:
    from cranfield.record import Record, Shown
    from cranfield.report.figures import Figure
    from cranfield.table import Table

TABLE_FORMATS = ("table", "json", "csv", "tsv", "latex", "markdown", "html")
DATA_FORMATS = ("json", "csv", "tsv")
"""Formats that programs read."""
WITHOUT_NOTES = ("csv", "tsv", "trec")
"""Formats that cannot hold notes."""
SHEETS = (".parquet", ".xlsx")
"""The endings of files that hold what csv would, with numbers as numbers."""
FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".tex": "latex", ".md": "markdown", ".html": "html", ".htm": "html",
    **dict.fromkeys(SHEETS, "csv"),
}  # fmt: skip
"""The formats of files by the ending of their names; any other file has the usual format of the verb."""
IDENTIFIERS = frozenset(
    {"measure", "run", "topic", "doc", "query", "user", "assessor", "system", "other", "class", "collection"}
)
"""Headings of columns that are texts in a spreadsheet, although some ids look like numbers."""
USUAL_ORDER = "order: score"
FIGURES = "report.figures.saving:SUFFIXES"
MOST_DIGITS = 17


class Note(CranfieldWarning):
    """A note about a result, printed on standard error if the format cannot hold it."""


def format_option(*more: str, help: str = "{names}.", default: str = "table") -> Any:
    """`--format`, with further formats after those of a table."""
    choices = (*TABLE_FORMATS, *more)
    return option("--format, -f FORMAT", help, choices=choices, default=default, group=RESULT)


class Quiet(Verb):
    """`--quiet`."""

    quiet: bool = flag("--quiet", "Print no warnings, notes or progress on standard error.", group=RESULT)

    def progress(self, task: str) -> AbstractContextManager[Progress | None]:
        """A progress bar for a task, on standard error; None with `--quiet`, or if that is not a terminal."""
        return nullcontext() if self.quiet or not on_terminal() else Progress(task)


class Output(Verb):
    """The format, and where the result goes."""

    repeats_warnings: ClassVar[bool] = False
    """Do the notes below the result name the missing topics and undefined scores that were warned of?"""
    output_is_result: ClassVar[bool] = True
    """Does `--output` name the file of the result, so that its ending says the format?"""

    format: str = format_option()
    output: str | None = option(
        "--output, -o FILE",
        "Write to this file, in the format of its ending: .csv, .tsv, .json, .tex, .md, .html, .parquet or .xlsx.",
        group=RESULT,
    )
    why: bool = flag("--why", "Print all notes below a table, not only the two most important ones.", group=RESULT)
    guard_formulas: bool = flag(
        "--guard-formulas",
        "In csv and tsv, put ' before text that begins with =, +, - or @: a spreadsheet would run it as a formula.",
        group=MORE,
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._format_named = self.format_of(self.output) if self.output_is_result and self.output else None
        self._sheet = self._format_named is not None and ending_of(self.output or "") in SHEETS
        self._text_columns = set(IDENTIFIERS)
        if self._format_named in self.formats() and "format" not in values:
            self.format = self._format_named or self.format

    def format_of(self, path: str) -> str | None:
        """The format that the name of a file says; None if it says none."""
        return FORMATS.get(ending_of(path))

    @classmethod
    def formats(cls) -> tuple[str, ...]:
        """The formats of the verb."""
        return next(parameter.choices for parameter in declared(cls) if parameter.name == "format")

    @classmethod
    def endings(cls) -> tuple[str, ...]:
        """The endings of files that the verb writes in the format they name."""
        return tuple(ending for ending, format in FORMATS.items() if format in cls.formats())

    def check(self) -> None:
        super().check()
        if self.output_is_result:
            self._check_figure_ending()
            check_ending("--output", self.output, self.endings())
        if self._format_named is None or self.output is None:
            return
        if self._format_named != self.format:
            raise UsageError(
                f"--output {self.output}: a file that ends in {ending_of(self.output)} does not have the format "
                f"{self.format}; leave out --format, or name another file"
            )
        if ending_of(self.output) == ".parquet":
            from cranfield.frames import need

            need("pyarrow", f"{self.output}: Parquet")

    def _check_figure_ending(self) -> None:
        if hasattr(self, "plot") and ending_of(self.output or "") in FIGURE_ENDINGS:
            raise UsageError(f"--output {self.output}: a figure is written by --plot {self.output}")

    @property
    def shows_notes(self) -> bool:
        """Are notes printed below the result, where the user sees them?"""
        return self.output is None and self.format not in (*DATA_FORMATS, *WITHOUT_NOTES)

    @property
    def prints_notes(self) -> bool:
        """Are notes printed on standard error, because a table in this format cannot hold them?"""
        return self.format in ("csv", "tsv")

    @property
    def for_programs(self) -> bool:
        """Is the format one that programs read?"""
        return self.format in DATA_FORMATS

    def emit(self, text: str) -> None:
        """Print text, or write it to the file."""
        if self._sheet and self.output:
            emit_sheet(text, self.output, self._text_columns)
        else:
            emit(text, self.output, format=self.format)

    def emit_json(self, value: Any) -> None:
        """Print plain data as JSON."""
        import json

        self.emit(json.dumps(value, ensure_ascii=False, indent=1))

    def rendered(self, *tables: Table) -> str:
        """Tables in the format, below one another. In a terminal the best is bold and wide tables are stacked."""
        if self.format == "table":
            color, width = colored(self.output), terminal_width(self.output)
            return "\n\n".join([table.text(color=color, width=width) for table in tables])
        for table in tables:
            warn_of_notes(table.notes, self.format)
            self._text_columns |= table.text_columns
        if self.format == "json" and len(tables) > 1:
            return f"[{', '.join(table.json() for table in tables)}]"
        guarded = (replace(table, guard_formulas=self.guard_formulas) for table in tables)
        return "\n\n".join([table.render(self.format) for table in guarded])


class Printing(Quiet, Output):
    """How a result is shown: format, digits, file, and whether warnings are printed."""

    digits: int | None = option(
        "--digits N", "Digits after the decimal point; default: 4, all in json, csv and tsv.", group=RESULT
    )

    def check(self) -> None:
        super().check()
        if self.digits is not None:
            check.between("", low=0, high=MOST_DIGITS, **{"--digits": self.digits})

    def show(self, *tables: Table) -> None:
        """Print tables with the digits asked for."""
        self.emit(self.rendered(*(replace(table, digits=self.digits) for table in tables)))

    def show_record(self, record: Record) -> None:
        """Print a result: its table, in csv and tsv all of its columns, and in JSON everything."""
        if self.format == "json":
            self.emit(record.to_json())
        elif self.for_programs:
            from cranfield.record import table_of

            self.show(table_of(record.columns(), notes=tuple(getattr(record, "notes", ()))))
        else:
            self.show(record.table())


class Sized(Verb):
    """The size of a figure, for a paper."""

    figure_width: str | None = option(
        "--figure-width WIDTH",
        "Width of the figure: 1 or 2 columns of a paper, or a length such as 8.5cm, 240pt or 3.3in.",
        group=MORE,
    )
    figure_height: str | None = option("--figure-height HEIGHT", "Height of the figure, such as 5cm.", group=MORE)
    font_size: float | None = option(
        "--font-size POINTS", "Size of the letters in the figure; default: 8.25 points.", group=MORE
    )
    no_title: bool = flag("--no-title", "Draw the figure without its title: a paper has it in the caption.", group=MORE)

    def check(self) -> None:
        super().check()
        if any(self.named_style().values()):
            from cranfield.report.figures.style import Style

            Style(**self.style())

    def named_style(self) -> dict[str, Any]:
        """The values of these options, by their names."""
        return {"--figure-width": self.figure_width, "--figure-height": self.figure_height,
                "--font-size": self.font_size, "--no-title": self.no_title}  # fmt: skip

    def style(self) -> dict[str, Any]:
        """The settings of `Style`."""
        return {
            "width": self.figure_width,
            "height": self.figure_height,
            "font_size": self.font_size,
            "titled": not self.no_title,
        }


class Plotting(Sized, Printing):
    """As `Printing`, for results that can also be drawn."""

    plot: str | None = option(
        "--plot FILE", "Also draw a figure, to a file that ends in {names}.", group=RESULT, names=FIGURES
    )

    def check(self) -> None:
        super().check()
        check_plot(self.plot)
        if self.plot is None:
            for name, value in self.named_style().items():
                if value:
                    raise UsageError(f"{name} is for a figure; add --plot FILE")

    def save_plot(self, result: Shown, **options: Any) -> None:
        """Draw the figure of a result if there is to be one; `options` are those of its `plot`."""
        if self.plot is not None:
            self.save_figure(result.plot(**options))

    def save_figure(self, figure: Figure) -> None:
        """Write a figure, in the size that was asked for."""
        if self.plot is not None:
            figure.styled(**self.style()).save(self.plot)


def check_plot(path: str | None) -> None:
    """Raise an error for a figure that cannot be written: its ending is unknown, or packages are missing."""
    if path is None:
        return
    from cranfield.report.figures.saving import check_path, converter
    from cranfield.report.figures.theme import altair

    suffix = check_path(path)
    if suffix != "csv":
        altair()
    if suffix not in ("csv", "json"):
        converter()


def check_page(path: str, name: str = "--output", *, figures: bool = True) -> None:
    """Raise an error for a page that cannot be written: there is no such folder, or packages are missing.

    `name` is the option that holds the path.
    """
    import os

    folder = os.path.dirname(path)
    if path != "-" and folder and not os.path.isdir(folder):
        raise UsageError(f"{name} {path}: the folder {folder} does not exist")
    if os.path.isdir(path):
        raise UsageError(f"{name} {path} is a folder; name a file, such as report.html")
    if figures:
        from importlib.util import find_spec

        from cranfield.report.figures.saving import check_addresses
        from cranfield.report.figures.theme import without_packages

        if find_spec("altair") is None or find_spec("vl_convert") is None:  # importing them takes longer
            raise without_packages()
        check_addresses()
    from cranfield.report.pages.html_page import environment

    environment()


def emit(text: str, output: str | None = None, *, format: str = "table") -> None:
    """Print text, or write a file that appears complete or not at all.

    Names of documents, topics and runs are written as the bytes they were read as, except in JSON, which must be UTF-8.
    """
    data = encoded(text if text.endswith("\n") else text + "\n", format)
    from cranfield.collection.source import write_bytes

    with interrupts.printing(text):
        write_bytes(output or "-", data)


def emit_sheet(text: str, output: str, texts: Collection[str]) -> None:
    """Write what is text in csv to a Parquet file or a spreadsheet; `texts` are the columns without numbers."""
    from cranfield.cli.data_files import columns_of_csv, parquet, xlsx
    from cranfield.collection.source import write_bytes

    tables = columns_of_csv(text, texts)
    data = parquet(tables) if ending_of(output) == ".parquet" else xlsx(tables)
    with interrupts.printing(text):
        write_bytes(output, data)


def ending_of(path: str) -> str:
    """The ending of the name of a file, in small letters, such as .csv."""
    return os.path.splitext(path)[1].lower()


def say_written(paths: Sequence[str]) -> None:
    """Say on standard error which files were written, and how large they are; many are counted."""
    sizes = {path: os.path.getsize(path) for path in dict.fromkeys(paths) if os.path.isfile(path)}
    if len(sizes) <= MOST_NAMED:
        for path, size in sizes.items():
            print(f"wrote {printable(path)} ({in_bytes(size)})", file=sys.stderr)
        return
    folder = os.path.commonpath([os.path.abspath(path) for path in sizes])
    place, all_bytes = printable(os.path.relpath(folder)), in_bytes(sum(sizes.values()))
    print(f"wrote {len(sizes):,} files in {place} ({all_bytes})", file=sys.stderr)


MOST_NAMED = 4
"""With more files than this, they are counted."""


def in_bytes(size: int) -> str:
    """A number of bytes for people.

    >>> in_bytes(1), in_bytes(999), in_bytes(1_234), in_bytes(12_345_678)
    ('1 byte', '999 bytes', '1.2 kB', '12 MB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}" if size < 10 * factor else f"{size / factor:.0f} {unit}"
    return counted(size, "byte")


def emit_lines(lines: Iterable[str], output: str | None = None) -> None:
    """As `emit`, for lines that need not be in memory at once."""
    from itertools import islice

    from cranfield.collection.source import write_bytes

    rest = iter(lines)
    parts = (encoded(text, "tsv") for text in iter(lambda: "".join(islice(rest, 100)), ""))
    with interrupts.printing(""):
        write_bytes(output or "-", parts)


def encoded(text: str, format: str) -> bytes:
    """Text as UTF-8. Bytes that are not UTF-8 come out unchanged, and as `\\udc..` in JSON.

    >>> encoded("a\\udcff", "csv"), encoded("a\\udcff", "json")
    (b'a\\xff', b'a\\\\udcff')
    """
    try:
        return text.encode("utf-8", "backslashreplace" if format == "json" else "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which does not stand for a byte
        return text.encode("utf-8", "backslashreplace")


def warn_of_notes(notes: Iterable[str], format: str) -> None:
    """Print the main notes of a result on standard error if its format has none; the usual order is not one."""
    if format in WITHOUT_NOTES:
        for note in shown_notes([note for note in dict.fromkeys(notes) if note != USUAL_ORDER]):
            warnings.warn(note, Note, stacklevel=2)


def colored(output: str | None = None) -> bool:
    """Does the text go to a terminal that has not asked for plain text (https://no-color.org)?"""
    return _in_terminal(output) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width(output: str | None = None) -> int | None:
    """The columns of the terminal; None if the text does not go to a terminal."""
    if not _in_terminal(output):
        return None
    import shutil

    return shutil.get_terminal_size().columns


def _in_terminal(output: str | None) -> bool:
    return output is None and sys.stdout is not None and sys.stdout.isatty()
