"""`cranfield meta power` and `cranfield meta swap`, as a user meets them."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

VERBS = ("power", "swap")
SMALL = ("--sample", "-m", "AP,nDCG,RR", "-B", "200")


@pytest.mark.parametrize("verb", VERBS)
def test_without_arguments_a_usage_is_printed(cranfield: Cranfield, verb: str) -> None:
    done = cranfield("meta", verb)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"usage: cranfield meta {verb} QRELS RUN")


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples(cranfield: Cranfield, verb: str) -> None:
    done = cranfield("meta", verb, "--help")
    assert done.code == 0
    assert f"$ cranfield meta {verb} --sample" in done.out


def test_power_of_the_sample(cranfield: Cranfield) -> None:
    done = cranfield("meta", "power", *SMALL, "--why")
    assert done.code == 0
    assert "significant pairs" in done.out
    assert "bootstrap test at α = 0.05 (p ≤ α, B = 200, seed 0); 4 systems, 6 pairs, 23 topics" in done.out


def test_swap_of_the_sample(cranfield: Cranfield) -> None:
    done = cranfield("meta", "swap", *SMALL, "--why")
    assert done.code == 0
    assert "% pairs satisfying" in done.out
    assert "B = 200 pairs of sets of 23 topics drawn with replacement" in done.out
    done = cranfield("meta", "swap", *SMALL, "--disjoint", "--size", "5,11", "-f", "json")
    assert [row["size"] for row in json.loads(done.out)["rows"]] == [5, 5, 5, 11, 11, 11]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("format", ["json", "csv", "tsv", "latex", "markdown", "html"])
def test_every_format_can_be_printed(cranfield: Cranfield, verb: str, format: str) -> None:
    done = cranfield("meta", verb, *SMALL, "--format", format)
    assert done.code == 0
    if format == "json":
        rows = json.loads(done.out)["rows"]
    elif format in ("csv", "tsv"):
        rows = list(csv.DictReader(io.StringIO(done.out), delimiter="," if format == "csv" else "\t"))
    else:
        assert all(name in done.out for name in ("AP", "nDCG", "RR"))
        return
    assert {row["measure"] for row in rows} == {"AP", "nDCG", "RR"}
    assert all(0 <= float(row["share" if verb == "power" else "satisfying"]) <= 1 for row in rows)


@pytest.mark.parametrize(
    ("verb", "show", "rows", "column"),
    [
        ("power", "overlap", 3, "both"),
        ("power", "asl", 18, "p"),
        ("power", "pairs", 18, "difference"),
        ("swap", "curves", 63, "rate"),
    ],
)
def test_everything_that_can_be_shown(cranfield: Cranfield, verb: str, show: str, rows: int, column: str) -> None:
    done = cranfield("meta", verb, *SMALL, "--show", show, "-f", "json")
    data = json.loads(done.out)["rows"]
    assert len(data) == rows  # 3 pairs of measures; 3 measures × 6 pairs of runs; 3 measures × 21 bins
    assert column in data[0]
    assert cranfield("meta", verb, *SMALL, "--show", show).code == 0


def test_saved_scores_and_runs_give_the_same_result(cranfield: Cranfield, tmp_path: Path) -> None:
    saved = tmp_path / "scores.csv"
    assert cranfield("eval", "--sample", "-m", "AP,RR", "-q", "-f", "csv", "-o", str(saved)).code == 0
    for words in (("power", "--test", "wilcoxon"), ("swap", "-B", "50")):
        fresh = json.loads(cranfield("meta", *words, "--sample", "-m", "AP,RR", "-f", "json").out)
        kept = json.loads(cranfield("meta", *words, "--scores", str(saved), "-f", "json").out)
        assert fresh["rows"] == kept["rows"]


def test_randomised_tukey_has_5000_resamples_by_default(cranfield: Cranfield) -> None:
    assert "B = 5,000" in cranfield("meta", "power", "--sample", "-m", "AP", "--test", "randomised-tukey", "--why").out
    assert "B = 1,000" in cranfield("meta", "power", "--sample", "-m", "AP", "--why").out


def test_tests_and_rules_can_be_chosen(cranfield: Cranfield) -> None:
    done = cranfield("meta", "power", *SMALL, "--test", "randomized-tukey", "--asl", "share", "--alpha", "0.1", "--why")
    assert done.code == 0
    assert "randomised-tukey test at α = 0.1 (ASL = hits / B < α, B = 200, seed 0)" in done.out


def test_digits_option_sets_the_digits(cranfield: Cranfield) -> None:
    power = cranfield("meta", "power", "--scores", "-", "--test", "t", "--digits", "3", stdin=MATRIX)
    assert "66.667%" in power.out  # 2 of 3 pairs
    swap = cranfield("meta", "swap", "--scores", "-", "--digits", "2", "-B", "20", stdin=MATRIX)
    assert "0.90 " in swap.out  # c is 0.9 on every topic, so it is the largest mean


MATRIX = b"a,b,c\n0.1,0.2,0.9\n0.2,0.1,0.9\n0.1,0.2,0.9\n0.2,0.1,0.9\n"


@pytest.mark.parametrize("verb", VERBS)
def test_the_figure_has_the_numbers_of_the_table(cranfield: Cranfield, verb: str, tmp_path: Path) -> None:
    file = tmp_path / "picture.csv"
    assert cranfield("meta", verb, *SMALL, "--plot", str(file)).code == 0
    rows = list(csv.DictReader(file.open()))
    assert {row["measure"] for row in rows} == {"AP", "nDCG", "RR"}
    if verb == "swap":
        again = ("--disjoint", "--size", "3,5", "--plot", str(file))
        assert cranfield("meta", verb, *SMALL, *again).code == 0
        assert {row["measure"] for row in csv.DictReader(file.open())} >= {"AP, 3 topics", "RR, 5 topics"}


def test_the_asl_curves_can_be_cut_at_a_p_value(cranfield: Cranfield, tmp_path: Path) -> None:
    file = tmp_path / "asl.json"
    assert cranfield("meta", "power", *SMALL, "--zoom", "0.15", "--plot", str(file)).code == 0
    assert '"domainMax": 0.15' in file.read_text().replace('"domainMax":0.15', '"domainMax": 0.15')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("power", "--sample", "--zoom", "2", "--plot", "asl.svg"), "--zoom == 2"),
        (("power", "--sample", "--zoom", "0.1"), "--zoom 0.1 is for the figure; add --plot FILE"),
        (("power", "--sample", "--alpha", "0"), "--alpha == 0"),
        (("power", "--sample", "--test", "tuckey"), "did you mean 'tukey'"),
        (("power", "--sample", "--show", "curves"), "show == 'curves'"),
        (("power", "--sample", "--show", "overlap"), "give two or more with -m"),
        (("power", "--sample", "-B", "0"), "resamples == 0"),
        (("power", "--sample", "--plot", "asl.doc"), "asl.doc"),
        (("swap", "--sample", "--size", "a"), "--size a: expected whole numbers"),
        (("swap", "--sample", "--size", "30"), "--size == 30, must be at most 2"),
        (("swap", "--sample", "--rate", "5"), "rate == 5"),
        (("swap", "qrels.txt"), "no run to score"),
    ],
)
def test_wrong_options_are_errors(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    done = cranfield("meta", *words)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("verb", VERBS)
def test_fewer_than_three_runs_are_an_error(cranfield: Cranfield, verb: str, tmp_path: Path) -> None:
    two = tmp_path / "two.csv"
    two.write_text("a,b\n0.2,0.4\n0.6,0.7\n")
    done = cranfield("meta", verb, "--scores", str(two))
    assert done.code == 2
    assert "2 systems, must be 3 or more" in done.err
