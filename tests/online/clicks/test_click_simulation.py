"""Simulated sessions on the lists of runs."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from cranfield.collection.run import Run
from cranfield.errors import CranfieldWarning, UsageError
from cranfield.online.clicks import ClickModel, Pages, click_simulation, fit_clicks, simulate_clicks
from cranfield.online.clicks.click_simulation import ClickSimulation
from cranfield.online.logs import read_log
from tests.online.clicks.literal import all_pairs, model_of, random_theta

RUNS = [
    Run.from_dict({"q0": {"d0": 3, "d1": 2, "d2": 1}, "q1": {"d1": 2, "d3": 1}}, "first"),
    Run.from_dict({"q0": {"d2": 3, "d3": 2, "d0": 1}}, "second"),
]


def some_model(name: str = "DBN") -> ClickModel:
    names = all_pairs()
    return model_of(name, names, 3, random_theta(name, names, 3, np.random.default_rng(3)))


def test_a_simulated_table_is_read_again_and_has_the_lists_of_the_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "log.parquet")
    result = simulate_clicks(some_model(), RUNS, path, sessions=4000, seed=1)
    table = parquet.read_table(path).to_pandas()
    lists = table.sort_values("position").groupby("session").agg({"run": "first", "query": "first", "doc": tuple})
    shares = lists.groupby(["query", "run"]).doc.agg(["first", "nunique", "size"])
    assert shares["first"].to_dict() == {
        ("q0", "first"): ("d0", "d1", "d2"), ("q0", "second"): ("d2", "d3", "d0"), ("q1", "first"): ("d1", "d3"),
    }  # fmt: skip
    assert set(shares["nunique"]) == {1}
    # Topics are equally likely, and of a topic the runs: 1/4, 1/4, 1/2.
    for share, size in zip((0.25, 0.25, 0.5), shares["size"], strict=True):
        assert abs(size / 4000 - share) < 4.5 * math.sqrt(share * (1 - share) / 4000)
    assert (result.impressions, result.clicks) == (len(table), int(table.clicked.sum()))
    assert fit_clicks(path, "DCTR").impressions == len(table)
    # Clicks are as likely as the model says.
    wanted = some_model().click_probabilities(Pages.lists(["q0"], [["d2", "d3", "d0"]]))[0]
    seen = table[(table.run == "second")].groupby("position").clicked.mean()
    np.testing.assert_allclose(seen, wanted, atol=4.5 * 0.5 / math.sqrt(900))


def test_the_same_seed_gives_the_same_sessions(tmp_path: Path) -> None:
    tables = []
    for number, seed in enumerate((1, 1, 2)):
        path = str(tmp_path / f"{number}.csv")
        simulate_clicks(some_model(), RUNS, path, sessions=200, seed=seed)
        tables.append(Path(path).read_text())
    assert tables[0] == tables[1] != tables[2]


def test_sessions_come_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_simulation, "BATCH", 64)
    simulation = ClickSimulation(some_model(), RUNS)
    batches = list(simulation.batches(150))
    assert [(batch.first, len(batch.list)) for batch in batches] == [(0, 64), (64, 64), (128, 22)]
    assert simulation.rows(batches[1])["session"][0] == "s65"


def test_a_directory_gets_a_log_of_two_tables(tmp_path: Path) -> None:
    path, table = str(tmp_path / "log"), str(tmp_path / "log.parquet")
    simulate_clicks(some_model(), RUNS, path, sessions=300, seed=5)
    simulate_clicks(some_model(), RUNS, table, sessions=300, seed=5)
    assert sorted(os.listdir(path)) == ["clicks.parquet", "impressions.parquet"]
    log = read_log(path)
    arms = log.engine.fetch(log.queries.select("arm").unique()).column("arm").to_pylist()
    assert sorted(arms) == ["first", "second"]
    one, two = fit_clicks(path, "DBN"), fit_clicks(table, "DBN")
    assert one.names.keys == two.names.keys
    np.testing.assert_allclose(one.value("satisfaction").value, two.value("satisfaction").value)


def test_queries_come_from_topics(tmp_path: Path) -> None:
    pages = Pages.of(["fast cars"] * 4, [["d0", "d1"]] * 4, [[1, 0]] * 4)
    model = fit_clicks(pages, "PBM")
    simulation = ClickSimulation(model, RUNS, queries={"q0": "fast cars"})
    assert set(simulation.query.tolist()) == {"fast cars"}
    assert simulation.notes[0] == "1 topic without a query, left out: q1"
    assert any("2 documents of queries that the model has not seen" in note for note in simulation.notes)
    with pytest.raises(UsageError, match=r"none of the queries of the runs, such as 'q0'.* give the topics"):
        ClickSimulation(model, RUNS)


def test_lists_that_are_longer_than_the_model_has_seen_are_counted() -> None:
    short = Pages.of(["q0", "q1"], [["a"], ["b"]], [[1], [0]])
    deeper = [
        note for note in ClickSimulation(fit_clicks(short, "PBM"), RUNS).notes if "longer than the 1 rank" in note
    ]
    longer = sum(len(run.ranking(topic)) > 1 for run in RUNS for topic in run.topics)
    assert len(deeper) == 1
    assert deeper[0].startswith(f"{longer} lists longer")
    assert not any("longer" in note for note in ClickSimulation(fit_clicks(short, "DBN"), RUNS).notes)  # no ranks


def test_a_model_that_did_not_converge_says_so_again() -> None:
    pages = Pages.of(["q0"] * 3, [["d0", "d1"]] * 3, [[1, 0], [0, 1], [0, 0]])
    with pytest.warns(CranfieldWarning, match="did not converge"):
        model = fit_clicks(pages, "PBM", steps=1)
    assert "PBM did not converge when it was fitted" in ClickSimulation(model, RUNS).notes


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no runs"):
        ClickSimulation(some_model(), [])
    with pytest.raises(UsageError, match=r"ends in \.parquet or \.csv, or a directory"):
        simulate_clicks(some_model(), RUNS, str(tmp_path / "log.txt"))
    with pytest.raises(UsageError, match="sessions == 0"):
        simulate_clicks(some_model(), RUNS, str(tmp_path / "log.csv"), sessions=0)
    assert not os.listdir(tmp_path)
