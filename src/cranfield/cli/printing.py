"""Where results go: standard output or a file, whole or not at all; and what a terminal is shown besides."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cranfield import check
from cranfield.errors import CranfieldWarning, UsageError

if TYPE_CHECKING:
    from cranfield.table import Table

TABLE_FORMATS = ("table", "json", "csv", "tsv", "latex", "markdown", "html")

WITHOUT_NOTES = ("csv", "tsv", "trec")
"""Formats with no room for what a reader of the numbers must know."""
USUAL_ORDER = "order: score"


class Note(CranfieldWarning):
    """What stands below a table, told on standard error where the format has no room for it."""


PATIENCE = 0.5
"""Seconds of work before a progress bar appears."""


def emit(text: str, output: str | None = None, *, format: str = "table") -> None:
    """Print, or write a file that appears whole or not at all.

    Names of documents, topics and runs go out as the bytes they came in; JSON, which must be UTF-8, spells others out.
    """
    data = encoded(text if text.endswith("\n") else text + "\n", format)
    from cranfield.collection.source import write_bytes

    write_bytes(output or "-", data)


def encoded(text: str, format: str) -> bytes:
    """Text as UTF-8; bytes that were none are given back as they were, in JSON spelled `\\udc..`.

    >>> encoded("a\\udcff", "csv"), encoded("a\\udcff", "json")
    (b'a\\xff', b'a\\\\udcff')
    """
    try:
        return text.encode("utf-8", "backslashreplace" if format == "json" else "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which stands for no byte
        return text.encode("utf-8", "backslashreplace")


def emit_table(table: Table, format: str, output: str | None = None) -> None:
    """A table in the format asked for; in a terminal the best is bold and what is too wide is stacked."""
    emit(rendered(table, format, output), output, format=format)


def checked(format: str, formats: tuple[str, ...]) -> None:
    """Complain about a format that is none, before any work is done."""
    check.one_of("--format", formats, format=format)


def rendered(table: Table, format: str, output: str | None = None) -> str:
    """A table as text in the format asked for."""
    checked(format, TABLE_FORMATS)
    if format != "table":
        tell_notes(table.notes, format)
        return table.render(format)
    return table.text(color=colored(output), width=terminal_width(output))


def tell_notes(notes: Iterable[str], format: str) -> None:
    """The notes of a result on standard error, if its format has no room for them; they are warnings to `--quiet`.

    That documents were ordered as they are unless somebody says otherwise is not worth a line each time.
    """
    if format in WITHOUT_NOTES:
        for note in notes:
            if note != USUAL_ORDER:
                warnings.warn(note, Note, stacklevel=2)


def colored(output: str | None = None) -> bool:
    """Is this for a terminal that has not asked for plain text (https://no-color.org)?"""
    return _in_terminal(output) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width(output: str | None = None) -> int | None:
    """How many columns the terminal has; None where there is no terminal and lines may be of any length."""
    if not _in_terminal(output):
        return None
    import shutil

    return shutil.get_terminal_size().columns


def _in_terminal(output: str | None) -> bool:
    return output is None and sys.stdout is not None and sys.stdout.isatty()


def only_one_from_stdin(*paths: str | None) -> None:
    """Standard input can be read once."""
    if paths.count("-") > 1:
        raise UsageError("'-' is given more than once, but standard input can be read only once")


class Progress:
    """A bar on standard error, if that is a terminal and the work takes a while.

    Called with how much is done and how much there is.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if not self._shown or (self._bar is None and time.monotonic() - self._began < PATIENCE):
            return
        if self._bar is None:
            self._start()
        self._bar.update(self._task, completed=done, total=total)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._what, total=None)
        self._bar.start()
