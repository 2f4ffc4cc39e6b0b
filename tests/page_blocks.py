"""The blocks of code of a page, run in their order, and what they print now.

- `console`: lines that start with `$ ` are commands; what they print follows. A command goes on in the next line, which
  starts with `> `, after a backslash.
- `python`: a session with `>>> `. Names are kept until the end of the page.
- `json answers.jsonl` and others with a name: a file that the page itself shows.

Other blocks are not run. `python tools/refresh_outputs.py` writes what they print into the pages; tests compare.
"""

from __future__ import annotations

import doctest
import glob
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import cranfield
from cranfield.cli import main
from cranfield.measures.base import ALIASES, REGISTRY

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
ALONE = re.compile(
    r"(?:(?:export )?(?P<name>\w+)=(?P<value>\w+);? )?cranfield (?P<words>[^|<>;&$`]*)"
    r"(?:\| (?P<then>[^<>;&`]*)|> (?P<file>[\w./-]+))?"
)
"""A line of the shell with one command of ours, and perhaps a variable that it reads, and programs or a file that get
what it prints."""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
"""What may differ between the output that a page or docstring shows and the real one: "..." stands for any text."""


class Block(NamedTuple):
    """A block of code."""

    language: str
    path: str
    """The name of the file that the block shows, or nothing."""
    content: str
    start: int
    """Where the content starts in the text of the page."""
    line: int


def blocks(text: str) -> list[Block]:
    """All blocks of a page."""
    found = []
    for fence in FENCE.finditer(text):
        language, _, path = fence[2].partition(" ")
        found.append(Block(language, path, fence[3], fence.start(3), text[: fence.start(3)].count("\n") + 1))
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.MULTILINE))  # a block that is not closed must not pass
    return found


def run(path: Path) -> Iterator[tuple[Block, str]]:
    """The blocks of a page that are run, each with its content as it should be now.

    README.md runs in the folder of the project; a page of the documentation in one that has the sample collection as
    `sample/` and the files that the page shows.
    """
    text = path.read_text("utf-8")
    with TemporaryDirectory() as scratch, nothing_left(scratch):
        folder = path.parent if path.parent == ROOT else Path(scratch)
        if folder != ROOT:
            shutil.copytree(Path(cranfield.__file__).parent / "samples", folder / "sample")
            for block in blocks(text):
                if block.path:
                    (folder / block.path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / block.path).write_text(block.content, encoding="utf-8")
        names: dict[str, Any] = {}
        for block in blocks(text):
            with chdir(folder):
                if block.language == "console":
                    yield block, "".join(f"{line}\n" for line in printed(block.content, folder))
                elif ">>> " in block.content:
                    yield block, replayed(block, names, path.name)


@contextmanager
def nothing_left(folder: str) -> Iterator[None]:
    """After a page, the measures and modules that it defines are gone: other pages and tests list all measures."""
    before = {**REGISTRY}, {**ALIASES}
    try:
        yield
    finally:
        for names, known in zip((REGISTRY, ALIASES), before, strict=True):
            names.clear()
            names.update(known)
        for name, module in [*sys.modules.items()]:
            if str(getattr(module, "__file__", None)).startswith(folder):
                del sys.modules[name]


def printed(block: str, folder: Path) -> Iterator[str]:
    """The commands of a block, and the lines that they print."""
    for command in re.findall(r"^\$ (.*(?:(?<=\\)\n> .*)*)", block, re.MULTILINE):
        line = command.replace("\\\n> ", "\\\n")
        alone = ALONE.fullmatch(line.replace("\\\n", ""))
        text = in_this_process(alone, folder) if alone else in_a_shell(line, folder)
        yield from f"$ {command}".split("\n")
        yield from text.splitlines()


def in_a_shell(line: str, folder: Path, given: bytes = b"") -> str:
    """What a line of the shell prints, with its errors where they come."""
    done = subprocess.run(
        ["bash", "-c", f'cranfield() {{ {sys.executable} -m cranfield "$@"; }}; {line}'], cwd=folder, input=given,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONIOENCODING": "utf-8"}, timeout=120,
    )  # fmt: skip
    return done.stdout.decode("utf-8")


def in_this_process(line: re.Match[str], folder: Path) -> str:
    """What a line of `ALONE` prints, without the start of a process for our command."""
    words = [path for word in shlex.split(line["words"]) for path in sorted(glob.glob(word)) or [word]]
    both, given = io.BytesIO(), io.TextIOWrapper(io.BytesIO())
    elsewhere = line["then"] or line["file"]
    out = io.TextIOWrapper(io.BytesIO() if elsewhere else both, encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(both, encoding="utf-8", write_through=True) if elsewhere else out
    variables = mock.patch.dict(os.environ, {line["name"]: line["value"]} if line["name"] else {})
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", given), variables:
        main(words)
    if elsewhere:
        out.buffer.seek(0)
        content = out.buffer.read()
        if line["file"]:
            (folder / line["file"]).write_bytes(content)
        else:
            both.write(in_a_shell(line["then"], folder, content).encode())
    return both.getvalue().decode("utf-8")


class Replay(doctest.DocTestRunner):
    """Runs a session, and keeps what was printed where it is not what the page shows."""

    def __init__(self) -> None:
        super().__init__(optionflags=OPTIONS)
        self.printed: dict[int, str] = {}
        """What was printed, by the first line of its example."""

    def report_failure(self, out: Callable[[str], object], test: Any, example: doctest.Example, got: str) -> None:
        self.printed[example.lineno] = re.sub(r"^$", "<BLANKLINE>", got.removesuffix("\n"), flags=re.MULTILINE) + "\n"

    def report_unexpected_exception(self, out: Callable[[str], object], test: Any, example: Any, exc_info: Any) -> None:
        exc_info[1].add_note(f"{test.name}:{test.lineno + example.lineno}: {example.source.strip()}")
        raise exc_info[1]


def replayed(block: Block, names: dict[str, Any], page: str) -> str:
    """A Python session with what it prints now. What a page elides stays elided, in lines that otherwise hold."""
    test = doctest.DocTestParser().get_doctest(block.content, names, page, page, block.line)
    test.globs, replay = names, Replay()
    replay.run(test, out=lambda text: None, clear_globs=False)
    lines = block.content.splitlines(keepends=True)
    for example in reversed(test.examples):
        if example.lineno in replay.printed:
            shown = example.want.splitlines(keepends=True)
            elided = [line for line in shown if "..." in line]
            start = example.lineno + example.source.count("\n")
            lines[start : start + len(shown)] = [
                " " * example.indent + next((old for old in elided if matches(old, line)), line)
                for line in replay.printed[example.lineno].splitlines(keepends=True)
            ]
    return "".join(lines)


def matches(shown: str, got: str) -> bool:
    """Whether a line that a page shows stands for one that was printed."""
    return doctest.OutputChecker().check_output(shown, got, OPTIONS)
