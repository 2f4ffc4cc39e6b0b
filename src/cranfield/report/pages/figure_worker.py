"""Draw the figures of a page in another process, while this one computes and makes tables.

The converter keeps the lock of the interpreter, so that a thread would not help. Importing altair and starting the
converter take as long as several figures; the other process does both while runs are read and scored.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any, Protocol

from cranfield.report.figures.stored_figure import figure_from_plain, figure_to_plain
from cranfield.report.pages.inline_figure import inline_svg
from cranfield.report.pages.report_parts import FigureBlock, Section

COMMAND = "from cranfield.report.pages.figure_worker import answer; answer()"
PATIENCE = 120.0
"""Seconds to wait for a figure, which takes less than one."""


class Drawing(Protocol):
    """What draws the figures of a page."""

    def begin(self, section: Section) -> None:
        """Begin to draw the figures of a section."""

    def svg(self, block: FigureBlock) -> str:
        """The figure of a block, as an element of a page."""


class DrawnHere:
    """Draws each figure when it is needed."""

    def begin(self, section: Section) -> None:
        pass

    def svg(self, block: FigureBlock) -> str:
        return inline_svg(block.figure, block.name)


class DrawnBeside:
    """Draws figures in a process that starts now; where that fails, they are drawn here. Use it as a context."""

    def __init__(self) -> None:
        self._drawn: dict[str, str | None] = {}
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: set[str] = set()
        if sys.executable:
            with suppress(OSError):  # without another process, figures are drawn here
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )  # fmt: skip
                threading.Thread(target=self._collect, args=(self._process,), daemon=True).start()

    def __enter__(self) -> DrawnBeside:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def begin(self, section: Section) -> None:
        for block in section.blocks:
            if isinstance(block, FigureBlock) and self._process is not None:
                self._ask(self._process, block)

    def _ask(self, process: subprocess.Popen[bytes], block: FigureBlock) -> None:
        line = json.dumps({"name": block.name, "figure": figure_to_plain(block.figure)})
        assert process.stdin is not None
        with suppress(OSError, ValueError):  # the process has ended
            process.stdin.write(line.encode("utf-8", "surrogatepass") + b"\n")
            process.stdin.flush()
            self._asked.add(block.name)

    def _collect(self, process: subprocess.Popen[bytes]) -> None:
        """Take what the process has drawn, until it ends."""
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            for line in process.stdout:
                drawn = json.loads(line)
                with self._changed:
                    self._drawn[drawn["name"]] = drawn["svg"]
                    self._changed.notify_all()
        with self._changed:
            self._drawn |= {name: None for name in self._asked if name not in self._drawn}
            self._process = None
            self._changed.notify_all()

    def svg(self, block: FigureBlock) -> str:
        svg = None
        if block.name in self._asked:
            with self._changed:
                self._changed.wait_for(lambda: block.name in self._drawn or self._process is None, PATIENCE)
                svg = self._drawn.get(block.name)
        return DrawnHere().svg(block) if svg is None else svg


def answer() -> None:
    """Draw the figures on standard input, a line each; this is what the other process does."""
    from cranfield.report.figures.describe.grids import describe_heat

    inline_svg(describe_heat([[1.0]], ["a"]), "first")  # starts the converter
    for line in sys.stdin.buffer:
        asked: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
        svg = None
        with suppress(Exception):  # the other process draws it again, and raises the error
            svg = inline_svg(figure_from_plain(asked["figure"]), asked["name"])
        sys.stdout.write(json.dumps({"name": asked["name"], "svg": svg}) + "\n")
        sys.stdout.flush()
