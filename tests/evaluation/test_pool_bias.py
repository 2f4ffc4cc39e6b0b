"""The bias of a pool, computed by hand and by leaving documents out one run at a time."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.evaluation.missing_judgments import PoolBias, pool_bias_of


def ranked(*docs: str) -> dict[str, float]:
    return {doc: float(-rank) for rank, doc in enumerate(docs)}


QRELS = {"q1": {"a": 1, "b": 1, "c": 0, "d": 1}, "q2": {"a": 1, "e": 1}}
POOLED = {
    "x": {"q1": ranked("a", "b", "c"), "q2": ranked("a", "z")},
    "y": {"q1": ranked("a", "d", "b"), "q2": ranked("z", "e")},
    "z": {"q1": ranked("c", "d", "a"), "q2": ranked("e", "a")},
}


def test_bias_by_hand() -> None:
    bias = pool_bias_of(QRELS, POOLED, ["P@2", "AP"], depth=2)
    # q1, first two ranks: only x has b; y and z have d, x and y have a. In q2, two runs each have a and e.
    own = np.zeros((3, 2))
    own[0, 0] = 1 / 2  # P@2 of x: a b is 1, without b it is 1/2
    assert bias.values[0] == pytest.approx(own)
    # AP of x on q1: (1 + 1)/3 with a, b, d relevant; without b 1/2
    own[0, 0] = 2 / 3 - 1 / 2
    assert bias.values[1] == pytest.approx(own)
    assert bias.mean() == pytest.approx({"P@2": 0.5 / 6, "AP": (1 / 6) / 6})


def test_runs_of_a_group_share_their_documents() -> None:
    bias = pool_bias_of(QRELS, POOLED, "P@2", depth=2, groups={"y": "team", "z": "team"})
    # only the team has d in q1 and e in q2: y loses d (1 to 1/2) and e (1/2 to 0); z loses d (1/2 to 0) and e
    assert bias.values[0] == pytest.approx(np.array([[1 / 2, 0], [1 / 2, 1 / 2], [1 / 2, 1 / 2]]))


def test_adjusted_scores() -> None:
    bias = pool_bias_of(QRELS, POOLED, "P@2", depth=2)
    new = {"q1": ranked("n", "a"), "q2": ranked("a", "n")}
    assert bias.adjusted(cf.evaluate(QRELS, {"new": new}, "P@2")) == {"new": {"P@2": pytest.approx(0.5 + 0.5 / 6)}}
    again = cf.evaluate(QRELS, {"x": new}, "P@2")  # x was pooled elsewhere: its own bias, 1/2 on one of two topics
    assert bias.adjusted(again) == {"x": {"P@2": pytest.approx(0.5 + 0.25)}}
    with pytest.raises(UsageError, match="run 'new' is not known"):
        bias.mean("new")
    with pytest.raises(UsageError, match="the bias of RR is not known"):
        bias.adjusted(cf.evaluate(QRELS, {"new": new}, "RR"))


def test_numbers_that_do_not_rate_a_list_are_not_adjusted() -> None:
    # without b, x has half of its two documents of q1 judged: a loss of 1/2, which no list of judged documents can have
    bias = pool_bias_of(QRELS, POOLED, ["Judged@2", "P@2"], depth=2)
    assert bias.values[0, 0, 0] == 1 / 2
    judged = cf.evaluate(QRELS, {"new": {"q1": ranked("a", "b"), "q2": ranked("a", "e")}}, ["Judged@2", "P@2"])
    assert bias.adjusted(judged)["new"] == {"Judged@2": 1, "P@2": 1}  # P@2 would be 1 + 0.5/6
    assert bias.limits(judged) == (
        "not adjusted: Judged@2, because it describes a list and does not rate it",
        "limited to the range of the measure: P@2 of new",
    )
    half = cf.evaluate(QRELS, {"new": {"q1": ranked("a", "n"), "q2": ranked("a", "n")}}, "P@2")
    assert bias.limits(half) == ()


def test_topics_without_relevant_documents_are_left_out() -> None:
    runs = {"x": {"q1": ranked("a"), "q2": ranked("b")}, "y": {"q1": ranked("c"), "q2": ranked("b")}}
    bias = pool_bias_of({"q1": {"a": 1, "c": 0}, "q2": {"b": 1}}, runs, "AP", depth=1)
    assert np.isnan(bias.values[0, 0, 0])  # only x found a
    assert bias.values[0].ravel()[1:].tolist() == [0, 0, 0]
    assert bias.mean() == {"AP": 0}


def test_bias_agrees_with_evaluating_on_reduced_judgments() -> None:
    rng = np.random.default_rng(4)
    grades = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(0, 30, 2)} for q in range(5)}
    runs = {name: {topic: ranked(*(f"d{d}" for d in rng.permutation(30)[:12])) for topic in grades} for name in "uvwxy"}
    groups = {"u": "one", "w": "one", "x": "two"}
    names = ["AP", "nDCG'@5", "ERR"]
    bias = pool_bias_of(grades, runs, names, depth=6, groups=groups)
    group = {name: groups.get(name, name) for name in runs}
    full = cf.evaluate(grades, runs, names).values
    for number, name in enumerate(runs):
        others = [run for other, run in runs.items() if group[other] != group[name]]
        mine = [run for other, run in runs.items() if group[other] == group[name]]
        left = {
            topic: {
                doc: grade
                for doc, grade in row.items()
                if any(doc in list(run[topic])[:6] for run in others)
                or not any(doc in list(run[topic])[:6] for run in mine)
            }
            for topic, row in grades.items()
        }
        afresh = cf.evaluate(left, {name: runs[name]}, names).values[:, 0]
        assert bias.values[:, number] == pytest.approx(full[:, number] - afresh, abs=1e-12)
    assert np.abs(bias.values).max() > 0.01


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="must be 2 or more"):
        pool_bias_of(QRELS, {"x": POOLED["x"]}, "AP", depth=1)
    with pytest.raises(UsageError, match="one group"):
        pool_bias_of(QRELS, POOLED, "AP", depth=1, groups=dict.fromkeys(POOLED, "team"))
    with pytest.raises(UsageError, match="depth == 0"):
        pool_bias_of(QRELS, POOLED, "AP", depth=0)


def test_a_caution_says_that_good_runs_lose_more() -> None:
    values = np.array([[[0.3], [0.1], [0.0]]])
    bias = PoolBias(("AP",), ("a", "b", "c"), ("1",), values, scores=np.array([[0.9, 0.5, 0.1]]))
    errors = np.array([0.05 - 0.3, 0.15 - 0.1, 0.2 - 0.0])
    size, together = bias.errors()["AP"]
    assert size == pytest.approx(float(np.sqrt(np.mean(errors**2))))
    assert together == pytest.approx(float(np.corrcoef(errors, [0.9, 0.5, 0.1])[0, 1]))
    assert "good runs stay too low" in str(bias.caution(cf.Scores(["AP"], ["new"], ["1"], [[[0.4]]])))
