"""The command lines of pages in docs/ print what the pages show, in one folder and in their order.

The folder has the sample collection as `sample/`, and the files that the page itself shows (blocks such as
`json answers.jsonl`). Python examples of pages are run by `test_doctests.py`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cranfield

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    "answers": 8, "building": 5, "calibration": 5, "clicks": 4, "compare": 5, "experiments": 7, "fusion": 1,
    "gate": 3, "interleaving": 4, "online": 4, "organisers": 2, "sessions": 5, "several_collections": 2,
}  # fmt: skip
"""The pages, with the least number of blocks of command lines: a page whose blocks are not found must not pass."""


def shown_and_printed(block: str, folder: Path) -> tuple[list[str], list[str]]:
    """The lines of a block, and the commands of the block with the lines that they print."""
    printed = []
    for command in (line[2:] for line in block.split("\n") if line.startswith("$ ")):
        program = f'cranfield() {{ {sys.executable} -m cranfield "$@"; }}; {command}'
        done = subprocess.run(
            ["bash", "-c", program], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"}, timeout=120,
        )  # fmt: skip
        printed += [f"$ {command}", *done.stdout.splitlines()]
    return block.split("\n"), printed


@pytest.mark.parametrize("name", PAGES)
def test_the_command_lines_of_a_page_print_what_it_shows(name: str, tmp_path: Path) -> None:
    text = (DOCS / f"{name}.md").read_text("utf-8")
    shutil.copytree(Path(cranfield.__file__).parent / "samples", tmp_path / "sample")
    for path, content in re.findall(r"^```(?:json|tsv|toml) (\S+)\n(.*?\n)```$", text, re.DOTALL | re.MULTILINE):
        (tmp_path / path).write_text(content, encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= PAGES[name]
    for block in blocks:
        shown, printed = shown_and_printed(block, tmp_path)
        assert printed == shown
