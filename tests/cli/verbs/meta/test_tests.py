"""`cranfield meta tests`, as a user meets it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from cranfield import Scores
from cranfield.meta.stability.accuracy_of_tests import accuracy_of_tests
from tests.cli.conftest import Cranfield


def test_the_command_line_prints_what_the_library_computes(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    values = np.random.default_rng(2).beta(2, 3, (20, 3)).round(4)
    path.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in values.tolist()) + "\n")
    words = ("--simulations", "60", "-B", "99", "--seed", "3", "--truth", "shift", "--difference", "0.1", "-n", "15")
    done = cranfield("meta", "tests", "-s", str(path), "-t", "t,tukey", *words, "-f", "csv")
    expected = accuracy_of_tests(
        Scores.from_matrix(values), tests=["t", "tukey"], simulations=60, resamples=99, seed=3, truth="shift",
        difference=0.1, size=15,
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["test"] for row in rows] == ["t", "tukey"]
    assert [float(row["power"]) for row in rows] == pytest.approx(expected.power[0])
    assert [float(row["type I error"]) for row in rows] == pytest.approx(expected.type_1[0])


def test_json_says_how_it_was_done(cranfield: Cranfield) -> None:
    done = cranfield("meta", "tests", "--sample", "-t", "sign", "--simulations", "20", "-f", "json")
    assert done.code == 0
    assert "20 experiments each, with random pairs of 4 systems" in json.dumps(json.loads(done.out))


def test_an_unknown_test_is_refused_before_any_work(cranfield: Cranfield) -> None:
    done = cranfield("meta", "tests", "--sample", "-t", "t,wilcoxson")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'wilcoxon'" in done.err


def test_several_sizes_and_the_best_test_of_each(cranfield: Cranfield) -> None:
    command = ["meta", "tests", "--sample", "-m", "AP,RR", "--test", "t,sign", "--simulations", "60", "--quiet"]
    rows = cranfield(*command, "--size", "8,16", "--show", "best", "-f", "csv").out.splitlines()
    assert rows[0].startswith("measure,topics,best test")
    assert [row.split(",")[:2] for row in rows[1:5]] == [["AP", "8"], ["AP", "16"], ["RR", "8"], ["RR", "16"]]
    rows = cranfield(*command, "--show", "agreement", "-f", "csv").out.splitlines()
    assert rows[1].startswith("AP,23,t,sign,")


def test_test_tests_is_another_name(cranfield: Cranfield) -> None:
    words = ["--sample", "-m", "AP", "--test", "t", "--simulations", "50", "-f", "csv"]
    named = cranfield("meta", "test-tests", *words)
    assert named.out == cranfield("meta", "tests", *words).out
    assert named.out.count("\n") >= 2


def test_the_square_has_a_row_for_each_analysis(cranfield: Cranfield) -> None:
    words = ("meta", "tests", "--sample", "-m", "AP", "--show", "square", "--splits", "2", "--resamples", "50")
    rows = cranfield(*words, "-f", "csv", "--quiet").out.splitlines()
    assert [row.split(",")[1:3] for row in rows[1:]] == [
        [model, control] for model in ("classical", "bootstrap") for control in ("family-wise", "false discovery")
    ]
    assert "leave out --test and --size" in cranfield(*words, "--size", "10").err
