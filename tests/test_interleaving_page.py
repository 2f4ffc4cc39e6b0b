"""The command lines of docs/interleaving.md print what the page shows, in one folder; its Python examples run."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import cranfield

from .test_building_page import shown_and_printed

PAGE = Path(__file__).parent.parent / "docs" / "interleaving.md"
BLOCKS = re.findall(r"^```console\n(.*?)\n```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_command_lines_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    shutil.copytree(Path(cranfield.__file__).parent / "samples", tmp_path / "sample")
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        shown, printed = shown_and_printed(block, tmp_path)
        assert printed == shown


def test_the_python_examples_of_the_page_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 8
    assert result.failed == 0
