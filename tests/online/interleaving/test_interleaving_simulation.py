"""Simulated users and the simulation of interleaving."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from cranfield import CranfieldWarning, UsageError, evaluate
from cranfield.online.interleaving.attribution_log import count_logged, write_records
from cranfield.online.interleaving.interleaving_simulation import simulate_interleaving
from cranfield.online.interleaving.simulated_impressions import USERS, CascadeUser, simulate_log
from cranfield.samples import sample

QRELS = {f"q{n}": {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0} for n in range(4)}


def run(order: str) -> dict[str, dict[str, float]]:
    return {topic: {doc: -float(rank) for rank, doc in enumerate(order)} for topic in QRELS}


RUNS = {"good": run("abcde"), "bad": run("cdbea")}


def test_users_click_and_stop_as_often_as_their_tables_say() -> None:
    """A list of grades 2, 0, 1, by hand: the probability of each set of clicks is a product along the list."""
    click, stop = {0: 0.05, 1: 0.5, 2: 0.95}, {0: 0.2, 1: 0.5, 2: 0.9}
    count = 200_000
    grades = np.tile([2.0, np.nan, 1.0], (count, 1))
    clicks = CascadeUser.of("navigational", 2).simulate(grades, np.random.default_rng(0))
    found = np.bincount(clicks @ np.array([1, 2, 4]), minlength=8) / count
    expected = np.zeros(8)

    def walk(place: int, clicked: int, probability: float) -> None:
        if place == 3:
            expected[clicked] += probability
            return
        grade = [2, 0, 1][place]
        walk(place + 1, clicked, probability * (1 - click[grade]))
        with_click = probability * click[grade]
        expected[clicked | 1 << place] += with_click * stop[grade]
        walk(place + 1, clicked | 1 << place, with_click * (1 - stop[grade]))

    walk(0, 0, 1.0)
    assert found == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("name", list(USERS))
def test_probabilities_of_users_rise_with_the_grade(name: str) -> None:
    for highest in (1, 2, 3, 4, 7):
        user = CascadeUser.of(name, highest)
        assert list(user.click) == sorted(user.click)
        assert list(user.stop) == sorted(user.stop)
        assert len(user.click) == (2 if name == "random" and highest == 1 else len(user.stop))


def test_unknown_users_and_wrong_probabilities_are_errors() -> None:
    with pytest.raises(UsageError, match="no user 'navigation'; did you mean 'navigational'"):
        CascadeUser.of("navigation", 1)
    with pytest.raises(UsageError, match=r"user mine: click == 1\.5, must be between 0 and 1"):
        CascadeUser("mine", (0.0, 1.5), (0.0, 0.0))


@pytest.mark.parametrize("user", ["perfect", "navigational", "informational"])
@pytest.mark.parametrize("method", ["balanced", "team-draft", "probabilistic", "optimised", "pairwise", "sosm"])
def test_clicks_prefer_the_run_with_relevant_documents_on_top(method: str, user: str) -> None:
    result = simulate_interleaving(QRELS, RUNS, [method], [user], impressions=3000, length=5, seed=1)
    pair = result.pairs[0]
    assert pair.agrees
    assert pair.p < 0.001
    assert pair.wins + pair.ties + pair.losses == 3000
    assert 1 < pair.needed < 3000


@pytest.mark.parametrize(
    "method", ["team-draft", "probabilistic", "probabilistic(replacement=false)", "optimised", "pairwise"]
)
def test_random_users_favour_no_run(method: str) -> None:
    pair = simulate_interleaving(QRELS, RUNS, [method], ["random"], impressions=20_000, length=5, seed=2).pairs[0]
    assert pair.p_credit > 0.001
    assert abs(pair.delta) < 0.02


def test_the_truth_is_the_difference_of_mean_scores() -> None:
    files = sample()
    with warnings.catch_warnings():  # of a missing topic and an undefined score
        warnings.simplefilter("ignore", CranfieldWarning)
        result = simulate_interleaving(
            files.qrels, list(files.runs), ["team-draft"], ["perfect"], measure="RR", impressions=50
        )
        means = evaluate(files.qrels, list(files.runs), "RR").mean()
    for pair in result.pairs:
        assert pair.truth == pytest.approx(means[pair.first]["RR"] - means[pair.second]["RR"], abs=0.02)


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others() -> None:
    one, again, other = (
        simulate_interleaving(QRELS, RUNS, ["team-draft"], ["informational"], impressions=500, length=5, seed=seed)
        for seed in (3, 3, 4)
    )
    assert one.pairs == again.pairs
    assert one.pairs != other.pairs


def test_the_log_of_a_simulation_gives_the_counts_of_the_simulation(tmp_path: Path) -> None:
    setting = {"impressions": 300, "length": 5, "seed": 5}
    result = simulate_interleaving(QRELS, RUNS, ["probabilistic"], ["informational"], **setting)
    clicks = simulate_log(QRELS, RUNS, "probabilistic", "informational", **setting)
    write_records(tmp_path / "log.jsonl", clicks.logged(users=20))
    counts = count_logged(tmp_path / "log.jsonl")
    pair = result.pairs[0]
    assert counts.totals.tolist() == [[pair.wins, pair.ties, pair.losses]]
    assert counts.by_user[0].clusters == 20
    assert counts.by_query[0].clusters == 4


def test_any_object_that_simulates_clicks_is_a_user() -> None:
    class First:
        name = "first only"

        def simulate(self, grades: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return np.arange(grades.shape[1]) == np.zeros(len(grades))[:, None]

    result = simulate_interleaving(QRELS, RUNS, ["team-draft"], [First()], impressions=2000, length=5)
    pair = result.pairs[0]
    assert pair.user == "first only"
    assert pair.ties == 0
    assert pair.p > 0.001


def test_a_click_model_that_knows_documents_is_a_user() -> None:
    """It clicks on a only, which `good` ranks first and `bad` last, so no pair contradicts `good`."""

    class LikesA:
        def simulate(self, queries: list[str], docs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            assert set(queries) == set(QRELS)
            assert set(docs.ravel().tolist()) == set("abcde")
            return docs == "a"

    pair = simulate_interleaving(QRELS, RUNS, ["pairwise"], [LikesA()], impressions=500, length=5).pairs[0]
    assert pair.user == "LikesA"
    assert pair.wins > 0
    assert pair.losses == 0


def test_several_runs_are_interleaved_together() -> None:
    runs = {**RUNS, "middle": run("acbde")}
    result = simulate_interleaving(QRELS, runs, ["team-draft", "pairwise"], ["perfect"], impressions=4000, length=5)
    assert len(result.pairs) == 6
    table = result.fidelity()
    assert table["pairs"].tolist() == [3, 3]
    assert table["agree"].tolist() == [3, 3]
    assert len(result.curve()["power"]) == 2 * len(set(result.curve()["impressions"].tolist()))
