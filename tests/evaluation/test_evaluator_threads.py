"""One evaluator serves many threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from cranfield import Evaluator, Run, Scores

MEASURES = ["nDCG@10", "AP", "RBP(p=0.8)", "Q", "ERR@20", "AP'", "bpref", 'nDCG(gain="exp")@5']
THREADS, ROUNDS = 16, 6


def collection(seed: int, topics: int = 20, documents: int = 60) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        f"q{topic}": {f"d{doc}": float(rng.integers(0, 20)) for doc in rng.choice(200, documents, replace=False)}
        for topic in range(topics)
    }


@pytest.fixture
def many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("many_switches")
@pytest.mark.parametrize("kind", ["dicts", "tables", "mixed"])
def test_many_threads_get_the_scores_of_one(kind: str) -> None:
    """All threads begin at once, with an evaluator that has computed nothing yet; half of them share one run."""
    qrels = {topic: {doc: int(grade) % 4 for doc, grade in docs.items()} for topic, docs in collection(0).items()}
    runs = [collection(1 if number % 2 else number + 1) for number in range(THREADS)]
    expected = [Evaluator(qrels, MEASURES).evaluate({"run": run}) for run in runs]
    for _ in range(ROUNDS):
        evaluator, start = Evaluator(qrels, MEASURES), Barrier(THREADS)

        def score(number: int, evaluator: Evaluator = evaluator, start: Barrier = start) -> list[Scores]:
            run = runs[number]
            table = kind == "tables" or (kind == "mixed" and number % 3 == 0)
            given = {"run": Run.from_dict(run) if table else run}
            start.wait()
            return [evaluator.evaluate(given) for _ in range(3)]

        with ThreadPoolExecutor(THREADS) as pool:
            for scores, alone in zip(pool.map(score, range(THREADS)), expected, strict=True):
                for each in scores:
                    assert each == alone  # every bit of every score


def test_measures_made_from_functions_do_not_pile_up() -> None:
    """A gain that is a new function each time is not kept with the judgments."""
    evaluator = Evaluator({"q": {"d1": 1, "d2": 0}}, ["AP"])
    for factor in range(1, 4):
        lists = evaluator.assess({"run": {"q": {"d1": 1.0, "d2": 2.0}}})
        assert lists.ideal(lambda grade, factor=factor: grade * factor).gain.tolist() == [factor]
    assert not any("ideal" in key for key in evaluator.assess({"run": {"q": {"d1": 1.0}}}).judged._cache)
