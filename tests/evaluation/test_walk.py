"""tools/walk.py, and the modules that a plain evaluation visits."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import cranfield as cf

WALK = Path(__file__).parent.parent.parent / "tools" / "walk.py"


def test_a_plain_evaluation_does_not_visit_lengths_samples_or_dimensions() -> None:
    files = cf.sample()
    command = [sys.executable, str(WALK), "eval", str(files.qrels), str(files.runs[0]), "-m", "nDCG@10"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    visited = {line.split()[1]: int(line.split()[0]) for line in printed[:-1]}
    assert re.fullmatch(rf"{len(visited)} files, \d+ changes of file", printed[-1])
    measure = "measures/ranked_lists/ranked.py"
    assert {"evaluation/evaluator.py", "assessed/join.py", "assessed/lists.py", measure} <= visited.keys()
    assert visited.keys().isdisjoint(
        f"assessed/{name}.py" for name in ("lengths", "sampling", "dimensions", "intents", "changed_lists/tied_orders")
    )
