"""The examples of pages in docs/ and its folders run, and print what the pages show.

`page_blocks.py` says which blocks run. Commands in other blocks show only how a command is written. They are parsed,
but not run.
"""

from __future__ import annotations

import re
import shlex

import pytest

from cranfield.cli import GROUPS, STAND_INS, find
from cranfield.cli.parser import parsed
from tests.page_blocks import DOCS, PAGES, blocks, run

WRITTEN_ONCE = (
    "calibration.md", "coming_from/beir.md", "coming_from/ir_measures.md", "coming_from/pyterrier.md", "compare.md",
)  # fmt: skip
"""Pages with Python that does not run here: it needs other packages, or names that the page leaves out."""


def test_all_folders_have_pages() -> None:
    assert {"answers.md", "compare.md", "measures.md"} < {*PAGES}
    assert {page.parent for page in DOCS.rglob("*.md")} == {(DOCS / page).parent for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_it_shows(page: str) -> None:
    """`python tools/refresh_outputs.py PAGE` writes what they print now into the page."""
    for block, now in run(DOCS / page):
        assert now == block.content


@pytest.mark.parametrize("page", PAGES)
def test_python_of_a_page_is_run(page: str) -> None:
    for block in blocks((DOCS / page).read_text("utf-8")):
        if ">>> " in block.content:
            assert block.language in ("python", "pycon")
        elif block.language == "python" and not block.path:
            assert page in WRITTEN_ONCE, f"line {block.line}: a Python block without >>> is never run"


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_can_be_parsed(page: str) -> None:
    """Verbs and options of all commands exist."""
    for block in blocks((DOCS / page).read_text("utf-8")):
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
