"""A user's program has types: mypy --strict accepts it, and finds the mistakes in it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

from cranfield.evaluation.evaluator import EvaluateOptions, evaluate

PROGRAM = """
from typing import NamedTuple

import numpy
import pandas  # type: ignore[import-untyped]

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
cf.compare(scores, "AP", baseline="mine")
cf.compare({"a": [0.2, 0.5], "b": [0.3, 0.6]})
cf.compare({"a": {"q1": 0.2}, "b": {"q1": 0.3}})
cf.compare(numpy.zeros((3, 2)))
cf.compare("scores.csv", cf.AP)
cf.compare({"news": scores, "web": scores})
cf.topics(scores, topics={"q1": "crime"})
cf.explain(qrels, run, "q1", "AP", topics="topics.xml")
cf.fuse(["a.run", "b.run"], "rrf", k=60)
cf.fuse({"a": run, "b": run})
board = cf.leaderboard(qrels, {"a": run}, "AP", teams={"a": "red"}, missing="skip", depth=10)
passed: bool = cf.gate(
    qrels, {"new": run}, "AP", baseline=run, margin={"AP": "2%"}, at_least={"AP": 0.2}, no_topic_drop={ndcg: 0.5},
    order="rank",
).passed
cf.evaluate_collections({"news": (qrels, {"a": run})}, "AP", threads=2)
cf.Qrels.from_tuples([("q1", "d1", 1)]).grades("q1")
cf.Run.from_arrays([[0.2, 0.4]], docs=["d1", "d2"]).ranking("q1")
frame = pandas.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "relevance": [1]})
cf.Qrels.from_frame(frame)
means: dict[ir_measures.Measure, float] = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)
"""
MISTAKES = """
import cranfield as cf

wrong: int = cf.nDCG @ 10
cf.evaluate(5, {})
cf.evaluate({}, 5)
cf.Run.of(None)
cf.nDCG @ "ten"
cf.compare(5)
cf.compare({"a": 5})
cf.topics(cf.Scores.from_matrix([[0.1]]), topics=5)
cf.fuse(5)
cf.leaderboard(5, {})
cf.leaderboard({}, {}, mising="skip")
cf.gate({}, 5)
cf.gate({}, {}, at_least={"AP": "0.2"})
cf.gate({}, {}, depth="ten")
cf.explain({}, {}, "q1", "AP", topics=5)
cf.Qrels.from_frame(5)
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
    first = MISTAKES.splitlines().index("wrong: int = cf.nDCG @ 10") + 1
    assert sorted({int(line) for line in check(tmp_path, MISTAKES)}) == list(range(first, MISTAKES.count("\n") + 1))


def test_functions_that_pass_options_to_evaluate_have_all_of_them() -> None:
    options = list(inspect.signature(evaluate).parameters.values())[3:]
    assert {option.name: option.annotation for option in options} == {
        name: kind.__forward_arg__ for name, kind in EvaluateOptions.__annotations__.items()
    }
