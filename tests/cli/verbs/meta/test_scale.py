"""`cranfield meta scale`: lists in order, theory, and Table 3 from runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from cranfield.meta.scale.scale import scales
from cranfield.notes import notes_elsewhere
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield


def test_a_row_per_measure_and_why(cranfield: Cranfield) -> None:
    result = cranfield("meta", "scale", "-m", "P@4,AP,RBP(p=0.5)", "--length", "4", "--why")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    # Ferro & Maistro 2024 Fig. 19
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["P@4", "interval"],
        ["AP", "neither"],
        ["RBP(p=0.5)", "interval"],
    ]
    assert any(line.startswith("AP is neither ordinal nor interval here") for line in lines)
    assert "scale: on the total orders of lists: RBTO by rank, SBTO or the sum of grades by set" in lines
    with notes_elsewhere(""):
        assert result.out.rstrip("\n") == scales(["P@4", "AP", "RBP(p=0.5)"]).table().text()


def test_every_list(cranfield: Cranfield) -> None:
    result = cranfield("meta", "scale", "-m", "RR", "--length", "3", "--show", "lists", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert len(rows) == 8
    assert {row["list"]: float(row["score"]) for row in rows}["0 1 1"] == 0.5
    spaced = cranfield("meta", "scale", "-m", "RR", "--length", "3", "--show", "lists").out.splitlines()
    assert spaced[2].split() == ["1.0000", "0.5000", "4", "111", "110", "101", "100"]


def test_grades_recall_base_and_a_sample(cranfield: Cranfield) -> None:
    result = cranfield(
        "meta", "scale", "-m", "nDCG", "--length", "3", "--number-of-grades", "3", "--recall-base", "2,1", "-f", "json"
    )
    row = json.loads(result.out)["rows"][0]
    assert row["lists"] == sum(1 for a in range(3) for b in range(3) for c in range(3)
                               if (a, b, c).count(1) <= 2 and (a, b, c).count(2) <= 1)  # fmt: skip
    drawn = cranfield("meta", "scale", "-m", "AP", "--length", "30", "--draw", "500", "--seed", "3", "--why")
    assert "500 drawn at random (seed 3)" in drawn.out


def test_theory(cranfield: Cranfield) -> None:
    result = cranfield("meta", "scale", "--show", "theory")
    assert result.code == 0
    assert "SBTO" in result.out


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_table_3_from_runs(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("meta", "scale", collection.qrels, *collection.runs, "-m", "AP,P@10", "--quiet", "-f", "json")
    rows = json.loads(result.out)["rows"]
    pairs = len(collection.runs) * (len(collection.runs) - 1) // 2
    assert [(row["measure"], row["pairs"]) for row in rows] == [("AP", pairs), ("P@10", pairs)]


def test_the_figure_is_drawn(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "spacing.csv"
    assert cranfield("meta", "scale", "-m", "P@3,AP", "--length", "3", "--plot", str(path)).code == 0
    rows = list(csv.DictReader(path.open()))
    assert {row["measure"]: row["spacing"] for row in rows} == {"P@3": "even", "AP": "uneven"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "AP", "--length", "40"], "2^40 = 1,099,511,627,776 lists"),
        (["-m", "AP", "--show", "all"], "--show == 'all', must be one of"),
        (["-m", "AP", "--recall-base", "many"], "--recall-base many"),
        (["-m", "alpha-nDCG"], "needs judgments by intent"),
        (["--sample", "-m", "AP", "--quiet", "--plot", "x.csv"], "--plot draws the spacing of lists"),
        (["-m", "AP", "--plot", "x.doc"], "x.doc"),
    ],
)
def test_bad_input_is_an_error(cranfield: Cranfield, words: list[str], message: str) -> None:
    result = cranfield("meta", "scale", *words)
    assert result.code == 2
    assert message in result.err


def test_the_order_can_be_the_partial_one(cranfield: Cranfield) -> None:
    result = cranfield("meta", "scale", "-m", "AP", "--relative-to", "partial")
    assert result.out.splitlines()[1].split()[:2] == ["AP", "ordinal"]
    assert "scale: on the partial order of lists by swaps and replacements" in result.out


def test_without_arguments_a_usage_is_printed(cranfield: Cranfield) -> None:
    result = cranfield("meta", "scale")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("usage: cranfield meta scale")


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_conclusions_on_other_scales(cranfield: Cranfield) -> None:
    words = ("meta", "scale", "--sample", "--quiet", "--show")
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "conclusions", "-m", "P@5,RR@5", "-f", "csv").out)))
    assert [(row["measure"], row["scale"]) for row in rows] == [
        (measure, scale) for measure in ("P@5", "RR@5") for scale in ("scores", "interval", "ranks")
    ]
    assert rows[1]["other order"] == rows[1]["lost"] == rows[1]["gained"] == "0"  # P@5 already is an interval scale
    listed = cranfield(*words, "changed", "-m", "RR@5", "--test", "wilcoxon")
    assert listed.code == 0
    assert "Pairs whose order or significance changes" in listed.out
    without = cranfield(*words, "conclusions", "-m", "AP", "--why")
    assert "no interval scale: AP: an interval scale is made of all lists" in without.out
    refused = cranfield("meta", "scale", "-m", "AP", "--show", "conclusions")
    assert refused.code == 2
    assert "--show conclusions needs judgments and runs, or --scores" in refused.err


def test_steps_are_printed(cranfield: Cranfield) -> None:
    rows = cranfield("meta", "scale", "-m", "P,RR", "--length", "4", "--show", "steps", "-f", "csv").out.splitlines()
    assert rows[0] == "measure,values,its scores,equal steps,maximin"
    assert [row.split(",")[:2] for row in rows[1:]] == [["P", "5"], ["RR", "5"]]
