"""The simulation of time-biased gain converges to closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cranfield.assessed.join import join
from cranfield.assessed.join_options import JoinOptions
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import score
from cranfield.evaluation.simulated_time_gain import simulate_time, simulated_tbg
from cranfield.measures import TBG, parse

GRADES, LENGTHS = [0, 1, None, 1, 1, 0, 1], [800, 400, 1500, 90, 2500, 700, 300]


def exact(model: TBG, grades: Sequence[float | None] = GRADES, lengths: Sequence[float] = LENGTHS) -> float:
    """The expectation of the simulated gain without a spread, document by document."""
    total, left = 0.0, 1.0
    for grade, length in zip(grades, lengths, strict=True):
        relevant = grade is not None and grade >= 1
        click = model.click_rel if relevant else model.click_non
        if relevant:
            total += left * model.click_rel * model.save_rel
        reading = 2 ** (-(model.per_word * length + model.overhead) / model.h)
        left *= 2 ** (-model.summary / model.h) * (1 - click + click * reading)
    return total


def test_the_simulation_converges_to_the_expectation() -> None:
    inside = 0
    for seed in range(40):
        result = simulated_tbg(GRADES, LENGTHS, users=4000, seed=seed)
        inside += int(result.low <= exact(TBG()) <= result.high)
    assert inside >= 33  # of 40 intervals at 95%; fewer have a chance below 0.002
    many = simulated_tbg(GRADES, LENGTHS, users=400_000)
    assert many.gain == pytest.approx(exact(TBG()), abs=4 * many.deviation / np.sqrt(400_000))
    assert exact(TBG()) > TBG().of(GRADES, lengths=LENGTHS)  # the decay is convex


def test_it_converges_to_tbg_where_every_document_is_opened() -> None:
    model = TBG(click_rel=1, click_non=1)
    result = simulated_tbg(GRADES, LENGTHS, model, users=100_000)
    assert model.of(GRADES, lengths=LENGTHS) == pytest.approx(exact(model))
    assert result.low <= model.of(GRADES, lengths=LENGTHS) <= result.high
    certain = simulated_tbg(GRADES, LENGTHS, model.replace(save_rel=1), users=2)
    assert certain.gain == pytest.approx(model.replace(save_rel=1).of(GRADES, lengths=LENGTHS))
    assert certain.deviation == pytest.approx(0)


def test_seconds_are_the_expected_time_to_the_end() -> None:
    model = TBG()
    clicks = [model.click_rel if grade else model.click_non for grade in GRADES]
    by_hand = sum(4.4 + click * (0.018 * length + 7.8) for click, length in zip(clicks, LENGTHS, strict=True))
    assert simulated_tbg(GRADES, LENGTHS, users=100_000).seconds == pytest.approx(by_hand, rel=0.01)


def test_users_who_differ_in_pace_gain_more_on_average() -> None:
    alike, different = (simulated_tbg(GRADES, LENGTHS, users=200_000, spread=spread) for spread in (0.0, 1.0))
    assert different.seconds == pytest.approx(alike.seconds, rel=0.02)  # the mean pace is 1
    assert different.low > alike.high  # the decay is convex
    assert different.deviation > alike.deviation


def test_the_same_seed_gives_the_same_answer() -> None:
    assert simulated_tbg(GRADES, LENGTHS, users=100, seed=3) == simulated_tbg(GRADES, LENGTHS, users=100, seed=3)
    assert simulated_tbg(GRADES, LENGTHS, users=100, seed=3) != simulated_tbg(GRADES, LENGTHS, users=100, seed=4)


def test_an_empty_list_gains_nothing() -> None:
    assert simulated_tbg([], [], users=10).gain == 0


def test_wrong_parameters_are_errors() -> None:
    with pytest.raises(UsageError, match="2 grades, but 1 lengths"):
        simulated_tbg([1, 0], [100])
    with pytest.raises(UsageError, match="users == 1, must be 2 or more"):
        simulated_tbg([1], [100], users=1)
    with pytest.raises(UsageError, match="spread == -1, must be 0 or above"):
        simulated_tbg([1], [100], spread=-1)


def test_runs_have_the_expected_gain_within_their_intervals() -> None:
    documents = {"d1": 400.0, "d2": 1500.0, "d3": 90.0, "d4": 700.0}
    qrels = {topic: {"d1": 1, "d3": 1} for topic in ("1", "2", "3")}
    orders = {"a": ["d1", "d3", "d2", "d4"], "b": ["d2", "d4", "d3", "d1"]}
    runs = {
        run: {topic: {doc: -float(at) for at, doc in enumerate(order)} for topic in qrels}
        for run, order in orders.items()
    }
    del runs["b"]["3"]
    with pytest.warns(UserWarning, match="missing"):
        lists = join(qrels, runs, JoinOptions(lengths=documents))
    model = TBG(h=60)
    result = simulate_time(lists, model, users=20_000, level=0.9999)
    for r, order in enumerate(orders.values()):
        truth = exact(model, [qrels["1"].get(doc) for doc in order], [documents[doc] for doc in order])
        assert result.low[r, 0] < truth < result.high[r, 0]
        assert result.high[r, 0] - result.low[r, 0] < 0.06
    # A missing topic gains nothing, and the error of a mean over three topics is the root of the sum of squares over 3.
    assert result.scores.values[0, 1, 2] == 0
    halves = (result.high - result.scores.values[0]) / result.z
    assert result.error == pytest.approx(np.sqrt((halves**2).sum(axis=1)) / 3)
    columns = result.columns()
    assert columns["TBG(h=60)"] == pytest.approx(score(lists, [model]).means()[0])
    assert (columns["gain"] > columns["TBG(h=60)"]).all()  # the decay is convex
    assert result.scores.measures == ("simulated TBG(h=60)",)


def test_the_seed_decides_and_users_narrow_the_interval() -> None:
    lists = join({"1": {"d1": 1}}, {"a": {"1": {"d2": 2.0, "d1": 1.0}}}, JoinOptions(lengths={"d1": 400, "d2": 900}))
    first, again = (simulate_time(lists, users=500, seed=3) for _ in range(2))
    assert first.scores.values.tolist() == again.scores.values.tolist()
    many = simulate_time(lists, users=50_000, seed=3)
    assert many.error[0] == pytest.approx(first.error[0] / 10, rel=0.2)
    with pytest.raises(UsageError, match="must be TBG without views"):
        simulate_time(lists, parse("TBG'"))  # type: ignore[arg-type]
