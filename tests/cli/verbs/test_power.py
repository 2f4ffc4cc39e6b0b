"""`cranfield power`: from files, from saved scores, or from a variance."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from cranfield.comparison.power.designs import pooled_variance
from cranfield.comparison.power.topic_set_size import achieved_power, detectable_difference, topic_set_size
from cranfield.evaluation.evaluator import evaluate
from cranfield.samples import Sample
from cranfield.scores.scores import Scores
from tests.cli.conftest import Cranfield


@pytest.fixture
def saved(tmp_path: Path) -> list[Path]:
    """Two collections' scores, as plain matrices."""
    files = []
    for number, topics in enumerate((30, 50)):
        rng = np.random.default_rng(number)
        values = rng.normal(0.4, 0.1, (topics, 1)) + rng.normal(0, 0.1, (topics, 4))
        lines = ["topic,a,b,c,d", *(f"t{t}," + ",".join(map(str, row)) for t, row in enumerate(values.tolist()))]
        files.append(tmp_path / f"scores{number}.csv")
        files[-1].write_text("\n".join(lines) + "\n")
    return files


def test_a_sentence_and_a_curve_without_any_files(cranfield: Cranfield) -> None:
    result = cranfield("power", "--variance", "0.0225", "--difference", "0.05", "-m", "nDCG@10")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == (
        "73 topics are needed to find a difference of 0.05 in nDCG@10 with power 0.80 at α = 0.05 "
        "(paired t test, variance of differences 0.0225)."
    )
    assert lines[1].split() == ["topics", "power", "difference"]
    assert next(line for line in lines if line.startswith("    73 ")).endswith(" <")
    assert lines[-1] == "power: to find a difference of 0.05; difference: found with power 0.80"


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_from_judgments_and_runs(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("power", collection.qrels, *collection.runs, "-m", "AP", "-d", "0.05", "--quiet")
    assert result.code == 0
    scores = evaluate(collection.qrels, list(collection.runs), ["AP"])
    needed, had = topic_set_size(scores, difference=0.05), achieved_power(scores, difference=0.05)
    assert result.out.splitlines()[:2] == [f"{needed}.", f"{had}."]
    assert cranfield("power", "--sample", "-m", "AP", "-d", "0.05", "--quiet").out == result.out


def test_without_a_question_the_detectable_difference_is_printed(cranfield: Cranfield, saved: list[Path]) -> None:
    result = cranfield("power", "--scores", str(saved[0]))
    expected = detectable_difference(Scores.read(saved[0]))
    assert result.out.startswith(f"{expected}.")
    assert "With 30 topics, the smallest difference found" in result.out


def test_both_ask_for_the_power(cranfield: Cranfield, saved: list[Path]) -> None:
    result = cranfield("power", "-s", str(saved[0]), "-d", "0.05", "-n", "100", "--no-curve")
    answer = achieved_power(Scores.read(saved[0]), difference=0.05, size=100)
    assert result.out == "\n".join([str(answer), *answer.notes, ""])


def test_variances_of_collections_are_pooled(cranfield: Cranfield, saved: list[Path]) -> None:
    result = cranfield("power", "-s", str(saved[0]), "-s", str(saved[1]), "--pooled", "--width", "0.1", "--no-curve")
    variance = pooled_variance([Scores.read(one) for one in saved])
    assert result.out.splitlines()[0] == str(topic_set_size(width=0.1, variance=variance))
    assert "2 collections (4 systems on 30 topics; 4 systems on 50 topics)" in result.out


@pytest.mark.parametrize("test", ["unpaired", "anova", "two-way", "tukey"])
def test_other_tests(cranfield: Cranfield, saved: list[Path], test: str) -> None:
    result = cranfield("power", "-s", str(saved[0]), "-d", "0.1", "--test", test, "--no-curve")
    assert result.out.splitlines()[0] == str(topic_set_size(Scores.read(saved[0]), difference=0.1, test=test))


def test_the_number_of_systems_can_be_set(cranfield: Cranfield, saved: list[Path]) -> None:
    few, many = (
        json.loads(cranfield("power", "-s", str(saved[0]), "-d", "0.1", "-t", "anova", "-f", "json", *more).out)
        for more in ((), ("--number-of-systems", "40"))
    )
    assert [one["answers"][0]["systems"] for one in (few, many)] == [4, 40]
    assert few["answers"][0]["topics"] < many["answers"][0]["topics"]


def test_one_sided_needs_fewer_topics(cranfield: Cranfield) -> None:
    words = ("power", "--variance", "0.0225", "-d", "0.05", "--no-curve")
    assert cranfield(*words).out.startswith("73 topics")
    expected = topic_set_size(difference=0.05, variance=0.0225, alternative="greater").topics
    assert expected < 73
    assert cranfield(*words, "--one-sided").out.startswith(f"{expected} topics")


def test_formats(cranfield: Cranfield) -> None:
    words = ("power", "--variance", "0.0225", "-d", "0.05", "-m", "AP,nDCG@10")
    rows = list(csv.DictReader(io.StringIO(cranfield(*words, "-f", "csv").out)))
    assert {row["measure"] for row in rows} == {"AP", "nDCG@10"}
    assert list(rows[0]) == ["measure", "topics", "power", "difference"]
    data = json.loads(cranfield(*words, "-f", "json").out)["answers"]
    assert [one["measure"] for one in data] == ["AP", "nDCG@10"]
    assert data[0]["curve"]["topics"] == [int(row["topics"]) for row in rows if row["measure"] == "AP"]
    assert r"\caption{73 topics are needed to find a difference of 0.05 in AP" in cranfield(*words, "-f", "latex").out
    assert cranfield(*words, "-f", "html").out.count("<table>") == 2
    assert "| topics | power | difference |" in cranfield(*words, "-f", "markdown").out
    answers = list(csv.DictReader(io.StringIO(cranfield(*words, "-f", "csv", "--no-curve").out)))
    assert [row["topics"] for row in answers] == ["73", "73"]
    assert "curve" not in json.loads(cranfield(*words, "-f", "json", "--no-curve").out)["answers"][0]
    assert next(row for row in cranfield(*words, "--digits", "2").out.splitlines() if row.endswith("<")).split()[
        :3
    ] == [
        "73",
        "0.80",
        "0.05",
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "usage: cranfield power QRELS RUN..."),
        (("--variance", "0.1"), "give --difference (how many topics?)"),
        (("--variance", "0.1", "qrels.txt", "-d", "0.1"), "--variance replaces scores; leave out 'qrels.txt'"),
        (("--variance", "-1", "-d", "0.1"), "variance == -1.0, must be above 0"),
        (("--variance", "0.1", "-d", "0.1", "--alpha", "1.5"), "alpha == 1.5, must be above 0 and below 1"),
        (("--variance", "0.1", "-d", "0.1", "--power", "1"), "power == 1.0, must be above 0 and below 1"),
        (("--variance", "0.1", "-d", "0.1", "-n", "50", "--power", "0.9"), "together ask for the power"),
        (
            ("--variance", "0.1", "-d", "0.1", "--number-of-systems", "5"),
            "--number-of-systems goes with --test anova, two-way or tukey",
        ),
        (
            ("--variance", "0.1", "-d", "0.1", "--test", "anova"),
            "needs the number of systems: --number-of-systems",
        ),
        (("--variance", "0.1", "-d", "0.1", "--test", "anvoa"), "did you mean 'anova'?"),
        (("--variance", "0.1", "-d", "0.1", "--test", "interval"), "an interval has a --width"),
        (("--variance", "0.1", "-w", "0.1", "--test", "t"), "--width goes with --test interval"),
        (("--variance", "0.1", "-w", "0.1", "--power", "0.9"), "an interval has no power"),
        (("--variance", "0.1", "-w", "0.1", "-n", "9"), "give only --size to ask for the width"),
        (("--variance", "0.1", "-n", "1"), "size == 1, must be 2 or more"),
        (("--sample", "--pooled", "-d", "0.1"), "give --scores FILE two times or more"),
        (("--variance", "0.1", "-d", "0.1", "-f", "xml"), "format == 'xml', must be one of"),
    ],
)
def test_impossible_questions_are_errors(cranfield: Cranfield, words: tuple[str, ...], complaint: str) -> None:
    result = cranfield("power", *words)
    assert (result.code, result.out) == (2, "")
    assert complaint in result.err


def test_one_run_is_not_enough_for_a_variance_of_differences(cranfield: Cranfield, collection: Sample) -> None:
    result = cranfield("power", collection.qrels, collection.runs[0], "-d", "0.05", "--quiet")
    assert result.code == 2
    assert "1 system, the two-way model needs 2 or more" in result.err


def test_identical_runs_say_nothing_about_size(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("topic,a,b\n1,0.2,0.2\n2,0.5,0.5\n3,0.4,0.4\n")
    result = cranfield("power", "-s", str(tmp_path / "same.csv"), "-d", "0.05")
    assert result.code == 2
    assert "variance == 0.0, must be above 0; all systems vary in the same way over topics" in result.err
