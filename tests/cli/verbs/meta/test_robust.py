"""`cranfield meta robust`: fewer judgments, other grades, fewer topics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.samples import Sample
from tests.cli.conftest import Cranfield

QUIET = ("meta", "robust", "--sample", "--quiet", "--repeats", "2")


def test_a_table_for_each_method(cranfield: Cranfield) -> None:
    done = cranfield(*QUIET, "-m", "AP", "--condensed")
    assert (done.code, done.err) == (0, "")
    tables = done.out.split("\n\n")
    assert [table.partition(":")[0] for table in tables] == ["random", "depth", "flips", "topics"]
    assert tables[0].splitlines()[1].split() == [
        "measure", "0.9", "0.8", "0.7", "0.6", "0.5", "0.4", "0.3", "0.2", "0.1",
    ]  # fmt: skip
    assert [line.split()[0] for line in tables[0].splitlines()[2:]] == ["AP", "AP'"]
    assert "2 repeats, seed 0" in tables[-1]


def test_every_number_in_json_and_csv(cranfield: Cranfield, collection: Sample) -> None:
    from cranfield.meta.judgments.robustness import robustness

    words = (*QUIET, "--how", "random,flips", "--rates", "0.5,0.2", "--flips", "0.1", "--seed", "3")
    data = json.loads(cranfield(*words, "-f", "json").out)["rows"]
    with pytest.warns(cf.errors.CranfieldWarning):
        result = robustness(
            collection.qrels, list(collection.runs), "AP", how=["random", "flips"], rates=[0.5, 0.2], flips=[0.1],
            repeats=2, seed=3,
        )  # fmt: skip
    assert [(row["method"], row["level"]) for row in data] == [("random", "0.5"), ("random", "0.2"), ("flips", "0.1")]
    assert data[1]["change"] == pytest.approx(np.mean([result.change[1, 0], result.change[3, 0]]))
    every = cranfield(*words, "-f", "csv", "--show", "repeats").out.splitlines()
    assert every[0] == "method,level,repeat,judged,measure,tau,change,rmse"
    assert [float(row.split(",")[6]) for row in every[1:]] == pytest.approx(result.change[:, 0].tolist())


@pytest.mark.parametrize("show", ["tau", "change", "rmse", "all", "repeats"])
def test_the_values_to_show_can_be_chosen(cranfield: Cranfield, show: str) -> None:
    assert cranfield(*QUIET, "--how", "depth", "--depths", "5,20", "--show", show, "-f", "latex").code == 0


def test_topics_from_scores(cranfield: Cranfield, tmp_path: Path) -> None:
    matrix = tmp_path / "scores.csv"
    matrix.write_text("a,b,c\n.1,.2,.3\n.2,.3,.4\n.5,.6,.7\n")
    done = cranfield("meta", "robust", "--scores", str(matrix), "--size", "2,3", "-f", "json")
    assert [(row["level"], row["τ"]) for row in json.loads(done.out)["rows"]] == [("2", 1.0), ("3", 1.0)]
    done = cranfield("meta", "robust", "--scores", str(matrix), "--how", "random")
    assert (done.code, "--how random needs judgments and runs" in done.err) == (2, True)
    done = cranfield("meta", "robust", "--scores", str(matrix), "--condensed")
    assert (done.code, "--condensed needs judgments and runs" in done.err) == (2, True)


def test_confusion_from_a_file(cranfield: Cranfield, tmp_path: Path) -> None:
    matrix = tmp_path / "assessors.txt"
    same = "".join(f"{grade} {grade} 1\n" for grade in range(4))
    matrix.write_text("# grade becomes probability\n" + same)
    words = (*QUIET, "--how", "confusion", "--confusions", str(matrix), "-f", "json")
    rows = json.loads(cranfield(*words).out)["rows"]
    assert [(row["level"], row["τ"], row["RMSE"]) for row in rows] == [("0", pytest.approx(1), 0)]
    for bad, message in {
        "0 1\n": "assessors.txt:1: 2 columns, expected 3: grade, new grade",
        same + "0 0 1\n": "assessors.txt:5: grade 0 becomes 0 twice",
        "0 0 .5\n": "probabilities of grade 0 sum to 0.5, must be 1",
        "0 0 1\n": "confusion has no row for grade 1",
    }.items():
        matrix.write_text(bad)
        assert message in cranfield(*words).err


def test_the_figure_is_drawn(cranfield: Cranfield, tmp_path: Path) -> None:
    for how in ("random", "depth", "flips", "topics"):
        drawn = tmp_path / f"{how}.csv"
        assert cranfield(*QUIET, "--how", how, "--plot", str(drawn), "--show", "rmse").code == 0
        assert drawn.read_text().startswith("measure,level,rmse,low,high")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "usage: cranfield meta robust QRELS RUN..."),
        (("--sample", "--how", "luck"), "how == 'luck', must be one of 'random'"),
        (("--sample", "--rates", "half"), "--rates half: expected numbers separated by commas"),
        (("--sample", "--depths", "2.5"), "--depths 2.5: expected whole numbers"),
        (("--sample", "--how", "topics", "--rates", "0.5"), "--rates 0.5 applies only to --how random; add it"),
        (("--sample", "--size", "100"), "size == 100, must be between 1 and 24"),
        (("--sample", "--how", "intents"), "the judgments have no intents to choose from"),
        (("--sample", "--intent-shares", "0.5"), "the judgments have no intents to choose from"),
        (("--sample", "--how", "confusion"), "how == 'confusion' needs a matrix"),
        (("--sample", "--show", "everything"), "show == 'everything', must be one of 'tau'"),
        (("qrels.txt", "mine.run"), "1 run, must be 3 or more"),
    ],
)
def test_wrong_options_are_errors(cranfield: Cranfield, tiny: Path, words: tuple[str, ...], message: str) -> None:
    done = cranfield("meta", "robust", *words)
    assert done.code == 2
    assert message in done.err
