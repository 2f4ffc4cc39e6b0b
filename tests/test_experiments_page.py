"""The command lines of docs/experiments.md print what the page shows, in one folder and in their order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.test_building_page import shown_and_printed

PAGE = Path(__file__).parent.parent / "docs" / "experiments.md"
BLOCKS = re.findall(r"^```console\n(.*?)\n```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
def test_the_command_lines_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 7
    for block in BLOCKS:
        shown, printed = shown_and_printed(block, tmp_path)
        assert printed == shown
