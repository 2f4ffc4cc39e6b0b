"""`cranfield labels aware` and `cranfield labels effect`, as a user meets them."""

import csv
import json
from pathlib import Path

import pytest

from cranfield.building.effect import aware, aware_weights, merge_effect
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from tests.building.effect.simulated_labels import simulated
from tests.cli.conftest import Cranfield


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, list[str], str]:
    """Labels, runs and gold judgments."""
    labels, runs, gold = simulated(seed=1, grades=4)
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("topic", "doc", "worker", "label"), *labels])
    for name, run in runs.items():
        Run.from_dict(run, name).write(tmp_path / f"{name}.run")
    Qrels.from_dict(gold).write(tmp_path / "gold.qrels")
    return str(tmp_path / "labels.csv"), [str(tmp_path / f"{name}.run") for name in runs], str(tmp_path / "gold.qrels")


def test_aware_prints_the_scores_of_python(cranfield: Cranfield, files: tuple[str, list[str], str]) -> None:
    labels, runs, _ = files
    result = cranfield("labels", "aware", labels, *runs, "-m", "AP", "--weighting", "rmse", "-f", "json")
    expected = aware(labels, runs, "AP", weights="rmse")
    assert [row["AP"] for row in json.loads(result.out)["rows"]] == pytest.approx(expected.means()[0].tolist())
    shown = cranfield(
        "labels", "aware", labels, *runs, "-m", "AP", "--weighting", "rmse", "--show", "weights", "-f", "json"
    )
    weights = [row["weight"] for row in json.loads(shown.out)["rows"]]
    assert weights == pytest.approx(aware_weights(labels, runs, "AP", weights="rmse").weight[0, :, 0].tolist())


def test_scores_of_topics_are_read_by_other_verbs(
    cranfield: Cranfield, files: tuple[str, list[str], str], tmp_path: Path
) -> None:
    labels, runs, _ = files
    scores = str(tmp_path / "scores.csv")
    assert cranfield("labels", "aware", labels, *runs, "-m", "AP", "-q", "-f", "csv", "-o", scores).code == 0
    assert cranfield("compare", "--scores", scores).code == 0


def test_a_pattern_names_a_file_for_each_assessor(cranfield: Cranfield, tmp_path: Path) -> None:
    labels, runs, _ = simulated()
    for worker in ("w0", "w1"):
        rows = [(t, d, label) for t, d, who, label in labels if who == worker]
        Qrels.from_tuples(rows).write(tmp_path / f"{worker}.qrels")
    Run.from_dict(runs["s0"], "s0").write(tmp_path / "s0.run")
    result = cranfield("labels", "aware", str(tmp_path / "*.qrels"), str(tmp_path / "s0.run"), "-m", "P@3")
    assert "AWARE: 2 assessors" in result.out


def test_merge_effect_prints_the_numbers_of_python(cranfield: Cranfield, files: tuple[str, list[str], str]) -> None:
    labels, runs, gold = files
    words = ("-m", "P@3", "--gold", gold, "--methods", "majority,aware", "--scales", "0/123", "-B", "5", "-f", "json")
    rows = json.loads(cranfield("labels", "effect", labels, *runs, *words).out)["rows"]
    expected = merge_effect(
        labels, runs, "P@3", gold=gold, methods=["majority", "aware"], scales=["0/123"], resamples=5
    )
    assert [row["method"] for row in rows] == list(expected.methods)
    assert [row["\u03c4"] for row in rows] == pytest.approx(expected.tau.value[:, 0].tolist())
    assert [row["lost"] for row in rows] == expected.lost[:, 0].tolist()
    by_run = json.loads(cranfield("labels", "effect", labels, *runs, *words, "--show", "runs").out)["rows"]
    assert [row["mean"] for row in by_run] == pytest.approx(expected.columns()["mean"].tolist())


def test_ranks_are_drawn(cranfield: Cranfield, files: tuple[str, list[str], str], tmp_path: Path) -> None:
    labels, runs, _ = files
    words = ("-m", "P@3,RR", "-B", "0", "--methods", "majority,aware", "--plot-measure", "RR")
    for suffix in ("svg", "csv"):
        path = tmp_path / f"ranks.{suffix}"
        assert cranfield("labels", "effect", labels, *runs, *words, "--plot", str(path)).code == 0
    with path.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(runs) * 2
    words = ("-m", "P@3", "-B", "0", "--plot-measure", "AP", "--plot", str(path))
    wrong = cranfield("labels", "effect", labels, *runs, *words)
    assert "--plot-measure AP: the measures are P@3" in wrong.err


@pytest.mark.parametrize(
    ("verb", "words", "message"),
    [
        ("labels aware", ("--weighting", "fro"), "no kind of weights or file 'fro'"),
        ("labels aware", ("--relevant-rates", "x"), "--relevant-rates x: expected numbers"),
        ("labels effect", ("--methods", "best"), "no method 'best'"),
        ("labels effect", ("--scales", "0/9"), "is not among the labels"),
    ],
)
def test_wrong_options_are_refused(
    cranfield: Cranfield, files: tuple[str, list[str], str], verb: str, words: tuple[str, ...], message: str
) -> None:
    labels, runs, _ = files
    result = cranfield(*verb.split(), labels, *runs, "-m", "AP", *words)
    assert result.code == 2
    assert message in result.err


def test_runs_are_needed(cranfield: Cranfield, files: tuple[str, list[str], str]) -> None:
    assert "no runs to score" in cranfield("labels", "aware", files[0]).err
    assert "no runs to score" in cranfield("labels", "effect", files[0]).err
