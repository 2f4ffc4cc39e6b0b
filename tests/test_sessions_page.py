"""The command lines and examples of docs/sessions.md print what the page shows, with the files that the page shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from tests.test_building_page import shown_and_printed

PAGE = Path(__file__).parent.parent / "docs" / "sessions.md"
TEXT = PAGE.read_text("utf-8")
FILES = re.findall(r"^```(?:json|tsv) (\S+)\n(.*?\n)```$", TEXT, re.DOTALL | re.MULTILINE)
BLOCKS = re.findall(r"^```console\n(.*?)\n```$", TEXT, re.DOTALL | re.MULTILINE)
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_command_lines_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 5
    for name, content in FILES:
        (tmp_path / name).write_text(content, encoding="utf-8")
    for block in BLOCKS:
        shown, printed = shown_and_printed(block, tmp_path)
        assert printed == shown


def test_the_examples_of_the_page_print_what_it_shows() -> None:
    assert len(EXAMPLES) == 2
    for example in EXAMPLES:
        test = doctest.DocTestParser().get_doctest(example, {}, "sessions.md", str(PAGE), 0)
        assert doctest.DocTestRunner().run(test).failed == 0
