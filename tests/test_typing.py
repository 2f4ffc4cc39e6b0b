"""A user's program has types: mypy --strict accepts it, and finds the mistakes in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from typing import NamedTuple

import cranfield as cf
from cranfield.compat import ir_measures


class Row(NamedTuple):
    topic: str
    doc: str
    score: float


qrels = {"q1": {"d1": 1, "d2": 0}}
run = {"q1": {"d1": 0.3, "d2": 0.9}}
ndcg: cf.nDCG = cf.nDCG @ 10
scores: cf.Scores = cf.evaluate(qrels, {"mine": run}, [ndcg, cf.AP, "RR"])
cf.evaluate("qrels.txt", ["a.run", "b.run"])
cf.evaluate(cf.Qrels.of(b"q1 0 d1 1"), [Row("q1", "d1", 0.3)], cf.P(rel=2) @ 5)
cf.Evaluator(qrels, [cf.nDCG @ 10]).evaluate(cf.Run.of(run))
cf.explain(qrels, run, "q1", cf.nDCG @ 10)
cf.join(qrels, run).rank.tolist()
means: dict[ir_measures.Measure, float] = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)
"""
MISTAKES = """
import cranfield as cf

wrong: int = cf.nDCG @ 10
cf.evaluate(5, {})
cf.evaluate({}, 5)
cf.Run.of(None)
cf.nDCG @ "ten"
"""


def check(folder: Path, text: str) -> list[str]:
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    command = ["-m", "mypy", "--strict", "--no-error-summary", "--config-file=", "--cache-dir", ".mypy_cache/program"]
    skipped = ["--follow-imports=silent"]
    result = subprocess.run(
        [sys.executable, *command, *skipped, str(program)], capture_output=True, text=True, check=False
    )
    assert not result.stderr
    return [line.split(": ", 1)[0].rsplit(":", 1)[1] for line in result.stdout.splitlines() if "program.py" in line]


def test_a_program_has_types(tmp_path: Path) -> None:
    assert check(tmp_path, PROGRAM) == []
    assert sorted(set(check(tmp_path, MISTAKES))) == ["4", "5", "6", "7", "8"]
