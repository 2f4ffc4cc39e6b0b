"""The command lines of docs/calibration.md print what the page shows, in one folder, from the top of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cranfield

PAGE = Path(__file__).parent.parent / "docs" / "calibration.md"
BLOCKS = re.findall(r"^```console\n(.*?)\n```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page")
    shutil.copytree(Path(cranfield.__file__).parent / "samples", path / "sample")
    return path


def test_the_command_lines_of_the_page_print_what_it_shows(folder: Path) -> None:
    assert len(BLOCKS) >= 5
    for block in BLOCKS:
        shown, printed = shown_and_printed(block, folder)
        assert printed == shown
