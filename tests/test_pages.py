"""The examples of pages in docs/ and its folders run, and print what the pages show.

The blocks of a page run in their order and in one folder, which has the sample collection as `sample/` and the files
that the page itself shows (blocks such as `json answers.jsonl`):

- `console`: lines that start with `$ ` are commands; what they print follows. A command goes on in the next line, which
  starts with `> `, after a backslash.
- `python`: a session with `>>> `. Names are kept until the end of the page.

Commands in other blocks show only how a command is written. They are parsed, but not run.
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
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

import cranfield
from cranfield.cli import GROUPS, STAND_INS, find, main
from cranfield.cli.parser import parsed
from cranfield.measures.base import ALIASES, REGISTRY
from tests.test_doctests import OPTIONS

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
WRITTEN_ONCE = (
    "calibration.md", "coming_from/beir.md", "coming_from/ir_measures.md", "coming_from/pyterrier.md", "compare.md",
)  # fmt: skip
"""Pages with Python that does not run here: it needs other packages, or names that the page leaves out."""
ALONE = re.compile(r"cranfield ([^|<>;&$`]*)(?:\| ([^<>;&`]*))?")
"""A line of the shell with one command of ours, and perhaps programs that read what it prints."""


class Block(NamedTuple):
    """A block of code."""

    language: str
    path: str
    """The name of the file that the block shows, or nothing."""
    content: str
    line: int


def blocks(page: str) -> list[Block]:
    """All blocks of a page."""
    text = (DOCS / page).read_text("utf-8")
    found = []
    for fence in FENCE.finditer(text):
        language, _, path = fence[2].partition(" ")
        found.append(Block(language, path, fence[3], text[: fence.start(3)].count("\n")))
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.MULTILINE))  # a block that is not closed must not pass
    return found


def test_all_folders_have_pages() -> None:
    assert {"answers.md", "compare.md", "measures.md"} < {*PAGES}
    assert {page.parent for page in DOCS.rglob("*.md")} == {DOCS / Path(page).parent for page in PAGES}


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """After a page, the measures and modules that it defines are gone: other tests try all measures."""
    before = {**REGISTRY}, {**ALIASES}
    yield
    for names, known in zip((REGISTRY, ALIASES), before, strict=True):
        names.clear()
        names.update(known)
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(Path(cranfield.__file__).parent / "samples", tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.path:
            (tmp_path / block.path).write_text(block.content, encoding="utf-8")
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "console":
            assert [*printed(block.content, tmp_path)] == block.content.splitlines()
        elif ">>> " in block.content:
            assert block.language in ("python", "pycon")
            session = doctest.DocTestParser().get_doctest(block.content, names, page, page, block.line)
            session.globs = names
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            runner.run(session, clear_globs=False)
            assert runner.summarize(verbose=False).failed == 0
        elif block.language == "python" and not block.path:
            assert page in WRITTEN_ONCE, f"line {block.line}: a Python block without >>> is never run"


def printed(block: str, folder: Path) -> Iterator[str]:
    """The commands of a block, and the lines that they print."""
    for command in re.findall(r"^\$ (.*(?:\\\n> .*)*)", block, re.MULTILINE):
        line = command.replace("\\\n> ", "\\\n")
        alone = ALONE.fullmatch(line.replace("\\\n", ""))
        text = in_this_process(alone[1], alone[2] or "cat", folder) if alone else in_a_shell(line, folder)
        yield from f"$ {command}".split("\n")
        yield from text.splitlines()


def in_a_shell(line: str, folder: Path, given: bytes = b"") -> str:
    """What a line of the shell prints, with its errors where they come."""
    done = subprocess.run(
        ["bash", "-c", f'cranfield() {{ {sys.executable} -m cranfield "$@"; }}; {line}'], cwd=folder, input=given,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONIOENCODING": "utf-8"}, timeout=120,
    )  # fmt: skip
    return done.stdout.decode("utf-8")


def in_this_process(command: str, then: str, folder: Path) -> str:
    """What one command of ours prints if the shell passes its output to others, without the start of a process."""
    words = [path for word in shlex.split(command) for path in sorted(glob.glob(word)) or [word]]
    both, given = io.BytesIO(), io.TextIOWrapper(io.BytesIO())
    out = io.TextIOWrapper(both if then == "cat" else io.BytesIO(), encoding="utf-8", write_through=True)
    err = out if then == "cat" else io.TextIOWrapper(both, encoding="utf-8", write_through=True)
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        main(words)
    if then != "cat":
        out.buffer.seek(0)
        both.write(in_a_shell(then, folder, out.buffer.read()).encode())
    return both.getvalue().decode("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_can_be_parsed(page: str) -> None:
    """Verbs and options of all commands exist."""
    for block in blocks(page):
        if block.language == "console" or block.path or ">>> " in block.content:
            continue
        for command in re.findall(r"^(?:\$ )?cranfield (.*?)(?:  .*| #.*| [|>&].*)?$", block.content, re.MULTILINE):
            word, *words = shlex.split(command)
            if word in STAND_INS:
                continue
            if word in GROUPS:
                named = bool(words) and words[0] in GROUPS[word].verbs
                word = f"{word} {words.pop(0) if named else GROUPS[word].default}"
            parsed(find(word), f"cranfield {word}", words)
