"""`cranfield meta reproduce` as a user meets it."""

import json
from pathlib import Path

import pytest

from cranfield.meta.reproduction.metadata import write_metadata
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield


@pytest.fixture
def runs(collection: Sample) -> dict[str, str]:
    return {Path(path).stem: path for path in collection.runs}


def test_without_arguments_a_usage_is_printed(cranfield: Cranfield) -> None:
    done = cranfield("meta", "reproduce")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: cranfield meta reproduce QRELS ORIGINAL AGAIN")


def test_a_run_replicates_itself(cranfield: Cranfield, collection: Sample, runs: dict[str, str]) -> None:
    done = cranfield("meta", "reproduce", collection.qrels, runs["bm25"], runs["bm25"], "-m", "AP", "-f", "json")
    assert done.code == 0
    (row,) = json.loads(done.out)["rows"]
    assert (row["τ union"], row["RMSE"], row["p"]) == (1.0, 0.0, 1.0)
    assert row["RBO"] == pytest.approx(1.0)


def test_the_effect_of_an_advanced_run(cranfield: Cranfield, collection: Sample, runs: dict[str, str]) -> None:
    words = [collection.qrels, runs["bm25"], runs["coord"], "--advanced", runs["fusion"]]
    done = cranfield("meta", "reproduce", *words, "--advanced-again", runs["fusion"], "-m", "AP", "-f", "csv")
    header, base, advanced = (line.split(",") for line in done.out.splitlines())
    b, b2 = (float(base[header.index(name)]) for name in ("original", "again"))
    a, a2 = (float(advanced[header.index(name)]) for name in ("original", "again"))
    assert float(advanced[header.index("ER")]) == pytest.approx((a2 - b2) / (a - b))
    assert float(advanced[header.index("ΔRI")]) == pytest.approx((a - b) / b - (a2 - b2) / b2)


def test_saved_scores_by_the_names_of_runs(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,b,b2\n1,0.2,0.2\n2,0.4,0.8\n")
    done = cranfield("meta", "reproduce", "--scores", str(tmp_path / "s.csv"), "b", "b2", "-m", "AP", "-f", "json")
    assert json.loads(done.out)["rows"][0]["RMSE"] == pytest.approx((0.16 / 2) ** 0.5)  # differences 0 and 0.4
    other = cranfield(
        "meta", "reproduce", "--scores", str(tmp_path / "s.csv"), "b", "b2", "--other-scores", str(tmp_path / "s.csv")
    )
    assert other.out.startswith("reproduction: baseline b and b2")
    assert "RMSE" not in other.out


def test_topic_by_topic(cranfield: Cranfield, collection: Sample, runs: dict[str, str]) -> None:
    done = cranfield("meta", "reproduce", collection.qrels, runs["bm25"], runs["dense"], "--per-topic", "-f", "csv")
    assert done.out.splitlines()[0] == "run,topic,τ union,RBO"
    assert len(done.out.splitlines()) > 5


def test_metadata_of_both_runs_shows_the_changes(cranfield: Cranfield, tiny: Path) -> None:
    write_metadata("mine.run", {"method": 1, "actor": "us"}, output="a.run")
    write_metadata("mine.run", {"method": 2, "actor": "us"}, output="b.run")
    done = cranfield("meta", "reproduce", "qrels.txt", "a.run", "b.run", "-m", "AP")
    assert "ir_metadata: priMad: method differs" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["q", "a"], "2 files, expected three"),
        (["q", "a", "b", "--advanced", "c"], "--advanced and --advanced-again go together"),
        (["q", "a", "b", "--other-scores", "c"], "--other-scores goes with --scores"),
        (["--scores", "s", "a"], "1 names, but --scores needs two"),
        (["--scores", "s", "a", "b", "--other-qrels", "q"], "for scores use --other-scores"),
        (
            ["qrels.txt", "mine.run", "mine.run", "--persistence", "1"],
            "--persistence == 1.0, must be above 0 and below 1",
        ),
        (["qrels.txt", "mine.run", "mine.run", "--union", "score"], "union == 'score', must be one of 'rank', 'id'"),
    ],
)
def test_errors_are_explained(cranfield: Cranfield, tiny: Path, words: list[str], message: str) -> None:
    done = cranfield("meta", "reproduce", *words)
    assert done.code == 2
    assert message in done.err
