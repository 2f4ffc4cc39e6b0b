"""Verbs of `cranfield meta` that draw, and `inform`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cranfield.cli import main

JUDGED = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n2 0 d 1\n"
RUNS = {
    "x": "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 1 x\n2 Q0 d 1 3 x\n2 Q0 a 2 2 x\n",
    "y": "1 Q0 c 1 3 y\n1 Q0 b 2 2 y\n1 Q0 a 3 1 y\n2 Q0 a 1 3 y\n2 Q0 b 2 2 y\n",
    "z": "1 Q0 b 1 3 z\n1 Q0 c 2 2 z\n2 Q0 b 1 3 z\n2 Q0 d 2 2 z\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_text(JUDGED)
    for name, text in RUNS.items():
        (tmp_path / f"{name}.run").write_text(text)
    (tmp_path / "judged.csv").write_text("topic,A,B,preferred\n1,x,y,A\n2,x,z,A\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ["qrels", "x.run", "y.run", "z.run"]


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (["concord", *ALL, "-m", "R@3,RR", "--gold-measure", "P@1"], ["row", "column", "value"]),
        (["concord", *ALL, "-m", "R@3,RR", "--gold-measure", "P@1,P@2", "-f", "json"], ["row", "column", "value"]),
        (
            ["concord", *ALL, "-m", "AP,RR", "--preferences", "judged.csv", "-B", "0"],
            ["measure", "agreement", "low", "high"],
        ),
        (["axioms", "-m", "AP", "--only", "swap"], ["measure", "axiom", "found", "says", "example"]),
        (["reproduce", "qrels", "x.run", "y.run", "-m", "AP"], ["coefficient", "place", "topic", "value"]),
        (
            ["reproduce", "qrels", "z.run", "y.run", "--advanced", "x.run", "--advanced-again", "x.run", "-m", "AP"],
            ["measure", "ER", "ΔRI"],
        ),
        (["inform", *ALL, "-m", "AP"], ["measure", "rms", "low", "high"]),
    ],
)
def test_figures_show_the_results(
    folder: Path, words: list[str], columns: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["meta", *words, "--quiet", "--plot", "drawn.csv"]) == 0
    assert capsys.readouterr().out
    with open(folder / "drawn.csv", encoding="utf-8") as file:
        assert next(csv.reader(file)) == columns


def test_scores_of_a_baseline_alone_cannot_be_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.csv").write_text("topic,x,y\n1,0.5,0.4\n2,0.3,0.3\n")
    assert main(["meta", "reproduce", "--scores", "s.csv", "x", "y", "--plot", "p.csv"]) == 2
    result = capsys.readouterr()
    assert "give --advanced" in result.err
    assert not result.out


def test_measures_that_never_disagree_have_no_concordance_to_draw(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["meta", "concord", *ALL, "-m", "RR,RR@3", "--gold-measure", "P@1", "--plot", "p.csv"]) == 2
    assert "no two of these measures ever disagree" in capsys.readouterr().err


def test_informativeness_list_by_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "inform", *ALL, "-m", "AP,R", "--lists", "-f", "csv", "--quiet"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len(rows) == 12  # two measures, three runs, two topics
    # x has both relevant documents on top, on either topic: AP is 1, and only that list has it
    assert {round(float(row["rms"]), 2) for row in rows if row["measure"] == "AP" and row["run"] == "x"} == {0.0}


def test_inform_without_arguments_prints_a_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "inform"]) == 2
    assert "usage: cranfield meta inform" in capsys.readouterr().err


def test_inform_names_the_measures_it_accepts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "inform", *ALL, "-m", "bpref"]) == 2
    assert "bpref: expected values of independent documents are not known; give AP, Q, RR" in capsys.readouterr().err


def test_inform_prints_inferred_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "inform", *ALL, "-m", "AP,P@1", "--values", "-f", "csv", "--quiet"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["measure"] for row in rows] == ["AP", "P@1"]
    assert float(rows[0]["AP"]) == pytest.approx(0, abs=1e-5)  # the score that is known
    assert float(rows[1]["AP"]) > 0.01
    assert main(["meta", "inform", *ALL, "-m", "AP", "--values", "--lists"]) == 2
    assert "--lists and --values are two tables" in capsys.readouterr().err


def test_inform_takes_diversity_measures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # P@1 of each of two intents of equal probability: the document at rank 1 serves both, so nothing is unknown.
    (folder / "intents").write_text("1 a d1 1\n1 b d1 1\n1 a d2 0\n")
    (folder / "one.run").write_text("1 Q0 d1 1 3 one\n1 Q0 d2 2 2 one\n1 Q0 d3 3 1 one\n")
    words = ["intents", "one.run", "-m", "P-IA@1,alpha-nDCG@2,AP", "-f", "csv", "--quiet"]
    assert main(["meta", "inform", *words]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["measure"], round(float(row["RMS error"]), 2)) for row in rows] == [("P-IA@1", 0), ("alpha-nDCG@2", 0)]
