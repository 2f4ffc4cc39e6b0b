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


def test_several_tests_and_numbers_of_resamples_are_side_by_side(cranfield: Cranfield) -> None:
    tests = ("--sample", "-m", "AP,RR", "-t", "bootstrap,tukey", "-B", "50,200")
    done = cranfield("meta", "power", *tests, "-f", "json")
    rows = json.loads(done.out)["rows"]
    assert {row["test"] for row in rows} == {"bootstrap, B = 50", "bootstrap, B = 200", "tukey"}
    done = cranfield("meta", "power", *tests, "--show", "agreement", "-f", "json")
    rows = json.loads(done.out)["rows"]
    assert all(row["only first"] + row["both"] + row["only other"] + row["neither"] == 6 for row in rows)
    assert len(rows) == 2 * 3
    for show in ("power", "asl", "pairs", "agreement"):
        assert cranfield("meta", "power", *tests, "--show", show).code == 0


def test_collections_are_side_by_side(cranfield: Cranfield, tmp_path: Path) -> None:
    import cranfield as cf

    folder = Path(cf.__file__).parent / "samples"
    collections = [f"--collection={name}={folder}/qrels.txt:{folder}/*.run" for name in ("news", "web")]
    figure = tmp_path / "power.json"
    done = cranfield("meta", "power", *collections, "-m", "AP,RR", "-t", "t", "--plot", str(figure))
    assert done.code == 0, done.err
    assert "Kendall's W = 1.00, p = 0.5" in done.out  # two measures have two orders: half of all pairs of them agree
    assert "web" in figure.read_text()


def test_classes_of_topics_are_side_by_side(cranfield: Cranfield, tmp_path: Path) -> None:
    classes = tmp_path / "types.txt"
    topics = [str(topic) for topic in range(101, 125)]
    classes.write_text("".join(f"{topic} {'faceted' if int(topic) % 2 else 'ambiguous'}\n" for topic in topics))
    shared = ("--sample", "-m", "AP,RR", "-t", "t", "--by", str(classes))
    done = cranfield("meta", "power", *shared, "--one-table", "-f", "json")
    assert done.code == 0, done.err
    together = {(row["class"], row["measure"]): row["share"] for row in json.loads(done.out)["rows"]}
    apart = json.loads(cranfield("meta", "power", *shared, "-f", "json").out)
    assert together == {(part["class"], row["measure"]): row["share"] for part in apart for row in part["rows"]}
    assert "--one-table shows the classes of --by" in cranfield("meta", "power", "--sample", "--one-table").err


def test_probabilities_of_intents_are_side_by_side(cranfield: Cranfield, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{t} {i} d{i}{t} 1\n" for t in range(1, 7) for i in range(1, 4)))
    runs = []
    for name, order in (("a", (1, 2, 3)), ("b", (3, 2, 1)), ("c", (2, 3))):
        lines = [f"{t} Q0 d{i}{t} {r} {9 - r} {name}\n" for t in range(1, 7) for r, i in enumerate(order, 1)]
        (tmp_path / name).write_text("".join(lines))
        runs.append(str(tmp_path / name))
    shared = (str(qrels), *runs, "-m", "D-nDCG@2,RR-IA", "-t", "t", "--show", "pairs", "-f", "json")
    both = cranfield("meta", "power", *shared, "--intent-probabilities", "uniform,nonuniform")
    assert both.code == 0, both.err
    rows = json.loads(both.out)["rows"]
    one = json.loads(cranfield("meta", "power", *shared, "--intent-probabilities", "nonuniform").out)["rows"]
    assert [row["p nonuniform"] for row in rows] == [row["p"] for row in one]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-B", "100,x"), "--resamples == 100,x, must be whole numbers from 1 to"),
        (("--show", "agreement"), "--show agreement compares tests"),
        (("-t", "t,tukey", "--show", "overlap"), "--show overlap is for one result"),
        (("-t", "t,tukey", "--intent-probabilities", "uniform,nonuniform"), "do not go together"),
        (("-t", "t,tukey", "--statistic", "gmean"), "--statistic gmean has one test"),
    ],
)
def test_what_is_side_by_side_is_checked_first(cranfield: Cranfield, options: tuple[str, ...], message: str) -> None:
    done = cranfield("meta", "power", "--sample", *options)
    assert done.code == 2
    assert message in done.err


def test_swap_rates_are_extrapolated(cranfield: Cranfield, tmp_path: Path) -> None:
    shared = ("meta", "swap", "--sample", "-m", "AP", "--disjoint", "--size", "4,6,8,10,11", "--extrapolate", "50")
    figure = tmp_path / "fit.json"
    done = cranfield(*shared, "--plot", str(figure))
    assert done.code == 0, done.err
    assert "50 topics: extrapolated from sets of 4, 6, 8, 10, 11 topics" in done.out
    assert "(fit)" in figure.read_text()
    curves = json.loads(cranfield(*shared, "--show", "curves", "-f", "json").out)["rows"]
    assert curves[0].keys() == {"measure", "difference", "a", "b", "R²", "rate"}
    assert "a curve needs 3" in cranfield("meta", "swap", "--sample", "--disjoint", "--extrapolate", "50").err
