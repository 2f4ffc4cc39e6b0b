"""Figures inside a page, drawn here or in another process, while this one computes and makes tables.

The converter keeps the lock of the interpreter, so that a thread would not help. Importing altair and starting the
converter take as long as several figures; the other process does both while runs are read and scored. A figure in a
page is SVG without anything that a strict policy forbids, and small enough for many marks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from cranfield.report.figures.figure import Figure, figure_from_plain, figure_to_plain
from cranfield.report.figures.lettering import with_widths
from cranfield.report.figures.saving import specification, svg_of
from cranfield.report.figures.style import enlarge
from cranfield.report.pages.report_parts import FigureBlock, Section
from cranfield.report.pages.sortable_table import shown_text

COMMAND = "from cranfield.report.pages.figure_worker import answer; answer()"
LARGER = 1.2
"""How much larger figures are in a page, whose letters are larger than those of a paper."""
PATIENCE = 120.0
"""Seconds to wait for a figure, which takes less than one."""


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


def inline_svg(figure: Figure, name: str) -> str:
    """The figure as an `<svg>` element of a page; `name` is unique in the page.

    The labels of single marks are left out: a screen reader reads the title, and the numbers are in tables.
    """
    spec = specification(figure, validate=False)
    spec.setdefault("config", {})["aria"] = False
    _drop_tooltips(spec)
    return cleaned(with_widths(svg_of(enlarge(spec, LARGER))), figure.title or name, name)


def cleaned(svg: str, label: str, name: str) -> str:
    """SVG for a page with other SVG: ids are unique, there are no styles and no links, and a label for all of it.

    >>> cleaned('<svg xmlns="http://www.w3.org/2000/svg"><g id="a" style="x" fill="url(#a)"/></svg>', "L", "f")
    '<svg role="img" overflow="visible" aria-label="L"><g id="f-a" fill="url(#f-a)"/></svg>'
    """
    svg = re.sub(r"<[^<>]*>", lambda tag: _cleaned_tag(tag[0], name), svg)
    # Text with letters that are not known may be wider than was measured, if the reader has other fonts.
    return svg.replace("<svg", f'<svg role="img" overflow="visible" aria-label="{shown_text(label)}"', 1)


def _drop_tooltips(spec: dict[str, Any]) -> None:
    """Leave out what only an interactive figure shows."""
    spec.get("encoding", {}).pop("tooltip", None)
    for name in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(name, ()):
            _drop_tooltips(part)


def _cleaned_tag(tag: str, name: str) -> str:
    tag = re.sub(r' (?:xmlns(?::\w+)?|style|class|role|aria-\w+|pointer-events)="[^"]*"', "", tag)
    tag = re.sub(r' (?:xlink:)?href="(?!#)[^"]*"', "", tag)
    tag = re.sub(r' id="([^"]*)"', rf' id="{name}-\1"', tag)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", tag)
