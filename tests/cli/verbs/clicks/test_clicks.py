"""`cranfield clicks`, as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.collection.qrels import Qrels
from cranfield.online.clicks import fit_clicks, load_click_model
from tests.cli.conftest import Cranfield


@pytest.fixture
def log(tmp_path: Path) -> str:
    """400 sessions of two queries, in each of which a document is shown at all ranks."""
    rng = np.random.default_rng(4)
    lines = ["session,query,position,doc,clicked"]
    for session in range(400):
        query = int(rng.integers(0, 2))
        for rank, doc in enumerate(rng.permutation(4).tolist(), start=1):
            clicked = rng.random() < (doc + 1) / 5 / rank
            lines.append(f"s{session},q{query},{rank},d{doc},{int(clicked)}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def run(tmp_path: Path) -> str:
    path = tmp_path / "bm25.run"
    path.write_text("".join(f"q{q} Q0 d{d} {d + 1} {9 - d} bm25\n" for q in range(2) for d in range(4)))
    return str(path)


def test_fit_prints_parameters_and_writes_the_model(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    model, pairs, figure = (str(tmp_path / name) for name in ("m.json", "p.csv", "f.svg"))
    result = cranfield("clicks", "fit", log, "--save", model, "--write-pairs", pairs, "--plot", figure)
    assert result.code == 0, result.err
    assert result.out.startswith("PBM, position-based model\n")
    fitted = fit_clicks(log, "PBM")
    value = fitted.value("examination")
    assert f"{value.value[2]:.4f}  {value.low[2]:.4f}  {value.high[2]:.4f}" in result.out
    assert "1,600 impressions with" in result.out
    np.testing.assert_array_equal(
        load_click_model(model).value("attractiveness").value, fitted.values["attractiveness"].value
    )
    with open(pairs) as file:
        rows = list(csv.DictReader(file))
    assert [(row["query"], row["doc"]) for row in rows] == fitted.names.keys
    assert Path(figure).read_text().startswith("<svg")


def test_fit_in_json_and_csv(cranfield: Cranfield, log: str) -> None:
    content = json.loads(cranfield("clicks", "fit", log, "--model", "dcm", "-f", "json").out)
    assert content["model"] == "DCM"
    assert [row["rank"] for row in content["rows"] if row["parameter"] == "continuation"] == [1, 2, 3, 4]
    assert cranfield("clicks", "fit", log, "--model", "DCM", "-f", "csv").out.startswith("parameter,rank,above,value,")


def test_a_fit_without_convergence_is_said_once_with_the_way_out(cranfield: Cranfield, log: str) -> None:
    result = cranfield("clicks", "fit", log, "--steps", "2")
    assert (result.out + result.err).count("did not converge in 2 steps; allow more steps") == 1
    quiet = cranfield("clicks", "fit", log, "--steps", "2", "-f", "csv")
    assert "allow more steps" in quiet.err


def test_evaluate_models_on_held_out_sessions(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{name}.json") for name in ("PBM", "UBM")]
    for path in paths:
        name = Path(path).stem
        assert cranfield("clicks", "fit", log, "--model", name, "--held-out", "0.3", "--save", path).code == 0
    result = cranfield("clicks", "evaluate", log, *paths)
    assert result.code == 0, result.err
    assert "30% of the sessions, held out when the models were fitted" in result.out
    at_once = cranfield("clicks", "evaluate", log, "--fit", "PBM,UBM", "--held-out", "0.3")
    assert at_once.out == result.out
    figure = str(tmp_path / "f.svg")
    table = cranfield("clicks", "evaluate", log, *paths, "-f", "csv", "--plot", figure)
    assert [row["rank"] for row in csv.DictReader(table.out.splitlines())] == [str(rank) for rank in range(5)] * 2
    assert Path(figure).exists()


def test_evaluate_says_what_the_cascade_model_holds_impossible(cranfield: Cranfield, log: str) -> None:
    result = cranfield("clicks", "evaluate", log, "--fit", "cascade,RCM", "--digits", "2")
    assert "that are impossible in the model, so its log-likelihood of all sessions is -inf" in result.out


def test_simulate_and_fit_again(cranfield: Cranfield, log: str, run: str, tmp_path: Path) -> None:
    model, table = str(tmp_path / "m.json"), str(tmp_path / "simulated.parquet")
    cranfield("clicks", "fit", log, "--save", model)
    result = cranfield(
        "clicks", "simulate", model, run, "--simulated-sessions", "50", "--seed", "3", "--depth", "2", "-o", table
    )
    assert result.code == 0, result.err
    assert result.out.startswith("50 sessions of PBM on 2 lists: 100 impressions, ")
    assert fit_clicks(table, "RCTR").ranks == 2


def test_judgments_as_qrels_and_as_a_table(cranfield: Cranfield, log: str, tmp_path: Path) -> None:
    model, qrels, side = (str(tmp_path / name) for name in ("m.json", "clicks.qrels", "grades.csv"))
    cranfield("clicks", "fit", log, "--model", "DBN", "--save", model)
    result = cranfield("clicks", "judgments", model, "--top-grade", "3", "--write-intervals", side, "-o", qrels)
    assert result.code == 0, result.err
    fitted = load_click_model(model)
    judged = Qrels.read(qrels).to_dict()
    for (query, doc), value in zip(fitted.names.keys, fitted.value("relevance").value.tolist(), strict=True):
        assert judged[query][doc] == pytest.approx(3 * value)
    with open(side) as file:
        assert next(csv.reader(file)) == ["topic", "doc", "grade", "low", "high", "impressions", "clicks", "few"]
    assert cranfield("clicks", "judgments", model, "-f", "table").out.startswith(
        "Judgments from clicks: relevance of DBN"
    )


def test_queries_with_blanks_need_topics(cranfield: Cranfield, tmp_path: Path) -> None:
    log, model, topics = (str(tmp_path / name) for name in ("log.csv", "m.json", "topics.tsv"))
    Path(log).write_text("session,query,position,doc,clicked\ns1,fast cars,1,d1,1\n")
    Path(topics).write_text("7\tfast cars\n")
    cranfield("clicks", "fit", log, "--model", "DCTR", "--save", model)
    wrong = cranfield("clicks", "judgments", model)
    assert wrong.code == 1
    assert "fast cars" in wrong.err
    assert "--topics FILE" in wrong.err
    right = cranfield("clicks", "judgments", model, "--topics", topics)
    assert right.out.split()[0] == "7"


def test_wrong_words(cranfield: Cranfield, log: str, run: str, tmp_path: Path) -> None:
    for words, message in (
        (["fit", log, "--model", "PBN"], "no click model 'PBN'; did you mean 'PBM' or 'DBN'?"),
        (["fit", log, "--prior", "a"], "--prior a: expected numbers separated by commas"),
        (["fit", log, "--columns", "doc=url"], "no column 'url'"),
        (["evaluate", log], "no models; give files of models"),
        (["evaluate", log, "m.json", "--fit", "PBM"], "exclude each other"),
        (["simulate", log, run, "-o", str(tmp_path / "x.csv")], "is not a click model"),
        (["simulate", "m.json"], "no runs to show"),
        (["simulate", "m.json", run], "no file for the sessions"),
    ):
        result = cranfield("clicks", *words)
        assert result.code in (1, 2)
        assert message in result.err, words
