"""Frequent verbs start without scipy, whose import takes longer than the work of most of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("scipy", "numpy.f2py", "urllib.request", "cranfield.comparison.anova.anova", "cranfield.comparison.power")


@pytest.mark.parametrize(
    "words",
    [
        "eval --sample -m AP",
        "eval --sample -m AP --ci",
        "topics --sample -m AP",
        "leaderboard --sample -m AP",
        "gate --sample --baseline bm25 -m AP --margin 0.5",
    ],
)
def test_a_verb_does_not_import_what_it_does_not_need(words: str) -> None:
    program = (
        f"import sys; from cranfield.cli import main; main({words.split()}); print(set({SLOW}) & {{*sys.modules}})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["set()"], done.stdout + done.stderr
