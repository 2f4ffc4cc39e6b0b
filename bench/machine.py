"""Machine judges: prediction-powered intervals of 100 runs, from scores and from files, and an audit.

`python -m bench.machine NAME FOLDER` runs one contestant in its own process, and prints seconds and bytes as JSON. The
time goes from scores in memory, or from files, to the intervals; imports and the making of data are not included.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench import data
from bench.peers import peak_bytes

Timed = Callable[[], Any]

RUNS, HUMAN_TOPICS, TOPICS = 100, 50, 1_000
HUMAN_FILE_TOPICS = 20


def scored() -> tuple[Any, Any]:
    """Scores of 100 runs: with human judgments on 50 topics, with machine judgments on 1,000."""
    from cranfield.scores.scores import Scores

    rng = np.random.default_rng(0)
    truth = np.clip(rng.beta(2, 3, (1, 1, TOPICS)) + rng.normal(0, 0.1, (1, RUNS, TOPICS)), 0, 1)
    machine = np.clip(truth + rng.normal(0.05, 0.1, truth.shape), 0, 1)
    runs, topics = [f"run{i}" for i in range(RUNS)], [str(i) for i in range(TOPICS)]
    return (
        Scores(["nDCG@10"], runs, topics[:HUMAN_TOPICS], truth[:, :, :HUMAN_TOPICS]),
        Scores(["nDCG@10"], runs, topics, machine),
    )


def means(folder: Path) -> Timed:
    from cranfield.building.machine.powered_intervals import powered_intervals

    human, machine = scored()
    powered_intervals(human.select(runs=human.runs[:2]), machine)  # imports scipy
    return lambda: powered_intervals(human, machine).table()


def pairs(folder: Path) -> Timed:
    from cranfield.building.machine.powered_intervals import powered_intervals

    human, machine = scored()
    powered_intervals(human.select(runs=human.runs[:2]), machine)
    return lambda: powered_intervals(human, machine, pairs=True)


def judged(folder: Path) -> tuple[Any, Any, list[str]]:
    """Judgments with random errors of all topics, true ones of 20 topics, and 100 runs."""
    from cranfield.collection.qrels import Qrels

    path, files = data.ad_hoc(folder)
    qrels = Qrels.read(path)
    rng = np.random.default_rng(0)
    columns = qrels.columns()
    wrong = np.where(rng.random(len(qrels)) < 0.2, 1, 0)
    grades = np.maximum(qrels.values, wrong).tolist()
    machine = Qrels.from_tuples(zip(columns.topics, columns.docs, grades, strict=True))
    some = set(qrels.topics[:HUMAN_FILE_TOPICS])
    rows = np.array([row for row, topic in enumerate(columns.topics) if topic in some])
    return qrels.of_rows(rows), machine, [str(file) for file in files[:RUNS]]


def files(folder: Path) -> Timed:
    from cranfield.building.machine.powered_intervals import powered_intervals
    from cranfield.evaluation.evaluator import evaluate

    human, machine, runs = judged(folder)
    powered_intervals(*(part.select(runs=part.runs[:2]) for part in scored()))
    return lambda: powered_intervals(evaluate(human, runs, "nDCG@10"), evaluate(machine, runs, "nDCG@10"))


def audit(folder: Path) -> Timed:
    from cranfield.assessed.given_runs import distinct_names
    from cranfield.building.machine.machine_audit import audit
    from cranfield.collection.run import read_runs

    human, machine, runs = judged(folder)

    def work() -> Any:
        read = read_runs(runs)
        names = distinct_names([run.name for run in read], [run.path or "" for run in read])
        return audit(human, {"machine": machine}, dict(zip(names, read, strict=True)), "nDCG@10")

    return work


MEANS = f"means of {RUNS} runs, {HUMAN_TOPICS} human topics and {TOPICS:,} in all, from scores"
PAIRS = f"all {RUNS * (RUNS - 1) // 2:,} pairs of them, from scores"
FILES = f"means of {RUNS} runs, {HUMAN_FILE_TOPICS} human topics and {data.MANY_TOPICS} in all, from files of runs"
AUDIT = f"audit of a machine judge with {RUNS} runs, from files of runs"

CONTESTANTS: dict[str, Callable[[Path], Timed]] = {MEANS: means, PAIRS: pairs, FILES: files, AUDIT: audit}
LIMITS = {MEANS: 5.0, PAIRS: 5.0, FILES: 5.0}
"""Time limits in seconds."""


def main(name: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    timed = CONTESTANTS[name](Path(folder))
    ready = time.perf_counter()
    timed()
    done = time.perf_counter()
    print(
        json.dumps({"seconds": done - ready, "with_imports": done - began, "spent": done - began, "peak": peak_bytes()})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
