"""The command lines of docs/online.md print what the page shows. They run in one folder, from the top of the page."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_building_page import shown_and_printed

PAGE = Path(__file__).parent.parent / "docs" / "online.md"
BLOCKS = re.findall(r"^```console\n(.*?)\n```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_command_lines_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 4
    for block in BLOCKS:
        shown, printed = shown_and_printed(block, tmp_path)
        assert printed == shown
