"""An evaluator in a training loop or a service: small runs, scored one after the other on one core.

`python -m bench.service NAME` runs one contestant in its own process, and prints the seconds of processor time of 1,000
evaluations as JSON: all of them use one core. Each scores 100 topics × 100 documents in no order, of which 20 are
judged, by nDCG@10.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.peers import peak_bytes

TOPICS, DOCUMENTS, JUDGED = 100, 100, 20
EVALUATIONS = 1_000
ROUNDS = 5
Timed = Callable[[], Any]


def collection() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    rng = np.random.default_rng(0)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for topic in range(TOPICS):
        docs = [f"doc{doc}" for doc in rng.choice(100_000, DOCUMENTS + JUDGED, replace=False)]
        qrels[f"q{topic}"] = dict(zip(docs[: 2 * JUDGED], rng.integers(0, 4, 2 * JUDGED).tolist(), strict=True))
        run[f"q{topic}"] = dict(zip(docs[JUDGED:], rng.random(DOCUMENTS).tolist(), strict=True))
    return qrels, run


def dicts() -> Timed:
    from cranfield import Evaluator

    qrels, run = collection()
    evaluator = Evaluator(qrels, ["nDCG@10"])
    return lambda: evaluator.evaluate({"run": run})


def arrays() -> Timed:
    from cranfield import assess_arrays
    from cranfield.evaluation.evaluator import score

    rng = np.random.default_rng(0)
    scores, grades = rng.random((TOPICS, DOCUMENTS)), rng.integers(0, 4, (TOPICS, DOCUMENTS)).astype(np.float64)
    return lambda: score(assess_arrays(grades, scores), ["nDCG@10"])


def pytrec_eval() -> Timed:
    import pytrec_eval

    qrels, run = collection()
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})
    return lambda: evaluator.evaluate(run)


OURS, MATRIX, PEER = "cranfield, dicts", "cranfield, arrays", "pytrec_eval, dicts"
CONTESTANTS: dict[str, Callable[[], Timed]] = {OURS: dicts, MATRIX: arrays, PEER: pytrec_eval}


if __name__ == "__main__":
    evaluate = CONTESTANTS[sys.argv[1]]()
    evaluate()
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(EVALUATIONS // ROUNDS):
            evaluate()
        best = min(best, (time.process_time() - began) * ROUNDS)
    print(json.dumps({"seconds": best, "peak": peak_bytes()}))
