"""Many judgments are handled some topics at a time; that changes no score."""

import numpy as np
import pytest

import cranfield as cf
from cranfield.assessed import lists, segments
from cranfield.assessed.segments import Judged

MEASURES = ["nDCG@3", "nDCG", "nDCG(gain='exp')@5", "DCG", "AP", "R@5", "Rprec", "ERR", "Q", "RBP", "Bpref", "NCG@4"]


def collection(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    draw = np.random.default_rng(seed)
    grades = [-1.0, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0]
    qrels = {
        f"t{topic}": {f"d{doc}": draw.choice(grades) for doc in range(draw.integers(1, 25))} for topic in range(40)
    }
    run = {topic: {f"d{doc}": draw.random() for doc in range(30)} for topic in qrels}
    return qrels, run


@pytest.mark.filterwarnings("ignore::cranfield.errors.NotedWarning")
@pytest.mark.parametrize("many", [1, 7, 100])
def test_scores_are_the_same_in_parts(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = collection(many)
    whole = cf.evaluate(qrels, run, MEASURES).values
    monkeypatch.setattr(segments, "MANY", many)
    monkeypatch.setattr(lists, "MANY", many)
    np.testing.assert_array_equal(cf.evaluate(qrels, run, MEASURES).values, whole)


def test_gains_that_fall_with_the_grade_are_sorted_in_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MANY", 2)
    judged = Judged.in_order(np.array([0, 3, 3, 5]), np.array([0.0, 2.0, 1.0, 1.0, 2.0]))
    assert judged.grade.tolist() == [2.0, 1.0, 0.0, 2.0, 1.0]
    ideal = judged.ideal(lambda grade: 3.0 - grade)
    assert ideal.start.tolist() == [0, 3, 3, 5]
    assert ideal.gain.tolist() == [3.0, 2.0, 1.0, 2.0, 1.0]
    assert judged.ideal(lambda grade: 3.0 - grade, cutoff=1).gain.tolist() == [3.0, 2.0]
    assert judged.count(judged.grade >= 1).tolist() == [2.0, 0.0, 2.0]
