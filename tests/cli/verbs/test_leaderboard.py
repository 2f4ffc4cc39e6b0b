"""`cranfield leaderboard`: all formats, from runs and from scores."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from cranfield.samples import Sample
from tests.cli.conftest import Cranfield


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: Sample) -> None:
    monkeypatch.chdir(tmp_path)
    Path("red").mkdir()
    shutil.copy(collection.qrels, "qrels.txt")
    for run in collection.runs:
        shutil.copy(run, ".")
    shutil.copy("bm25.run", "red/bm25.run")
    Path("teams.csv").write_text("red/bm25,red\nfusion,blue\ndense,blue\n")


def test_the_same_run_in_two_folders_has_two_short_names_and_is_noticed(cranfield: Cranfield) -> None:
    done = cranfield(
        "leaderboard",
        "qrels.txt",
        "bm25.run",
        str(Path("red").resolve() / "bm25.run"),
        "dense.run",
        "-m",
        "nDCG@10,AP",
        "--why",
    )
    assert done.code == 0
    assert done.err == ""  # what evaluation warns of is in the notes
    lines = done.out.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["1", "dense"],
        ["2=", "bm25"],
        ["2=", "red/bm25"],
    ]
    assert "the same ranking under 2 names: bm25, red/bm25" in lines
    assert any(line.startswith("topics missing from runs") for line in lines)


def test_csv_has_a_row_per_run_with_the_means_of_eval(cranfield: Cranfield) -> None:
    done = cranfield(
        "leaderboard",
        "qrels.txt",
        "dense.run",
        "bm25.run",
        "fusion.run",
        "-m",
        "nDCG@10",
        "-m",
        "AP",
        "--teams",
        "teams.csv",
        "--why",
        "-f",
        "csv",
    )
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["run"] for row in rows] == ["fusion", "dense", "bm25"]
    assert [row["team"] for row in rows] == ["blue", "blue", ""]
    means = list(
        csv.DictReader(io.StringIO(cranfield("eval", "qrels.txt", "fusion.run", "-m", "nDCG@10,AP", "-f", "csv").out))
    )
    assert (rows[0]["nDCG@10"], rows[0]["AP"]) == (means[0]["nDCG@10"], means[0]["AP"])
    assert "note: 1 run without a team: bm25" in done.err


@pytest.mark.parametrize("format", ["json", "markdown", "latex", "tsv", "html"])
def test_other_formats(cranfield: Cranfield, format: str) -> None:
    done = cranfield("leaderboard", "qrels.txt", "dense.run", "bm25.run", "-m", "AP", "-f", format)
    assert done.code == 0
    if format == "json":
        assert [row["run"] for row in json.loads(done.out)["rows"]] == ["dense", "bm25"]
    assert "bm25" in done.out


def test_a_file_that_ends_in_html_is_a_page(cranfield: Cranfield) -> None:
    assert cranfield("leaderboard", "--sample", "-m", "AP", "-o", "board.html", "--title", "Notes").code == 0
    assert Path("board.html").read_text().startswith("<!doctype html>")
    assert "<h1>Notes</h1>" in Path("board.html").read_text()


def test_scores_are_ranked_as_runs_are(cranfield: Cranfield) -> None:
    cranfield("eval", "qrels.txt", "dense.run", "bm25.run", "-m", "AP", "-q", "-f", "csv", "-o", "scores.csv")
    from_runs = cranfield("leaderboard", "qrels.txt", "dense.run", "bm25.run", "-m", "AP", "-f", "csv")
    assert cranfield("leaderboard", "--scores", "scores.csv", "-f", "csv").out == from_runs.out


def test_a_run_from_standard_input_can_be_ranked(cranfield: Cranfield) -> None:
    done = cranfield(
        "leaderboard", "qrels.txt", "-", "bm25.run", "-m", "AP", "--why", stdin=Path("bm25.run").read_bytes()
    )
    assert done.code == 0
    assert "equal scores on every topic: " in done.out


def test_tags_of_one_file_are_runs(cranfield: Cranfield) -> None:
    Path("all.txt").write_text(Path("bm25.run").read_text() + Path("dense.run").read_text())
    done = cranfield("leaderboard", "qrels.txt", "all.txt", "bm25.run", "--split-tags", "-m", "AP", "--why")
    assert done.code == 0
    assert "the same ranking under 2 names: " in done.out
