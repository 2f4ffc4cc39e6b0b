"""The README is true: CI runs its test command, and its examples print what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```console\n\$ (.*?)\n(.*?)\n```$", README, re.DOTALL | re.MULTILINE)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^python3 .*pytest$", README, re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=lambda text: text[:40])
def test_examples_print_what_is_shown(command: str, shown: str) -> None:
    assert command.startswith("cranfield ")
    run = f"{sys.executable} -m cranfield {command.removeprefix('cranfield ')}"
    done = subprocess.run(
        ["bash", "-c", run], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.stdout.rstrip("\n") == shown
