"""`cranfield plot`, and `--plot` of other verbs, as a user meets them."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

DIVERSE = "1 1 a 1\n1 2 b 2\n1 1 c 0\n1 2 c 0\n2 1 a 1\n2 2 c 1\n"
FIRST = "1 Q0 a 1 9 first\n1 Q0 b 2 8 first\n2 Q0 c 1 9 first\n"
SECOND = "1 Q0 c 1 9 second\n1 Q0 a 2 8 second\n2 Q0 a 1 9 second\n"


@pytest.fixture
def diverse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text(DIVERSE)
    (tmp_path / "first.run").write_text(FIRST)
    (tmp_path / "second.run").write_text(SECOND)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_kind_a_usage_is_printed(cranfield: Cranfield) -> None:
    done = cranfield("plot")
    assert done.code == 2
    assert "usage: cranfield plot boxes|curves|diversity" in done.err


def test_without_a_file_the_numbers_are_printed(cranfield: Cranfield) -> None:
    done = cranfield("plot", "boxes", "--sample", "-m", "AP", "--quiet", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["system"] for row in rows] == [
        "fusion",
        "dense",
        "bm25",
        "coord",
    ]  # by mean AP, as docs/python.md shows
    assert float(rows[0]["mean"]) == pytest.approx(0.4247, abs=5e-5)
    assert "whiskers" in cranfield("plot", "boxes", "--sample", "-m", "AP", "--quiet").out


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (("boxes",), "median"),
        (("curves",), "precision"),
        (("curves", "--roc"), "true positive rate"),
        (("curves", "--topic", "101", "--rel", "2"), "precision"),
    ],
)
def test_every_kind_draws_the_sample(cranfield: Cranfield, tmp_path: Path, words: tuple[str, ...], column: str) -> None:
    picture, numbers = tmp_path / "picture.svg", tmp_path / "numbers.csv"
    for path in (picture, numbers):
        done = cranfield("plot", *words, "--sample", "--quiet", "-o", str(path))
        assert (done.code, done.out, done.err) == (0, "", "")
    assert picture.read_text("utf-8").startswith("<svg")
    assert column in numbers.read_text("utf-8").splitlines()[0].split(",")


def test_diversity_shows_both_measures_and_their_combination(cranfield: Cranfield, diverse: Path) -> None:
    done = cranfield("plot", "diversity", "qrels.txt", "first.run", "second.run", "-f", "json")
    rows = {row["system"]: row for row in json.loads(done.out)["rows"]}
    # first: both intents of topic 1, one of two of topic 2; second: one of two on both.
    assert (rows["first"]["I-rec@10"], rows["second"]["I-rec@10"]) == (0.75, 0.5)
    for row in rows.values():
        assert row["D#-nDCG@10"] == pytest.approx((row["I-rec@10"] + row["D-nDCG@10"]) / 2)


def test_differences_of_two_systems(cranfield: Cranfield, diverse: Path) -> None:
    done = cranfield("plot", "differences", "qrels.txt", "first.run", "second.run", "-m", "P@1", "-f", "csv")
    assert done.code == 0
    # P@1: on topic 1 first has a (relevant) and second c (not); on topic 2 both a relevant document.
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["topic"], float(row["difference"])) for row in rows] == [("1", 1.0), ("2", 0.0)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plot", "pies", "--sample"), "must be one of 'boxes', 'curves'"),
        (("plot", "boxes", "--sample", "-o", "x.bmp"), "a figure ends in .html, .svg"),
        (("plot", "boxes", "--sample", "-m", "AP,RR"), "boxes show one measure, but there are 2"),
        (("plot", "boxes", "--sample", "--roc"), "--roc goes with curves"),
        (("plot", "boxes", "--sample", "--topic", "1"), "--topic goes with curves"),
        (("plot", "curves", "--sample", "--topic", "nope", "--quiet"), "there is no topic 'nope'"),
        (("plot", "curves", "--sample", "-m", "AP"), "leave out -m AP"),
        (("plot", "curves", "--scores", "x.csv"), "curves are drawn from runs"),
        (("plot", "curves"), "give QRELS RUN..."),
        (("plot", "diversity", "--sample", "--gamma", "2"), "must be between 0 and 1"),
        (("plot", "differences", "--sample", "--quiet"), "there are 4 systems; choose two"),
        (("power", "--sample", "--plot", "x.bmp"), "a figure ends in .html, .svg"),
        (("compare", "--sample", "--plot", "x.bmp"), "a figure ends in .html, .svg"),
        (
            ("compare", "--sample", "-m", "AP,RR", "--quiet", "--plot", "x.svg"),
            "draws one measure, but there are 2",
        ),
    ],
)
def test_figures_that_cannot_be_drawn_are_errors(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cranfield(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not list(tmp_path.iterdir())


def test_without_the_extra_nothing_is_done(
    cranfield: Cranfield, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    done = cranfield("compare", "--sample", "--plot", str(tmp_path / "x.svg"))
    assert (done.code, done.out) == (2, "")
    assert "pip install 'cranfield[plot]'" in done.err


def test_compare_draws_intervals_or_the_topics_of_two_systems(cranfield: Cranfield, tmp_path: Path) -> None:
    words = ("compare", "--sample", "--quiet", "-m", "AP", "--test", "tukey")
    intervals, topics = tmp_path / "intervals.csv", tmp_path / "topics.csv"
    assert cranfield(*words, "--plot", str(intervals)).out == cranfield(*words).out
    rows = list(csv.DictReader(io.StringIO(intervals.read_text("utf-8"))))
    assert [row["system"] for row in rows] == ["fusion", "dense", "bm25", "coord"]
    assert cranfield(*words, "--per-topic", "--plot", str(topics)).code == 0
    rows = list(csv.DictReader(io.StringIO(topics.read_text("utf-8"))))
    shown = [float(row["difference"]) for row in rows]
    assert len(rows) == 23  # topic 113 has no relevant document
    assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("-d", "0.05"), "power"),
        ((), "difference"),
        (("--width", "0.1"), "width"),
        (("-d", "0.05", "-n", "50"), "power"),
    ],
)
def test_power_draws_its_curve(cranfield: Cranfield, tmp_path: Path, words: tuple[str, ...], value: str) -> None:
    path = tmp_path / "curve.csv"
    assert cranfield("power", "--sample", "--quiet", "-m", "AP,RR", *words, "--plot", str(path)).code == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert {row["measure"] for row in rows} == {"AP", "RR"}
    drawn = [float(row[value]) for row in rows if row["measure"] == "AP"]
    assert drawn == sorted(drawn, reverse=value != "power")
    assert len(set(drawn)) > 10


def test_anova_draws_two_factors(cranfield: Cranfield, tmp_path: Path) -> None:
    table, path = tmp_path / "parts.csv", tmp_path / "means.csv"
    table.write_text("run,stemmer,model\nbm25,no,sparse\ncoord,yes,sparse\ndense,no,dense\nfusion,yes,dense\n")
    words = ("anova", "--sample", "--quiet", "-m", "AP", "--factors", str(table), "--means", "stemmer:model")
    assert cranfield(*words, "--plot", str(path)).code == 0
    rows = {(row["stemmer"], row["model"]): row for row in csv.DictReader(io.StringIO(path.read_text("utf-8")))}
    assert float(rows["no", "sparse"]["mean"]) == pytest.approx(0.2924, abs=5e-5)  # bm25's mean AP
    assert float(rows["no", "sparse"]["low"]) < 0.2924 < float(rows["no", "sparse"]["high"])


def test_the_saw_tooth_needs_a_topic(cranfield: Cranfield, tmp_path: Path) -> None:
    path = tmp_path / "saw.csv"
    words = ("plot", "curves", "--sample", "--saw-tooth", "--quiet")
    assert cranfield(*words, "--topic", "101", "-o", str(path)).code == 0
    assert any("interpolated" in row["system"] for row in csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert "give --topic" in cranfield(*words).err


def test_the_effect_of_beta_on_the_blended_ratio_is_sakai_2014_figure_3(cranfield: Cranfield) -> None:
    """1/r1 down to rank R = 5, and (1 + β)/(r1 + β R) below it."""
    words = ("plot", "first", "-m", "O(beta=0)", "-m", "O(beta=1)", "-m", "O(beta=10)", "--relevant", "5", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(cranfield(*words).out)))
    assert len(rows) == 3 * 20
    for row in rows:
        beta, rank = {"O(beta=0)": 0, "O": 1, "O(beta=10)": 10}[row["measure"]], int(float(row["rank"]))
        expected = 1 / rank if rank <= 5 else (1 + beta) / (rank + 5 * beta)
        assert float(row["score"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("first",), "first draws measures; give one or more with -m"),
        (("first", "--sample", "-m", "AP"), "leave out judgments, runs and scores"),
        (("first", "-m", "TBG"), "TBG needs more than the grades of a list"),
        (("boxes", "--sample", "-m", "AP", "--relevant", "3"), "--relevant goes with first, not with boxes"),
    ],
)
def test_first_draws_measures_only(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    done = cranfield("plot", *words)
    assert (done.code, message in done.err) == (2, True), done.err


def test_progress_draws_a_table_of_published_scores(cranfield: Cranfield, tmp_path: Path) -> None:
    table = tmp_path / "published.csv"
    table.write_text("year,system,score,baseline\n2000,a,0.3,\n2001,b,0.2,\n2001,c,0.28,b\n2006,d,0.31,\n")
    printed = cranfield("plot", "progress", str(table), "-f", "csv").out.splitlines()
    assert printed[0] == "scores,year,score"
    assert "best so far,2001,0.3" in printed
    assert "mean baseline,2001,0.2" in printed
    assert "lines of year, system, score" in cranfield("plot", "progress", str(table), "x.run").err
